//! Predictors and joiners of transducers.

use std::fmt;

use recurrent::train::ParameterStore;

use crate::error::Error;
use crate::layers::product::Product;

/// The state of a predictor after the tokens so far.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PredictorState {
    /// The last tokens, the earliest first; -1 for a position before the start.
    pub tokens: Vec<i32>,
    /// The states of its recurrent layers.
    pub memory: Vec<Vec<f32>>,
    /// Its output, the input of the joiner.
    pub output: Vec<f32>,
}

impl PredictorState {
    /// Creates the state after these tokens, with this memory and this output.
    pub fn new(tokens: Vec<i32>, memory: Vec<Vec<f32>>, output: Vec<f32>) -> Self {
        Self { tokens, memory, output }
    }

    /// Returns the tokens after one more. The earliest one is dropped.
    pub fn tokens_and(&self, token: i32) -> Vec<i32> {
        self.tokens.iter().skip(1).copied().chain((!self.tokens.is_empty()).then_some(token)).collect()
    }

    /// Returns the tokens before the first one, for a context of this size: the blank, and -1
    /// before it, as in icefall.
    pub fn first_tokens(context: usize, blank: i32) -> Vec<i32> {
        let mut tokens = vec![-1; context];
        if let Some(last) = tokens.last_mut() {
            *last = blank;
        }
        tokens
    }
}

/// The predictor and the joiner of a transducer, whose encoder is a [`Network`](crate::Network).
///
/// Implement it for another runtime; `Recognizer::new` of the facade takes it.
pub trait Predictor: fmt::Debug + Send + Sync {
    /// Returns the number of values of a row of the encoder.
    fn encoder_dim(&self) -> usize;

    /// Returns the number of scores that the joiner gives for a row: all tokens, then all durations
    /// (TDT).
    fn num_scores(&self) -> usize;

    /// Returns the state before the first token.
    ///
    /// # Errors
    /// [`Error::Part`] if it cannot be run.
    fn start(&self) -> Result<PredictorState, Error>;

    /// Returns the state after one more token.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn advance(&self, state: &PredictorState, token: i32) -> Result<PredictorState, Error>;

    /// Writes the scores for a row of the encoder: logits or log-probabilities.
    ///
    /// # Errors
    /// [`Error::Rows`] for a row of another width; [`Error::Part`] for another number of scores, or
    /// if it cannot be run.
    fn join(&self, row: &[f32], state: &PredictorState, scores: &mut [f32]) -> Result<(), Error>;
}

/// icefall's stateless predictor and its joiner, from the tensors of its checkpoints.
///
/// ```text
///   predictor: relu(conv(embedding[y1] .. embedding[yn]))     a token before the first: zeros
///   joiner:    output_linear(tanh(row + decoder_proj(predictor)))
/// ```
///
/// `joiner.encoder_proj` is the last layer of the encoder: a `linear` of that name.
///
/// | tensor | shape |
/// |---|---|
/// | `decoder.embedding.weight` | `[tokens, D]` |
/// | `decoder.conv.weight` | `[D, D / groups, n]`: context of n tokens; without it 1, and no relu |
/// | `joiner.decoder_proj.weight`, `.bias` | `[J, D]`, `[J]` |
/// | `joiner.output_linear.weight`, `.bias` | `[tokens, J]`, `[tokens]` |
///
/// ```
/// use kaldera_network::{ParameterStore, Predictor, StatelessPredictor};
///
/// let mut weights = ParameterStore::new();
/// weights.insert("decoder.embedding.weight", &[3, 1], vec![0.0, 1.0, -1.0])?;
/// weights.insert("joiner.decoder_proj.weight", &[2, 1], vec![1.0, 2.0])?;
/// weights.insert("joiner.output_linear.weight", &[3, 2], vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0])?;
/// let predictor = StatelessPredictor::new(&weights, 0)?;
/// let state = predictor.advance(&predictor.start()?, 1)?;
/// let mut scores = [0.0; 3];
/// predictor.join(&[0.0, -1.0], &state, &mut scores)?;
/// let expected = 1.0_f32.tanh();
/// assert!(scores[0] == 0.0 && scores[1..].iter().all(|score| (score - expected).abs() < 1e-6));
/// # Ok::<(), kaldera_network::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "Decoder")]
#[doc(alias = "Joiner")]
pub struct StatelessPredictor {
    embedding: Vec<f32>,
    dim: usize,
    conv: Option<Conv>,
    decoder_proj: Product,
    output_linear: Product,
    blank: i32,
}

/// A convolution over the context, which gives one row.
#[derive(Debug)]
struct Conv {
    /// `[dim, group, context]`
    weight: Vec<f32>,
    group: usize,
    context: usize,
}

