//! Checks of sizes, whose errors have both sizes.

use crate::error::{Error, Shape};

/// Returns an error unless `found` is `expected`.
#[inline]
pub(crate) fn check_dim(operation: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::DimMismatch { operation, expected, found }) }
}

/// Returns an error unless `found` is `expected`.
pub(crate) fn check_shape(operation: &'static str, expected: Shape, found: Shape) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::ShapeMismatch { operation, expected, found }) }
}

/// Returns an error unless the two matrices can be multiplied.
pub(crate) fn check_factors(operation: &'static str, left: Shape, right: Shape) -> Result<(), Error> {
    if left.cols == right.rows { Ok(()) } else { Err(Error::ProductMismatch { operation, left, right }) }
}

/// Returns an error unless the two matrices can be multiplied, with a result of this shape.
pub(crate) fn check_product(operation: &'static str, left: Shape, right: Shape, product: Shape) -> Result<(), Error> {
    check_factors(operation, left, right)?;
    check_shape(operation, Shape { rows: left.rows, cols: right.cols }, product)
}

/// Returns the length of a square matrix's sides, or an error if it is not square.
pub(crate) fn check_square(operation: &'static str, found: Shape) -> Result<usize, Error> {
    if found.rows == found.cols { Ok(found.rows) } else { Err(Error::NotSquare { operation, found }) }
}

/// Returns an error unless the `len` elements from `start` on are within `size`.
pub(crate) fn check_range(what: &'static str, start: usize, len: usize, size: usize) -> Result<(), Error> {
    if start.checked_add(len).is_some_and(|end| end <= size) {
        Ok(())
    } else {
        Err(Error::OutOfRange { what, start, len, size })
    }
}

/// Returns the number of columns of `wide` for each column of `narrow`, if both have the same
/// number of rows; never 0.
pub(crate) fn group_size(operation: &'static str, wide: Shape, narrow: Shape) -> Result<usize, Error> {
    check_shape(operation, Shape { rows: wide.rows, cols: narrow.cols }, narrow)?;
    if wide.cols == 0 && narrow.cols == 0 {
        return Ok(1);
    }
    if wide.cols == 0 || !wide.cols.is_multiple_of(narrow.cols) {
        return Err(Error::Groups { operation, cols: wide.cols, groups: narrow.cols });
    }
    Ok(wide.cols / narrow.cols)
}
