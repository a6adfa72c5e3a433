//! OpenFst's algorithms: determinization, minimization, weight pushing, exact n best paths, differences, lazy composition.

mod determinize;
mod factor;
mod hash;
mod machine;
mod minimize;
mod numbers;
mod partition;
mod potentials;
mod push;
mod strings;
mod trim;

pub use determinize::{DeterminizeOptions, determinize};
pub use minimize::{MinimizeOptions, minimize};
pub use push::{PushTo, push_weights};
