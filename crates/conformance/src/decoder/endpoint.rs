//! Endpoint rules: Kaldi's `EndpointDetected`.

use kaldera::decoder::graph::{EndpointRule, EndpointRules, EndpointState};
use serde::Deserialize;

use crate::{Differences, Number, Stop, Verdict, single};

#[derive(Deserialize)]
pub(crate) struct Answer {
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

pub(crate) fn check(answer: Answer) -> Result<Verdict, Stop> {
    let rule = |rule: &Rule| {
        let numbers = [rule.min_trailing_silence, rule.max_relative_cost, rule.min_utterance_length];
        let [silence, cost, length] = numbers.map(|number| single(number.0));
        EndpointRule::new(rule.must_contain_nonsilence, silence, cost, length)
    };
    let rules = EndpointRules::new(answer.rules.iter().map(rule).collect());
    let [shift, cost] = [answer.frame_shift, answer.final_relative_cost].map(|number| single(number.0));
    let state = EndpointState::new(answer.frames, answer.trailing_silence_frames, shift, cost);
    let (fired, first) = (rules.fired(&state)?, rules.detect(&state)?);
    if answer.float32_edge {
        return Ok(Verdict::Free(None));
    }
    let mut differences = Differences::default();
    differences.equal("fired", answer.fired, fired);
    differences.equal("endpoint", answer.endpoint, first.is_some());
    let preset = match &*answer.preset {
        "kaldi" => EndpointRules::kaldi(),
        "sherpa-onnx" => EndpointRules::sherpa_onnx(),
        _ => rules.clone(),
    };
    differences.equal("rules of the preset", rules, preset);
    differences.verdict()
}
