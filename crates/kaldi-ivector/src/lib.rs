//! Kaldi's i-vectors: a short vector for the speaker and the channel, which acoustic networks take
//! in addition to the features.
//!
//! ```text
//!   final.dubm ──> DiagGmm ────────────────────────.
//!   final.ie ────> IvectorExtractor ─> IvectorTerms ┴─> IvectorModel, shared by all streams
//!                                                          |
//!   features, spliced and transformed: normalised, raw ──> OnlineIvector ──> i-vectors
//!                                                          |
//!   best path of a decoder ──> SilenceWeighting ── weights of frames
//!
//!   features and posteriors of whole utterances ──> UtteranceStats ──> IvectorTerms::ivector
//! ```
//!
//! Files come as `BufRead` and go as `Write`, in binary and as text: [`DiagGmm`], [`FullGmm`],
//! [`IvectorExtractor`] and [`OnlineStats`] implement [`codec::KaldiRead`] and
//! [`codec::KaldiWrite`].
//!
//! ```
//! use kaldi_ivector::{DiagGmm, codec};
//!
//! let text = "<DiagGMM> <WEIGHTS> [ 1 ] <MEANS_INVVARS> [ 0 2 ] <INV_VARS> [ 1 1 ] </DiagGMM>";
//! let gmm: DiagGmm = codec::read(&mut text.as_bytes())?;
//! assert_eq!((gmm.num_gaussians(), gmm.dim()), (1, 2));
//! let mut written = Vec::new();
//! codec::write(&mut written, &gmm, true)?;
//! assert!(written.starts_with(b"\0B<DiagGMM> <GCONSTS> FV "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//! - No input panics or allocates more than it backs; the terms of an extractor have a limit.
//! - Results have the same bits for any number of threads and any chunks of features; see
//!   [`OnlineIvector`].
//! - A stream's memory is bounded, as long as i-vectors are asked for, except with one i-vector for
//!   each period, which are kept as in Kaldi.
//!
//! # Coming from Kaldi
//! | there | here |
//! |---|---|
//! | `DiagGmm`, `FullGmm` | [`DiagGmm`], [`FullGmm`] |
//! | `VectorToPosteriorEntry` | [`select_posteriors`] |
//! | `IvectorExtractor` | [`IvectorExtractor`]; its derived variables are [`IvectorTerms`] |
//! | `IvectorExtractorUtteranceStats` | [`UtteranceStats`] |
//! | `GetIvectorDistribution` | [`IvectorTerms::ivector`] |
//! | `OnlineIvectorEstimationStats` | [`OnlineStats`] |
//! | `OnlineIvectorExtractionConfig`, `...Info` | [`IvectorOptions`], [`IvectorModel`] |
//! | `OnlineIvectorFeature` | [`OnlineIvector`]; CMVN, splicing and LDA come before it |
//! | `OnlineSilenceWeighting` | [`SilenceWeighting`] |
//!
//! # Limits
//! Nothing is trained here: the files come from Kaldi's recipes.

#![forbid(unsafe_code)]

mod diag_gmm;
mod error;
mod extractor;
mod full_gmm;
mod online;
mod options;
mod posteriors;
mod rows;
mod silence;
mod stats;
mod terms;
mod utterance;

pub use diag_gmm::DiagGmm;
pub use error::Error;
pub use extractor::IvectorExtractor;
pub use full_gmm::FullGmm;
pub use kaldi_matrix::{Matrix, MatrixBase, SpMatrix, Storage, Vector, codec};
pub use online::{IvectorModel, OnlineIvector};
pub use options::IvectorOptions;
pub use posteriors::{FramePosteriors, select_posteriors};
pub use silence::{SilenceWeighting, SilenceWeightingOptions};
pub use stats::OnlineStats;
pub use terms::IvectorTerms;
pub use utterance::UtteranceStats;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
