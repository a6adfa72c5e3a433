//! The integration tests of kaldi-io, one program for all.

mod fuzz;
#[cfg(feature = "lattice")]
mod lattices;
mod tables;
