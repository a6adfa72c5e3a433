//! Rescoring with the n-gram models of a Vosk folder, on numbers that a reader can add.

use std::collections::BTreeMap;
use std::f64::consts::LN_10;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::decoder::Recognition;
use kaldera::feat::Audio;
use kaldera::fsa::Limits;
use kaldera::fsa::graphs::{ConstArpa, ConstArpaOptions};
use kaldera::fsa::io::OpenFstBinary;
use kaldera::fsa::lattice::Lattice;
use kaldera::fsa::openfst::Side;
use kaldera::kaldi_online::{DecoderModel, OnlineFolder, UtteranceDecoder};
use kaldera::recognizer::Recognizer;

use crate::online_folder::{RATE, fst, speech, write};

const LOW: i32 = 1;
const HIGH: i32 = 2;
/// Symbol `#0`, which only the input side has.
const BACKOFF: i32 = 5;

/// Costs 2 of a low tone and 1.5 of a high one, which is cheaper by backing off.
const GRAMMAR: [&[(i32, i32, f32, i32)]; 2] =
    [&[(LOW, LOW, 2.0, 0), (HIGH, HIGH, 2.0, 0), (BACKOFF, 0, 0.5, 1)], &[(LOW, LOW, 3.0, 0), (HIGH, HIGH, 1.0, 0)]];

/// Prefers high tones. The words 3 and 4 begin and end a sentence.
const ARPA: &str = "\\data\\\nngram 1=4\nngram 2=1\n\n\
    \\1-grams:\n-99 3\n-1 4\n-4 1 0\n-0.5 2\n\n\\2-grams:\n-0.25 1 2\n\n\\end\\\n";

/// Costs, after a determinization that takes scores as equal up to 1/1024 a state.
const COST: f64 = 1e-2;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    fs::create_dir(folder.path().join("rescore")).unwrap();
    folder
}

fn carpa(arpa: &str) -> ConstArpa {
    ConstArpa::from_arpa(arpa.as_bytes(), &ConstArpaOptions::new(3, 4), &mut |_, _| {}).unwrap()
}

/// Writes the models for rescoring.
fn add_models(folder: &Path, arpa: &str) {
    fs::write(folder.join("rescore/G.fst"), fst(&GRAMMAR)).unwrap();
    fs::write(folder.join("rescore/G.carpa"), carpa(arpa).as_bytes()).unwrap();
}

/// Decodes two tones between pauses, each rather a low one: a high one costs 3 more.
fn decoded(folder: &Path) -> UtteranceDecoder {
    let model = DecoderModel::open(&OnlineFolder::find(folder).unwrap()).unwrap();
    let mut decoder = Arc::new(model).decoder().unwrap();
    let (pause, tone) = ([0.0, -20.0, -20.0], [-20.0, 0.0, -0.5]);
    for (row, count) in [(pause, 3), (tone, 6), (pause, 3), (tone, 6), (pause, 3)] {
        decoder.advance(&row.repeat(count), 3).unwrap();
    }
    decoder
}

/// Returns the costs of the word sequences of a lattice.
fn costs(lattice: &Lattice) -> BTreeMap<Vec<i32>, f64> {
    lattice.n_best(0, 100).unwrap().iter().map(|path| (path.words.clone(), -path.score())).collect()
}

#[track_caller]
fn assert_close(found: &BTreeMap<Vec<i32>, f64>, expected: &BTreeMap<Vec<i32>, f64>) {
    let same = found.keys().eq(expected.keys());
    assert!(same && found.values().zip(expected.values()).all(|(a, b)| (a - b).abs() < COST), "{found:?} {expected:?}");
}

