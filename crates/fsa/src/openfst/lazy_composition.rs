//! Composition on demand: the arcs of a state are computed when they are requested.

use kaldera_base::setters;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::attributes::Attribute;
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::k2::compose::{composed, output_acceptor};
use crate::k2::intersect::{IntersectOptions, Sorted, intersect_pair};
use crate::k2::meeting::{Epsilons, Pair, Step, for_each_step};
use crate::openfst::arc_cache::{ArcCache, LazyArc};
use crate::openfst::first_labels::FirstLabels;
use crate::support::ids::index;
use crate::support::pair_interner::PairInterner;

/// Options of a [`LazyComposition`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LazyOptions {
    /// The meaning of label 0 in the composition.
    pub epsilons: Epsilons,
    /// Leave out a state if none of the labels that can come next in the first graph is one of the
    /// second. Default: true.
    #[doc(alias = "LookAheadComposeFilter")]
    pub look_ahead: bool,
    /// The largest size of states, arcs and look-ahead data, not counting the two graphs and sorted
    /// copies of them. Default: half of the memory.
    pub limits: Limits,
    /// Number of bytes that cached arcs may take. The arcs of the state requested last are kept in
    /// any case. Default: 64 MiB.
    #[doc(alias = "gc_limit")]
    pub cache_bytes: usize,
}

setters! {
    LazyOptions:
    epsilons, with_epsilons: Epsilons = Epsilons::default(), "With this meaning of label 0.";
    look_ahead, with_look_ahead: bool = true, "With look-ahead or without.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
    cache_bytes, with_cache_bytes: usize = 64 << 20,
        "With at most this number of bytes for arcs that were requested before.";
}

/// The result of [`compose`](crate::k2::compose()), computed state by state as it is walked: for
/// graphs that are too large to be built, and for walks that visit only a part of them.
///
/// States are numbered in the order in which they are found. The start is 0 and the final state is
/// 1, whether or not paths lead there. Arcs stay in a cache of bounded size; dropped arcs are
/// computed again, with the same numbers. The order of requests affects only the numbers of states.
///
/// With look-ahead, which is the default, a state is created only if one of the labels that can
/// come next in the first graph is on an arc of the second one (or if the second has an arc with
/// label 0 there, after which any label may come). That leaves out most dead ends if the first
/// graph outputs its labels late, as a determinized lexicon does. Scores and labels are not moved
/// to earlier arcs.
///
/// A search for the best path that never needs the whole graph:
///
/// ```
/// use std::collections::{BTreeMap, BinaryHeap};
/// use fsa::openfst::{LazyComposition, LazyOptions};
/// use fsa::{Arc, Fsa, Graph};
///
/// // Spelled "a b" it is the word 7, spelled "a c" the word 8, and the words may follow each other without end.
/// let spelling = [(0, 1, 1), (0, 3, -1), (1, 2, 2), (1, 2, 3), (2, 0, 0)].map(|(src, dest, label)| Arc::new(src, dest, label, 0.0));
/// let spelling = Graph::new(Fsa::from_arcs(4, spelling.to_vec())?).with_aux_labels(vec![0, -1, 7, 8, 0])?;
/// // Two words, of which 8 is the better one first and 7 then.
/// let grammar = [(0, 1, 7, -2.0), (0, 1, 8, -1.0), (1, 2, 7, -1.0), (1, 2, 8, -3.0), (2, 3, -1, 0.0)];
/// let grammar = grammar.map(|(src, dest, label, score)| Arc::new(src, dest, label, score));
/// let grammar = Graph::new(Fsa::from_arcs(4, grammar.to_vec())?);
///
/// let mut graph = LazyComposition::new(&spelling, &grammar, &LazyOptions::default())?;
/// let mut open = BinaryHeap::from_iter(graph.start().map(|start| (0, start)));
/// let mut best = BTreeMap::from([(0, (0, None))]);
/// while let Some((score, state)) = open.pop().filter(|&(_, state)| !graph.is_final(state)) {
///     for lazy in graph.arcs(state)? {
///         let (dest, score) = (lazy.arc.dest_state, score + lazy.arc.score as i32);
///         if best.get(&dest).is_none_or(|&(before, _)| before < score) {
///             best.insert(dest, (score, Some((state, lazy.aux_label))));
///             open.push((score, dest));
///         }
///     }
/// }
/// let mut words = vec![];
/// let mut state = LazyComposition::FINAL_STATE;
/// assert_eq!(best[&state].0, -2);
/// while let Some((before, word)) = best[&state].1 {
///     words.extend((word > 0).then_some(word));
///     state = before;
/// }
/// assert_eq!(words, [7, 8], "from the end to the start");
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "ComposeFst")]
#[doc(alias = "DelayedCompose")]
pub struct LazyComposition {
    sides: Sides,
    states: PairInterner,
    cache: ArcCache<LazyArc>,
    /// Arcs of the state that is being computed.
    steps: Vec<Step>,
    limits: Limits,
    cache_bytes: usize,
}

