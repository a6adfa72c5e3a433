//! Storage of the elements of a vector or matrix.

use kaldera_base::Real;

use self::sealed::Sealed;

mod sealed {
    pub trait Sealed {}
}

/// Storage for reading: a `Vec<T>`, a `&[T]` or a `&mut [T]`.
///
/// Every reading operation is written once, over any storage, so that an owned matrix, a view and a
/// mutable view share it. The trait is sealed, because calls of BLAS rely on the same slice each
/// time until it is changed through [`StorageMut`].
pub trait Storage: Sealed {
    /// `f32` or `f64`.
    type Elem: Real;

    /// Returns all elements.
    fn as_slice(&self) -> &[Self::Elem];
}

/// Storage for reading and writing: a `Vec<T>` or a `&mut [T]`.
pub trait StorageMut: Storage {
    /// Returns all elements; as many as [`Storage::as_slice`].
    fn as_mut_slice(&mut self) -> &mut [Self::Elem];
}

impl<T: Real> Sealed for Vec<T> {}
impl<T: Real> Sealed for &[T] {}
impl<T: Real> Sealed for &mut [T] {}

impl<T: Real> Storage for Vec<T> {
    type Elem = T;

    #[inline]
    fn as_slice(&self) -> &[T] {
        self
    }
}

impl<T: Real> StorageMut for Vec<T> {
    #[inline]
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Real> Storage for &[T] {
    type Elem = T;

    #[inline]
    fn as_slice(&self) -> &[T] {
        self
    }
}

impl<T: Real> Storage for &mut [T] {
    type Elem = T;

    #[inline]
    fn as_slice(&self) -> &[T] {
        self
    }
}

impl<T: Real> StorageMut for &mut [T] {
    #[inline]
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}
