//! Trains a recogniser of connected digits on the recordings of single ones: from wav files to a
//! model, in Rust alone.
//!
//! ```text
//!   recordings --strings--> samples --features--> LodTensor --network--> logits --ctc_loss--> gradient
//!   of a digit   3 to 7 of    fbank-40, normalised,   bidirectional GRU,                          |
//!                a speaker    3 frames in a row       LayerNorm, Linear  <--Adam, clipped--------'
//! ```
//!
//! With augmentation, the samples are changed before the features. What was learnt is exported as a
//! model folder.
//!
//! The README of this folder has the recipe, its results and the commands.

#![forbid(unsafe_code)]

pub mod augmentation;
pub mod corpus;
pub mod evaluation;
pub mod export;
pub mod features;
pub mod network;
pub mod strings;
pub mod training;

/// What went wrong, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
