//! Endless speech, in utterances, by an online model.

use kaldera_decoder::Recognition;
use kaldera_decoder::graph::EndpointRules;

use crate::Error;
use crate::recognizer::online::{Online, OnlineStream};
use crate::recognizer::parts::end_at;
use crate::recognizer::utterances::{LiveUpdate, has_words, name};

/// Seconds of audio that the model gets at once: the end of an utterance is looked for after each
/// step.
const STEP: f32 = 0.1;

/// Endless speech, in utterances, by an online model.
pub(super) struct OnlineLive {
    stream: OnlineStream,
    /// Rules in place of the model's.
    rules: Option<EndpointRules>,
    /// Number of utterances that have ended.
    num_ended: usize,
}

impl OnlineLive {
    /// Creates a stream of samples of this rate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples, which saturates")]
    pub(super) fn new(online: &Online, samp_freq: f32) -> Result<Self, Error> {
        let stream = online.stream(samp_freq)?.with_step((samp_freq * STEP) as usize);
        Ok(Self { stream, rules: None, num_ended: 0 })
    }

    /// Sets the endpoint rules.
    pub(super) fn with_rules(self, rules: EndpointRules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Returns the number of the last samples that no result includes.
    pub(super) fn num_pending(&self) -> usize {
        self.stream.num_waiting()
    }

    /// Takes more samples.
    pub(super) fn accept(&mut self, mut rest: &[f32]) -> Result<LiveUpdate, Error> {
        self.stream.check(rest)?;
        let (mut update, mut is_new) = (LiveUpdate::default(), false);
        while let Some(has_ended) = self.stream.step(&mut rest)? {
            let has_ended = match &self.rules {
                Some(rules) => self.stream.endpoint(rules)?.is_some(),
                None => has_ended,
            };
            is_new = !has_ended;
            if has_ended {
                let (place, found) = self.stream.end_utterance(&self.next())?;
                update.ended.extend(self.counted(place.shift(found)));
            }
        }
        if is_new {
            let (place, found) = self.stream.so_far(&self.next())?;
            update.so_far = Some(place.shift(found));
        }
        Ok(update)
    }

    /// Returns the last utterance, if it has a word. It ends with the audio, after `seconds`.
    pub(super) fn finish(mut self, seconds: f64) -> Result<Option<Recognition>, Error> {
        let Some((place, mut found)) = self.stream.finish(&self.next())? else { return Ok(None) };
        let seconds = (seconds - place.seconds).max(0.0);
        found.hypotheses.iter_mut().for_each(|hypothesis| end_at(&mut hypothesis.words, seconds));
        Ok(self.counted(place.shift(found)))
    }

    fn next(&self) -> String {
        name(self.num_ended + 1)
    }

    /// Counts an utterance, if it has a word.
    fn counted(&mut self, found: Recognition) -> Option<Recognition> {
        let found = Some(found).filter(has_words);
        self.num_ended += usize::from(found.is_some());
        found
    }
}
