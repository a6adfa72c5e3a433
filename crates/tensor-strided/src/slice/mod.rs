//! Slices: TensorFlow's `strided_slice`, indexes as in Python, ONNX's Slice. All of them are views.

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
