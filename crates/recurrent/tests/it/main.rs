//! Tests of the crate from outside.

mod common;
mod driver;
mod gradients;
mod passes;
