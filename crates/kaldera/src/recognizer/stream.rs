//! Recognition while samples come.

use std::fmt;

use kaldera_decoder::Recognition;
use kaldera_decoder::graph::{EndpointRules, EndpointState};
use kaldera_network::{Batch, NetworkStream};
use lod::LodTensor;

use crate::Error;
use crate::recognizer::Recognizer;
use crate::recognizer::decoding::DecoderStream;
use crate::recognizer::front_end::FrontEndStream;

/// An utterance whose samples come in chunks.
///
/// What [`finish`](Self::finish) returns is what [`Recognizer::transcribe`] returns of the whole. A
/// network with a state runs once over each chunk. One that needs the whole utterance, such as one
/// with layers in both directions or of an ONNX file without states, and features that are normalised
/// over the utterance: these run over all that has come whenever a result is asked for. Such
/// utterances should end at an [endpoint](Self::endpoint).
pub struct RecognizerStream<'r> {
    recognizer: &'r Recognizer,
    utterance: String,
    features: FrontEndStream,
    /// Rows that the network has not taken.
    rows: Vec<f32>,
    /// Of a network with a state.
    network: Option<Box<dyn NetworkStream + 'r>>,
    /// The search behind it; of a network without a state, that of the last result so far.
    decoder: DecoderStream<'r>,
}

impl<'r> RecognizerStream<'r> {
    pub(super) fn new(recognizer: &'r Recognizer, utterance: &str, samp_freq: f32) -> Result<Self, Error> {
        let features = recognizer.front_end.stream(utterance, samp_freq)?;
        let reason = "log-probabilities of an archive belong to whole utterances: no stream";
        let features = features.ok_or_else(|| recognizer.refused(reason))?;
        let network = recognizer.network.stream().ok().filter(|_| !recognizer.front_end.needs_utterance());
        let decoder = recognizer.decoder.stream(utterance)?;
        Ok(Self { recognizer, utterance: utterance.to_owned(), features, rows: vec![], network, decoder })
    }

    /// Whether the network keeps a state, and takes each chunk once.
    pub fn keeps_state(&self) -> bool {
        self.network.is_some()
    }

    /// Takes more samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// What the features, the network and the decoder refuse.
    pub fn accept(&mut self, samples: &[f32]) -> Result<(), Error> {
        self.features.accept(samples, &mut self.rows)?;
        if let Some(network) = &mut self.network {
            let rows = network.accept(&self.rows).map_err(|error| error.of_utterance(&self.utterance))?;
            self.rows.clear();
            self.decoder.accept(&self.utterance, &rows, self.recognizer.network.num_outputs())?;
        }
        Ok(())
    }

    /// The words so far.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn partial(&mut self) -> Result<Recognition, Error> {
        match self.network {
            Some(_) => self.decoder.partial(),
            None => self.so_far(),
        }
    }

    /// The first of these rules by which the utterance has ended, where `so_far` is its last
    /// [result](Self::partial).
    ///
    /// # Errors
    /// [`Error::Recognition`] for a rule that makes no sense; those of the decoder.
    #[doc(alias = "EndpointDetected")]
    pub fn endpoint(&mut self, so_far: &Recognition, rules: &EndpointRules) -> Result<Option<usize>, Error> {
        let spoken = so_far.best().and_then(|best| best.tokens.last()).map_or(0, |last| last.frames.end);
        let silence = so_far.num_frames.saturating_sub(spoken);
        let times = self.recognizer.times();
        let shift = times.seconds(1) - times.seconds(0);
        #[expect(clippy::cast_possible_truncation, reason = "endpoints are detected in single precision")]
        let at = |cost: f64| EndpointState::new(so_far.num_frames, silence, shift as f32, cost as f32);
        // The cost is computed where it decides.
        match rules.detect(&at(0.0))? {
            Some(_) => Ok(rules.detect(&at(self.decoder.final_relative_cost()?))?),
            None => Ok(None),
        }
    }

    /// The words of the utterance, which ends here.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn finish(mut self) -> Result<Recognition, Error> {
        self.features.finish(&mut self.rows)?;
        let Some(mut network) = self.network.take() else { return self.whole() };
        let rows = network.finish(&self.rows).map_err(|error| error.of_utterance(&self.utterance))?;
        self.decoder.accept(&self.utterance, &rows, self.recognizer.network.num_outputs())?;
        self.decoder.finish()
    }

    /// The words of all rows, of which the network has taken none.
    fn whole(&self) -> Result<Recognition, Error> {
        self.recognizer.decoder.decode(&self.utterance, self.network_rows()?.values())
    }

    /// The same while more may come. The end of an utterance drops a word that is not complete: its
    /// frames would count as silence, and an endpoint could fall into it.
    fn so_far(&mut self) -> Result<Recognition, Error> {
        let rows = self.network_rows()?;
        let mut decoder = self.recognizer.decoder.stream(&self.utterance)?;
        decoder.accept(&self.utterance, rows.values(), self.recognizer.network.num_outputs())?;
        self.decoder = decoder;
        self.decoder.partial()
    }

    /// The network's output of all rows.
    fn network_rows(&self) -> Result<LodTensor<f32>, Error> {
        let dim = self.recognizer.front_end.dim();
        let mut rows = self.rows.clone();
        self.recognizer.front_end.normalize_utterance(&mut rows);
        let rows = LodTensor::from_lengths(&[rows.len() / dim.max(1)], dim, rows)?;
        Ok(self.recognizer.network.log_probs(&Batch::new(&[&self.utterance], &rows)?)?)
    }
}

impl fmt::Debug for RecognizerStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecognizerStream").field("utterance", &self.utterance).finish_non_exhaustive()
    }
}
