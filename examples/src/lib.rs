//! Examples of Kaldera. Each is a program in the folder `examples` beside this one, and says at its top how to run it.
//!
//! `show_features` is a program of its own instead, in `bin`: so built, it shares every dependency with the command `kaldera`, and
//! the README's first line compiles them once.

#![forbid(unsafe_code)]

/// The code of the workspace's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
