//! The integration tests of kaldi-matrix, one program for all.

mod codec;
mod codec_of_kinds;
mod conversions;
mod dense;
mod kaldi_table;
mod operations;
mod packed;
