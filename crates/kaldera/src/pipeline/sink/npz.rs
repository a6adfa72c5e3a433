//! NumPy's archive: `numpy.load("x.npz")["key"]`.

use std::io;
use std::path::{Path, PathBuf};

use kaldi_matrix::SubMatrix;
use ndarray::ArrayView2;
use ndarray_npy::{NpzWriter, WriteNpyError, WriteNpzError};

use super::FeatureSink;
use super::partial::{Partial, write_error};
use crate::Error;

/// One array per utterance, not compressed.
pub(super) struct Npz {
    npz: NpzWriter<Partial>,
    path: PathBuf,
}

impl Npz {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self { npz: NpzWriter::new(Partial::create(path)?), path: path.to_owned() })
    }

    pub(super) fn finish(self) -> Result<Vec<PathBuf>, Error> {
        let partial = self.npz.finish().map_err(|error| write_error(&self.path, io_error(error)))?;
        Ok(vec![partial.finish()?])
    }
}

impl FeatureSink for Npz {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        let array = ArrayView2::from(features);
        self.npz.add_array(key, &array).map_err(|error| write_error(&self.path, io_error(error)))
    }
}

impl std::fmt::Debug for Npz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Npz").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The cause without the layers around it.
fn io_error(error: WriteNpzError) -> io::Error {
    match error {
        WriteNpzError::Zip(error) => error.into(),
        WriteNpzError::Npy(WriteNpyError::Io(error)) => error,
        WriteNpzError::Npy(error) => io::Error::other(error),
    }
}
