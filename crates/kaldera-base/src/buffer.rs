//! Memory that many may share, cut without copying, and that is copied only when one of them writes
//! to it.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::abridged::Abridged;
use crate::memory;

/// A part of a shared vector: reads as a slice, clones by counting, copies on writing.
///
/// ```text
///   Arc<Vec<T>>   7 8 9 1 2 3 4
///   a             [-----------]     a = Buffer::from(vec)
///   b                 [---]         b = a.slice(2..5)
/// ```
///
/// ```
/// use kaldera_base::buffer::Buffer;
///
/// let a = Buffer::from(vec![7, 8, 9, 1]);
/// let mut b = a.slice(1..3);
/// assert_eq!(*b, [8, 9]);
/// b.make_mut()[0] = 5; // `a` still needs its 8, so `b` gets memory of its own.
/// assert_eq!((&*a, &*b), (&[7, 8, 9, 1][..], &[5, 9][..]));
/// ```
pub struct Buffer<T> {
    data: Arc<Vec<T>>,
    range: Range<usize>,
}

impl<T> Buffer<T> {
    /// The elements of `range`, in the same memory: no element is copied.
    ///
    /// # Panics
    /// If `range` is not within `0..len`, as slicing a slice does.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "a slice {range:?} was asked of a buffer of {} elements",
            self.len()
        );
        let start = self.range.start;
        Self { data: Arc::clone(&self.data), range: start + range.start..start + range.end }
    }

    /// Returns `true` if both are the same part of the same memory.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data) && self.range == other.range
    }

    /// The elements, for writing; if others share the memory, these elements are copied first.
    pub fn make_mut(&mut self) -> &mut [T]
    where
        T: Clone,
    {
        if Arc::get_mut(&mut self.data).is_none() {
            *self = Self::from(memory::collect(self.iter().cloned()));
        }
        // Nothing shares the memory now, so this never clones.
        &mut Arc::make_mut(&mut self.data)[self.range.clone()]
    }

    /// The elements as a vector: moved if nothing else shares the memory, else copied.
    pub fn into_vec(self) -> Vec<T>
    where
        T: Clone,
    {
        let range = self.range;
        match Arc::try_unwrap(self.data) {
            Ok(mut vec) => {
                vec.truncate(range.end);
                vec.drain(..range.start);
                vec
            }
            Err(shared) => memory::collect(shared[range].iter().cloned()),
        }
    }

    /// The vector behind the elements, which may hold more than these, if nothing else shares it:
    /// memory to be used again.
    pub fn into_unshared(self) -> Option<Vec<T>> {
        Arc::try_unwrap(self.data).ok()
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(data: Vec<T>) -> Self {
        let range = 0..data.len();
        Self { data: Arc::new(data), range }
    }
}

impl<T> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from(Vec::from_iter(items))
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.data[self.range.clone()]
    }
}

impl<T> AsRef<[T]> for Buffer<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self { data: Arc::clone(&self.data), range: self.range.clone() }
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    /// By content. Buffers of floats that share memory may hold NaN, so that this is no short cut
    /// for [`Buffer::ptr_eq`].
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Buffer<T> {}

/// Abridged: the middle of more than 16 elements is left out.
impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Abridged(self).fmt(f)
    }
}

impl<'a, T> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_slice_counts_from_the_slice() {
        let a = Buffer::from((0..10).collect::<Vec<_>>());
        let b = a.slice(2..8).slice(1..4);
        assert_eq!(*b, [3, 4, 5]);
        assert!(b.ptr_eq(&a.slice(3..6)) && !b.ptr_eq(&a));
    }

    #[test]
    fn the_only_owner_writes_and_unwraps_in_place() {
        let mut a = Buffer::from(vec![1, 2, 3]);
        let before = a.as_ptr();
        a.make_mut()[1] = 7;
        assert_eq!(a.as_ptr(), before);
        let vec = a.into_vec();
        assert_eq!((vec.as_ptr(), &vec[..]), (before, &[1, 7, 3][..]));
    }

    #[test]
    fn writing_to_shared_memory_copies_the_part_alone() {
        let a = Buffer::from(vec![1, 2, 3, 4]);
        let mut b = a.slice(1..3);
        b.make_mut().fill(0);
        assert_eq!((&*a, &*b), (&[1, 2, 3, 4][..], &[0, 0][..]));
        assert_eq!(a.slice(2..4).into_vec(), [3, 4]);
    }

    #[test]
    fn the_last_slice_unwraps_to_its_own_elements() {
        let part = Buffer::from(vec![1, 2, 3, 4]).slice(1..3);
        assert_eq!(part.into_vec(), [2, 3]);
    }

    #[test]
    #[should_panic(expected = "of 3 elements")]
    fn a_slice_beyond_the_end_panics() {
        let _ = Buffer::from(vec![1, 2, 3]).slice(1..4);
    }
}
