//! Sparse vectors.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_range;
use crate::error::Error;
use crate::kernels::convert;
use crate::random::RandomState;
use crate::storage::{Storage, StorageMut};
use crate::vector::{ResizeType, Vector, VectorBase};

/// A vector that stores only the elements that are not zero.
///
/// ```
/// use kaldi_matrix::SparseVector;
/// let v = SparseVector::new(6, [(4, 1.0), (1, -2.0), (4, 0.5_f32)])?;
/// assert_eq!(v.iter().collect::<Vec<_>>(), [(1, -2.0), (4, 1.5)]);
/// assert_eq!(v.to_vector().data(), [0.0, -2.0, 0.0, 0.0, 1.5, 0.0]);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// An index takes 32 bits: 8 bytes per element of `f32`.
#[derive(Clone, Default, PartialEq)]
pub struct SparseVector<T> {
    dim: usize,
    /// Indexes and values; the indexes ascend.
    elements: Vec<(u32, T)>,
}

impl<T: Real> SparseVector<T> {
    /// Creates a vector of `dim` zeros.
    pub fn zeros(dim: usize) -> Self {
        Self { dim, elements: Vec::new() }
    }

    /// Creates a vector of `dim` elements from some elements with their indexes, in any order.
    /// Values of the same index are added in their order, and elements that are zero afterwards are
    /// not stored.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an index that is not below `dim`, or not below 2³².
    pub fn new(dim: usize, elements: impl IntoIterator<Item = (usize, T)>) -> Result<Self, Error> {
        let mut given =
            elements.into_iter().map(|(place, x)| Ok((check_place(place, dim)?, x))).collect::<Result<Vec<_>, _>>()?;
        given.sort_by_key(|&(place, _)| place);
        given.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        given.retain(|&(_, x)| x != T::ZERO);
        Ok(Self { dim, elements: given })
    }

    /// Creates a vector from the contents of a file: the indexes ascend, and are below `dim`.
    pub(crate) fn from_ascending(dim: usize, elements: Vec<(u32, T)>) -> Self {
        debug_assert!(elements.is_sorted_by(|a, b| a.0 < b.0));
        Self { dim, elements }
    }

    /// Returns the number of elements, zeros included.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of stored elements.
    #[doc(alias = "NumElements")]
    pub fn num_elements(&self) -> usize {
        self.elements.len()
    }

