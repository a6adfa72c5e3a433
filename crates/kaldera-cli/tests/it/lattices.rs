//! Kaldi's programs on lattices, as far as no known answer tests them.

use std::fs;

use tempfile::TempDir;

use crate::bench::ends;

/// Four word sequences over five frames, 1 2 (cost 5), 1 3 (7), 4 2 (7.5) and 4 3 (9.5); and a
/// lattice with a cycle.
const LATTICES: &str = "a
0 1 1 1,1,7_7
0 1 4 0,4.5,7_8
1 2 2 0.5,1,9_9_9
1 2 3 0.5,3,9_9_8
2 0.5,1,

bad
0 0 1 1,1,7
0

";

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("lats"), LATTICES).unwrap();
    fs::write(dir.path().join("ref"), "a 4 2 5\n").unwrap();
    dir
}

#[test]
fn a_bad_lattice_is_left_out_and_told() {
    let dir = folder();
    for program in ["lattice-1best", "lattice-prune", "lattice-determinize-pruned", "lattice-to-nbest"] {
        let (out, told) = ends(&dir, 0, &[program, "ark:lats", "ark,t:-"]);
        assert!(out.starts_with('a') && !out.contains("bad"), "{program}: {out}");
        assert!(told.contains("leaving out bad"), "{program}: {told}");
    }
}

#[test]
fn damaged_lattices_are_named_and_the_rest_goes_on() {
    let dir = folder();
    let good = |key: &str| format!("{key}\n0 1 1 1,1,7_7\n1 0.5,1,\n\n");
    let wrong =
        "cycle\n0 0 1 1,1,7\n0\n\nnan\n0 1 1 nan,1,7\n1\n\nendless\n0 1 1 1,-inf,7\n1\n\nno-end\n0 1 1 1,1,7\n\n";
    fs::write(dir.path().join("mixed"), good("a") + wrong + &good("z")).unwrap();
    for program in ["lattice-1best", "lattice-determinize-pruned", "lattice-to-nbest", "lattice-mbr-decode"] {
        let (out, told) = ends(&dir, 0, &[program, "ark:mixed", "ark,t:-"]);
        assert!(out.starts_with('a') && out.contains("\nz"), "{program}: {out}");
        assert!(["cycle", "nan", "endless"].iter().all(|key| !out.contains(key)), "{program}: {out}");
        for key in ["cycle", "nan", "endless", "no-end"] {
            assert!(told.contains(key), "{program}: {key} is not named: {told}");
        }
    }
    // Bytes that are no lattice: of a script file with the option p, as Kaldi, the others are read.
    fs::write(dir.path().join("good"), good("a") + &good("b") + &good("c")).unwrap();
    ends(&dir, 0, &["lattice-copy", "ark:good", "ark,scp:bin.ark,bin.scp"]);
    let scp = fs::read_to_string(dir.path().join("bin.scp")).unwrap();
    let at: usize = scp.lines().nth(1).unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    let whole = fs::read(dir.path().join("bin.ark")).unwrap();
    let length = (whole.len() - at) / 2;
    for damaged in [at, at + 8, at + length / 2, at + length - 9] {
        let mut bytes = whole.clone();
        bytes[damaged] ^= 0xff;
        fs::write(dir.path().join("bin.ark"), &bytes).unwrap();
        let (out, told) = ends(&dir, 0, &["lattice-1best", "scp,p:bin.scp", "ark,t:-"]);
        assert!(out.starts_with('a') && out.contains("\nc"), "byte {damaged}: {out}");
        assert!(out.contains("\nb") || told.contains('b'), "byte {damaged}: {told}");
    }
    let mut bytes = whole;
    bytes[at] ^= 0xff;
    fs::write(dir.path().join("bin.ark"), bytes).unwrap();
    let (out, told) = ends(&dir, 255, &["lattice-1best", "scp:bin.scp", "ark,t:-"]);
    assert!(out.starts_with('a') && told.contains("bin.ark"), "{told}");
}

