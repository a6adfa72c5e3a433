//! Traits that only this crate implements.

/// A supertrait of public traits that other crates can't name.
pub trait Sealed {}
