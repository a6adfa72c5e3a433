//! Pruning of all but the best entries.

use std::cmp::Ordering;

use crate::error::Error;
use crate::kernels::rows_of;
use crate::ragged::Ragged;
use crate::shape::RaggedShape;
use crate::value_ops::number::Float;

impl<T: Float> Ragged<T> {
    /// Returns the entries of `axis` whose score is within `beam` of the best score in their row
    /// (of all, on axis 0). If `max_elems` is not 0, only the `max_elems` best of these are kept,
    /// the earlier ones of equals. The order is ascending.
    ///
    /// The score of a value is the value. The score of a row is the highest value in it, -inf if it
    /// has none.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1.0, 5.0, 4.5], vec![], vec![3.0]])?;
    /// assert_eq!(a.prune_ragged(1, 1.0, 0)?, [1, 2, 3]);
    /// assert_eq!(a.prune_ragged(0, 9.0, 1)?, [0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such axis.
    #[doc(alias = "PruneRagged")]
    pub fn prune_ragged(&self, axis: usize, beam: T, max_elems: usize) -> Result<Vec<i32>, Error> {
        let last = self.num_axes() - 1;
        RaggedShape::check_axis(axis, 0..=last)?;
        let mut scores = self.values().to_vec();
        for below in (axis + 1..=last).rev() {
            let splits = self.shape().row_splits(below);
            let mut best = vec![T::NEG_INFINITY; splits.num_rows()];
            T::max_rows(splits.as_ref(), &scores, T::NEG_INFINITY, &mut best);
            scores = best;
        }
        let all = [0, scores.len() as i32];
        let groups = if axis == 0 { &all[..] } else { self.shape().row_splits(axis).as_ref() };
        let mut kept: Vec<i32> = Vec::new();
        for group in rows_of(groups) {
            let first = group.start as i32;
            let scores = &scores[group];
            let best = scores.iter().fold(T::NEG_INFINITY, |best, &x| if x > best { x } else { best });
            let from = kept.len();
            kept.extend((first..).zip(scores).filter(|&(_, &x)| x >= best - beam).map(|(i, _)| i));
            if max_elems > 0 && kept.len() - from > max_elems {
                let score = |i: i32| scores[(i - first) as usize];
                kept[from..].sort_by(|&i, &j| score(j).partial_cmp(&score(i)).unwrap_or(Ordering::Equal));
                kept.truncate(from + max_elems);
                kept[from..].sort_unstable();
            }
        }
        Ok(kept)
    }
}
