//! The step of each entry of the rows of an axis.

use std::sync::OnceLock;

use crate::row_splits::RowSplits;

/// The data that [`Packed`](crate::packed::Packed) computes once for a layer.
#[derive(Debug)]
pub(crate) struct StepIndex {
    pub(crate) ranks: Vec<i32>,
    pub(crate) step_offsets: Vec<i32>,
    pub(crate) entries: OnceLock<Vec<i32>>,
    pub(crate) positions: OnceLock<Vec<i32>>,
    pub(crate) reversed_entries: OnceLock<Vec<i32>>,
    pub(crate) reversed_positions: OnceLock<Vec<i32>>,
}

impl StepIndex {
    /// Creates the index for rows in `order`, longest first.
    pub(crate) fn new(splits: &RowSplits, order: &[i32]) -> Self {
        let mut ranks = vec![0; order.len()];
        for (rank, &row) in (0..).zip(order) {
            ranks[row as usize] = rank;
        }
        let steps = order.first().map_or(0, |&longest| splits.len_of(longest as usize));
        let mut step_offsets = Vec::with_capacity(steps + 1);
        let (mut end, mut active) = (0, order.len());
        step_offsets.push(end);
        for step in 0..steps {
            while splits.len_of(order[active - 1] as usize) <= step {
                active -= 1;
            }
            // At most the number of elements.
            end += active as i32;
            step_offsets.push(end);
        }
        let [entries, positions, reversed_entries, reversed_positions] = [const { OnceLock::new() }; 4];
        Self { ranks, step_offsets, entries, positions, reversed_entries, reversed_positions }
    }
}
