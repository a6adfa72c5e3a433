//! A loaded file on one of the runtimes.

#[cfg(feature = "ort")]
mod on_ort;
mod on_rten;

use std::path::Path;
use std::str::FromStr;

use crate::description::Description;
use crate::error::Error;

/// What computes the network of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runtime {
    /// [RTen](https://docs.rs/rten), which is a part of this crate. Each utterance has one thread
    /// of its own.
    #[default]
    Rten,
    /// ONNX Runtime, with the feature `ort`: for what RTen cannot read, such as files of int4. Its
    /// library is loaded when the first file is opened, from where the environment variable
    /// `ORT_DYLIB_PATH` says, else by its usual name. Utterances wait for each other, and each has
    /// all processors.
    Ort,
    /// The same on the first GPU, which needs a library of ONNX Runtime that was built with CUDA.
    OrtCuda,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rten, Self::Ort, Self::OrtCuda];

    /// Its name in a model folder and on the command line: `rten`, `ort` or `ort-cuda`.
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

/// Integers for an input of 32 bits.
///
/// # Errors
/// With the first one that needs more.
pub(crate) fn narrow(values: Vec<i64>) -> Result<Vec<i32>, String> {
    let narrow = |value: i64| i32::try_from(value).map_err(|_| format!("{value} needs more than 32 bits"));
    values.into_iter().map(narrow).collect()
}

/// Where a name or a node of `kind`, "input" or "output", is not in the file.
pub(crate) fn at<'t, T>(kind: &str, all: &'t [T], at: usize) -> Result<&'t T, String> {
    all.get(at).ok_or_else(|| format!("the file has no {kind} {at}"))
}

/// A file that a runtime has loaded.
pub(crate) trait Session: Send + Sync {
    /// What it says of itself.
    fn description(&self) -> Description;

    /// Computes the outputs at these positions of the description; each input comes with its own
    /// position.
    fn run(&self, inputs: Vec<(usize, Tensor)>, outputs: &[usize]) -> Result<Vec<Tensor>, String>;
}

/// Loads a file, and the files of weights that it names beside it.
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
