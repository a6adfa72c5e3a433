//! Slices: TensorFlow's `strided_slice` to the letter, indexes as in Python, ONNX's Slice. All of
//! them are views.
//!
//! | to write a slice | there is | which is |
//! |---|---|---|
//! | in a program | [`ix!`](crate::ix), [`IndexEntry`] | `ix![.., NewAxis, 1..5;2, ..;-1, 3]` |
//! | as text, at run time | [`IndexSpec`] | `"[:, None, 1:5:2, ::-1, 3]"` |
//! | as TensorFlow has it | [`StridedSlice`] | begin, end, strides and five [`Masks`] |
//! | as ONNX has it | [`OnnxSlice`] | starts, ends, axes and steps |
//!
//! To use a slice:
//!
//! - For reading: [`TensorView::index`](crate::TensorView::index),
//!   [`strided_slice`](crate::TensorView::strided_slice),
//!   [`onnx_slice`](crate::TensorView::onnx_slice); the same on [`Tensor`](crate::Tensor), and on
//!   [`Layout`](crate::Layout) without elements.
//! - For writing: [`TensorViewMut::index_mut`](crate::TensorViewMut::index_mut),
//!   [`strided_slice_mut`](crate::TensorViewMut::strided_slice_mut),
//!   [`strided_slice_assign`](crate::TensorViewMut::strided_slice_assign).
//! - Into existing memory:
//!   [`TensorView::strided_slice_into`](crate::TensorView::strided_slice_into).
//! - Backwards: [`TensorView::strided_slice_grad`](crate::TensorView::strided_slice_grad),
//!   [`strided_slice_grad_into`](crate::TensorView::strided_slice_grad_into).
//! - Without a tensor: [`StridedSlice::output_shape`], [`resolve`](StridedSlice::resolve),
//!   [`infer_shape`](StridedSlice::infer_shape), and [`infer_shape()`] if the slice itself is not
//!   known.
//!
//! # The meaning of an entry of `strided_slice`
//! Entry `i` is position `i` of begin, end and strides, and bit `i` of each mask. The first line
//! of this table that fits gives its meaning:
//!
//! | the bit is set in | it is | it takes | it gives | looked at |
//! |---|---|---|---|---|
//! | `ellipsis` | the ellipsis, `...` | the axes left by others, if any | these axes | nothing |
//! | `new_axis` | a new axis, `None` | no axis | an axis of size 1 | nothing |
//! | `shrink_axis` | one element, `i` | an axis | nothing | begin; that the stride is positive |
//! | none of them | a range, `begin:end:stride` | an axis | an axis of the size below | all |
//!
//! Entries take the axes of the input from the first to the last. If no entry is the ellipsis, one
//! is implied after the last. That is why an entry's axis is not its position: of a range behind
//! two new axes, behind an ellipsis, the axis depends on the rank.
//!
//! In a range over an axis of length `n`:
//!
//! ```text
//!                    forwards (stride > 0)      backwards (stride < 0)
//!   begin or end     if negative, + n, once; then cut to
//!                    0 ..= n                    -1 ..= n - 1
//!   begin masked     0                          n - 1
//!   end masked       n                          -1, which is before element 0
//!   size             ceil((end - begin) / stride), 0 if that is negative
//! ```
//!
//! One element counts from the end if it is negative, and must then be in `0..n`: it is not cut,
//! and neither end nor the masks of begin and end are looked at. Its stride must be positive, and
//! is not used.
//!
//! Where there are several errors, the error is the one that TensorFlow reports: lengths, then a
//! second ellipsis, then too many entries, then axis by axis a stride of 0, an element with a
//! negative stride, an element out of bounds.
//!
//! # Two examples, step by step
//! Both are from carter2005's article of 2020 on how `strided_slice` is computed (in Chinese),
//! whose shapes for both are right.
//!
//! The input is `[6, 3, 4, 10]`, begin `[0, 0, 2, 2]`, end `[3, 2, 4, 8]`, all strides 1,
//! `new_axis` `0b1001` and `shrink_axis` `0b0100`. First with `ellipsis` `0b1000`:
//!
//! ```
//! use tensor_strided::{Masks, SlicedAxis, StridedSlice, Tensor};
//!
//! let masks =
//!     Masks { ellipsis: 0b1000, new_axis: 0b1001, shrink_axis: 0b0100, ..Masks::default() };
//! let slice = StridedSlice::new(&[0, 0, 2, 2], &[3, 2, 4, 8], &[1, 1, 1, 1], masks)?;
//!
//! // 1. What each entry is. Entry 3 has two bits, and is the ellipsis.
//! assert_eq!(slice.to_string(), "[None, 0:2, 2, ...]");
//!
//! // 2. The axes. Entries 1 and 2 take axes 0 and 1, so two are left for the ellipsis.
//! // 3. Each range is cut to its axis.
//! assert_eq!(
//!     slice.resolve([6, 3, 4, 10])?,
//!     [
//!         SlicedAxis::New,
//!         SlicedAxis::Range { axis: 0, begin: 0, end: 2, stride: 1, len: 2 },
//!         SlicedAxis::Index { axis: 1, index: 2 },
//!         SlicedAxis::Range { axis: 2, begin: 0, end: 4, stride: 1, len: 4 },
//!         SlicedAxis::Range { axis: 3, begin: 0, end: 10, stride: 1, len: 10 },
//!     ]
//! );
//!
//! // 4. The sizes, one after the other; the single element has none.
//! assert_eq!(slice.output_shape([6, 3, 4, 10])?, [1, 2, 4, 10]);
//!
//! // 5. Where the elements lie: nothing is copied.
//! let x = Tensor::from_vec([6, 3, 4, 10], (0..720).collect::<Vec<i32>>())?;
//! let y = x.strided_slice(&slice)?;
//! assert_eq!(y.layout().offset(), 2 * 40);
//! assert_eq!(y.strides()[1..], [120, 10, 1]);
//! assert_eq!(y.to_vec(), (80..120).chain(200..240).collect::<Vec<_>>());
//! # Ok::<(), tensor_strided::Error>(())
//! ```
//!
//! Then with `ellipsis` `0b0100`, so that entry 2 is the ellipsis and not a single element, and
//! entry 3 is a new axis behind it:
//!
//! ```
//! # use tensor_strided::{Masks, SlicedAxis, StridedSlice, Tensor};
//! let masks =
//!     Masks { ellipsis: 0b0100, new_axis: 0b1001, shrink_axis: 0b0100, ..Masks::default() };
//! let slice = StridedSlice::new(&[0, 0, 2, 2], &[3, 2, 4, 8], &[1, 1, 1, 1], masks)?;
//!
//! // 1. What each entry is. Entry 2 has two bits, and is the ellipsis; its begin and end mean
//! // nothing.
//! assert_eq!(slice.to_string(), "[None, 0:2, ..., None]");
//!
//! // 2. The axes. Entry 1 takes axis 0, so three are left for the ellipsis; entry 3 comes behind
//! // them.
//! // 3. Each range is cut to its axis.
//! assert_eq!(
//!     slice.resolve([6, 3, 4, 10])?,
//!     [
//!         SlicedAxis::New,
//!         SlicedAxis::Range { axis: 0, begin: 0, end: 2, stride: 1, len: 2 },
//!         SlicedAxis::Range { axis: 1, begin: 0, end: 3, stride: 1, len: 3 },
//!         SlicedAxis::Range { axis: 2, begin: 0, end: 4, stride: 1, len: 4 },
//!         SlicedAxis::Range { axis: 3, begin: 0, end: 10, stride: 1, len: 10 },
//!         SlicedAxis::New,
//!     ]
//! );
//!
//! // 4. The sizes, one after the other.
//! assert_eq!(slice.output_shape([6, 3, 4, 10])?, [1, 2, 3, 4, 10, 1]);
//!
//! // 5. Where the elements lie: the first 240, as they are.
//! let x = Tensor::from_vec([6, 3, 4, 10], (0..720).collect::<Vec<i32>>())?;
//! assert_eq!(x.strided_slice(&slice)?.to_vec(), (0..240).collect::<Vec<_>>());
//! # Ok::<(), tensor_strided::Error>(())
//! ```
//!
//! # Where the article is inexact
//! Its table of steps, taken literally, gives TensorFlow's answer for less than half of random
//! slices. Each item has the statement of the article, and then the behaviour of TensorFlow 2.21.
//!
//! - Begin, end and strides have no more entries than the input has axes, and new axes at most
//!   double them. TensorFlow: new axes and the ellipsis do not count; 31 entries are fine for an
//!   input of one axis.
//! - The ellipsis takes its own axis and then the missing ones. TensorFlow: it takes the axes that
//!   are left, possibly none.
//! - Begin is cut to `0..=n-1`. TensorFlow: to `0..=n` forwards, to `-1..=n-1` backwards, so
//!   `x[n:]` and `x[-n-1::-1]` are empty.
//! - End is cut to `0..=n-1`. TensorFlow: to the same range as begin; otherwise `x[1:n]` would lose
//!   its last element.
//! - A masked begin is `n` backwards. TensorFlow: it is `n - 1`.
//! - A masked end is 0 backwards. TensorFlow: it is -1, so that element 0 is taken.
//! - A masked begin counts for a single element too. TensorFlow: it ignores the masks of begin and
//!   end there.
//! - A single element has its stride set to 1. TensorFlow: a stride of 0 or below is an error; any
//!   other is not used.
//! - A single element that is out of range is cut to it, and its axis has size 1. TensorFlow: that
//!   is an error, also for an axis of size 0; its axis is gone.
//! - Only the ellipsis wins over other bits of its entry. TensorFlow: a new axis also wins over a
//!   single element; the axis of size 1 stays.
//! - An axis of size 1 can only give 1. TensorFlow: an axis of the input that has size 1 can give
//!   0; a new axis cannot.
//! - Nothing about axes of size 0, for which `0..=n-1` does not exist. TensorFlow: ranges give 0,
//!   single elements are errors.
//! - Nothing about a stride of 0. TensorFlow: an error that names the axis of the input; ignored in
//!   the ellipsis and new axes.
//! - At most one bit of the ellipsis mask is set. TensorFlow: a second one is an error, even past
//!   the entries; a single one past the entries does nothing, nor do other masks there.
//! - Nothing about too many entries, scalars, lengths that differ, 32 entries. TensorFlow: errors,
//!   in the order above.
//! - Only TensorFlow has `strided_slice`. In fact, NumPy's basic indexing and ONNX's Slice do much
//!   the same.

mod apply;
mod assign;
mod entry;
mod gradient;
mod index;
mod infer;
mod onnx;
mod plan;
mod resolve;
mod text;

pub use entry::{IndexEntry, IndexInteger, IndexRange, NewAxis};
pub use index::IndexSpec;
pub use infer::infer_shape;
pub use onnx::OnnxSlice;
pub use plan::{Masks, SlicedAxis, StridedSlice};
pub use text::{ParseError, ParseErrorKind};
