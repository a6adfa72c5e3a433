//! Endpoint rules: Kaldi's `EndpointDetected`.

use std::path::Path;

use kaldera::decoder::graph::{EndpointRule, EndpointRules, EndpointState};
use serde::Deserialize;

use super::json::Number;
use super::{Outcome, differ, judge};
use crate::{Case, Error, Settings, Verdict};

/// Runs cases of the file.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Answer| case.check()))
}

#[derive(Deserialize)]
struct Answer {
    preset: String,
    rules: Vec<Rule>,
    frames: usize,
    trailing_silence_frames: usize,
    frame_shift: Number,
    final_relative_cost: Number,
    endpoint: bool,
    fired: Vec<usize>,
    #[serde(default)]
    float32_edge: bool,
}

#[derive(Deserialize)]
struct Rule {
    must_contain_nonsilence: bool,
    min_trailing_silence: Number,
    max_relative_cost: Number,
    min_utterance_length: Number,
}

impl Answer {
    fn check(&self) -> Result<Outcome, String> {
        let rule = |rule: &Rule| {
            EndpointRule::new(
                rule.must_contain_nonsilence,
                rule.min_trailing_silence.single(),
                rule.max_relative_cost.single(),
                rule.min_utterance_length.single(),
            )
        };
        let rules = EndpointRules::new(self.rules.iter().map(rule).collect());
        let state = EndpointState::new(
            self.frames,
            self.trailing_silence_frames,
            self.frame_shift.single(),
            self.final_relative_cost.single(),
        );
        let fired = rules.fired(&state).map_err(|error| error.to_string())?;
        let first = rules.detect(&state).map_err(|error| error.to_string())?;
        if self.float32_edge {
            return Ok(Outcome::Free);
        }
        let mut differences = vec![];
        differ("fired", &self.fired, &fired, &mut differences);
        differ("endpoint", &self.endpoint, &first.is_some(), &mut differences);
        let preset = match &*self.preset {
            "kaldi" => EndpointRules::kaldi(),
            "sherpa-onnx" => EndpointRules::sherpa_onnx(),
            _ => rules.clone(),
        };
        differ("rules of the preset", &rules, &preset, &mut differences);
        Ok(Outcome::Binding(differences))
    }
}
