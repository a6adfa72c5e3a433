//! A fast hasher for small keys; it does not resist keys that are chosen to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are small numbers that this crate makes: numbers of nodes and tokens. Texts,
/// which come from files and users, are keys of the standard library's map.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// Hasher that multiplies by an odd constant, word by word.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FastHasher(u64);

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl FastHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    fn write_i32(&mut self, value: i32) {
        self.mix(value.cast_unsigned().into());
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.write(&value.to_le_bytes());
    }

    fn finish(&self) -> u64 {
        // The map uses the low bits, which the multiplication mixes worst.
        self.0 ^ (self.0 >> 32)
    }
}
