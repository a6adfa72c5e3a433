//! Results of recognition, as Python gets them.

use kaldera::decoder::{Recognition, Segment, Vocabulary};
use pyo3::prelude::*;

use crate::errors::value_error;

/// Text, start and end in seconds, confidence, number.
pub(crate) type Part = (String, f64, f64, Option<f64>, i32);

/// Score, words, tokens.
pub(crate) type Guess = (f64, Vec<Part>, Vec<Part>);

pub(crate) fn parts(segments: &[Segment]) -> Vec<Part> {
    let part = |segment: &Segment| (segment.text.clone(), segment.start, segment.end, segment.confidence, segment.id);
    segments.iter().map(part).collect()
}

pub(crate) fn guesses(result: &Recognition) -> Vec<Guess> {
    let guess = |hypothesis: &kaldera::decoder::Hypothesis| {
        (hypothesis.scores.total(), parts(&hypothesis.words), parts(&hypothesis.tokens))
    };
    result.hypotheses.iter().map(guess).collect()
}

/// The texts of tokens, by their numbers.
pub(crate) fn texts(vocabulary: &Vocabulary) -> Vec<String> {
    let numbers = 0..i32::try_from(vocabulary.len()).unwrap_or(i32::MAX);
    numbers.map(|id| vocabulary.text(id).to_owned()).collect()
}

/// The error of a stream that is used after its end.
pub(crate) fn ended() -> PyErr {
    value_error("this stream was finished: begin a new one")
}
