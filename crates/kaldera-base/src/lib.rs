//! The leaf of Kaldera: utilities that every crate above needs and that belong to none of them.
//!
//! ```text
//!   simd     one kernel, written once, runs with SSE2 / NEON, AVX2 or AVX-512, chosen at run time
//!    |- math      ln, exp, tanh, sigmoid of whole vectors of `f32` or `f64`, with error bounds
//!    |- random    Philox: numbers that are a function of (key, counter)
//!    '- gemm      a small matrix product, for where no BLAS is at hand
//!   real     `f32` and `f64` as one trait
//!   buffer   shared memory, cut without copying, copied on writing
//!   par      work divided among threads, with the feature `rayon`
//!   memory   fresh memory for large results, in huge pages; prefetch
//!   panics   panics of code that is not ours, as errors
//!   text     texts: their byte order mark, lines, and an error that shows its position
//!   setters! the `with_*` methods of a structure of options
//!   edit_distance  insertions, deletions and substitutions between two lists
//!   abridged `Debug` of long slices
//! ```
//!
//! ```
//! use kaldera_base::{math, simd};
//!
//! let mut energies = [1.0_f32, 10.0, 100.0];
//! math::ln_in_place(&mut energies);
//! assert!((energies[2] - 4.605_170).abs() < 1e-6);
//! println!("computed with {}", simd::level());
//! ```
//!
//! # Design
//! - A kernel is compiled for each instruction set, so code that it inlines is compiled three
//!   times. Kernels that several kernels share are called through `Simd::apart`. The functions that
//!   run a kernel are not `#[inline]`, so that a crate compiles it once. The portable lanes are
//!   written out, without loops to unroll.
//! - There is no module for NEON: every aarch64 has it, so the compiler may use it in the portable
//!   kernels.
//! - The modules of `simd` import each other: a trait, its instruction sets, and the dispatch that
//!   names them.
//! - The code of rayon that splits work is compiled in `par`, and not in each crate.
//!
//! # Unsafe code
//! [`simd`]: the intrinsics, each behind a method that is safe because its receiver can be made
//! only where the processor has the instructions, and the view of aligned memory as vectors. Its
//! traits are sealed, since unsafe code relies on them. 80 filterbank features of a frame take
//! 662 ns with the portable lanes, 246 ns with AVX2 and 158 ns with AVX-512. [`memory`]: the call
//! that asks for huge pages, and the prefetch. A result of 40 MB takes 4.5 ms instead of 20, a
//! random gather of rows 8 ms instead of 16, and of single elements 13 ms instead of 25.
//!
//! # When not to use it
//! For general numerics, take `ndarray` or `faer`. This crate holds only what the crates of Kaldera
//! share.

#![deny(unsafe_code)]

pub mod abridged;
pub mod buffer;
mod edit_distance;
pub mod gemm;
pub mod math;
#[cfg_attr(
    any(target_os = "linux", target_arch = "x86_64"),
    expect(unsafe_code, reason = "the one place that advises the operating system about memory, and prefetches")
)]
pub mod memory;
pub mod panics;
pub mod par;
pub mod random;
pub mod real;
mod setters;
#[expect(unsafe_code, reason = "the one place that calls intrinsics")]
pub mod simd;
pub mod text;

pub use buffer::Buffer;
pub use edit_distance::edit_distance;
pub use real::Real;
pub use text::TextError;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Types that threads may share.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Buffer<f32>>();
    is_send_and_sync::<TextError<String>>();
    is_send_and_sync::<random::Philox>();
    is_send_and_sync::<gemm::Operand<'_, f32>>();
    is_send_and_sync::<simd::Lines>();
    is_send_and_sync::<simd::Level>();
};
