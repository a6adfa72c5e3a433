//! States and arcs of a composition in bounded memory, which several threads fill and read without
//! waiting for each other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::look_ahead::Pair;
use crate::core::transducer::CostArc;
use crate::support::ids::{NONE, number};

/// States, and arcs, of a page.
const PAGE: usize = 1 << 13;
/// Words of a state: two of the pair, one of the first arc and the number of arcs, one of the final
/// cost and the number of epsilons.
const STATE: usize = 4;
/// Words of an arc.
const ARC: usize = 2;
/// The third word of a state without arcs so far.
const UNKNOWN: u64 = u64::MAX;

/// Pages of words, each made when it is first written.
#[derive(Debug)]
struct Pages {
    pages: Vec<OnceLock<Box<[AtomicU64]>>>,
    /// Words of a page.
    len: usize,
}

impl Pages {
    /// Creates empty pages for so many entries of some words.
    fn new(entries: usize, words: usize) -> Self {
        Self { pages: (0..entries.div_ceil(PAGE)).map(|_| OnceLock::new()).collect(), len: PAGE * words }
    }

    /// Returns the words of an entry, `None` if its page was never written.
    #[inline]
    fn entry<const N: usize>(&self, at: usize) -> Option<&[AtomicU64; N]> {
        let page = self.pages.get(at / PAGE)?.get()?;
        page[at % PAGE * N..][..N].try_into().ok()
    }

    /// Returns the words of an entry, `None` if it is beyond the last page.
    fn make<const N: usize>(&self, at: usize) -> Option<&[AtomicU64; N]> {
        let page = self.pages.get(at / PAGE)?;
        if page.get().is_none() {
            // A thread that comes second drops its page: nobody waits while it is made.
            _ = page.set((0..self.len).map(|_| AtomicU64::new(UNKNOWN)).collect());
        }
        self.entry(at)
    }
}

/// The states of a composition that were reached, by their numbers, with the arcs of those that
/// were expanded. Nothing is ever removed: a full table is dropped as a whole.
#[derive(Debug)]
pub(super) struct SharedStates {
    /// Hash table of the numbers of states plus 1; 0 is an empty slot. Its length is a power of
    /// two.
    slots: Box<[AtomicU32]>,
    states: Pages,
    arcs: Pages,
    num_states: AtomicUsize,
    num_arcs: AtomicUsize,
    /// Bytes from which on it is full.
    limit: usize,
}

/// Least number of slots: what one frame of a search reaches has room.
const LEAST_SLOTS: usize = 1 << 16;
/// Least number of arcs that have room, for the same reason.
const LEAST_ARCS: usize = 1 << 23;
/// Bytes of the limit for each slot.
const BYTES_OF_SLOT: usize = 64;

impl SharedStates {
    /// Creates an empty table that is full at about `limit` bytes. It takes more until its users
    /// notice.
    pub(super) fn new(limit: usize) -> Self {
        let num_slots = (limit / BYTES_OF_SLOT).next_power_of_two().clamp(LEAST_SLOTS, 1 << 30);
        let max_arcs = (limit / 4).clamp(LEAST_ARCS, 1 << 31);
        Self {
            slots: (0..num_slots).map(|_| AtomicU32::new(0)).collect(),
            states: Pages::new(num_slots / 8 * 7, STATE),
            arcs: Pages::new(max_arcs, ARC),
            num_states: AtomicUsize::new(0),
            num_arcs: AtomicUsize::new(0),
            limit,
        }
    }

    /// Returns the number of states.
    pub(super) fn num_states(&self) -> usize {
        self.num_states.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        let num_arcs = self.num_arcs.load(Ordering::Relaxed);
        4 * self.slots.len() + 8 * (self.num_states() * STATE + num_arcs * ARC)
    }

