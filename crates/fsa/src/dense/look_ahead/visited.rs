//! The part of a look-ahead composition that one utterance has visited.

use super::arc_cache::ArcCache;
use super::grammar::Taken;
use super::{LookAheadGraph, LookAheadOptions};
use crate::core::arc::{EPSILON, FINAL};
use crate::dense::active::Token;
use crate::dense::trellis::Link;
use crate::error::{Error, Operation, Quantity};
use crate::support::ids::{NONE, number};
use crate::support::pair_interner::PairInterner;

/// The states visited, numbered in the order in which they are reached. A pair of states of HL and
/// G has a state after a blank, and behind it one for each token by which HL's state is entered.
///
/// Each pair has a *potential*, the best score of a word that can come next, which is added to the
/// scores of arcs that enter it and subtracted from the scores of arcs that leave it. The score of
/// a path to the end is the sum of its scores in HL and G.
#[derive(Debug, Clone)]
pub(super) struct Visited {
    pairs: PairInterner,
    /// Potential of each pair.
    potentials: Vec<f32>,
    /// State of each pair that is after a blank.
    blanks: Vec<u32>,
    /// Pair of each state.
    pair_of: Vec<u32>,
    /// Number of the first arc of each pair, [`NONE`] if its arcs were never requested. The number
    /// of an arc stays the same when it is dropped from the cache and computed again.
    first_arcs: Vec<u32>,
    /// The pairs whose arcs have numbers, in the order of the numbers.
    numbered: Vec<u32>,
    num_arcs: usize,
    cache: ArcCache<VisitedArc>,
    arcs: Vec<VisitedArc>,
    taken: Vec<Taken>,
    /// Unneeded states are removed when everything except the cache is larger than this.
    forget_at: usize,
    problem: Option<Error>,
}

/// The pairs of states of HL and G that were reached, in order; and the pairs whose arcs have
/// numbers, in the order of the numbers, with their number of arcs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::dense) struct Saved {
    pub(in crate::dense) pairs: Vec<[u32; 2]>,
    pub(in crate::dense) numbered: Vec<[u32; 2]>,
}

/// An arc of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VisitedArc {
    pub(super) label: i32,
    pub(super) score: f32,
    /// The state after the token, and the state after a blank behind it.
    pub(super) dests: [u32; 2],
    /// Arc of HL.
    pub(super) arc: u32,
}

impl Visited {
    /// Creates the states with only the start, if there is one.
    pub(super) fn new(graph: &LookAheadGraph) -> Self {
        let mut made = Self::empty(graph.options.cache_bytes);
        if graph.hl.graph().fsas().num_states() > 0 && graph.grammar.num_states() > 0 {
            made.problem = made.visit(graph, 0, 0, 0.0).err();
        }
        made
    }

    /// Creates the states without the start.
    pub(super) fn empty(forget_at: usize) -> Self {
        Self {
            pairs: PairInterner::with_capacity(0),
            potentials: Vec::new(),
            blanks: Vec::new(),
            pair_of: Vec::new(),
            first_arcs: Vec::new(),
            numbered: Vec::new(),
            num_arcs: 0,
            cache: ArcCache::default(),
            arcs: Vec::new(),
            taken: Vec::new(),
            forget_at,
            problem: None,
        }
    }

    /// Returns the number of states reached.
    pub(super) fn num_states(&self) -> usize {
        self.pair_of.len()
    }

