//! Strings with numbers, one to one, in few bytes: one text, and indexes into it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::error::{Error, Quantity};
use crate::support::ids::{NONE, number};

/// Symbols and their labels in the order in which they were added. A symbol takes its bytes and 12
/// to 45 more, if labels are not far beyond the number of symbols.
#[derive(Clone, Default)]
pub(crate) struct Symbols {
    text: String,
    /// End of each symbol in the text; it begins where the one before ends.
    ends: Vec<u32>,
    pub(crate) labels: Vec<i32>,
    /// Hash table, made when it is first needed: the upper half of a symbol's hash and its index
    /// plus 1; 0 is an empty slot. Its length is a power of two.
    slots: OnceLock<Vec<u64>>,
    /// Index of each label from 0 on, or [`NONE`].
    by_label: Vec<u32>,
    /// Indexes of the labels beyond those.
    by_other_label: HashMap<i32, u32>,
    /// Highest label, 0 without symbols.
    pub(crate) highest: i32,
    hasher: RandomState,
}

impl Symbols {
    /// Returns the symbol at an index.
    #[inline]
    pub(crate) fn text(&self, at: u32) -> &str {
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.text[first as usize..self.ends[at as usize] as usize]
    }

    /// Returns the index of a label.
    #[inline]
    pub(crate) fn of_label(&self, label: i32) -> Option<u32> {
        match usize::try_from(label).ok().and_then(|label| self.by_label.get(label)) {
            Some(&at) => (at != NONE).then_some(at),
            None => self.by_other_label.get(&label).copied(),
        }
    }

    /// Returns the index of a symbol, the first one if there are several.
    pub(crate) fn find(&self, symbol: &str) -> Option<u32> {
        let slots = self.slots.get_or_init(|| self.hashed(self.labels.len()));
        self.place(slots, self.hasher.hash_one(symbol), symbol).ok()
    }

    /// Returns the index of a symbol with a hash, or the slot at which it is missed.
    #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do, and an index is the lower half")]
    fn place(&self, slots: &[u64], hash: u64, symbol: &str) -> Result<u32, usize> {
        let mask = slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = slots[slot];
            if found == 0 {
                return Err(slot);
            }
            if found >> 32 == hash >> 32 && self.text(found as u32 - 1) == symbol {
                return Ok(found as u32 - 1);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Returns a hash table of all symbols, with room for `len`.
    fn hashed(&self, len: usize) -> Vec<u64> {
        let mut slots = vec![0; (2 * len.max(4)).next_power_of_two()];
        for at in 0..number(self.labels.len()) {
            let hash = self.hasher.hash_one(self.text(at));
            if let Err(slot) = self.place(&slots, hash, self.text(at)) {
                slots[slot] = entry(hash, at);
            }
        }
        slots
    }

    /// Adds a symbol, unless it is there; returns `true` if it was not. Its label is new.
    pub(crate) fn add(&mut self, symbol: &str, label: i32) -> Result<bool, Error> {
        let len = self.labels.len();
        let mut slots = self.slots.take().filter(|slots| 2 * len < slots.len()).unwrap_or_else(|| self.hashed(2 * len));
        let hash = self.hasher.hash_one(symbol);
        let place = self.place(&slots, hash, symbol);
        let added = match place {
            Ok(_) => Ok(false),
            Err(slot) => self.append(symbol, label).map(|at| {
                slots[slot] = entry(hash, at);
                true
            }),
        };
        self.slots = slots.into();
        added
    }

    /// Adds a symbol without a look at the others, and returns its index. The hash table is made
    /// again when it is needed.
    pub(crate) fn append(&mut self, symbol: &str, label: i32) -> Result<u32, Error> {
        let at = Error::fit(Quantity::Symbols, self.labels.len())?.cast_unsigned();
        let end = self.text.len() + symbol.len();
        let too_large = Error::TooLarge { what: Quantity::StringLength, size: end as u64 };
        let end = u32::try_from(end).map_err(|_| too_large)?;
        self.slots.take();
        if self.labels.len() >= self.by_label.len() {
            self.reserve(self.labels.len() + 4);
        }
        self.text.push_str(symbol);
        self.ends.push(end);
        self.labels.push(label);
        self.set_label(label, at);
        self.highest = self.highest.max(label);
        Ok(at)
    }

    fn set_label(&mut self, label: i32, at: u32) {
        match usize::try_from(label).ok().and_then(|label| self.by_label.get_mut(label)) {
            Some(slot) => *slot = at,
            None => _ = self.by_other_label.insert(label, at),
        }
    }

    /// Makes the tables large enough for this number of further symbols.
    pub(crate) fn reserve(&mut self, more: usize) {
        let len = self.labels.len() + more;
        self.ends.reserve(more);
        self.labels.reserve(more);
        if len > self.by_label.len() {
            self.by_label = vec![NONE; len + len / 8];
            self.by_other_label.clear();
            for at in 0..self.labels.len() {
                self.set_label(self.labels[at], number(at));
            }
        }
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.ends.capacity() + self.labels.capacity() + self.by_label.capacity();
        let slots = self.slots.get().map_or(0, Vec::capacity);
        self.text.capacity() + 4 * numbers + 8 * slots + 16 * self.by_other_label.capacity()
    }
}

/// Returns the entry of a symbol in the hash table.
fn entry(hash: u64, at: u32) -> u64 {
    hash >> 32 << 32 | u64::from(at + 1)
}