    /// Returns the stored elements with their indexes, which ascend.
    #[doc(alias = "Data")]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, T)> + DoubleEndedIterator + Clone {
        self.elements.iter().map(|&(place, x)| (index(place), x))
    }

    /// Returns stored element `i`, with its index.
    ///
    /// # Panics
    /// If fewer elements are stored.
    #[doc(alias = "GetElement")]
    pub fn get_element(&self, i: usize) -> (usize, T) {
        let (place, x) = self.elements[i];
        (index(place), x)
    }

    /// `Σ self`, added in double precision.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        T::from_f64(self.iter().map(|(_, x)| x.to_f64()).sum())
    }

    /// Returns the highest element and its index, zeros included: the first stored one of equal
    /// ones, or the first zero. None without elements.
    #[doc(alias = "Max")]
    pub fn max(&self) -> Option<(usize, T)> {
        let highest = self.iter().reduce(|kept, next| if next.1 > kept.1 { next } else { kept });
        match highest {
            Some((_, x)) if x >= T::ZERO || self.num_elements() == self.dim => highest,
            _ if self.dim == 0 => None,
            // The indexes ascend, so the first index that is not stored is at the first element
            // whose index is above its position.
            _ => {
                let zero =
                    self.iter().enumerate().find(|&(i, (place, _))| place > i).map_or(self.num_elements(), |(i, _)| i);
                Some((zero, T::ZERO))
            }
        }
    }

    /// `self *= alpha`.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        self.elements.iter_mut().for_each(|(_, x)| *x *= alpha);
    }

    /// Returns a full vector, with the zeros.
    ///
    /// # Panics
    /// As `vec!`, if `dim` elements are more than memory can hold.
    pub fn to_vector(&self) -> Vector<T> {
        let mut v = Vector::zeros(self.dim);
        self.iter().for_each(|(i, x)| v[i] = x);
        v
    }

    /// `v = self`, zeros included, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "CopyElementsToVec")]
    pub fn copy_elements_to_vec(&self, v: &mut VectorBase<impl StorageMut>) -> Result<(), Error> {
        check_dim("copy_elements_to_vec", self.dim, v.dim())?;
        v.set_zero();
        self.iter().for_each(|(i, x)| v[i] = convert(x));
        Ok(())
    }

    /// `v += alpha * self`, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddToVec")]
    pub fn add_to_vec(&self, alpha: T, v: &mut VectorBase<impl StorageMut>) -> Result<(), Error> {
        check_dim("add_to_vec", self.dim, v.dim())?;
        self.add_to(alpha, v.data_mut());
        Ok(())
    }

    /// As [`add_to_vec`](Self::add_to_vec), for lengths that were checked.
    pub(super) fn add_to<U: Real>(&self, alpha: T, y: &mut [U]) {
        for (i, x) in self.iter() {
            y[i] = U::from_f64(y[i].to_f64() + (alpha * x).to_f64());
        }
    }

    /// `self = other`, of either precision.
    #[doc(alias = "CopyFromSvec")]
    pub fn copy_from_svec<U: Real>(&mut self, other: &SparseVector<U>) {
        self.dim = other.dim;
        self.elements = other.elements.iter().map(|&(place, x)| (place, convert(x))).collect();
    }

    /// Changes the length. With [`ResizeType::CopyData`] the elements below the new length stay,
    /// else all become zero.
    #[doc(alias = "Resize")]
    pub fn resize(&mut self, dim: usize, resize_type: ResizeType) {
        match resize_type {
            ResizeType::CopyData => {
                self.elements.truncate(self.elements.partition_point(|&(place, _)| index(place) < dim))
            }
            ResizeType::SetZero | ResizeType::Undefined => self.elements.clear(),
        }
        self.dim = dim;
    }

    /// Exchanges two vectors.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Sets each element to zero with probability `zero_prob`, else to a normally distributed
    /// number with mean 0 and variance 1.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `zero_prob` is from 0 to 1; [`Error::OutOfRange`] for 2³²
    /// elements or more.
    #[doc(alias = "SetRandn")]
    pub fn set_randn(&mut self, zero_prob: f64, random: &mut RandomState) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&zero_prob) {
            let (operation, parameter, expected) = ("set_randn", "zero_prob", "a probability");
            return Err(Error::OutOfDomain { operation, parameter, value: zero_prob, expected });
        }
        let mut draw = |i| (random.uniform() >= zero_prob).then(|| (i, T::from_f64(random.gauss())));
        *self = Self::new(self.dim, (0..self.dim).filter_map(&mut draw).collect::<Vec<_>>())?;
        Ok(())
    }
}

/// Converts an index to its stored form.
fn check_place(place: usize, dim: usize) -> Result<u32, Error> {
    check_range("elements", place, 1, dim)?;
    let too_far = |_| Error::OutOfRange { what: "32-bit indices", start: place, len: 1, size: index(u32::MAX) };
    u32::try_from(place).map_err(too_far)
}

/// Converts a stored index, without loss on machines of at least 32 bits, the only ones supported.
#[inline]
fn index(place: u32) -> usize {
    place as usize
}

/// Stores the elements that are not zero, NaN included.
///
/// # Panics
/// For elements with index 2³² or above.
impl<S: Storage> From<&VectorBase<S>> for SparseVector<S::Elem> {
    fn from(v: &VectorBase<S>) -> Self {
        Self::from_slice(v.data())
    }
}

impl<T: Real> SparseVector<T> {
    pub(super) fn from_slice(x: &[T]) -> Self {
        let stored = x.iter().enumerate().filter(|&(_, &x)| x != T::ZERO);
        let place = |i| u32::try_from(i).expect("sparse vectors have 32-bit indices");
        Self { dim: x.len(), elements: stored.map(|(i, &x)| (place(i), x)).collect() }
    }
}

