//! Kaldi's nnet3 networks.

#![forbid(unsafe_code)]

mod am;
mod descriptor;
mod error;
mod fields;
mod nnet;
mod reader;
mod schema;
mod writer;

pub use am::AcousticModel;
pub use descriptor::{Descriptor, IndexVariable};
pub use error::Error;
pub use fields::{Component, Field, Value};
pub use nnet::{Nnet, Node, NodeKind, Objective};
pub use schema::component_types;