    /// Returns the error, if there was one.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.problem.clone().map_or(Ok(()), Err)
    }

    /// Returns the pair of a state.
    #[inline]
    pub(super) fn pair_of(&self, state: u32) -> u32 {
        self.pair_of[state as usize]
    }

    /// Returns the token that came last before a state; 0 is blank.
    #[inline]
    pub(super) fn last(&self, graph: &LookAheadGraph, state: u32) -> i32 {
        let pair = self.pair_of[state as usize];
        match state - self.blanks[pair as usize] {
            0 => EPSILON,
            place => graph.hl.entries(self.pairs.pair(pair).0)[place as usize - 1],
        }
    }

    /// Returns the state of a pair after a blank.
    #[inline]
    pub(super) fn blank(&self, pair: u32) -> u32 {
        self.blanks[pair as usize]
    }

    /// Returns the number of the first arc of a pair, and its arcs. There are none if there was an
    /// error, which [`check`](Self::check) returns.
    pub(super) fn arcs(&mut self, graph: &LookAheadGraph, pair: u32) -> (u32, &[VisitedArc]) {
        if self.problem.is_some() {
            return (0, &[]);
        }
        let place = match self.cache.find(pair) {
            Some(place) => Ok(place),
            None => self.compute(graph, pair),
        };
        match place {
            Ok(place) => (self.first_arcs[pair as usize], self.cache.arcs(place)),
            Err(error) => {
                self.problem.get_or_insert(error);
                (0, &[])
            }
        }
    }

    /// Returns the arc with a number.
    pub(super) fn arc(&mut self, graph: &LookAheadGraph, number: u32) -> Option<VisitedArc> {
        let pair = self.pair_of_arc(number)?;
        let (first, arcs) = self.arcs(graph, pair);
        arcs.get((number - first) as usize).copied()
    }

    /// Returns the pair that an arc leaves; `None` for arcs of the topology.
    fn pair_of_arc(&self, number: u32) -> Option<u32> {
        let after = self.numbered.partition_point(|&pair| self.first_arcs[pair as usize] <= number);
        self.numbered.get(after.checked_sub(1)?).copied()
    }

    /// Removes the states to which neither these tokens nor these links refer, if that is due.
    /// States and arcs that stay get other numbers.
    ///
    /// # Errors
    /// [`Error::Limit`], since vectors that grow again may have room for more than they had;
    /// nothing is changed then.
    pub(super) fn forget(
        &mut self,
        graph: &LookAheadGraph,
        tokens: &mut [Token],
        links: &mut [Link],
    ) -> Result<(), Error> {
        if self.bytes() - self.cache.bytes() <= self.forget_at {
            return Ok(());
        }
        let mut live = vec![false; self.pairs.len()];
        tokens.iter().for_each(|token| live[self.pair_of(token.state) as usize] = true);
        let of_links = links.iter().filter_map(|link| self.pair_of_arc(link.arc));
        of_links.for_each(|pair| live[pair as usize] = true);
        let mut kept = Self::empty(0);
        let mut new_pairs = vec![NONE; self.pairs.len()];
        for pair in (0..number(live.len())).filter(|&pair| live[pair as usize]) {
            let (hl, grammar) = self.pairs.pair(pair);
            new_pairs[pair as usize] = kept.visit(graph, hl, grammar, self.potentials[pair as usize])?;
        }
        let first_of = |place: usize| self.numbered.get(place).map(|&pair| self.first_arcs[pair as usize]);
        let end = number(self.num_arcs) + graph.first_arc();
        for (place, &pair) in self.numbered.iter().enumerate().filter(|(_, pair)| live[**pair as usize]) {
            let num_arcs = first_of(place + 1).unwrap_or(end) - self.first_arcs[pair as usize];
            kept.number_arcs(graph, new_pairs[pair as usize], num_arcs as usize)?;
        }
        for token in tokens {
            let pair = self.pair_of(token.state);
            token.state = kept.blank(new_pairs[pair as usize]) + (token.state - self.blank(pair));
        }
        for link in links {
            if let Some(pair) = self.pair_of_arc(link.arc) {
                let first = kept.first_arcs[new_pairs[pair as usize] as usize];
                link.arc = first + (link.arc - self.first_arcs[pair as usize]);
            }
        }
        kept.forget_at = graph.options.cache_bytes.max(2 * kept.bytes());
        *self = kept;
        Ok(())
    }

    /// Gives numbers to the arcs of a pair.
    fn number_arcs(&mut self, graph: &LookAheadGraph, pair: u32, num_arcs: usize) -> Result<(), Error> {
        let first = self.num_arcs + graph.first_arc() as usize;
        Error::fit(Quantity::Arcs, first + num_arcs)?;
        self.first_arcs[pair as usize] = number(first);
        self.numbered.push(pair);
        self.num_arcs += num_arcs;
        Ok(())
    }

    /// Returns a pair, which may be new. An error leaves everything as it was.
    fn visit(&mut self, graph: &LookAheadGraph, hl: u32, grammar: u32, potential: f32) -> Result<u32, Error> {
        if let Some(pair) = self.pairs.find(hl, grammar) {
            return Ok(pair);
        }
        let num_states = 1 + graph.hl.entries(hl).len();
        let num_all = Error::fit(Quantity::States, self.pair_of.len() + num_states)?.cast_unsigned() as usize;
        let growth = self.pairs.bytes_with_one_more() - self.pairs.bytes() + num_states * size_of::<u32>();
        // The cache can be made smaller.
        let needed = self.bytes() - self.cache.bytes() + growth;
        graph.options.limits.check(Operation::LazyComposition, needed, num_all, self.num_arcs)?;
        let (pair, _) = self.pairs.insert(hl, grammar)?;
        self.blanks.push(number(self.pair_of.len()));
        self.pair_of.extend(std::iter::repeat_n(pair, num_states));
        self.potentials.push(potential);
        self.first_arcs.push(NONE);
        Ok(pair)
    }

    /// Computes the arcs of a pair, puts them into the cache and returns their index there.
    fn compute(&mut self, graph: &LookAheadGraph, pair: u32) -> Result<usize, Error> {
        let (hl, grammar) = self.pairs.pair(pair);
        let before = self.potentials[pair as usize];
        let mut taken = std::mem::take(&mut self.taken);
        self.arcs.clear();
        for (arc, it, slot) in graph.hl.arcs_of(hl) {
            match slot {
                Some(slot) => graph.grammar.take(grammar, slot, &mut taken),
                None => {
                    taken.clear();
                    taken.push(Taken { dest: grammar, score: 0.0 });
                }
            }
            for &Taken { dest, score } in &taken {
                let score = it.score + score - before;
                if it.label == FINAL {
                    self.arcs.push(VisitedArc { label: FINAL, score, dests: [NONE; 2], arc });
                    continue;
                }
                let to = it.dest_state.cast_unsigned();
                let potential = graph.potential(to, dest);
                if potential == f32::NEG_INFINITY {
                    continue;
                }
                let pair = self.visit(graph, to, dest, potential)?;
                let blank = self.blank(pair);
                let dests = [blank + 1 + graph.hl.place(arc), blank];
                self.arcs.push(VisitedArc { label: it.label, score: score + potential, dests, arc });
            }
        }
        self.taken = taken;
        if self.first_arcs[pair as usize] == NONE {
            self.number_arcs(graph, pair, self.arcs.len())?;
        }
        let cost = ArcCache::<VisitedArc>::cost(self.arcs.len());
        let places = self.cache.bytes_of_places(self.pairs.len());
        let needed = self.bytes() - self.cache.bytes() + places + cost;
        let LookAheadOptions { limits, cache_bytes, .. } = graph.options;
        limits.check(Operation::LazyComposition, needed, self.num_states(), self.num_arcs)?;
        self.cache.shrink((limits.bytes() - needed).min(cache_bytes.saturating_sub(cost)));
        Ok(self.cache.insert(pair, self.arcs.as_slice().into()))
    }

    /// Returns the input of [`restore`](Self::restore).
    pub(super) fn save(&self) -> Saved {
        let pairs = (0..number(self.pairs.len())).map(|pair| self.pairs.pair(pair)).map(|(hl, grammar)| [hl, grammar]);
        let ends = self.numbered.iter().skip(1).map(|&pair| self.first_arcs[pair as usize]);
        let first = self.numbered.first().map_or(0, |&pair| self.first_arcs[pair as usize]);
        let ends = ends.chain([first + number(self.num_arcs)]);
        let numbered = self.numbered.iter().zip(ends).map(|(&pair, end)| [pair, end - self.first_arcs[pair as usize]]);
        Saved { pairs: pairs.collect(), numbered: numbered.collect() }
    }

    /// Returns the saved states, without a cache.
    ///
    /// # Errors
    /// [`Error::Binary`] if they were saved from another graph.
    pub(super) fn restore(graph: &LookAheadGraph, saved: &Saved) -> Result<Self, Error> {
        let wrong = Error::Binary { offset: 0, what: "the states of a stream of another graph" };
        let mut made = Self::empty(graph.options.cache_bytes);
        for &[hl, grammar] in &saved.pairs {
            let exists = (hl as usize) < graph.hl.graph().fsas().num_states()
                && (grammar as usize) < graph.grammar.num_states()
                && made.pairs.find(hl, grammar).is_none();
            // The start is not entered, and has no potential.
            let potential = match exists {
                true if hl == 0 => 0.0,
                true => graph.potential(hl, grammar),
                false => f32::NEG_INFINITY,
            };
            if potential == f32::NEG_INFINITY {
                return Err(wrong);
            }
            made.visit(graph, hl, grammar, potential)?;
        }
        for &[pair, num_arcs] in &saved.numbered {
            if made.first_arcs.get(pair as usize) != Some(&NONE) {
                return Err(wrong);
            }
            made.number_arcs(graph, pair, num_arcs as usize)?;
        }
        Ok(made)
    }

    /// Returns `true` if there is a state with this number.
    pub(super) fn has_state(&self, state: u32) -> bool {
        (state as usize) < self.num_states()
    }

    /// Returns `true` if there is an arc with this number that takes a class.
    pub(super) fn has_arc(&mut self, graph: &LookAheadGraph, arc: u32) -> bool {
        arc < graph.first_arc() || self.arc(graph, arc).is_some_and(|found| found.label != FINAL)
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        let of_pairs = self.potentials.capacity() + self.blanks.capacity() + self.first_arcs.capacity();
        (of_pairs + self.pair_of.capacity() + self.numbered.capacity()) * size_of::<u32>()
            + self.pairs.bytes()
            + self.cache.bytes()
            + self.arcs.capacity() * size_of::<VisitedArc>()
    }
}
