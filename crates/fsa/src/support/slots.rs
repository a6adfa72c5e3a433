//! Vectors of known parts, which several threads may fill.

use std::mem::MaybeUninit;

use kaldera_base::memory;

/// Builds a vector of parts of known lengths.
pub(crate) struct SlotVec<T> {
    vec: Vec<T>,
    /// For each part its length, and the number of its values that are still to be written.
    parts: Vec<(usize, usize)>,
}

impl<T: Copy> SlotVec<T> {
    /// Allocates slots for parts of these lengths.
    pub(crate) fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let parts: Vec<_> = lengths.map(|len| (len, len)).collect();
        Self { vec: memory::with_capacity(parts.iter().map(|&(len, _)| len).sum()), parts }
    }

    /// Returns the slot of each part.
    pub(crate) fn each(&mut self) -> impl ExactSizeIterator<Item = Slot<'_, T>> + Send
    where
        T: Send,
    {
        let mut places = self.vec.spare_capacity_mut();
        self.parts.iter_mut().map(move |(len, left)| {
            let (here, rest) = std::mem::take(&mut places).split_at_mut(*len);
            places = rest;
            Slot { places: here, filled: 0, left }
        })
    }

    /// Returns the vector.
    ///
    /// # Panics
    /// If a part is not full.
    pub(crate) fn finish(mut self) -> Vec<T> {
        assert!(self.parts.iter().all(|&(_, left)| left == 0), "parts have the length that was said");
        let len = self.parts.iter().map(|&(len, _)| len).sum();
        // SAFETY: the parts lie one after another in the capacity, and only a `Slot` that has
        // written its whole part sets the length left of it to 0.
        unsafe { self.vec.set_len(len) };
        self.vec
    }
}

/// Memory of one part, which is filled from the front.
pub(crate) struct Slot<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    filled: usize,
    /// Set at the end.
    left: &'a mut usize,
}

impl<T: Copy> Slot<'_, T> {
    /// Appends one value.
    ///
    /// # Panics
    /// If the slot is full.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        self.places[self.filled].write(value);
        self.filled += 1;
    }

    /// Appends one value if `keep`, without a branch that might be mispredicted.
    ///
    /// # Panics
    /// If it is kept and the slot is full.
    #[inline(always)]
    pub(crate) fn push_if(&mut self, keep: bool, value: T) {
        match self.places.get_mut(self.filled) {
            Some(place) => place.write(value),
            None => return assert!(!keep, "parts have the length that was said"),
        };
        self.filled += usize::from(keep);
    }

    /// Appends values.
    ///
    /// # Panics
    /// If there is no room for all.
    #[inline(always)]
    pub(crate) fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) {
        let end = self.filled + values.len();
        // Counted, because the length that an iterator reports may be wrong.
        for (place, value) in self.places[self.filled..end].iter_mut().zip(values) {
            place.write(value);
            self.filled += 1;
        }
    }

    /// Returns the number of values.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.filled
    }
}

impl<T> Drop for Slot<'_, T> {
    fn drop(&mut self) {
        *self.left = self.places.len() - self.filled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_concatenated() {
        let mut slots = SlotVec::<i32>::new([2, 0, 3].into_iter());
        for (i, mut slot) in slots.each().enumerate().collect::<Vec<_>>().into_iter().rev() {
            match i {
                0 => slot.extend([5, 6].into_iter()),
                1 => slot.push_if(false, 9),
                _ => (0..5).for_each(|x| slot.push_if(x % 2 == 0, x)),
            }
        }
        assert_eq!(slots.finish(), [5, 6, 0, 2, 4]);
        assert!(SlotVec::<u8>::new(std::iter::empty()).finish().is_empty());
    }

    #[test]
    #[should_panic(expected = "the length that was said")]
    fn a_part_that_is_too_short_is_noticed() {
        let mut slots = SlotVec::new([2, 1].into_iter());
        slots.each().for_each(|mut slot| slot.push(1));
        slots.finish();
    }

    #[test]
    #[should_panic(expected = "the length that was said")]
    fn a_part_that_nobody_wrote_is_noticed() {
        let mut slots = SlotVec::<i32>::new([1].into_iter());
        slots.each().for_each(std::mem::forget);
        slots.finish();
    }
}
