//! Records of the runs that have written files, for resuming.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::Error;
use crate::pipeline::sink::durability::names::folder_of;
use crate::pipeline::sink::durability::partial::{PartialFile, write_error};
use crate::pipeline::sink::durability::run_id::RunId;

/// The state of an output; see [`FeatureFile::found`](crate::pipeline::FeatureFile::found).
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
pub(in crate::pipeline::sink) fn record_of(path: &Path) -> PathBuf {
    path.with_added_extension("resume")
}

/// The first line of a record.
const HEAD: &str = "kaldera: what --resume compares";

/// No record is longer.
const MAX_RECORD_BYTES: u64 = 1 << 16;

/// Writes the record of the run that has written `files`, of which the first is the output.
pub(in crate::pipeline::sink) fn write_record(run: RunId, matrices: u64, files: &[PathBuf]) -> Result<(), Error> {
    let Some(output) = files.first() else { return Ok(()) };
    let path = record_of(output);
    let text = record(run, matrices, files).map_err(|source| write_error(&path, source))?;
    let mut file = PartialFile::create(&path)?;
    file.write_all(text.as_bytes()).map_err(|source| write_error(&path, source))?;
    file.finish()?;
    Ok(())
}

/// Compares an output, of which `files` are all files, with the output that `run` would write.
pub(in crate::pipeline::sink) fn find(run: RunId, files: &[PathBuf]) -> Result<Found, Error> {
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
