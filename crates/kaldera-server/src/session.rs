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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use kaldera::feat::{FeatureOptions, FrontEnd, FrontEndOptions, SampleOptions};
    use kaldera::network::{Batch, Error as NetworkError, Network, NetworkStream};
    use kaldera::prelude::*;

    use super::*;
    use crate::keys::Keys;
    use crate::models::Models;
    use crate::options::ServerOptions;
    use crate::state::Shared;

    /// Rows for which the network of the test waits.
    const CHUNK: usize = 1600;

    /// A network that runs when it has [`CHUNK`] rows, and sends the number of rows of each call.
    #[derive(Debug, Clone)]
    struct Chunked(mpsc::Sender<usize>);

    #[derive(Debug)]
    struct ChunkedStream {
        network: Chunked,
        held: Vec<f32>,
    }

    impl ChunkedStream {
        fn run(&mut self, rows: usize) -> Vec<f32> {
            self.held.drain(..rows).flat_map(|row| if row > 0.5 { [-20.0, 0.0] } else { [0.0, -20.0] }).collect()
        }
    }

    impl Network for Chunked {
        fn num_inputs(&self) -> usize {
            1
        }

        fn num_outputs(&self) -> usize {
            2
        }

        fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, NetworkError> {
            Ok(batch.rows().clone())
        }

        fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, NetworkError> {
            Ok(Box::new(ChunkedStream { network: (*self).clone(), held: vec![] }))
        }
    }

    impl NetworkStream for ChunkedStream {
        fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
            self.network.0.send(rows.len()).unwrap();
            self.held.extend(rows);
            let whole = self.held.len() - self.held.len() % CHUNK;
            Ok(self.run(whole))
        }

        fn rows_before_result(&self) -> usize {
            CHUNK - self.held.len()
        }

        fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
            let mut output = self.accept(rows)?;
            output.extend(self.run(self.held.len()));
            Ok(output)
        }
    }

    #[tokio::test]
    async fn samples_wait_until_the_network_can_run_and_none_is_lost() {
        let (tell, calls) = mpsc::channel();
        let features = FeatureOptions::Samples(SampleOptions::default());
        let front_end = FrontEnd::new(FrontEndOptions::from_features(features)).unwrap();
        let decoder = CtcDecoder::new(Vocabulary::new(["<blk>", "a"], 0).unwrap(), CtcDecoderOptions::default());
        let recognizer = Recognizer::new(front_end, Chunked(tell), decoder.unwrap()).unwrap();
        let models = Models::new([("chunked", recognizer)]).unwrap();
        let state = Arc::new(Shared::new(models, ServerOptions::default(), Keys::default(), Pool::new(1).unwrap()));

        // Three words, one in the last sample.
        let mut samples = vec![0_i16; 10_001];
        for word in [100, 5_000, 10_000] {
            samples[word] = 20_000;
        }
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let mut session = Session::new(&state, state.models.first().clone(), state.stream().unwrap());
        let mut taken = 0;
        for piece in bytes.chunks(401) {
            session.accept(piece).await.unwrap();
            taken += piece.len();
            assert!((session.seconds() - (taken / 2) as f64 / 16_000.0).abs() < 1e-9);
        }
        assert_eq!(text(&session.finish().await.unwrap()), "a a a");

        let calls: Vec<usize> = calls.try_iter().filter(|&rows| rows > 0).collect();
        assert_eq!(calls.iter().sum::<usize>(), samples.len());
        // A live recogniser divides samples where it looks for an end: two calls for each chunk.
        assert!(calls.len() <= 2 * samples.len().div_ceil(CHUNK), "{calls:?}");
        state.pool.close();
    }
}
