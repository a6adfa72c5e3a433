//! `kaldera fst`: graphs of lexica and models in files, tables that are given, compressed texts and
//! pipes, limits.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fst::Bench;

const ARPA: &str = "\\data\\\nngram 1=6\nngram 2=9\n\n\\1-grams:\n-99 <s> -0.3\n-0.5 </s>\n-0.6 A -0.1\n-0.7 B\n-0.8 C\n-1 D\n\n\\2-grams:\n\
    -0.2 <s> A\n-0.4 A B\n-0.9 D A\n\n\\end\\\n";
const LEXICON: &str = "A x\nB y\nC x x\nE y x\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("lm.arpa", ARPA);
    bench.file("lexicon", LEXICON);
    bench.file("xy", "<blk> 0\nx 1\ny 2\n");
    bench
}

#[test]
fn a_grammar_is_that_of_kaldi() {
    let bench = bench();
    bench.file("given", "<eps> 0\n<s> 1\n</s> 2\nA 3\nB 4\nC 5\n#0 6\n");
    let ended =
        bench.fst("arpa2fst --disambig-symbol=#0 --read-symbol-table=given --write-symbol-table=written lm.arpa G.fst");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("2 (1 symbol: D)"), "{}", ended.stderr);
    assert!(ended.stderr.contains("6 n-grams fewer than its header counts"), "{}", ended.stderr);
    assert_eq!(bench.text("written").replace('\t', " "), bench.text("given"), "a table that is given is not extended");
    let printed = bench.made("print G.fst");
    let backoffs: Vec<_> = printed.lines().filter(|line| line.contains('#')).collect();
    assert!(backoffs.len() == 2 && backoffs.iter().all(|line| line.contains("\t#0\t<eps>\t")), "{printed}");
    // Without the symbol, sentences begin and end with words, and arcs that back off are epsilons.
    bench.made("arpa2fst --write-symbol-table=written lm.arpa P.fst");
    assert!(bench.text("written").starts_with("<eps>\t0\n<s>\t1\n</s>\t2\nA\t3\n"));
    let printed = bench.made("print P.fst");
    assert!(printed.starts_with("0\t1\t<s>\t<s>\n") && printed.contains("\t</s>\t</s>\t"), "{printed}");
    assert!(printed.contains("\t<eps>\t<eps>\t") && !printed.contains('#'), "{printed}");
    bench.made("arpa2fst --disambig-symbol=#0 --write-symbol-table=written lm.arpa");
    assert!(bench.text("written").starts_with("<eps>\t0\n#0\t1\n<s>\t2\n</s>\t3\nA\t4\n"));
    for (options, missing) in [("--disambig-symbol=#1", "'#1'"), ("--eos-symbol=END", "'END'")] {
        bench
            .fst(&format!("arpa2fst {options} --read-symbol-table=given lm.arpa x.fst"))
            .with(1)
            .tells(&["'given' has no symbol", missing]);
    }
}

#[test]
fn tables_that_are_given_are_never_extended() {
    let bench = bench();
    bench.file("abc", "<eps> 0\n<unk> 1\nA 2\nB 3\nC 4\n");
    bench.file("oov", &format!("{LEXICON}C zz x\n"));
    bench
        .fst("make-hlg --tokens=xy --write-tokens=t oov lm.arpa H.fst")
        .with(1)
        .tells(&["lexicon, line 5: a token that the table of tokens does not have: zz"]);
    assert!(!bench.path("t").exists() && !bench.path("H.fst").exists());
    bench
        .fst("make-hlg --tokens=xy --words=abc lexicon lm.arpa H.fst")
        .with(1)
        .tells(&["lexicon, line 4: a word that the table of words does not have: E"]);
    let ended = bench
        .fst("make-hlg --tokens=xy --words=abc --unk=<unk> --write-tokens=t --write-words=w lexicon lm.arpa H.fst");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("which are '<unk>': 1 (1 symbol: E)"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("n-grams left out, as words have no pronunciation: 2 (1 symbol: D)"),
        "{}",
        ended.stderr
    );
    assert_eq!(bench.text("w").replace('\t', " "), bench.text("abc"));
    assert_eq!(bench.text("t"), "<eps>\t0\n<blk>\t1\nx\t2\ny\t3\n");
    bench
        .fst("make-hlg --tokens=xy --words=abc --unk=none lexicon lm.arpa H.fst")
        .with(1)
        .tells(&["there is no symbol \"none\""]);
    assert_eq!(bench.fst("make-hlg --unk=<unk> lexicon lm.arpa H.fst").code, Some(2));
    // Without tables, what no path outputs is told.
    let ended = bench.fst("make-hlg lexicon lm.arpa H.fst");
    assert!(ended.stderr.contains("as the model has no n-gram of them: 1 (1 symbol: E)"), "{}", ended.stderr);
}

