//! Graphs that a decoder follows state by state, whole in memory or composed while it searches.

mod composition;
mod grammar;
mod log_sums;
mod look_ahead;
mod phrases;
mod reach;
mod search_graph;
mod shared_states;
mod static_graph;

pub use composition::{ComposedView, Composition, CompositionOptions};
pub use grammar::LookAheadGrammar;
pub use look_ahead::LookAheadLexicon;
pub use phrases::PhraseGrammar;
pub use search_graph::SearchGraph;
pub use static_graph::StaticGraph;
