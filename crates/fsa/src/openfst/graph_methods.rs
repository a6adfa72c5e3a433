//! OpenFst's algorithms as methods of [`Graph`].

use ragged_core::Ragged;

use crate::core::fsa::{Fsa, Fsas};
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::error::Error;
use crate::openfst;
use crate::openfst::determinize::DeterminizeOptions;
use crate::openfst::encode::Encoder;
use crate::openfst::minimize::MinimizeOptions;
use crate::openfst::project::Side;
use crate::openfst::push::PushTo;
use crate::openfst::shortest_paths::Unique;

impl<F: Fsas> Graph<F> {
    /// Calls [`openfst::determinize`](openfst::determinize()); k2's is
    /// [`determinize`](Graph::determinize).
    ///
    /// # Errors
    /// As the function.
    pub fn determinize_openfst(&self, options: &DeterminizeOptions) -> Result<Self, Error> {
        openfst::determinize(self, options)
    }

    /// Calls [`openfst::minimize`](openfst::minimize()).
    ///
    /// # Errors
    /// As the function.
    pub fn minimize(&self, options: &MinimizeOptions) -> Result<Self, Error> {
        openfst::minimize(self, options)
    }

    /// Calls [`openfst::optimize`](openfst::optimize()): without epsilons, deterministic and
    /// minimal.
    ///
    /// # Errors
    /// As the function.
    pub fn optimize(&self) -> Result<Self, Error> {
        openfst::optimize(self)
    }

    /// Calls [`openfst::epsilon_normalize`](openfst::epsilon_normalize()).
    ///
    /// # Errors
    /// As the function.
    pub fn epsilon_normalize(&self, side: Side, limits: Limits) -> Result<Self, Error> {
        openfst::epsilon_normalize(self, side, limits)
    }

    /// Calls [`openfst::push_weights`](openfst::push_weights()), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn push_weights(&self, to: PushTo) -> Result<Self, Error> {
        self.carry(openfst::push_weights(self.fsas(), to)?)
    }

    /// Calls [`openfst::push_weights_log`](openfst::push_weights_log()), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn push_weights_log(&self, to: PushTo) -> Result<Self, Error> {
        self.carry(openfst::push_weights_log(self.fsas(), to)?)
    }

    /// Calls [`openfst::difference`](openfst::difference()), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn difference(&self, other: &Fsa) -> Result<Self, Error> {
        self.carry(openfst::difference(self.fsas(), other)?)
    }

    /// Calls [`openfst::project`](openfst::project()); returns acceptors with the other attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn project(&self, side: Side) -> Result<Self, Error> {
        let projected = openfst::project(self, side)?;
        self.clone().without(crate::core::graph::AUX_LABELS).carry(projected)
    }

    /// Calls [`openfst::shortest_paths`](openfst::shortest_paths()): the arcs of the `n` best paths
    /// of each FSA.
    ///
    /// # Errors
    /// As the function.
    pub fn shortest_paths(&self, n: usize, unique: Unique) -> Result<Ragged<i32>, Error> {
        openfst::shortest_paths(self, n, unique)
    }

    /// Calls [`openfst::encode`](openfst::encode()).
    ///
    /// # Errors
    /// As the function.
    pub fn encode(&self, with_scores: bool) -> Result<(F, Encoder), Error> {
        openfst::encode(self, with_scores)
    }
}