/// The cost of the best path in natural logarithms, by what the labels of the file mean.
fn cost(bench: &Bench, graph: &str, frames: &[&str], options: &str) -> f64 {
    let table = bench.text(&format!("{graph}.tokens.txt"));
    let label = |name: &str| table.lines().find_map(|line| line.strip_prefix(&format!("{name}\t"))).unwrap().to_owned();
    let mut lines = String::new();
    for (at, frame) in frames.iter().enumerate() {
        lines += &format!("{at} {} {} 0\n", at + 1, label(frame));
    }
    let last = frames.len();
    bench.file("frames.txt", &format!("{lines}{last} {} -1 0\n{}\n", last + 1, last + 1));
    bench.made(&format!("compose {options} --format=k2 frames.txt {graph} composed.txt"));
    let composed = bench.text("composed.txt");
    // The score of a path is the sum of those of its arcs; words count in no label.
    let mut best = std::collections::HashMap::from([(0_u32, 0.0_f64)]);
    let mut arcs: Vec<(u32, u32, f64)> = vec![];
    for line in composed.lines() {
        let fields: Vec<_> = line.split_whitespace().collect();
        if let [src, dest, .., score] = &fields[..] {
            arcs.push((src.parse().unwrap(), dest.parse().unwrap(), score.parse().unwrap()));
        }
    }
    for _ in 0..arcs.len() {
        for (src, dest, score) in &arcs {
            if let Some(sum) = best.get(src).map(|before| before + score) {
                let place = best.entry(*dest).or_insert(f64::NEG_INFINITY);
                *place = place.max(sum);
            }
        }
    }
    let last = composed.lines().last().map_or(0, |line| line.trim().parse().unwrap());
    -best.get(&last).copied().filter(|_| last > 0).unwrap_or(f64::NEG_INFINITY)
}

#[test]
fn decoding_graphs_in_files_decode_by_what_their_labels_mean() {
    let bench = bench();
    let log = |log10: f64| log10 * std::f64::consts::LN_10;
    // <s> A, then </s> after A with the weight of backing off.
    let once = log(0.2 + 0.1 + 0.5);
    let (twice, c) = (log(0.2 + 0.1 + 0.6 + 0.1 + 0.5), log(0.3 + 0.8 + 0.5));
    for options in ["", " --modified", " --sil-token=SIL"] {
        let given = if options.contains("SIL") { "" } else { " --tokens=xy" };
        bench.made(&format!("make-hlg{options}{given} lexicon lm.arpa H.fst"));
        bench.made(&format!("make-hlg{options}{given} --remove-epsilon lexicon lm.arpa without.fst"));
        bench.made(&format!("make-hlg{options}{given} --remove-epsilon --format=k2 lexicon lm.arpa H.k2.txt"));
        bench.made("print H.fst H.txt");
        assert!(bench.text("H.k2.txt.tokens.txt").starts_with("<blk>\t0\n") && bench.text("H.k2.txt").contains("[ "));
        let (one, half) = (options.contains("SIL"), log(0.5_f64.log10()).abs());
        for (frames, words, expected) in [
            (&["x"][..], 1, once),
            (&["x", "x", "<blk>"], 1, once),
            (&["x", "<blk>", "x"], 2, if one { c } else { twice.min(c) }),
        ] {
            let in_binary = cost(&bench, "H.fst", frames, "--compose-filter=sequence");
            let in_k2 = cost(&bench, "H.k2.txt", frames, "--compose-filter=null");
            let without = cost(&bench, "without.fst", frames, "--compose-filter=sequence");
            for other in [in_k2, without] {
                assert!((in_binary - other).abs() < 1e-5, "{options} {frames:?}: {in_binary} {other}");
            }
            // Silence between words has its price.
            let allowed = if one { half * (f64::from(words) + 1.0) + 0.02 } else { 0.02 };
            assert!(
                in_binary - expected > -0.02 && in_binary - expected < allowed,
                "{options} {frames:?}: {in_binary} {expected}"
            );
        }
    }
    // The tables are in the binary file too.
    assert!(bench.text("H.txt").contains("\t<blk>\t") && bench.text("H.txt").contains("\tA"));
    // k2's text has no epsilons beside blank.
    bench.made("make-hlg --tokens=xy --format=k2 --remove-epsilon lexicon lm.arpa H.k2.txt");
    let ended = bench.fst("make-hlg --tokens=xy --format=k2 lexicon lm.arpa same.txt");
    assert!(ended.code == Some(0) && ended.stderr.contains("as with --remove-epsilon"), "{}", ended.stderr);
    assert!(ended.stderr.contains("about to be made: H o L o G"), "{}", ended.stderr);
    assert_eq!(bench.text("same.txt"), bench.text("H.k2.txt"));
    // L o G has no blank, and the numbers of the table.
    bench.made("make-hlg --lg --tokens=xy lexicon lm.arpa LG.fst");
    assert_eq!(bench.text("LG.fst.tokens.txt"), "<eps>\t0\nx\t1\ny\t2\n");
}

