//! Recurrent layers: the stacks of `recurrent`, with the state of a stream.

use lod::LodTensor;
use recurrent::train::ParameterStore;
use recurrent::weights::TorchCell;
use recurrent::{Activation, Gru, GruOptions, Lstm, LstmOptions, PreparedStack, Rnn, Stack, State};

use super::{Function, Layer, LayerStream, refuse};
use crate::error::Error;

/// A prepared stack.
#[derive(Debug)]
struct Recurrent {
    stack: PreparedStack<f32>,
    num_outputs: usize,
    both_directions: bool,
}

pub(super) fn gru(name: &str, inputs: usize, weights: &ParameterStore<f32>) -> Result<impl Layer + use<>, Error> {
    read::<Gru<f32>>(name, GruOptions::default(), inputs, weights)
}

pub(super) fn lstm(name: &str, inputs: usize, weights: &ParameterStore<f32>) -> Result<impl Layer + use<>, Error> {
    read::<Lstm<f32>>(name, LstmOptions::default(), inputs, weights)
}

pub(super) fn rnn(
    name: &str,
    activation: Function,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<impl Layer + use<>, Error> {
    let activation = match activation {
        Function::Tanh => Activation::Tanh,
        Function::Relu => Activation::Relu,
        other => return Err(refuse("activation", format!("{other:?}"), "it must be tanh or relu")),
    };
    read::<Rnn<f32>>(name, activation, inputs, weights)
}

fn read<C: TorchCell<f32>>(
    name: &str,
    options: C::Options,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<Recurrent, Error> {
    let stack = Stack::<C>::from_torch(weights, &format!("{name}."), options)?;
    let (mut num_outputs, mut both_directions) = (inputs, false);
    for (number, layer) in stack.layers.iter().enumerate() {
        both_directions = layer.reverse.is_some();
        for (cell, ending) in [(Some(&layer.forward), ""), (layer.reverse.as_ref(), "_reverse")] {
            if let Some(found) = cell.map(|cell| cell.input_size()).filter(|&found| found != num_outputs) {
                let tensor = format!("{name}.weight_ih_l{number}{ending}");
                return Err(Error::Width { tensor, expected: num_outputs, found });
            }
        }
        num_outputs = layer.forward.output_size() + layer.reverse.as_ref().map_or(0, |cell| cell.output_size());
    }
    Ok(Recurrent { stack: stack.prepare()?, num_outputs, both_directions })
}

impl Layer for Recurrent {
    fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        Ok(self.stack.run(x, &[])?.y)
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        if self.both_directions {
            return Err(Error::NoStream { because: "a layer begins at the end of the utterance" });
        }
        Ok(Box::new(RecurrentStream { layer: self, state: vec![] }))
    }
}

#[derive(Debug)]
struct RecurrentStream<'l> {
    layer: &'l Recurrent,
    /// One state for each layer; none at the start.
    state: Vec<State<f32>>,
}

impl LayerStream for RecurrentStream<'_> {
    fn accept(&mut self, x: &LodTensor<f32>, _last: bool) -> Result<LodTensor<f32>, Error> {
        let out = self.layer.stack.run(x, &self.state)?;
        self.state = out.last;
        Ok(out.y)
    }
}
