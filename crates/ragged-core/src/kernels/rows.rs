//! Rows as ranges.

use std::ops::Range;

/// Returns the rows between splits.
#[inline(always)]
pub(crate) fn rows_of(splits: &[i32]) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    splits.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
}
