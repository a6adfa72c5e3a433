//! `kaldera fst`: files of all formats through the operations, their words and exit status.

use std::fs;
use std::ops::Deref;

use crate::bench::{self, Ended};

/// A folder with a lexicon and a grammar.
pub(crate) struct Bench(bench::Bench);

impl Deref for Bench {
    type Target = bench::Bench;

    fn deref(&self) -> &bench::Bench {
        &self.0
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self(bench::Bench::new());
        // Two words, each twice, and a language model of both.
        bench.file("words", "<eps> 0\nyes 1\nno 2\n");
        bench.file("tokens", "<eps> 0\ny 1\ne 2\ns 3\nn 4\no 5\n");
        bench.file(
            "lexicon.txt",
            "0 1 y yes\n1 2 e <eps>\n2 3 s <eps>\n0 4 n no 0.5\n4 3 o <eps>\n3 0 <eps> <eps>\n3\n",
        );
        bench.file("grammar.txt", "0 1 yes yes 0.25\n0 1 no no 1\n1\n");
        bench
    }

    pub(crate) fn fst(&self, line: &str) -> Ended {
        self.line(&format!("fst {line}"))
    }

    /// Arguments that may have blanks in them.
    pub(crate) fn fst_args(&self, args: &[&str]) -> Ended {
        self.run(&[&["fst"], args].concat())
    }

    /// Runs what must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn made(&self, line: &str) -> String {
        self.fst(line).with(0).stdout
    }

    /// Lexicon and grammar as binary files.
    pub(crate) fn compiled() -> Self {
        let bench = Self::new();
        bench.made("compile --isymbols=tokens --osymbols=words --keep_isymbols --keep_osymbols lexicon.txt L.fst");
        bench.made("compile --isymbols=words --osymbols=words --keep_isymbols --keep_osymbols grammar.txt G.fst");
        bench
    }
}

#[test]
fn a_lexicon_and_a_grammar_become_a_graph() {
    let bench = Bench::compiled();
    bench.made("arcsort --sort_type=olabel L.fst Lo.fst");
    bench.made("compose Lo.fst G.fst LG.fst");
    let composed = bench.made("print LG.fst");
    for option in ["--compose_filter=alt_sequence", "--compose-filter=trivial", "--look-ahead", "--max-mem=100000"] {
        bench.made(&format!("compose {option} Lo.fst G.fst other.fst"));
        assert_eq!(bench.made("print other.fst"), composed, "{option}");
    }
    bench.made("rmepsilon LG.fst LGr.fst");
    bench.made("determinize LGr.fst LGd.fst");
    bench.made("minimize LGd.fst LGm.fst");
    bench.made("determinize --remove-epsilons LG.fst LGe.fst");
    assert_eq!(bench.fst("equivalent LGd.fst LGe.fst").code, Some(0));
    bench.made("epsnormalize LGe.fst LGn.fst");
    bench.made("epsnormalize --eps_norm_output LGn.fst LGo.fst");
    assert_eq!(bench.fst("equivalent LGd.fst LGm.fst").code, Some(0));
    bench.made("rmepsilon L.fst Lr.fst");
    assert_eq!(bench.fst("equivalent Lr.fst LGm.fst").code, Some(2));
    assert_eq!(bench.fst("equivalent L.fst LGm.fst").code, Some(2), "epsilons are none");
    assert_eq!(bench.fst("equivalent L.fst Lr.fst").code, Some(0), "epsilons are none");
    // What it reads and writes has symbols of both sides.
    assert!(!bench.made("shortestpath LGm.fst").starts_with('0'), "binary goes on as binary");
    bench.made("shortestpath LGm.fst best.fst");
    assert_eq!(bench.made("print best.fst").replace("\t0.25", ""), "0\t1\ty\tyes\n1\t2\te\t<eps>\n2\t3\ts\t<eps>\n3\n");
    assert!(bench.made("info LGm.fst").contains("kind                  transducer"));
    assert!(bench.made("draw --format=dot LGm.fst").contains("n:no/-1.5"));
    assert_eq!(bench.made("project --project-output best.fst p.fst"), "");
    assert!(bench.made("convert --format=k2 p.fst").ends_with("\n4\n"));
}

