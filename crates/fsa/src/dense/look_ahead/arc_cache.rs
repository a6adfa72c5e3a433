//! Cache of the arcs of the states that were requested last, in bounded memory.

use crate::support::ids::{NONE, number};

/// Caches arcs by source state. To free memory, a clock hand goes round the entries and drops those
/// that have not been used since its last visit.
#[derive(Debug, Clone)]
pub(super) struct ArcCache<A> {
    /// Index in `kept` of each state, or [`NONE`].
    place_of: Vec<u32>,
    kept: Vec<Entry<A>>,
    hand: usize,
    /// Bytes of the arcs and of the entries that refer to them.
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Entry<A> {
    state: u32,
    looked_at: bool,
    arcs: Box<[A]>,
}

impl<A> Default for ArcCache<A> {
    fn default() -> Self {
        Self { place_of: Vec::new(), kept: Vec::new(), hand: 0, bytes: 0 }
    }
}

impl<A> ArcCache<A> {
    /// Returns the index of the entry of a state, if it is cached.
    #[inline]
    pub(super) fn find(&mut self, state: u32) -> Option<usize> {
        let place = *self.place_of.get(state as usize).filter(|&&place| place != NONE)? as usize;
        self.kept[place].looked_at = true;
        Some(place)
    }

    /// Returns the arcs at an index.
    #[inline]
    pub(super) fn arcs(&self, place: usize) -> &[A] {
        &self.kept[place].arcs
    }

    /// Inserts the arcs of a state that is not cached, and returns their index.
    pub(crate) fn insert(&mut self, state: u32, arcs: Box<[A]>) -> usize {
        if self.place_of.len() <= state as usize {
            self.place_of.resize(state as usize + 1, NONE);
        }
        let place = self.kept.len();
        self.place_of[state as usize] = number(place);
        self.bytes += Self::cost(arcs.len());
        self.kept.push(Entry { state, looked_at: true, arcs });
        place
    }

    /// Drops arcs until those left take no more than this.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        while self.bytes > bytes && !self.kept.is_empty() {
            self.hand %= self.kept.len();
            if std::mem::take(&mut self.kept[self.hand].looked_at) {
                self.hand += 1;
                continue;
            }
            let dropped = self.kept.swap_remove(self.hand);
            self.bytes -= Self::cost(dropped.arcs.len());
            self.place_of[dropped.state as usize] = NONE;
            if let Some(moved) = self.kept.get(self.hand) {
                self.place_of[moved.state as usize] = number(self.hand);
            }
        }
        if self.kept.is_empty() {
            self.kept = Vec::new();
        }
    }

    /// Returns the number of bytes of the entries and of the index.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.place_of.capacity() * size_of::<u32>()
    }

    /// Returns the number of bytes of a state with so many arcs. Its entry may exist twice while
    /// the list grows.
    pub(super) fn cost(num_arcs: usize) -> usize {
        num_arcs * size_of::<A>() + 2 * size_of::<Entry<A>>()
    }

    /// Returns the number of bytes of the index once `state` is added.
    pub(super) fn bytes_of_places(&self, state: usize) -> usize {
        let (len, capacity) = (state + 1, self.place_of.capacity());
        if len <= capacity { capacity * size_of::<u32>() } else { len.max(2 * capacity).max(4) * size_of::<u32>() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arcs(state: u32) -> Box<[u64]> {
        vec![state.into(); state as usize % 5].into()
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_was_taken_in(states in prop::collection::vec(0..20_u32, 0..100), limit in 0..2000_usize) {
            let mut cache = ArcCache::default();
            for state in states {
                let place = match cache.find(state) {
                    Some(place) => place,
                    None => {
                        cache.shrink(limit.saturating_sub(ArcCache::<u64>::cost(state as usize % 5)));
                        cache.insert(state, arcs(state))
                    }
                };
                prop_assert_eq!(cache.arcs(place), &arcs(state)[..]);
                prop_assert!(cache.bytes <= limit || cache.kept.len() == 1);
                let sum: usize = cache.kept.iter().map(|kept| ArcCache::<u64>::cost(kept.arcs.len())).sum();
                prop_assert_eq!(sum, cache.bytes);
            }
            cache.shrink(0);
            prop_assert_eq!((cache.bytes, cache.kept.len()), (0, 0));
        }
    }
}
