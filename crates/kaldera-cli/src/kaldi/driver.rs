//! What most of the programs are: one table in, one table out; bad utterances told, counted and
//! left out.

use kaldera::io::Holder;
use kaldera::io::table::{SequentialReader, TableWriter};
use tracing::info;

use crate::kaldi::Failure;

/// How many objects went well, and how many did not.
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

    /// What Kaldi's programs ask before they exit with 0.
    pub(super) fn any_done(&self) -> bool {
        self.done > 0
    }
}

/// Writes for each object of a table what `convert` makes of it, under the same key. `convert` has
/// told why where it makes nothing.
///
/// # Errors
/// What ends the run: tables that cannot be read or written, and errors of `convert`.
pub(super) fn map_table<I: Holder, O: Holder>(
    rspecifier: &str,
    wspecifier: &str,
    convert: impl FnMut(&str, I) -> Result<Option<O>, Failure>,
) -> Result<Counts, Failure> {
    let reader = SequentialReader::open(rspecifier)?;
    map_between(reader, TableWriter::open(wspecifier)?, convert)
}

/// As [`map_table`], for tables that are open: programs differ in which they open first, and so in
/// whether there is an output if the input cannot be opened.
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
