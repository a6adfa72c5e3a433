//! Gathering from and adding to flat arrays by indexes, such as arc maps; -1 stands for nothing.

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{check_indexes, follow_slices, picked, prefetch_upcoming, upcoming};
use crate::ragged::check_size;
use crate::value_ops::number::Number;

/// Returns `src[i]` for each index i, `default` for -1.
///
/// Its gradient is [`index_add`] of the output's gradient to zeros of the length of `src`.
///
/// ```
/// assert_eq!(ragged_core::index_select(&[5, 6, 7], &[2, -1, 0], 0)?, [7, 0, 5]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
///
/// # Errors
/// If an index is below -1 or beyond the end of `src`.
#[doc(alias = "IndexSelect")]
#[doc(alias = "simple_ragged_index_select")]
pub fn index_select<T: Clone>(src: &[T], index: &[i32], default: T) -> Result<Vec<T>, Error> {
    check_indexes(0, index, src.len())?;
    Ok(memory::collect(picked(src, index).map(|x| x.unwrap_or(&default).clone())))
}

/// Returns the rows of a matrix of `cols` columns that `index` names, zeros for -1.
///
/// Its gradient is [`index_add_rows`] of the output's gradient to zeros of the size of `src`.
///
/// # Errors
/// If an index is below -1 or beyond the last row, or `src` is not a whole number of rows.
#[doc(alias = "index_select")]
pub fn index_select_rows<T: Number>(src: &[T], cols: usize, index: &[i32]) -> Result<Vec<T>, Error> {
    let rows = num_rows(src.len(), cols)?;
    check_indexes(0, index, rows)?;
    let zeros = vec![T::ZERO; cols];
    Ok(follow_slices(
        Vec::new(),
        index,
        |_| cols,
        |&i| (usize::try_from(i).map_or(&zeros[..], |i| &src[i * cols..]), cols),
    ))
}

/// Adds each value to the element of `out` that its index names; -1 names none.
///
/// ```
/// let mut out = [0; 3];
/// ragged_core::index_add(&[2, -1, 2, 0], &[1, 2, 3, 4], &mut out)?;
/// assert_eq!(out, [4, 0, 4]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
///
/// # Errors
/// If there is not one value for each index, or an index is below -1 or beyond the end of `out`;
/// `out` is then unchanged.
#[doc(alias = "IndexAdd")]
pub fn index_add<T: Number>(index: &[i32], value: &[T], out: &mut [T]) -> Result<(), Error> {
    check_size("the number of values", index.len(), value.len())?;
    check_indexes(0, index, out.len())?;
    let upcoming = upcoming(out, index);
    for (k, (&i, &x)) in index.iter().zip(value).enumerate() {
        prefetch_upcoming(out, upcoming, k);
        if let Ok(i) = usize::try_from(i) {
            out[i] = out[i].plus(x);
        }
    }
    Ok(())
}

/// Same as [`index_add`], for the rows of a matrix of `cols` columns and the rows of another.
///
/// # Errors
/// As [`index_add`], or if `out` is not a whole number of rows.
#[doc(alias = "index_add")]
pub fn index_add_rows<T: Number>(index: &[i32], value: &[T], cols: usize, out: &mut [T]) -> Result<(), Error> {
    let rows = num_rows(out.len(), cols)?;
    check_size("the number of values", index.len() * cols, value.len())?;
    check_indexes(0, index, rows)?;
    for (&i, row) in index.iter().zip(value.chunks_exact(cols.max(1))) {
        if let Ok(i) = usize::try_from(i) {
            out[i * cols..(i + 1) * cols].iter_mut().zip(row).for_each(|(a, &x)| *a = a.plus(x));
        }
    }
    Ok(())
}

fn num_rows(len: usize, cols: usize) -> Result<usize, Error> {
    let rows = len / cols.max(1);
    check_size("the size of the matrix", rows * cols, len)?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_names_nothing_is_refused() {
        let wrong = |position, found| Err(Error::Index { axis: 0, position, found, size: 2 });
        assert_eq!(index_select(&[1, 2], &[0, -2], 0), wrong(1, -2));
        assert_eq!(index_select(&[1, 2], &[-1, 0, 2], 0), wrong(2, 2));
        assert_eq!(index_select(&[1, 2], &[i32::MIN], 0), wrong(0, i32::MIN.into()));
        assert_eq!(index_select(&[1, 2], &[i32::MAX], 0), wrong(0, i32::MAX.into()));
        let mut out = [1, 2];
        assert!(index_add(&[0, 2], &[5, 5], &mut out).is_err());
        assert_eq!(out, [1, 2]);
        assert!(index_select_rows(&[1, 2, 3], 2, &[0]).is_err());
    }

    #[test]
    fn rows_of_matrices_are_selected_and_added() {
        let src = [1, 2, 3, 4];
        assert_eq!(index_select_rows(&src, 2, &[1, -1, 0]), Ok(vec![3, 4, 0, 0, 1, 2]));
        let mut out = [0; 4];
        assert_eq!(index_add_rows(&[1, -1, 1], &[1, 2, 3, 4, 5, 6], 2, &mut out), Ok(()));
        assert_eq!(out, [0, 0, 6, 8]);
        assert_eq!(index_select_rows::<i32>(&[], 0, &[]), Ok(vec![]));
    }
}
