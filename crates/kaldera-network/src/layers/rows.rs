//! Layers that use one row at a time.

use kaldera_base::math;
use lod::LodTensor;
use recurrent::train::{self, ParameterStore};

use super::product::Product;
use super::{Function, Layer, LayerStream};
use crate::error::Error;

/// A layer whose result for a row depends only on that row: a stream needs no state.
pub(super) struct Rows<F> {
    name: &'static str,
    num_outputs: usize,
    run: F,
}

impl<F: Fn(&LodTensor<f32>) -> Result<LodTensor<f32>, Error> + Send + Sync> Rows<F> {
    pub(super) fn new(name: &'static str, num_outputs: usize, run: F) -> Self {
        Self { name, num_outputs, run }
    }
}

impl<F> std::fmt::Debug for Rows<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.name).field("num_outputs", &self.num_outputs).finish_non_exhaustive()
    }
}

impl<F: Fn(&LodTensor<f32>) -> Result<LodTensor<f32>, Error> + Send + Sync> Layer for Rows<F> {
    fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        (self.run)(x)
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        Ok(Box::new(RowsStream { layer: self }))
    }
}

#[derive(Debug)]
struct RowsStream<'l> {
    layer: &'l dyn Layer,
}

impl LayerStream for RowsStream<'_> {
    fn accept(&mut self, x: &LodTensor<f32>, _last: bool) -> Result<LodTensor<f32>, Error> {
        self.layer.run(x)
    }
}

/// x Wᵀ + b.
pub(super) fn linear(name: &str, inputs: usize, weights: &ParameterStore<f32>) -> Result<impl Layer + use<>, Error> {
    let weight_name = format!("{name}.weight");
    let weight = weights.matrix(&weight_name)?;
    if weight.num_cols() != inputs {
        return Err(Error::Width { tensor: weight_name, expected: inputs, found: weight.num_cols() });
    }
    let bias_name = format!("{name}.bias");
    let bias = match weights.contains(&bias_name) {
        true => weights.get_shaped(&bias_name, &[weight.num_rows()])?.to_vec(),
        false => vec![0.0; weight.num_rows()],
    };
    let product = Product::new(weight.into_vec(), bias, inputs);
    Ok(Rows::new("Linear", product.num_outputs(), move |x| product.apply(x)))
}

/// Applies a function to each value.
pub(super) fn activation(function: Function, inputs: usize) -> impl Layer {
    Rows::new("Activation", inputs, move |x| {
        let mut y = x.clone();
        let values = y.values_mut();
        match function {
            Function::Relu => values.iter_mut().for_each(|value| *value = value.max(0.0)),
            Function::Tanh => math::tanh_in_place(values),
            Function::Sigmoid => math::sigmoid_in_place(values),
            Function::Exp => math::exp_in_place(values),
            Function::Ln => math::ln_in_place(values),
            Function::Silu => {
                math::sigmoid_in_place(values);
                values.iter_mut().zip(x.values()).for_each(|(y, x)| *y *= x);
            }
        }
        Ok(y)
    })
}

/// Computes the logarithm of the softmax of each row.
pub(super) fn log_softmax(inputs: usize) -> impl Layer {
    Rows::new("LogSoftmax", inputs, |x| Ok(train::log_softmax(x)?))
}