/// The two graphs, sorted, and the data for look-ahead.
#[derive(Debug, Clone)]
struct Sides {
    a: Graph<Fsa>,
    b: Graph<Fsa>,
    /// The first graph, with the output labels in place of the others.
    sorted_a: Sorted<Fsa>,
    sorted_b: Sorted<Fsa>,
    /// Output labels of `b`.
    aux_b: Option<Attribute>,
    epsilons: Epsilons,
    ahead: Option<FirstLabels>,
}

impl LazyComposition {
    /// Number of the final state.
    pub const FINAL_STATE: i32 = 1;

    /// Composes two graphs, as [`compose`](crate::k2::compose()) takes them. O(states + arcs) of
    /// both with look-ahead, or if they have to be sorted; otherwise O(1).
    ///
    /// # Errors
    /// [`Error::Attribute`] if `a` outputs lists, [`Error::FinalLabel`] or [`Error::Label`] if an
    /// output of it cannot be a label; [`Error::Limit`] if the look-ahead data exceed the limit.
    pub fn new(a: &Graph<Fsa>, b: &Graph<Fsa>, options: &LazyOptions) -> Result<Self, Error> {
        let LazyOptions { epsilons, look_ahead, limits, cache_bytes } = *options;
        let (sorted_a, sorted_b) = (Sorted::of(&output_acceptor(a)?)?, Sorted::of(b.fsas())?);
        let (view_a, view_b) = (sorted_a.fsas.view(), sorted_b.fsas.view());
        let ahead = look_ahead.then(|| FirstLabels::new(view_a, view_b, epsilons, limits)).transpose()?;
        let mut states = PairInterner::with_capacity(0);
        if let (Some(last_a), Some(last_b)) = (view_a.final_state(), view_b.final_state()) {
            let last = Pair { a: crate::support::ids::id(last_a), b: crate::support::ids::id(last_b), b_moved: false };
            for (first, second) in [Pair::START.to_numbers(), last.to_numbers()] {
                states.insert(first, second)?;
            }
        }
        let aux_b = b.attributes().get(AUX_LABELS).cloned();
        let sides = Sides { a: a.clone(), b: b.clone(), sorted_a, sorted_b, aux_b, epsilons, ahead };
        Ok(Self { sides, states, cache: ArcCache::default(), steps: Vec::new(), limits, cache_bytes })
    }

    /// Returns the start, if both graphs have one.
    pub fn start(&self) -> Option<i32> {
        (self.states.len() > 0).then_some(0)
    }

    /// Returns `true` for the final state. All arcs that enter it have label -1, and no others.
    #[inline]
    pub fn is_final(&self, state: i32) -> bool {
        state == Self::FINAL_STATE
    }

    /// Returns the number of states found so far; their numbers are below this.
    pub fn num_states(&self) -> usize {
        self.states.len()
    }

    /// Returns the states of both graphs that form a state that has been found.
    pub fn pair(&self, state: i32) -> Option<(i32, i32)> {
        let number = u32::try_from(state).ok().filter(|&number| (number as usize) < self.states.len())?;
        let Pair { a, b, .. } = Pair::from_numbers(self.states.pair(number));
        Some((a, b))
    }

    /// Returns the arcs that leave a state that has been found: first the arcs on which only the
    /// first graph moves, then the arcs on which only the second one moves, then matching arcs by
    /// label. O(arcs of the shorter side, times the logarithm of the longer one in the worst case)
    /// + O(arcs returned) if they are not in the cache.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a state that has not been found; [`Error::Score`] if scores
    /// overflow; [`Error::Limit`] if the states exceed the limit. States are never dropped, so such
    /// a walk has to end.
    pub fn arcs(&mut self, state: i32) -> Result<&[LazyArc], Error> {
        let number = u32::try_from(state).ok().filter(|&number| (number as usize) < self.states.len());
        let number = number.ok_or_else(|| Error::OutOfRange {
            what: Quantity::CompositionState,
            min: 0,
            max: i64::try_from(self.states.len()).unwrap_or(i64::MAX) - 1,
            found: state.into(),
        })?;
        let place = match self.cache.find(number) {
            Some(place) => place,
            None => self.compute(number)?,
        };
        Ok(self.cache.arcs(place))
    }

    /// Builds the whole composition as [`compose`](crate::k2::compose()) does. Without look-ahead
    /// it has the same arcs in the same order, whatever has been requested before. The matched
    /// labels become the attribute that `inner_labels` names, if it is given. The result needs
    /// memory within the limit, in addition to the states and arcs kept here.
    ///
    /// With look-ahead the result is equivalent to that, with the same totals in every semiring,
    /// and has no more states and arcs. It can still have states that lead nowhere.
    ///
    /// # Errors
    /// As [`compose`](crate::k2::compose()).
    pub fn to_graph(&self, inner_labels: Option<&str>) -> Result<Graph<Fsa>, Error> {
        let Self { sides, limits, .. } = self;
        let (a, b) = (sides.sorted_a.fsas.view(), sides.sorted_b.fsas.view());
        let ahead = sides.ahead.as_ref().map_or(0, FirstLabels::bytes);
        let limits = limits.with_max_bytes(limits.bytes().saturating_sub(ahead));
        let options = IntersectOptions { epsilons: sides.epsilons, limits };
        let made = match &sides.ahead {
            None => intersect_pair(a, b, options, |_| true)?,
            Some(ahead) => intersect_pair(a, b, options, |pair| ahead.may_meet(pair, b, sides.epsilons))?,
        };
        let met = Fsa::single(SortedFsaBuilder::assemble(vec![made.builder])?);
        let (map_a, map_b) = (sides.sorted_a.original(made.map_a), sides.sorted_b.original(made.map_b));
        composed(&sides.a, &sides.b, met, &map_a, &map_b, inner_labels)
    }

