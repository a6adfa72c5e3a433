//! A loaded file on one of the runtimes.

#[cfg(feature = "ort")]
mod on_ort;
mod on_rten;

use std::path::Path;
use std::str::FromStr;

use crate::description::Description;
use crate::error::Error;

/// The runtime that computes the network of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runtime {
    /// [RTen](https://docs.rs/rten), which is a part of this crate. Each utterance runs on a thread
    /// of its own.
    #[default]
    Rten,
    /// ONNX Runtime, with the feature `ort`: for files that RTen cannot read, such as files of
    /// int4. Its library is loaded when the first file is opened, from the path in the environment
    /// variable `ORT_DYLIB_PATH`, else by its usual name. Utterances wait for each other, and each
    /// uses all processors.
    Ort,
    /// ONNX Runtime on the first GPU, which needs a library that was built with CUDA.
    OrtCuda,
}

impl Runtime {
    /// All runtimes.
    pub const ALL: [Self; 3] = [Self::Rten, Self::Ort, Self::OrtCuda];

    /// Returns its name in a model folder and on the command line: `rten`, `ort` or `ort-cuda`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rten => "rten",
            Self::Ort => "ort",
            Self::OrtCuda => "ort-cuda",
        }
    }
}

impl FromStr for Runtime {
    type Err = Error;

    /// # Errors
    /// [`Error::UnknownRuntime`].
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|runtime| runtime.name() == name);
        found.ok_or_else(|| Error::UnknownRuntime { name: name.to_owned() })
    }
}

/// A tensor: its shape, and its values row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tensor {
    Float(Vec<usize>, Vec<f32>),
    Integer(Vec<usize>, Vec<i64>),
}

impl Tensor {
    /// Returns its shape.
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Float(shape, _) | Self::Integer(shape, _) => shape,
        }
    }
}

/// Converts integers for an input of 32 bits.
///
/// # Errors
/// An error with the first value that does not fit.
pub(crate) fn narrow(values: Vec<i64>) -> Result<Vec<i32>, String> {
    let narrow = |value: i64| i32::try_from(value).map_err(|_| format!("{value} needs more than 32 bits"));
    values.into_iter().map(narrow).collect()
}

/// Returns an element, or an error if the file has no `kind`, "input" or "output", there.
pub(crate) fn at<'t, T>(kind: &str, all: &'t [T], at: usize) -> Result<&'t T, String> {
    all.get(at).ok_or_else(|| format!("the file has no {kind} {at}"))
}

/// A file that a runtime has loaded.
pub(crate) trait Session: Send + Sync {
    /// Returns the file's description of its network.
    fn description(&self) -> Description;

    /// Computes the outputs at these positions of the description. Each input comes with its
    /// position.
    fn run(&self, inputs: Vec<(usize, Tensor)>, outputs: &[usize]) -> Result<Vec<Tensor>, String>;
}

/// Loads a file, and its files of weights.
///
/// # Errors
/// [`Error::Load`], [`Error::NoRuntime`] and [`Error::Library`].
pub(crate) fn load(path: &Path, runtime: Runtime) -> Result<Box<dyn Session>, Error> {
    match runtime {
        Runtime::Rten => Ok(Box::new(on_rten::RtenSession::load(path)?)),
        #[cfg(feature = "ort")]
        Runtime::Ort | Runtime::OrtCuda => Ok(Box::new(on_ort::OrtSession::load(path, runtime)?)),
        #[cfg(not(feature = "ort"))]
        Runtime::Ort | Runtime::OrtCuda => Err(Error::NoRuntime),
    }
}
