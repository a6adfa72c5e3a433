//! Traits that only this crate implements.

/// A supertrait of public traits, which nobody outside can name.
pub trait Sealed {}
