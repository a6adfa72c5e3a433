//! The composition of a lexicon with a grammar while decoders search it, with look-ahead.

use std::collections::HashMap;
use std::sync::{Arc as Shared, Mutex, PoisonError};

use kaldera_base::setters;

use super::grammar::LookAheadGrammar;
use super::look_ahead::{LookAheadLexicon, Memory, Pair, PairArc, Sides};
use super::search_graph::SearchGraph;
use super::shared_states::SharedStates;
use crate::core::arc::EPSILON;
use crate::core::limits::Limits;
use crate::core::semiring::Semiring;
use crate::core::transducer::{CostArc, StateArcs, Transducer, TransducerBuilder};
use crate::error::{Error, Limited, Operation};
use crate::support::ids::number;

/// Options of a [`Composition`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompositionOptions {
    /// Bytes for states and arcs that decoders share. A larger cache is replaced by an empty one,
    /// into which each decoder takes its live states; 64 MiB unless set.
    #[doc(alias = "gc_limit")]
    pub cache_bytes: usize,
}

setters! {
    CompositionOptions:
    cache_bytes, with_cache_bytes: usize = 64 << 20, "With about this number of bytes for the cache.";
}

/// A lexicon and a grammar, composed state by state while decoders ask, as OpenFst does with its
/// filter for look-ahead of output labels: Kaldi's `HCLr.fst` and `Gr.fst`.
///
/// A state is a state of each side and the state of the filter. Where the left side has no output
/// label, the filter looks at the labels that can come next: if the grammar has no arc for any of
/// them, the state is left out; if it has one, it is taken at once; otherwise minus the logarithm
/// of their summed probability is added to the cost, and subtracted behind the next word. Costs and
/// states are those of OpenFst, so a beam cuts the same.
///
/// What one decoder has composed, all others find; they do not wait for each other.
///
/// ```
/// use fsa::on_demand::{Composition, CompositionOptions, SearchGraph};
/// use fsa::on_demand::{LookAheadGrammar, LookAheadLexicon};
/// # use fsa::io::{OpenFstBinary, OpenFstText, TransducerFile};
/// # fn read(text: &str) -> Result<fsa::Transducer, fsa::Error> {
/// #     let graph = OpenFstText::default().read(text)?;
/// #     Ok(TransducerFile::read(&OpenFstBinary::new(graph).write()?)?.transducer)
/// # }
/// // The words 1 and 2 begin with the same phone, 7.
/// let lexicon = read("0 1 7 0\n1 2 8 1\n1 2 9 2\n2 0\n")?;
/// let grammar = LookAheadGrammar::new(read("0 1 1 1 0.5\n0 1 2 2 1.5\n1 0\n")?)?;
/// let lexicon = LookAheadLexicon::with_reach(lexicon, fsa::Limits::default())?;
/// let graph = Composition::new(lexicon.into(), grammar.into(), CompositionOptions::default());
/// let mut view = graph.view();
/// let start = view.start()?.expect("a start");
/// // -ln(e^-0.5 + e^-1.5)
/// assert!((view.arcs(start).emitting[0].cost - 0.186_738).abs() < 1e-6);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// C. Allauzen, M. Riley, J. Schalkwyk: *A generalized composition algorithm for weighted
/// finite-state transducers*, Interspeech 2009.
#[derive(Debug, Clone)]
#[doc(alias = "ComposeFst")]
#[doc(alias = "LookaheadComposeFst")]
pub struct Composition {
    inner: Shared<Inner>,
}

#[derive(Debug)]
struct Inner {
    sides: Sides,
    options: CompositionOptions,
    /// The table that new views use; it is locked to be replaced, or to make a view.
    current: Mutex<Shared<SharedStates>>,
}

impl Composition {
    /// Creates a composition with an empty cache.
    pub fn new(left: Shared<LookAheadLexicon>, right: Shared<LookAheadGrammar>, options: CompositionOptions) -> Self {
        let current = Mutex::new(Shared::new(SharedStates::new(options.cache_bytes)));
        Self { inner: Shared::new(Inner { sides: Sides { left, right }, options, current }) }
    }

    /// Returns the left side.
    pub fn left(&self) -> &Shared<LookAheadLexicon> {
        &self.inner.sides.left
    }

    /// Returns the right side.
    pub fn right(&self) -> &Shared<LookAheadGrammar> {
        &self.inner.sides.right
    }

    /// Returns a decoder's view.
    pub fn view(&self) -> ComposedView {
        let states = self.inner.current();
        ComposedView {
            inner: Shared::clone(&self.inner),
            states,
            arcs: Vec::new(),
            pairs: Vec::new(),
            memory: Memory::new(),
            problem: None,
        }
    }

    /// Returns the number of states in the cache, and its bytes. Views that have not moved to a new
    /// cache yet keep theirs.
    pub fn cached(&self) -> (usize, usize) {
        let states = self.inner.current();
        (states.num_states(), states.bytes())
    }

