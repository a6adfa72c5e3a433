//! Matrices and vectors that may be missing, as tensors with names.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::parameters::{Visitor, VisitorMut};

/// Calls `f` with a matrix, if it is there.
pub(crate) fn visit_matrix<'a, T: Real>(name: &str, matrix: Option<&'a Matrix<T>>, f: Visitor<'_, 'a, T>) {
    if let Some(matrix) = matrix {
        f(name, &[matrix.num_rows(), matrix.num_cols()], matrix.data());
    }
}

/// As [`visit_matrix`], to be changed.
pub(crate) fn visit_matrix_mut<'a, T: Real>(name: &str, matrix: Option<&'a mut Matrix<T>>, f: VisitorMut<'_, 'a, T>) {
    if let Some(matrix) = matrix {
        f(name, &[matrix.num_rows(), matrix.num_cols()], matrix.data_mut());
    }
}

/// Calls `f` with a vector, if it is there.
pub(crate) fn visit_vector<'a, T: Real>(name: &str, vector: Option<&'a Vector<T>>, f: Visitor<'_, 'a, T>) {
    if let Some(vector) = vector {
        f(name, &[vector.dim()], vector.data());
    }
}

/// As [`visit_vector`], to be changed.
pub(crate) fn visit_vector_mut<'a, T: Real>(name: &str, vector: Option<&'a mut Vector<T>>, f: VisitorMut<'_, 'a, T>) {
    if let Some(vector) = vector {
        f(name, &[vector.dim()], vector.data_mut());
    }
}
