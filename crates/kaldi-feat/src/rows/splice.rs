//! Splicing of each frame with its neighbours.

use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::error::Error;
use crate::rows::window::RowWindow;
use crate::sealed::Sealed;

/// Joins each row with the `left` rows before it and the `right` rows after it to one long row.
#[derive(Debug, Clone)]
pub struct Splice {
    left: usize,
    right: usize,
}

impl Splice {
    /// The largest number of rows on a side: 11 minutes of frames of 10 ms. More would be a mistake
    /// that takes all memory.
    pub const MAX_CONTEXT: usize = 1 << 16;

    /// Creates a splice of `left_context` rows before a row and `right_context` rows after it.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a negative number, or a number above
    /// [`MAX_CONTEXT`](Self::MAX_CONTEXT).
    pub fn new(left_context: i32, right_context: i32) -> Result<Self, Error> {
        let context = |option, value: i32| {
            let frames = usize::try_from(value).ok().filter(|&frames| frames <= Self::MAX_CONTEXT);
            frames.ok_or_else(|| {
                Error::bad_option(option, value, format!("a number of frames from 0 to {}", Self::MAX_CONTEXT))
            })
        };
        Ok(Self { left: context("left_context", left_context)?, right: context("right_context", right_context)? })
    }
}

impl Sealed for Splice {}

impl RowWindow for Splice {
    fn left_context(&self) -> usize {
        self.left
    }

    fn right_context(&self) -> usize {
        self.right
    }

    fn output_dim(&self, dim: usize) -> usize {
        dim.saturating_mul(self.left + 1 + self.right)
    }

    fn write_row<'a>(&self, row: impl Fn(isize) -> &'a [f32], out: &mut [f32]) {
        for (at, to) in (-self.left.cast_signed()..).zip(out.chunks_exact_mut(row(0).len().max(1))) {
            to.copy_from_slice(row(at));
        }
    }
}

/// Joins each row with its neighbours: [`Splice`] in one call.
///
/// ```
/// use kaldi_matrix::Matrix;
///
/// let features = Matrix::from_vec(3, 1, vec![1.0, 2.0, 3.0])?;
/// let spliced = kaldi_feat::splice_frames(&features, 1, 1)?;
/// assert_eq!(spliced.data(), [1.0, 1.0, 2.0, /**/ 1.0, 2.0, 3.0, /**/ 2.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// For a negative context or one above [`Splice::MAX_CONTEXT`], and for a result that is more than
/// memory can hold.
#[doc(alias = "SpliceFrames")]
pub fn splice_frames(
    features: &MatrixBase<impl Storage<Elem = f32>>,
    left_context: i32,
    right_context: i32,
) -> Result<Matrix<f32>, Error> {
    Splice::new(left_context, right_context)?.compute(features.view())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_results_beyond_memory_are_refused() {
        assert!(Splice::new(65_536, 65_536).is_ok());
        for (left, right) in [(-1, 0), (65_537, 0), (0, i32::MAX)] {
            assert!(matches!(Splice::new(left, right), Err(Error::BadOption { .. })), "{left} {right}");
        }
        let too_large = crate::rows::window::zeros(1 << 40, 1 << 20);
        assert!(matches!(too_large, Err(Error::TooLarge { .. })));
    }
}
