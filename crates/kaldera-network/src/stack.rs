//! A sequence of layers as a network.

use std::fmt;
use std::sync::Arc;

use lod::LodTensor;
use recurrent::train::ParameterStore;
use self_cell::self_cell;

use crate::error::Error;
use crate::layers::{Layer as _, LayerStream, Sequence};
use crate::network::{Batch, Network, NetworkStream};
use crate::options::LayerOptions;

/// A network of layers. Each takes the result of the one before, as in PyTorch's `nn.Sequential` in
/// `eval()`. The README has an example and the formula of each layer.
#[derive(Debug)]
#[doc(alias = "Sequential")]
pub struct LayerStack {
    layers: Sequence,
}

impl LayerStack {
    /// Creates the network of these layers for rows of `num_inputs` values, with the weights of a
    /// safetensors file.
    ///
    /// # Errors
    /// [`Error::NoLayers`]; [`Error::Layer`] with the number and the kind of a layer for an option
    /// out of range, for rows of no values, and for a tensor that is missing, of another shape or
    /// type, or not finite.
    pub fn new(num_inputs: usize, layers: &[LayerOptions], weights: &ParameterStore<f32>) -> Result<Self, Error> {
        Ok(Self { layers: Sequence::new(num_inputs, layers, weights)? })
    }

    fn check_width(&self, found: usize) -> Result<(), Error> {
        let expected = self.layers.num_inputs();
        if found == expected { Ok(()) } else { Err(Error::Rows { expected, found }) }
    }
}

impl Network for LayerStack {
    fn num_inputs(&self) -> usize {
        self.layers.num_inputs()
    }

    fn num_outputs(&self) -> usize {
        self.layers.num_outputs()
    }

    fn subsampling(&self) -> usize {
        self.layers.subsampling()
    }

    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
        self.check_width(batch.rows().width())?;
        self.layers.run(batch.rows())
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, Error> {
        Ok(Box::new(StackStream(Running::try_new(self, |stack| stack.layers.stream())?)))
    }
}

self_cell!(
    /// The state of the layers, which it borrows.
    struct Running {
        owner: Arc<LayerStack>,
        #[not_covariant]
        dependent: LayersStream,
    }
);

type LayersStream<'n> = Box<dyn LayerStream + 'n>;

struct StackStream(Running);

impl fmt::Debug for StackStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.with_dependent(|_, stream| f.debug_tuple("StackStream").field(stream).finish())
    }
}

impl StackStream {
    fn run(&mut self, values: &[f32], last: bool) -> Result<Vec<f32>, Error> {
        self.0.with_dependent_mut(|stack, stream| {
            let width = stack.layers.num_inputs();
            if !values.len().is_multiple_of(width.max(1)) {
                return Err(Error::Rows { expected: width, found: values.len() });
            }
            let rows = LodTensor::from_lengths(&[values.len() / width.max(1)], width, values.to_vec())?;
            let result = stream.accept(&rows, last)?.values().to_vec();
            if last {
                *stream = stack.layers.stream()?;
            }
            Ok(result)
        })
    }
}

impl NetworkStream for StackStream {
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        self.run(rows, false)
    }

    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        self.run(rows, true)
    }
}