/// `Σ v[i] * s[i]`, in the order of the stored elements.
///
/// # Errors
/// [`Error::DimMismatch`] if the lengths differ.
#[doc(alias = "VecSvec")]
pub fn vec_svec<T: Real>(v: &VectorBase<impl Storage<Elem = T>>, s: &SparseVector<T>) -> Result<T, Error> {
    check_dim("vec_svec", v.dim(), s.dim())?;
    Ok(s.iter().map(|(i, x)| v[i] * x).sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sparse_vector_equals_dense(
            pairs in prop::collection::vec((0_usize..9, -3_i8..4), 0..20),
            alpha in -2_i8..3,
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(i, x)| (i, f64::from(x))).collect();
            let mut dense = vec![0.0; 9];
            pairs.iter().for_each(|&(i, x)| dense[i] += x);
            let mut sparse = SparseVector::new(9, pairs).unwrap();
            prop_assert!(sparse.iter().all(|(_, x)| x != 0.0));
            let v = sparse.to_vector();
            prop_assert_eq!(v.data(), &dense[..]);
            prop_assert_eq!(&SparseVector::from(&v), &sparse);
            prop_assert_eq!(sparse.sum(), dense.iter().sum::<f64>());
            let (place, highest) = sparse.max().unwrap();
            prop_assert_eq!(highest, dense.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            prop_assert_eq!(dense[place], highest);
            prop_assert_eq!(Some(place), dense.iter().position(|&x| x == highest));

            let alpha = f64::from(alpha);
            let mut sum = Vector::from(vec![1.0_f32; 9]);
            sparse.add_to_vec(alpha, &mut sum).unwrap();
            prop_assert!(sum.iter().zip(&dense).all(|(&a, b)| f64::from(a) == 1.0 + alpha * b));
            prop_assert_eq!(vec_svec(&v, &sparse).unwrap(), dense.iter().map(|x| x * x).sum::<f64>());
            sparse.resize(5, ResizeType::CopyData);
            let shorter = sparse.to_vector();
            prop_assert_eq!(shorter.data(), &dense[..5]);
            sparse.scale(alpha);
            let mut copy = Vector::from(vec![f32::NAN; 5]);
            sparse.copy_elements_to_vec(&mut copy).unwrap();
            prop_assert!(copy.iter().zip(&dense).all(|(&a, b)| f64::from(a) == alpha * b));
        }
    }

    #[test]
    fn sizes_are_checked() {
        let out_of_range = |size| Some(Error::OutOfRange { what: "elements", start: 3, len: 1, size });
        assert_eq!(SparseVector::new(3, [(3, 1.0_f32)]).err(), out_of_range(3));
        assert_eq!(SparseVector::<f32>::zeros(0).max(), None);
        assert_eq!(SparseVector::<f32>::zeros(2).max(), Some((0, 0.0)));
        let v = SparseVector::new(3, [(0, -1.0_f32)]).unwrap();
        assert_eq!(v.max(), Some((1, 0.0)));
        assert!(v.add_to_vec(1.0, &mut Vector::<f32>::zeros(2)).is_err());
        assert!(v.copy_elements_to_vec(&mut Vector::<f64>::zeros(4)).is_err());
        assert!(vec_svec(&Vector::zeros(4), &v).is_err());
        let full = SparseVector::new(2, [(0, -2.0_f32), (1, -1.0)]).unwrap();
        assert_eq!(full.max(), Some((1, -1.0)));
        let mut single = SparseVector::<f32>::zeros(1);
        single.copy_from_svec(&SparseVector::new(7, [(6, 0.5_f64)]).unwrap());
        assert_eq!((single.dim(), single.get_element(0)), (7, (6, 0.5)));
    }

    #[test]
    fn random_elements_are_as_rare_as_asked() {
        let mut v = SparseVector::<f32>::zeros(10_000);
        v.set_randn(0.9, &mut RandomState::new(3)).unwrap();
        assert!((900..1100).contains(&v.num_elements()));
        v.set_randn(1.0, &mut RandomState::new(3)).unwrap();
        assert_eq!(v.num_elements(), 0);
        assert!(v.set_randn(f64::NAN, &mut RandomState::new(3)).is_err());
    }
}
