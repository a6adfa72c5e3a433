//! Vectors: owned, borrowed, mutably borrowed.

use std::ops::{Index, IndexMut};

use kaldera_base::Real;

use crate::check::check_range;
use crate::error::Error;
use crate::kernels;
use crate::storage::{Storage, StorageMut};

/// A vector over some [`Storage`]; use it through [`Vector`], [`SubVector`] and [`SubVectorMut`].
#[derive(Clone, Copy, Default)]
pub struct VectorBase<S> {
    data: S,
}

/// A vector that owns its elements.
pub type Vector<T> = VectorBase<Vec<T>>;

/// A borrowed vector: a slice, part of a [`Vector`], a row of a [`Matrix`](crate::Matrix).
pub type SubVector<'a, T> = VectorBase<&'a [T]>;

/// A mutably borrowed vector.
pub type SubVectorMut<'a, T> = VectorBase<&'a mut [T]>;

/// Values of the elements when an owned vector or matrix gets a new size; Kaldi's
/// `MatrixResizeType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResizeType {
    /// All elements are set to zero.
    #[default]
    SetZero,
    /// The values are undefined (but never uninitialised memory): for a caller that sets all of
    /// them.
    Undefined,
    /// Elements inside of both sizes keep their values, the others are set to zero.
    CopyData,
}

impl<T: Real> Vector<T> {
    /// Creates a vector of `dim` zeros.
    ///
    /// ```
    /// # use kaldi_matrix::Vector;
    /// assert_eq!(Vector::<f32>::zeros(3).data(), [0.0, 0.0, 0.0]);
    /// ```
    pub fn zeros(dim: usize) -> Self {
        Self { data: vec![T::ZERO; dim] }
    }

    /// Changes the length.
    #[doc(alias = "Resize")]
    pub fn resize(&mut self, dim: usize, resize_type: ResizeType) {
        if resize_type == ResizeType::SetZero {
            self.data.clear();
        }
        self.data.resize(dim, T::ZERO);
    }

    /// Exchanges two vectors without copying their elements.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Removes an element; the elements after it move up.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such element.
    #[doc(alias = "RemoveElement")]
    pub fn remove_element(&mut self, i: usize) -> Result<(), Error> {
        check_range("elements", i, 1, self.dim())?;
        self.data.remove(i);
        Ok(())
    }

    /// Returns the elements, without copying.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<T: Real> From<Vec<T>> for Vector<T> {
    fn from(data: Vec<T>) -> Self {
        Self { data }
    }
}

impl<T: Real> From<&[T]> for Vector<T> {
    fn from(data: &[T]) -> Self {
        Self { data: data.to_vec() }
    }
}

impl<T: Real, const N: usize> From<[T; N]> for Vector<T> {
    fn from(data: [T; N]) -> Self {
        Self { data: data.into() }
    }
}

impl<T: Real> From<Vector<T>> for Vec<T> {
    fn from(v: Vector<T>) -> Self {
        v.data
    }
}

/// Copies to the other precision: `Vector::<f64>::from(&v)`, as Kaldi's constructors do.
impl<S: Storage<Elem = f32>> From<&VectorBase<S>> for Vector<f64> {
    fn from(v: &VectorBase<S>) -> Self {
        v.iter().map(|&x| kernels::convert(x)).collect()
    }
}

/// Copies and rounds to the other precision: `Vector::<f32>::from(&v)`, as Kaldi's constructors do.
impl<S: Storage<Elem = f64>> From<&VectorBase<S>> for Vector<f32> {
    fn from(v: &VectorBase<S>) -> Self {
        v.iter().map(|&x| kernels::convert(x)).collect()
    }
}

impl<T: Real> FromIterator<T> for Vector<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self { data: values.into_iter().collect() }
    }
}

impl<T: Real> Extend<T> for Vector<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.data.extend(values);
    }
}

impl<T: Real> IntoIterator for Vector<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.data.into_iter()
    }
}

impl<'a, S: Storage> IntoIterator for &'a VectorBase<S> {
    type Item = &'a S::Elem;
    type IntoIter = std::slice::Iter<'a, S::Elem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, S: StorageMut> IntoIterator for &'a mut VectorBase<S> {
    type Item = &'a mut S::Elem;
    type IntoIter = std::slice::IterMut<'a, S::Elem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<S: Storage> AsRef<[S::Elem]> for VectorBase<S> {
    fn as_ref(&self) -> &[S::Elem] {
        self.data()
    }
}

impl<'a, T: Real> From<&'a [T]> for SubVector<'a, T> {
    fn from(data: &'a [T]) -> Self {
        Self { data }
    }
}

