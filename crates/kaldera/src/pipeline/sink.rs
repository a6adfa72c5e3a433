//! Where features go.

mod ark_scp;
mod npz;
mod partial;
mod safetensors;
mod staged;

pub use self::partial::PartialFile;
pub(super) use self::partial::folder_of;

use std::path::{Path, PathBuf};

use kaldi_matrix::{Matrix, SubMatrix};

use self::ark_scp::ArkScp;
use self::npz::Npz;
use self::safetensors::Safetensors;
use self::staged::Staged;
use crate::Error;

/// The endings that [`FeatureFile::create`] knows, for help texts.
pub const ENDINGS: &str = ".ark (Kaldi's archive, with its index beside it as .scp), .npz (NumPy) or .safetensors";

/// Takes the feature matrices of one utterance after the other.
pub trait FeatureSink {
    /// Takes the features of the utterance `key`, a row per frame. Keys come once each.
    ///
    /// # Errors
    /// When they cannot be stored. The pipeline then stops.
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error>;

    /// Whether the features of `key` are there from an earlier run, and need not be computed.
    fn has(&self, _key: &str) -> bool {
        false
    }
}

/// Keeps everything in memory.
impl FeatureSink for Vec<(String, Matrix<f32>)> {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        let values = features.rows().flatten().copied().collect();
        self.push((key.to_owned(), Matrix::from_vec(features.num_rows(), features.num_cols(), values)?));
        Ok(())
    }
}

/// A file of features in the format that its ending tells; see [`ENDINGS`].
///
/// It is written under another name in the same folder and gets its own in [`finish`](Self::finish), so that whoever
/// finds it finds all of it. Without `finish`, nothing is left. All formats are written as the features come: memory
/// does not grow with them, only with the number of keys.
#[derive(Debug)]
pub struct FeatureFile(Format);

#[derive(Debug)]
enum Format {
    ArkScp(ArkScp),
    Npz(Npz),
    Safetensors(Safetensors),
    Staged(Staged),
}

impl FeatureFile {
    /// Begins a file; what stands at `path` stays until [`finish`](Self::finish).
    ///
    /// # Errors
    /// An ending that tells no format, a folder that is missing or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("ark") => Format::ArkScp(ArkScp::create(path)?),
            Some("npz") => Format::Npz(Npz::create(path)?),
            Some("safetensors") => Format::Safetensors(Safetensors::create(path)?),
            _ => return Err(Error::UnknownFormat { path: path.to_owned() }),
        };
        Ok(Self(format))
    }

    /// Goes on with a file that an earlier run has not completed. What is there is [there](FeatureSink::has), but for a last matrix
    /// that was cut off.
    ///
    /// The unfinished file lies beside `path` and is called `path` with `.RUN.part` behind. It is an archive, whatever the format of
    /// the file: of formats that cannot be gone on with, all is written once more in the end. `run` stands for whatever decides
    /// the values, so that features of other options are never mixed in. Other than without resuming, it stays when a run ends
    /// before its time.
    ///
    /// # Errors
    /// Those of [`create`](Self::create); [`Error::Write`] also when another process is writing it.
    pub fn resume(path: impl AsRef<Path>, run: u64) -> Result<Self, Error> {
        let path = path.as_ref();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ark") => Ok(Self(Format::ArkScp(ArkScp::resume(path, run)?))),
            _ => Ok(Self(Format::Staged(Staged::resume(path, run)?))),
        }
    }

    /// Completes the file and gives it its name. Returns the names of what was written: for `x.ark` also `x.scp`.
    ///
    /// # Errors
    /// When the rest cannot be written; nothing is left then.
    pub fn finish(self) -> Result<Vec<PathBuf>, Error> {
        match self.0 {
            Format::ArkScp(file) => file.finish(),
            Format::Npz(file) => file.finish(),
            Format::Safetensors(file) => file.finish(),
            Format::Staged(file) => file.finish(),
        }
    }
}

impl FeatureSink for FeatureFile {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        match &mut self.0 {
            Format::ArkScp(file) => file.write(key, features),
            Format::Npz(file) => file.write(key, features),
            Format::Safetensors(file) => file.write(key, features),
            Format::Staged(file) => file.write(key, features),
        }
    }

    fn has(&self, key: &str) -> bool {
        match &self.0 {
            Format::ArkScp(file) => file.has(key),
            Format::Staged(file) => file.has(key),
            Format::Npz(_) | Format::Safetensors(_) => false,
        }
    }
}
