//! `decode-faster` and `latgen-faster-mapped`.

use std::fs;

use tempfile::TempDir;

use crate::bench::ends;

/// The word 7 as long as the first column (or pdf) is likely, a back-off arc, and the word 8.
const GRAPH: &str = "0 1 1 7 0.5
1 1 1 0 0.25
1 2 0 0 0.125
2 3 2 8 0.5
3 0.25
";

/// The same with transition identifiers of the model below.
const HCLG: &str = "0 1 2 7 0.5
1 1 1 0 0.25
1 2 0 0 0.125
2 3 4 8 0.5
3 0.25
";

const MODEL: &str = "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones>
<State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State>
</TopologyEntry> </Topology>
<Triples> 2 1 0 0 2 0 1 </Triples>
<LogProbs> [ 0 -0.7 -0.7 -0.7 -0.7 ] </LogProbs> </TransitionModel>
";

/// An utterance that ends, one without frames, and one that ends too early.
const LOGLIKES: &str = "a  [
-1 -9
-1 -9
-9 -1 ]
b  [ ]
c  [
-1 -9 ]
";

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("graph", GRAPH),
        ("hclg", HCLG),
        ("model", MODEL),
        ("loglikes", LOGLIKES),
        ("symbols", "<eps> 0\nseven 7\neight 8\n"),
        ("graphs", &format!("a \n{HCLG}\nc \n{HCLG}\nd \n{HCLG}\n")),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn words_and_alignments_are_those_of_the_best_path() {
    let dir = folder();
    let args = ["decode-faster", "--acoustic-scale=1", "--word-symbol-table=symbols"];
    let files = ["graph", "ark:loglikes", "ark,t:-", "ark,t:ali"];
    let (words, told) = ends(&dir, 0, &[&args[..], &files].concat());
    assert_eq!(words, "a 7 8 \nc 7 \n");
    assert_eq!(fs::read_to_string(dir.path().join("ali")).unwrap(), "a 1 1 2 \nc 1 \n");
    for line in [
        "Log-like per frame for utterance a is -1.541666",
        "a seven eight",
        "Zero-length utterance: b",
        "Decoder did not reach end-state, outputting partial traceback.",
        "Log-like per frame for utterance c is -1.5 over 1 frames.",
        "Done 2 utterances, failed for 1",
        "over 4 frames.",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let (words, told) = ends(&dir, 0, &[&args[..], &["--allow-partial=false"], &files].concat());
    assert_eq!(words, "a 7 8 \n");
    assert!(told.contains("since no final-state reached"), "{told}");
}

#[test]
fn lattices_have_transition_identifiers_and_no_scale() {
    let dir = folder();
    let options = ["latgen-faster-mapped", "--acoustic-scale=0.5", "--lattice-beam=20"];
    let (lattices, told) = ends(
        &dir,
        0,
        &[&options[..], &["model", "hclg", "ark:loglikes", "ark,t:-", "ark,t:tra", "ark,t:ali"]].concat(),
    );
    assert!(told.contains("Not producing output for utterance c"), "{told}");
    assert!(told.contains("Done 1 utterances, failed for 2"), "{told}");
    assert!(lattices.starts_with("a \n"), "{lattices}");
    assert_eq!(fs::read_to_string(dir.path().join("tra")).unwrap(), "a 7 8 \n");
    assert_eq!(fs::read_to_string(dir.path().join("ali")).unwrap(), "a 2 1 4 \n");
    fs::write(dir.path().join("lats"), lattices).unwrap();
    let best = ["lattice-best-path", "--acoustic-scale=0.5", "ark:lats", "ark,t:-", "ark,t:ali"];
    let (words, told) = ends(&dir, 0, &best);
    assert_eq!(words, "a 7 8 \n");
    assert!(told.contains("For utterance a, best cost 1.625 + 1.5"), "{told}");
    assert_eq!(fs::read_to_string(dir.path().join("ali")).unwrap(), "a 2 1 4 \n");

    let raw = [
        &options[..],
        &["--determinize-lattice=false", "--allow-partial", "model", "hclg", "ark:loglikes", "ark:lats"],
    ];
    ends(&dir, 0, &raw.concat());
    assert_eq!(ends(&dir, 0, &best).0, "a 7 8 \nc 7 \n");
}

#[test]
fn a_lattice_that_needs_more_than_the_limit_is_left_out_and_told() {
    let dir = folder();
    let args = ["latgen-faster-mapped", "--max-mem=1", "--allow-partial", "model", "hclg", "ark:loglikes"];
    let (lattices, told) = ends(&dir, 1, &[&args[..], &["ark,t:-"]].concat());
    assert_eq!(lattices, "");
    for key in ["a", "c"] {
        assert!(told.contains(&format!("leaving out {key}: determinization of a lattice needs")), "{told}");
    }
    assert!(told.contains("Done 0 utterances, failed for 3"), "{told}");
}

#[test]
fn every_utterance_may_have_its_graph() {
    let dir = folder();
    let args = ["latgen-faster-mapped", "--allow-partial=true", "model", "ark:graphs", "ark:loglikes", "ark:/dev/null"];
    let (words, told) = ends(&dir, 0, &[&args[..], &["ark,t:-"]].concat());
    assert_eq!(words, "a 7 8 \nc 7 \n");
    assert!(told.contains("Not decoding utterance d because no loglikes available."), "{told}");
    assert!(told.contains("Done 2 utterances, failed for 1"), "{told}");
}

#[test]
fn what_does_not_fit_is_told() {
    let dir = folder();
    fs::write(dir.path().join("wide"), "a  [\n1 2 3 ]\n").unwrap();
    let run = |args: &[&str], expected: &str| {
        let told = ends(&dir, 255, args).1;
        assert!(told.contains(expected), "{expected}: {told}");
    };
    run(
        &["latgen-faster-mapped", "model", "hclg", "ark:wide", "ark:/dev/null"],
        "3 columns, and the transition model has 2 pdfs",
    );
    run(&["latgen-faster-mapped", "graph", "hclg", "ark:loglikes", "ark:/dev/null"], "<TransitionModel>");
    fs::write(dir.path().join("hclg"), HCLG.replace("0 1 2 7", "0 1 5 7")).unwrap();
    run(
        &["latgen-faster-mapped", "model", "hclg", "ark:loglikes", "ark:/dev/null"],
        "'5' is not a transition identifier",
    );
    run(&["decode-faster", "--max-active=1", "graph", "ark:loglikes", "ark:/dev/null"], "--max-active=1");
    run(&["decode-faster", "--beam=-1", "graph", "ark:loglikes", "ark:/dev/null"], "--beam=-1");
    assert!(ends(&dir, 1, &["decode-faster", "graph", "ark:loglikes"]).1.contains("Usage"));
    // Labels beyond the columns.
    fs::write(dir.path().join("graph"), GRAPH.replace("2 3 2 8", "2 3 4 8")).unwrap();
    run(&["decode-faster", "graph", "ark:loglikes", "ark:/dev/null"], "label");
}
