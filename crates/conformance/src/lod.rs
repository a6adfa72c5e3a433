//! LoD tensors and their operators: `lod/*.jsonl`, the answers of Paddle and PyTorch.

mod algebra;
mod dynamic;
mod fused_rnn;
mod plain;
mod segment;
mod seq_ops;
mod torch_rnn;

use std::path::Path;

use kaldera::{lod, recurrent};
use serde_json::Value;

use crate::{Case, Error, Settings, Verdict, caught};

/// Runs cases of `seq_ops.jsonl`.
pub(crate) fn run_seq_ops(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, seq_ops::check)).collect())
}

/// Runs cases of `lod_algebra.jsonl`.
pub(crate) fn run_algebra(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge_as(case, algebra::must_fail(&case.value), algebra::check)).collect())
}

/// Runs cases of `segment.jsonl`.
pub(crate) fn run_segment(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, segment::check)).collect())
}

/// Runs cases of `dynamic.jsonl`.
pub(crate) fn run_dynamic(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, dynamic::check)).collect())
}

/// Runs cases of `fused_rnn.jsonl`.
pub(crate) fn run_fused_rnn(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, fused_rnn::check)).collect())
}

/// Runs cases of `torch_rnn.jsonl`.
pub(crate) fn run_torch_rnn(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, torch_rnn::check)).collect())
}

/// Makes the calls of a case and returns the differences from the known answers.
type Check = fn(&Value) -> Result<Vec<String>, Stop>;

/// Why there is nothing to compare.
#[derive(Debug)]
enum Stop {
    /// There is no code for this.
    NotRun,
    /// The case cannot be read.
    Damaged(String),
    /// The call returned an error.
    Refused(String),
}

impl From<lod::Error> for Stop {
    fn from(error: lod::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<recurrent::Error> for Stop {
    fn from(error: recurrent::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Judges a case; if its answer is an error, it must fail, as in [`judge_as`].
fn judge(case: &Case, check: Check) -> Verdict {
    // If Paddle is wrong, or refuses without reason, `correct` has the right answer.
    judge_as(case, !case.value["error"].is_null() && case.value["correct"].is_null(), check)
}

/// A case holds if nothing differs, or, if it must fail, if the call is refused.
fn judge_as(case: &Case, must_fail: bool, check: Check) -> Verdict {
    match caught(|| check(&case.value)) {
        Ok(Err(Stop::NotRun)) => Verdict::NotRun,
        Ok(Err(Stop::Damaged(why))) => Verdict::Fails(vec![format!("the case itself is damaged: {why}")]),
        Ok(Err(Stop::Refused(_))) if must_fail => Verdict::Holds,
        Ok(Err(Stop::Refused(error))) => Verdict::Fails(vec![format!("expected an answer, came the error: {error}")]),
        Ok(Ok(_)) if must_fail => Verdict::Fails(vec!["expected an error, came an answer".into()]),
        Ok(Ok(differences)) => Verdict::of(differences),
        Err(panic) => Verdict::Fails(vec![panic]),
    }
}
