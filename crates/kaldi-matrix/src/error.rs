//! What can go wrong, with the numbers that were wrong.

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

/// A call whose numbers do not fit together.
///
/// Reading and writing have an error of their own, [`CodecError`](crate::codec::CodecError).
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Two vectors, or a vector and a side of a matrix, have different lengths.
    #[error("{operation}: expected a vector of {expected} elements, found one of {found}")]
    DimMismatch {
        /// The method called.
        operation: &'static str,
        /// The length that would fit.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// A matrix has the wrong shape for the others in the call.
    #[error("{operation}: expected a matrix of shape {expected}, found {found}")]
    ShapeMismatch {
        /// The method called.
        operation: &'static str,
        /// The shape that would fit.
        expected: Shape,
        /// The shape given.
        found: Shape,
    },
    /// The inner sides of a matrix product differ.
    #[error("{operation}: a {left} matrix cannot be multiplied by a {right} one (shapes after transposing)")]
    ProductMismatch {
        /// The method called.
        operation: &'static str,
        /// Shape of the left operand as it enters the product.
        left: Shape,
        /// Shape of the right operand as it enters the product.
        right: Shape,
    },
    /// The operation is defined on square matrices only.
    #[error("{operation}: needs a square matrix, found {found}")]
    NotSquare {
        /// The method called.
        operation: &'static str,
        /// The shape given.
        found: Shape,
    },
    /// A range, row or column lies outside.
    #[error("{what} {start}..{} is outside of 0..{size}", .start.saturating_add(*.len))]
    OutOfRange {
        /// What is counted: `"elements"`, `"rows"` or `"columns"`.
        what: &'static str,
        /// First index asked for.
        start: usize,
        /// How many.
        len: usize,
        /// How many there are.
        size: usize,
    },
    /// A row stride shorter than a row.
    #[error("a stride of {stride} elements is shorter than a row of {cols}")]
    StrideTooShort {
        /// The stride given.
        stride: usize,
        /// Elements of a row.
        cols: usize,
    },
    /// Rows that shall become a matrix have different lengths.
    #[error("row {row} has {found} elements, while row 0 has {expected}: all rows of a matrix are of one length")]
    UnequalRows {
        /// The first row whose length differs, counted from 0.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of that row.
        found: usize,
    },
    /// A slice has not as many elements as the shape needs.
    #[error("a {shape} matrix with a row stride of {stride} takes {expected} elements, found {found}")]
    DataLength {
        /// The shape asked for.
        shape: Shape,
        /// Elements from one row's start to the next one's.
        stride: usize,
        /// Elements needed.
        expected: usize,
        /// Elements given.
        found: usize,
    },
    /// More elements than a machine word counts.
    #[error("a {shape} matrix with a row stride of {stride} has more elements than can be addressed")]
    TooLarge {
        /// The shape asked for.
        shape: Shape,
        /// Elements from one row's start to the next one's.
        stride: usize,
    },
    /// A number that the operation is not defined for.
    #[error("{operation}: element {index} is {value}, which is negative; floor the values first")]
    Negative {
        /// The method called.
        operation: &'static str,
        /// The first offending position, counted row by row.
        index: usize,
        /// What stands there.
        value: f64,
    },
    /// A parameter outside of what the operation is defined for.
    #[error("{operation}: {parameter} is {value}, expected {expected}")]
    OutOfDomain {
        /// The method called.
        operation: &'static str,
        /// The parameter's name, or what was computed from the operands.
        parameter: &'static str,
        /// What was given.
        value: f64,
        /// What would be right, in words.
        expected: &'static str,
    },
    /// An index in a list of rows or columns that names none.
    #[error("{operation}: index {index} at position {position} is neither -1 nor in 0..{size}")]
    BadIndex {
        /// The method called.
        operation: &'static str,
        /// Where in the list it stands.
        position: usize,
        /// What stands there.
        index: i32,
        /// How many rows or columns there are.
        size: usize,
    },
    /// Columns that cannot be cut into so many groups of one size.
    #[error("{operation}: {cols} columns cannot be cut into {groups} groups of one size")]
    Groups {
        /// The method called.
        operation: &'static str,
        /// Number of columns.
        cols: usize,
        /// Number of groups asked for.
        groups: usize,
    },
    /// A matrix without an inverse: the elimination met a zero where it has to divide.
    #[error("{operation}: the matrix of shape {shape} is singular")]
    Singular {
        /// The method called.
        operation: &'static str,
        /// The shape given.
        shape: Shape,
    },
    /// A symmetric matrix whose quadratic form is not positive for every vector but zero.
    #[error(
        "{operation}: not positive definite, the pivot of row {row} is {pivot}; add to the diagonal or floor the matrix"
    )]
    NotPositiveDefinite {
        /// The method called.
        operation: &'static str,
        /// The row at which it shows.
        row: usize,
        /// What is left of its diagonal element: not positive, or NaN.
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
    /// A matrix that was to be symmetric, and is not by more than rounding.
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
        /// The exponent asked for.
        power: f64,
        /// The eigenvalue, negative, or zero under a negative exponent.
        re: f64,
    },
    /// The operation is not defined for a matrix without elements.
    #[error("{operation}: needs elements, found a matrix of shape {shape}")]
    NoElements {
        /// The method called.
        operation: &'static str,
        /// The shape given.
        shape: Shape,
    },
    /// The elements of an ndarray view do not lie one after the other.
    #[error(
        "the array's elements do not lie one after the other (strides {strides:?}); copy it, or take a view of the \
         array that owns them and then a range of that"
    )]
    Layout {
        /// Elements from one index to the next, for each axis.
        strides: Vec<isize>,
    },
    /// An iterative decomposition found no answer, as happens with NaN or infinity in the input.
    #[error("{operation}: no convergence on a {shape} matrix; look for NaN or infinite elements")]
    NoConvergence {
        /// The method called.
        operation: &'static str,
        /// Shape of the input.
        shape: Shape,
    },
}