#[test]
fn the_oracle_counts_errors() {
    let dir = folder();
    let args = ["lattice-oracle", "ark:lats", "ark:ref", "ark,t:-", "ark,t:errors"];
    // 4 2 of the lattice, where the reference has one word more.
    let (out, told) = ends(&dir, 0, &args);
    assert_eq!(out, "a 4 2 \n");
    for line in [
        "%WER 33.3333 [ 1 / 3, 0 insertions, 1 deletions, 0 sub ]",
        "For utterance a, best cost 1",
        "Overall %WER 33.3333 [ 1 / 3, 0 insertions, 1 deletions, 0 substitutions ]",
    ] {
        assert!(told.lines().any(|told| told.ends_with(&format!(") {line}"))), "{line}: {told}");
    }
    // Kaldi's steps/oracle_wer.sh takes fields by their numbers.
    let overall = told.lines().find(|line| line.contains("Overall")).unwrap();
    let fields: Vec<_> = overall.split_whitespace().collect();
    assert_eq!([6, 8, 9, 11, 13].map(|at| fields[at]), ["1", "3,", "0", "1", "0"], "{overall}");
    assert_eq!(fs::read_to_string(dir.path().join("errors")).unwrap(), "a 1 \n");
    let args = ["lattice-oracle", "--wildcard-symbols=5", "ark:lats", "ark:ref", "ark,t:/dev/null", "ark,t:-"];
    assert_eq!(ends(&dir, 0, &args).0, "a 0 \n");
    let args = ["lattice-oracle", "--write-lattices=ark,t:-", "ark:lats", "ark:ref", "ark,t:/dev/null"];
    assert!(ends(&dir, 0, &args).0.contains("\t4\t0,4.5,7_8\n"));
}

#[test]
fn words_that_do_not_count_may_be_listed_by_name() {
    let dir = folder();
    fs::write(dir.path().join("words"), "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n").unwrap();
    fs::write(dir.path().join("list"), "five\n").unwrap();
    let list = "--wildcard-symbols-list=list";
    let table = "--word-symbol-table=words";
    let args = ["lattice-oracle", list, table, "ark:lats", "ark:ref", "ark,t:/dev/null", "ark,t:-"];
    let (out, told) = ends(&dir, 0, &args);
    assert!(out == "a 0 \n" && told.contains("a (oracle) four two"), "{out} {told}");
    let (_, told) = ends(&dir, 255, &["lattice-oracle", list, "ark:lats", "ark:ref", "ark,t:-"]);
    assert!(told.contains("--wildcard-symbols-list has no meaning without --word-symbol-table"), "{told}");
    // As Kaldi's, it ends with 0 where no lattice has a reference.
    fs::write(dir.path().join("ref"), "other 1\n").unwrap();
    let (_, told) = ends(&dir, 0, &["lattice-oracle", "ark:lats", "ark:ref", "ark,t:-"]);
    assert!(told.contains(") Overall %WER -nan [ 0 / 0, 0 insertions, 0 deletions, 0 substitutions ]\n"), "{told}");
}

#[test]
fn paths_whose_scales_cannot_be_taken_out_do_not_count() {
    let dir = folder();
    // The inverse is infinite, and times 0 not a number.
    let args = ["lattice-to-nbest", "--n=9", "--lm-scale=1e-39", "ark:free", "ark,t:-"];
    fs::write(dir.path().join("free"), "a\n0 1 1 0,1,7\n1 0,0,\n\n").unwrap();
    let (out, told) = ends(&dir, 1, &args);
    assert!(out.is_empty() && told.contains("0 paths of 0 lattices written"), "{out} {told}");
    fs::write(dir.path().join("free"), "a\n0 1 1 0,1,7\n0 1 2 1,2,7\n1 1,0,\n\n").unwrap();
    let (out, told) = ends(&dir, 0, &args);
    assert!(out.starts_with("a-2") && told.contains("1 paths of 1 lattices written"), "{out} {told}");
}

#[test]
fn words_can_cost_more_while_the_best_path_is_sought() {
    let dir = folder();
    fs::write(dir.path().join("two"), "a\n0 1 1 1,0,7\n0 2 3 2.5,0,7_8\n1 2 2 1,0,8\n2 0,0,\n\n").unwrap();
    let best = |options: &[&str]| ends(&dir, 0, &[&["lattice-1best"], options, &["ark:two", "ark,t:-"]].concat()).0;
    assert!(best(&[]).contains("\t1\t1,0,7\n"), "{}", best(&[]));
    assert!(best(&["--word-ins-penalty=0.25"]).contains("\t1\t1,0,7\n"));
    assert!(best(&["--word-ins-penalty=1"]).contains("\t3\t2.5,0,7_8\n"), "{}", best(&["--word-ins-penalty=1"]));
    // It is added to costs that are scaled.
    assert!(best(&["--word-ins-penalty=1", "--lm-scale=4"]).contains("\t1\t1,0,7\n"));
}