#[test]
fn one_boundary_stands_between_words() {
    let bench = bench();
    bench.file("xyw", "<blk> 0\n<wb> 1\nx 2\ny 3\n");
    for more in ["", " --modified", " --remove-epsilon"] {
        for (ends, [start, end]) in [
            ("", [true, true]),
            (" --boundary-at-end=false", [true, false]),
            (" --boundary-at-start=false", [false, true]),
            (" --boundary-at-start=false --boundary-at-end=false", [false, false]),
        ] {
            bench.made(&format!("make-hlg --word-boundary=<wb>{ends}{more} --tokens=xyw lexicon lm.arpa H.fst"));
            let cost = |frames: &str| {
                cost(&bench, "H.fst", &frames.split(' ').collect::<Vec<_>>(), "--compose-filter=sequence")
            };
            let sentence = cost("x <wb> y");
            assert!(sentence.is_finite());
            for (same, accepted) in [
                ("x <blk> <wb> <wb> <blk> y <blk>", true),
                ("<wb> x <wb> y", start),
                ("x <wb> y <blk> <wb>", end),
                ("<blk> <wb> x <wb> y <wb> <wb>", start && end),
            ] {
                let expected = if accepted { sentence } else { f64::INFINITY };
                assert_eq!(cost(same), expected, "{same}{ends}{more}");
            }
            for none in ["x y", "x <wb> <blk> <wb> y", "<wb> <blk> <wb> x", "x <wb> <blk> <wb>"] {
                assert!(cost(none).is_infinite(), "{none}{ends}{more}");
            }
            // Between the x of the word C there is none.
            assert!(cost("x <blk> x").is_finite() && cost("x <wb> x") > cost("x"), "{ends}{more}");
        }
    }
    // With silence, which may stand anywhere but after a boundary.
    bench.made("make-hlg --word-boundary=| --sil-token=SIL lexicon lm.arpa H.fst");
    let cost =
        |frames: &str| cost(&bench, "H.fst", &frames.split(' ').collect::<Vec<_>>(), "--compose-filter=sequence");
    for some in ["SIL x | y SIL", "SIL | x SIL | y", "x | y SIL |"] {
        assert!((cost(some) - cost("x | y")).abs() < 1e-4, "{some}");
    }
    for none in ["x SIL y", "x | SIL y", "| SIL x", "x | SIL"] {
        assert!(cost(none).is_infinite(), "{none}");
    }
    bench
        .fst("make-hlg --word-boundary=| --tokens=xyw lexicon lm.arpa x.fst")
        .with(1)
        .tells(&["there is no symbol \"|\""]);
}

#[test]
fn steps_tell_their_sizes_and_what_they_took() {
    let bench = bench();
    let told = bench.fst("make-hlg --tokens=xy lexicon lm.arpa H.fst").stderr;
    for graph in ["G", "L", "L o G", "det(L o G)", "min(det(L o G))", "H o L o G"] {
        let line = told.lines().find(|line| line.contains(&format!(": {graph}: "))).unwrap_or_else(|| panic!("{told}"));
        let words = ["states", "arcs", " MB (", " s"].into_iter();
        for word in words.chain(Some("peak memory").filter(|_| cfg!(target_os = "linux"))) {
            assert!(line.contains(word), "{line}");
        }
    }
    assert!(!told.contains("about to be made"), "{told}");
    let told = bench.fst("make-hlg --tokens=xy --remove-epsilon lexicon lm.arpa H.fst").stderr;
    let place = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text} is not in: {told}"));
    for graph in ["L o G without epsilons", "H o L o G"] {
        assert!(place(&format!("about to be made: {graph}: ")) < place(&format!("fst: {graph}: ")), "{told}");
    }
    // What would not fit is refused, after its size was told.
    let ended = bench.fst("make-hlg --tokens=xy --remove-epsilon --max-mem=1000 lexicon lm.arpa H.fst");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("1000"), "{}", ended.stderr);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Wherever a text is read, it may be compressed, under any name, in several members, or come from
