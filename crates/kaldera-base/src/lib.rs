//! The leaf of Kaldera. Under construction.

pub mod real;

pub use real::Real;
