//! Kaldera: a speech toolkit in Rust. One dependency, the crates below it under short names.
//!
//! ```text
//!   kaldera     pipeline: recordings -> features        (this crate)
//!      |
//!      +--- fsa      finite-state acceptors and transducers: k2's and OpenFst's algorithms, formats, decoding graphs
//!      +--- feat     fbank, MFCC, PLP, pitch, ...: samples -> matrix; CMVN, deltas, VAD
//!      +--- io       Kaldi tables, files, pipes, WAV
//!      +--- matrix   vectors and matrices, their Kaldi codecs
//!      +--- recurrent  RNN, LSTM, GRU on sequences without padding, forward and backward, and what learning needs
//!      +--- lod      Paddle's LoD tensors: sequences without padding, their operators, sort, segment, concat
//!      +--- ragged   lists of lists of any depth, with all of k2's operations
//!      +--- tensor   N-d arrays with any strides, TensorFlow's `strided_slice`, `.npy`
//!      +--- base     SIMD, vectorised mathematics, random numbers
//! ```
//!
//! Each of them can be used alone: `kaldi-feat` without default features needs neither BLAS nor any system library.
//!
//! ```
//! use kaldera::prelude::*;
//!
//! let mut options = MfccOptions::default(); // Kaldi's defaults
//! options.frame.dither = 0.0;
//! let mfcc = Mfcc::new(options)?;
//! let second = vec![1000_i16; 16_000];
//! let features = mfcc.compute(&Audio::new(&second, 16_000.0).with_key("utt1"))?;
//! assert_eq!((features.num_rows(), features.num_cols()), (98, 13));
//! # Ok::<(), kaldera::Error>(())
//! ```
//!
//! # Coming from Kaldi
//! | there | here |
//! |---|---|
//! | `compute-fbank-feats`, `paste-feats`, `apply-cmvn`, `add-deltas`, ... over a data folder | [`pipeline::Pipeline`] |
//! | `split_data_dir.sh`, `cat feats.*.scp` | [`pipeline::Inputs::shard`], [`pipeline::merge`] |
//! | `Fbank`, `Mfcc`, `OfflineFeatureTpl` | [`feat::Fbank`], [`feat::Mfcc`], [`feat::Extractor`] |
//! | `SequentialTableReader`, `RandomAccessTableReader`, `TableWriter` | [`io::table`] |
//! | `WaveData` | [`io::wave::WaveData`] |
//! | `Matrix`, `SubMatrix`, `Vector`, `SubVector` | [`matrix`] |
//!
//! Coming from k2: `RaggedShape` and `RaggedTensor` are [`ragged::RaggedShape`] and [`ragged::Ragged`]; the crate has a table of names.
//! `Fsa` and `FsaVec` are [`fsa::Fsa`] and [`fsa::FsaVec`], with their attributes [`fsa::Graph`].
//! Coming from Paddle: `LoDTensor` is [`lod::LodTensor`], with a table of names too; `dynamic_lstm` and `dynamic_gru` are in [`recurrent`].
//! Coming from PyTorch: `nn.LSTM` and its like over packed sequences are [`recurrent::Stack`].
//!
//! # Features
//! | feature | effect |
//! |---|---|
//! | `openblas` | OpenBLAS, the system library, under `matrix` |
//! | `pure` | faer, only Rust, under `matrix` |
//! | `rayon` | several threads; without it everything runs serially with the same results |
//! | `serde` | serialisation of [`ragged`] |
//! | `symphonia` | FLAC, MP3, Ogg Vorbis, and WAV of other widths than 16 bits, in [`pipeline`] (under the MPL-2.0) |
//!
//! The first three are on by default.

#![forbid(unsafe_code)]

mod error;
pub mod pipeline;

pub use fsa;
pub use kaldera_base as base;
pub use kaldi_feat as feat;
pub use kaldi_io as io;
pub use kaldi_matrix as matrix;
pub use lod;
pub use ragged_core as ragged;
pub use recurrent;
pub use tensor_strided as tensor;

pub use error::Error;

/// What most programs need: `use kaldera::prelude::*;`.
pub mod prelude {
    pub use crate::feat::{Audio, Fbank, FbankOptions, Mfcc, MfccOptions, Samples};
    pub use crate::matrix::{Matrix, SubMatrix, SubMatrixMut, SubVector, SubVectorMut, Vector};
    pub use crate::pipeline::{Cmvn, FeatureFile, FeatureSink, Inputs, Pipeline, Summary};
}

/// The code in the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
