//! LoD tensors and their operators: `lod/*.jsonl`, the answers of Paddle and PyTorch.

pub(crate) mod algebra;
pub(crate) mod dynamic;
pub(crate) mod fused_rnn;
mod plain;
pub(crate) mod segment;
pub(crate) mod seq_ops;
pub(crate) mod torch_rnn;

use serde_json::Value;

use crate::{Stop, Verdict, caught};

/// Makes the calls of a case and returns the differences from the known answers.
type Check = fn(&Value) -> Result<Vec<String>, Stop>;

/// Judges a case; if its answer is an error, it must fail, as in [`judge_as`].
pub(crate) fn judge(case: &Value, check: Check) -> Verdict {
    // If Paddle is wrong, or refuses without reason, `correct` has the right answer.
    judge_as(case, !case["error"].is_null() && case["correct"].is_null(), check)
}

/// A case holds if nothing differs, or, if it must fail, if the call is refused.
pub(crate) fn judge_as(case: &Value, must_fail: bool, check: Check) -> Verdict {
    match caught(|| check(case)) {
        Err(Stop::Refused(_)) if must_fail => Verdict::Holds,
        Err(Stop::Refused(error)) => Verdict::fails(format!("expected an answer, came the error: {error}")),
        Err(stop) => stop.verdict(""),
        Ok(_) if must_fail => Verdict::fails("expected an error, came an answer".into()),
        Ok(differences) => Verdict::of(differences),
    }
}
