//! FSAs whose size is known before the first arc is written, in one piece of memory.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::Arc;
use crate::core::fsa::FsaVec;
use crate::error::{Error, Quantity};
use crate::support::ids::id;

/// Builds FSAs one after another.
pub(crate) struct Flat {
    states: Vec<i32>,
    ends: Vec<i32>,
    arcs: Vec<Arc>,
    aux_labels: Vec<i32>,
}

impl Flat {
    /// Allocates memory for this many.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more than 32 bits can count.
    pub(crate) fn with_capacity(num_fsas: usize, num_states: usize, num_arcs: usize) -> Result<Self, Error> {
        Error::fit(Quantity::Fsas, num_fsas)?;
        Error::fit(Quantity::States, num_states)?;
        Error::fit(Quantity::Arcs, num_arcs)?;
        let mut made = Self {
            states: Vec::with_capacity(num_fsas + 1),
            ends: Vec::with_capacity(num_states + 1),
            arcs: Vec::with_capacity(num_arcs),
            aux_labels: Vec::new(),
        };
        made.states.push(0);
        made.ends.push(0);
        Ok(made)
    }

    /// Allocates memory for output labels, one for each arc.
    pub(crate) fn transducers(mut self) -> Self {
        self.aux_labels.reserve_exact(self.arcs.capacity());
        self
    }

    /// Adds an arc of an acceptor.
    #[inline]
    pub(crate) fn arc(&mut self, arc: Arc) {
        self.arcs.push(arc);
    }

    /// Adds an arc of a transducer.
    #[inline]
    pub(crate) fn arc_with(&mut self, arc: Arc, aux_label: i32) {
        self.arcs.push(arc);
        self.aux_labels.push(aux_label);
    }

    /// Adds many arcs of a transducer.
    pub(crate) fn arcs_with(&mut self, arcs: impl Iterator<Item = Arc>, aux_labels: impl Iterator<Item = i32>) {
        self.arcs.extend(arcs);
        self.aux_labels.extend(aux_labels);
    }

    /// Ends the arcs of a state.
    #[inline]
    pub(crate) fn end_state(&mut self) {
        self.ends.push(id(self.arcs.len()));
    }

    /// Ends the states of an FSA, of which the last one, without arcs, is the final state.
    pub(crate) fn end_fsa(&mut self) {
        self.end_state();
        self.states.push(id(self.ends.len() - 1));
    }

    /// Returns the FSAs and the output labels.
    pub(crate) fn finish(self) -> Result<(FsaVec, Vec<i32>), Error> {
        let shape = RaggedShape::new([RowSplits::new(self.states)?, RowSplits::new(self.ends)?])?;
        Ok((FsaVec::trusted(Ragged::new(shape, self.arcs)?), self.aux_labels))
    }
}

/// Checks that no symbol is below `least`.
///
/// # Errors
/// [`Error::Symbol`].
pub(crate) fn check_symbols(symbols: &[i32], least: i32) -> Result<(), Error> {
    match symbols.iter().position(|&symbol| symbol < least) {
        None => Ok(()),
        Some(position) => Err(Error::Symbol { position, symbol: symbols[position], least }),
    }
}

/// Checks that lists of symbols have two axes.
///
/// # Errors
/// [`Error::Axes`].
pub(crate) fn check_lists(symbols: &Ragged<i32>) -> Result<(), Error> {
    match symbols.num_axes() {
        2 => Ok(()),
        found => Err(Error::Axes { what: Quantity::SymbolLists, expected: 2, found }),
    }
}
