//! PyPI's `snfa`, a forced aligner of Japanese phones in numpy, as a model folder: alignments and
//! log-probabilities beside its own.
//!
//! `scripts/snfa-model.py` makes the folder that `KALDERA_SNFA_MODEL` names, relative to the
//! project's root. Without it the test
//! says that it was left out.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use kaldera::Recording;
use kaldera::pipeline::{ReadOptions, read_features};
use kaldera::recognizer::Recognizer;

/// snfa computes features in double precision, and recurrent layers in single precision.
const TOLERANCE: f32 = 1e-3;

#[test]
fn phones_are_where_snfa_finds_them() {
    let Some(folder) = std::env::var_os("KALDERA_SNFA_MODEL").filter(|folder| !folder.is_empty()) else {
        println!("left out: KALDERA_SNFA_MODEL is not set; scripts/snfa-model.py makes its folder");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let answers = folder.join("answers");
    let recognizer = Recognizer::open(folder.join("model")).unwrap();
    let mut log_probs = HashMap::new();
    let take = |key: &str, matrix| {
        log_probs.insert(key.to_owned(), matrix);
        Ok(ControlFlow::Continue(()))
    };
    read_features(answers.join("log_probs.npz"), take).unwrap();
    let mut segments: HashMap<String, Vec<(String, usize, usize)>> = HashMap::new();
    for line in fs::read_to_string(answers.join("segments")).unwrap().lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [start, end] = [2, 3].map(|field: usize| fields[field].parse().unwrap());
        segments.entry(fields[0].to_owned()).or_default().push((fields[1].to_owned(), start, end));
    }
    let (mut phones, mut boundaries, mut equal, mut largest) = (0, 0, 0, 0.0_f32);
    let text = fs::read_to_string(answers.join("text")).unwrap();
    for (key, transcript) in text.lines().map(|line| line.split_once(' ').unwrap()) {
        let bytes = fs::read(answers.join(format!("{key}.wav"))).unwrap();
        let recording = Recording::read(&bytes[..], &ReadOptions::default()).unwrap();
        let audio = recording.audio().unwrap().with_key(key);
        let found = recognizer.log_probs(std::slice::from_ref(&audio)).unwrap();
        let expected = &log_probs[key];
        assert_eq!(found.num_rows(), expected.num_rows(), "{key}");
        for (row, expected) in found.rows().zip(expected.rows()) {
            // Column 0 is the blank, which snfa leaves out.
            for (value, expected) in row[1..].iter().zip(expected) {
                largest = largest.max((value - expected).abs());
            }
        }
        let found = recognizer.align(&audio, transcript).unwrap();
        let expected = &segments[key];
        assert_eq!(found.len(), expected.len(), "{key}");
        for (word, (phone, start, end)) in found.iter().zip(expected) {
            assert_eq!(&word.text, phone, "{key}");
            phones += 1;
            boundaries += 2;
            equal += usize::from(word.frames.start == *start) + usize::from(word.frames.end == *end);
        }
    }
    println!(
        "{phones} phones, {equal} of {boundaries} boundaries are those of the best path, log-probabilities differ by {largest:e} at most"
    );
    assert!(phones > 0 && equal == boundaries && largest <= TOLERANCE);
}
