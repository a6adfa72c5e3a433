//! Vectors: `Vector.*`, and the free functions of vectors.

use kaldera::base::Real;

use super::Operation;

pub(super) fn operation<T: Real>(_: &str) -> Option<Operation<T>> {
    None
}
