//! Networks of a transducer, as a search uses them.

use std::ops::Deref;

use crate::error::Error;
use crate::rows::Rows;

/// The predictor and the joiner of a transducer, over plain slices.
///
/// ```
/// use kaldera_decoder::transducer::{
///     EncoderOutput, TransducerModel, greedy_search, TransducerOptions
/// };
/// use kaldera_decoder::{Error, FrameTimes};
///
/// /// Never the same token twice: the joiner takes the encoder's scores and forbids the last
/// /// token.
/// struct Unlike;
///
/// impl TransducerModel for Unlike {
///     type State = i32;
///
///     fn num_tokens(&self) -> usize {
///         3
///     }
///
///     fn start(&self) -> Result<i32, Error> {
///         Ok(0)
///     }
///
///     fn advance(&self, _: &i32, token: i32) -> Result<i32, Error> {
///         Ok(token)
///     }
///
///     fn join(&self, encoder: &[f32], last: &i32, scores: &mut [f32]) -> Result<(), Error> {
///         scores.copy_from_slice(encoder);
///         if *last != 0 {
///             scores[*last as usize] = f32::NEG_INFINITY;
///         }
///         Ok(())
///     }
/// }
///
/// let encoder = EncoderOutput::new("utt-1", &[0.0, 2.0, 1.0, 0.5, 2.0, 1.0], 3)?;
/// let options = TransducerOptions::default();
/// assert_eq!(
///     greedy_search(&Unlike, &encoder, &options, &FrameTimes::default())?.token_ids(),
///     [1, 2]
/// );
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
pub trait TransducerModel {
    /// The predictor's state after the tokens so far, and its output.
    type State: Clone;

    /// Returns the number of tokens, including the blank.
    fn num_tokens(&self) -> usize;

    /// Returns the blank.
    fn blank(&self) -> i32 {
        0
    }

    /// Returns the durations, in frames, of a token-and-duration transducer (TDT); empty for
    /// others.
    fn durations(&self) -> &[usize] {
        &[]
    }

    /// Returns the number of values that a frame of the encoder must have; searches refuse other
    /// frames. `None`: the joiner takes any number.
    fn encoder_dim(&self) -> Option<usize> {
        None
    }

    /// Returns the state before the first token.
    ///
    /// # Errors
    /// [`Error::Model`] if the predictor cannot be run.
    fn start(&self) -> Result<Self::State, Error>;

    /// Returns the state after another token, which is not the blank.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn advance(&self, state: &Self::State, token: i32) -> Result<Self::State, Error>;

    /// Writes the scores of all tokens, and then of all durations, for a frame of the encoder:
    /// logits, or log-probabilities.
    ///
    /// # Errors
    /// [`Error::Model`] if the joiner cannot be run.
    fn join(&self, encoder: &[f32], state: &Self::State, scores: &mut [f32]) -> Result<(), Error>;
}

/// The state of the model that a stream holds by a pointer.
pub(crate) type StateOf<P> = <<P as Deref>::Target as TransducerModel>::State;

/// The encoder's output of an utterance, one row per frame.
#[derive(Debug, Clone, Copy)]
pub struct EncoderOutput<'a>(Rows<'a>);

impl<'a> EncoderOutput<'a> {
    /// Creates rows of `dim` values each.
    ///
    /// # Errors
    /// [`Error::NoTokens`], [`Error::Rows`], and [`Error::Value`] for a value that is not finite.
    pub fn new(utterance: &'a str, values: &'a [f32], dim: usize) -> Result<Self, Error> {
        Rows::new(utterance, values, dim, f32::is_finite).map(Self)
    }

    /// Returns the name of the utterance.
    pub fn utterance(&self) -> &'a str {
        self.0.utterance
    }

    /// Returns the number of rows.
    pub fn num_frames(&self) -> usize {
        self.0.num_frames()
    }

    /// Returns the number of values of a row.
    pub fn dim(&self) -> usize {
        self.0.width
    }

    /// Returns the rows.
    pub fn frames(&self) -> std::slice::ChunksExact<'a, f32> {
        self.0.frames()
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn frame(&self, frame: usize) -> &'a [f32] {
        self.0.frame(frame)
    }

    /// Refuses rows that the joiner does not take.
    pub(crate) fn check_dim<M: TransducerModel + ?Sized>(&self, model: &M) -> Result<(), Error> {
        match model.encoder_dim() {
            Some(expected) if expected != self.dim() => {
                Err(Error::EncoderDim { utterance: self.utterance().into(), expected, found: self.dim() })
            }
            _ => Ok(()),
        }
    }
}

