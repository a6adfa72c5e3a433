//! Counting sort of entries by their keys.

use std::ops::Range;

/// Values of entries, grouped by the keys of the entries.
#[derive(Debug, Clone)]
pub(crate) struct Grouped<T> {
    splits: Vec<u32>,
    values: Vec<T>,
}

/// Indexes of entries, grouped by key: such as arcs by the state that they enter.
pub(crate) type Adjacency = Grouped<u32>;

impl Adjacency {
    /// Groups entries; `keys` has the key of each entry. As [`Grouped::group`].
    #[inline]
    pub(crate) fn new(num_keys: usize, keys: impl Iterator<Item = usize> + Clone) -> Self {
        Self::group(num_keys, keys.zip(0..))
    }
}

impl<T: Copy + Default> Grouped<T> {
    /// Groups entries, each with a key below `num_keys` and a value. There are fewer than 2^32
    /// entries and keys. O(entries + keys).
    #[inline]
    pub(crate) fn group(num_keys: usize, entries: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        // Counts are stored two entries further on, their sums are the starts one entry further on,
        // and become the ends, which are the next starts.
        let mut splits = vec![0_u32; num_keys + 2];
        let mut len = 0;
        for (key, _) in entries.clone() {
            splits[key + 2] += 1;
            len += 1;
        }
        for key in 2..splits.len() {
            splits[key] += splits[key - 1];
        }
        let mut values = vec![T::default(); len];
        for (key, value) in entries {
            let place = &mut splits[key + 1];
            values[*place as usize] = value;
            *place += 1;
        }
        splits.pop();
        Self { splits, values }
    }

    /// Returns the range of the values of a key in [`order`](Self::order).
    #[inline]
    pub(crate) fn range(&self, key: usize) -> Range<usize> {
        self.splits[key] as usize..self.splits[key + 1] as usize
    }

    /// Returns the values of a key, in the order of the entries.
    #[inline]
    pub(crate) fn row(&self, key: usize) -> &[T] {
        &self.values[self.range(key)]
    }

    /// Returns all values, key by key.
    #[inline]
    pub(crate) fn order(&self) -> &[T] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_key_are_in_rising_order() {
        let keys = [3, 0, 3, 1, 0];
        let sorted = Adjacency::new(5, keys.into_iter());
        assert_eq!(sorted.order(), [1, 4, 3, 0, 2]);
        assert_eq!(
            (0..5).map(|key| sorted.row(key).to_vec()).collect::<Vec<_>>(),
            [vec![1, 4], vec![3], vec![], vec![0, 2], vec![]]
        );
        assert!(Adjacency::new(0, std::iter::empty()).order().is_empty());
    }
}
