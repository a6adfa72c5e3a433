//! Ragged tensors from outside: first steps, text, and models that a reader believes at sight.

mod first_steps;
mod shape_model;
mod text;
mod value_model;
