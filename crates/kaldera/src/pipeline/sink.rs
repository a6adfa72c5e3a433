//! The outputs of features.

mod ark_scp;
mod hash;
mod keys;
mod lines;
mod npz;
mod partial;
mod renames;
mod resume;
mod safetensors;
mod staged;

pub use self::lines::LineFile;
pub use self::partial::PartialFile;
pub(super) use self::partial::folder_of;
pub use self::resume::{Found, RunId};

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use kaldi_matrix::{Matrix, SubMatrix};

use self::ark_scp::{Ark, ArkScp};
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

    /// Returns `true` if an earlier run has written the features of `key`, so that they need not
    /// be computed.
    fn has(&self, _key: &str) -> bool {
        false
    }

    /// Refuses a key that cannot be stored, before anything is computed for it.
    ///
    /// # Errors
    /// [`Error::Key`].
    fn check_key(&self, _key: &str) -> Result<(), Error> {
        Ok(())
    }

    /// The files that will be replaced: none of them may be an input.
    fn outputs(&self) -> Vec<PathBuf> {
        Vec::new()
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

/// A file of features in the format given by its extension; see [`ENDINGS`].
///
/// It is written under another name in the same folder and gets its own in
/// [`finish`](Self::finish), so that the file is complete whenever it exists, also after a power
/// cut: data are synced before a name is given, and a new archive never exists together with an
/// old index. Without `finish`, nothing is left. All formats are written as the features come:
/// memory does not grow with them, only with the number of keys.
#[derive(Debug)]
pub struct FeatureFile {
    format: Format,
    path: PathBuf,
    run: Option<RunId>,
    keys: HashSet<String>,
}

#[derive(Debug)]
enum Format {
    ArkScp(ArkScp),
    Npz(Npz),
    Safetensors(Safetensors),
    Staged(Staged),
}

impl Format {
    fn create(path: &Path) -> Result<Self, Error> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("ark") => Self::ArkScp(ArkScp::create(path)?),
            Some("npz") => Self::Npz(Npz::create(path)?),
            Some("safetensors") => Self::Safetensors(Safetensors::create(path)?),
            _ => return Err(Error::UnknownFormat { path: path.to_owned() }),
        })
    }

    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        match self {
            Self::ArkScp(file) => file.write(key, features),
            Self::Npz(file) => file.write(key, features),
            Self::Safetensors(file) => file.write(key, features),
            Self::Staged(file) => file.write(key, features),
        }
    }

    /// The complete files, which only need their names, in the order in which they are to get
    /// them; and the archive to remove then.
    fn complete(self) -> Result<(Vec<PartialFile>, Option<Ark>), Error> {
        Ok(match self {
            Self::ArkScp(file) => (file.complete()?.into(), None),
            Self::Npz(file) => (vec![file.complete()?], None),
            Self::Safetensors(file) => (vec![file.complete()?], None),
            Self::Staged(file) => {
                let (files, staging) = file.complete()?;
                (files, Some(staging))
            }
        })
    }
}

impl FeatureFile {
    /// Begins a file; an existing file at `path` stays until [`finish`](Self::finish).
    ///
    /// # Errors
    /// An unknown extension, a folder that is missing or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Self { format: Format::create(path)?, path: path.to_owned(), run: None, keys: HashSet::new() })
    }

    /// Resumes a file that an earlier run has not completed. The keys in it count as written
    /// ([`has`](FeatureSink::has)), except the key of a last matrix that was cut off.
    ///
    /// The unfinished file is in the folder of `path`, and is called `path.RUN.XXXXXX.part`. It
    /// is an archive, whatever the format of the file: if the format cannot be resumed,
    /// everything is written once more at the end. It is kept when a run is interrupted. `run`
    /// stands for everything that determines the values, so that features of other options or
    /// inputs are never mixed in. A finished file gets a record, `path.resume`, for
    /// [`found`](Self::found).
    ///
    /// # Errors
    /// The errors of [`create`](Self::create); [`Error::Write`] also if another process is
    /// writing it.
    pub fn resume(path: impl AsRef<Path>, run: RunId) -> Result<Self, Error> {
        let path = path.as_ref();
        let (format, keys) = match path.extension().and_then(|ending| ending.to_str()) {
            Some("ark") => {
                let file = ArkScp::resume(path, run)?;
                let keys = file.earlier().clone();
                (Format::ArkScp(file), keys)
            }
            _ => {
                let file = Staged::resume(path, run)?;
                let keys = file.earlier().clone();
                (Format::Staged(file), keys)
            }
        };
        Ok(Self { format, path: path.to_owned(), run: Some(run), keys })
    }

    /// Compares `path` with the output of `run`: the record `path.resume`, which
    /// [`finish`](Self::finish) has written after [`resume`](Self::resume), must be of the same
    /// run, and of files of the same lengths and times. A file without a record is never taken
    /// for complete.
    ///
    /// # Errors
    /// [`Error::Read`], if the file system reports an error.
    pub fn found(path: impl AsRef<Path>, run: RunId) -> Result<Found, Error> {
        resume::find(run, &files_of(path.as_ref()))
    }

    /// Completes the file and gives it its name. Returns the names of the written files: for
    /// `x.ark` also `x.scp`.
    ///
    /// # Errors
    /// When the rest cannot be written; nothing is left then.
    pub fn finish(self) -> Result<Vec<PathBuf>, Error> {
        let files = files_of(&self.path);
        let matrices = self.keys.len() as u64;
        let (complete, staging) = self.format.complete()?;
        partial::publish(complete, Some(&resume::record_of(&self.path)))?;
        // Before the record: an output recorded as complete has no unfinished archive.
        if let Some(staging) = staging {
            staging.remove();
        }
        if let Some(run) = self.run {
            resume::write_record(run, matrices, &files)?;
        }
        Ok(files)
    }
}

/// All files that are written for `path`.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let index = (path.extension().is_some_and(|ending| ending == "ark")).then(|| path.with_extension("scp"));
    std::iter::once(path.to_owned()).chain(index).collect()
}

impl FeatureSink for FeatureFile {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        self.check_key(key)?;
        keys::take(&mut self.keys, &self.path, key)?;
        self.format.write(key, features)
    }

    fn has(&self, key: &str) -> bool {
        match &self.format {
            Format::ArkScp(file) => file.earlier().contains(key),
            Format::Staged(file) => file.earlier().contains(key),
            Format::Npz(_) | Format::Safetensors(_) => false,
        }
    }

    fn check_key(&self, key: &str) -> Result<(), Error> {
        keys::check(&self.path, matches!(self.format, Format::Staged(_)), key)
    }

    fn outputs(&self) -> Vec<PathBuf> {
        let mut outputs = files_of(&self.path);
        outputs.push(resume::record_of(&self.path));
        outputs
    }
}
