//! Operations from shapes to shapes, with one file for each kind.

mod axes;
mod build;
pub(crate) mod gather;
mod index;
mod join;
mod resize;
mod subset;
mod transpose;

pub use subset::Renumbering;
