//! `kaldera fst`: which symbol tables the result of each operation has, what is refused, and what
//! is counted.

use std::fs;

use crate::fst::Bench;

/// S, a lexicon without cycles from 6 tokens to 3 words, and G, a grammar of words.
fn bench() -> Bench {
    let bench = Bench::compiled();
    bench.file("S.txt", "0 1 y yes\n1 2 e <eps>\n2 3 s <eps>\n0 4 n no 0.5\n4 3 o <eps>\n3\n");
    bench.made("compile --isymbols=tokens --osymbols=words --keep_isymbols --keep_osymbols S.txt S.fst");
    bench.file("one.txt", "0 1 yes yes\n1\n");
    bench.made("compile --isymbols=words --osymbols=words --keep_isymbols --keep_osymbols one.txt one.fst");
    bench
}

/// How many symbols the two tables of a file have, 0 for none.
fn tables(bench: &Bench, file: &str) -> (usize, usize) {
    let info = bench.made(&format!("info {file}"));
    let of = |side: &str| {
        let line = info.lines().find(|line| line.starts_with(&format!("{side} symbols"))).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap_or(0)
    };
    (of("input"), of("output"))
}

const TOKENS_TO_WORDS: (usize, usize) = (6, 3);
const WORDS_TO_WORDS: (usize, usize) = (3, 3);

/// Each operation with the tables of its result: S is from tokens to words, G and one are of words.
const OPERATIONS: &[(&str, (usize, usize))] = &[
    ("convert --format=binary S.fst", TOKENS_TO_WORDS),
    ("arcsort --sort-type=olabel S.fst", TOKENS_TO_WORDS),
    ("connect S.fst", TOKENS_TO_WORDS),
    ("topsort S.fst", TOKENS_TO_WORDS),
    ("compose S.fst G.fst", TOKENS_TO_WORDS),
    ("compose G.fst G.fst", WORDS_TO_WORDS),
    ("intersect G.fst one.fst", WORDS_TO_WORDS),
    ("difference G.fst one.fst", WORDS_TO_WORDS),
    ("determinize S.fst", TOKENS_TO_WORDS),
    ("epsnormalize S.fst", TOKENS_TO_WORDS),
    ("minimize --allow-nondet S.fst", TOKENS_TO_WORDS),
    ("push S.fst", TOKENS_TO_WORDS),
    ("rmepsilon S.fst", TOKENS_TO_WORDS),
    ("shortestpath S.fst", TOKENS_TO_WORDS),
    ("randgen S.fst", TOKENS_TO_WORDS),
    ("reverse S.fst", TOKENS_TO_WORDS),
    ("invert S.fst", (3, 6)),
    ("project S.fst", (6, 6)),
    ("project --project-type=output S.fst", WORDS_TO_WORDS),
    ("project --project-output S.fst", WORDS_TO_WORDS),
    ("closure S.fst", TOKENS_TO_WORDS),
    ("union S.fst S.fst", TOKENS_TO_WORDS),
    ("concat S.fst S.fst", TOKENS_TO_WORDS),
];

/// Those that write no FST, or have tables by options.
const OTHERS: [&str; 7] = ["compile", "print", "info", "draw", "equivalent", "arpa2fst", "make-hlg"];

#[test]
fn every_operation_carries_swaps_or_merges_tables() {
    let bench = bench();
    for (line, expected) in OPERATIONS {
        bench.made(&format!("{line} out.fst"));
        assert_eq!(tables(&bench, "out.fst"), *expected, "{line}");
        // All labels of the result have symbols.
        bench.made("print out.fst out.txt");
    }
    let overview = bench.made("--help");
    let names = overview.lines().skip_while(|line| *line != "Operations:").skip(1).take_while(|line| !line.is_empty());
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        let is_here = OPERATIONS.iter().any(|(line, _)| line.split(' ').next() == Some(name));
        assert!(is_here || OTHERS.contains(&name), "what does {name} do with tables?");
    }
    bench.made("invert S.fst out.fst");
    assert!(bench.made("print out.fst").starts_with("0\t1\tyes\ty\n"));
}

