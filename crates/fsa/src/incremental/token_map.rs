//! The states of a frame with their tokens, in the order in which Kaldi visits them.

use crate::support::ids::{NONE, number};

/// A map from states to tokens. Its order is the order of Kaldi's `HashList`: states of one bucket
/// stand together, buckets are in the order of their first states. The order matters as the beam
/// narrows while arcs are followed.
#[derive(Debug, Clone)]
pub(super) struct TokenMap {
    buckets: Vec<Bucket>,
    entries: Vec<Entry>,
    /// Number of buckets in use.
    size: u32,
    first: u32,
    last_bucket: u32,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Its last entry; [`NONE`] if it is empty.
    last: u32,
    /// The bucket before it.
    before: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    state: u32,
    token: u32,
    next: u32,
}

const EMPTY: Bucket = Bucket { last: NONE, before: NONE };

/// Number of buckets for the first frame, as in Kaldi.
const FIRST_SIZE: u32 = 1000;

impl TokenMap {
    pub(super) fn new() -> Self {
        let buckets = vec![EMPTY; FIRST_SIZE as usize];
        Self { buckets, entries: Vec::new(), size: FIRST_SIZE, first: NONE, last_bucket: NONE }
    }

    /// Removes everything; the number of buckets stays.
    pub(super) fn clear(&mut self) {
        let mut bucket = self.last_bucket;
        while bucket != NONE {
            let Bucket { before, .. } = std::mem::replace(&mut self.buckets[bucket as usize], EMPTY);
            bucket = before;
        }
        self.entries.clear();
        (self.first, self.last_bucket) = (NONE, NONE);
    }

    /// Sees to it that there are this many buckets; the map must be empty.
    pub(super) fn reserve(&mut self, size: usize) {
        let size = number(size.min(i32::MAX as usize));
        if size > self.size {
            self.size = size;
            self.buckets.resize(size as usize, EMPTY);
        }
    }

    /// Returns the states and their tokens, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let entry = |at: u32| self.entries.get(at as usize).map(|entry| (at, *entry));
        std::iter::successors(entry(self.first), move |(_, before)| entry(before.next))
            .map(|(_, entry)| (entry.state, entry.token))
    }

    /// Returns the token of a state.
    #[inline]
    pub(super) fn get(&self, state: u32) -> Option<u32> {
        let bucket = self.buckets[(state % self.size) as usize];
        if bucket.last == NONE {
            return None;
        }
        let end = self.entries[bucket.last as usize].next;
        let mut at = match bucket.before {
            NONE => self.first,
            before => self.entries[self.buckets[before as usize].last as usize].next,
        };
        while at != end {
            let entry = self.entries[at as usize];
            if entry.state == state {
                return Some(entry.token);
            }
            at = entry.next;
        }
        None
    }

    /// Adds a state that is not there yet.
    pub(super) fn insert(&mut self, state: u32, token: u32) {
        let at = state % self.size;
        let entry = number(self.entries.len());
        let bucket = self.buckets[at as usize];
        let next = if bucket.last == NONE {
            match self.last_bucket {
                NONE => self.first = entry,
                before => {
                    let last = self.buckets[before as usize].last;
                    self.entries[last as usize].next = entry;
                }
            }
            self.buckets[at as usize] = Bucket { last: entry, before: self.last_bucket };
            self.last_bucket = at;
            NONE
        } else {
            self.buckets[at as usize].last = entry;
            std::mem::replace(&mut self.entries[bucket.last as usize].next, entry)
        };
        self.entries.push(Entry { state, token, next });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_a_bucket_stand_together() {
        let mut map = TokenMap::new();
        for (token, state) in (0..).zip([5, 7, 1005, 2, 1007, 2005]) {
            assert_eq!(map.get(state), None);
            map.insert(state, token);
        }
        let states: Vec<_> = map.iter().map(|(state, _)| state).collect();
        assert_eq!(states, [5, 1005, 2005, 7, 1007, 2]);
        assert!([(5, 0), (7, 1), (1005, 2), (2, 3), (1007, 4), (2005, 5)].iter().all(|&(s, t)| map.get(s) == Some(t)));
        map.clear();
        map.reserve(3000);
        assert_eq!((map.get(5), map.iter().count()), (None, 0));
        [1005, 5].map(|state| map.insert(state, 9));
        assert_eq!(map.iter().map(|(state, _)| state).collect::<Vec<_>>(), [1005, 5]);
    }
}
