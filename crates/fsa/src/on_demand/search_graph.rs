//! The interface of graphs to decoders that follow costs from state to state.

use crate::core::transducer::StateArcs;
use crate::error::Error;

/// A graph in Kaldi's form for a decoder: input labels are transition ids, and states may be
/// computed when the decoder asks for them.
///
/// The number of a state depends on the states visited before, also by other decoders of the same
/// graph: a decoder must not order anything by it. The order of a state's arcs is always the same.
pub trait SearchGraph {
    /// Returns the start, `None` if the graph is empty.
    ///
    /// # Errors
    /// [`Error::Limit`] if a graph that is computed on demand has no room.
    fn start(&mut self) -> Result<Option<u32>, Error>;

    /// Returns the arcs and the final cost of a state. A state that could not be computed has none,
    /// and [`renew`](Self::renew) returns the error.
    fn arcs(&mut self, state: u32) -> StateArcs<'_>;

    /// Is called between two frames with all states that will be asked for: lets a graph that is
    /// computed on demand forget all others and give these other numbers, which it writes back.
    ///
    /// # Errors
    /// The error of a state that could not be computed.
    fn renew(&mut self, states: &mut [u32]) -> Result<(), Error>;
}
