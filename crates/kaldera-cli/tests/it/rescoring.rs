//! Kaldi's programs of rescoring, system combination and scoring recipes, on numbers that a reader
//! can check.

use std::fs;

use tempfile::TempDir;

use crate::bench::ends;

/// Four word sequences over five frames, 1 2 (cost 5), 1 3 (7), 4 2 (7.5) and 4 3 (9.5).
const LATTICE: &str = "a
0 1 1 1,1,2_1
0 1 4 0,4.5,2_1
1 2 2 0.5,1,4_3_3
1 2 3 0.5,3,4_3_3
2 0.5,1,

";

/// Words 5 and 6 begin and end sentences. In natural logarithms 3 costs 2.302585 times 0.25 after
/// 1, and 1 elsewhere.
const ARPA: &str = "\\data\\
ngram 1=6
ngram 2=1

\\1-grams:
-1 1 -0.5
-1 2
-1 3
-1 4
-99 5
-1 6

\\2-grams:
-0.25 1 3

\\end\\
";

/// Identifiers 1 and 3 stay in phones 1 and 2, identifiers 2 and 4 leave them.
const MODEL: &str = "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
    <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> \
    <Triples> 2 1 0 0 2 0 1 </Triples> <LogProbs> [ 0 -1 -1 -1 -1 ] </LogProbs> </TransitionModel>\n";

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("lats", LATTICE), ("arpa", ARPA), ("mdl", MODEL)] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn read(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap()
}

/// The words and the cost of each path, sorted.
fn paths(dir: &TempDir, lattices: &str) -> Vec<(String, f64)> {
    ends(dir, 0, &["lattice-to-nbest", "--n=99", lattices, "ark:nbest"]);
    let outputs = ["ark:/dev/null", "ark,t:words", "ark,t:graph", "ark,t:acoustic"];
    ends(dir, 0, &[&["nbest-to-linear", "ark:nbest"], &outputs[..]].concat());
    let costs = |name: &str| -> Vec<f64> {
        read(dir, name).lines().map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap()).collect()
    };
    let words = read(dir, "words");
    let words = words.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "));
    let sums = costs("graph").into_iter().zip(costs("acoustic")).map(|(graph, acoustic)| graph + acoustic);
    let mut all: Vec<_> = words.zip(sums).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all
}

#[track_caller]
fn close(found: &[(String, f64)], expected: &[(&str, f64)]) {
    let same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-4);
    assert!(same, "{found:?}, expected {expected:?}");
}

const COSTS: [(&str, f64); 4] = [("1 2", 5.0), ("1 3", 7.0), ("4 2", 7.5), ("4 3", 9.5)];

#[test]
fn a_const_arpa_model_is_added_and_taken_away() {
    let dir = folder();
    let symbols = ["--bos-symbol=5", "--eos-symbol=6"];
    ends(&dir, 0, &[&["arpa-to-const-arpa"], &symbols[..], &["arpa", "G.carpa"]].concat());
    ends(&dir, 0, &["lattice-lmrescore-const-arpa", "ark:lats", "G.carpa", "ark:more"]);
    let log10 = std::f64::consts::LN_10;
    // 1 backs off with 0.5 before 2; each word and the end cost 1.
    let added = [3.5, 2.25, 3.0, 3.0].map(|cost| cost * log10);
    let expected: Vec<_> = COSTS.iter().zip(added).map(|((words, cost), added)| (*words, cost + added)).collect();
    close(&paths(&dir, "ark:more"), &expected);
    let args = ["lattice-lmrescore-const-arpa", "--lm-scale=-1.0", "ark:more", "G.carpa", "ark:back"];
    ends(&dir, 0, &args);
    close(&paths(&dir, "ark:back"), &COSTS);
    // An FST without costs is taken away, the model is added: the beam keeps the best path.
    fs::write(dir.path().join("zero.txt"), "0 0 1 1\n0 0 2 2\n0 0 3 3\n0 0 4 4\n0\n").unwrap();
    ends(&dir, 0, &["fst", "compile", "zero.txt", "zero.fst"]);
    let pruned = |beam: &str| {
        let beam = format!("--lattice-compose-beam={beam}");
        let options = ["lattice-lmrescore-pruned", "--add-const-arpa=true", &beam];
        ends(&dir, 0, &[&options[..], &["zero.fst", "G.carpa", "ark:lats", "ark:some"]].concat());
        paths(&dir, "ark:some")
    };
    close(&pruned("1000"), &expected);
    assert!(pruned("0.1").len() < 4);
    let (_, told) = ends(&dir, 255, &["lattice-lmrescore-const-arpa", "ark:lats", "zero.fst", "ark:none"]);
    assert!(told.contains("byte 0: this is no binary file of Kaldi"), "{told}");
    let (_, told) = ends(&dir, 255, &["arpa-to-const-arpa", "--bos-symbol=5", "arpa", "G.carpa"]);
    assert!(told.contains("--eos-symbol=-1"), "{told}");
}