#[test]
fn formats_are_told_by_what_is_in_them() {
    let bench = Bench::new();
    bench.file("k2.txt", "0 1 7 0.5\n1 2 -1 0\n2\n");
    bench.file("openfst.txt", "0 1 7 -0.5\n1\n");
    bench.file("transducer.txt", "0 1 7 70 -0.5\n1\n");
    assert_eq!(bench.made("convert --format=text k2.txt"), "0\t1\t7\t-0.5\n1\n");
    assert_eq!(bench.made("convert --format=k2 openfst.txt"), "0 1 7 0.5\n1 2 -1 0\n2\n");
    assert_eq!(bench.fst("equivalent k2.txt openfst.txt").code, Some(0));
    assert_eq!(bench.made("print transducer.txt"), "0\t1\t7\t70\t-0.5\n1\n");
    assert_eq!(bench.made("invert transducer.txt"), "0\t1\t70\t7\t-0.5\n1\n");
    assert_eq!(bench.made("union k2.txt openfst.txt").lines().last(), Some("5"), "as the first one was");
    for line in
        ["concat k2.txt k2.txt", "closure k2.txt", "closure --closure_plus transducer.txt", "reverse transducer.txt"]
    {
        bench.made(line);
    }
    assert_eq!(bench.made("intersect k2.txt openfst.txt"), "0 1 7 1\n1 2 -1 0\n2\n");
    assert_eq!(bench.made("difference k2.txt openfst.txt"), "");
    assert_eq!(bench.made("randgen --npath=2 k2.txt").lines().count(), 5);
    assert_eq!(bench.made("push --to-final openfst.txt"), "0\t1\t7\n1\t-0.5\n");
}

#[test]
fn a_language_model_becomes_a_grammar() {
    let bench = Bench::new();
    bench.file(
        "lm.arpa",
        "\\data\\\nngram 1=3\nngram 2=1\n\\1-grams:\n-99 <s> -0.5\n-0.25 </s>\n-1 yes\n\\2-grams:\n-0.125 <s> yes\n\\end\\\n",
    );
    bench.made("arpa2fst --write-symbol-table=lm.words lm.arpa lm.fst");
    assert!(bench.text("lm.words").contains("yes"));
    assert!(bench.made("info lm.fst").contains("arcs                  5\n"));
    bench.file("lexicon", "yes y e s\nno n o\n");
    let made = bench.fst("make-hlg --write-words=w --write-tokens=t lexicon lm.arpa HLG.fst");
    assert!(made.code == Some(0) && made.stderr.contains("L o G"), "{}", made.stderr);
    let tokens = bench.text("t");
    let token =
        |name: &str| tokens.lines().find_map(|line| line.strip_prefix(&format!("{name}\t"))).unwrap().to_owned();
    let lines: Vec<_> =
        ["y", "e", "s"].iter().enumerate().map(|(i, name)| format!("{i} {} {}\n", i + 1, token(name))).collect();
    bench.file("frames.txt", &(lines.concat() + "3\n"));
    assert!(bench.made("compose frames.txt HLG.fst yes.txt").is_empty());
    assert!(bench.text("yes.txt").lines().count() >= 4, "the frames of a word give the word");
    let broken = bench.fst("arpa2fst grammar.txt");
    assert!(broken.code == Some(1) && broken.stderr.contains("line"), "{}", broken.stderr);
}

#[test]
fn mistakes_are_told() {
    let bench = Bench::compiled();
    bench.file("bad.txt", "0 1 yes yes\n1 2 maybe yes\n2\n");
    bench.file("T.txt", "0 1 1 2 0.5\n1\n");
    let wrong = bench.fst("compile --isymbols=words --osymbols=words bad.txt out.fst");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("bad.txt: line 2, column 5: a symbol that is not in the table"), "{}", wrong.stderr);
    assert!(!bench.path("out.fst").exists());
    for (line, code, words) in [
        ("determine L.fst", 2, "no operation 'determine'; did you mean 'determinize'?"),
        ("compose L.fst", 2, "expected 2 inputs"),
        ("compose --compose_filter=none L.fst G.fst", 2, "'none' is no filter"),
        ("compose --max-mem=10 L.fst G.fst", 1, "but its limit is 10; raise the limit"),
        ("arcsort --sort_type=up L.fst", 2, "'up'"),
        ("arcsort --sortt=up L.fst", 2, "unknown option '--sortt=up'; did you mean '--sort-type'?"),
        ("draw L.fst x.gif", 2, "'x.gif': the file extension must select the format: .svg, or .dot"),
        ("convert L.fst x.txt", 2, "add --format=k2 or --format=text"),
        ("convert L.fst x.gif", 2, ".fst (OpenFst's binary files) or .txt"),
        ("convert --format=binry L.fst x.fst", 2, "did you mean 'binary'?"),
        ("connect nowhere.fst", 1, "nowhere.fst"),
        ("topsort L.fst", 1, "cycl"),
        ("intersect L.fst G.fst", 1, "symbols of 'L.fst'"),
        ("intersect L.fst L.fst", 1, "symbols of 'L.fst'"),
        ("intersect T.txt T.txt", 1, "acceptors"),
        ("connect L.fst no/folder/out.fst", 1, "no/folder/out.fst"),
    ] {
        let ended = bench.fst(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{line}: {}", ended.stderr);
    }
    assert!(bench.made("--help").contains("  shortestpath"));
    assert!(bench.made("compose --help").contains("--connect"));
    let damaged = fs::read(bench.path("L.fst")).unwrap();
    fs::write(bench.path("cut.fst"), &damaged[..damaged.len() - 5]).unwrap();
    assert_eq!(bench.fst("info cut.fst").code, Some(1));
}

