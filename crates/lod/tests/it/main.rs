//! LoD tensors from outside: first steps, allocations, and gradients beside finite differences.

mod allocations;
mod first_steps;
mod sequence_gradients;
