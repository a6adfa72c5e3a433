//! Identifies the run of a file of features, so that resuming never accepts a file of another
//! run.

use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use kaldi_io::rxfilename::{Rxfilename, classify};

use crate::Error;
use crate::pipeline::sink::hash::Hash;
use crate::pipeline::sink::partial::{PartialFile, folder_of, write_error};
use crate::pipeline::{Inputs, Source};

/// A hash of everything that determines the content of a file of features: the settings of the
/// extraction, and the list of recordings with their keys, sources, parts, channels, speakers and
/// the sizes of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(u128);

impl RunId {
    /// The run with these settings, a text in a form of the caller's, over `inputs`. It also
    /// depends on the version of this crate.
    ///
    /// ```
    /// use kaldera::pipeline::{Inputs, RunId};
    ///
    /// let inputs = Inputs::from_paths(["a.wav", "b.wav"])?;
    /// let run = RunId::new("fbank, 80 bins", &inputs);
    /// assert_eq!(run, RunId::new("fbank, 80 bins", &inputs));
    /// assert_ne!(run, RunId::new("fbank, 40 bins", &inputs));
    /// assert_ne!(run, RunId::new("fbank, 80 bins", &Inputs::from_paths(["a.wav"])?));
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    #[must_use]
    pub fn new(settings: &str, inputs: &Inputs) -> Self {
        let mut hash = Hash::default();
        hash.add(env!("CARGO_PKG_VERSION").as_bytes());
        hash.add(settings.as_bytes());
        hash.add_number(Some(inputs.len() as u64));
        // Neighbours are often parts of one recording.
        let mut last = (PathBuf::new(), None);
        let mut size_of = |path: &Path| {
            if last.0 != path {
                last = (path.to_owned(), fs::metadata(path).ok().map(|metadata| metadata.len()));
            }
            last.1
        };
        for utterance in inputs {
            hash.add(utterance.key.as_bytes());
            let about = (utterance.span, utterance.channel, &utterance.speaker);
            hash.add(format!("{about:?}").as_bytes());
            match &utterance.source {
                Source::File(path) => {
                    hash.add(path.as_os_str().as_encoded_bytes());
                    hash.add_number(size_of(path));
                }
                Source::Script(rxfilename) | Source::FoundScript(rxfilename) => {
                    hash.add(rxfilename.as_bytes());
                    if let Ok(Rxfilename::File { path } | Rxfilename::Offset { path, .. }) = classify(rxfilename) {
                        hash.add_number(size_of(path.as_ref()));
                    }
                }
                Source::Samples(recording) => {
                    hash.add(format!("{recording:?}").as_bytes());
                    for sample in recording.samples().iter() {
                        hash.add(&sample.to_le_bytes());
                    }
                }
                other => hash.add(other.to_string().as_bytes()),
            }
        }
        Self(hash.finish())
    }

