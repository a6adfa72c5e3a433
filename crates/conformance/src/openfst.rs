//! OpenFst's algorithms: `openfst/openfst.json`.
//!
//! Every operation is a function from a case to the points in which the result differs. Reading is
//! in `text`, the rules of the README in `compare`; a transducer becomes an FSA with one final
//! state, and is counted as OpenFst counts.

mod compare;
mod operations;
mod text;

use std::path::Path;

use serde_json::Value;

use crate::{Case, Error, Settings, Verdict, caught};

/// Runs cases of the file.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(judge).collect())
}

/// Runs a case and returns every difference from its known answer.
type Operation = fn(&Value) -> Result<Vec<String>, Stop>;

/// Why a call gives nothing to compare.
#[derive(Debug)]
enum Stop {
    /// The case cannot be read.
    Damaged(String),
    /// The call returned an error.
    Refused(fsa::Error),
}

impl From<fsa::Error> for Stop {
    fn from(error: fsa::Error) -> Self {
        Self::Refused(error)
    }
}

fn judge(case: &Case) -> Verdict {
    let Some(run) = case.value["op"].as_str().and_then(operations::operation) else { return Verdict::NotRun };
    let differences = match caught(|| run(&case.value)) {
        Ok(Ok(differences)) => differences,
        Ok(Err(Stop::Damaged(why))) => vec![format!("the case itself is damaged: {why}")],
        Ok(Err(Stop::Refused(error))) => vec![format!("came the error: {error}")],
        Err(panic) => vec![panic],
    };
    Verdict::of(differences)
}
