//! Decoding, alignment and scoring: the sets `ctc_decode`, `ctc_align`, `wer`, `context_graph`,
//! `endpoint` and `transducer_search`. Each is a file of JSON lines, with rules in the README in
//! the same folder.

mod compute_wer;
mod context_graph;
mod ctc_align;
mod ctc_decode;
mod endpoint;
mod json;
mod transducer;
mod wer;

use crate::{Case, Verdict, caught};

pub(crate) use context_graph::run as run_context_graph;
pub(crate) use ctc_align::run as run_ctc_align;
pub(crate) use ctc_decode::{run_exact, run_greedy, run_pyctc};
pub(crate) use endpoint::run as run_endpoint;
pub(crate) use transducer::{RnntDecode, RnntDecodeAnswer, rnnt_decode, run as run_transducer};
pub(crate) use wer::{run_ctm, run_text, run_trn};

/// The outcome of a case: differences to the known answer, none if it holds, or that it is free.
enum Outcome {
    Binding(Vec<String>),
    Free,
}

/// Runs cases, each with code that reads it from JSON.
fn judge<C: serde::de::DeserializeOwned>(cases: &[Case], run: impl Fn(C) -> Result<Outcome, String>) -> Vec<Verdict> {
    let judge_one = |case: &Case| {
        let read = match C::deserialize(&case.value) {
            Ok(read) => read,
            Err(error) => return Verdict::Fails(vec![format!("the case itself is damaged: {error}")]),
        };
        match caught(|| run(read)) {
            Ok(Ok(Outcome::Binding(differences))) => Verdict::of(differences),
            Ok(Ok(Outcome::Free)) => Verdict::Free(None),
            Ok(Err(error)) => Verdict::Fails(vec![error]),
            Err(panic) => Verdict::Fails(vec![panic]),
        }
    };
    cases.iter().map(judge_one).collect()
}

/// A difference, if there is one.
fn differ<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, came: &T, differences: &mut Vec<String>) {
    if expected != came {
        differences.push(format!("{what}: expected {expected:?}, came {came:?}"));
    }
}

/// A difference of more than `tolerance`, if there is one.
fn differ_by(what: &str, expected: f64, came: f64, tolerance: f64, differences: &mut Vec<String>) {
    let near = expected == came || (expected - came).abs() <= tolerance;
    if !near {
        differences.push(format!("{what}: expected {expected}, came {came}"));
    }
}