/// a command.
#[cfg(unix)]
#[test]
fn texts_may_be_compressed_or_come_from_commands() {
    let bench = bench();
    bench.made("compile --isymbols=tokens --osymbols=words lexicon.txt L.fst");
    let variants = |name: &str| {
        let bytes = fs::read(bench.path(name)).unwrap();
        let (front, back) = bytes.split_at(bytes.len() / 2);
        let compressed = format!("{name}.gz");
        fs::write(bench.path(&compressed), [gzip(front), gzip(back)].concat()).unwrap();
        fs::write(bench.path(&format!("{name}.odd")), gzip(&bytes)).unwrap();
        [
            name.to_owned(),
            compressed.clone(),
            format!("{name}.odd"),
            format!("cat {name} |"),
            format!("gunzip -c {compressed} |"),
            format!("cat {compressed}|"),
        ]
    };
    let run = |args: &[&str]| {
        let ended = bench.fst_args(args);
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
        ended.stdout
    };
    fn text<'a>(args: &[&'a str]) -> Vec<&'a str> {
        [args, &["x.fst"]].concat()
    }
    for (name, before, after) in [
        ("lm.arpa", vec!["arpa2fst"], vec!["x.fst"]),
        ("xy", vec!["make-hlg", "--tokens"], vec!["lexicon", "lm.arpa", "x.fst"]),
        ("lexicon", vec!["make-hlg"], vec!["lm.arpa", "x.fst"]),
        ("lm.arpa", vec!["make-hlg", "lexicon"], vec!["x.fst"]),
        ("words", vec!["arpa2fst", "--read-symbol-table"], vec!["lm.arpa", "x.fst"]),
        ("tokens", vec!["compile", "--osymbols=words", "--isymbols"], vec!["lexicon.txt", "x.fst"]),
        ("lexicon.txt", vec!["compile", "--isymbols=tokens", "--osymbols=words"], vec!["x.fst"]),
        ("L.fst", vec!["arcsort"], vec!["x.fst"]),
    ] {
        if name == "words" {
            bench.file("words", "<eps> 0\n<s> 1\n</s> 2\nA 3\n");
        }
        let mut results = vec![];
        for variant in variants(name) {
            // Options take their value with an equals sign.
            let mut args = before.clone();
            let joined;
            match before.last().filter(|last| last.starts_with("--") && !last.contains('=')) {
                Some(option) => {
                    joined = format!("{option}={variant}");
                    *args.last_mut().unwrap() = &joined;
                }
                None => args.push(&variant),
            }
            args.extend(&after);
            run(&args);
            results.push(fs::read(bench.path("x.fst")).unwrap());
        }
        assert!(results.iter().all(|result| *result == results[0]), "{name} as {before:?}");
        if name == "words" {
            bench.file("words", "<eps> 0\nyes 1\nno 2\n");
        }
    }
    // A command that fails is no empty text.
    let ended = bench.fst_args(&text(&["arcsort", "cat L.fst; exit 3 |"]));
    ended.with(1).tells(&["exit 3", "exit status: 3"]);
    // What is cut off is told, without its bytes.
    let cut = gzip(ARPA.as_bytes());
    fs::write(bench.path("cut.gz"), &cut[..cut.len() / 2]).unwrap();
    let ended = bench.fst("arpa2fst cut.gz x.fst");
    assert!(ended.code == Some(1) && ended.stderr.chars().all(|c| !c.is_control() || c == '\n'), "{}", ended.stderr);
}

/// What would take all memory is refused, with sizes, without an option.
#[cfg(unix)]
#[test]
fn what_grows_without_bounds_has_a_limit() {
    let bench = bench();
    bench.file("loop.txt", "0 0 1 1\n0 1 2 2\n1\n");
    bench.file("line.txt", "0 1 2 2\n1\n");
    // Two cycles that weigh the same label differently: determinization never ends.
    bench.file("twins.txt", "0 1 1 1\n0 2 1 1\n1 1 2 2 0.1\n2 2 2 2 0.3\n1 3 3 3\n2 3 4 4\n3\n");
    for (line, words) in [
        ("shortestpath --nshortest=1000000000 loop.txt x.txt", "finding the best paths needs"),
        ("randgen --npath=1000000000 line.txt x.txt", "drawing random paths needs"),
    ] {
        bench.fst(line).with(1).tells(&[words, "bytes or more", "arcs", "its limit is"]);
    }
    // As many as there are.
    assert_eq!(bench.made("shortestpath --nshortest=1000000000 line.txt"), "0\t1\t2\t2\n1\n");
    // Half of what the process may have.
    for line in ["determinize twins.txt x.txt", "equivalent twins.txt twins.txt"] {
        let ended = bench.shell(&format!("ulimit -v 1600000; exec \"$K\" fst {line}"));
        ended.with(1).tells(&["determinization stopped at its limit of 819200000 bytes", "states"]);
    }
}
