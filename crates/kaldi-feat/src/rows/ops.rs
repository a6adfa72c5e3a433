//! Operations that select, repeat, shift and join rows and columns of features.

use kaldi_matrix::{Matrix, MatrixBase, Storage, SubMatrix};

use crate::error::Error;
use crate::rows::window::zeros;

/// Returns every `n`-th row from row `offset` on; for a negative `n`, each row `-n` times.
///
/// # Errors
/// [`Error::BadOption`] for an `n` of 0, a negative offset, or any offset with a negative `n`.
#[doc(alias = "subsample-feats")]
pub fn subsample_frames(
    features: &MatrixBase<impl Storage<Elem = f32>>,
    n: i32,
    offset: i32,
) -> Result<Matrix<f32>, Error> {
    let first = usize::try_from(offset).map_err(|_| Error::bad_option("offset", offset, "0 or more"))?;
    let (rows, step) = (features.num_rows(), n.unsigned_abs() as usize);
    if n == 0 {
        return Err(Error::bad_option("n", n, "above 0, or below to repeat frames"));
    }
    if n > 0 {
        let kept = rows.saturating_sub(first).div_ceil(step);
        return pick(features, kept, |i| first + i * step);
    }
    if first != 0 {
        return Err(Error::bad_option("offset", offset, "0 where `n` is negative"));
    }
    pick(features, rows.saturating_mul(step), |i| i / step)
}

/// Moves the rows down by `shift`, or up if it is negative: row r of the result is row r - `shift`,
/// or the first or last row if there is none.
#[doc(alias = "shift-feats")]
pub fn shift_frames(features: &MatrixBase<impl Storage<Elem = f32>>, shift: i32) -> Matrix<f32> {
    let rows = features.num_rows();
    let by = shift.unsigned_abs() as usize;
    let source = |r: usize| if shift < 0 { r.saturating_add(by).min(rows - 1) } else { r.saturating_sub(by) };
    pick(features, rows, source).expect("as large as what there is")
}

/// Returns the rows whose number in `voiced` is not 0.
///
/// # Errors
/// [`Error::LengthMismatch`] unless there is a number for each row.
#[doc(alias = "select-voiced-frames")]
pub fn select_voiced(features: &MatrixBase<impl Storage<Elem = f32>>, voiced: &[f32]) -> Result<Matrix<f32>, Error> {
    let lengths = [features.num_rows(), voiced.len()];
    check_lengths(lengths, 0)?;
    let kept: Vec<usize> = (0..).zip(voiced).filter(|&(_, &voiced)| voiced != 0.0).map(|(row, _)| row).collect();
    pick(features, kept.len(), |i| kept[i])
}

fn pick(
    features: &MatrixBase<impl Storage<Elem = f32>>,
    rows: usize,
    source: impl Fn(usize) -> usize,
) -> Result<Matrix<f32>, Error> {
    let mut out = zeros(rows, features.num_cols())?;
    for (i, to) in out.rows_mut().enumerate() {
        to.copy_from_slice(features.row_data(source(i)));
    }
    Ok(out)
}

/// Returns the given columns, in the given order; a column may occur several times.
///
/// # Errors
/// [`Error::BadColumn`] for a column that does not exist.
#[doc(alias = "select-feats")]
pub fn select_columns(
    features: &MatrixBase<impl Storage<Elem = f32>>,
    columns: &[usize],
) -> Result<Matrix<f32>, Error> {
    let dim = features.num_cols();
    if let Some(&column) = columns.iter().find(|&&column| column >= dim) {
        return Err(Error::BadColumn { column, dim });
    }
    let mut out = zeros(features.num_rows(), columns.len())?;
    for (to, from) in out.rows_mut().zip(features.rows()) {
        for (to, &column) in to.iter_mut().zip(columns) {
            *to = from[column];
        }
    }
    Ok(out)
}

