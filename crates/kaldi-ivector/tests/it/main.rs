//! Tests of the crate as its users see it.

mod formats;
mod fuzz;
mod made;
mod offline;
mod online;
mod silence;
