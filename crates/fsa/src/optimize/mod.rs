//! OpenFst's algorithms: determinization, minimization, weight pushing, exact n best paths, differences, lazy composition.

mod determinize;
mod difference;
mod encode;
mod equivalent;
mod factor;
mod hash;
mod machine;
mod minimize;
mod numbers;
mod optimize;
mod partition;
mod potentials;
mod project;
mod push;
mod shortest_paths;
mod strings;
mod trim;

pub use determinize::{DeterminizeOptions, determinize};
pub use difference::difference;
pub use encode::{Encoder, encode};
pub use equivalent::equivalent;
pub use minimize::{MinimizeOptions, minimize};
pub use optimize::optimize;
pub use project::{Side, project};
pub use push::{PushTo, push_weights};
pub use shortest_paths::{Unique, shortest_paths};
