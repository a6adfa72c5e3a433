//! Equality, exact and approximate.

use crate::matrix::MatrixBase;
use crate::storage::Storage;
use crate::vector::VectorBase;

/// The same length and the same elements, whoever owns them.
impl<A: Storage, B: Storage<Elem = A::Elem>> PartialEq<VectorBase<B>> for VectorBase<A> {
    fn eq(&self, other: &VectorBase<B>) -> bool {
        self.data() == other.data()
    }
}

/// The same shape and the same elements, whoever owns them and whatever their strides.
impl<A: Storage, B: Storage<Elem = A::Elem>> PartialEq<MatrixBase<B>> for MatrixBase<A> {
    fn eq(&self, other: &MatrixBase<B>) -> bool {
        self.shape() == other.shape() && self.rows().eq(other.rows())
    }
}
