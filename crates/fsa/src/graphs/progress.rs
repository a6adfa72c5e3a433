//! What long-running builders tell of themselves.

use crate::error::kinds::texts;

/// How far a builder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub step: Step,
    /// How much of it is done: n-grams that were read.
    pub done: u64,
    /// How much there is to do, where that is known.
    pub of: Option<u64>,
    /// The graph that has just been made, with which this step begins.
    pub made: Option<HlgStep>,
    /// A graph that this step is going to make, about as large as this says.
    pub expected: Option<HlgStep>,
}

impl Progress {
    /// A step that begins.
    pub(crate) fn of(step: Step) -> Self {
        Self { step, done: 0, of: None, made: None, expected: None }
    }
}

texts! {
    /// What a builder is doing.
    Step {
        ReadLexicon = "reading the lexicon",
        ReadNgrams = "reading n-grams",
        MakeLexicon = "making L of the lexicon",
        WriteNgrams = "writing n-grams",
        Compose = "composing L and G",
        Determinize = "determinizing L o G",
        Minimize = "minimizing det(L o G)",
        RemoveEpsilons = "removing epsilons",
        ComposeTopology = "composing H and L o G",
        Done = "done",
    }
}

texts! {
    /// The graphs that are made on the way.
    HlgGraph {
        G = "G",
        L = "L",
        Lg = "L o G",
        Determinized = "det(L o G)",
        Minimized = "min(det(L o G))",
        EpsilonFree = "L o G without epsilons",
        Hlg = "H o L o G",
    }
}

/// The size of what one step has made, or is going to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HlgStep {
    /// Which graph.
    pub graph: HlgGraph,
    /// The number of its states.
    pub num_states: usize,
    /// The number of its arcs.
    pub num_arcs: usize,
    /// The memory that states, arcs and words take.
    pub num_bytes: usize,
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
