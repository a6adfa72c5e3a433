//! Examples of Kaldera. Each is a program in the folder `examples` beside this one; it says at its top how to run it.

#![forbid(unsafe_code)]
