//! Kaldi tables (`ark`, `scp`), files, pipes and WAV.
#![forbid(unsafe_code)]

mod error;
mod holders;
mod object;
mod range;
pub mod rxfilename;
pub mod specifier;
pub mod table;
pub mod wave;
pub mod wxfilename;

pub use error::Error;
pub use holders::{Basic, Holder, HtkMatrix, is_token};
pub use object::{read_object, write_object};
