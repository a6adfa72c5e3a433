//! Counting sort of entries by their keys.

use std::ops::Range;

/// Indexes of entries, grouped by key: such as arcs by the state that they enter.
#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    splits: Vec<u32>,
    order: Vec<u32>,
}

impl Adjacency {
    /// Groups entries; `keys` has the key of each entry, below `num_keys`. There are fewer than
    /// 2^32 of either. O(entries + keys).
    #[inline]
    pub(crate) fn new(num_keys: usize, keys: impl Iterator<Item = usize> + Clone) -> Self {
        // Counts are stored two entries further on, their sums are the starts one entry further on,
        // and become the ends, which are the next starts.
        let mut splits = vec![0_u32; num_keys + 2];
        let mut len = 0;
        for key in keys.clone() {
            splits[key + 2] += 1;
            len += 1;
        }
        for key in 2..splits.len() {
            splits[key] += splits[key - 1];
        }
        let mut order = vec![0; len];
        for (entry, key) in (0..).zip(keys) {
            let place = &mut splits[key + 1];
            order[*place as usize] = entry;
            *place += 1;
        }
        splits.pop();
        Self { splits, order }
    }

    /// Returns the number of keys.
    #[inline]
    pub(crate) fn num_keys(&self) -> usize {
        self.splits.len() - 1
    }

    /// Returns the range of the entries of a key in [`order`](Self::order).
    #[inline]
    pub(crate) fn range(&self, key: usize) -> Range<usize> {
        self.splits[key] as usize..self.splits[key + 1] as usize
    }

    /// Returns the entries of a key, in rising order.
    #[inline]
    pub(crate) fn row(&self, key: usize) -> &[u32] {
        &self.order[self.range(key)]
    }

    /// Returns all entries, key by key.
    #[inline]
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_key_are_in_rising_order() {
        let keys = [3, 0, 3, 1, 0];
        let sorted = Adjacency::new(5, keys.into_iter());
        assert_eq!((sorted.num_keys(), sorted.order()), (5, &[1, 4, 3, 0, 2][..]));
        assert_eq!(
            (0..5).map(|key| sorted.row(key).to_vec()).collect::<Vec<_>>(),
            [vec![1, 4], vec![3], vec![], vec![0, 2], vec![]]
        );
        assert!(Adjacency::new(0, std::iter::empty()).order().is_empty());
    }
}