    /// Composes all states that can be reached, numbered as OpenFst's `fstcompose --connect=false`
    /// numbers them.
    ///
    /// # Errors
    /// [`Error::Limit`]; [`Error::TooLarge`].
    pub fn compose(&self, limits: Limits) -> Result<Transducer, Error> {
        let sides = &self.inner.sides;
        let mut builder = TransducerBuilder::default();
        let (mut states, mut pairs, mut arcs) = (HashMap::new(), Vec::new(), Vec::new());
        let (start, mut memory) = (sides.start(), Memory::new());
        if let Some(start) = start {
            states.insert(start, 0);
            pairs.push(start);
        }
        let mut done = 0;
        while let Some(&pair) = pairs.get(done) {
            done += 1;
            arcs.clear();
            sides.arcs(pair, &mut memory, &mut arcs);
            let bytes = size_of_val(&pairs[..]) * 3 + builder.arcs.len() * size_of::<CostArc>();
            limits.check(Operation::Composition, bytes, pairs.len(), builder.arcs.len())?;
            for &PairArc { ilabel, olabel, cost, dest } in &arcs {
                let state = *states.entry(dest).or_insert_with(|| {
                    pairs.push(dest);
                    number(pairs.len() - 1)
                });
                builder.arcs.push(CostArc { ilabel, olabel, cost, dest: state });
            }
            builder.end_state(sides.final_cost(pair))?;
        }
        builder.finish(start.map(|_| 0), Semiring::Tropical)
    }
}

impl Inner {
    fn current(&self) -> Shared<SharedStates> {
        Shared::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the table after a full one.
    fn after(&self, full: &Shared<SharedStates>) -> Shared<SharedStates> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Shared::ptr_eq(&current, full) {
            *current = Shared::new(SharedStates::new(self.options.cache_bytes));
        }
        Shared::clone(&current)
    }
}

/// A decoder's view of a [`Composition`].
#[derive(Debug)]
pub struct ComposedView {
    inner: Shared<Inner>,
    states: Shared<SharedStates>,
    /// Arcs of the state that was asked for last.
    arcs: Vec<CostArc>,
    pairs: Vec<PairArc>,
    memory: Memory,
    problem: Option<Error>,
}

impl ComposedView {
    /// Computes the arcs of a state, stores them and leaves them in `arcs`.
    fn expand(&mut self, state: u32) -> Option<(f32, usize)> {
        let pair = self.states.pair(state)?;
        let sides = &self.inner.sides;
        self.pairs.clear();
        sides.arcs(pair, &mut self.memory, &mut self.pairs);
        let final_cost = sides.final_cost(pair);
        self.arcs.clear();
        let mut num_epsilons = 0;
        for epsilons in [true, false] {
            for &PairArc { ilabel, olabel, cost, dest } in &self.pairs {
                if (ilabel == EPSILON) == epsilons {
                    self.arcs.push(CostArc { ilabel, olabel, cost, dest: self.states.state(dest)? });
                }
            }
            if epsilons {
                num_epsilons = self.arcs.len();
            }
        }
        self.states.set_arcs(state, &self.arcs, num_epsilons, final_cost)?;
        Some((final_cost, num_epsilons))
    }

    fn no_room(&self) -> Error {
        let limit = self.inner.options.cache_bytes;
        Error::Limit {
            operation: Operation::LookAhead,
            limited: Limited::Bytes,
            limit,
            needed: self.states.bytes().max(limit) + 1,
            states: self.states.num_states(),
            arcs: 0,
        }
    }
}

impl SearchGraph for ComposedView {
    fn start(&mut self) -> Result<Option<u32>, Error> {
        self.problem = None;
        if self.states.is_full() {
            self.states = self.inner.after(&self.states);
        }
        let Some(start) = self.inner.sides.start() else { return Ok(None) };
        self.states.state(start).map(Some).ok_or_else(|| self.no_room())
    }

    fn arcs(&mut self, state: u32) -> StateArcs<'_> {
        self.arcs.clear();
        let found = self.states.arcs(state, &mut self.arcs).or_else(|| self.expand(state));
        let Some((final_cost, num_epsilons)) = found else {
            let problem = self.no_room();
            self.problem.get_or_insert(problem);
            return StateArcs { final_cost: f32::INFINITY, epsilons: &[], emitting: &[] };
        };
        let (epsilons, emitting) = self.arcs.split_at(num_epsilons);
        StateArcs { final_cost, epsilons, emitting }
    }

    fn renew(&mut self, states: &mut [u32]) -> Result<(), Error> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        if self.states.is_full() {
            let new = self.inner.after(&self.states);
            for state in states {
                let moved = self.states.pair(*state).and_then(|pair: Pair| new.state(pair));
                *state = moved.ok_or_else(|| self.no_room())?;
            }
            self.states = new;
        }
        Ok(())
    }
}
