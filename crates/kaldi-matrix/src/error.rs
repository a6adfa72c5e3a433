//! Errors, with the values that were wrong.

use thiserror::Error;

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.rows, self.cols)
    }
}

/// A call with arguments that do not fit together.
///
/// Reading and writing have a separate error, [`CodecError`](crate::codec::CodecError).
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Two vectors, or a vector and a side of a matrix, have different lengths.
    #[error("{operation}: expected a vector of {expected} elements, found one of {found}")]
    DimMismatch {
        /// The method called.
        operation: &'static str,
        /// The right length.
        expected: usize,
        /// The given length.
        found: usize,
    },
    /// A matrix has the wrong shape for the others in the call.
    #[error("{operation}: expected a matrix of shape {expected}, found {found}")]
    ShapeMismatch {
        /// The method called.
        operation: &'static str,
        /// The right shape.
        expected: Shape,
        /// The given shape.
        found: Shape,
    },
    /// The inner sides of a matrix product differ.
    #[error("{operation}: a {left} matrix cannot be multiplied by a {right} one (shapes after transposing)")]
    ProductMismatch {
        /// The method called.
        operation: &'static str,
        /// Shape of the left operand, after transposing.
        left: Shape,
        /// Shape of the right operand, after transposing.
        right: Shape,
    },
    /// A matrix that is not square, for an operation that needs a square one.
    #[error("{operation}: needs a square matrix, found {found}")]
    NotSquare {
        /// The method called.
        operation: &'static str,
        /// The given shape.
        found: Shape,
    },
    /// A range, row or column that does not exist.
    #[error("{what} {start}..{} is outside of 0..{size}", .start.saturating_add(*.len))]
    OutOfRange {
        /// The items: `"elements"`, `"rows"` or `"columns"`.
        what: &'static str,
        /// First index of the range.
        start: usize,
        /// Number of items of the range.
        len: usize,
        /// Number of items that exist.
        size: usize,
    },
    /// A row stride shorter than a row.
    #[error("a stride of {stride} elements is shorter than a row of {cols}")]
    StrideTooShort {
        /// The given stride.
        stride: usize,
        /// Number of elements of a row.
        cols: usize,
    },
    /// Rows of different lengths, for a matrix.
    #[error("row {row} has {found} elements, while row 0 has {expected}: all rows of a matrix are of one length")]
    UnequalRows {
        /// The first row whose length differs, counted from 0.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of that row.
        found: usize,
    },
    /// A slice whose length does not fit the shape.
    #[error("a {shape} matrix with a row stride of {stride} takes {expected} elements, found {found}")]
    DataLength {
        /// The shape.
        shape: Shape,
        /// Number of elements from the start of one row to the start of the next one.
        stride: usize,
        /// Number of elements needed.
        expected: usize,
        /// Number of elements given.
        found: usize,
    },
    /// More elements than a machine word can count.
    #[error("a {shape} matrix with a row stride of {stride} has more elements than can be addressed")]
    TooLarge {
        /// The shape.
        shape: Shape,
        /// Number of elements from the start of one row to the start of the next one.
        stride: usize,
    },
    /// A number for which the operation is not defined.
    #[error("{operation}: element {index} is {value}, which is negative; floor the values first")]
    Negative {
        /// The method called.
        operation: &'static str,
        /// The position of the first such number, counted row by row.
        index: usize,
        /// The number.
        value: f64,
    },
    /// A parameter outside of the operation's domain.
    #[error("{operation}: {parameter} is {value}, expected {expected}")]
    OutOfDomain {
        /// The method called.
        operation: &'static str,
        /// The name of the parameter, or of a value that was computed from the operands.
        parameter: &'static str,
        /// The value.
        value: f64,
        /// The valid values, in words.
        expected: &'static str,
    },
    /// An index in a list of rows or columns that is out of range.
    #[error("{operation}: index {index} at position {position} is neither -1 nor in 0..{size}")]
    BadIndex {
        /// The method called.
        operation: &'static str,
        /// Its position in the list.
        position: usize,
        /// The index.
        index: i32,
        /// Number of rows or columns.
        size: usize,
    },
    /// Columns that cannot be divided into this number of groups of one size.
    #[error("{operation}: {cols} columns cannot be cut into {groups} groups of one size")]
    Groups {
        /// The method called.
        operation: &'static str,
        /// Number of columns.
        cols: usize,
        /// Number of groups.
        groups: usize,
    },
    /// A matrix without an inverse: the elimination would have to divide by zero.
    #[error("{operation}: the matrix of shape {shape} is singular")]
    Singular {
        /// The method called.
        operation: &'static str,
        /// The given shape.
        shape: Shape,
    },
    /// A symmetric matrix whose quadratic form is not positive for every nonzero vector.
    #[error(
        "{operation}: not positive definite, the pivot of row {row} is {pivot}; add to the diagonal or floor the matrix"
    )]
    NotPositiveDefinite {
        /// The method called.
        operation: &'static str,
        /// The row at which it was detected.
        row: usize,
        /// The rest of its diagonal element: not positive, or NaN.
        pivot: f64,
    },
    /// A symmetric matrix with an eigenvalue that is negative by more than rounding.
    #[error("{operation}: not positive semi-definite, the eigenvalues go from {least} to {largest}")]
    NotPositiveSemiDefinite {
        /// The method called.
        operation: &'static str,
        /// The smallest eigenvalue.
        least: f64,
        /// The largest eigenvalue.
        largest: f64,
    },
    /// A matrix that must be symmetric, and is not by more than rounding.
    #[error("{operation}: not symmetric, its asymmetric part sums to {asymmetric}, its symmetric part to {symmetric}")]
    NotSymmetric {
        /// The method called.
        operation: &'static str,
        /// The sum of the absolute values of (A - A')/2 over the lower triangle.
        asymmetric: f64,
        /// The sum of the absolute values of (A + A')/2 over the lower triangle.
        symmetric: f64,
    },
    /// A power of a matrix that is not real.
    #[error("{operation}: an eigenvalue is {re}, which has no real power of {power}")]
    NoRealPower {
        /// The method called.
        operation: &'static str,
        /// The exponent.
        power: f64,
        /// The eigenvalue: negative, or zero with a negative exponent.
        re: f64,
    },
    /// The operation is not defined for a matrix without elements.
    #[error("{operation}: needs elements, found a matrix of shape {shape}")]
    NoElements {
        /// The method called.
        operation: &'static str,
        /// The given shape.
        shape: Shape,
    },
    /// The elements of an ndarray view are not contiguous.
    #[error(
        "the array's elements do not lie one after the other (strides {strides:?}); copy it, or take a view of the \
         array that owns them and then a range of that"
    )]
    Layout {
        /// Number of elements from one index to the next, for each axis.
        strides: Vec<isize>,
    },
    /// An iterative decomposition without a result, for example with NaN or infinity in the input.
    #[error("{operation}: no convergence on a {shape} matrix; look for NaN or infinite elements")]
    NoConvergence {
        /// The method called.
        operation: &'static str,
        /// Shape of the input.
        shape: Shape,
    },
}
