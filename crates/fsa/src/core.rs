//! FSAs as flat arrays of arcs: the types, the checks, the builders and the attributes of arcs.

pub(crate) mod arc;
pub(crate) mod attributes;
pub(crate) mod builder;
pub(crate) mod each_fsa;
pub(crate) mod fsa;
pub(crate) mod fsa_builder;
pub(crate) mod graph;
pub(crate) mod graph_labels;
pub(crate) mod label_reach;
pub(crate) mod limits;
pub(crate) mod properties;
pub(crate) mod semiring;
pub(crate) mod transducer;
mod valid;
pub(crate) mod view;
