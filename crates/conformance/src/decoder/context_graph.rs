//! Hot words: icefall's `ContextGraph`.

use std::path::Path;

use fsa::Ragged;
use fsa::graphs::ContextGraph;
use serde::Deserialize;

use super::{Outcome, differ, differ_by, judge};
use crate::{Case, Error, Settings, Verdict};

const TOLERANCE: f64 = 1e-6;

/// Runs cases of the file.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Answer| check(&case)))
}

#[derive(Deserialize)]
struct Answer {
    context_score: f64,
    phrases: Vec<Vec<i32>>,
    scores: Option<Vec<f64>>,
    ac_thresholds: Option<Vec<f64>>,
    default_ac_threshold: Option<f64>,
    stale_scores: bool,
    nodes: Option<Vec<Node>>,
    num_nodes: usize,
    streams: Vec<Stream>,
}

#[derive(Deserialize)]
struct Node {
    prefix: Vec<i32>,
    token_score: f64,
    node_score: f64,
    output_score: f64,
    is_end: bool,
    fail: Vec<i32>,
    output: Option<Vec<i32>>,
}

#[derive(Deserialize)]
struct Stream {
    strict: bool,
    tokens: Vec<i32>,
    steps: Vec<(f64, Vec<i32>, Option<Vec<i32>>)>,
    #[serde(rename = "final")]
    last: f64,
    total: f64,
}

/// Values that 0 leaves to a default.
fn or_default(values: Option<&Vec<f64>>, default: f64, count: usize) -> Vec<f32> {
    let value = |i: usize| values.map(|values| values[i]).filter(|&value| value != 0.0).unwrap_or(default);
    #[expect(clippy::cast_possible_truncation, reason = "scores are given in single precision")]
    (0..count).map(|i| value(i) as f32).collect()
}

fn check(answer: &Answer) -> Result<Outcome, String> {
    let phrases = Ragged::from_lists(&answer.phrases).map_err(|error| error.to_string())?;
    let count = answer.phrases.len();
    let scores = or_default(answer.scores.as_ref(), answer.context_score, count);
    let thresholds = or_default(answer.ac_thresholds.as_ref(), answer.default_ac_threshold.unwrap_or(1.0), count);
    let made = ContextGraph::new(&phrases, &scores).and_then(|graph| graph.with_thresholds(&thresholds));
    let graph = made.map_err(|error| error.to_string())?;
    let mut differences = vec![];
    let binding = !answer.stale_scores;
    // icefall counts its root.
    let states = graph.num_states();
    if states != answer.num_nodes && states != answer.num_nodes + 1 {
        differences.push(format!("states: expected {} without the root, came {states}", answer.num_nodes));
    }
    for node in answer.nodes.iter().flatten() {
        let Some(state) = graph.states().find(|&state| graph.prefix(state) == node.prefix) else {
            differences.push(format!("no state of {:?}", node.prefix));
            continue;
        };
        let came = graph.node(state).ok_or("a state is none")?;
        let what = |name: &str| format!("{name} of {:?}", node.prefix);
        differ(&what("fail"), &node.fail, &graph.prefix(came.fail), &mut differences);
        let output = came.output.map(|state| graph.prefix(state));
        differ(&what("output"), &node.output, &output, &mut differences);
        differ(&what("is_end"), &node.is_end, &came.phrase.is_some(), &mut differences);
        if binding {
            let pairs = [
                ("token_score", node.token_score, came.token_score),
                ("node_score", node.node_score, came.node_score),
                ("output_score", node.output_score, came.output_score),
            ];
            for (name, expected, came) in pairs {
                differ_by(&what(name), expected, came.into(), TOLERANCE, &mut differences);
            }
        }
    }
    for (number, stream) in answer.streams.iter().enumerate() {
        let (mut state, mut total) = (graph.start(), 0.0);
        for (place, (&token, (bonus, prefix, matched))) in stream.tokens.iter().zip(&stream.steps).enumerate() {
            let step = graph.forward_one_step(state, token, stream.strict);
            let what = |name: &str| format!("stream {number}, token {place}: {name}");
            let phrase = |phrase: usize| answer.phrases[phrase].clone();
            differ(&what("state"), prefix, &graph.prefix(step.state), &mut differences);
            differ(&what("match"), matched, &step.matched.map(phrase), &mut differences);
            if binding {
                differ_by(&what("bonus"), *bonus, step.score.into(), TOLERANCE, &mut differences);
            }
            (state, total) = (step.state, total + f64::from(step.score));
        }
        if binding {
            let last = f64::from(graph.finalize(state));
            differ_by(&format!("stream {number}: final"), stream.last, last, TOLERANCE, &mut differences);
            let what = format!("stream {number}: total");
            differ_by(&what, stream.total, total + last, TOLERANCE, &mut differences);
        }
    }
    Ok(Outcome::Binding(differences))
}
