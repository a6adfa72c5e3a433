//! ONNX's way to write a slice: starts, ends, axes and steps, with its own way of cutting them to
//! the axis.

use crate::dims::{Dims, Shape};
use crate::error::Error;
use crate::layout::Layout;
use crate::slice::entry::IndexInteger;
use crate::slice::resolve::{Picked, cut, pick, signed};

/// The operator Slice of ONNX (version 13, the same in 10 and 11), as a plan to be applied to any
/// number of tensors.
///
/// It has no masks, only ranges for the named axes, or for the first ones; the others stay whole.
/// It differs from Python and TensorFlow if a range goes backwards: the start is cut to `0..=n -
/// 1`, so a start before the first element is the first element, where theirs picks none. "As far
/// as it goes" is written `i64::MAX` forwards and `i64::MIN` backwards, or the same of 32 bits.
///
/// ```
/// use tensor_strided::{OnnxSlice, Tensor, ix};
///
/// let x = Tensor::from_vec([3, 4], (0..12).collect::<Vec<i32>>())?;
/// let slice = OnnxSlice::new(&[i64::MAX, 1], &[i64::MIN, 3], Some(&[-1, 0]), Some(&[-2, 1]))?;
/// assert_eq!(x.onnx_slice(&slice)?.to_vec(), [7, 5, 11, 9]);
///
/// let slice = OnnxSlice::new(&[-9], &[-99], Some(&[1]), Some(&[-1]))?;
/// assert_eq!(slice.output_shape([3, 4])?, [3, 1]);
/// assert_eq!(x.index(ix![.., -9..-99;-1])?.shape(), &[3, 0]);
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "Slice")]
pub struct OnnxSlice {
    starts: Dims<i64>,
    ends: Dims<i64>,
    axes: Dims<i64>,
    steps: Dims<i64>,
}

impl OnnxSlice {
    /// The operator's inputs. Left out, `axes` are the first ones and `steps` are 1, as in ONNX.
    ///
    /// # Errors
    /// [`Error::OnnxLengths`] if the lists differ in length.
    pub fn new<I: IndexInteger>(
        starts: &[I],
        ends: &[I],
        axes: Option<&[I]>,
        steps: Option<&[I]>,
    ) -> Result<Self, Error> {
        let len = starts.len();
        let (num_axes, num_steps) = (axes.map_or(len, <[I]>::len), steps.map_or(len, <[I]>::len));
        if [ends.len(), num_axes, num_steps] != [len; 3] {
            return Err(Error::OnnxLengths { starts: len, ends: ends.len(), axes: num_axes, steps: num_steps });
        }
        Ok(Self {
            starts: Dims::widened(starts),
            ends: Dims::widened(ends),
            axes: axes.map_or_else(|| (0_i64..).take(len).collect(), Dims::widened),
            steps: steps.map_or_else(|| Dims::filled(1, len), Dims::widened),
        })
    }

    /// The shape of the result for an input of this shape.
    ///
    /// # Errors
    /// - [`Error::Axis`] if an axis is not in `-rank..rank`, [`Error::RepeatedAxis`] if one
    ///   is named twice, which ONNX leaves undefined;
    /// - [`Error::ZeroStride`].
    pub fn output_shape(&self, input: impl AsRef<[usize]>) -> Result<Shape, Error> {
        let input = input.as_ref();
        let picked = self.picked(input)?;
        Ok(picked.iter().zip(input).map(|(picked, &n)| picked.map_or(n, |picked| picked.len)).collect())
    }

    /// Makes `layout` the layout of the elements picked from `input`.
    pub(super) fn slice_from(&self, input: &Layout, layout: &mut Layout) -> Result<(), Error> {
        let picked = self.picked(input.shape())?;
        layout.pick_from(input, input.rank(), |picker| {
            for picked in &picked {
                match *picked {
                    Some(Picked { first, step, len }) => picker.range(first, step, len),
                    None => picker.keep(),
                }
            }
            Ok(())
        })
    }

    /// The elements picked of each axis, `None` for all of them.
    fn picked(&self, input: &[usize]) -> Result<Dims<Option<Picked>>, Error> {
        let mut picked = Dims::filled(None, input.len());
        for (at, &given) in self.axes.iter().enumerate() {
            let (axis, step) = (axis_of(given, input.len())?, self.steps[at]);
            if picked[axis].is_some() {
                return Err(Error::RepeatedAxis { axis });
            }
            if step == 0 {
                return Err(Error::ZeroStride { axis });
            }
            let (begin, end) = cut(input[axis], Some(self.starts[at]), Some(self.ends[at]), step);
            // Backwards, ONNX cuts the start to `0..=n - 1`, where there is such a number.
            let begin = if input[axis] == 0 { begin } else { begin.max(0) };
            picked[axis] = Some(pick(begin, end, step));
        }
        Ok(picked)
    }
}

/// An axis counted from the front; a negative one counts from the end.
fn axis_of(given: i64, rank: usize) -> Result<usize, Error> {
    match usize::try_from(if given < 0 { given + signed(rank) } else { given }) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(Error::Axis { axis: given, rank }),
    }
}