/// Joins features side by side: the columns of the first, then of the second, and so on. If lengths
/// differ by at most `length_tolerance` frames, the longer ones lose their last frames.
///
/// ```
/// use kaldi_matrix::Matrix;
///
/// let (mfcc, pitch) = (
///     Matrix::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0])?,
///     Matrix::from_vec(3, 1, vec![5.0, 6.0, 7.0])?
/// );
/// let pasted = kaldi_feat::paste_columns(&[mfcc.view(), pitch.view()], 1)?;
/// assert_eq!(pasted.data(), [1.0, 2.0, 5.0, /**/ 3.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::LengthMismatch`] if lengths differ by more.
#[doc(alias = "paste-feats")]
pub fn paste_columns(parts: &[SubMatrix<'_, f32>], length_tolerance: usize) -> Result<Matrix<f32>, Error> {
    let rows = check_lengths(parts.iter().map(SubMatrix::num_rows), length_tolerance)?;
    let mut out = zeros(rows, parts.iter().map(SubMatrix::num_cols).sum())?;
    let mut first = 0;
    for part in parts {
        let next = first + part.num_cols();
        for (to, from) in out.rows_mut().zip(part.rows()) {
            to[first..next].copy_from_slice(from);
        }
        first = next;
    }
    Ok(out)
}

/// Returns the shortest length, if the others are not much longer.
fn check_lengths(lengths: impl IntoIterator<Item = usize> + Clone, tolerance: usize) -> Result<usize, Error> {
    let shortest = lengths.clone().into_iter().min().unwrap_or(0);
    let longest = lengths.into_iter().max().unwrap_or(0);
    if longest - shortest > tolerance {
        return Err(Error::LengthMismatch { shortest, longest, tolerance });
    }
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(rows: usize) -> Matrix<f32> {
        Matrix::from_fn(rows, 1, |r, _| r as f32)
    }

    #[test]
    fn subsampling_takes_every_nth_row_or_repeats_rows() {
        let rows = |n, offset| subsample_frames(&numbers(5), n, offset).unwrap().into_vec();
        assert_eq!(rows(2, 0), [0.0, 2.0, 4.0]);
        assert_eq!(rows(2, 1), [1.0, 3.0]);
        assert_eq!(rows(9, 4), [4.0]);
        assert!(rows(2, 5).is_empty());
        assert_eq!(rows(-2, 0), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
        assert!(rows(i32::MAX, 0).len() == 1);
        for (n, offset) in [(0, 0), (1, -1), (-2, 1)] {
            assert!(subsample_frames(&numbers(5), n, offset).is_err());
        }
    }

    #[test]
    fn shifting_repeats_the_ends() {
        let rows = |shift| shift_frames(&numbers(3), shift).into_vec();
        assert_eq!(rows(1), [0.0, 0.0, 1.0]);
        assert_eq!(rows(-1), [1.0, 2.0, 2.0]);
        assert_eq!((rows(i32::MAX), rows(i32::MIN)), (vec![0.0; 3], vec![2.0; 3]));
        assert!(shift_frames(&numbers(0), 1).is_empty());
    }

    #[test]
    fn columns_are_picked_in_any_order() {
        let features = Matrix::from_fn(2, 3, |r, c| (10 * r + c) as f32);
        assert_eq!(select_columns(&features, &[2, 0, 2]).unwrap().data(), [2.0, 0.0, 2.0, 12.0, 10.0, 12.0]);
        assert_eq!(select_columns(&features, &[3]), Err(Error::BadColumn { column: 3, dim: 3 }));
    }

    #[test]
    fn voiced_rows_stay() {
        assert_eq!(select_voiced(&numbers(3), &[1.0, 0.0, 1.0]).unwrap().data(), [0.0, 2.0]);
        assert!(select_voiced(&numbers(3), &[0.0; 3]).unwrap().is_empty());
        let mismatch = Error::LengthMismatch { shortest: 2, longest: 3, tolerance: 0 };
        assert_eq!(select_voiced(&numbers(3), &[0.0; 2]), Err(mismatch));
    }

    #[test]
    fn pasting_nothing_gives_nothing() {
        assert!(paste_columns(&[], 0).unwrap().is_empty());
        assert!(paste_columns(&[numbers(2).view(), numbers(3).view()], 0).is_err());
    }
}
