//! The interface that the cells share.

use kaldera_base::Real;
use lod::LodTensor;

use crate::error::Error;
use crate::parameters::Parameters;
use crate::prepared::Prepared;
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

/// A recurrent cell of this crate: [`Rnn`](crate::Rnn), [`Lstm`](crate::Lstm) or
/// [`Gru`](crate::Gru).
///
/// For a step of your own, see [`Recurrent`](crate::Recurrent).
pub trait Cell<T: Real>: Clone + Send + Sync {
    /// Type of the weights, and of the gradients by them.
    type Weights: Parameters<T> + Clone + Send;
    /// Values of a forward pass that [`backward`](Saved::backward) needs. Borrows the cell, which
    /// therefore cannot change in between.
    type Saved<'a>: Saved<T, Weights = Self::Weights> + Send
    where
        Self: 'a;

    /// Returns the width of the input.
    fn input_size(&self) -> usize;
    /// Returns the width of the output, and of [`State::h`].
    fn output_size(&self) -> usize;
    /// Returns the width of [`State::c`]; 0 for cells without it.
    fn cell_size(&self) -> usize;
    /// Returns the weights.
    fn weights(&self) -> &Self::Weights;
    /// Returns the weights for modification.
    fn weights_mut(&mut self) -> &mut Self::Weights;

    /// Prepares the cell to run, for many calls with few steps each.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Zero`], [`Error::NotFinite`], [`Error::Unused`] for weights or
    /// options that do not fit.
    fn prepare(&self) -> Result<Prepared<T>, Error>;

    /// Runs a forward pass that keeps nothing for a backward pass: for recognition, not for
    /// training. `x` is `[rows, input_size]` with at least one level; its last level gives the
    /// sequences. Without `initial`, all states are zeros.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`Prepared::run`].
    fn run(&self, x: &LodTensor<T>, direction: Direction, initial: Option<&State<T>>) -> Result<Output<T>, Error> {
        self.prepare()?.run(x, direction, initial)
    }

    /// Runs like [`run`](Self::run), but keeps the values that [`Saved::backward`] needs.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    fn forward<'a>(
        &'a self,
        x: &LodTensor<T>,
        direction: Direction,
        initial: Option<&State<T>>,
    ) -> Result<(Output<T>, Self::Saved<'a>), Error>;
}

/// Values of a forward pass that the backward pass needs.
pub trait Saved<T: Real> {
    /// The weights of the cell.
    type Weights;

    /// Returns the gradients by all inputs, given the gradients by the outputs. Consumes the saved
    /// pass, whose memory it reuses.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::OtherLod`] for gradients of another shape than the outputs.
    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, Self::Weights>, Error>;
}
