//! Lists of lists of any depth as flat memory: the ragged tensors of k2, in safe Rust and without
//! k2.
//!
//! A batch of utterances, the arcs of the states of many graphs, the n best paths of each: rows
//! that differ in length. One vector for each would scatter them; padding would fill the gaps with
//! work. Here all values are contiguous, and each level of rows is one array of their ends. Every
//! operation is then one pass over flat memory.
//!
//! ```text
//!   [ [ [ a b ] [ ] [ c ] ]   [ ]   [ [ d e f ] ] ]
//!
//!   Ragged      values         a b c d e f
//!    |- RaggedShape            lists of lists, without what they hold
//!        |- RowSplits axis 1   0 3 3 4     row 0 has the entries 0..3, row 1 none, row 2 entry 3
//!        '- RowSplits axis 2   0 2 2 3 6   entry 0 has the elements 0..2, and so on
//! ```
//!
//! ```
//! use ragged_core::{Ragged, RaggedShape};
//!
//! // The scores of three utterances' paths; the second one has none.
//! let scores = Ragged::from(vec![vec![0.5, 2.0], vec![], vec![1.0, 4.0, 3.0]]);
//! assert_eq!(scores.sum(), [2.5, 0.0, 8.0]);
//! assert_eq!(scores[2], [1.0, 4.0, 3.0]);
//!
//! // Rows 2 and 0, and where their elements come from.
//! let (picked, elements) = scores.shape().index(0, &[2, 0])?;
//! assert_eq!(picked.to_string(), "[ [ x x x ] [ x x ] ]");
//! assert_eq!(elements, [2, 3, 4, 0, 1]);
//! # Ok::<(), ragged_core::Error>(())
//! ```
//!
//! # Axes and indexes
//! Axis 0 counts the outermost rows, the last axis the elements. Documentation of k2, and here if
//! it helps, names an index by the axes that it has passed, with an x for the axes that come after:
//!
//! ```text
//!   idx0     which row on axis 0
//!   idx1     which entry of that row
//!   idx01    which entry of axis 1, counted over all rows:     row_splits(1)[idx0] + idx1
//!   idx01x   the first element of that entry, on axis 2:        row_splits(2)[idx01]
//!   idx012   which element, counted over all:                   row_splits(2)[idx01] + idx2
//! ```
//!
//! [`RaggedShape::offset`] goes down from `[idx0, idx1, idx2]` to idx012,
//! [`RaggedShape::coordinates`] back up with row ids: `idx01 = row_ids(2)[idx012]`. Results named
//! "old elements", "elements" or "map" are idx012 of the source.
//!
//! # Coming from elsewhere
//! The search of this page finds all names of k2.
//!
//! Names in k2's C++ and Python, and the names here:
//!
//! - `Ragged<T>`, in Python `RaggedTensor`: [`Ragged`].
//! - `RaggedShape2`, `Ragged(shape, values)`, in Python `create_ragged_shape2`,
//!   `RaggedTensor(shape, values)`: [`RaggedShape::new`], [`Ragged::new`].
//! - `RowSplits(axis)`, `RowIds(axis)`, in Python `row_splits(axis)`, `row_ids(axis)`:
//!   [`RaggedShape::row_splits`], [`RaggedShape::row_ids`].
//! - `shape.Index(0, i)`, in Python `shape[i]`: [`RaggedShape::index0`], without a copy
//!   [`RaggedShape::view`].
//! - `Index(src, axis, indexes, &value_indexes)`, in Python `index(axis, indexes)`:
//!   [`RaggedShape::index`].
//! - `Arange`, `Prefix`, in Python `arange`: [`RaggedShape::arange`], [`RaggedShape::prefix`].
//! - `Cat`, `Stack`, `Merge`, `Unstack`, in Python `ragged.cat`: [`RaggedShape::cat`],
//!   [`stack`](RaggedShape::stack), [`merge`](RaggedShape::merge),
//!   [`unstack`](RaggedShape::unstack).
//! - `RemoveAxis`, `Unsqueeze`, `Transpose`, in Python `remove_axis`: [`RaggedShape::remove_axis`],
//!   [`unsqueeze`](RaggedShape::unsqueeze), [`transpose`](RaggedShape::transpose).
//! - `ComposeRaggedShapes`, `DecomposeRaggedShape`, in Python `compose`: [`RaggedShape::compose`],
//!   [`RaggedShape::decompose`].
//! - `SubsetRaggedShape`, `RemoveEmptyLists`: [`RaggedShape::subset`],
//!   [`RaggedShape::remove_empty_lists`].
//! - `Renumbering`: [`Renumbering`].
//! - `SumPerSublist`, `MaxPerSublist`, `LogSumPerSublist`, in Python `sum`, `max`, `logsumexp`:
//!   [`Ragged::sum`], [`Ragged::max`], [`Ragged::logsumexp`].
//! - Their `initial_value`, in Python `initial_value=x`: [`Ragged::sum_from`],
//!   [`Ragged::max_from`], [`Ragged::logsumexp_from`].
//! - `NormalizePerSublist`, in Python `normalize(use_log)`: [`Ragged::normalize_log`],
//!   [`Ragged::normalize_linear`].
//! - `SortSublists`, `UniqueSequences`, in Python `sort_`, `unique`: [`Ragged::sort`],
//!   [`Ragged::unique`].
//! - `PadRagged`, in Python `pad`: [`Ragged::pad`].
//! - `GetDecreasingSizeOrder`: [`RaggedShape::decreasing_size_order`]; with positions for recurrent
//!   networks [`RaggedShape::packed`].
//!
//! Differences from k2: nothing sorts in place, sorting is stable, `unique` compares rows and not
//! hashes, sizes that do not fit in 32 bits are errors, and every argument is checked in release
//! builds too.
//!
//! Names in other libraries:
//!
//! - `tf.RaggedTensor` `from_row_splits`, `from_row_lengths`, `from_value_rowids`:
//!   [`RowSplits::new`], [`RowSplits::from_lengths`], [`RowSplits::from_row_ids`].
//! - `tf.gather`, `tf.concat`, `tf.stack`, `to_tensor`: [`Ragged::index`], [`Ragged::cat`],
//!   [`Ragged::stack`], [`Ragged::pad`].
//! - Arrow `ListArray`, its offsets: [`Ragged::from_list_offsets`], [`Ragged::into_list_offsets`].
//! - awkward `ListOffsetArray`, `ak.flatten`, `ak.unflatten`, `ak.num`: [`Ragged`],
//!   [`RaggedShape::remove_axis`], [`RaggedShape::compose`], [`RowSplits::len_of`].
//!
//! # Gradients
//! No graph is kept: each operation that computes has its adjoint (`sum` and
//! [`sum_grad`](Ragged::sum_grad)), and all operations that only move values share one,
//! [`moved_grad`]. If they return a map, [`index_add`] does it directly.
//!
//! # Guarantees
//! - Row splits start with 0 and never fall; no other [`RowSplits`] can be made.
//! - The elements of each layer are the rows of the next; there is one value for each element of
//!   the last.
//! - No size is above `i32::MAX`. A larger size is an [`Error`], never a wrong number.
//! - Shapes never change once made. Clones share memory, and writing to shared values copies them
//!   first.
//!
//! No input makes this crate panic, with two exceptions. An axis or a row that is out of range in
//! the queries that say so, as in indexing a slice; and more than `i32::MAX` values in `From` and
//! `collect`, which cannot return an error: [`Ragged::from_lists`] does.
//!
//! # Features
//! `rayon` (on): large work is split over threads, with the same result. `serde`: shapes and ragged
//! tensors, validated when read. `ndarray`: conversion from and to arrays.
//!
//! # Unsafe code
//! `kernels/collect.rs` sets the length of a vector after several threads have filled it. So
//! gathers on several threads need not zero the result first.
//!
//! # When not to use it
//! For rows of equal length, take `ndarray`. For lists of mixed types, or with missing values, take
//! Arrow. If rows grow one element at a time, take `Vec<Vec<_>>`, and make it ragged when it is
//! complete.

#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod convert;
mod coordinates;
mod error;
mod ids;
mod kernels;
mod packed;
mod parse_error;
mod ragged;
mod row_splits;
#[cfg(feature = "serde")]
mod serde_impl;
mod shape;
mod shape_ops;
mod step_index;
mod text;
mod value_ops;
mod view;

pub use error::Error;
pub use kaldera_base::Real;
pub use kaldera_base::buffer::Buffer;
pub use kaldera_base::simd::Int;
pub use kaldera_base::text::TextError;
pub use packed::Packed;
pub use parse_error::{ParseError, ParseErrorKind};
pub use ragged::{Ragged, RowSlices};
pub use row_splits::{RowSplits, Rows};
pub use shape::RaggedShape;
pub use shape_ops::Renumbering;
pub use text::{Numbers, TextValue};
pub use value_ops::{
    Float, Integer, Number, Order, PadMode, PadSide, Padded, Unique, index_add, index_add_rows, index_and_sum,
    index_and_sum_grad, index_select, index_select_rows, index_tensor_ragged, moved_grad,
};
pub use view::{RaggedView, RowViews};
