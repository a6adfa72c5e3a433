//! Loops over slices, which the operations use. Each runs with the widest instruction set of the
//! processor.
//!
//! - [`elementwise`]: y = f(x), y = f(y, x) and so on, for any function of numbers; axpy, scale,
//!   floors, conversion.
//! - [`exp`]: exponentials, logarithms, tanh, sigmoid, soft-max, log-sum-exp.
//! - [`reduce`]: sums, scalar products, lowest and highest numbers.
//! - [`functions`]: norms, powers and others, which vectors and matrices share.
//!
//! Sums have a fixed order. It depends only on the length, not on the address, the machine or the
//! number of threads.

mod elementwise;
mod exp;
pub(crate) mod functions;
mod reduce;

pub(crate) use elementwise::{
    add_scaled, axpy, ceiling, convert, copy, floor, map, multiply, scale, update, zip_map, zip_map2,
};
pub(crate) use exp::{exp_limited, exp_special, exp_sum, log_softmax_row, soft_hinge, softmax_row, sum_exp};
pub(crate) use reduce::{dot, max, max_index, min, min_index, sum, sum_by, sum_f64, sum_f64_lanes, sum_of_squares};
