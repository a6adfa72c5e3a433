//! Shapes made of shapes: one file for each kind of question.

mod axes;
mod build;
pub(crate) mod gather;
mod index;
mod join;
mod resize;
mod subset;
mod transpose;

pub use subset::Renumbering;