#[test]
fn operations_on_two_files_refuse_other_tables_and_arcs() {
    let bench = bench();
    // The same symbols in another order; other symbols; no table; other arcs.
    bench.file("same", "no 2\nyes 1\n<eps> 0\n");
    bench.file("other", "<eps> 0\nno 1\nyes 2\n");
    for (file, options) in [
        ("same", "--isymbols=same --osymbols=same --keep_isymbols --keep_osymbols"),
        ("other", "--isymbols=other --osymbols=other --keep_isymbols --keep_osymbols"),
        ("none", "--isymbols=words --osymbols=words"),
        ("log", "--isymbols=words --osymbols=words --keep_isymbols --keep_osymbols --arc-type=log"),
    ] {
        bench.made(&format!("compile {options} one.txt {file}.fst"));
    }
    for operation in ["compose", "intersect", "difference", "union", "concat", "equivalent"] {
        let output = if operation == "equivalent" { "" } else { " out.fst" };
        for good in ["same", "none"] {
            let ended = bench.fst(&format!("{operation} one.fst {good}.fst{output}"));
            assert_eq!(ended.code, Some(0), "{operation} {good}: {}", ended.stderr);
            if !output.is_empty() {
                // What the second outputs has no table, if it has none.
                let chained = (operation, good) == ("compose", "none");
                let expected = if chained { (3, 0) } else { WORDS_TO_WORDS };
                assert_eq!(tables(&bench, "out.fst"), expected, "{operation} {good}");
            }
        }
        for (bad, words) in [
            (
                "other",
                "symbols of 'one.fst' and the input symbols of 'other.fst' differ: label 1 is 'yes' in the first and 'no' in",
            ),
            ("log", "the arcs of 'one.fst' are of type standard, but the arcs of 'log.fst' are of type log"),
        ] {
            let ended = bench.fst(&format!("{operation} one.fst {bad}.fst{output}"));
            assert!(ended.code == Some(1) && ended.stderr.contains(words), "{operation} {bad}: {}", ended.stderr);
        }
    }
    // Texts say nothing of their arcs, and are as the other file is.
    bench.file("plain.txt", "0 1 1 0.5\n1\n");
    bench.made("compose --format=binary plain.txt log.fst out.fst");
    assert!(bench.made("info out.fst").contains("arc type              log\n"));
}

/// What takes best paths is refused for arcs of the type log, all else is done in the log semiring
/// or is the same in both.
#[test]
fn arcs_of_the_type_log_are_summed_or_refused() {
    let bench = bench();
    // Two paths with the same labels, whose sum is 0.5 - ln 2.
    bench.file("twice.txt", "0 1 1 1 0.5\n0 2 1 1 0.5\n1 3 2 2\n2 3 2 2\n3\n");
    bench.made("compile --arc-type=log twice.txt log.fst");
    bench.made("compile twice.txt standard.fst");
    let names = OPERATIONS.iter().map(|(line, _)| line.split(' ').next().unwrap()).chain(["equivalent"]);
    let refused: Vec<_> = names
        .filter(|name| {
            let two = ["compose", "intersect", "difference", "union", "concat", "equivalent"].contains(name);
            let second = match *name {
                "difference" => " unique.fst",
                _ if two => " log.fst",
                _ => "",
            };
            let nondet = if *name == "minimize" { " --allow-nondet" } else { "" };
            bench.made("determinize log.fst unique.fst");
            let ended = bench.fst(&format!("{name}{nondet} log.fst{second}"));
            let told = ended.stderr.contains("is not done in the log semiring");
            assert!(ended.code == Some(0) || told, "{name}: {}", ended.stderr);
            told
        })
        .collect();
    assert_eq!(refused, ["epsnormalize", "minimize", "shortestpath"]);
    for line in ["determinize --weight=1 log.fst", "determinize --remove-epsilons log.fst"] {
        assert!(bench.fst(line).stderr.contains("is not done in the log semiring"), "{line}");
    }
    let cost = |line: &str| {
        bench.made(&format!("{line} out.fst"));
        let text = bench.made("print out.fst");
        text.split_whitespace()
            .filter(|field| field.contains('.'))
            .map(|field| field.parse::<f64>().unwrap())
            .sum::<f64>()
    };
    let sum = 0.5 - 2_f64.ln();
    for (line, expected) in [
        ("determinize log.fst", sum),
        ("minimize unique.fst", sum),
        ("determinize standard.fst", 0.5),
        ("rmepsilon unique.fst", sum),
        ("push unique.fst", sum),
    ] {
        assert!((cost(line) - expected).abs() < 1e-3, "{line}: {}", bench.made("print out.fst"));
    }
}

