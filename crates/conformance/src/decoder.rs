//! Decoding, alignment and scoring: the sets `ctc_decode`, `ctc_align`, `wer`, `context_graph`,
//! `endpoint` and `transducer_search`. Each is a file of JSON lines, with rules in the README in
//! the same folder.

pub(crate) mod context_graph;
pub(crate) mod ctc_align;
pub(crate) mod ctc_decode;
pub(crate) mod endpoint;
pub(crate) mod transducer;
pub(crate) mod wer;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Stop, Verdict, caught};

/// The verdict on a case, with code that reads it from JSON.
pub(crate) fn judge<C: DeserializeOwned>(case: &Value, run: impl FnOnce(C) -> Result<Verdict, Stop>) -> Verdict {
    let read = C::deserialize(case).map_err(|error| Stop::Damaged(error.to_string()));
    match read.and_then(|case| caught(|| run(case))) {
        Ok(verdict) => verdict,
        Err(Stop::Refused(error)) => Verdict::fails(error),
        Err(stop) => stop.verdict(""),
    }
}
