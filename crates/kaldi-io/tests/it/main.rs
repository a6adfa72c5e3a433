//! The integration tests of kaldi-io, one program for all.

mod fuzz;
mod recordings;
mod tables;
