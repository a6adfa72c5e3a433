//! k2's algorithms on FSAs: sorting, trimming, closing, intersecting, composing.

mod random_fsa;

pub use random_fsa::{RandomFsaOptions, random_fsa, random_fsa_vec};