/// As OpenFst's `fstinfo` counts them.
#[test]
fn info_counts_as_fstinfo() {
    let bench = Bench::new();
    let counts = |text: &str| {
        bench.file("x.txt", text);
        bench.made("compile x.txt x.fst");
        let info = bench.made("info x.fst");
        let of = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
            line[name.len()..].trim().parse::<i64>().unwrap()
        };
        [
            "states",
            "arcs",
            "initial state",
            "final states",
            "input/output epsilons",
            "input epsilons",
            "output epsilons",
            "accessible states",
            "coaccessible states",
            "connected states",
        ]
        .map(of)
    };
    assert_eq!(
        counts("0 1 1 2\n0 1 0 0 1\n0 2 0 3\n1 2 4 0\n1 3 1 1\n4 2 1 1\n1 0.5\n2\n"),
        [5, 6, 0, 2, 1, 2, 2, 4, 4, 3]
    );
    assert_eq!(counts("0 0 0 0\n0\n"), [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]);
    // What fstinfo of OpenFst 1.7.9 says of random files.
    for (text, expected) in [
        (
            "6 0 1 2 0.5\n6 4 1 1 1.25\n3 2 1 0 0\n4 2 1 0 1.25\n1 5 1 2 0\n5 6 1 2 1.25\n3 7 1 2 0.5\n0 Infinity\n2 0.75\n",
            [8, 7, 0, 1, 0, 0, 2, 4, 6, 3],
        ),
        (
            "0 1 0 1 0.5\n1 2 1 0 0\n1 0 1 1 1.25\n0 2 1 1 1.25\n0 2 0 1 0\n0 0 2 2 0\n1 2 0 1 1.25\n0 2 0 1 0.5\n2 0 1 0 1.25\n0 1 1 0 0.5\n",
            [3, 10, 0, 0, 0, 4, 3, 3, 0, 0],
        ),
        (
            "0 2 1 1 0\n0 0 0 1 1.25\n1 0 0 2 1.25\n1 1 0 0 0.5\n0 0 2 1 0.5\n0 0.75\n1 Infinity\n",
            [3, 5, 0, 1, 1, 3, 1, 2, 2, 1],
        ),
        (
            "1 7 1 0 0\n2 7 2 1 0.5\n0 4 1 0 1.25\n6 1 0 2 1.25\n4 1 1 1 0\n5 6 1 1 1.25\n1 3 2 2 0.5\n1 0 2 0 1.25\n5 7 0 2 1.25\n0 5 0 2 0.5\n2 Infinity\n4 Infinity\n5 Infinity\n6 0.75\n7 Infinity\n",
            [8, 10, 0, 1, 0, 3, 3, 7, 5, 5],
        ),
        (
            "2 2 0 0 1.25\n0 2 2 1 1.25\n0 2 2 2 1.25\n0 3 0 2 0.5\n3 1 0 0 0\n0 1 2 2 0\n3 0 1 0 1.25\n1 3 0 1 0\n3 2 1 0 0\n0 3 0 1 0.5\n0 0\n3 Infinity\n4 Infinity\n",
            [5, 10, 0, 1, 2, 5, 4, 1, 3, 0],
        ),
    ] {
        assert_eq!(counts(text), expected, "{text}");
    }
    assert_eq!(counts(""), [0, 0, -1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn files_of_other_types_are_named_with_what_converts_them() {
    let bench = bench();
    let with = |from: &[u8], to: &[u8]| {
        let mut bytes = fs::read(bench.path("S.fst")).unwrap();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        fs::write(bench.path("x.fst"), bytes).unwrap();
        bench.fst("print x.fst")
    };
    let ended = with(b"vector", b"ngrams");
    assert!(
        ended.code == Some(1) && ended.stderr.contains("x.fst: OpenFst files of type \"ngrams\""),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("fstconvert --fst_type=vector IN OUT"));
    let ended = with(b"standard", b"lexicogr");
    assert!(ended.code == Some(1) && ended.stderr.contains("fstmap --map_type=to_std IN OUT"), "{}", ended.stderr);
}
