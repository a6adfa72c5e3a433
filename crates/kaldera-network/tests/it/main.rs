//! The contracts of the crate.

mod layers;
mod networks;
