//! A file that can be resumed although its format does not allow it: an archive until it is
//! finished.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;

use kaldi_io::rxfilename::Input;
use kaldi_io::table::SequentialReader;
use kaldi_matrix::{Matrix, SubMatrix};

use crate::Error;
use crate::pipeline::sink::Format;
use crate::pipeline::sink::ark_scp::Ark;
use crate::pipeline::sink::partial::PartialFile;
use crate::pipeline::sink::resume::RunId;

/// Features in an archive next to the file that they are for; they are written there, in its own
/// format, when all have come. That temporarily takes the disk space of both, and a second
/// writing.
#[derive(Debug)]
pub(super) struct Staged {
    ark: Ark,
    to_read: File,
}

impl Staged {
    /// Continues where an earlier run of the same `run` was cut off.
    pub(super) fn resume(path: &Path, run: RunId) -> Result<Self, Error> {
        // Errors that prevent the file from being written are reported before the work.
        Format::create(path)?;
        let (ark, _, to_read) = Ark::resume(path, run)?;
        Ok(Self { ark, to_read })
    }

    pub(super) fn earlier(&self) -> &HashSet<String> {
        self.ark.earlier()
    }

    /// The files in their own format, and the archive, which is removed once these have their
    /// names.
    pub(super) fn complete(mut self) -> Result<(Vec<PartialFile>, Ark), Error> {
        self.ark.flush()?;
        let mut file = Format::create(self.ark.path())?;
        self.to_read.rewind().map_err(|source| Error::Read { path: self.ark.path().to_owned(), source })?;
        let name = self.ark.path().to_string_lossy().into_owned();
        // An empty table has no archive.
        if self.to_read.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            let input = Input::from_reader(name, BufReader::new(self.to_read));
            for entry in SequentialReader::<Matrix<f32>>::from_archive_input(input)? {
                let (key, features) = entry?;
                file.write(&key, features.view())?;
            }
        }
        let (files, _) = file.complete()?;
        Ok((files, self.ark))
    }

    pub(super) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        self.ark.write(key, features).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pipeline::{FeatureFile, FeatureSink};

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

            let run = RunId::of_number(42);
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
        assert!(matches!(FeatureFile::resume("x.txt", RunId::of_number(1)), Err(Error::UnknownFormat { .. })));
    }
}
