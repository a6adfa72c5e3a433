//! The outputs of features.

mod durability;
mod formats;
mod lines;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use kaldi_matrix::{Matrix, SubMatrix};

pub(super) use self::durability::names::folder_of;
pub use self::durability::partial::PartialFile;
use self::durability::partial::publish;
pub use self::durability::record::Found;
use self::durability::record::{find, record_of, write_record};
pub use self::durability::run_id::RunId;
use self::formats::{Ark, Format, keys};
pub use self::lines::LineFile;
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
    /// Everything that is written to a format that cannot be resumed is in an archive first. That
    /// temporarily takes the disk space of both, and a second writing.
    staging: Option<Ark>,
    path: PathBuf,
    run: Option<RunId>,
    keys: HashSet<String>,
    /// The keys that an earlier run has written.
    earlier: HashSet<String>,
}

impl FeatureFile {
    /// Begins a file; an existing file at `path` stays until [`finish`](Self::finish).
    ///
    /// # Errors
    /// An unknown extension, a folder that is missing or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let (format, keys, earlier) = (Format::create(path)?, HashSet::new(), HashSet::new());
        Ok(Self { format, staging: None, path: path.to_owned(), run: None, keys, earlier })
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
        let mut file = Self::create(&path)?;
        let (ark, entries) = Ark::resume(path.as_ref(), run)?;
        match &mut file.format {
            Format::ArkScp(format) => format.resume(ark, &entries)?,
            _ => file.staging = Some(ark),
        }
        let earlier: HashSet<String> = entries.into_iter().map(|(key, _)| key).collect();
        Ok(Self { run: Some(run), keys: earlier.clone(), earlier, ..file })
    }

    /// Compares `path` with the output of `run`: the record `path.resume`, which
    /// [`finish`](Self::finish) has written after [`resume`](Self::resume), must be of the same
    /// run, and of files of the same lengths and times. A file without a record is never taken
    /// for complete.
    ///
    /// # Errors
    /// [`Error::Read`], if the file system reports an error.
    pub fn found(path: impl AsRef<Path>, run: RunId) -> Result<Found, Error> {
        find(run, &files_of(path.as_ref()))
    }

    /// Completes the file and gives it its name. Returns the names of the written files: for
    /// `x.ark` also `x.scp`.
    ///
    /// # Errors
    /// When the rest cannot be written; nothing is left then.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, Error> {
        if let Some(staging) = &self.staging {
            staging.read(|key, features| self.format.write(key, features))?;
        }
        let files = files_of(&self.path);
        publish(self.format.complete()?, Some(&record_of(&self.path)))?;
        // Before the record: an output recorded as complete has no unfinished archive.
        if let Some(staging) = self.staging {
            staging.remove();
        }
        if let Some(run) = self.run {
            write_record(run, self.keys.len() as u64, &files)?;
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
        match &mut self.staging {
            Some(staging) => staging.write(key, features).map(|_| ()),
            None => self.format.write(key, features),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.earlier.contains(key)
    }

    fn check_key(&self, key: &str) -> Result<(), Error> {
        keys::check(&self.path, self.staging.is_some(), key)
    }

    fn outputs(&self) -> Vec<PathBuf> {
        let mut outputs = files_of(&self.path);
        outputs.push(record_of(&self.path));
        outputs
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(sink: &mut impl FeatureSink, seeds: std::ops::Range<usize>) {
        for seed in seeds {
            let matrix = Matrix::from_fn(seed, 2, |row, col| (seed + row + col) as f32);
            sink.write(&format!("utt{seed}"), matrix.view()).unwrap();
        }
    }

    #[test]
    fn what_is_gone_on_with_becomes_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        for ending in ["npz", "safetensors"] {
            let (whole, path) =
                (folder.path().join("whole").with_extension(ending), folder.path().join("x").with_extension(ending));
            let mut file = FeatureFile::create(&whole).unwrap();
            write(&mut file, 1..6);
            file.finish().unwrap();

            let run = RunId::from_number(42);
            let mut file = FeatureFile::resume(&path, run).unwrap();
            write(&mut file, 1..3);
            assert!(matches!(FeatureFile::resume(&path, run), Err(Error::Write { .. })), "another run is writing it");
            drop(file);
            assert!(!path.exists());
            let parts = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let part = parts.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "part")).unwrap();
            let bytes = fs::read(&part).unwrap();
            // The last matrix was cut off.
            fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
            let mut file = FeatureFile::resume(&path, run).unwrap();
            assert!(file.has("utt1") && !file.has("utt2"));
            write(&mut file, 2..6);
            assert_eq!(file.finish().unwrap(), std::slice::from_ref(&path));
            assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap());
            assert!(!part.exists());
        }
        assert!(matches!(FeatureFile::resume("x.txt", RunId::from_number(1)), Err(Error::UnknownFormat { .. })));
    }
}
