//! Iterative methods for linear systems and minima.

mod lbfgs;
mod linear_cgd;

pub use lbfgs::{LbfgsOptions, OptimizeLbfgs};
pub use linear_cgd::{LinearCgdOptions, linear_cgd};
