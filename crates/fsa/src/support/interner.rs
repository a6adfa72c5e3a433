//! One open-addressing hash table for everything that is interned here: it holds numbers, the things themselves lie in flat arrays.

/// Mixes eight more bytes into a hash.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash.rotate_left(29) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}

/// Numbers 0, 1, 2, ... of things, found by the things' hashes.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The upper half is that of the hash, the lower half the number plus one; 0 is a free place. The length is a power of two.
    places: Vec<u64>,
    len: usize,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { places: vec![0; 16], len: 0 }
    }

    /// The number of the thing with this hash, of which the upper half counts, for which `is_it` holds. If there is none, `next` is taken in as its
    /// number and comes back as the error.
    #[inline]
    pub(crate) fn find_or_insert(&mut self, hash: u64, is_it: impl Fn(u32) -> bool, next: usize) -> Result<u32, u32> {
        if !self.has_room(1) {
            self.grow(2 * self.places.len());
        }
        let mut at = first_place(hash, self.places.len());
        loop {
            let found = self.places[at];
            if found == 0 {
                break;
            }
            if found & TAG == hash & TAG && is_it(number(found)) {
                return Ok(number(found));
            }
            at = (at + 1) & (self.places.len() - 1);
        }
        // Numbers are below 2^32 - 1: nobody has memory for so many things of 8 bytes and more and does not meet a limit before.
        let next = u32::try_from(next).ok().filter(|&next| next < u32::MAX).expect("fewer than 2^32 things");
        self.places[at] = (hash & TAG) | u64::from(next + 1);
        self.len += 1;
        Err(next)
    }

    /// Makes room for so many more at once.
    pub(crate) fn reserve(&mut self, more: usize) {
        if !self.has_room(more) {
            self.grow((2 * (self.len + more)).next_power_of_two());
        }
    }

    #[inline]
    fn has_room(&self, more: usize) -> bool {
        (self.len + more) * 8 <= self.places.len() * 5
    }

    /// What lay close together lies so afterwards: memory is gone through in order.
    #[cold]
    fn grow(&mut self, num_places: usize) {
        let old = std::mem::replace(&mut self.places, vec![0; num_places]);
        for found in old.into_iter().filter(|&found| found != 0) {
            let mut at = first_place(found, num_places);
            while self.places[at] != 0 {
                at = (at + 1) & (num_places - 1);
            }
            self.places[at] = found;
        }
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.places.len() * size_of::<u64>()
    }
}

/// The upper half.
const TAG: u64 = !0 << 32;

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn number(place: u64) -> u32 {
    (place as u32).wrapping_sub(1)
}

/// Where to look first among `len` places: the highest bits of the hash, no more than are kept.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "what is left is less than the length")]
fn first_place(hash: u64, len: usize) -> usize {
    (hash >> (u64::BITS - len.trailing_zeros().min(32))) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where many things have one hash, or their hashes differ in what is not kept only.
    #[test]
    fn all_are_found_again() {
        let hashes: [fn(u64) -> u64; 5] = [|i| mix(0, i), |i| i % 7, |i| i << 54, |i| !(i << 32), |_| u64::MAX];
        for hash_of in hashes {
            let mut table = Table::new();
            let mut number = |i: u64, next| table.find_or_insert(hash_of(i), |known| u64::from(known) == i, next);
            for i in 0..2000 {
                let next = usize::try_from(i).unwrap();
                assert_eq!(number(i, next), Err(u32::try_from(i).unwrap()));
                assert_eq!(number(i / 2, usize::MAX), Ok(u32::try_from(i / 2).unwrap()));
            }
            table.reserve(5000);
            let num_places = table.places.len();
            for i in 0..7000 {
                let next = usize::try_from(i).unwrap();
                let found = table.find_or_insert(hash_of(i), |known| u64::from(known) == i, next);
                assert_eq!(found.is_ok(), i < 2000, "{i}");
            }
            assert_eq!(table.places.len(), num_places, "there was room");
        }
    }
}
