//! Decoders from outside: first steps, searches beside brute force, graphs.

mod brute_force;
mod first_steps;
mod graph;
mod language_models;
mod scoring;
mod streams;
mod tokenizer;
mod transducer;
mod transducer_errors;
