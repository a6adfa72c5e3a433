//! Kaldera: a speech toolkit in Rust. One dependency, with the crates below it under short names.
//!
//! ```text
//!   kaldera     pipeline: recordings -> features; recognizer: recordings -> words    (this crate)
//!      |
//!      +--- fsa      finite-state acceptors and transducers: k2's and OpenFst's algorithms,
//!      |             formats, decoding graphs
//!      +--- decoder  from log-probabilities to words: CTC, transducers, graphs, alignment,
//!      |             word error rates
//!      +--- network  acoustic networks from safetensors: features -> log-probabilities,
//!      |             batches and streams
//!      +--- feat     fbank, MFCC, PLP, pitch, ...: samples -> matrix; CMVN, deltas, VAD
//!      +--- ivector  Kaldi's i-vectors: mixtures of Gaussians, extractors, online estimation
//!      +--- nnet3    Kaldi's networks: read, written, computed over utterances and streams
//!      +--- losses   CTC, the RNN-T family, LF-MMI, minimum word error rate, with gradients
//!      +--- io       Kaldi tables, files, pipes, WAV
//!      +--- matrix   vectors and matrices, their Kaldi codecs
//!      +--- recurrent  RNN, LSTM, GRU on sequences without padding, forward and backward,
//!      |               and what learning needs
//!      +--- lod      Paddle's LoD tensors: sequences without padding, their operators,
//!      |             sort, segment, concat
//!      +--- ragged   lists of lists of any depth, with all of k2's operations
//!      +--- tensor   N-d arrays with any strides, TensorFlow's `strided_slice`, `.npy`
//!      +--- base     SIMD, vectorised mathematics, random numbers
//! ```
//!
//! Each crate can be used on its own, and none needs a system library unless the feature `openblas`
//! is on.
//!
//! From the files of a folder to features, on all processors:
//!
//! ```
//! use kaldera::prelude::*;
//!
//! # let folder = tempfile::tempdir()?;
//! # let recordings = folder.path().join("recordings");
//! # std::fs::create_dir(&recordings)?;
//! # for name in ["a.wav", "b.wav"] {
//! #     let wave = WaveData { samp_freq: 16_000.0, num_channels: 1, samples: vec![1000; 16_000] };
//! #     wave.write(&mut std::fs::File::create(recordings.join(name))?)?;
//! # }
//! let pipeline = Pipeline::mfcc(MfccOptions::default())?; // Kaldi's defaults, but no dither
//! let mut features = Vec::new();
//! let summary = pipeline.run(&Inputs::from_paths([&recordings])?, &mut features)?;
//! assert_eq!((summary.frames, summary.dim), (2 * 98, 13));
//! assert_eq!(features[0].0, "a"); // beside it its matrix
//! # Ok::<(), kaldera::Error>(())
//! ```
//!
//! From one file, without a pipeline:
//!
//! ```no_run
//! use kaldera::prelude::*;
//!
//! let fbank = Fbank::new(FbankOptions::default().with_num_mel_bins(80))?;
//! let recording = Recording::open("hello.flac")?.mean(); // of all channels
//! let features = fbank.compute(&recording.audio()?)?;
//! # Ok::<(), kaldera::Error>(())
//! ```
//!
//! # Coming from Kaldi
//! | there | here |
//! |---|---|
//! | `compute-fbank-feats`, `paste-feats` over a data folder | [`pipeline::Pipeline`] |
//! | `apply-cmvn`, `add-deltas`, ... over a data folder | [`pipeline::Pipeline`] |
//! | `split_data_dir.sh`, `cat feats.*.scp` | [`pipeline::Inputs::shard`], [`pipeline::merge`] |
//! | `Fbank`, `Mfcc`, `OfflineFeatureTpl` | [`feat::Fbank`], [`feat::Mfcc`], [`feat::Extractor`] |
//! | `SequentialTableReader`, `RandomAccessTableReader`, `TableWriter` | [`io::table`] |
//! | `WaveData` | [`io::wave::WaveData`] |
//! | `Matrix`, `SubMatrix`, `Vector`, `SubVector` | [`matrix`] |
//!
//! Coming from k2: `RaggedShape` and `RaggedTensor` are [`ragged::RaggedShape`] and
//! [`ragged::Ragged`]; the crate has a table of names. `Fsa` and `FsaVec` are [`fsa::Fsa`] and
//! [`fsa::FsaVec`], with their attributes [`fsa::Graph`]; `ctc_loss` and `rnnt_loss` are in
//! [`losses`]. Coming from Paddle: `LoDTensor` is [`lod::LodTensor`], also with a table of names;
//! `dynamic_lstm` and `dynamic_gru` are in [`recurrent`]. Coming from PyTorch: `nn.LSTM` and
//! similar modules over packed sequences are [`recurrent::Stack`].
//!
//! # Features
//! | feature | effect |
//! |---|---|
//! | `rayon` (on) | several threads; without it everything runs serially with the same results |
//! | `fft` | Fourier transforms of vectors, under [`matrix`] (features have their own) |
//! | `openblas` | OpenBLAS, the system library, under [`matrix`] |
//! | `pure` | faer, only Rust, under [`matrix`] |
//! | `tokenizers` | `tokenizer.json` files |
//! | `serde` | serialisation of options, matrices and ragged tensors |
//! | `onnx` | models whose network is an ONNX file, on a runtime in pure Rust |
//! | `ort` | the same on ONNX Runtime, if a model asks for it; its library is loaded at run time |
//! | `symphonia` | FLAC, MP3, Ogg Vorbis, MP4 and Matroska in [`Recording`] (MPL-2.0) |
//! | `opus` | Ogg Opus, there too |
//!
//! Formats of audio other than the ones of `symphonia` and `opus` need no feature. Without
//! `openblas` and `pure` only decompositions are missing: extraction, tables, recurrent networks
//! and FSAs need neither.

