//! The integration tests of kaldi-io, one program for all.

mod containers;
mod fuzz;
#[cfg(feature = "lattice")]
mod lattices;
mod recordings;
mod tables;
