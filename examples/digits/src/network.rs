//! The network and one pass of learning.

use kaldera_losses::{CtcOptions, Impossible, ctc_loss};
use lod::LodTensor;
use ragged_core::Ragged;
use recurrent::train::{LayerNorm, Linear, ParameterStore, uniform};
use recurrent::{Dropout, Gru, GruWeights, Parameters, Stack, parameters};

use crate::Error;

/// The blank, and ten digits.
pub const TOKENS: usize = 11;
/// The token of the blank; a digit's is one more than the digit.
pub const BLANK: usize = 0;

/// A bidirectional GRU, normalisation, and scores of the tokens. With the GRU's weights for the GRU
/// it is the gradient.
#[derive(Debug, Clone)]
pub struct Network<E> {
    encoder: Stack<E>,
    norm: LayerNorm<f32>,
    output: Linear<f32>,
}

parameters! {
    impl<E: Parameters<f32>> Parameters<f32> for Network<E> { encoder, norm, output }
}

impl Network<Gru<f32>> {
    /// A network with random weights, distributed as PyTorch's.
    pub fn new(inputs: usize, hidden: usize, seed: u64) -> Self {
        let mut encoder = Stack::new(1, true, inputs, |inputs| Gru::zeros(inputs, hidden));
        uniform(&mut encoder, 1.0 / (hidden as f64).sqrt(), seed);
        let mut output = Linear::zeros(2 * hidden, TOKENS);
        uniform(&mut output, 1.0 / (2.0 * hidden as f64).sqrt(), seed);
        Self { encoder, norm: LayerNorm::new(2 * hidden), output }
    }

    /// The weights under the names that `kaldera-network` reads.
    ///
    /// # Errors
    /// Never: PyTorch's GRU has all that this one has.
    pub fn to_store(&self) -> Result<ParameterStore<f32>, Error> {
        let mut store = self.encoder.to_torch("encoder.")?;
        for (layer, tensors) in [("norm", self.norm.named()), ("output", self.output.named())] {
            for tensor in tensors {
                store.insert(&format!("{layer}.{}", tensor.name), &tensor.shape, tensor.values.to_vec())?;
            }
        }
        Ok(store)
    }

    /// A row of scores for each row.
    ///
    /// # Errors
    /// For rows of another width.
    pub fn logits(&self, rows: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let states = self.encoder.run(rows, &[])?.y;
        Ok(self.output.forward(&self.norm.forward(&states)?)?)
    }

    /// The loss of a batch and its gradient by all weights.
    ///
    /// # Errors
    /// For rows of another width, and labels that are no tokens or not as many lists as sequences.
    pub fn gradient(
        &self,
        rows: &LodTensor<f32>,
        labels: &Ragged<i32>,
        dropout: Dropout,
    ) -> Result<(f64, Network<GruWeights<f32>>), Error> {
        let (states, saved) = self.encoder.forward(rows, &[], None)?;
        let normalised = self.norm.forward(&states.y)?;
        let thinned = dropout.apply("output", &normalised)?;
        let logits = self.output.forward(&thinned)?;
        let options = CtcOptions::default().with_blank(BLANK).with_impossible(Impossible::Zero);
        let (loss, loss_saved) = ctc_loss(&logits, labels, &options)?;

        let by_logits = loss_saved.backward(&[1.0])?;
        let (by_thinned, output) = self.output.backward(&thinned, &by_logits)?;
        let by_normalised = dropout.apply("output", &by_thinned)?;
        let (by_states, norm) = self.norm.backward(&states.y, &by_normalised)?;
        let encoder = saved.backward(Some(&by_states), &[])?.weights;
        Ok((loss[0], Network { encoder, norm, output }))
    }
}

#[cfg(test)]
mod tests {
    use recurrent::Named;

    use super::*;

    /// The width of a difference.
    const STEP: f32 = 1e-2;
    /// Of rounding over the step, in single precision.
    const TOLERANCE: f32 = 2e-3;

    #[test]
    fn gradient_equals_finite_differences() {
        let network = Network::new(6, 4, 1);
        let mut values = vec![0.0_f32; 9 * 6];
        Named::new("x", [9, 6], &mut values[..]).fill_normal(1.0, 2);
        let rows = LodTensor::from_lengths(&[5, 0, 4], 6, values).unwrap();
        let labels = Ragged::from_lists(&[vec![3, 3], vec![], vec![10]]).unwrap();
        let dropout = Dropout { probability: 0.25, seed: 3 };
        let (_, gradient) = network.gradient(&rows, &labels, dropout).unwrap();
        for (tensor, gradient) in gradient.named().iter().enumerate() {
            for i in (0..gradient.values.len()).step_by(5) {
                let at = |step: f32| {
                    let mut moved = network.clone();
                    moved.named_mut()[tensor].values[i] += step;
                    moved.gradient(&rows, &labels, dropout).unwrap().0 as f32
                };
                let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                let error = (difference - gradient.values[i]).abs();
                assert!(error < TOLERANCE * difference.abs().max(1.0), "{} {i}: {error}", gradient.name);
            }
        }
    }

    #[test]
    fn logits_are_those_of_learning_without_dropout() {
        let network = Network::new(6, 4, 1);
        let rows = LodTensor::from_lengths(&[2], 6, vec![0.5; 12]).unwrap();
        let logits = network.logits(&rows).unwrap();
        assert_eq!((logits.lengths(), logits.width()), (vec![2], TOKENS));
        let labels = Ragged::from_lists(&[vec![1]]).unwrap();
        let (loss, _) = network.gradient(&rows, &labels, Dropout { probability: 0.0, seed: 1 }).unwrap();
        let (again, _) = ctc_loss(&logits, &labels, &CtcOptions::default()).unwrap();
        assert_eq!(loss, again[0]);
    }
}
