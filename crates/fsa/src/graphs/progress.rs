//! What long-running builders tell of themselves.

/// How far a builder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing: "reading n-grams", "determinizing L o G", ...
    pub what: &'static str,
    /// How much of it is done: lines, or states.
    pub done: u64,
    /// How much there is to do, where that is known.
    pub of: Option<u64>,
}

/// What becomes of words that a table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum OutOfVocabulary {
    /// They are added to the table.
    #[default]
    Add,
    /// What has them is skipped.
    Skip,
    /// They are an error.
    Refuse,
}
