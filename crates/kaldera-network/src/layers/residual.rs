//! Layers whose result is added to their input.

use lod::LodTensor;
use recurrent::train::ParameterStore;

use super::sequence::Sequence;
use super::{Layer, LayerStream, one_sequence};
use crate::error::Error;
use crate::options::LayerOptions;

/// Number of rows of an utterance that is longer than the rows that convolutions remove at its
/// ends.
const LONG: usize = 1_000_000;

/// x + f(x).
#[derive(Debug)]
struct Residual {
    layers: Sequence,
}

pub(super) fn residual(
    layers: &[LayerOptions],
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<impl Layer + use<>, Error> {
    let layers = Sequence::new(inputs, layers, weights)?;
    same("values of a row", inputs, layers.num_outputs())?;
    same("rows that become one", 1, layers.subsampling())?;
    same("rows", LONG, layers.num_rows(LONG))?;
    Ok(Residual { layers })
}

fn same(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Residual { what, expected, found }) }
}

fn add(to: &mut [f32], values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}

impl Layer for Residual {
    fn num_outputs(&self) -> usize {
        self.layers.num_outputs()
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let mut y = self.layers.run(x)?;
        for (given, made) in x.lengths().into_iter().zip(y.lengths()) {
            same("rows", given, made)?;
        }
        add(y.values_mut(), x.values());
        Ok(y)
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        Ok(Box::new(ResidualStream { layers: self.layers.stream()?, width: self.num_outputs(), waiting: vec![] }))
    }
}

#[derive(Debug)]
struct ResidualStream<'l> {
    layers: Box<dyn LayerStream + 'l>,
    width: usize,
    /// Rows whose results are not complete: a convolution waits for the rows after them.
    waiting: Vec<f32>,
}

impl LayerStream for ResidualStream<'_> {
    fn accept(&mut self, x: &LodTensor<f32>, last: bool) -> Result<LodTensor<f32>, Error> {
        self.waiting.extend_from_slice(x.values());
        let mut values = self.layers.accept(x, last)?.values().to_vec();
        let (given, made) = (self.waiting.len() / self.width, values.len() / self.width);
        if made > given || last {
            same("rows", given, made)?;
        }
        add(&mut values, &self.waiting);
        self.waiting.drain(..values.len());
        one_sequence(made, self.width, values)
    }
}