#[test]
fn times_have_the_digits_that_they_need() {
    let dir = folder();
    ends(&dir, 0, &["lattice-1best", "ark:lats", "ark:best"]);
    let ctm = |option: &str| ends(&dir, 0, &["nbest-to-ctm", option, "ark:best", "-"]).0;
    assert_eq!(ctm("--frame-shift=0.005"), "a 1 0.000 0.010 1\na 1 0.010 0.015 2\n");
    assert_eq!(ctm("--frame-shift=0.0005"), "a 1 0.0000 0.0010 1\na 1 0.0010 0.0015 2\n");
    fs::write(dir.path().join("silent"), "a\n0 1 0 1,1,7_7\n1 0,0,\n\n").unwrap();
    let args = ["nbest-to-ctm", "--print-silence", "ark:silent", "-"];
    assert_eq!(ends(&dir, 0, &args).0, "a 1 0.000 0.020 0\n");
    // As in Kaldi, where 0.01 in single precision is less than in double precision.
    let short = "a 1 0.000 0.020 1\na 1 0.020 0.030 2\n";
    assert_eq!([ctm("--frame-shift=0.01"), ctm("--precision=2"), ctm("--precision=3")], [short; 3]);
    assert_eq!(ctm("--frame-shift=0.0101"), "a 1 0.00 0.02 1\na 1 0.02 0.03 2\n");
    assert!(ctm("--precision=5").starts_with("a 1 0.00000 0.02000 1\n"));
    fs::write(dir.path().join("times"), "a 0 2 ; 2 5\n").unwrap();
    fs::write(dir.path().join("words"), "a 1 2\nbad 1\n").unwrap();
    let args = ["lattice-to-ctm-conf", "--confidence-digits=4", "ark:lats", "ark:words", "ark:times", "-"];
    let (out, told) = ends(&dir, 0, &args);
    assert!(
        out.starts_with("a 1 0.0000 0.0200 1 0.9") && told.contains("leaving out bad: it has no times"),
        "{out} {told}"
    );
}

#[test]
fn a_union_has_the_words_of_both() {
    let dir = folder();
    let other = "a\n0 1 6 0,0,1_2_3_4_5\n1\n\n";
    fs::write(dir.path().join("other"), other).unwrap();
    ends(&dir, 0, &["lattice-union", "ark:lats", "ark:other", "ark:union"]);
    let (words, _) = ends(&dir, 0, &["lattice-best-path", "ark:union", "ark,t:-"]);
    assert_eq!(words, "a 6 \n");
    ends(&dir, 0, &["lattice-to-nbest", "--n=99", "ark:union", "ark:nbest"]);
    let (words, _) = ends(&dir, 0, &["nbest-to-linear", "ark:nbest", "ark:/dev/null", "ark,t:-"]);
    assert_eq!(words, "a-1 6 \na-2 1 2 \na-3 1 3 \na-4 4 2 \na-5 4 3 \n");
}

#[test]
fn depth_and_times() {
    let dir = folder();
    // Ten identifiers on arcs, five frames.
    assert_eq!(ends(&dir, 0, &["lattice-depth", "ark:lats", "ark,t:-"]).0, "a 2 \n");
    ends(&dir, 0, &["lattice-1best", "ark:lats", "ark:best"]);
    assert_eq!(ends(&dir, 0, &["nbest-to-ctm", "ark:best", "-"]).0, "a 1 0.000 0.020 1\na 1 0.020 0.030 2\n");
    let (_, told) = ends(&dir, 1, &["nbest-to-ctm", "ark:lats", "-"]);
    assert!(told.contains("not exactly one path"), "{told}");
}

