//! The layers, for batches and for streams.

mod normalize;
pub(crate) mod product;
mod recurrent;
mod residual;
mod rows;
mod sequence;
mod window;

use std::fmt;

use lod::LodTensor;

pub(crate) use self::sequence::Sequence;
use crate::error::Error;
use crate::options::{Function, LayerOptions};
use ::recurrent::train::ParameterStore;

/// A layer that is ready to run.
pub(crate) trait Layer: fmt::Debug + Send + Sync {
    /// Returns the number of values of a row of the result.
    fn num_outputs(&self) -> usize;

    /// Returns the number of input rows per output row.
    fn subsampling(&self) -> usize {
        1
    }

    /// Returns the number of rows of the result for an utterance of `rows` rows.
    fn num_rows(&self, rows: usize) -> usize {
        rows
    }

    /// Runs the layer on the rows of a batch, which have the width that the layer was created for.
    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error>;

    /// Returns a stream of the layer, for an utterance that comes in chunks.
    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error>;
}

/// The state of a layer within an utterance.
pub(crate) trait LayerStream: fmt::Debug + Send {
    /// Returns the result for more rows, which are one sequence; `last` if no rows will follow.
    fn accept(&mut self, x: &LodTensor<f32>, last: bool) -> Result<LodTensor<f32>, Error>;
}

/// Creates the layer of these options for rows of `inputs` values.
pub(crate) fn build(
    options: &LayerOptions,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<Box<dyn Layer>, Error> {
    Ok(match options {
        LayerOptions::BatchNorm { name, epsilon } => Box::new(normalize::batch(name, *epsilon, inputs, weights)?),
        LayerOptions::LayerNorm { name, epsilon } => Box::new(normalize::layer(name, *epsilon, inputs, weights)?),
        LayerOptions::UtteranceNorm { variance, epsilon } => {
            Box::new(normalize::UtteranceNorm::new(*variance, *epsilon, inputs)?)
        }
        LayerOptions::Stack { frames, stride } => Box::new(window::stack(*frames, *stride, inputs)?),
        LayerOptions::Linear { name } => Box::new(rows::linear(name, inputs, weights)?),
        LayerOptions::Conv { name, stride, dilation, groups, padding } => {
            let shape = window::ConvShape { stride: *stride, dilation: *dilation, groups: *groups, padding: *padding };
            Box::new(window::conv(name, &shape, inputs, weights)?)
        }
        LayerOptions::Gru { name } => Box::new(recurrent::gru(name, inputs, weights)?),
        LayerOptions::Lstm { name } => Box::new(recurrent::lstm(name, inputs, weights)?),
        LayerOptions::Rnn { name, activation } => Box::new(recurrent::rnn(name, *activation, inputs, weights)?),
        LayerOptions::Activation { function } => Box::new(rows::activation(*function, inputs)),
        LayerOptions::Residual { layers } => Box::new(residual::residual(layers, inputs, weights)?),
        LayerOptions::LogSoftmax {} => Box::new(rows::log_softmax(inputs)),
    })
}

/// Returns the error of an invalid option.
fn refuse(key: &'static str, found: impl ToString, expected: &'static str) -> Error {
    Error::Option { key, found: found.to_string(), expected }
}

/// Checks that `epsilon` can be added to a variance.
fn check_epsilon(epsilon: f32) -> Result<(), Error> {
    if epsilon >= 0.0 && epsilon.is_finite() {
        return Ok(());
    }
    Err(refuse("epsilon", epsilon, "it must be a number from 0 on"))
}

/// Returns one sequence of these rows.
fn one_sequence(rows: usize, width: usize, values: Vec<f32>) -> Result<LodTensor<f32>, Error> {
    Ok(LodTensor::from_lengths(&[rows], width, values)?)
}
