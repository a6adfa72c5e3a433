//! Lists that are different from each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::iter::once;

use crate::shape::Layer;
use crate::{Ragged, RaggedShape, RowSplits};

/// What [`Ragged::unique`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Unique<T> {
    /// The different lists of each group.
    pub lists: Ragged<T>,
    /// How often each of them was there.
    pub num_repeats: Ragged<i32>,
    /// Which innermost list of the source each of them was at first.
    pub new2old: Vec<i32>,
}

impl<T: Clone + Eq + Hash> Ragged<T> {
    /// The different innermost lists, each where it came first.
    ///
    /// With two axes, of all lists; with more, within each list of lists. Lists are compared value by value (k2 compares a
    /// hash, and loses a list now and then).
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let unique = Ragged::from_lists(&[vec![1, 2], vec![], vec![1, 2], vec![3]])?.unique();
    /// assert_eq!(unique.lists.rows().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
    /// assert_eq!(unique.num_repeats.values(), [2, 1, 1]);
    /// assert_eq!(unique.new2old, [0, 1, 3]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "UniqueSequences")]
    pub fn unique(&self) -> Unique<T> {
        let (last, upper) = self.shape().layers().split_last().unwrap_or_else(|| unreachable!("a shape has layers"));
        let all = [0, last.splits.num_rows() as i32];
        let groups = upper.last().map_or(&all[..], |layer| layer.splits.as_ref());

        let mut seen: HashMap<(usize, &[T]), usize> = HashMap::with_capacity(last.splits.num_rows());
        let mut new2old: Vec<i32> = Vec::new();
        let mut repeats: Vec<i32> = Vec::new();
        let mut values: Vec<T> = Vec::new();
        let mut group_splits = vec![0];
        let mut list_splits = vec![0];
        let mut lists = (0..).zip(self.rows());
        for (group, ends) in groups.windows(2).enumerate() {
            for (i, list) in lists.by_ref().take((ends[1] - ends[0]) as usize) {
                match seen.entry((group, list)) {
                    Entry::Occupied(at) => repeats[*at.get()] += 1,
                    Entry::Vacant(at) => {
                        at.insert(repeats.len());
                        repeats.push(1);
                        new2old.push(i);
                        values.extend_from_slice(list);
                        list_splits.push(values.len() as i32);
                    }
                }
            }
            group_splits.push(repeats.len() as i32);
        }

        let grouped = Layer::new(RowSplits::trusted(group_splits));
        let innermost = Layer::new(RowSplits::trusted(list_splits));
        let above = upper.split_last().map_or(&[][..], |(_, above)| above).iter().cloned();
        let group_shape = RaggedShape::trusted(above.chain(once(grouped)));
        let shape = match upper.is_empty() {
            true => RaggedShape::trusted([innermost]),
            false => RaggedShape::trusted(group_shape.layers().iter().cloned().chain(once(innermost))),
        };
        Unique { lists: Self::trusted(shape, values), num_repeats: Ragged::trusted(group_shape, repeats), new2old }
    }
}
