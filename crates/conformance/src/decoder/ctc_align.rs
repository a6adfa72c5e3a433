//! Forced alignment: torchaudio's `forced_align`.

use std::path::Path;

use kaldera::decoder::align::{AlignOptions, forced_align};
use kaldera::decoder::{FrameTimes, LogProbs};
use serde::Deserialize;

use super::json::{Number, flat};
use super::{Outcome, differ, differ_by, judge};
use crate::{Case, Error, Settings, Verdict};

/// The README's, for single precision.
const TOLERANCE: f64 = 1e-3;
/// Spans have mean log-probabilities of decimals with four digits.
const MEAN: f64 = 1e-4;

/// Runs cases of the file.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Answer| case.check()))
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "C")]
    num_tokens: usize,
    blank: i32,
    log_probs: Vec<Vec<Number>>,
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

impl Answer {
    fn check(&self) -> Result<Outcome, String> {
        let values = flat(&self.log_probs);
        let log_probs = LogProbs::new("case", &values, self.num_tokens).map_err(|error| error.to_string())?;
        let options = AlignOptions::default().with_blank(self.blank);
        let came = match forced_align(&log_probs, &self.targets, &options, &FrameTimes::default()) {
            Ok(_) if self.error => return Err("expected an error, came an alignment".into()),
            Err(_) if self.error => return Ok(Outcome::Binding(vec![])),
            came => came.map_err(|error| error.to_string())?,
        };
        let mut differences = vec![];
        differ_by("score", self.score.map_or(f64::NAN, |score| score.0), came.score, TOLERANCE, &mut differences);
        let mut collapsed = came.path.clone();
        collapsed.dedup();
        collapsed.retain(|&label| label != self.blank);
        differ("what the path collapses to", &self.targets, &collapsed, &mut differences);
        let sum: f64 = came
            .path
            .iter()
            .zip(log_probs.frames())
            .map(|(&label, row)| usize::try_from(label).map_or(f64::NAN, |label| f64::from(row[label])))
            .sum();
        differ_by("sum of the path", came.score, sum, TOLERANCE, &mut differences);
        if self.num_best != Some(1) || self.torchaudio_score.is_some() || self.path.as_ref() != Some(&came.path) {
            // Another path is right if its sum is the best one.
            return Ok(Outcome::Binding(differences));
        }
        for (expected, &came) in self.path_scores.iter().flatten().zip(&came.path_scores) {
            differ_by("a path score", expected.0, came.into(), MEAN, &mut differences);
        }
        let spans = self.spans.as_deref().unwrap_or_default();
        differ("spans", &spans.len(), &came.tokens.len(), &mut differences);
        for (expected, came) in spans.iter().zip(&came.tokens) {
            let (label, start, end) = (came.id, came.frames.start, came.frames.end);
            differ("a span", &(expected.0, expected.1, expected.2), &(label, start, end), &mut differences);
            let mean = came.confidence.unwrap_or(f64::NAN).ln();
            differ_by("a span's mean", expected.3.0, mean, MEAN, &mut differences);
        }
        Ok(Outcome::Binding(differences))
    }
}
