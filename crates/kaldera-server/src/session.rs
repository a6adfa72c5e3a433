//! Live speech of one client, for all protocols.

use std::time::{Duration, Instant};

use kaldera::audio::{WaveFormat, WaveSamples};
use kaldera::decoder::graph::EndpointRules;
use kaldera::decoder::{Recognition, Segment};
use kaldera::feat::{Interleaved, Samples};
use kaldera::recognizer::{LiveRecognizer, LiveUpdate};

use crate::metrics::{Metrics, Result as Kind};
use crate::models::Model;
use crate::schedule::{Accepted, Panicked, Pool, Turn};
use crate::state::{Permit, State};

/// Maximum rate of samples, in Hz.
const MAX_RATE: f32 = 192_000.0;

/// Minimum rate of samples, in Hz.
const MIN_RATE: f32 = 1_000.0;

/// Encoding of the bytes of live speech.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Encoding {
    /// 16 bits, little-endian.
    Pcm,
    ALaw,
    MuLaw,
}

/// Live speech of one client: bytes in, words out. A recogniser is made for its first samples, and
/// dropped at the end of the speech: an idle client costs little.
pub(crate) struct Session {
    model: Model,
    pool: Pool,
    metrics: Metrics,
    log_words: bool,
    format: WaveFormat,
    /// Rules in place of the model's.
    rules: Option<EndpointRules>,
    /// Bytes of an incomplete frame, or of samples that the recogniser gets with later ones.
    rest: Vec<u8>,
    live: Option<Box<LiveRecognizer>>,
    /// Counts as a stream until it is dropped.
    _permit: Permit,
}

/// An error of live speech, for the client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("{0}")]
    Recognition(#[from] kaldera::Error),
    #[error("{0}")]
    Panicked(#[from] Panicked),
    #[error(
        "{rate} Hz with {channels} channels is not speech: the rate must be {MIN_RATE} to {MAX_RATE} Hz, and there must be 1 to 16 channels"
    )]
    Format { rate: f64, channels: usize },
}

