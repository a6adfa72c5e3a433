//! `select-feats`: some of the columns, in any order.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::feat::select_columns;
use kaldera::matrix::Matrix;

use super::driver::map_table;
use super::{Failure, NoOptions};
use crate::Tool;

pub(super) const TOOL: Tool = Tool { name: "select-feats", about: "Select columns of features", run };

const USAGE: &str =
    "Selects columns of features: numbers from 0 and ranges, with commas between; a range may run backwards.
Usage: select-feats [options] <selection> <feats-rspecifier> <feats-wspecifier>
For example: select-feats 0,24-22,3-12 scp:feats.scp ark:selected.ark";

fn run(args: Vec<OsString>) -> ExitCode {
    super::run(TOOL.name, USAGE, &args, NoOptions, |NoOptions, [selection, input, output]| {
        let columns = columns(&selection).ok_or(Failure::Argument {
            value: selection,
            expected: "columns from 0 and ranges of them with commas between, as 0,3-5",
        })?;
        let counts = map_table(&input, &output, |_, features: Matrix<f32>| {
            Ok(Some(if features.is_empty() { features } else { select_columns(&features, &columns)? }))
        })?;
        counts.log("selected columns of", "feature matrices");
        // Kaldi's program is content with any number of them.
        Ok(true)
    })
}

/// No file has more columns than this, and a typing error should not take all memory.
const MAX_COLUMNS: usize = 1 << 24;

/// The columns that `selection` means, `None` if it means nothing.
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