    /// A run that also depends on the contents of these files, such as the files of a model.
    ///
    /// ```
    /// use kaldera::pipeline::{Inputs, RunId};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let weights = folder.path().join("network.safetensors");
    /// let run = RunId::new("beam 20", &Inputs::from_paths(["a.wav"])?);
    /// std::fs::write(&weights, "trained")?;
    /// let before = run.with_files([&weights])?;
    /// std::fs::write(&weights, "trained again")?;
    /// assert_ne!(run.with_files([&weights])?, before);
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Read`] for a file that cannot be read.
    pub fn with_files<P: AsRef<Path>>(self, files: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut hash = Hash::default();
        hash.add(&self.0.to_le_bytes());
        let mut part = vec![];
        for path in files {
            let path = path.as_ref();
            let unreadable = |source| Error::Read { path: path.to_owned(), source };
            let file = fs::File::open(path).map_err(unreadable)?;
            loop {
                part.clear();
                (&file).take(1 << 16).read_to_end(&mut part).map_err(unreadable)?;
                hash.add(&part);
                if part.is_empty() {
                    break;
                }
            }
        }
        Ok(Self(hash.finish()))
    }

    #[cfg(test)]
    pub(super) fn of_number(number: u128) -> Self {
        Self(number)
    }

    /// Returns `true` if a text begins with one of these and a point.
    pub(super) fn begins(text: &[u8]) -> bool {
        text.split_at_checked(32)
            .is_some_and(|(id, rest)| id.iter().all(u8::is_ascii_hexdigit) && rest.first() == Some(&b'.'))
    }
}

/// As 32 hexadecimal digits.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The state of an output; see [`FeatureFile::found`](super::FeatureFile::found).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// No file.
    Nothing,
    /// The complete output of the same run.
    Complete {
        /// Number of matrices in it: recordings that failed have none.
        matrices: u64,
    },
    /// A file that is not known to be that.
    Other {
        /// Why, as the end of a sentence that begins with the file's name.
        reason: &'static str,
    },
}

/// The file that records which run has written `path`.
///
/// It is a separate file for every format, so that the output is the same with and without
/// resuming, to the byte.
pub(super) fn record_of(path: &Path) -> PathBuf {
    path.with_added_extension("resume")
}

/// The first line of a record.
const HEAD: &str = "kaldera: what --resume compares";

/// No record is longer.
const MAX_RECORD_BYTES: u64 = 1 << 16;

/// Writes the record of the run that has written `files`, of which the first is the output.
pub(super) fn write_record(run: RunId, matrices: u64, files: &[PathBuf]) -> Result<(), Error> {
    let Some(output) = files.first() else { return Ok(()) };
    let path = record_of(output);
    let text = record(run, matrices, files).map_err(|source| write_error(&path, source))?;
    let (mut file, partial) = PartialFile::create(&path)?;
    file.write_all(text.as_bytes()).map_err(|source| write_error(&path, source))?;
    partial.finish()?;
    Ok(())
}

/// Compares an output, of which `files` are all files, with the output that `run` would write.
pub(super) fn find(run: RunId, files: &[PathBuf]) -> Result<Found, Error> {
    let Some(output) = files.first() else { return Ok(Found::Nothing) };
    let unreadable = |source| Error::Read { path: output.clone(), source };
    match fs::metadata(output) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(unreadable(error)),
        Ok(metadata) if metadata.len() == 0 => return Ok(Found::Other { reason: "is empty" }),
        Ok(_) => {}
    }
    let Ok(record_file) = fs::File::open(record_of(output)) else {
        return Ok(Found::Other { reason: "is not known to be complete" });
    };
    let mut text = String::new();
    let read = record_file.take(MAX_RECORD_BYTES).read_to_string(&mut text);
    let mut lines = text.lines();
    let run_of_file = lines.nth(1).and_then(|line| line.strip_prefix("run "));
    let matrices = lines.next().and_then(|line| line.strip_prefix("matrices ")?.parse().ok());
    let (Ok(_), Some(run_of_file), Some(matrices)) = (read, run_of_file, matrices) else {
        return Ok(Found::Other { reason: "is not known to be complete" });
    };
    if run_of_file != run.to_string() {
        return Ok(Found::Other { reason: "is of a run with other options or inputs" });
    }
    match record(run, matrices, files) {
        Ok(expected) if expected == text => Ok(Found::Complete { matrices }),
        Ok(_) => Ok(Found::Other { reason: "has been changed since it was written" }),
        Err(_) => Ok(Found::Other { reason: "has lost its index" }),
    }
}

fn record(run: RunId, matrices: u64, files: &[PathBuf]) -> io::Result<String> {
    let mut text = format!("{HEAD}\nrun {run}\nmatrices {matrices}\n");
    for file in files {
        let metadata = fs::metadata(file)?;
        let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = file.strip_prefix(folder_of(file)).unwrap_or(file);
        let (seconds, nanoseconds) = (since.as_secs(), since.subsec_nanos());
        let _ = writeln!(text, "file {} bytes, of {seconds}.{nanoseconds:09}: {}", metadata.len(), name.display());
    }
    Ok(text)
}
