//! Loops over the rows of flat values, without shapes: the speed depends on them.
//!
//! Each takes the splits of some rows, whose offsets count from the first value of all, and so
//! works on any part of a tensor. They use [`kaldera_base::simd`]. Rows are mostly short (ten
//! values or so), and their main costs are mispredicted branches and memory that the processor does
//! not prefetch. So the first vectors of each row are read through masks, whatever its length, and
//! the data after them is prefetched.

#[expect(unsafe_code, reason = "several threads fill one vector, whose length is set once they have")]
mod collect;
mod divide;
mod exp;
mod follow;
mod integers;
mod map;
mod pick;
mod reduce;
mod rows;
mod sort;

pub(crate) use collect::{collect, collect_rows};
pub(crate) use divide::{over_each_row, over_rows, over_values, over_values_by};
pub(crate) use exp::{ExpKernels, Normal, blocks};
pub(crate) use follow::{Run, follow, follow_slices};
pub(crate) use integers::{and_rows, or_rows};
pub(crate) use map::{combine_rows, grow_rows, repeat_rows, scan_rows, share_rows};
pub(crate) use pick::{check_indexes, picked, prefetch_upcoming, upcoming};
pub(crate) use reduce::RowKernels;
pub(crate) use rows::rows_of;
pub(crate) use sort::sort_rows_with_map;