impl StatelessPredictor {
    /// Creates the predictor and the joiner from these tensors.
    ///
    /// # Errors
    /// [`Error::Recurrent`] for a tensor that is missing or of another shape, [`Error::Option`] for
    /// a blank that is not a token, [`Error::Axes`] and [`Error::Width`].
    pub fn new(weights: &ParameterStore<f32>, blank: usize) -> Result<Self, Error> {
        let embedding = weights.matrix("decoder.embedding.weight")?;
        let (num_tokens, dim) = (embedding.num_rows(), embedding.num_cols());
        let no_token = || Error::Option { key: "blank", found: blank.to_string(), expected: "it must be a token" };
        let blank = i32::try_from(blank).ok().filter(|_| blank < num_tokens).ok_or_else(no_token)?;
        let conv = match weights.contains("decoder.conv.weight") {
            true => Some(Conv::new(weights, dim)?),
            false => None,
        };
        let decoder_proj = linear(weights, "joiner.decoder_proj", None, dim)?;
        let output_linear = linear(weights, "joiner.output_linear", Some(num_tokens), decoder_proj.num_outputs())?;
        Ok(Self { embedding: embedding.into_vec(), dim, conv, decoder_proj, output_linear, blank })
    }

    fn state(&self, tokens: Vec<i32>) -> PredictorState {
        let row_of = |token: i32| {
            let start = usize::try_from(token).ok()?.checked_mul(self.dim)?;
            self.embedding.get(start..)?.get(..self.dim)
        };
        let rows: Vec<Option<&[f32]>> = tokens.iter().map(|&token| row_of(token)).collect();
        let hidden = match &self.conv {
            Some(conv) => conv.apply(&rows, self.dim),
            None => rows.last().copied().flatten().map_or_else(|| vec![0.0; self.dim], <[f32]>::to_vec),
        };
        PredictorState::new(tokens, vec![], self.decoder_proj.row(&hidden))
    }
}

/// x Wᵀ + b, with a number of outputs that is checked if it is given.
fn linear(weights: &ParameterStore<f32>, name: &str, outputs: Option<usize>, inputs: usize) -> Result<Product, Error> {
    let weight_name = format!("{name}.weight");
    let outputs = outputs.map_or_else(|| Ok(weights.matrix(&weight_name)?.num_rows()), Ok::<usize, Error>)?;
    let weight = weights.get_shaped(&weight_name, &[outputs, inputs])?.to_vec();
    let bias_name = format!("{name}.bias");
    let bias = match weights.contains(&bias_name) {
        true => weights.get_shaped(&bias_name, &[outputs])?.to_vec(),
        false => vec![0.0; outputs],
    };
    Ok(Product::new(weight, bias, inputs))
}

impl Conv {
    fn new(weights: &ParameterStore<f32>, dim: usize) -> Result<Self, Error> {
        let tensor = "decoder.conv.weight".to_owned();
        let (axes, values) = weights.get(&tensor)?;
        let &[outputs, group, context] = axes else {
            return Err(Error::Axes { tensor, expected: 3, found: axes.to_vec() });
        };
        if outputs != dim || group == 0 || !dim.is_multiple_of(group) || context == 0 {
            return Err(Error::Width { tensor, expected: dim, found: outputs });
        }
        Ok(Self { weight: values.to_vec(), group, context })
    }

    fn apply(&self, rows: &[Option<&[f32]>], dim: usize) -> Vec<f32> {
        let of_output = |(output, weight): (usize, &[f32])| {
            // There are as many outputs as inputs: an output sees the columns of its own group.
            let first = output / self.group * self.group;
            let terms = rows.iter().enumerate().filter_map(|(place, row)| Some((place, (*row)?)));
            let sums = terms.map(|(place, row)| {
                let columns = row[first..first + self.group].iter().enumerate();
                columns.map(|(column, value)| value * weight[column * self.context + place]).sum::<f32>()
            });
            sums.sum::<f32>().max(0.0)
        };
        self.weight.chunks_exact(self.group * self.context).enumerate().take(dim).map(of_output).collect()
    }
}

impl Predictor for StatelessPredictor {
    fn encoder_dim(&self) -> usize {
        self.decoder_proj.num_outputs()
    }

    fn num_scores(&self) -> usize {
        self.output_linear.num_outputs()
    }

    fn start(&self) -> Result<PredictorState, Error> {
        let context = self.conv.as_ref().map_or(1, |conv| conv.context);
        Ok(self.state(PredictorState::first_tokens(context, self.blank)))
    }

    fn advance(&self, state: &PredictorState, token: i32) -> Result<PredictorState, Error> {
        Ok(self.state(state.tokens_and(token)))
    }

