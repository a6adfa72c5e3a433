//! Tests of the crate from outside.

mod bad_input;
mod common;
mod driver;
mod equations;
mod first_steps;
mod gradients;
mod learns;
mod passes;
mod stack;
