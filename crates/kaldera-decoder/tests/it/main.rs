//! Decoders from outside: first steps, and searches beside brute force.

mod brute_force;
mod first_steps;
