//! Scores of states, arcs and whole FSAs, their gradients, and the paths that they lead to.

mod semiring;

pub use semiring::Semiring;