#[test]
fn words_get_the_frames_of_their_phones() {
    let dir = folder();
    // Phone 1 is silence; 2, 3 and 4 begin, continue and end words; 5 is a whole word. Each has one
    // state, with the identifiers 2 p - 1 for its self-loop and 2 p to leave it.
    let triples: String = (1..=5).map(|phone| format!("{phone} 0 {} ", phone - 1)).collect();
    let model = format!(
        "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 3 4 5 </ForPhones> <State> 0 <PdfClass> 0 \
         <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> <Triples> 5 {triples} \
         </Triples> <LogProbs> [ 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 ] </LogProbs> </TransitionModel>\n"
    );
    fs::write(dir.path().join("model"), model).unwrap();
    fs::write(dir.path().join("types"), "1 nonword\n2 begin\n3 internal\n4 end\n5 singleton\n").unwrap();
    // Self-loops come last. Silence of two frames, word 7 of 2 3 4, word 8 of 5, silence; the words
    // stand too early. Or word 9 of 5 in place of the last four frames but one.
    let lattices = "u\n0 1 7 1,2,2_1\n1 2 8 1,2,4_3_6\n2 3 0 0,1,8_10_9\n1 3 9 1,2,4_6_8_8\n3 0,0,2\n\n";
    fs::write(dir.path().join("in"), lattices).unwrap();
    let (_, told) = ends(&dir, 1, &["lattice-align-words", "types", "model", "ark:in", "ark,t:out"]);
    assert!(told.contains("u: words and phones do not fit on some paths"), "{told}");
    let lattices = lattices.replace("1 3 9 1,2,4_6_8_8", "1 3 9 1,2,4_6_8_10");
    fs::write(dir.path().join("in"), lattices).unwrap();
    let args = ["lattice-align-words", "--silence-label=6", "types", "model", "ark:in", "ark,t:out"];
    ends(&dir, 0, &args);
    ends(&dir, 0, &["lattice-to-nbest", "--n=9", "ark:out", "ark:nbest"]);
    let (ctm, _) = ends(&dir, 0, &["nbest-to-ctm", "ark:nbest", "-"]);
    let first = "u-1 1 0.000 0.020 6\nu-1 1 0.020 0.030 7\nu-1 1 0.050 0.010 9\nu-1 1 0.060 0.010 6\n";
    let second = "u-2 1 0.000 0.020 6\nu-2 1 0.020 0.040 7\nu-2 1 0.060 0.020 8\nu-2 1 0.080 0.010 6\n";
    assert_eq!(ctm, format!("{first}{second}"));
    // Transition identifiers that end a phone are twice its number.
    let (posts, _) = ends(&dir, 0, &["lattice-arc-post", "model", "ark:in", "-"]);
    assert!(posts.starts_with("u\t0\t2\t1\t7\t1\n") && posts.contains("\t8\t2 3\n"), "{posts}");
    // The same by a lexicon, which writes 17 for the word 7.
    fs::write(dir.path().join("lexicon"), "0 0 1\n7 17 2 3 4\n8 8 5\n9 9 5\n").unwrap();
    ends(&dir, 0, &["lattice-align-words-lexicon", "lexicon", "model", "ark:in", "ark:out"]);
    ends(&dir, 0, &["lattice-1best", "ark:out", "ark:best"]);
    let (ctm, _) = ends(&dir, 0, &["nbest-to-ctm", "ark:best", "-"]);
    assert_eq!(ctm, "u 1 0.020 0.030 17\nu 1 0.050 0.010 9\n");
    // Words that the lexicon lacks do not fit; of a cycle comes nothing.
    let by_lexicon = |option: &str| {
        ends(&dir, 1, &["lattice-align-words-lexicon", option, "lexicon", "model", "ark:lats", "ark,t:-"]).0
    };
    assert!(by_lexicon("--test=false").starts_with('a') && !by_lexicon("--test=false").contains("bad"));
    assert_eq!(by_lexicon("--output-error-lats=false"), "");
    assert!(by_lexicon("--output-if-empty").contains("bad \n0\t0\t1\t1,1,7\n"), "{}", by_lexicon("--output-if-empty"));
    let (_, told) = ends(&dir, 255, &["lattice-align-words", "model", "model", "ark:in", "ark:out"]);
    assert!(told.contains("is not a line of a phone and its type"), "{told}");
    let (_, told) = ends(&dir, 255, &["lattice-align-words", "types", "types", "ark:in", "ark:out"]);
    assert!(told.contains("<TransitionModel>"), "{told}");
}

