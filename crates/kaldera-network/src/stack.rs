//! Layers, one after another.

use lod::LodTensor;
use recurrent::train::ParameterStore;

use crate::error::Error;
use crate::layers::{self, Layer, LayerStream};
use crate::network::{Batch, Network, NetworkStream};
use crate::options::LayerOptions;

/// A network of layers, each of which takes the result of the one before: PyTorch's `nn.Sequential`
/// in `eval()`. The README has an example and what each layer computes.
#[derive(Debug)]
#[doc(alias = "Sequential")]
pub struct LayerStack {
    num_inputs: usize,
    layers: Vec<NamedLayer>,
}

#[derive(Debug)]
struct NamedLayer {
    kind: &'static str,
    layer: Box<dyn Layer>,
}

impl LayerStack {
    /// The network of these layers for rows of `num_inputs` values, with the weights of a
    /// safetensors file.
    ///
    /// # Errors
    /// [`Error::NoLayers`]; [`Error::Layer`] with the number and the kind of a layer for an option
    /// out of range, for rows of no values, and for a tensor that is missing, of another shape or type, or not finite.
    pub fn new(num_inputs: usize, layers: &[LayerOptions], weights: &ParameterStore<f32>) -> Result<Self, Error> {
        if layers.is_empty() {
            return Err(Error::NoLayers);
        }
        let (mut width, mut made) = (num_inputs, Vec::with_capacity(layers.len()));
        for (number, options) in layers.iter().enumerate() {
            let kind = options.kind();
            let layer = layers::build(options, width, weights).map_err(|error| at(number, kind, error))?;
            width = layer.num_outputs();
            if width == 0 {
                return Err(at(number, kind, Error::NoColumns));
            }
            made.push(NamedLayer { kind, layer });
        }
        Ok(Self { num_inputs, layers: made })
    }

    fn check_width(&self, found: usize) -> Result<(), Error> {
        if found == self.num_inputs {
            return Ok(());
        }
        Err(Error::Rows { expected: self.num_inputs, found })
    }
}

/// An error with the layer in which it appeared.
fn at(number: usize, kind: &'static str, error: Error) -> Error {
    Error::Layer { number, kind, source: Box::new(error) }
}

impl Network for LayerStack {
    fn num_inputs(&self) -> Option<usize> {
        Some(self.num_inputs)
    }

    fn num_outputs(&self) -> usize {
        self.layers.last().map_or(self.num_inputs, |last| last.layer.num_outputs())
    }

    fn subsampling(&self) -> usize {
        self.layers.iter().map(|layer| layer.layer.subsampling()).fold(1, usize::saturating_mul)
    }

    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
        self.check_width(batch.rows().width())?;
        let mut rows = batch.rows().clone();
        for (number, NamedLayer { kind, layer }) in self.layers.iter().enumerate() {
            rows = layer.run(&rows).map_err(|error| at(number, kind, error))?;
        }
        Ok(rows)
    }

    fn stream(&self) -> Result<Box<dyn NetworkStream + '_>, Error> {
        let mut stream = StackStream { network: self, layers: vec![] };
        stream.restart()?;
        Ok(Box::new(stream))
    }
}

#[derive(Debug)]
struct StackStream<'n> {
    network: &'n LayerStack,
    layers: Vec<Box<dyn LayerStream + 'n>>,
}

impl StackStream<'_> {
    fn restart(&mut self) -> Result<(), Error> {
        let layers = self.network.layers.iter().enumerate();
        let streams = layers.map(|(number, layer)| layer.layer.stream().map_err(|error| at(number, layer.kind, error)));
        self.layers = streams.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn run(&mut self, values: &[f32], last: bool) -> Result<Vec<f32>, Error> {
        let width = self.network.num_inputs;
        if !values.len().is_multiple_of(width.max(1)) {
            return Err(Error::Rows { expected: width, found: values.len() });
        }
        let mut rows = LodTensor::from_lengths(&[values.len() / width.max(1)], width, values.to_vec())?;
        for (number, (stream, layer)) in self.layers.iter_mut().zip(&self.network.layers).enumerate() {
            rows = stream.accept(&rows, last).map_err(|error| at(number, layer.kind, error))?;
        }
        Ok(rows.values().to_vec())
    }
}

impl NetworkStream for StackStream<'_> {
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        self.run(rows, false)
    }

    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        let result = self.run(rows, true)?;
        self.restart()?;
        Ok(result)
    }
}
