//! The integration tests of kaldi-nnet3, one program for all.

mod fuzz;
mod known;
mod reading;
mod streams;
