//! N-d arrays with any strides: views that copy nothing, TensorFlow's `strided_slice` to the letter, and fast copies.

#![deny(unsafe_code)]

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

pub use coordinates::{Grid, Mode};
pub use create::Arange;
pub use dims::{Dims, Shape, Strides};
pub use element::Element;
pub use elements::{AxisIter, AxisIterMut, Elements, ElementsMut};
pub use error::Error;
pub use join::{concat, concat_into, stack, stack_into};
pub use layout::{Layout, Order};
pub use layout_ops::{Length, broadcast_shapes};
pub use raw::{Lane, LaneIter, LaneIterMut, LaneMut, Lanes, LanesMut};
pub use reshape::TensorCow;
pub use slice::{
    IndexEntry, IndexInteger, IndexRange, IndexSpec, Masks, NewAxis, OnnxSlice, ParseError, ParseErrorKind, SlicedAxis,
    StridedSlice, infer_shape,
};
pub use tensor::Tensor;
pub use view::{TensorView, TensorViewMut};