#[test]
fn words_have_a_penalty() {
    let dir = folder();
    ends(&dir, 0, &["lattice-add-penalty", "--word-ins-penalty=1.5", "ark:lats", "ark:more"]);
    close(&paths(&dir, "ark:more"), &COSTS.map(|(words, cost)| (words, cost + 3.0)));
}

#[test]
fn lattices_of_two_systems_are_combined() {
    let dir = folder();
    fs::write(dir.path().join("other"), "a\n0 1 4 1,0,2_1\n1 2 2 0,2,4_3_3\n2\n\nb\n0 1 1\n1\n\n").unwrap();
    let (_, told) = ends(&dir, 0, &["lattice-interp", "--alpha=0.25", "ark:lats", "ark:other", "ark:both"]);
    assert!(told.contains("interpolated 1 lattices"), "{told}");
    close(&paths(&dir, "ark:both"), &[("4 2", 0.25 * 7.5 + 0.75 * 3.0)]);
    // The second archive wins; a key that it lacks comes from the first.
    ends(&dir, 0, &["lattice-copy-backoff", "ark:lats", "ark:both", "ark:copied"]);
    close(&paths(&dir, "ark:copied"), &[("4 2", 0.25 * 7.5 + 0.75 * 3.0)]);
    ends(&dir, 0, &["lattice-copy-backoff", "ark:lats", "ark:/dev/null", "ark:copied"]);
    close(&paths(&dir, "ark:copied"), &COSTS);
    ends(&dir, 0, &["lattice-combine", "--lat-weights=0.2:0.8", "ark:lats", "ark:other", "ark:united"]);
    let total: f64 = COSTS.iter().map(|(_, cost)| (-cost).exp()).sum();
    let mut expected: Vec<_> = COSTS.iter().map(|(words, cost)| (*words, cost + total.ln() - 0.2_f64.ln())).collect();
    expected.insert(2, ("4 2", -0.8_f64.ln()));
    close(&paths(&dir, "ark:united"), &expected);
    let (_, told) = ends(&dir, 255, &["lattice-combine", "--lat-weights=1", "ark:lats", "ark:other", "ark:united"]);
    assert!(told.contains("--lat-weights=1"), "{told}");
}

#[test]
fn lattices_are_composed_with_words_and_with_grammars() {
    let dir = folder();
    ends(&dir, 0, &["lattice-project", "ark:lats", "ark,t:words.lats"]);
    assert!(read(&dir, "words.lats").contains("1\t1\t1,1"), "{}", read(&dir, "words.lats"));
    ends(&dir, 0, &["lattice-compose", "ark:lats", "ark:words.lats", "ark:twice"]);
    close(&paths(&dir, "ark:twice"), &COSTS.map(|(words, cost)| (words, 2.0 * cost)));
    ends(&dir, 0, &["lattice-project", "--project-output=false", "ark:lats", "ark,t:ids.lats"]);
    let (_, told) = ends(&dir, 1, &["lattice-compose", "ark:lats", "ark:ids.lats", "ark:none"]);
    assert!(told.contains("leaving out a"), "{told}");
    // 9 backs off to a state of cost 0.5, and is taken only for 3.
    fs::write(dir.path().join("G.txt"), "0 0 1 1 0.5\n0 0 4 4 0.5\n0 1 2 2 0.25\n0 2 9 9 0.5\n1\n2 1 2 2\n2 1 3 3 1\n")
        .unwrap();
    ends(&dir, 0, &["fst", "compile", "--acceptor=false", "G.txt", "G.fst"]);
    ends(&dir, 0, &["lattice-compose", "--phi-label=9", "ark:lats", "G.fst", "ark:graph"]);
    let added = [0.75, 2.0, 0.75, 2.0];
    let expected: Vec<_> = COSTS.iter().zip(added).map(|((words, cost), added)| (*words, cost + added)).collect();
    close(&paths(&dir, "ark:graph"), &expected);
    ends(&dir, 0, &["lattice-determinize", "--acoustic-scale=0.5", "ark:lats", "ark:det"]);
    close(&paths(&dir, "ark:det"), &COSTS);
    let (_, told) = ends(&dir, 255, &["lattice-compose", "--rho-label=9", "ark:lats", "G.fst", "ark:none"]);
    assert!(told.contains("--rho-label=9"), "{told}");
}

