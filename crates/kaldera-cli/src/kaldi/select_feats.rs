//! `select-feats`: some of the columns, in any order.

use std::iter;
use std::process::ExitCode;

use kaldera::feat::{Error, select_columns};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::{info, warn};

use crate::kaldi::{Failure, NoOptions};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "select-feats", about: "Select columns of features", run };

const USAGE: &str =
    "Selects columns of features: numbers from 0 and ranges, separated by commas; a range may be descending.
Usage: select-feats [options] <selection> <feats-rspecifier> <feats-wspecifier>
For example: select-feats 0,24-22,3-12 scp:feats.scp ark:selected.ark";

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, NoOptions, |NoOptions, [selection, input, output]| {
        let columns = columns(&selection).ok_or(Failure::Argument {
            value: selection,
            expected: "columns from 0 and ranges of them with commas between, as 0,3-5",
        })?;
        let mut reader = SequentialReader::<Matrix<f32>>::open(&input)?;
        let Some(first) = reader.next().transpose()? else {
            warn!("there are no features in {input}, so there is no output");
            return Ok(true);
        };
        // No output is created either if the first features lack the columns.
        let dim = first.1.num_cols();
        if let Some(&column) = columns.iter().find(|&&column| column >= dim) {
            return Err(Error::BadColumn { column, dim }.into());
        }
        let mut writer = TableWriter::open(&output)?;
        let mut selected = 0_u64;
        for entry in iter::once(Ok(first)).chain(reader) {
            let (key, features) = entry?;
            let features = if features.is_empty() { features } else { select_columns(&features, &columns)? };
            writer.write(&key, &features)?;
            selected += 1;
        }
        writer.close()?;
        info!("selected columns of {selected} feature matrices");
        // Kaldi's program succeeds with any number of them.
        Ok(true)
    })
}

/// Maximum number of columns. No file has more, and a typing error should not use all memory.
const MAX_COLUMNS: usize = 1 << 24;

/// Parses `selection` as columns; returns `None` if it is invalid.
///
/// Kaldi truncates the first number of a range to as many digits as the last one has, so that it
/// reads `10-8` as `1-8`. Here the range is taken as written.
fn columns(selection: &str) -> Option<Vec<usize>> {
    let mut columns = Vec::new();
    for part in selection.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if columns.len().checked_add(first.abs_diff(last))? >= MAX_COLUMNS {
            return None;
        }
        if first <= last { columns.extend(first..=last) } else { columns.extend((last..=first).rev()) }
    }
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_numbers_and_ranges_in_any_order() {
        assert_eq!(columns("0,2-4,12").unwrap(), [0, 2, 3, 4, 12]);
        assert_eq!(columns("10-8, 3,3").unwrap(), [10, 9, 8, 3, 3]);
        for wrong in ["", "1,", "a", "1-", "-1", "1-2-3", "0-99999999999"] {
            assert_eq!(columns(wrong), None, "{wrong}");
        }
    }
}
