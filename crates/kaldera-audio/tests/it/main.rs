//! All integration tests of the crate in one program.

mod containers;
mod fuzz;
#[cfg(feature = "opus")]
mod ogg;
mod recordings;
mod variants;