#![forbid(unsafe_code)]

pub mod decoding;
mod error;
pub mod kaldi_online;
pub mod pipeline;
pub mod recognizer;
pub mod similar;
pub mod text;

pub use fsa;
pub use kaldera_audio as audio;
pub use kaldera_base as base;
pub use kaldera_decoder as decoder;
pub use kaldera_losses as losses;
pub use kaldera_network as network;
pub use kaldi_feat as feat;
pub use kaldi_io as io;
pub use kaldi_ivector as ivector;
pub use kaldi_matrix as matrix;
pub use kaldi_nnet3 as nnet3;
pub use lod;
/// The version of `ndarray` whose arrays this crate takes and returns.
///
/// ```
/// use kaldera::ndarray::Array2;
/// use kaldera::prelude::*;
///
/// let samples: Vec<i16> = (0..16_000_i32).map(|i| (i * 7919 % 2001 - 1000) as i16).collect();
/// let audio = Audio::new(&samples, 16_000.0);
/// let fbank = Fbank::new(FbankOptions::default().with_num_mel_bins(80))?;
/// let features: Array2<f32> = fbank.compute(&audio)?.into();
/// assert_eq!(features.dim(), (98, 80));
///
/// // A batch becomes a tensor for a network; arrays become tensors, and log-probabilities.
/// let batch = LodTensor::try_from(fbank.compute_batch(&[audio, audio])?)?;
/// assert_eq!((batch.lengths(), batch.sequence(1).len()), (vec![98, 98], 98 * 80));
/// let output: Array2<f32> = Array2::from_elem((98, 5), -(5.0_f32.ln()));
/// assert_eq!(LogProbs::from_array("utt-1", output.view())?.num_frames(), 98);
/// let output = LodTensor::new(Tensor::from(output), Lod::from_lengths(&[[60, 38]])?)?;
/// assert_eq!(kaldera::decoding::dense_fsa_vec(&output)?.num_utterances(), 2);
/// # Ok::<(), kaldera::Error>(())
/// ```
pub use ndarray;
pub use ragged_core as ragged;
pub use recurrent;
pub use tensor_strided as tensor;

pub use error::Error;
pub use kaldera_audio::Recording;
pub use recognizer::Recognizer;

/// The names that most programs need of every crate: `use kaldera::prelude::*;`.
///
/// Names that programs often define themselves, or import from elsewhere, are left out: the arcs of
/// an FSA are [`fsa::Arc`].
pub mod prelude {
    pub use crate::Error;
    pub use crate::base::Real;
    pub use crate::decoder::ctc::{CtcDecoder, CtcDecoderOptions};
    pub use crate::decoder::{LogProbs, Recognition, Vocabulary};
    pub use crate::feat::{
        Audio, Fbank, FbankOptions, FeatureStream, Interleaved, LogMel, LogMelOptions, Mfcc, MfccOptions, Plp,
        PlpOptions, Samples, Spectrogram, SpectrogramOptions,
    };
    pub use crate::fsa::{Fsa, FsaVec, Graph};
    pub use crate::io::table::{RandomAccessReader, SequentialReader, TableWriter};
    pub use crate::io::wave::WaveData;
    pub use crate::lod::{Lod, LodTensor};
    pub use crate::losses::{ctc_loss, rnnt_loss};
    pub use crate::matrix::{Matrix, SubMatrix, SubMatrixMut, SubVector, SubVectorMut, Vector};
    pub use crate::pipeline::{Cmvn, FeatureFile, FeatureSink, Inputs, Pipeline, Recording, Summary, Utterance};
    pub use crate::ragged::{Ragged, RaggedShape, RowSplits};
    pub use crate::recognizer::Recognizer;
    pub use crate::recurrent::{Gru, Lstm, Rnn, Stack};
    pub use crate::tensor::{Tensor, TensorView, TensorViewMut};
}

/// Types that threads may share.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Error>();
    is_send_and_sync::<Recording>();
    is_send_and_sync::<Recognizer>();
    is_send_and_sync::<pipeline::Inputs>();
    is_send_and_sync::<pipeline::Pipeline<'_, feat::Fbank>>();
    is_send_and_sync::<pipeline::PitchFeatures>();
    is_send_and_sync::<pipeline::Summary>();
    is_send_and_sync::<pipeline::Batch>();
    is_send_and_sync::<pipeline::FeatureFile>();
};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
