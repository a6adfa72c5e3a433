//! N-d arrays with any strides: views that copy nothing, TensorFlow's `strided_slice` to the
//! letter, and fast copies.
//!
//! A tensor is flat memory and a [`Layout`]: the length of each axis, the distance between its
//! entries, and the position of the first one. Slicing, permuting, reversing, repeating and
//! cutting into frames only write another layout. The rank is chosen at run time. Layouts of up
//! to eight axes do not allocate.
//!
//! ```text
//!   buffer   0 1 2 3 4 5 6 7 8 9 10 11
//!
//!                          shape     strides     offset
//!   x                      [3, 4]    [ 4,  1]    0        0 1 2 3 | 4 5 6 7 | 8 9 10 11
//!   x.transpose()          [4, 3]    [ 1,  4]    0        0 4 8 | 1 5 9 | ..
//!   x.flip(1)              [3, 4]    [ 4, -1]    3        3 2 1 0 | 7 6 5 4 | ..
//!   x.index(ix![1.., 2])   [2]       [ 4]        6        6 10
//!   x.windows(1, 2, 1)     [3,3,2]   [4, 1, 1]   0        0 1, 1 2, 2 3 | 4 5, 5 6, 6 7 | ..
//!
//!   Layout                  shape, strides, offset
//!    |- Tensor<T>           with shared memory that is copied on writing
//!    |- TensorView<'a, T>   with borrowed memory
//!    '- TensorViewMut<'a, T>    ... for writing: no two coordinates are the same element
//! ```
//!
//! ```
//! use tensor_strided::{Tensor, ix};
//!
//! // Half a second at 16 kHz in frames of 25 ms, one every 10 ms, without copying a sample.
//! let samples = Tensor::arange(0.0, 8000.0, 1.0)?;
//! let frames = samples.windows(0, 400, 160)?;
//! assert_eq!(frames.shape(), [48, 400]);
//!
//! // Every third frame, backwards in time; then into memory of its own, with a window applied.
//! let picked = frames.index(ix![..;-3, ..])?;
//! let window = Tensor::full([400], 0.5)?;
//! let weighted = picked.zip_map(&window.view(), |x, w| x * w)?;
//! assert_eq!(weighted.shape(), [16, 400]);
//! assert_eq!(weighted[[0, 1]], 0.5 * (47.0 * 160.0 + 1.0));
//!
//! // The example of an article about N-d arrays in C: shape [3, 4, 5, 6], element [2, 2, 2, 3]
//! // is number 315.
//! let x = Tensor::arange(0_i64, 360, 1)?.into_shape([3, 4, 5, 6])?;
//! assert_eq!(x.strides(), [120, 30, 6, 1]);
//! assert_eq!(x[[2, 2, 2, 3]], 315);
//! # Ok::<(), tensor_strided::Error>(())
//! ```
//!
//! # Slices
//! There are three ways to write a slice, and each gives a view: TensorFlow's [`StridedSlice`]
//! with its five masks, Python's brackets as the macro [`ix!`] or as text in an [`IndexSpec`],
//! and ONNX's [`OnnxSlice`]. The module [`slice`](mod@slice) is their guide.
//!
//! # Coming from elsewhere
//! Names of NumPy, TensorFlow, PyTorch and ndarray lead here in the search of this page.
//!
//! | NumPy | here |
//! |---|---|
//! | `a[1:5:2, ..., None]` | `a.index(ix![1..5;2, ..., NewAxis])`: [`TensorView::index`] |
//! | the same for writing, or as text | [`TensorViewMut::index_mut`], [`Tensor::slice`] |
//! | `a[1, 2]` | `a[(1, 2)]`, `a[[1, 2]]`: [`Coordinate`] |
//! | `np.array([[1, 2], [3, 4]])` | `Tensor::from([[1, 2], [3, 4]])` |
//! | `np.array(list)` | `Tensor::from(vec)`, [`Tensor::from_vec`] |
//! | `a[ix] = value` | `a.view_mut().index_mut(ix)?.assign(&value)`: [`TensorViewMut::assign`] |
//! | `a.reshape(2, -1)`, `a.ravel()` | [`Tensor::reshape`], [`Tensor::ravel`]: a view if possible |
//! | `a.reshape(.., order='F')` | [`Tensor::reshape_order`] with [`Order::F`]: a view if possible |
//! | `a.transpose(..)`, `a.T` | [`Tensor::permute`], [`Tensor::transpose`] |
//! | `swapaxes`, `flip` | [`Tensor::swap_axes`], [`Tensor::flip`] |
//! | `squeeze`, `expand_dims` | [`Tensor::squeeze`], [`Tensor::expand`] |
//! | `diagonal` | [`Tensor::diagonal`] |
//! | `broadcast_to`, `broadcast_shapes` | [`Tensor::broadcast_to`], [`broadcast_shapes`] |
//! | `lib.stride_tricks.sliding_window_view` | [`Tensor::windows`] (with a hop) |
//! | `lib.stride_tricks.as_strided` | [`TensorView::new`] with [`Layout::new`] (checked) |
//! | `concatenate`, `stack`, `tile` | [`concat()`], [`stack`], [`TensorView::tile`] |
//! | `zeros`, `ones`, `full` | [`Tensor::zeros`], [`Tensor::ones`], [`Tensor::full`] |
//! | `arange`, `fromfunction` | [`Tensor::arange`], [`Tensor::from_fn`] |
//! | `ascontiguousarray`, `copyto` | [`TensorView::to_contiguous`], [`TensorViewMut::assign`] |
//! | `ravel_multi_index` | [`Grid::offset_with`]; for many, [`Grid::offsets`] |
//! | `unravel_index` | [`Grid::coordinate_of`]; for many, [`Grid::coordinates`] |
//! | their `mode=` | [`Mode`] |
//! | `a.flags.c_contiguous`, `f_contiguous` | [`Layout::is_contiguous`], [`Layout::is_fortran`] |
//! | `np.load`, `np.save` | [`Tensor::load_npy`], [`Tensor::save_npy`] |
//!
//! | TensorFlow | here |
//! |---|---|
//! | `tf.strided_slice` with masks | [`Tensor::strided_slice`] with a [`StridedSlice`] |
//! | its shape function | [`infer_shape`](fn@infer_shape), with unknown lengths as `None` |
//! | `StridedSliceGrad` | [`TensorView::strided_slice_grad`] |
//! | `TensorStridedSliceUpdate`, `var[...].assign` | [`Tensor::strided_slice_assign`] |
//! | `tf.transpose`, `tf.reverse` | [`Tensor::permute`], [`Tensor::flip`] |
//! | `tf.concat`, `tf.stack` | [`concat()`], [`stack`] |
//! | `tf.signal.frame` | [`Tensor::windows`] |
//!
//! | PyTorch | here |
//! |---|---|
//! | `view`, `reshape` | [`TensorView::reshape_view`], [`Tensor::reshape`] |
//! | `contiguous` | [`TensorView::to_contiguous`] |
//! | `permute`, `unsqueeze` | [`Tensor::permute`], [`Tensor::expand`] |
//! | `expand`, `unfold` | [`Tensor::broadcast_to`], [`Tensor::windows`] |
//! | `select`, `narrow` | [`Tensor::index_axis`], [`Tensor::narrow`] |
//! | `split`, `unbind` | [`TensorView::axis_chunks`], [`TensorView::axis_iter`] |
//! | `x.copy_(y)`, `cat` | [`TensorViewMut::assign`], [`concat()`] |
//!
//! | ndarray | here |
//! |---|---|
//! | `ArrayD`, `ArrayViewD`, `ArrayViewMutD` | [`Tensor`], [`TensorView`], [`TensorViewMut`] |
//! | conversion | `From` both ways without copying (feature `ndarray`) |
//! | `s![1..5;-1]` (cut, then reversed) | `ix![4..0;-1]` |
//! | nothing | `ix![1..5;-1]`, which is empty as in Python (from 1 down) |
//! | `slice` panics out of bounds | [`TensorView::index`] cuts ranges, and returns errors |
//! | `invert_axis`, `permuted_axes` | [`Tensor::flip`], [`Tensor::permute`] |
//! | `insert_axis` | [`Tensor::expand`] |
//! | `lanes`, `outer_iter` | [`TensorView::lanes`], [`TensorView::axis_iter`] |
//! | `axis_chunks_iter` | [`TensorView::axis_chunks`] |
//! | `mapv`, `Zip` | [`Tensor::map`], [`TensorView::zip_map`] |
//! | `zip_mut_with` | [`TensorViewMut::zip_apply`] |
//!
//! # Invariants
//! - Every element that a view names is in the memory that it borrows. This is checked when the
//!   view is made, and again whenever its layout changes.
//! - No two coordinates of a [`TensorViewMut`] or a [`Tensor`] are the same element.
//! - The number of elements and all distances fit in an `isize`; a shape for which they would not
//!   is an [`Error`].
//! - Serial and parallel copies give the same result.
//!
//! The only inputs that make this crate panic are coordinates in brackets (`x[[1, 2]]`) that are
//! out of range, as in slices.
//!
//! # Unsafe code
//! Two private modules have it: `raw`, a pointer with a layout behind the views, because the gaps
//! between a view's elements may belong to others, so that no slice may span them; and `copy`, the
//! kernels. So arrays of `ndarray` with gaps and negative strides become views without a copy.
//! Kaldera's `benches/README.md` has the times of slices and copies.
//!
//! # Features
//! `rayon` (on): large copies are split over threads, with the same result. `ndarray`: conversion
//! from and to arrays.
//!
//! # When not to use it
//! For linear algebra, take `kaldi-matrix`, `faer` or `ndarray`; the only arithmetic here is in
//! the closures passed to [`TensorView::map`] and [`TensorView::zip_map`]. For lists of different
//! lengths, take `ragged-core`. If the rank is known at compile time and no axis runs backwards,
//! ndarray's `Array2` and its kin index faster.