    /// Returns `true` if it is time for a new table.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.bytes() > self.limit.max(4 * LEAST_SLOTS * 4) || 4 * self.num_states() > 2 * self.slots.len()
    }

    /// Returns the pair of a state.
    #[inline]
    pub(super) fn pair(&self, state: u32) -> Option<Pair> {
        let [sides, filters, ..] = self.states.entry::<STATE>(state as usize)?;
        Some(unpack([sides.load(Ordering::Relaxed), filters.load(Ordering::Relaxed)]))
    }

    /// Returns the state of a pair, which may be new; `None` if there is no room.
    pub(super) fn state(&self, pair: Pair) -> Option<u32> {
        let words = pack(pair);
        let mask = self.slots.len() - 1;
        let mut slot = hash(words) & mask;
        let mut made = None;
        loop {
            let mut found = self.slots[slot].load(Ordering::Acquire);
            if found == 0 {
                let new = match made {
                    Some(new) => new,
                    None => *made.insert(self.add(words)?),
                };
                match self.slots[slot].compare_exchange(0, new + 1, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Some(new),
                    Err(other) => found = other,
                }
            }
            // Of two threads that add the same pair, one leaves a number without a use.
            if self.pair(found - 1) == Some(pair) {
                return Some(found - 1);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add(&self, words: [u64; 2]) -> Option<u32> {
        let at = self.num_states.fetch_add(1, Ordering::Relaxed);
        let entry = if at < self.slots.len() / 8 * 7 { self.states.make::<STATE>(at) } else { None };
        let Some([sides, filters, ..]) = entry else {
            self.num_states.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        sides.store(words[0], Ordering::Relaxed);
        filters.store(words[1], Ordering::Relaxed);
        Some(number(at))
    }

    /// Appends the arcs of a state to `out`, those without input labels first. Returns the final
    /// cost and the number of these; `None` if the state was not expanded.
    #[inline]
    pub(super) fn arcs(&self, state: u32, out: &mut Vec<CostArc>) -> Option<(f32, usize)> {
        let [.., arcs, end] = self.states.entry::<STATE>(state as usize)?;
        let [first, len] = match arcs.load(Ordering::Acquire) {
            UNKNOWN => return None,
            word => halves(word),
        };
        let [final_cost, num_epsilons] = halves(end.load(Ordering::Relaxed));
        for at in 0..len {
            let [labels, rest] = self.arcs.entry::<ARC>((first + at) as usize)?;
            let [ilabel, olabel] = halves(labels.load(Ordering::Relaxed));
            let [cost, dest] = halves(rest.load(Ordering::Relaxed));
            let [ilabel, olabel] = [ilabel.cast_signed(), olabel.cast_signed()];
            out.push(CostArc { ilabel, olabel, cost: f32::from_bits(cost), dest });
        }
        Some((f32::from_bits(final_cost), num_epsilons as usize))
    }

    /// Stores the arcs of a state, `num_epsilons` without input labels first, and its final cost.
    /// Returns `None` if there is no room.
    pub(super) fn set_arcs(&self, state: u32, arcs: &[CostArc], num_epsilons: usize, final_cost: f32) -> Option<()> {
        let room = (self.arcs.pages.len() * PAGE).min(NONE as usize - 1);
        let end = |first: usize| Some(first + arcs.len()).filter(|&end| end <= room);
        let first = self.num_arcs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).ok()?;
        for (at, arc) in (first..).zip(arcs) {
            let [labels, rest] = self.arcs.make::<ARC>(at)?;
            labels.store(word(arc.ilabel.cast_unsigned(), arc.olabel.cast_unsigned()), Ordering::Relaxed);
            rest.store(word(arc.cost.to_bits(), arc.dest), Ordering::Relaxed);
        }
        let [.., of_arcs, end] = self.states.entry::<STATE>(state as usize)?;
        // A second thread writes the same value here.
        end.store(word(final_cost.to_bits(), number(num_epsilons)), Ordering::Relaxed);
        // The arcs of a thread that comes second stay without a use.
        let word = word(number(first), number(arcs.len()));
        _ = of_arcs.compare_exchange(UNKNOWN, word, Ordering::Release, Ordering::Relaxed);
        Some(())
    }
}

#[inline]
fn word(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn pack(pair: Pair) -> [u64; 2] {
    [word(pair.left, pair.right), word(pair.ahead.cast_unsigned(), pair.rest)]
}

fn unpack([sides, filters]: [u64; 2]) -> Pair {
    let ([left, right], [ahead, rest]) = (halves(sides), halves(filters));
    Pair { left, right, ahead: ahead.cast_signed(), rest }
}

/// Mixes all bits into the low ones.
#[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
fn hash([a, b]: [u64; 2]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (a ^ b.rotate_left(27)).wrapping_mul(ODD) ^ b.wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(ODD);
    (mixed ^ mixed >> 29) as usize
}
