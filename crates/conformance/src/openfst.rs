//! OpenFst's algorithms: `openfst/openfst.json`.
//!
//! Every operation is a function from a case to the points in which the result differs. Reading is
//! in `text`, the rules of the README in `compare`; a transducer becomes an FSA with one final
//! state, and is counted as OpenFst counts.

mod compare;
mod operations;
mod text;

use serde_json::Value;

use crate::{Stop, Verdict, verdict};

/// Runs a case and returns every difference from its known answer.
type Operation = fn(&Value) -> Result<Vec<String>, Stop>;

/// The verdict on a case.
pub(crate) fn judge(case: &Value) -> Verdict {
    match case["op"].as_str().and_then(operations::operation) {
        Some(run) => verdict::judge(|| run(case)),
        None => Verdict::NotRun,
    }
}
