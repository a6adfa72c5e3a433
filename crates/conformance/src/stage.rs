//! Stages: sets whose answers are arrays of recordings, not files of cases. Each stage of a
//! recogniser is fed with the recorded results of the stage before it.

use crate::verdict::caught;
use crate::{Stop, Verdict};

/// A stage that cannot be run, with the reason.
pub(crate) struct LeftOut(pub(crate) String);

/// A recording in a stage.
pub(crate) struct Part {
    pub(crate) id: String,
    /// The verdict, or the reason for which there is none.
    pub(crate) verdict: Result<Verdict, String>,
}

impl Part {
    /// The part that was left out for a reason.
    pub(crate) fn left_out(id: String, why: String) -> Self {
        Self { id, verdict: Err(why) }
    }

    /// The part with the verdict on the differences that `run` returns.
    pub(crate) fn judged(id: String, run: impl FnOnce() -> Result<Vec<String>, Stop>) -> Self {
        Self::with_verdict(id, || run().map(Verdict::of))
    }

    /// The part with the verdict that `run` returns.
    pub(crate) fn with_verdict(id: String, run: impl FnOnce() -> Result<Verdict, Stop>) -> Self {
        Self { id, verdict: Ok(caught(run).unwrap_or_else(|stop| stop.verdict(""))) }
    }
}
