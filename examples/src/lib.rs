//! Examples of Kaldera. Each is a program in the folder `examples` beside this one, and says at its
//! top how to run it.

#![forbid(unsafe_code)]

/// The code in the project's README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
