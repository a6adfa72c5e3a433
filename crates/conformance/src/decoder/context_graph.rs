//! Hot words: icefall's `ContextGraph`.

use fsa::Ragged;
use fsa::graphs::ContextGraph;
use serde::Deserialize;

use crate::{Differences, Stop, Verdict, single};

const TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
pub(crate) struct Answer {
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
    (0..count).map(|i| single(value(i))).collect()
}

pub(crate) fn check(answer: Answer) -> Result<Verdict, Stop> {
    let phrases = Ragged::from_lists(&answer.phrases)?;
    let count = answer.phrases.len();
    let scores = or_default(answer.scores.as_ref(), answer.context_score, count);
    let thresholds = or_default(answer.ac_thresholds.as_ref(), answer.default_ac_threshold.unwrap_or(1.0), count);
    let graph = ContextGraph::new(&phrases, &scores)?.with_thresholds(&thresholds)?;
    let mut differences = Differences::default();
    let binding = !answer.stale_scores;
    // icefall counts its root.
    let (right, states) = (answer.num_nodes, graph.num_states());
    differences.check(states == right || states == right + 1, || {
        format!("states: expected {right} without the root, came {states}")
    });
    for node in answer.nodes.into_iter().flatten() {
        let prefix = node.prefix;
        let Some(state) = graph.states().find(|&state| graph.prefix(state) == prefix) else {
            differences.check(false, || format!("no state of {prefix:?}"));
            continue;
        };
        let came = graph.node(state).ok_or_else(|| Stop::Refused("a state is none".into()))?;
        let what = |name: &str| format!("{name} of {prefix:?}");
        differences.equal(&what("fail"), node.fail, graph.prefix(came.fail));
        differences.equal(&what("output"), node.output, came.output.map(|state| graph.prefix(state)));
        differences.equal(&what("is_end"), node.is_end, came.phrase.is_some());
        if binding {
            differences.near(&what("token_score"), node.token_score, came.token_score.into(), TOLERANCE);
            differences.near(&what("node_score"), node.node_score, came.node_score.into(), TOLERANCE);
            differences.near(&what("output_score"), node.output_score, came.output_score.into(), TOLERANCE);
        }
    }
    for (number, stream) in answer.streams.into_iter().enumerate() {
        let (mut state, mut total) = (graph.start(), 0.0);
        for (place, (token, (bonus, prefix, matched))) in stream.tokens.into_iter().zip(stream.steps).enumerate() {
            let step = graph.forward_one_step(state, token, stream.strict);
            let what = |name: &str| format!("stream {number}, token {place}: {name}");
            differences.equal(&what("state"), prefix, graph.prefix(step.state));
            differences.equal(&what("match"), matched, step.matched.map(|phrase| answer.phrases[phrase].clone()));
            if binding {
                differences.near(&what("bonus"), bonus, step.score.into(), TOLERANCE);
            }
            (state, total) = (step.state, total + f64::from(step.score));
        }
        if binding {
            let last = f64::from(graph.finalize(state));
            differences.near(&format!("stream {number}: final"), stream.last, last, TOLERANCE);
            differences.near(&format!("stream {number}: total"), stream.total, total + last, TOLERANCE);
        }
    }
    differences.verdict()
}
