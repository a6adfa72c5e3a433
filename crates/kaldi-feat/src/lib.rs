//! Kaldi's features. Under construction.

pub mod options;
