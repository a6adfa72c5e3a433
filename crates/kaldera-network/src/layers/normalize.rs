//! Mean and variance: fixed, of a row, or of an utterance.

use kaldera_base::math::mean_and_scale;
use lod::LodTensor;
use recurrent::train::ParameterStore;

use super::rows::Rows;
use super::{Layer, LayerStream, check_epsilon};
use crate::error::Error;

/// The weight and the bias that are applied to normalised values.
struct Affine {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Affine {
    /// Reads the weight and the bias of a layer, if it has them.
    fn read(name: &str, inputs: usize, weights: &ParameterStore<f32>) -> Result<Option<Self>, Error> {
        let [weight, bias] = ["weight", "bias"].map(|tensor| format!("{name}.{tensor}"));
        if !weights.contains(&weight) && !weights.contains(&bias) {
            return Ok(None);
        }
        let get = |tensor: &str| Ok::<_, Error>(weights.get_shaped(tensor, &[inputs])?.to_vec());
        Ok(Some(Self { weight: get(&weight)?, bias: get(&bias)? }))
    }
}

/// Normalizes with a mean and a variance for each column, as `nn.BatchNorm1d` does in `eval()`.
pub(super) fn batch(
    name: &str,
    epsilon: f32,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<impl Layer + use<>, Error> {
    check_epsilon(epsilon)?;
    let mean = weights.get_shaped(&format!("{name}.running_mean"), &[inputs])?.to_vec();
    let tensor = format!("{name}.running_var");
    let variance = weights.get_shaped(&tensor, &[inputs])?;
    let bad = variance.iter().position(|&value| !(value >= 0.0 && value + epsilon > 0.0));
    if let Some(position) = bad {
        return Err(Error::Variance { tensor, position, found: variance[position] });
    }
    let mut scale: Vec<f32> = variance.iter().map(|&variance| 1.0 / (variance + epsilon).sqrt()).collect();
    let mut offset = vec![0.0; inputs];
    if let Some(Affine { weight, bias }) = Affine::read(name, inputs, weights)? {
        scale.iter_mut().zip(weight).for_each(|(scale, weight)| *scale *= weight);
        offset = bias;
    }
    Ok(Rows::new("BatchNorm", inputs, move |x| {
        let mut y = x.clone();
        for row in y.rows_mut() {
            for ((value, mean), (scale, offset)) in row.iter_mut().zip(&mean).zip(scale.iter().zip(&offset)) {
                *value = (*value - mean) * scale + offset;
            }
        }
        Ok(y)
    }))
}

/// Normalizes with the mean and variance of each row, as `nn.LayerNorm` does.
pub(super) fn layer(
    name: &str,
    epsilon: f32,
    inputs: usize,
    weights: &ParameterStore<f32>,
) -> Result<impl Layer + use<>, Error> {
    check_epsilon(epsilon)?;
    let affine = Affine::read(name, inputs, weights)?;
    Ok(Rows::new("LayerNorm", inputs, move |x| {
        let mut y = x.clone();
        for row in y.rows_mut() {
            let (mean, scale) = moments(row.iter(), epsilon);
            row.iter_mut().for_each(|value| *value = (*value - mean) * scale);
            if let Some(Affine { weight, bias }) = &affine {
                row.iter_mut().zip(weight.iter().zip(bias)).for_each(|(value, (w, b))| *value = *value * w + b);
            }
        }
        Ok(y)
    }))
}

/// Returns the mean and the inverse of the standard deviation, computed in double precision.
#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
fn moments<'a>(values: impl Iterator<Item = &'a f32> + Clone, epsilon: f32) -> (f32, f32) {
    let (mean, scale) = mean_and_scale(values.map(|&value| f64::from(value)), epsilon.into());
    (mean as f32, scale as f32)
}

/// Mean and variance of each column over an utterance.
#[derive(Debug)]
pub(super) struct UtteranceNorm {
    variance: bool,
    epsilon: f32,
    inputs: usize,
}

impl UtteranceNorm {
    pub(super) fn new(variance: bool, epsilon: f32, inputs: usize) -> Result<Self, Error> {
        check_epsilon(epsilon)?;
        Ok(Self { variance, epsilon, inputs })
    }
}

impl Layer for UtteranceNorm {
    fn num_outputs(&self) -> usize {
        self.inputs
    }

    fn run(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let (mut y, width) = (x.clone(), self.inputs);
        let lengths = x.lengths();
        let mut rest = y.values_mut();
        for (sequence, length) in x.sequences().zip(lengths) {
            let (own, others) = rest.split_at_mut(length * width);
            rest = others;
            for column in 0..width {
                let values = sequence.iter().skip(column).step_by(width);
                let (mean, scale) = moments(values, self.epsilon);
                let scale = if self.variance { scale } else { 1.0 };
                own.iter_mut().skip(column).step_by(width).for_each(|value| *value = (*value - mean) * scale);
            }
        }
        Ok(y)
    }

    fn stream(&self) -> Result<Box<dyn LayerStream + '_>, Error> {
        Err(Error::NoStream { because: "mean and variance are those of the utterance" })
    }
}