#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "ndarray")]
mod array;
mod coordinate;
mod coordinates;
#[expect(unsafe_code, reason = "kernels that walk strides with pointers")]
mod copy;
mod create;
mod dims;
mod element;
mod elements;
mod error;
mod join;
mod layout;
mod layout_ops;
pub mod npy;
#[expect(
    unsafe_code,
    reason = "a pointer and a layout, for what no slice can be: views with gaps that belong to others"
)]
mod raw;
mod reshape;
pub mod slice;
mod tensor;
mod text;
mod view;
mod view_ops;

pub use coordinate::Coordinate;
pub use coordinates::{Grid, Mode};
pub use create::Arange;
pub use dims::{Dims, Shape, Strides};
pub use element::Element;
pub use elements::{AxisIter, AxisIterMut, Elements, ElementsMut};
pub use error::Error;
pub use join::{concat, concat_into, stack, stack_into};
pub use kaldera_base::buffer::Buffer;
pub use kaldera_base::text::TextError;
pub use layout::{Layout, Order};
pub use layout_ops::broadcast_shapes;
pub use raw::{Lane, LaneIter, LaneIterMut, LaneMut, Lanes, LanesMut};
pub use reshape::TensorCow;
pub use slice::{
    IndexEntry, IndexInteger, IndexRange, IndexSpec, Masks, NewAxis, OnnxSlice, ParseError, ParseErrorKind, SlicedAxis,
    StridedSlice, infer_shape,
};
pub use tensor::Tensor;
pub use view::{TensorView, TensorViewMut};
