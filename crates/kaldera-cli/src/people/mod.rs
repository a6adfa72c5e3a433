//! The face for people.

pub(crate) mod features;
pub(crate) mod info;
pub(crate) mod plot;