impl<'a, T: Real> From<&'a mut [T]> for SubVectorMut<'a, T> {
    fn from(data: &'a mut [T]) -> Self {
        Self { data }
    }
}

impl<'a, T: Real> SubVector<'a, T> {
    /// Returns the elements, with the lifetime of their owner.
    pub fn into_slice(self) -> &'a [T] {
        self.data
    }
}

impl<'a, T: Real> SubVectorMut<'a, T> {
    /// Returns the elements, with the lifetime of the borrow.
    pub fn into_slice(self) -> &'a mut [T] {
        self.data
    }
}

impl<S: Storage> VectorBase<S> {
    /// Returns the number of elements.
    #[doc(alias = "Dim")]
    #[inline]
    pub fn dim(&self) -> usize {
        self.data().len()
    }

    /// Returns the size of the elements in bytes.
    #[doc(alias = "SizeInBytes")]
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.data())
    }

    /// Returns `true` if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data().is_empty()
    }

    /// Returns the elements.
    #[doc(alias = "Data")]
    #[inline]
    pub fn data(&self) -> &[S::Elem] {
        self.data.as_slice()
    }

    /// Returns an iterator over the elements.
    pub fn iter(&self) -> std::slice::Iter<'_, S::Elem> {
        self.data().iter()
    }

    /// Returns a view of all elements.
    #[inline]
    pub fn view(&self) -> SubVector<'_, S::Elem> {
        SubVector { data: self.data() }
    }

    /// Returns a copy that owns its elements.
    pub fn to_owned(&self) -> Vector<S::Elem> {
        Vector { data: self.data().to_vec() }
    }

    /// Returns a view of `len` elements from `start` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    #[doc(alias = "Range")]
    pub fn range(&self, start: usize, len: usize) -> Result<SubVector<'_, S::Elem>, Error> {
        check_range("elements", start, len, self.dim())?;
        Ok(SubVector { data: &self.data()[start..start + len] })
    }
}

impl<S: StorageMut> VectorBase<S> {
    /// Returns the elements, mutably.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [S::Elem] {
        self.data.as_mut_slice()
    }

    /// Returns a mutable iterator over the elements.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, S::Elem> {
        self.data_mut().iter_mut()
    }

    /// Returns a mutable view of all elements.
    #[inline]
    pub fn view_mut(&mut self) -> SubVectorMut<'_, S::Elem> {
        SubVectorMut { data: self.data_mut() }
    }

    /// Returns a mutable view of `len` elements from `start` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    pub fn range_mut(&mut self, start: usize, len: usize) -> Result<SubVectorMut<'_, S::Elem>, Error> {
        check_range("elements", start, len, self.dim())?;
        Ok(SubVectorMut { data: &mut self.data_mut()[start..start + len] })
    }
}

/// Panics outside of the vector, as a slice does.
impl<S: Storage> Index<usize> for VectorBase<S> {
    type Output = S::Elem;

    #[inline]
    fn index(&self, i: usize) -> &S::Elem {
        &self.data()[i]
    }
}

/// Panics outside of the vector, as a slice does.
impl<S: StorageMut> IndexMut<usize> for VectorBase<S> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut S::Elem {
        &mut self.data_mut()[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resizing_keeps_what_it_promises() {
        let mut v = Vector::from(vec![1.0_f32, 2.0]);
        v.resize(3, ResizeType::CopyData);
        assert_eq!(v.data(), [1.0, 2.0, 0.0]);
        v.resize(1, ResizeType::CopyData);
        assert_eq!(v.data(), [1.0]);
        v.resize(2, ResizeType::SetZero);
        assert_eq!(v.data(), [0.0, 0.0]);
        v.resize(5, ResizeType::Undefined);
        assert_eq!(v.dim(), 5);
    }

    #[test]
    fn ranges_are_checked() {
        let mut v = Vector::from(vec![1.0_f64, 2.0, 3.0]);
        assert_eq!(v.range(1, 2).unwrap().data(), [2.0, 3.0]);
        assert_eq!(v.range(3, 0).unwrap().dim(), 0);
        let error = Error::OutOfRange { what: "elements", start: 2, len: 2, size: 3 };
        assert_eq!(v.range(2, 2).err(), Some(error));
        assert!(v.range_mut(usize::MAX, 2).is_err());
        v.range_mut(1, 1).unwrap()[0] = 9.0;
        assert_eq!(v.data(), [1.0, 9.0, 3.0]);
    }
}
