//! What a file says of its network.

use std::fmt;
use std::path::Path;

use rten::{DataType, Dimension, Model, NodeId, ValueType};

use crate::error::Error;
use crate::guard::guarded;

/// The inputs, outputs and metadata of an ONNX file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The inputs, in the file's order.
    pub inputs: Vec<TensorInfo>,
    /// The outputs, in the file's order.
    pub outputs: Vec<TensorInfo>,
    /// Its `metadata_props`, by key.
    pub metadata: Vec<(String, String)>,
}

/// An input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Its axes, unless the file does not tell.
    pub axes: Option<Vec<Axis>>,
    /// Its elements, unless the file does not tell.
    pub element: Option<Element>,
}

/// The size of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// Always this one.
    Fixed(usize),
    /// Any, under a name.
    Symbolic(String),
}

/// The type of elements, as the runtime computes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// Floating point, whatever its width in the file is.
    Float,
    /// Integers of 32 or 64 bits.
    Integer,
    /// Integers of 8 bits.
    Byte,
}

impl Description {
    /// Reads a file, of which the runtime must know all operators.
    ///
    /// # Errors
    /// [`Error::Load`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        load(path.as_ref()).map(|model| Self::of(&model))
    }

    pub(crate) fn of(model: &Model) -> Self {
        let all = |ids: &[NodeId]| ids.iter().map(|&id| TensorInfo::of(model, id)).collect();
        let mut metadata: Vec<(String, String)> =
            model.metadata().fields().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        metadata.sort();
        Self { inputs: all(model.input_ids()), outputs: all(model.output_ids()), metadata }
    }

    /// The value of a key of the metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Loads a file and the files of weights that it names beside it.
pub(crate) fn load(path: &Path) -> Result<Model, Error> {
    guarded(|| Model::load_file(path)).map_err(|reason| Error::Load { path: path.to_owned(), reason })
}

impl TensorInfo {
    fn of(model: &Model, id: NodeId) -> Self {
        let info = model.node_info(id);
        let info = info.as_ref();
        let axis = |axis| match axis {
            Dimension::Fixed(size) => Axis::Fixed(size),
            Dimension::Symbolic(name) => Axis::Symbolic(name),
        };
        Self {
            name: info.and_then(|info| info.name()).unwrap_or_default().to_owned(),
            axes: info.and_then(|info| info.shape()).map(|axes| axes.into_iter().map(axis).collect()),
            element: info.and_then(|info| info.dtype()).and_then(|kind| match kind {
                ValueType::Tensor(DataType::Float) => Some(Element::Float),
                ValueType::Tensor(DataType::Int32) => Some(Element::Integer),
                ValueType::Tensor(_) => Some(Element::Byte),
                _ => None,
            }),
        }
    }
}

/// `NAME [N, T, 80]`.
impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = |axis: &Axis| match axis {
            Axis::Fixed(size) => size.to_string(),
            Axis::Symbolic(name) => name.clone(),
        };
        match &self.axes {
            Some(axes) => write!(f, "{} [{}]", self.name, axes.iter().map(axis).collect::<Vec<_>>().join(", ")),
            None => write!(f, "{} of unknown shape", self.name),
        }
    }
}