impl Session {
    /// Creates a session without speech; samples have the rate of the model.
    pub(crate) fn new(state: &State, model: Model, permit: Permit) -> Self {
        let format = WaveFormat::raw(1, model.recognizer.samp_freq());
        let (pool, metrics) = (state.pool.clone(), state.metrics.clone());
        let log_words = state.options.log_words;
        Self { model, pool, metrics, log_words, format, rules: None, rest: vec![], live: None, _permit: permit }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn samp_freq(&self) -> f32 {
        self.format.samp_freq()
    }

    /// Sets the model of the speech that follows.
    pub(crate) fn set_model(&mut self, model: Model) {
        self.model = model;
        self.clear();
    }

    /// Sets the phrases that the speech that follows may have; none for the model's own grammar.
    pub(crate) async fn set_phrases(&mut self, phrases: Vec<String>) -> Result<(), SessionError> {
        let model = self.model.clone();
        let model = self.pool.run(Turn::Live(Instant::now()), move || model.with_phrases(phrases)).await??;
        self.set_model(model);
        Ok(())
    }

    /// Sets the format of the speech that follows. Of several channels the mean is recognised.
    pub(crate) fn set_format(&mut self, encoding: Encoding, rate: f64, channels: usize) -> Result<(), SessionError> {
        let samp_freq = rate as f32;
        if !(MIN_RATE..=MAX_RATE).contains(&samp_freq) || !(1..=16).contains(&channels) {
            return Err(SessionError::Format { rate, channels });
        }
        self.format = match encoding {
            Encoding::Pcm => WaveFormat::raw(channels, samp_freq),
            Encoding::ALaw => WaveFormat::raw_a_law(channels, samp_freq),
            Encoding::MuLaw => WaveFormat::raw_mu_law(channels, samp_freq),
        };
        self.clear();
        Ok(())
    }

    /// Sets the rules by which an utterance of the speech that follows ends; `None` for the model's
    /// rules.
    pub(crate) fn set_rules(&mut self, rules: Option<EndpointRules>) {
        self.rules = rules;
        self.clear();
    }

    /// Returns the seconds of speech since the last end.
    pub(crate) fn seconds(&self) -> f64 {
        self.live.as_ref().map_or(0.0, |live| live.seconds() + self.seconds_of(self.rest.len()))
    }

    fn seconds_of(&self, bytes: usize) -> f64 {
        (bytes / self.format.bytes_of(1)) as f64 / f64::from(self.format.samp_freq())
    }

    /// Forgets the speech that has no final result.
    pub(crate) fn clear(&mut self) {
        self.live = None;
        self.rest.clear();
    }

    /// Takes bytes and returns new words. Samples wait here until the network can run. Each second
    /// of speech is a work of its own, so that other speech has its turn in between.
    pub(crate) async fn accept(&mut self, bytes: &[u8]) -> Result<LiveUpdate, SessionError> {
        self.rest.extend_from_slice(bytes);
        let before_output = self.live.as_ref().map_or(0.0, |live| live.seconds_before_output());
        match self.seconds_of(self.rest.len()) > before_output {
            true => self.flush().await,
            false => Ok(LiveUpdate::default()),
        }
    }

    /// Passes all samples on to the recogniser, and returns new words.
    pub(crate) async fn flush(&mut self) -> Result<LiveUpdate, SessionError> {
        let mut all = std::mem::take(&mut self.rest);
        self.rest = all.split_off(all.len() - all.len() % self.format.bytes_of(1));
        let mut update = LiveUpdate::default();
        for piece in all.chunks(self.format.bytes_of(self.format.samp_freq() as usize)) {
            let samples = self.format.decode(piece).map_err(kaldera::Error::from)?;
            let new = self.accept_samples(samples).await?;
            if !new.ended.is_empty() {
                update.so_far = None;
            }
            update.ended.extend(new.ended);
            update.so_far = new.so_far.or(update.so_far);
        }
        Ok(update)
    }

    async fn accept_samples(&mut self, samples: WaveSamples) -> Result<LiveUpdate, SessionError> {
        let arrived = Instant::now();
        let live = match self.live.take() {
            Some(live) => live,
            None => self.begin(arrived).await?,
        };
        let channels = self.format.num_channels();
        let seconds = (samples.len() / channels) as f64 / f64::from(self.format.samp_freq());
        let mono = match &samples {
            _ if channels == 1 => samples,
            WaveSamples::I16(samples) => WaveSamples::F32(mean(samples, channels)?),
            WaveSamples::F32(samples) => WaveSamples::F32(mean(samples, channels)?),
        };
        let Accepted { live, update, compute } = self.pool.accept(arrived, live, mono).await?;
        let update = update?;
        self.live = Some(live);
        self.metrics.add_audio(Kind::Partial, seconds, compute);
        if !update.ended.is_empty() {
            self.tell(Kind::Final, arrived.elapsed(), &update.ended);
        } else if update.so_far.is_some() {
            self.tell(Kind::Partial, arrived.elapsed(), &[]);
        }
        Ok(update)
    }

    /// Begins to recognise speech.
    async fn begin(&mut self, arrived: Instant) -> Result<Box<LiveRecognizer>, SessionError> {
        let (recognizer, rules) = (self.model.recognizer.clone(), self.rules.clone());
        let samp_freq = self.format.samp_freq();
        let begin = move || {
            let live = LiveRecognizer::new(recognizer, samp_freq)?;
            Ok::<_, kaldera::Error>(Box::new(if let Some(rules) = rules { live.with_rules(rules) } else { live }))
        };
        Ok(self.pool.run(Turn::Live(arrived), begin).await??)
    }

    /// Ends the speech and returns its last utterances. Speech may follow, with times from 0 again.
    pub(crate) async fn finish(&mut self) -> Result<Vec<Recognition>, SessionError> {
        let mut ended = self.flush().await?.ended;
        let arrived = Instant::now();
        self.rest.clear();
        let Some(live) = self.live.take() else { return Ok(ended) };
        let last = self.pool.run(Turn::Live(arrived), move || live.finish()).await??;
        self.tell(Kind::Final, arrived.elapsed(), last.as_slice());
        ended.extend(last);
        Ok(ended)
    }

    fn tell(&self, kind: Kind, latency: Duration, ended: &[Recognition]) {
        self.metrics.add_latency(kind, latency);
        if self.log_words {
            for utterance in ended {
                tracing::info!(model = &*self.model.name, words = utterance.text(), "recognised");
            }
        }
    }
}

/// Returns the mean of the channels of samples.
fn mean<'a>(samples: impl Into<Samples<'a>>, channels: usize) -> Result<Vec<f32>, kaldera::Error> {
    Ok(Interleaved::new(samples.into(), channels)?.mean())
}

/// Returns the words of the best hypotheses of utterances.
pub(crate) fn words(utterances: &[Recognition]) -> impl Iterator<Item = &Segment> {
    utterances.iter().filter_map(Recognition::best).flat_map(|best| &best.words)
}

/// Returns the texts of utterances, with spaces between them.
pub(crate) fn text(utterances: &[Recognition]) -> String {
    let texts = utterances.iter().map(Recognition::text).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(" ")
}
