//! Tests of the crate from outside.

mod algorithms;
mod dense;
mod first_steps;
mod formats;
mod fuzz;
mod graphs;
mod lazy_composition;
mod optimize;
mod scores;
