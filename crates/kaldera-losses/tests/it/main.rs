//! Losses from outside: beside brute force and finite differences, in every layout, with bad input.

mod alignments;
mod bad_input;
mod first_steps;
mod gradients;
mod layouts;
#[path = "../../examples/strings.rs"]
mod strings;
mod support;

/// The example as a test: both recognisers read 95 of 100 new strings without an error.
#[test]
fn small_recognisers_learn_strings() {
    strings::main().unwrap();
}