    /// Returns the number of bytes of states, arcs and look-ahead data.
    pub fn bytes(&self) -> usize {
        self.states.bytes() + self.cache.bytes() + self.bytes_of_work()
    }

    fn bytes_of_work(&self) -> usize {
        let ahead = self.sides.ahead.as_ref().map_or(0, FirstLabels::bytes);
        self.steps.capacity() * size_of::<Step>() + ahead
    }

    /// Returns the number of bytes except the arcs, if one more state is added.
    fn bytes_but_arcs(&self) -> usize {
        let places = self.cache.bytes_of_places(self.states.len());
        self.states.bytes_with_one_more() + places + self.bytes_of_work()
    }

    /// Computes the arcs of a state, puts them into the cache and returns their index there.
    fn compute(&mut self, number: u32) -> Result<usize, Error> {
        // Arcs of hubs must not keep their memory for ever.
        self.steps.clear();
        self.steps.shrink_to(USUAL_STEPS);
        if number.cast_signed() != Self::FINAL_STATE {
            let from = Pair::from_numbers(self.states.pair(number));
            self.reserve(0)?;
            let (limits, others) = (self.limits, self.bytes() - self.steps.capacity() * size_of::<Step>());
            let Self { sides, steps, states, .. } = self;
            sides.for_each_step(from, |step| {
                if steps.len() == steps.capacity() {
                    let more = steps.capacity().max(4);
                    let needed = others + (steps.capacity() + more) * size_of::<Step>();
                    limits.check(Operation::LazyComposition, needed, states.len(), steps.len())?;
                    steps.reserve_exact(more);
                }
                steps.push(step);
                Ok(())
            })?;
        }
        let cost = ArcCache::<LazyArc>::cost(self.steps.len());
        let mut arcs = Vec::new();
        for at in 0..self.steps.len() {
            if at == 0 {
                self.reserve(cost)?;
                arcs.reserve_exact(self.steps.len());
            }
            let step = self.steps[at];
            let (first, second) = step.to.to_numbers();
            let (dest, is_new) = self.states.insert(first, second)?;
            if is_new && (self.states.len().is_power_of_two() || self.states.len() > self.limits.states()) {
                self.reserve(cost)?;
            }
            arcs.push(self.sides.arc(number.cast_signed(), dest.cast_signed(), step)?);
        }
        self.reserve(cost)?;
        Ok(self.cache.insert(number, arcs.into()))
    }

    /// Drops arcs from the cache until there is room for some that take `bytes`.
    fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        let needed = self.bytes_but_arcs().saturating_add(bytes);
        self.limits.check(Operation::LazyComposition, needed, self.states.len(), self.steps.len())?;
        self.cache.shrink((self.limits.bytes() - needed).min(self.cache_bytes.saturating_sub(bytes)));
        Ok(())
    }
}

/// Number of arcs that leave a state at most, usually.
const USUAL_STEPS: usize = 1 << 12;

impl Sides {
    #[inline]
    fn for_each_step(&self, from: Pair, mut found: impl FnMut(Step) -> Result<(), Error>) -> Result<(), Error> {
        let (a, b) = (self.sorted_a.fsas.view(), self.sorted_b.fsas.view());
        for_each_step((a, b), from, self.epsilons, |step| match &self.ahead {
            Some(ahead) if step.label != FINAL && !ahead.may_meet(step.to, b, self.epsilons) => Ok(()),
            _ => found(step),
        })
    }

    fn arc(&self, src_state: i32, dest_state: i32, step: Step) -> Result<LazyArc, Error> {
        let (arc_a, arc_b) = (self.sorted_a.original_arc(step.from_a), self.sorted_b.original_arc(step.from_b));
        let label = if arc_a < 0 { EPSILON } else { self.a.fsas().arcs()[index(arc_a)].label };
        let aux_label = match &self.aux_b {
            None => step.label,
            Some(Attribute::Ints { filler, .. }) if arc_b < 0 => *filler,
            Some(Attribute::Ints { values, .. }) => values[index(arc_b)],
            Some(_) => EPSILON,
        };
        // Two scores that are finite or -inf can only overflow.
        if step.score == f32::INFINITY {
            return Err(Error::Score { arc: index(arc_a.max(0)), score: step.score });
        }
        Ok(LazyArc { arc: Arc { src_state, dest_state, label, score: step.score }, aux_label, arc_a, arc_b })
    }
}
