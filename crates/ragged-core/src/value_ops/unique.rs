//! Removal of equal rows.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::iter::once;

use kaldera_base::memory;

use crate::ragged::Ragged;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};

/// The result of [`Ragged::unique`].
#[derive(Debug, Clone, PartialEq)]
pub struct Unique<T> {
    /// The different rows of each group.
    pub rows: Ragged<T>,
    /// Number of occurrences of each of them.
    pub num_repeats: Ragged<i32>,
    /// Number of the innermost row of the source where each of them occurs first.
    pub new2old: Vec<i32>,
}

impl<T: Clone + Eq + Hash> Ragged<T> {
    /// Returns the different innermost rows, each at its first occurrence.
    ///
    /// With two axes, all rows are compared; with more, the rows within each list of lists. Rows
    /// are compared value by value (k2 compares a hash, and loses a row now and then).
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let unique = Ragged::from_lists(&[vec![1, 2], vec![], vec![1, 2], vec![3]])?.unique();
    /// assert_eq!(unique.rows.rows().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
    /// assert_eq!(unique.num_repeats.values(), [2, 1, 1]);
    /// assert_eq!(unique.new2old, [0, 1, 3]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "UniqueSequences")]
    pub fn unique(&self) -> Unique<T> {
        /// Number of rows between the prefetch of a table entry and its use.
        const DISTANCE: usize = 64;
        let (last, upper) = self.shape().layers().split_last().unwrap_or_else(|| unreachable!("a shape has layers"));
        let all = [0, last.splits.num_rows() as i32];
        let groups = upper.last().map_or(&all[..], |layer| layer.splits.as_ref());

        let mut seen = Table::new(last.splits.num_rows());
        let mut hashes: Vec<u64> = memory::with_capacity(last.splits.num_rows());
        let mut rows = self.rows();
        for (group, ends) in groups.windows(2).enumerate() {
            // The hash includes the group: otherwise the same row in many groups would make one
            // long chain.
            hashes.extend(rows.by_ref().take((ends[1] - ends[0]) as usize).map(|list| seen.hash(&(group, list))));
        }
        let mut new2old: Vec<i32> = Vec::new();
        let mut repeats: Vec<i32> = Vec::new();
        let mut values: Vec<T> = memory::with_capacity(self.num_elements());
        let mut group_splits = vec![0];
        let mut row_splits = vec![0_i32];
        let mut lists = (0..).zip(self.rows());
        let mut upcoming = hashes.iter().skip(DISTANCE);
        for ends in groups.windows(2) {
            let group = repeats.len();
            for (i, list) in lists.by_ref().take((ends[1] - ends[0]) as usize) {
                let kept = |at: usize| &values[row_splits[at] as usize..row_splits[at + 1] as usize];
                if let Some(&next) = upcoming.next() {
                    seen.prefetch(next);
                }
                match seen.find_or_add(hashes[i as usize], repeats.len(), |at| at >= group && kept(at) == list) {
                    Some(at) => repeats[at] += 1,
                    None => {
                        repeats.push(1);
                        new2old.push(i);
                        values.extend_from_slice(list);
                        row_splits.push(values.len() as i32);
                    }
                }
            }
            group_splits.push(repeats.len() as i32);
        }

        let grouped = Layer::new(RowSplits::trusted(group_splits));
        let innermost = Layer::new(RowSplits::trusted(row_splits));
        let above = upper.split_last().map_or(&[][..], |(_, above)| above).iter().cloned();
        let group_shape = RaggedShape::trusted(above.chain(once(grouped)));
        let shape = match upper.is_empty() {
            true => RaggedShape::trusted([innermost]),
            false => RaggedShape::trusted(group_shape.layers().iter().cloned().chain(once(innermost))),
        };
        Unique { rows: Self::trusted(shape, values), num_repeats: Ragged::trusted(group_shape, repeats), new2old }
    }
}

/// A hash table of the numbers of rows, with open addressing; half of it stays free. An entry has
/// only eight bytes, since most of the time goes to memory. Its hash has a random key, so that no
/// fixed input makes it slow.
struct Table {
    /// Some bits of a row's hash, and its number plus one; two zeros in an empty entry.
    entries: Vec<(u32, u32)>,
    key: u64,
}

impl Table {
    /// Creates a table for this number of rows.
    fn new(lists: usize) -> Self {
        Self { entries: memory::zeros((2 * lists).next_power_of_two()), key: RandomState::new().hash_one(lists) | 1 }
    }

    fn hash(&self, row: &impl Hash) -> u64 {
        let mut hasher = Folding { state: self.key, key: self.key };
        row.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the first index to search for a row of this hash.
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    /// Prefetches the entry of a row of this hash.
    fn prefetch(&self, hash: u64) {
        memory::prefetch_l2(&self.entries, self.home(hash));
    }

    /// Returns the number for which `same` is true, or adds `number` for the row of this hash and
    /// returns `None`.
    fn find_or_add(&mut self, hash: u64, number: usize, same: impl Fn(usize) -> bool) -> Option<usize> {
        let bits = (hash >> 32) as u32;
        let mut at = self.home(hash);
        loop {
            match self.entries[at] {
                (_, 0) => {
                    self.entries[at] = (bits, number as u32 + 1);
                    return None;
                }
                (tag, found) if tag == bits && same(found as usize - 1) => return Some(found as usize - 1),
                _ => at = (at + 1) & (self.entries.len() - 1),
            }
        }
    }
}

/// A hash by folded products of 128 bits: one of the fastest for short rows.
struct Folding {
    state: u64,
    key: u64,
}

impl Folding {
    #[inline]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.key ^ 0x9E37_79B9_7F4A_7C15);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|&word| self.add(u64::from_le_bytes(word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn write_usize(&mut self, x: usize) {
        self.add(x as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_in_every_group_costs_no_more_than_others() {
        let groups = 300_000;
        let shape =
            RaggedShape::regular(groups, 1).unwrap().compose(&RaggedShape::regular(groups, 2).unwrap()).unwrap();
        let unique = Ragged::new(shape, vec![7; 2 * groups]).unwrap().unique();
        assert_eq!(unique.new2old.len(), groups);
    }
}
