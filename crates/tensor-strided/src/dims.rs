//! One number for each axis, without allocating for up to eight axes.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Number of entries that fit without allocating.
const INLINE: usize = 8;

/// One number for each axis: a short list, stored inline up to eight axes, and on the heap above.
///
/// It derefs to a slice for reading and writing.
///
/// ```
/// use tensor_strided::Shape;
///
/// let mut shape: Shape = [3, 4, 5].into();
/// shape[1] = 7;
/// shape.push(6);
/// assert_eq!(shape, [3, 7, 5, 6]);
/// assert_eq!(Shape::from_iter(shape.iter().rev().copied()), [6, 5, 7, 3]);
/// ```
#[derive(Clone)]
pub struct Dims<I> {
    len: usize,
    /// The numbers, if they fit. This is no enum of two variants, so that a list that fits is
    /// written without a branch on the storage.
    items: [I; INLINE],
    /// The numbers, if they do not fit.
    #[expect(clippy::box_collection, reason = "one word where all fit, which is nearly always")]
    heap: Option<Box<Vec<I>>>,
}

/// The length of each axis.
pub type Shape = Dims<usize>;

/// The distance between the elements along each axis, in elements; negative if the axis runs
/// backwards.
pub type Strides = Dims<isize>;

impl<I: Copy + Default> Dims<I> {
    /// No axes.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self { len: 0, items: [I::default(); INLINE], heap: None }
    }

    /// `len` times `item`.
    #[inline]
    #[must_use]
    pub fn filled(item: I, len: usize) -> Self {
        Self { len, items: [item; INLINE], heap: (len > INLINE).then(|| vec![item; len].into()) }
    }

    /// Makes it `len` numbers, which the caller then writes; until then they may be any.
    #[inline]
    pub(crate) fn resize_to_write(&mut self, len: usize) {
        self.len = len;
        self.heap = (len > INLINE).then(|| vec![I::default(); len].into());
    }

    /// Adds an axis at the end.
    #[inline]
    pub fn push(&mut self, item: I) {
        match self.items.get_mut(self.len) {
            Some(slot) => *slot = item,
            None => self.heap.get_or_insert_with(|| self.items.to_vec().into()).push(item),
        }
        self.len += 1;
    }

    /// Adds an axis before axis `at`.
    ///
    /// # Panics
    /// If `at` is above the number of axes.
    pub fn insert(&mut self, at: usize, item: I) {
        assert!(at <= self.len(), "an axis at {at} was to be added to {} axes", self.len());
        self.push(item);
        self[at..].rotate_right(1);
    }

    /// Takes axis `at` out and returns its number.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn remove(&mut self, at: usize) -> I {
        self[at..].rotate_left(1);
        let last = self.len() - 1;
        let item = self[last];
        self.len = last;
        match &mut self.heap {
            Some(all) if last > INLINE => all.truncate(last),
            Some(all) => {
                self.items.copy_from_slice(&all[..INLINE]);
                self.heap = None;
            }
            None => {}
        }
        item
    }
}

impl<I> Deref for Dims<I> {
    type Target = [I];

    #[inline]
    fn deref(&self) -> &[I] {
        match &self.heap {
            None => &self.items[..self.len],
            Some(all) => all,
        }
    }
}

impl<I> DerefMut for Dims<I> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [I] {
        match &mut self.heap {
            None => &mut self.items[..self.len],
            Some(all) => all,
        }
    }
}

impl<I> AsRef<[I]> for Dims<I> {
    #[inline]
    fn as_ref(&self) -> &[I] {
        self
    }
}

impl<I: Copy + Default> Default for Dims<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Copy + Default> From<&[I]> for Dims<I> {
    #[inline]
    fn from(items: &[I]) -> Self {
        let mut dims = Self::filled(I::default(), items.len());
        dims.copy_from_slice(items);
        dims
    }
}

impl<I: Copy + Default, const N: usize> From<[I; N]> for Dims<I> {
    #[inline]
    fn from(items: [I; N]) -> Self {
        Self::from(&items[..])
    }
}

impl<I: Copy + Default> From<Vec<I>> for Dims<I> {
    fn from(items: Vec<I>) -> Self {
        Self::from(&items[..])
    }
}

impl<I: Copy + Default> FromIterator<I> for Dims<I> {
    #[inline]
    fn from_iter<It: IntoIterator<Item = I>>(items: It) -> Self {
        let mut dims = Self::new();
        dims.extend(items);
        dims
    }
}

impl<I: Copy + Default> Extend<I> for Dims<I> {
    #[inline]
    fn extend<It: IntoIterator<Item = I>>(&mut self, items: It) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<'a, I> IntoIterator for &'a Dims<I> {
    type Item = &'a I;
    type IntoIter = std::slice::Iter<'a, I>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I: PartialEq, A: AsRef<[I]>> PartialEq<A> for Dims<I> {
    fn eq(&self, other: &A) -> bool {
        **self == *other.as_ref()
    }
}

/// Allows `x.shape() == [2, 3]`, where the left side is borrowed.
impl<I: PartialEq, const N: usize> PartialEq<[I; N]> for &Dims<I> {
    fn eq(&self, other: &[I; N]) -> bool {
        ***self == other[..]
    }
}

impl<I: Eq> Eq for Dims<I> {}

impl<I: Hash> Hash for Dims<I> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// As a list: `[3, 4, 5]`.
impl<I: fmt::Debug> fmt::Debug for Dims<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// As a list: `[3, 4, 5]`.
impl<I: fmt::Debug> fmt::Display for Dims<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_and_heap_dims_are_equal() {
        for len in [0, 1, 7, 8, 9, 30] {
            let wanted: Vec<usize> = (0..len).collect();
            let mut dims = Shape::from_iter(0..len);
            assert_eq!(dims, wanted);
            assert_eq!(dims, Shape::from(wanted.clone()));
            dims.insert(len / 2, 99);
            assert_eq!((dims.len(), dims[len / 2]), (len + 1, 99));
            assert_eq!(dims.remove(len / 2), 99);
            assert_eq!(dims, wanted);
            assert_eq!(Shape::filled(3, len), vec![3; len]);
        }
    }
}