#[test]
fn files_of_the_type_const_are_the_same_machine() {
    let bench = Bench::compiled();
    bench.made("convert --fst_type=const L.fst C.fst");
    assert!(fs::read(bench.path("C.fst")).unwrap().windows(5).any(|bytes| bytes == b"const"));
    assert_eq!(bench.made("print C.fst"), bench.made("print L.fst"));
    assert_eq!(bench.fst("convert --fst_type=compact L.fst C.fst").code, Some(2));
    assert_eq!(bench.made("project --project_type=output L.fst"), bench.made("project --project_output L.fst"));
}

/// A program in the place of Graphviz's, and none.
#[cfg(unix)]
#[test]
fn graphviz_draws_if_it_is_there() {
    use std::os::unix::fs::PermissionsExt as _;

    let bench = Bench::compiled();
    bench.file("dot", "#!/bin/sh\necho \"<svg $1\"\nexec /bin/cat\n");
    fs::set_permissions(bench.path("dot"), fs::Permissions::from_mode(0o755)).unwrap();
    let draw = |folder: &str| {
        let mut command = bench.command(&["fst", "draw", "L.fst"]);
        Ended::from(command.env("PATH", bench.path(folder)).output().unwrap())
    };
    let text = draw("").with(0).stdout;
    assert!(text.starts_with("<svg -Tsvg\ndigraph") && text.ends_with("}\n"), "{text}");
    draw("nowhere")
        .with(1)
        .tells(&["cannot run 'dot' of Graphviz: it is not installed; install the package graphviz; --format=dot"]);
}

#[test]
fn repetitions_are_of_whole_strings() {
    let bench = Bench::new();
    // Any number of 1 and then 2, so that the start is entered.
    bench.file("loop.txt", "0 0 1 1\n0 1 2 2\n1\n");
    bench.file("half.txt", "0 1 1 1\n1\n");
    bench.file("whole.txt", "0 1 1 1\n1 2 2 2\n2\n");
    bench.made("closure --format=binary loop.txt star.fst");
    let accepts = |string: &str| !bench.made(&format!("info {string}")).contains("final states          0\n");
    for (string, accepted) in [("half", false), ("whole", true)] {
        bench.made(&format!("compose --format=text {string}.txt star.fst {string}.out"));
        assert_eq!(accepts(&format!("{string}.out")), accepted, "{string}");
    }
}

#[test]
fn the_examples_of_help_work() {
    let bench = Bench::compiled();
    bench.file("lexicon", "yes y e s\nno n o\n");
    bench.file("lm.arpa", "\\data\\\nngram 1=4\n\\1-grams:\n-99 <s>\n-1 </s>\n-0.3 yes\n-0.5 no\n\\end\\\n");
    let overview = bench.made("--help");
    let names = overview.lines().skip_while(|line| *line != "Operations:").skip(1).take_while(|line| !line.is_empty());
    let mut operations = 0;
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        let help = bench.made(&format!("{name} --help"));
        let example = help.lines().skip_while(|line| *line != "Example:").nth(1).expect(name);
        bench.made(example.strip_prefix("  kaldera fst ").expect(example));
        operations += 1;
    }
    assert!(operations >= 27, "{overview}");
}