#[test]
fn some_keys_are_copied() {
    let dir = folder();
    fs::write(dir.path().join("keys"), "bad x\n").unwrap();
    let copied = |option: &str| ends(&dir, 0, &["lattice-copy", option, "ark:lats", "ark,t:-"]).0;
    assert!(copied("--include=keys").starts_with("bad"));
    assert!(copied("--exclude=keys").starts_with('a') && !copied("--exclude=keys").contains("bad"));
}

#[test]
fn wrong_options_are_told() {
    let dir = folder();
    for (args, told) in [
        (&["lattice-prune", "--acoustic-scale=0", "ark:lats", "ark:out"][..], "other than 0"),
        (&["lattice-to-nbest", "--n=0", "ark:lats", "ark:out"], "above 0"),
        (
            &["lattice-scale", "--acoustic-scale=2", "--inv-acoustic-scale=2", "ark:lats", "ark:out"],
            "exclude each other",
        ),
        (&["lattice-to-ctm-conf", "ark:lats", "ark:out"], "is not a file"),
        (&["lattice-copy", "ark:ref", "ark:out"], "expected a lattice"),
    ] {
        let (_, said) = ends(&dir, 255, args);
        assert!(said.contains(told), "{args:?}: {said}");
    }
}

/// 2 and 3 cost 1 and 4 after any word; 1 and 4 cost 0.5.
const GRAMMAR: &str = "0 0 1 1 0.5\n0 0 4 4 0.5\n0 1 2 2 0.25\n0 1 3 3 4\n0 2 0 0 0.5\n1 0.75\n2 1 3 3 1\n";

#[test]
fn scores_of_a_language_model_are_added_and_taken_away() {
    let dir = folder();
    fs::write(dir.path().join("G.txt"), GRAMMAR).unwrap();
    ends(&dir, 0, &["fst", "compile", "G.txt", "G.fst"]);
    let (_, told) = ends(&dir, 0, &["lattice-lmrescore", "ark:lats", "G.fst", "ark:more"]);
    assert!(told.contains("leaving out bad"), "{told}");
    let costs = |lattices: &str| {
        ends(&dir, 0, &["lattice-to-nbest", "--n=9", lattices, "ark:nbest"]);
        ends(
            &dir,
            0,
            &["nbest-to-linear", "ark:nbest", "ark:/dev/null", "ark,t:words", "ark,t:graph", "ark,t:acoustic"],
        );
        let of = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let number = |line: &str| line.rsplit(' ').find(|field| !field.is_empty()).unwrap().parse::<f64>().unwrap();
        let words: Vec<String> =
            of("words").lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).collect();
        let costs: Vec<f64> = of("graph")
            .lines()
            .zip(of("acoustic").lines())
            .map(|(graph, acoustic)| number(graph) + number(acoustic))
            .collect();
        let mut all: Vec<_> = words.into_iter().zip(costs).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    // The epsilon makes 3 cheaper: 0.5 and 1 in place of 4.
    let expected = [("1 2", 5.0 + 1.5), ("1 3", 7.0 + 2.75), ("4 2", 7.5 + 1.5), ("4 3", 9.5 + 2.75)];
    let expected = |scale: f64| {
        let before = [5.0, 7.0, 7.5, 9.5];
        let each = expected.iter().zip(before);
        each.map(|((words, cost), before)| ((*words).to_owned(), before + scale * (cost - before))).collect::<Vec<_>>()
    };
    let close = |found: Vec<(String, f64)>, expected: Vec<(String, f64)>| {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-4, "{found:?} {expected:?}");
        }
    };
    close(costs("ark:more"), expected(1.0));
    ends(&dir, 0, &["lattice-lmrescore", "--lm-scale=-1.0", "ark:more", "G.fst", "ark:back"]);
    close(costs("ark:back"), expected(0.0));
    ends(&dir, 0, &["lattice-lmrescore", "--lm-scale=0.5", "ark:lats", "cat G.fst|", "ark:half"]);
    close(costs("ark:half"), expected(0.5));
    // A grammar without the words leaves no lattice.
    fs::write(dir.path().join("other.txt"), "0 1 9 9\n1\n").unwrap();
    ends(&dir, 0, &["fst", "compile", "other.txt", "other.fst"]);
    let (_, told) = ends(&dir, 1, &["lattice-lmrescore", "ark:lats", "other.fst", "ark:none"]);
    assert!(told.contains("no path of the lattice"), "{told}");
}