#[test]
fn the_large_model_takes_the_place_of_the_grammar() {
    let folder = folder();
    let plain = decoded(folder.path()).finish().unwrap();
    add_models(folder.path(), ARPA);
    let rescored = costs(&decoded(folder.path()).finish().unwrap());
    let added = [([LOW, LOW], 4.0, 9.0), ([LOW, HIGH], 3.5, 5.25), ([HIGH, LOW], 3.5, 5.5), ([HIGH, HIGH], 3.0, 2.0)];
    let mut expected = costs(&plain);
    assert_eq!(expected.len(), 4);
    for (words, old, new) in added {
        *expected.get_mut(&words[..]).unwrap() += new * LN_10 - old;
    }
    assert_close(&rescored, &expected);
    // As Kaldi's programs lattice-lmrescore and lattice-lmrescore-const-arpa.
    let grammar = OpenFstBinary::read(&fst(&GRAMMAR)).unwrap().graph.project(Side::Output).unwrap();
    let without = plain.compose_best(&grammar, -1.0, Limits::default()).unwrap();
    assert_close(&rescored, &costs(&without.rescore_best(&carpa(ARPA), 1.0, Limits::default()).unwrap()));
}

#[test]
fn the_words_are_the_ones_that_the_large_model_prefers() {
    let folder = folder();
    let words = |folder: &Path| {
        let model = Arc::new(DecoderModel::open(&OnlineFolder::find(folder).unwrap()).unwrap());
        let mut decoder = decoded(folder);
        assert_eq!(decoder.partial(), [LOW, LOW], "partial results are not rescored");
        let lattice = decoder.finish().unwrap();
        let best: Vec<i32> = model.best_words(&lattice).unwrap().iter().map(|word| word.word).collect();
        let first: Vec<i32> = model.alternatives(&lattice, 4).unwrap()[0].words.iter().map(|word| word.word).collect();
        assert_eq!(best, first);
        best
    };
    assert_eq!(words(folder.path()), [LOW, LOW]);
    add_models(folder.path(), ARPA);
    assert_eq!(words(folder.path()), [HIGH, HIGH]);
}

#[test]
fn a_recognizer_rescores_each_utterance() {
    let folder = folder();
    let samples = speech("0.3 low 0.3 high 0.3", RATE);
    let found = || -> Recognition {
        Recognizer::open(folder.path()).unwrap().transcribe(&Audio::new(&samples, RATE as f32)).unwrap()
    };
    let plain = found();
    assert_eq!(plain.text(), "low high");
    add_models(folder.path(), ARPA);
    assert_eq!(Recognizer::open(folder.path()).unwrap().files().len(), 8);
    let rescored = found();
    assert_eq!(rescored.text(), "low high");
    let start = |found: &Recognition| found.best().unwrap().words[1].start;
    assert!((start(&plain) - start(&rescored)).abs() < 0.05, "{rescored:?}");
    // A model without the words of any path.
    add_models(folder.path(), "\\data\\\nngram 1=3\n\n\\1-grams:\n-99 3\n-1 4\n-1 7\n\n\\end\\\n");
    assert!(found().hypotheses.is_empty());
}

#[test]
fn faults_of_the_models_are_named() {
    let folder = folder();
    let opened = || Recognizer::open(folder.path());
    let fault = || opened().unwrap_err().to_string();
    let file = |name: &str| folder.path().join("rescore").join(name);
    fs::write(file("G.fst"), "no FST").unwrap();
    assert_eq!(opened().unwrap().files().len(), 6, "a grammar without a large model is not read");
    fs::write(file("G.carpa"), "no model").unwrap();
    assert!(fault().contains("G.fst: "), "{}", fault());
    fs::write(file("G.fst"), fst(&GRAMMAR)).unwrap();
    assert!(fault().contains("G.carpa: "), "{}", fault());
    let whole = carpa(ARPA).as_bytes().to_vec();
    fs::write(file("G.carpa"), &whole[..whole.len() - 4]).unwrap();
    assert!(fault().contains("G.carpa: "), "{}", fault());
    fs::write(file("G.carpa"), whole).unwrap();
    opened().unwrap();
    fs::remove_file(file("G.fst")).unwrap();
    assert!(fault().contains("G.fst: the file is missing; it has the n-gram model of the graph"), "{}", fault());
}
