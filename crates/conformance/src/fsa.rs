//! k2's FSAs: `k2/fsa_basic.json`, `k2/intersect.json` and `k2/nbest.json`; in `dense`,
//! `k2/dense.json`.
//!
//! Every operation is a function that runs a case and returns the differences between the result
//! and the known answer, by the rule of the README that the case names (`match`). Reading and
//! comparing is in `json`, the strings that an FSA accepts in `language`.

mod binary;
mod builders;
pub(crate) mod dense;
mod formats;
pub(crate) mod json;
mod language;
mod nbest;
mod scores;
mod unary;

use serde_json::Value;

use crate::{Stop, Verdict, caught};

/// Runs a case with its `args`, by a rule of the README, and returns every difference to the answer
/// that it should `expect`.
pub(crate) fn run(op: &str, rule: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    for run in [formats::run, builders::run, unary::run, scores::run, nbest::run] {
        match run(op, args, expect) {
            Err(Stop::NotRun) => {}
            came => return came,
        }
    }
    binary::run(op, rule, args, expect)
}

/// The verdict on a case with the code `run`.
pub(crate) fn judge(
    case: &Value,
    run: impl FnOnce(&str, &str, &Value, &Value) -> Result<Vec<String>, Stop>,
) -> Verdict {
    let (args, expect) = (&case["args"], &case["expect"]);
    let (Some(op), true) = (case["op"].as_str(), args.is_object() && expect.is_object()) else {
        return Verdict::fails("the case itself is damaged: no op, args or expect".into());
    };
    let rule = case["match"].as_str().unwrap_or_default();
    let must_fail = expect["error"] == true;
    match caught(|| run(op, rule, args, expect)) {
        Err(Stop::NotRun) => Verdict::NotRun,
        Err(Stop::Panicked(panic)) if rule == "free" => Verdict::Free(Some(format!("came a panic: {panic}"))),
        _ if rule == "free" => Verdict::Free(None),
        Err(Stop::Refused(_)) if must_fail => Verdict::Holds,
        Ok(_) | Err(Stop::Damaged(_)) if must_fail => Verdict::fails("expected an error, came a result".into()),
        came => came.map_or_else(|stop| stop.verdict(""), Verdict::of),
    }
}
