//! NumPy's archive: `numpy.load("x.npz")["key"]`.

use std::io;
use std::path::{Path, PathBuf};

use kaldi_matrix::SubMatrix;
use ndarray::ArrayView2;
use tensor_strided::TensorView;
use tensor_strided::npy::NpyError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Error;
use crate::pipeline::sink::durability::partial::{PartialFile, write_error};

/// One array per utterance, not compressed.
pub(in crate::pipeline::sink) struct Npz {
    zip: ZipWriter<PartialFile>,
    path: PathBuf,
}

impl Npz {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self { zip: ZipWriter::new(PartialFile::create(path)?), path: path.to_owned() })
    }

    pub(super) fn complete(self) -> Result<PartialFile, Error> {
        self.zip.finish().map_err(|error| write_error(&self.path, error.into()))
    }

    pub(super) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        // A matrix may have more than 4 GiB.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        let started = self.zip.start_file(format!("{key}.npy"), options);
        started.map_err(|error| write_error(&self.path, error.into()))?;
        let array = TensorView::from(ArrayView2::from(features));
        array.write_npy(&mut self.zip).map_err(|error| {
            let cause = match error {
                NpyError::Io(error) => error,
                error => io::Error::other(error),
            };
            write_error(&self.path, cause)
        })
    }
}

impl std::fmt::Debug for Npz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Npz").field("path", &self.path).finish_non_exhaustive()
    }
}
