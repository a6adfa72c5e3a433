//! Numbers of pairs, in the order of their first occurrence: an open-addressing table over flat
//! memory.

use crate::error::{Error, Quantity};

/// Gives each new pair the next number, from 0 on.
#[derive(Debug, Clone)]
pub(crate) struct PairInterner {
    /// The pairs by their numbers.
    pairs: Vec<u64>,
    /// Numbers plus one, 0 in a free slot; the length is a power of two, and at least twice the
    /// number of pairs.
    places: Vec<u32>,
}

impl PairInterner {
    /// Allocates memory for about so many pairs; more can be added.
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let pairs = pairs.min(1 << 28);
        Self { pairs: Vec::with_capacity(pairs), places: vec![0; (pairs * 2).max(16).next_power_of_two()] }
    }

    /// Returns the number of pairs.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the pair of a number.
    #[inline]
    pub(crate) fn pair(&self, number: u32) -> (u32, u32) {
        let pair = self.pairs[number as usize];
        (high(pair), low(pair))
    }

    /// Returns the number of a pair, if it is known.
    #[inline]
    pub(crate) fn find(&self, first: u32, second: u32) -> Option<u32> {
        self.place(join(first, second)).ok()
    }

    /// Returns the number of a pair, and `true` if it is new.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the number of pairs exceeds the number of possible states.
    #[inline(always)]
    pub(crate) fn insert(&mut self, first: u32, second: u32) -> Result<(u32, bool), Error> {
        let pair = join(first, second);
        let place = match self.place(pair) {
            Ok(number) => return Ok((number, false)),
            Err(place) => place,
        };
        let number = Error::fit(Quantity::States, self.pairs.len() + 1)?.cast_unsigned() - 1;
        self.pairs.push(pair);
        self.places[place] = number + 1;
        if self.pairs.len() * 2 > self.places.len() {
            self.grow();
        }
        Ok((number, true))
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<u64>() + self.places.len() * size_of::<u32>()
    }

    /// Returns the number of bytes with one more pair.
    pub(crate) fn bytes_with_one_more(&self) -> usize {
        let pairs = if self.pairs.len() < self.pairs.capacity() { 1 } else { 2 } * self.pairs.capacity().max(4);
        let places = if self.pairs.len() * 2 < self.places.len() { 1 } else { 2 } * self.places.len();
        pairs * size_of::<u64>() + places * size_of::<u32>()
    }

    /// Returns the number of the pair, or the free slot for it.
    #[inline]
    fn place(&self, pair: u64) -> Result<u32, usize> {
        let mask = self.places.len() - 1;
        let mut place = hash(pair) & mask;
        loop {
            match self.places[place] {
                0 => return Err(place),
                number if self.pairs[number as usize - 1] == pair => return Ok(number - 1),
                _ => place = (place + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.places.len() * 2 - 1;
        // The old table is freed before the new one is allocated: the pairs are enough to fill it.
        self.places = Vec::new();
        self.places = vec![0; mask + 1];
        for (number, &pair) in (1..).zip(&self.pairs) {
            let mut place = hash(pair) & mask;
            while self.places[place] != 0 {
                place = (place + 1) & mask;
            }
            self.places[place] = number;
        }
    }
}

#[inline]
fn join(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

#[inline]
fn high(pair: u64) -> u32 {
    u32::try_from(pair >> 32).expect("32 bits are left")
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn low(pair: u64) -> u32 {
    pair as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
fn hash(pair: u64) -> usize {
    let mixed = (pair ^ (pair >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_numbers() {
        let mut pairs = PairInterner::with_capacity(0);
        for round in 0..2 {
            for i in 0..10_000 {
                let expected = pairs.bytes_with_one_more();
                assert_eq!(pairs.insert(i % 100, i / 100), Ok((i, round == 0)));
                assert!(pairs.bytes() <= expected, "{} {expected}", pairs.bytes());
            }
        }
        assert_eq!(
            (pairs.len(), pairs.pair(205), pairs.find(5, 2), pairs.find(2, 500)),
            (10_000, (5, 2), Some(205), None)
        );
    }
}
