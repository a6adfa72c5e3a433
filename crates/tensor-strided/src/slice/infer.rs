//! Shapes before all lengths are known: TensorFlow's shape function.

use crate::dims::Dims;
use crate::error::Error;
use crate::slice::entry::IndexInteger;
use crate::slice::plan::{Masks, StridedSlice};
use crate::slice::resolve::{Entry, check_index_stride, index, range, visit_axes};

impl StridedSlice {
    /// The shape of the result where lengths of axes are unknown, `None`; for graphs that are not
    /// run yet.
    ///
    /// An unknown axis stays unknown, or goes if one element is taken of it; a known axis has the
    /// length that [`output_shape`](Self::output_shape) returns. [`infer_shape`] is for slices
    /// that are themselves unknown.
    ///
    /// ```
    /// use tensor_strided::{StridedSlice, ix};
    ///
    /// let slice = StridedSlice::from_index(ix![-1, 1..4, .., ..;2])?;
    /// assert_eq!(slice.infer_shape([None, Some(3), None, Some(5)])?, [Some(2), None, Some(3)]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`output_shape`](Self::output_shape). On unknown axes, as in TensorFlow,
    /// only a stride of 0 is an error.
    pub fn infer_shape(&self, input: impl AsRef<[Option<usize>]>) -> Result<Dims<Option<usize>>, Error> {
        infer(self, input.as_ref(), true)
    }
}

/// The shape of the result if lengths of axes, or `begin` or `end` as a whole, are unknown:
/// TensorFlow's shape function.
///
/// If `begin` or `end` is unknown, a range has a known length only if the masks make it the whole
/// axis, and no index is out of bounds. TensorFlow also leaves such a range unknown if its axis
/// is known to have length 0; here it is known to be 0.
///
/// ```
/// use tensor_strided::{Masks, infer_shape};
///
/// // x[i, :, j:] where only the run will tell i and j.
/// let masks = Masks { begin: 0b010, end: 0b110, shrink_axis: 0b001, ..Masks::default() };
/// let shape =
///     infer_shape([Some(7), Some(6), Some(5), None], None::<&[i32]>, None, &[1, 1, 1], masks)?;
/// assert_eq!(shape, [Some(6), None, None]);
/// # Ok::<(), tensor_strided::Error>(())
/// ```
///
/// # Errors
/// The errors of [`StridedSlice::new`] and [`StridedSlice::infer_shape`]. An unknown begin or end
/// counts as long as `strides`.
pub fn infer_shape<I: IndexInteger>(
    input: impl AsRef<[Option<usize>]>,
    begin: Option<&[I]>,
    end: Option<&[I]>,
    strides: &[I],
    masks: Masks,
) -> Result<Dims<Option<usize>>, Error> {
    let known = begin.is_some() && end.is_some();
    // The numbers that stand in for unknown ones are not read.
    let slice = StridedSlice::new(begin.unwrap_or(strides), end.unwrap_or(strides), strides, masks)?;
    infer(&slice, input.as_ref(), known)
}

/// `known`: whether begin and end of the slice are to be looked at.
fn infer(slice: &StridedSlice, input: &[Option<usize>], known: bool) -> Result<Dims<Option<usize>>, Error> {
    let mut shape = Dims::new();
    visit_axes(slice, input.len(), |axis, entry| {
        match (entry, input.get(axis).copied().flatten()) {
            (Entry::NewAxis, _) => shape.push(Some(1)),
            (Entry::Ellipsis, n) => shape.push(n),
            (Entry::Index { stride: 0, .. } | Entry::Range { stride: 0, .. }, _) => {
                return Err(Error::ZeroStride { axis });
            }
            (Entry::Index { .. }, None) => {}
            (Entry::Index { index: given, stride }, Some(n)) if known => _ = index(axis, n, given, stride)?,
            (Entry::Index { stride, .. }, Some(_)) => check_index_stride(axis, stride)?,
            (Entry::Range { begin: None, end: None, stride }, Some(n)) => {
                shape.push(Some(range(axis, n, None, None, stride)?.len));
            }
            (Entry::Range { begin, end, stride }, Some(n)) if known => {
                shape.push(Some(range(axis, n, begin, end, stride)?.len));
            }
            (Entry::Range { .. }, _) => shape.push(None),
        }
        Ok(())
    })?;
    Ok(shape)
}
