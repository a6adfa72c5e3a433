//! Tensors from outside: first steps, and slices and views beside models that a reader believes at
//! sight.

mod first_steps;
mod slice_model;
mod view_model;
