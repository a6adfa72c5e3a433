//! The loops that all cells are made of.

pub(crate) mod aligned;
pub(crate) mod lanes;
pub(crate) mod panels;
pub(crate) mod product;
pub(crate) mod sequence_buffers;
pub(crate) mod steps;
