//! The second side of a look-ahead composition: an acceptor of words that backs off.

use crate::core::arc::EPSILON;
use crate::core::fsa::Fsa;
use crate::core::limits::Limits;
use crate::error::{Error, LookAheadProblem, Operation, Quantity};
use crate::k2::first_labels::Interval;
use crate::support::ids::{NONE, number};

use crate::dense::look_ahead::Backoff;

/// Arcs sorted by the slots that take them, so that the best arc of an interval of slots is found
/// at once.
#[derive(Debug, Clone)]
pub(super) struct Grammar {
    /// For each state and one more, its first arc.
    first_arcs: Vec<u32>,
    /// Slot of each arc, in rising order for each state. An arc stands once for each slot of its
    /// word.
    slots: Vec<u32>,
    scores: Vec<f32>,
    dests: Vec<u32>,
    /// State to which each state backs off, [`NONE`] if it does not, and the score for it.
    backoffs: Vec<(u32, f32)>,
    /// Best scores of [`BLOCK`] arcs, and of as many of these.
    blocks: [Vec<f32>; 2],
    /// For each state, the best score of any word, or of the end.
    best: Vec<f32>,
    /// State with the most arcs among the states that do not back off, [`NONE`] if there is none.
    unigrams: u32,
    backing_off: Backoff,
}

const BLOCK: usize = 32;

/// An arc that takes a slot, possibly behind backing off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Taken {
    pub(super) dest: u32,
    pub(super) score: f32,
}

