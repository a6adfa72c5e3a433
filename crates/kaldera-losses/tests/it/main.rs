//! Losses from outside: beside brute force and finite differences, in every layout, with bad input.

mod alignments;
mod bad_input;
mod every_loss;
mod first_steps;
mod gradients;
mod layouts;
#[path = "../../examples/strings.rs"]
mod strings;
mod support;
#[path = "../../examples/training.rs"]
mod training;

/// The example as a test: both recognisers read 95 of 100 new strings without an error.
#[test]
fn small_recognisers_learn_strings() {
    strings::main().unwrap();
}

/// The example as a test: a network of the crate `recurrent` learns by each loss.
#[test]
fn networks_learn_by_every_loss() {
    training::main().unwrap();
}
