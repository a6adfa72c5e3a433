//! Numbers 0, 1, 2, ... for keys, in the order of their first occurrence: open-addressing hash
//! tables over flat arrays.

use crate::core::limits::bytes_with;
use crate::support::ids;

/// Mixes eight more bytes into a hash.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash.rotate_left(29) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}

/// Numbers of keys, found by the hashes of the keys; the keys themselves are stored elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The upper half holds the upper half of the hash, the lower half the number plus one; 0 is a
    /// free slot. The length is a power of two.
    places: Vec<u64>,
    len: usize,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { places: vec![0; 16], len: 0 }
    }

    /// Returns the number of the key with this hash, of which only the upper half is compared, for
    /// which `is_it` holds. If there is none, `next` becomes its number and is returned as the
    /// error.
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
        // 2^32 keys of 8 bytes and more are beyond all limits.
        let next = u32::try_from(next).ok().filter(|&next| next < u32::MAX).expect("fewer than 2^32 keys");
        self.places[at] = (hash & TAG) | u64::from(next + 1);
        self.len += 1;
        Err(next)
    }

    /// Reserves memory for `more` keys at once.
    pub(crate) fn reserve(&mut self, more: usize) {
        if !self.has_room(more) {
            self.grow((2 * (self.len + more)).next_power_of_two());
        }
    }

    #[inline]
    fn has_room(&self, more: usize) -> bool {
        (self.len + more) * 8 <= self.places.len() * 5
    }

    /// Entries that were close together stay close, so memory is read and written in order.
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

    /// Returns the number of bytes with `more` keys, including growth.
    pub(crate) fn bytes_with(&self, more: usize) -> usize {
        let grown = (2 * (self.len + more)).next_power_of_two().max(2 * self.places.len());
        let grown = if self.has_room(more) { 0 } else { grown };
        (self.places.len() + grown) * size_of::<u64>()
    }
}

/// A key of an [`Interner`], or an element of one of a [`SliceInterner`].
pub(crate) trait Key: Copy {
    /// Returns `true` if both are the same key.
    fn is(&self, other: &Self) -> bool;

    /// Mixes the key into a hash.
    fn mix(&self, hash: u64) -> u64;
}

impl Key for u64 {
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn mix(&self, hash: u64) -> u64 {
        mix(hash, *self)
    }
}

impl Key for (u32, u32) {
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn mix(&self, hash: u64) -> u64 {
        mix(hash, (u64::from(self.0) << 32) | u64::from(self.1))
    }
}

impl Key for (u64, u32) {
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn mix(&self, hash: u64) -> u64 {
        mix(mix(hash, self.0), self.1.into())
    }
}

/// Numbers of keys.
#[derive(Debug, Clone)]
pub(crate) struct Interner<K> {
    keys: Vec<K>,
    table: Table,
}

impl<K: Key> Interner<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Vec::new(), table: Table::new() }
    }

    /// Returns the number of a key, which is the next one if it is new.
    #[inline]
    pub(crate) fn number(&mut self, key: K) -> u32 {
        let keys = &self.keys;
        let found = self.table.find_or_insert(key.mix(0), |id| keys[id as usize].is(&key), keys.len());
        found.unwrap_or_else(|new| {
            self.keys.push(key);
            new
        })
    }

    /// Gives a key the next number, without adding it to the table.
    #[inline]
    pub(crate) fn push(&mut self, key: K) -> u32 {
        self.keys.push(key);
        ids::number(self.keys.len() - 1)
    }

    /// Returns all keys by their numbers.
    #[inline]
    pub(crate) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_with(0)
    }

    /// Returns the number of bytes with `more` keys.
    pub(crate) fn bytes_with(&self, more: usize) -> usize {
        bytes_with(&self.keys, more) + self.table.bytes_with(more)
    }
}

/// Numbers of keys that are slices.
#[derive(Debug, Clone)]
pub(crate) struct SliceInterner<K> {
    elements: Vec<K>,
    ends: Vec<usize>,
    table: Table,
}

impl<K: Key> SliceInterner<K> {
    pub(crate) fn new() -> Self {
        Self { elements: Vec::new(), ends: Vec::new(), table: Table::new() }
    }

    /// Returns the number of slices.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of a slice, and `true` if it is new.
    #[inline]
    pub(crate) fn number(&mut self, slice: &[K]) -> (u32, bool) {
        let (elements, ends) = (&self.elements, &self.ends);
        let is_it = |id: u32| {
            let found = &elements[range(ends, id)];
            found.len() == slice.len() && found.iter().zip(slice).all(|(a, b)| a.is(b))
        };
        let hash = slice.iter().fold(0, |hash, element| element.mix(hash));
        match self.table.find_or_insert(hash, is_it, ends.len()) {
            Ok(found) => (found, false),
            Err(_) => (self.push(slice), true),
        }
    }

    /// Gives a slice the next number, without adding it to the table.
    #[inline]
    pub(crate) fn push(&mut self, slice: &[K]) -> u32 {
        self.elements.extend_from_slice(slice);
        self.ends.push(self.elements.len());
        ids::number(self.ends.len() - 1)
    }

    /// Returns the slice of a number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &[K] {
        &self.elements[range(&self.ends, number)]
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_with(0, 0)
    }

    /// Returns the number of bytes with `more` slices that have so many elements.
    pub(crate) fn bytes_with(&self, more: usize, elements: usize) -> usize {
        bytes_with(&self.elements, elements) + bytes_with(&self.ends, more) + self.table.bytes_with(more)
    }
}

#[inline]
fn range(ends: &[usize], number: u32) -> std::ops::Range<usize> {
    let number = number as usize;
    number.checked_sub(1).map_or(0, |before| ends[before])..ends[number]
}

/// Mask of the upper half.
const TAG: u64 = !0 << 32;

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn number(place: u64) -> u32 {
    (place as u32).wrapping_sub(1)
}

/// Returns the first slot to look at among `len`: the highest bits of the hash, at most as many as
/// are stored.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "what is left is less than the length")]
fn first_place(hash: u64, len: usize) -> usize {
    (hash >> (u64::BITS - len.trailing_zeros().min(32))) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also if many keys have the same hash, or if their hashes differ only in bits that are not
    /// stored.
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
