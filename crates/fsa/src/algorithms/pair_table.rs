//! Numbers for pairs of states, in the order in which the pairs come up.

/// Finds the number of a pair in one look, mostly: open addressing, the place by multiplication (D. E. Knuth, *The Art of Computer
/// Programming* 3, 6.4).
pub(crate) struct PairTable {
    /// Keys and numbers; [`EMPTY`] where there is none. The length is a power of two.
    places: Vec<(u64, i32)>,
    num_pairs: usize,
    /// 64 less the logarithm of the length.
    shift: u32,
}

/// No pair has this key, as it would need states above the largest i32.
const EMPTY: u64 = u64::MAX;

impl PairTable {
    /// Room for about `pairs`; more come in, too.
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let len = (pairs.min(1 << 28) * 2).max(16).next_power_of_two();
        Self { places: vec![(EMPTY, 0); len], num_pairs: 0, shift: 64 - len.trailing_zeros() }
    }

    /// The number under `key`, or else `next`, which is its number from now on, and whether it is new.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, key: u64, next: i32) -> (i32, bool) {
        debug_assert_ne!(key, EMPTY);
        let mut at = self.place(key);
        loop {
            let (found, number) = self.places[at];
            if found == key {
                return (number, false);
            }
            if found == EMPTY {
                break;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = (key, next);
        self.num_pairs += 1;
        if self.num_pairs * 8 > self.places.len() * 5 {
            self.grow();
        }
        (next, true)
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift).unwrap_or(0)
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::with_capacity(self.places.len());
        for &(key, number) in self.places.iter().filter(|&&(key, _)| key != EMPTY) {
            let mut at = larger.place(key);
            while larger.places[at].0 != EMPTY {
                at = (at + 1) & (larger.places.len() - 1);
            }
            larger.places[at] = (key, number);
        }
        larger.num_pairs = self.num_pairs;
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_while_it_grows() {
        let mut table = PairTable::with_capacity(0);
        let keys = |i: u64| i.wrapping_mul(i) << 20 | i;
        for i in 0..5000 {
            assert_eq!(table.get_or_insert(keys(i), i32::try_from(i).unwrap()), (i32::try_from(i).unwrap(), true));
        }
        for i in 0..5000 {
            assert_eq!(table.get_or_insert(keys(i), -1), (i32::try_from(i).unwrap(), false));
        }
    }
}
