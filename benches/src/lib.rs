//! Benchmarks: see the benches folder. Here is what several of them share.

pub mod fsa;
pub mod ragged;
pub mod recurrent;
pub mod tensor;
