//! Transducers in OpenFst's form: final costs instead of a final state, a row of arcs for each
//! state.

use std::ops::Range;

use crate::core::arc::EPSILON;
use crate::core::semiring::Semiring;
use crate::error::{Error, Quantity};
use crate::support::ids::number;

/// An arc of a [`Transducer`], 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostArc {
    /// Input label; 0 is epsilon.
    pub ilabel: i32,
    /// Output label; 0 is epsilon.
    pub olabel: i32,
    /// Cost: minus the score.
    pub cost: f32,
    /// State that it enters.
    pub dest: u32,
}

/// The arcs and the final cost of a state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateArcs<'a> {
    /// Cost of ending in this state; infinite if it is not final.
    pub final_cost: f32,
    /// Arcs without an input label.
    pub epsilons: &'a [CostArc],
    /// Arcs with an input label.
    pub emitting: &'a [CostArc],
}

/// A transducer as OpenFst's type `const` has it: 8 bytes for a state, 16 for an arc. It is read
/// from a file by [`TransducerFile`](crate::io::TransducerFile).
///
/// Costs are minus scores, and final states have a cost, so states keep the numbers of the file.
/// [`Fsa`](crate::Fsa) is the form on which algorithms work.
///
/// ```
/// use fsa::{CostArc, Transducer};
///
/// let arc = CostArc { ilabel: 7, olabel: 70, cost: 0.5, dest: 1 };
/// let it = Transducer::new(Some(0), [(f32::INFINITY, &[arc][..]), (0.0, &[])])?;
/// assert_eq!((it.num_states(), it.arcs(0), it.final_cost(1)), (2, &[arc][..], 0.0));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "ConstFst")]
pub struct Transducer {
    start: Option<u32>,
    semiring: Semiring,
    states: Vec<State>,
    arcs: Vec<CostArc>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    final_cost: f32,
    /// End of its arcs; they begin where the arcs of the state before end.
    end: u32,
}

impl Transducer {
    /// Creates a transducer in the tropical semiring from its start and the final cost, infinite if
    /// there is none, and the arcs of each state.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::Binary`] if the start or an arc's destination is no state.
    pub fn new<'a>(start: Option<u32>, states: impl IntoIterator<Item = (f32, &'a [CostArc])>) -> Result<Self, Error> {
        let mut builder = TransducerBuilder::default();
        for (final_cost, arcs) in states {
            builder.arcs.extend_from_slice(arcs);
            builder.end_state(final_cost)?;
        }
        builder.finish(start, Semiring::Tropical)
    }

    /// Returns the start; `None` if there is none.
    pub fn start(&self) -> Option<u32> {
        self.start
    }

    /// Returns the semiring of the costs, which a file's type of arcs names.
    pub fn semiring(&self) -> Semiring {
        self.semiring
    }

    /// Returns the number of states.
    pub fn num_states(&self) -> usize {
        self.states.len()
    }

    /// Returns the number of arcs.
    pub fn num_arcs(&self) -> usize {
        self.arcs.len()
    }

    /// Returns the number of bytes in memory.
    pub fn num_bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>() + self.arcs.capacity() * size_of::<CostArc>()
    }

    /// Returns the cost of ending in a state; infinite if it is not final.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn final_cost(&self, state: u32) -> f32 {
        self.states[state as usize].final_cost
    }

    /// Returns the arcs of a state.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn arcs(&self, state: u32) -> &[CostArc] {
        &self.arcs[self.arc_range(state)]
    }

    /// Returns all arcs.
    pub(crate) fn into_arcs(self) -> Vec<CostArc> {
        self.arcs
    }

    /// Returns the arcs of a state, to be put into another order.
    pub(crate) fn arcs_mut(&mut self, state: u32) -> &mut [CostArc] {
        let range = self.arc_range(state);
        &mut self.arcs[range]
    }

    /// Returns the positions of a state's arcs among all arcs.
    #[inline]
    pub(crate) fn arc_range(&self, state: u32) -> Range<usize> {
        let first = state.checked_sub(1).map_or(0, |before| self.states[before as usize].end);
        first as usize..self.states[state as usize].end as usize
    }

    /// Returns the highest input and output label, 0 if all are epsilons.
    pub fn highest_labels(&self) -> (i32, i32) {
        let highest = |label: fn(&CostArc) -> i32| self.arcs.iter().map(label).fold(EPSILON, i32::max);
        (highest(|arc| arc.ilabel), highest(|arc| arc.olabel))
    }

    /// Replaces some input labels by epsilon, as Kaldi does with disambiguation symbols.
    #[doc(alias = "RemoveSomeInputSymbols")]
    pub fn clear_ilabels(&mut self, labels: &[i32]) {
        let mut removed = labels.to_vec();
        removed.sort_unstable();
        for arc in &mut self.arcs {
            if removed.binary_search(&arc.ilabel).is_ok() {
                arc.ilabel = EPSILON;
            }
        }
    }
}

/// Receives the states of a transducer one after the other.
#[derive(Debug, Default)]
pub(crate) struct TransducerBuilder {
    states: Vec<State>,
    pub(crate) arcs: Vec<CostArc>,
}

impl TransducerBuilder {
    /// Makes room for so many states and arcs.
    pub(crate) fn reserve(&mut self, num_states: usize, num_arcs: usize) {
        self.states.reserve_exact(num_states);
        self.arcs.reserve_exact(num_arcs);
    }

    /// Ends a state, whose arcs were added since the last one.
    pub(crate) fn end_state(&mut self, final_cost: f32) -> Result<(), Error> {
        Error::fit(Quantity::Arcs, self.arcs.len())?;
        self.states.push(State { final_cost, end: number(self.arcs.len()) });
        Ok(())
    }

    /// Checks and returns the transducer.
    pub(crate) fn finish(self, start: Option<u32>, semiring: Semiring) -> Result<Transducer, Error> {
        let Self { states, arcs } = self;
        Error::fit(Quantity::States, states.len())?;
        let wrong = |what| Error::Binary { offset: 0, what };
        let is_cost = |cost: f32| cost > f32::NEG_INFINITY;
        let is_right = |arc: &CostArc| {
            let labels = arc.ilabel >= EPSILON && arc.olabel >= EPSILON;
            labels && is_cost(arc.cost) && (arc.dest as usize) < states.len()
        };
        if !arcs.iter().all(is_right) || !states.iter().all(|state| is_cost(state.final_cost)) {
            return Err(wrong("an arc with a label below 0, no state to enter or a cost that is no number"));
        }
        if start.is_some_and(|start| start as usize >= states.len()) {
            return Err(wrong("the start is a state that is not there"));
        }
        Ok(Transducer { start, semiring, states, arcs })
    }
}