/// A stateless transducer (Ghodsi et al., 2020). The predictor only uses the last tokens, with an
/// embedding for each of their places; the joiner is one layer.
///
/// ```text
///   predictor(y1 .. yn) = embedding1[y1] + .. + embeddingn[yn]      before the first token: none
///   joiner(e, p)        = weight tanh(e + p) + bias
/// ```
#[derive(Debug, Clone)]
pub struct StatelessModel {
    embeddings: Vec<Vec<f32>>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    dim: usize,
    blank: i32,
}

/// State of the predictor of a [`StatelessModel`].
#[derive(Debug, Clone, PartialEq)]
pub struct StatelessState {
    context: Vec<i32>,
    output: Vec<f32>,
}

impl StatelessModel {
    /// Creates a model. `embeddings` has one embedding for each token that the predictor looks back
    /// at, the earliest first, as rows of `dim` values, one per token. `weight` of the joiner has
    /// the same form; `bias` is its bias. The first context is the blank, and nothing before it.
    ///
    /// # Errors
    /// [`Error::Size`] for a `dim` of 0 or matrices of other sizes, [`Error::Token`] for a blank
    /// that is no token.
    pub fn new(
        embeddings: Vec<Vec<f32>>,
        weight: Vec<f32>,
        bias: Vec<f32>,
        dim: usize,
        blank: i32,
    ) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::Size { what: "values of a row", expected: 1, found: 0 });
        }
        // A product that does not fit is the size of no matrix.
        let expected = bias.len().saturating_mul(dim);
        for matrix in embeddings.iter().chain([&weight]) {
            if matrix.len() != expected {
                return Err(Error::Size { what: "values of a matrix", expected, found: matrix.len() });
            }
        }
        if usize::try_from(blank).map_or(true, |blank| blank >= bias.len()) {
            return Err(Error::Token { token: blank.to_string(), reason: "the blank must be one of the tokens" });
        }
        Ok(Self { embeddings, weight, bias, dim, blank })
    }

    fn state(&self, context: Vec<i32>) -> StatelessState {
        let mut output = vec![0.0; self.dim];
        for (embedding, &token) in self.embeddings.iter().zip(&context) {
            let row = usize::try_from(token).ok().and_then(|token| embedding.get(token * self.dim..)?.get(..self.dim));
            for (sum, value) in output.iter_mut().zip(row.into_iter().flatten()) {
                *sum += value;
            }
        }
        StatelessState { context, output }
    }
}

impl TransducerModel for StatelessModel {
    type State = StatelessState;

    fn num_tokens(&self) -> usize {
        self.bias.len()
    }

    fn blank(&self) -> i32 {
        self.blank
    }

    fn encoder_dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn start(&self) -> Result<StatelessState, Error> {
        let mut context = vec![-1; self.embeddings.len()];
        if let Some(last) = context.last_mut() {
            *last = self.blank;
        }
        Ok(self.state(context))
    }

    fn advance(&self, state: &StatelessState, token: i32) -> Result<StatelessState, Error> {
        let mut context = state.context.clone();
        if !context.is_empty() {
            context.rotate_left(1);
        }
        if let Some(last) = context.last_mut() {
            *last = token;
        }
        Ok(self.state(context))
    }

    fn join(&self, encoder: &[f32], state: &StatelessState, scores: &mut [f32]) -> Result<(), Error> {
        let hidden: Vec<f64> =
            encoder.iter().zip(&state.output).map(|(a, b)| (f64::from(*a) + f64::from(*b)).tanh()).collect();
        for ((score, row), bias) in scores.iter_mut().zip(self.weight.chunks_exact(self.dim)).zip(&self.bias) {
            let sum: f64 = row.iter().zip(&hidden).map(|(weight, value)| f64::from(*weight) * value).sum();
            *score = crate::ids::narrow(sum + f64::from(*bias));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_other_sizes_are_refused() {
        let no_width = StatelessModel::new(vec![], vec![], vec![0.0], 0, 0);
        assert!(matches!(no_width, Err(Error::Size { expected: 1, found: 0, .. })));
        let too_large = StatelessModel::new(vec![], vec![], vec![0.0; 2], usize::MAX, 0);
        assert!(matches!(too_large, Err(Error::Size { expected: usize::MAX, .. })));
    }
}
