//! A sequence of layers. Each takes the result of the one before.

use lod::LodTensor;
use recurrent::train::ParameterStore;

use super::{Layer, LayerStream, build};
use crate::error::Error;
use crate::options::LayerOptions;

/// A sequence of layers. An error has the number and the kind of its layer.
#[derive(Debug)]
pub(crate) struct Sequence {
    num_inputs: usize,
    layers: Vec<NamedLayer>,
}

#[derive(Debug)]
struct NamedLayer {
    kind: &'static str,
    layer: Box<dyn Layer>,
}

impl Sequence {
    /// Creates the layers of these options for rows of `num_inputs` values.
    pub(crate) fn new(
        num_inputs: usize,
        layers: &[LayerOptions],
        weights: &ParameterStore<f32>,
    ) -> Result<Self, Error> {
        if layers.is_empty() {
            return Err(Error::NoLayers);
        }
        let (mut width, mut made) = (num_inputs, Vec::with_capacity(layers.len()));
        for (number, options) in layers.iter().enumerate() {
            let kind = options.kind();
            let layer = build(options, width, weights).map_err(|error| at(number, kind, error))?;
            width = layer.num_outputs();
            if width == 0 {
                return Err(at(number, kind, Error::NoColumns));
            }
            made.push(NamedLayer { kind, layer });
        }
        Ok(Self { num_inputs, layers: made })
    }

    /// Returns the number of values of an input row.
    pub(crate) fn num_inputs(&self) -> usize {
        self.num_inputs
    }
}

/// Adds the layer to an error.
fn at(number: usize, kind: &'static str, error: Error) -> Error {
    Error::Layer { number, kind, source: Box::new(error) }
}

impl Layer for Sequence {
    fn num_outputs(&self) -> usize {
        self.layers.last().map_or(self.num_inputs, |last| last.layer.num_outputs())
    }

    fn subsampling(&self) -> usize {
        self.layers.iter().map(|layer| layer.layer.subsampling()).fold(1, usize::saturating_mul)
    }

    fn num_rows(&self, rows: usize) -> usize {
        self.layers.iter().fold(rows, |rows, layer| layer.layer.num_rows(rows))
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let mut rows = x.clone();
        for (number, NamedLayer { kind, layer }) in self.layers.iter().enumerate() {
            rows = layer.run(&rows).map_err(|error| at(number, kind, error))?;
        }
        Ok(rows)
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        let layers = self.layers.iter().enumerate();
        let streams = layers.map(|(number, NamedLayer { kind, layer })| {
            Ok((*kind, layer.stream().map_err(|error| at(number, kind, error))?))
        });
        Ok(Box::new(SequenceStream { layers: streams.collect::<Result<_, Error>>()? }))
    }
}

#[derive(Debug)]
struct SequenceStream<'l> {
    layers: Vec<(&'static str, Box<dyn LayerStream + 'l>)>,
}

impl LayerStream for SequenceStream<'_> {
    fn accept(&mut self, x: &LodTensor<f32>, last: bool) -> Result<LodTensor<f32>, Error> {
        let mut rows = x.clone();
        for (number, (kind, stream)) in self.layers.iter_mut().enumerate() {
            rows = stream.accept(&rows, last).map_err(|error| at(number, kind, error))?;
        }
        Ok(rows)
    }
}
