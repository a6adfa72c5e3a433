//! Graphs that a decoder follows state by state, whole in memory or composed while it searches.

mod search_graph;

pub use search_graph::SearchGraph;
