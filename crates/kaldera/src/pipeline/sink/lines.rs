//! A file of lines, one for each recording.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::pipeline::sink::durability::partial::{PartialFile, publish};
use crate::pipeline::sink::durability::record::{Found, find, record_of, write_record};
use crate::pipeline::sink::durability::run_id::RunId;

/// A file of texts, one or more lines for each recording. It appears complete or not at all, as a
/// [`FeatureFile`](super::FeatureFile) does; one of single lines can be resumed.
///
/// ```
/// use kaldera::pipeline::LineFile;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("words.txt");
/// let mut file = LineFile::create(&path)?;
/// file.write(b"utt-1 one two\n")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "utt-1 one two\n");
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Debug)]
pub struct LineFile {
    file: PartialFile,
    run: Option<RunId>,
    /// The keys that an earlier run has written.
    earlier: HashSet<String>,
    recordings: u64,
}

impl LineFile {
    /// Begins a file; an existing file at `path` stays until [`finish`](Self::finish).
    ///
    /// # Errors
    /// A folder that is missing or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { file: PartialFile::create(path)?, run: None, earlier: HashSet::new(), recordings: 0 })
    }

    /// Goes on with a file that an earlier run of the same `run` has not completed: see
    /// [`FeatureFile::resume`](super::FeatureFile::resume). `key_of` returns the key of a line.
    /// The first line that has none, or that was cut off, and all lines after it are written
    /// anew.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create); [`Error::Write`] also if another process is
    /// writing it.
    pub fn resume(path: impl AsRef<Path>, run: RunId, key_of: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let file = PartialFile::kept(path.as_ref(), run)?;
        let scan = || {
            let (mut reader, mut earlier, mut bytes) = (BufReader::new(file.file()), HashSet::new(), 0);
            let mut line = vec![];
            loop {
                line.clear();
                let length = reader.read_until(b'\n', &mut line)?;
                let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
                let Some(key) = text.and_then(&key_of) else { break };
                earlier.insert(key);
                bytes += length as u64;
            }
            file.file().set_len(bytes)?;
            Ok(earlier)
        };
        let earlier = scan().map_err(|source| file.error(source))?;
        let recordings = earlier.len() as u64;
        Ok(Self { file, run: Some(run), earlier, recordings })
    }

    /// Compares `path` with the output of `run`: see
    /// [`FeatureFile::found`](super::FeatureFile::found).
    ///
    /// # Errors
    /// [`Error::Read`], if the file system reports an error.
    pub fn found(path: impl AsRef<Path>, run: RunId) -> Result<Found, Error> {
        find(run, &[path.as_ref().to_owned()])
    }

    /// The keys that an earlier run has written.
    pub fn earlier(&self) -> &HashSet<String> {
        &self.earlier
    }

    /// Returns `true` if no line has been written, by this run or an earlier one.
    pub fn is_empty(&self) -> bool {
        self.recordings == 0
    }

    /// Appends the text of a recording.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&mut self, text: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(text).and_then(|()| self.file.flush_kept());
        written.map_err(|source| self.file.error(source))?;
        self.recordings += 1;
        Ok(())
    }

    /// Completes the file and gives it its name, which it returns.
    ///
    /// # Errors
    /// When the rest cannot be written; nothing is left then, unless it can be resumed.
    pub fn finish(self) -> Result<PathBuf, Error> {
        let path = self.file.output().to_owned();
        publish(vec![self.file], Some(&record_of(&path)))?;
        if let Some(run) = self.run {
            write_record(run, self.recordings, std::slice::from_ref(&path))?;
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key_of(line: &str) -> Option<String> {
        line.split_once(' ').map(|(key, _)| key.to_owned())
    }

    #[test]
    fn a_file_that_was_cut_off_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let (path, run) = (folder.path().join("x.txt"), RunId::from_number(5));
        let mut file = LineFile::resume(&path, run, key_of).unwrap();
        for line in ["a 1\n", "b 2\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        assert!(matches!(LineFile::resume(&path, run, key_of), Err(Error::Write { .. })), "another run is writing it");
        drop(file);
        assert!(!path.exists());
        let part = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        fs::write(&part, "a 1\nb 2").unwrap();
        let mut file = LineFile::resume(&path, run, key_of).unwrap();
        assert!(file.earlier().contains("a") && file.earlier().len() == 1 && !file.is_empty());
        file.write(b"b 2\n").unwrap();
        file.write(b"c 3\n").unwrap();
        assert_eq!(file.finish().unwrap(), path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a 1\nb 2\nc 3\n");
        assert_eq!(LineFile::found(&path, run).unwrap(), Found::Complete { matrices: 3 });
        assert!(matches!(LineFile::found(&path, RunId::from_number(6)).unwrap(), Found::Other { .. }));
    }
}
