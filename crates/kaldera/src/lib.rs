//! Kaldera: a speech toolkit in Rust. One dependency, the crates below it under short names.
//!
//! ```text
//!   kaldera     pipeline: files -> features        (this crate)
//!      |
//!      +--- feat     fbank, MFCC: samples -> matrix
//!      +--- io       Kaldi tables, files, pipes, WAV
//!      +--- matrix   vectors and matrices, their Kaldi codecs
//!      +--- base     vectorised mathematics, random numbers
//! ```
//!
//! Each of them can be used alone: `kaldi-feat` without default features needs neither BLAS nor any system library.
//!
//! # Features
//! | feature | effect |
//! |---|---|
//! | `openblas` | OpenBLAS, the system library, under `matrix` |
//! | `pure` | faer, only Rust, under `matrix` |
//! | `rayon` | several threads; without it everything runs serially with the same results |
//!
//! All three are on by default.

#![forbid(unsafe_code)]

mod error;
pub mod pipeline;

pub use kaldera_base as base;
pub use kaldi_feat as feat;
pub use kaldi_io as io;
pub use kaldi_matrix as matrix;

pub use error::Error;

/// What most programs need: `use kaldera::prelude::*;`.
pub mod prelude {
    pub use crate::feat::{Audio, Fbank, FbankOptions, Mfcc, MfccOptions, Samples};
    pub use crate::matrix::{Matrix, SubMatrix, SubMatrixMut, SubVector, SubVectorMut, Vector};
    pub use crate::pipeline::{FeatureFile, FeatureSink, Inputs, Pipeline, Summary};
}

/// The code in the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
