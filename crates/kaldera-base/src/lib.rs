//! The leaf of Kaldera. Under construction.

#![deny(unsafe_code)]

pub mod real;
#[expect(unsafe_code, reason = "the one place that calls intrinsics")]
pub mod simd;

pub use real::Real;
