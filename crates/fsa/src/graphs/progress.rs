//! Progress reports of long-running builders.

use crate::error::kinds::texts;

/// Progress of a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Current step.
    pub step: Step,
    /// Amount of it that is done: n-grams that were read.
    pub done: u64,
    /// Amount that is to be done, if that is known.
    pub of: Option<u64>,
    /// The graph that has just been made, with which this step begins.
    pub made: Option<HlgStep>,
    /// A graph that this step is going to make, about as large as this says.
    pub expected: Option<HlgStep>,
}

impl Progress {
    /// Creates the report of a step that begins.
    pub(crate) fn new(step: Step) -> Self {
        Self { step, done: 0, of: None, made: None, expected: None }
    }
}

texts! {
    /// Step of a builder.
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
    /// Intermediate and final graphs.
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

/// Size of the graph that one step has made, or is going to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HlgStep {
    /// The graph.
    pub graph: HlgGraph,
    /// Number of its states.
    pub num_states: usize,
    /// Number of its arcs.
    pub num_arcs: usize,
    /// Bytes of states, arcs and words.
    pub num_bytes: usize,
}

/// Treatment of words that a table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum OutOfVocabulary {
    /// They are added to the table.
    #[default]
    Add,
    /// Entries that have them are skipped.
    Skip,
    /// They are an error.
    Refuse,
}
