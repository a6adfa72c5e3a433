//! Decoders: from a network's log-probabilities to words, with times, scores and confidences.
//!
//! ```text
//!   LogProbs --ctc::greedy, ctc::CtcDecoder--> Recognition: hypotheses of tokens and words
//!      |
//!      '--align::forced_align (transcript)--> Alignment: where each label is -> CTM, TextGrid, SRT
//!
//!   EncoderOutput + TransducerModel
//!      '--transducer::{greedy_search, modified_beam_search, tdt_beam_search}--> Recognition
//!   joiner's output + graph
//!      '--transducer::RnntStreams--> lattices
//!
//!   references, hypotheses --score--> Counts, alignments, confusions
//! ```
//!
//! The README has an example and a table of names for people who know pyctcdecode, flashlight,
//! torchaudio, icefall, k2, sherpa-onnx or sclite.
//!
//! # Modules
//! | module | holds |
//! |---|---|
//! | [`ctc`] | greedy and prefix beam search: tokens, words, lexicons, n-gram models, hot words |
//! | [`align`] | forced alignment, files of words with times |
//! | [`transducer`] | RNN-T and TDT searches over a trait of the caller; k2's streams |
//! | [`graph`] | a recogniser over a decoding graph: partial results, endpoints, confidences |
//! | [`tokenizer`] | `bpe.model` and `tokenizer.json`: texts into tokens |
//! | [`score`] | word and character error rates, sclite's formats, bootstrap |
//!
//! # Guarantees
//! - Scores are natural logarithms, larger is better. Log-probabilities may be minus infinity,
//!   never NaN.
//! - An error names the utterance, and the frame if there is one. No input makes this crate panic.
//! - The same input has the same result, regardless of the chunks of a stream.
//!
//! # Design
//! - All CTC decoders without a graph are one search (`ctc/search.rs`). Tokens, words and lexicon
//!   each define the state of a hypothesis and the score that an extension adds.
//! - Whether a token consumes one frame, none or several is one parameter,
//!   [`TransducerTopology`](transducer::TransducerTopology). Greedy search, beam search and
//!   alignment all take it.
//! - Log-probabilities come from slices, or with the feature `ndarray` from arrays.
//!
//! # Features
//! `rayon` (on) is forwarded to `fsa`. `serde`: options, results and counts. `tokenizers`: reads
//! `tokenizer.json`.
//! `tokenizer.json`.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod align;
pub mod ctc;
mod error;
pub mod graph;
mod hash;
mod hot_word;
mod ids;
mod log_probs;
mod result;
mod rows;
pub mod score;
pub mod tokenizer;
pub mod transducer;
mod vocabulary;

pub use error::Error;
pub use hot_word::HotWord;
pub use log_probs::{LogProbs, log_softmax};
pub use result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};
pub use vocabulary::{Vocabulary, WordUnits};