#[test]
fn depths_and_phones_are_written() {
    let dir = folder();
    let (out, _) = ends(&dir, 0, &["lattice-depth-per-frame", "ark:lats", "ark,t:-", "ark:copied"]);
    assert_eq!(out, "a 2 2 2 2 2 \n");
    close(&paths(&dir, "ark:copied"), &COSTS);
    // Self-loops stand last, and first.
    fs::write(dir.path().join("ali"), "last 2 1 1 4 3 2 \nfirst 1 1 2 3 4 2 \n").unwrap();
    let phones =
        |options: &[&str]| ends(&dir, 0, &[&["ali-to-phones"], options, &["mdl", "ark:ali", "ark,t:-"]].concat()).0;
    assert_eq!(phones(&[]), "last 1 2 1 \nfirst 1 2 1 \n");
    assert_eq!(phones(&["--per-frame"]), "last 1 1 1 2 2 1 \nfirst 1 1 1 2 2 1 \n");
    assert_eq!(phones(&["--write-lengths"]), "last 1 3 ; 2 2 ; 1 1 \nfirst 1 3 ; 2 2 ; 1 1 \n");
    ends(&dir, 0, &["ali-to-phones", "--ctm-output", "--frame-shift=0.03", "mdl", "ark:ali", "ctm"]);
    assert!(read(&dir, "ctm").starts_with("last 1 0.00 0.09 1\nlast 1 0.09 0.06 2\nlast 1 0.15 0.03 1\n"));
    ends(&dir, 0, &["lattice-to-phone-lattice", "mdl", "ark:lats", "ark:phones"]);
    assert!(paths(&dir, "ark:phones").iter().all(|(words, _)| words == "1 2"));
    ends(&dir, 0, &["lattice-to-phone-lattice", "--replace-words=false", "mdl", "ark:lats", "ark,t:phones"]);
    assert!(read(&dir, "phones").contains("1,1,1\n"), "{}", read(&dir, "phones"));
}

#[test]
fn linear_lattices_are_made_of_their_parts() {
    let dir = folder();
    let parts = ["ark:ali", "ark:tra", "ark:lm", "ark:ac"];
    ends(&dir, 0, &["lattice-to-nbest", "--n=4", "ark:lats", "ark:nbest"]);
    ends(&dir, 0, &[&["nbest-to-linear", "ark:nbest"], &parts[..]].concat());
    ends(&dir, 0, &[&["linear-to-nbest"], &parts[..], &["ark:again"]].concat());
    let again = ["ark,t:ali2", "ark,t:tra2", "ark,t:lm2", "ark,t:ac2"];
    ends(&dir, 0, &[&["nbest-to-linear", "ark:again"], &again[..]].concat());
    assert_eq!(read(&dir, "ali2").lines().next(), Some("a-1 2 1 4 3 3 "));
    assert_eq!(read(&dir, "tra2"), "a-1 1 2 \na-2 1 3 \na-3 4 2 \na-4 4 3 \n");
    assert_eq!(read(&dir, "ac2"), "a-1 3 \na-2 5 \na-3 6.5 \na-4 8.5 \n");
    ends(&dir, 0, &["linear-to-nbest", "ark:ali", "ark:tra", "", "", "ark:free"]);
    let (_, told) = ends(&dir, 255, &["linear-to-nbest", "ark:ali", "ark:/dev/null", "", "", "ark:none"]);
    assert!(told.contains("'a-1' is not a key of all tables"), "{told}");
}

#[test]
fn texts_are_aligned() {
    let dir = folder();
    fs::write(dir.path().join("ref"), "a one two three\nb x\nc\nd one two three\n").unwrap();
    fs::write(dir.path().join("hyp"), "a one three\nc\nd one three four\n").unwrap();
    let (out, told) = ends(&dir, 0, &["align-text", "ark:ref", "ark:hyp", "ark,t:-"]);
    assert_eq!(out, "a one one ; two <eps> ; three three \nc \nd one one ; two three ; three four \n");
    assert!(told.contains("leaving out b"), "{told}");
    let (_, told) = ends(&dir, 255, &["align-text", "--special-symbol=two", "ark:ref", "ark:hyp", "ark,t:-"]);
    assert!(told.contains("--special-symbol=two"), "{told}");
}

#[test]
fn means_are_normalised_by_the_frames_before() {
    let dir = folder();
    // 100 frames of mean 10.
    fs::write(dir.path().join("global"), " [\n 1000 0 100\n 10100 0 0 ]\n").unwrap();
    fs::write(dir.path().join("feats"), "a [\n 12 1\n 8 1 ]\nb [\n 13 1 ]\n").unwrap();
    fs::write(dir.path().join("spk2utt"), "s a b\n").unwrap();
    let columns = |options: &[&str]| -> Vec<f64> {
        let args = [&["apply-cmvn-online", "--global-frames=1"], options, &["global", "ark:feats", "ark,t:-"]].concat();
        let out = ends(&dir, 0, &args).0;
        let rows = out.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
        rows.collect()
    };
    // Means of 10 and 12; of 10, 12 and 8; of 10 and 13.
    assert_eq!(columns(&[]), [1.0, -2.0, 1.5]);
    // With the two frames of a, 10 and 13.
    assert_eq!(columns(&["--spk2utt=ark:spk2utt"]), [1.0, -2.0, 2.25]);
}
