//! Forced alignment: torchaudio's `forced_align`.

use kaldera::decoder::align::{AlignOptions, forced_align};
use kaldera::decoder::{FrameTimes, LogProbs};
use serde::Deserialize;

use crate::{Differences, Number, Singles, Stop, Verdict};

/// The README's, for single precision.
const TOLERANCE: f64 = 1e-3;
/// Spans have mean log-probabilities of decimals with four digits.
const MEAN: f64 = 1e-4;

#[derive(Deserialize)]
pub(crate) struct Answer {
    #[serde(rename = "C")]
    num_tokens: usize,
    blank: i32,
    log_probs: Singles,
    targets: Vec<i32>,
    #[serde(default)]
    error: bool,
    path: Option<Vec<i32>>,
    path_scores: Option<Vec<Number>>,
    score: Option<Number>,
    spans: Option<Vec<(i32, usize, usize, Number)>>,
    num_best: Option<u64>,
    torchaudio_score: Option<Number>,
}

pub(crate) fn check(answer: Answer) -> Result<Verdict, Stop> {
    let log_probs = LogProbs::new("case", &answer.log_probs.0, answer.num_tokens)?;
    let options = AlignOptions::default().with_blank(answer.blank);
    let came = match forced_align(&log_probs, &answer.targets, &options, &FrameTimes::default()) {
        Ok(_) if answer.error => return Err(Stop::Refused("expected an error, came an alignment".into())),
        Err(_) if answer.error => return Ok(Verdict::Holds),
        came => came?,
    };
    let mut differences = Differences::default();
    differences.near("score", answer.score.map_or(f64::INFINITY, |score| score.0), came.score, TOLERANCE);
    let mut collapsed = came.path.clone();
    collapsed.dedup();
    collapsed.retain(|&label| label != answer.blank);
    differences.equal("what the path collapses to", &answer.targets, &collapsed);
    let scores = came.path.iter().zip(log_probs.frames());
    let sum: f64 =
        scores.map(|(&label, row)| usize::try_from(label).map_or(f64::NAN, |label| f64::from(row[label]))).sum();
    differences.near("sum of the path", came.score, sum, TOLERANCE);
    if answer.num_best != Some(1) || answer.torchaudio_score.is_some() || answer.path.as_ref() != Some(&came.path) {
        // Another path is right if its sum is the best one.
        return differences.verdict();
    }
    for (expected, &came) in answer.path_scores.iter().flatten().zip(&came.path_scores) {
        differences.near("a path score", expected.0, came.into(), MEAN);
    }
    let spans = answer.spans.unwrap_or_default();
    differences.equal("spans", spans.len(), came.tokens.len());
    for ((label, start, end, mean), came) in spans.into_iter().zip(&came.tokens) {
        differences.equal("a span", (label, start, end), (came.id, came.frames.start, came.frames.end));
        differences.near("a span's mean", mean.0, came.confidence.unwrap_or(f64::NAN).ln(), MEAN);
    }
    differences.verdict()
}
