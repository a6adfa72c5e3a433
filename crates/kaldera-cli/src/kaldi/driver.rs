//! Driver of most programs: one table in, one table out. Bad utterances are logged, counted and
//! left out.

use kaldera::io::Holder;
use kaldera::io::table::{SequentialReader, TableWriter};
use tracing::info;

use crate::kaldi::Failure;

/// Number of objects that succeeded, and that failed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) done: u64,
    pub(super) failed: u64,
}

impl Counts {
    /// Logs the end of a run, as in `deltas added to 3 feature matrices; 1 left out`.
    pub(super) fn log(&self, what: &str, objects: &str) {
        info!("{what} {} {objects}; {} left out", self.done, self.failed);
    }

    /// Returns `true` if any object succeeded, the condition for exit status 0 of Kaldi's programs.
    pub(super) fn any_done(&self) -> bool {
        self.done > 0
    }
}

/// Converts each object of a table with `convert` and writes it under the same key. If `convert`
/// returns `None`, it has logged the reason.
///
/// # Errors
/// Returns an error for tables that cannot be read or written, and errors of `convert`.
pub(super) fn map_table<I: Holder, O: Holder>(
    rspecifier: &str,
    wspecifier: &str,
    convert: impl FnMut(&str, I) -> Result<Option<O>, Failure>,
) -> Result<Counts, Failure> {
    let reader = SequentialReader::open(rspecifier)?;
    map_between(reader, TableWriter::open(wspecifier)?, convert)
}

/// Like [`map_table`], for tables that are open. Programs differ in the table that they open first.
/// This decides if there is an output when the input cannot be opened.
pub(super) fn map_between<I: Holder, O: Holder>(
    reader: SequentialReader<I>,
    mut writer: TableWriter<O>,
    mut convert: impl FnMut(&str, I) -> Result<Option<O>, Failure>,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    for entry in reader {
        let (key, object) = entry?;
        match convert(&key, object)? {
            Some(converted) => {
                writer.write(&key, &converted)?;
                counts.done += 1;
            }
            None => counts.failed += 1,
        }
    }
    writer.close()?;
    Ok(counts)
}
