//! What the cells have in common.

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
    /// Its weights, and gradients by them.
    type Weights: Parameters<T> + Clone + Send;
    /// What [`backward`](Saved::backward) needs of a forward pass. It borrows the cell, which thus
    /// cannot change in between.
    type Saved<'a>: Saved<T, Weights = Self::Weights> + Send
    where
        Self: 'a;

    /// The width of the input.
    fn input_size(&self) -> usize;
    /// The width of the output, and of [`State::h`].
    fn output_size(&self) -> usize;
    /// The width of [`State::c`]; 0 for cells without.
    fn cell_size(&self) -> usize;
    /// The weights.
    fn weights(&self) -> &Self::Weights;
    /// The weights, to be changed.
    fn weights_mut(&mut self) -> &mut Self::Weights;

    /// The cell ready to run, for many calls with few steps each.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Zero`], [`Error::NotFinite`], [`Error::Unused`] for weights or
    /// options that do not fit.
    fn prepare(&self) -> Result<Prepared<T>, Error>;

    /// A forward pass that keeps nothing for a backward pass: for recognition, not for training.
    /// `x` is `[rows, input_size]` with at least one level; its last level are the sequences.
    /// Without `initial`, all states are zeros.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`Prepared::run`].
    fn run(&self, x: &LodTensor<T>, direction: Direction, initial: Option<&State<T>>) -> Result<Output<T>, Error> {
        self.prepare()?.run(x, direction, initial)
    }

    /// As [`run`](Self::run), keeping what [`Saved::backward`] needs.
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

/// What the backward pass needs of a forward pass.
pub trait Saved<T: Real> {
    /// The weights of the cell.
    type Weights;

    /// The gradients by all that went in, from those by what came out. Takes the pass with it,
    /// whose memory it uses.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::OtherLod`] for gradients of another shape than the outputs.
    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, Self::Weights>, Error>;
}
