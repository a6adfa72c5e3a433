//! Checks of sizes, whose errors have both sizes in them.

use crate::error::{Error, Shape};

/// An error unless `found` is `expected`.
#[inline]
pub(crate) fn check_dim(operation: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::DimMismatch { operation, expected, found }) }
}

/// An error unless `found` is `expected`.
pub(crate) fn check_shape(operation: &'static str, expected: Shape, found: Shape) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::ShapeMismatch { operation, expected, found }) }
}

/// An error unless the two can be multiplied.
pub(crate) fn check_factors(operation: &'static str, left: Shape, right: Shape) -> Result<(), Error> {
    if left.cols == right.rows { Ok(()) } else { Err(Error::ProductMismatch { operation, left, right }) }
}

/// An error unless the two can be multiplied, to this shape.
pub(crate) fn check_product(operation: &'static str, left: Shape, right: Shape, product: Shape) -> Result<(), Error> {
    check_factors(operation, left, right)?;
    check_shape(operation, Shape { rows: left.rows, cols: right.cols }, product)
}

/// An error unless the matrix is square; the length of its sides.
pub(crate) fn check_square(operation: &'static str, found: Shape) -> Result<usize, Error> {
    if found.rows == found.cols { Ok(found.rows) } else { Err(Error::NotSquare { operation, found }) }
}

/// An error unless the range of `len` from `start` on lies within `size`.
pub(crate) fn check_range(what: &'static str, start: usize, len: usize, size: usize) -> Result<(), Error> {
    if start.checked_add(len).is_some_and(|end| end <= size) {
        Ok(())
    } else {
        Err(Error::OutOfRange { what, start, len, size })
    }
}

/// Columns of `wide` for each column of `narrow`, if both have as many rows; never 0.
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
