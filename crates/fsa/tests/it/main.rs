//! Tests of the crate from outside.

mod compose_look_ahead;
mod const_arpa;
mod ctc_epsilons;
mod decoding;
mod dense;
mod dense_epsilons;
mod first_steps;
mod formats;
mod fuzz;
mod graph_labels;
mod graphs;
mod hlg_files;
mod incremental;
mod k2;
mod lattice;
mod look_ahead;
mod ngram;
mod on_demand;
mod openfst;
mod paths;
