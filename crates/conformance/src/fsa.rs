//! k2's FSAs: `k2/fsa_basic.json`, `k2/intersect.json` and `k2/nbest.json`; in `dense`,
//! `k2/dense.json`.
//!
//! Every operation is a function that runs a case and returns the differences between the result
//! and the known answer, by the rule of the README that the case names (`match`). Reading and
//! comparing is in `json`, the strings that an FSA accepts in `language`.

mod binary;
mod builders;
mod dense;
mod formats;
pub(crate) mod json;
mod language;
mod nbest;
mod scores;
mod unary;

use std::path::Path;

use serde_json::Value;

use crate::{Case, Error, Settings, Verdict, caught};

pub(crate) use dense::run as run_dense;

/// Runs cases of any of the files.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge_with(case, operation)).collect())
}

/// Runs a case with its `args` and returns every difference to the answer that it should
/// `expect`.
pub(crate) type Operation = fn(args: &Value, expect: &Value) -> Result<Vec<String>, Stop>;

/// The code of an operation, wherever it is, for a rule of the README.
fn operation(op: &str, rule: &str) -> Option<Operation> {
    let files = [formats::operation, builders::operation, unary::operation, scores::operation, nbest::operation];
    files.iter().find_map(|file| file(op)).or_else(|| binary::operation(op, rule))
}

/// Why a call gives nothing to compare.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The case cannot be read.
    Damaged(String),
    /// The call returned an error.
    Refused(String),
}

impl From<kaldera_losses::Error> for Stop {
    fn from(error: kaldera_losses::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<fsa::Error> for Stop {
    fn from(error: fsa::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// The verdict on a case when it is run by the code that `operation` has for it.
pub(crate) fn judge_with(case: &Case, operation: impl Fn(&str, &str) -> Option<Operation>) -> Verdict {
    let (args, expect) = (&case.value["args"], &case.value["expect"]);
    let (Some(op), true) = (case.value["op"].as_str(), args.is_object() && expect.is_object()) else {
        return Verdict::Fails(vec!["the case itself is damaged: no op, args or expect".into()]);
    };
    let rule = case.value["match"].as_str().unwrap_or_default();
    let Some(run) = operation(op, rule) else { return Verdict::NotRun };
    let came = caught(|| run(args, expect));
    if rule == "free" {
        return Verdict::Free(came.err());
    }
    let must_fail = expect["error"] == true;
    let differences = match came {
        Ok(Err(Stop::Refused(_))) if must_fail => vec![],
        Ok(_) if must_fail => vec!["expected an error, came a result".into()],
        Ok(Ok(differences)) => differences,
        Ok(Err(Stop::Damaged(why))) => vec![format!("the case itself is damaged: {why}")],
        Ok(Err(Stop::Refused(error))) => vec![format!("came the error: {error}")],
        Err(panic) => vec![panic],
    };
    Verdict::of(differences)
}
