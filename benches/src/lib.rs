//! Benchmarks: see the benches folder. Here is what several of them share.

pub mod fsa;
pub mod on_demand;
pub mod ragged;
pub mod random;
pub mod recurrent;
pub mod tensor;
