//! The description that a file gives of its network.

use std::fmt;
use std::path::Path;

use crate::error::Error;
use crate::session::{Runtime, load};

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
    /// Its axes, if the file gives them.
    pub axes: Option<Vec<Axis>>,
    /// Its elements, if the file gives their type.
    pub element: Option<Element>,
}

/// The size of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// A constant size.
    Fixed(usize),
    /// Any size, under a name.
    Symbolic(String),
}

/// The type of the elements in the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// Floating point, of any width in the file.
    Float,
    /// Integers of 32 or 64 bits.
    Integer,
    /// Integers of 8 bits.
    Byte,
}

impl Description {
    /// Reads a file. The runtime must support all of its operators.
    ///
    /// # Errors
    /// [`Error::Load`], [`Error::NoRuntime`] and [`Error::Library`].
    pub fn read(path: impl AsRef<Path>, runtime: Runtime) -> Result<Self, Error> {
        load(path.as_ref(), runtime).map(|session| session.description())
    }

    pub(crate) fn new(inputs: Vec<TensorInfo>, outputs: Vec<TensorInfo>, mut metadata: Vec<(String, String)>) -> Self {
        metadata.sort();
        Self { inputs, outputs, metadata }
    }

    /// Returns the number in the value of a key of the metadata; `None` if it is missing or no
    /// number.
    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        self.metadata(key)?.trim().parse().ok()
    }

    /// Returns the value of a key of the metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Returns the names and shapes of tensors as a list for people.
pub(crate) fn shown(tensors: &[TensorInfo]) -> String {
    tensors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl TensorInfo {
    /// Returns `true` for integers `[N, T, 1]`, which are samples.
    pub(crate) fn has_integer_samples(&self) -> bool {
        let axes = self.axes.as_deref().unwrap_or_default();
        self.element == Some(Element::Integer) && matches!(axes, [_, _, Axis::Fixed(1)])
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
