//! The joiner's scores as log-probabilities.

use kaldera_base::math::log_softmax;

use crate::error::Error;
use crate::transducer::model::TransducerModel;
use crate::transducer::options::TransducerOptions;

/// The joiner's scores as log-probabilities.
pub(crate) struct Joined {
    scores: Vec<f32>,
    log_probs: Vec<f64>,
    num_tokens: usize,
    blank: usize,
    temperature: f64,
    blank_penalty: f64,
}

impl Joined {
    pub(crate) fn new<M: TransducerModel + ?Sized>(model: &M, options: &TransducerOptions) -> Self {
        let all = model.num_tokens() + model.durations().len();
        Self {
            scores: vec![0.0; all],
            log_probs: vec![0.0; all],
            num_tokens: model.num_tokens(),
            blank: usize::try_from(model.blank()).unwrap_or(usize::MAX),
            temperature: options.temperature,
            blank_penalty: options.blank_penalty,
        }
    }

    /// Returns the log-probabilities of all tokens in a frame, and of all durations.
    pub(crate) fn log_probs<M: TransducerModel + ?Sized>(
        &mut self,
        model: &M,
        row: &[f32],
        state: &M::State,
        utterance: &str,
        frame: usize,
    ) -> Result<(&[f64], &[f64]), Error> {
        model.join(row, state, &mut self.scores).map_err(|error| error.at(utterance, Some(frame)))?;
        if let Some(token) = self.scores.iter().position(|score| score.is_nan() || *score == f32::INFINITY) {
            let value = self.scores[token];
            return Err(Error::Value { utterance: utterance.into(), frame, token, value });
        }
        for (to, from) in self.log_probs.iter_mut().zip(&self.scores) {
            *to = f64::from(*from);
        }
        let (tokens, durations) = self.log_probs.split_at_mut(self.num_tokens);
        if let Some(blank) = tokens.get_mut(self.blank) {
            *blank -= self.blank_penalty;
        }
        tokens.iter_mut().for_each(|score| *score /= self.temperature);
        log_softmax(tokens);
        log_softmax(durations);
        Ok((tokens, durations))
    }
}