impl Grammar {
    /// Creates the grammar. `words` are the words of the slots; words without a slot are left out.
    ///
    /// # Errors
    /// [`Error::LookAhead`] for a state that backs off in two ways, or back to itself;
    /// [`Error::Symbol`] for other epsilons; [`Error::Limit`]; [`Error::TooLarge`].
    pub(super) fn new(
        fsa: &Fsa,
        backoff: i32,
        words: &[i32],
        backing_off: Backoff,
        limits: Limits,
    ) -> Result<Self, Error> {
        let view = fsa.view();
        let mut slots_of: Vec<_> = (0..).zip(words).map(|(slot, &word)| (word, slot)).collect();
        slots_of.sort_unstable();
        let slots_of = |word: i32| {
            let first = slots_of.partition_point(|&(other, _)| other < word);
            slots_of[first..].iter().take_while(move |&&(other, _)| other == word).map(|&(_, slot): &(i32, u32)| slot)
        };
        let num_arcs: usize = fsa.arcs().iter().map(|arc| slots_of(arc.label).count()).sum();
        Error::fit(Quantity::Arcs, num_arcs)?;
        let bytes = num_arcs * 12 + view.num_states() * 24;
        limits.check(Operation::LookAhead, bytes, view.num_states(), num_arcs)?;
        let mut made = Self {
            first_arcs: Vec::with_capacity(view.num_states() + 1),
            slots: Vec::with_capacity(num_arcs),
            scores: Vec::with_capacity(num_arcs),
            dests: Vec::with_capacity(num_arcs),
            backoffs: vec![(NONE, 0.0); view.num_states()],
            blocks: Default::default(),
            best: Vec::new(),
            unigrams: NONE,
            backing_off,
        };
        let mut arcs = Vec::new();
        made.first_arcs.push(0);
        for state in 0..view.num_states() {
            arcs.clear();
            for (position, arc) in view.arc_range(state).zip(view.arcs_of(state)) {
                let dest = arc.dest_state.cast_unsigned();
                match arc.label {
                    label if label == backoff && made.backoffs[state].0 == NONE => {
                        made.backoffs[state] = (dest, arc.score);
                    }
                    label if label == backoff => {
                        return Err(Error::LookAhead { state, problem: LookAheadProblem::TwoBackoffs });
                    }
                    EPSILON => return Err(Error::Symbol { position, symbol: EPSILON, least: 1 }),
                    label => arcs.extend(slots_of(label).map(|slot| (slot, arc.score, dest))),
                }
            }
            arcs.sort_unstable_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)).then(a.1.total_cmp(&b.1)));
            made.slots.extend(arcs.iter().map(|arc| arc.0));
            made.scores.extend(arcs.iter().map(|arc| arc.1));
            made.dests.extend(arcs.iter().map(|arc| arc.2));
            made.first_arcs.push(number(made.slots.len()));
        }
        let blocks = maxima(&made.scores);
        let coarser = maxima(&blocks);
        made.blocks = [blocks, coarser];
        made.find_best()?;
        let roots = (0..number(view.num_states())).filter(|&state| made.backoff(state).is_none());
        made.unigrams = roots.max_by_key(|&state| made.arcs(state).len()).unwrap_or(NONE);
        Ok(made)
    }

    /// Finds the best word of each state; states to which others back off come first.
    fn find_best(&mut self) -> Result<(), Error> {
        let num_states = self.backoffs.len();
        self.best = vec![f32::NAN; num_states];
        let (mut chain, mut seen) = (Vec::new(), vec![false; num_states]);
        for state in 0..num_states {
            let mut at = state;
            while self.best[at].is_nan() {
                if std::mem::replace(&mut seen[at], true) {
                    return Err(Error::LookAhead { state: at, problem: LookAheadProblem::BackoffCycle });
                }
                chain.push(at);
                match self.backoff(number(at)) {
                    Some(Taken { dest, .. }) => at = dest as usize,
                    None => break,
                }
            }
            while let Some(at) = chain.pop() {
                let own = self.best_of(self.arcs(number(at)));
                let behind = self.backoff(number(at)).map(|Taken { dest, score }| score + self.best[dest as usize]);
                self.best[at] = behind.map_or(own, |behind| own.max(behind));
            }
        }
        Ok(())
    }

    fn arcs(&self, state: u32) -> std::ops::Range<usize> {
        self.first_arcs[state as usize] as usize..self.first_arcs[state as usize + 1] as usize
    }

    fn backoff(&self, state: u32) -> Option<Taken> {
        let (dest, score) = self.backoffs[state as usize];
        (dest != NONE).then_some(Taken { dest, score })
    }

    /// Finds the states behind a slot, each once, with the best score.
    pub(super) fn take(&self, mut state: u32, slot: u32, taken: &mut Vec<Taken>) {
        taken.clear();
        let mut before = 0.0;
        loop {
            let range = self.arcs(state);
            let first = range.start + self.slots[range.clone()].partition_point(|&other| other < slot);
            for arc in (first..range.end).take_while(|&arc| self.slots[arc] == slot) {
                let it = Taken { dest: self.dests[arc], score: before + self.scores[arc] };
                match taken.iter_mut().find(|other| other.dest == it.dest) {
                    Some(other) => other.score = other.score.max(it.score),
                    None => taken.push(it),
                }
            }
            match self.backoff(state) {
                Some(_) if self.backing_off == Backoff::Unseen && !taken.is_empty() => break,
                Some(backoff) => {
                    before += backoff.score;
                    state = backoff.dest;
                }
                None => break,
            }
        }
        taken.retain(|taken| taken.score > f32::NEG_INFINITY);
    }

    /// Returns the best score of any word behind a state, or of the end.
    #[inline]
    pub(super) fn best_of_all(&self, state: u32) -> f32 {
        self.best[state as usize]
    }

    /// Returns the best score of slots in these intervals, -inf if the state takes none of them;
    /// `unigram` is the result of [`best_unigram`](Self::best_unigram) for them. With
    /// [`Backoff::Unseen`] the score of a word may be overestimated, if backing off to it is
    /// better.
    pub(super) fn best_ahead(&self, mut state: u32, slots: &[Interval], unigram: f32) -> f32 {
        let (mut best, mut before) = (f32::NEG_INFINITY, 0.0);
        loop {
            if state == self.unigrams {
                return best.max(before + unigram);
            }
            best = best.max(before + self.best_in(state, slots));
            match self.backoff(state) {
                Some(backoff) => {
                    before += backoff.score;
                    state = backoff.dest;
                }
                None => return best,
            }
        }
    }

    /// Returns the best score of these slots in the state `unigrams`, -inf without that state.
    pub(super) fn best_unigram(&self, slots: &[Interval]) -> f32 {
        if self.unigrams == NONE { f32::NEG_INFINITY } else { self.best_in(self.unigrams, slots) }
    }

    /// Returns the best score of slots in these intervals among the arcs of a state.
    fn best_in(&self, state: u32, slots: &[Interval]) -> f32 {
        let range = self.arcs(state);
        let (mut best, mut at) = (f32::NEG_INFINITY, range.start);
        for interval in slots {
            at += self.slots[at..range.end].partition_point(|&slot| slot < interval.first);
            let end = at + self.slots[at..range.end].partition_point(|&slot| slot < interval.end);
            best = best.max(self.best_of(at..end));
            at = end;
            if at == range.end {
                break;
            }
        }
        best
    }

    /// Returns the best score of some arcs.
    fn best_of(&self, arcs: std::ops::Range<usize>) -> f32 {
        let mut best = f32::NEG_INFINITY;
        let (mut first, mut end) = (arcs.start, arcs.end);
        for (scores, coarser) in [(&self.scores, true), (&self.blocks[0], true), (&self.blocks[1], false)] {
            let max = |best: f32, range: std::ops::Range<usize>| scores[range].iter().copied().fold(best, f32::max);
            let (first_block, end_block) = (first.div_ceil(BLOCK), end / BLOCK);
            if !coarser || first_block >= end_block {
                return max(best, first..end);
            }
            best = max(best, first..first_block * BLOCK);
            best = max(best, end_block * BLOCK..end);
            (first, end) = (first_block, end_block);
        }
        best
    }

    /// Returns the number of states.
    pub(super) fn num_states(&self) -> usize {
        self.backoffs.len()
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(Vec::len).sum::<usize>();
        self.slots.len() * 12 + self.num_states() * 16 + blocks * size_of::<f32>()
    }
}

/// Returns the best score of each [`BLOCK`].
fn maxima(scores: &[f32]) -> Vec<f32> {
    scores.chunks(BLOCK).map(|block| block.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect()
}