    fn join(&self, row: &[f32], state: &PredictorState, scores: &mut [f32]) -> Result<(), Error> {
        let expected = self.encoder_dim();
        if row.len() != expected || state.output.len() != expected {
            return Err(Error::Rows { expected, found: row.len() });
        }
        let mut hidden: Vec<f32> = row.iter().zip(&state.output).map(|(a, b)| a + b).collect();
        kaldera_base::math::tanh_in_place(&mut hidden);
        let found = self.output_linear.row(&hidden);
        if scores.len() != found.len() {
            let reason = format!("{} scores, and {} are wanted", found.len(), scores.len());
            return Err(Error::Part { part: "joiner", reason });
        }
        scores.copy_from_slice(&found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that differ from place to place.
    fn values(count: u8) -> Vec<f32> {
        (0..count).map(|i| f32::from(i * 7 % 11) / 5.0 - 1.0).collect()
    }

    fn weights(conv: bool) -> ParameterStore<f32> {
        let mut weights = ParameterStore::new();
        weights.insert("decoder.embedding.weight", &[3, 4], values(12)).unwrap();
        if conv {
            weights.insert("decoder.conv.weight", &[4, 2, 2], values(16)).unwrap();
        }
        weights.insert("joiner.decoder_proj.weight", &[5, 4], values(20)).unwrap();
        weights.insert("joiner.decoder_proj.bias", &[5], values(5)).unwrap();
        weights.insert("joiner.output_linear.weight", &[3, 5], values(15)).unwrap();
        weights.insert("joiner.output_linear.bias", &[3], values(3)).unwrap();
        weights
    }

    #[test]
    fn contexts_have_the_scores_of_their_definition() {
        let (embedding, conv, proj, output) = (values(12), values(16), values(20), values(15));
        let (proj_bias, output_bias) = (values(5), values(3));
        let predictor = StatelessPredictor::new(&weights(true), 0).unwrap();
        let row = [0.3, -0.2, 0.1, 0.5, -0.4];
        let mut state = predictor.start().unwrap();
        let mut context = [-1_i32, 0];
        for token in [0, 2, 1, 1] {
            if token > 0 {
                state = predictor.advance(&state, token).unwrap();
                context = [context[1], token];
            }
            assert_eq!(state.tokens, context);
            let embedded = |place: usize, column: usize| {
                usize::try_from(context[place]).map_or(0.0, |token| embedding[token * 4 + column])
            };
            let hidden: Vec<f32> = (0..4)
                .map(|o| {
                    let mut sum = 0.0;
                    for place in 0..2 {
                        for column in 0..2 {
                            sum += conv[o * 4 + column * 2 + place] * embedded(place, o / 2 * 2 + column);
                        }
                    }
                    sum.max(0.0)
                })
                .collect();
            let joined: Vec<f32> = (0..5)
                .map(|j| {
                    let sum: f32 = (0..4).map(|d| proj[j * 4 + d] * hidden[d]).sum();
                    (row[j] + sum + proj_bias[j]).tanh()
                })
                .collect();
            let mut scores = [0.0; 3];
            predictor.join(&row, &state, &mut scores).unwrap();
            for (token, score) in scores.iter().enumerate() {
                let expected: f32 = (0..5).map(|j| output[token * 5 + j] * joined[j]).sum();
                assert!((score - expected - output_bias[token]).abs() < 1e-5, "{context:?} {token}");
            }
        }
    }

    #[test]
    fn tensors_that_do_not_fit_are_named() {
        let refused = |name: &str, shape: &[usize], blank: usize| {
            let mut changed = weights(true);
            let count = shape.iter().product();
            changed.insert(name, shape, vec![0.0; count]).unwrap();
            StatelessPredictor::new(&changed, blank).unwrap_err().to_string()
        };
        assert!(refused("joiner.output_linear.weight", &[4, 5], 0).contains("joiner.output_linear.weight"));
        assert!(refused("decoder.conv.weight", &[4, 3, 2], 0).contains("decoder.conv.weight"));
        assert!(refused("decoder.conv.weight", &[4, 2], 0).contains("decoder.conv.weight"));
        assert!(refused("joiner.decoder_proj.bias", &[4], 0).contains("joiner.decoder_proj.bias"));
        assert!(refused("joiner.decoder_proj.bias", &[5], 3).contains("blank = 3"));
        assert!(StatelessPredictor::new(&ParameterStore::new(), 0).is_err());

        let predictor = StatelessPredictor::new(&weights(false), 0).unwrap();
        let state = predictor.start().unwrap();
        assert_eq!(predictor.join(&[0.0; 4], &state, &mut [0.0; 3]), Err(Error::Rows { expected: 5, found: 4 }));
        assert!(matches!(predictor.join(&[0.0; 5], &state, &mut [0.0; 2]), Err(Error::Part { .. })));
    }
}
