//! Recognition by stages while samples arrive.

use std::sync::Arc;

use kaldera_decoder::Recognition;
use kaldera_decoder::align::Loudness;
use kaldera_decoder::graph::{EndpointRules, EndpointState};
use kaldera_network::{Batch, NetworkStream};
use lod::LodTensor;
use self_cell::self_cell;

use crate::Error;
use crate::recognizer::decoding::DecoderStream;
use crate::recognizer::front_end::FrontEndStream;
use crate::recognizer::samples::check_finite;
use crate::recognizer::stages::Stages;

/// An utterance whose samples come in chunks, and its stages.
pub(in crate::recognizer) struct StagesStream {
    utterance: String,
    features: FrontEndStream,
    /// The stream of a network with a state.
    network: Option<Box<dyn NetworkStream>>,
    /// The search on the network's output; for a network without a state, the search of the last
    /// partial result.
    search: Search,
    /// Loudness of all samples so far.
    loudness: Loudness,
    /// Seconds of `loudness` before the utterance.
    loudness_before: f64,
    /// Number of samples so far.
    num_samples: usize,
    /// Rows that the network has not taken.
    rows: Vec<f32>,
    /// The network's output of all rows at the last partial result, for a network without a state.
    output: Vec<f32>,
    /// Number of frames at the beginning that are only context, and that the decoder does not take.
    num_context: usize,
}

self_cell!(
    /// A search with the decoder that it borrows.
    struct Search {
        owner: Arc<Stages>,
        #[not_covariant]
        dependent: DecoderStream,
    }
);

impl StagesStream {
    pub(in crate::recognizer) fn new(stages: Arc<Stages>, utterance: &str, samp_freq: f32) -> Result<Self, Error> {
        let features = stages.front_end.stream(utterance, samp_freq)?;
        let network = Arc::clone(&stages.network).stream().ok().filter(|_| !stages.front_end.needs_utterance());
        let search = Search::try_new(stages, |stages| stages.decoder.stream(utterance))?;
        Ok(Self {
            utterance: utterance.to_owned(),
            features,
            network,
            search,
            loudness: Loudness::new(samp_freq),
            loudness_before: 0.0,
            num_samples: 0,
            rows: vec![],
            output: vec![],
            num_context: 0,
        })
    }

    /// Sets the number of frames at the beginning that the network gets and the decoder does not.
    /// For networks without a state.
    pub(in crate::recognizer) fn with_context(self, num_context: usize) -> Self {
        let loudness_before = self.seconds_of(num_context);
        Self { num_context, loudness_before, ..self }
    }

    /// Returns `true` if the network keeps a state, and takes each chunk once.
    pub(in crate::recognizer) fn keeps_state(&self) -> bool {
        self.network.is_some()
    }

    /// Returns the seconds that must come before the network has more of its output.
    pub(in crate::recognizer) fn seconds_before_output(&self) -> f64 {
        let rows = self.network.as_ref().map_or(1, |network| network.rows_before_result());
        rows.saturating_sub(1) as f64 * self.search.borrow_owner().front_end.frame_shift()
    }

    /// Takes more samples.
    pub(in crate::recognizer) fn accept(&mut self, samples: &[f32]) -> Result<(), Error> {
        Self::accept_all(&mut [(self, samples)]).pop().unwrap_or(Ok(()))
    }

    /// Takes more samples of each stream. Streams of one network are given to it together.
    pub(in crate::recognizer) fn accept_all(streams: &mut [(&mut Self, &[f32])]) -> Vec<Result<(), Error>> {
        let mut results: Vec<_> = streams.iter_mut().map(|(stream, samples)| stream.push(samples)).collect();
        let mut running: Vec<_> = streams.iter_mut().map(|(stream, _)| &mut **stream).zip(&mut results).collect();
        running.retain(|(stream, result)| result.is_ok() && stream.keeps_state());
        let address = |stream: &Self| Arc::as_ptr(&stream.search.borrow_owner().network).addr();
        running.sort_by_key(|(stream, _)| address(stream));
        for group in running.chunk_by_mut(|(a, _), (b, _)| address(a) == address(b)) {
            let network = Arc::clone(&group[0].0.search.borrow_owner().network);
            let mut rows: Vec<(&mut dyn NetworkStream, &[f32])> = vec![];
            for (stream, _) in group.iter_mut() {
                rows.extend(stream.network.as_deref_mut().map(|own| (own, &stream.rows[..])));
            }
            let outputs = network.accept_all(&mut rows);
            for ((stream, result), output) in group.iter_mut().zip(outputs) {
                stream.rows.clear();
                **result = stream.search(output);
            }
        }
        results
    }

    /// Takes more samples, and computes their features.
    fn push(&mut self, samples: &[f32]) -> Result<(), Error> {
        check_finite(samples, self.num_samples)?;
        self.num_samples += samples.len();
        self.loudness.accept(samples);
        Ok(self.features.accept(samples, &mut self.rows)?)
    }

    /// Takes more of the output of a network with a state.
    fn search(&mut self, output: Result<Vec<f32>, kaldera_network::Error>) -> Result<(), Error> {
        let output = output.map_err(|error| error.of_utterance(&self.utterance))?;
        let utterance = &self.utterance;
        self.search.with_dependent_mut(|stages, search| search.accept(utterance, &output, stages.network.num_outputs()))
    }

    /// Returns the words so far.
    pub(in crate::recognizer) fn partial(&mut self) -> Result<Recognition, Error> {
        if !self.keeps_state() {
            self.run_over_all()?;
        }
        let (utterance, output) = (&self.utterance, &self.output[..]);
        let mut found = self.search.with_dependent_mut(|stages, search| {
            if self.network.is_none() {
                // The end of an utterance drops a word that is not complete: its frames would count
                // as silence, and an endpoint could fall into it.
                let columns = stages.network.num_outputs();
                *search = stages.decoder.stream(utterance)?;
                let output = output.get(self.num_context * columns..).unwrap_or_default();
                search.accept(utterance, output, columns)?;
            }
            search.partial()
        })?;
        self.widen(&mut found);
        Ok(found)
    }

    /// Returns the first of these rules by which the utterance has ended; `so_far` is its last
    /// [result](Self::partial).
    pub(in crate::recognizer) fn endpoint(
        &mut self,
        so_far: &Recognition,
        rules: &EndpointRules,
    ) -> Result<Option<usize>, Error> {
        let times = self.search.borrow_owner().decoder.times();
        let shift = times.seconds(1) - times.seconds(0);
        let silence = silence_frames(so_far);
        #[expect(clippy::cast_possible_truncation, reason = "endpoints are detected in single precision")]
        let at = |cost: f64| EndpointState::new(so_far.num_frames, silence, shift as f32, cost as f32);
        // The cost is only computed if it decides.
        match rules.detect(&at(0.0))? {
            Some(_) => {
                let cost = self.search.with_dependent_mut(|_, search| search.final_relative_cost())?;
                Ok(rules.detect(&at(cost))?)
            }
            None => Ok(None),
        }
    }

    /// Returns the words of the utterance, which ends here.
    pub(in crate::recognizer) fn finish(mut self) -> Result<Recognition, Error> {
        self.features.finish(&mut self.rows)?;
        let Some(network) = &mut self.network else {
            self.run_over_all()?;
            return self.beginning(usize::MAX);
        };
        let output = network.finish(&self.rows);
        self.search(output)?;
        self.end_utterance("")
    }

    /// Returns the words of the utterance, which ends at the last frame. The next frame begins the
    /// next one. For networks with a state, which they keep.
    pub(in crate::recognizer) fn end_utterance(&mut self, next: &str) -> Result<Recognition, Error> {
        next.clone_into(&mut self.utterance);
        let mut ended = self.search.with_dependent_mut(|stages, search| {
            let next = stages.decoder.stream(next)?;
            std::mem::replace(search, next).finish()
        })?;
        self.widen(&mut ended);
        self.loudness_before += self.seconds_of(ended.num_frames);
        self.loudness_before -= self.loudness.forget_before(self.loudness_before);
        Ok(ended)
    }

    /// Returns the words of the first `num_frames` frames, or of all if they are fewer. Only for
    /// networks without a state, which have run for the last result.
    pub(in crate::recognizer) fn beginning(&self, num_frames: usize) -> Result<Recognition, Error> {
        let stages = self.search.borrow_owner();
        let columns = stages.network.num_outputs();
        let output = self.output.get(self.num_context * columns..).unwrap_or_default();
        let output = &output[..num_frames.saturating_mul(columns).min(output.len())];
        let mut found = stages.decoder.decode(&self.utterance, output)?;
        self.widen(&mut found);
        Ok(found)
    }

    /// Gives words the times at which they are heard.
    fn widen(&self, found: &mut Recognition) {
        shift_words(found, self.loudness_before);
        self.search.borrow_owner().widen_by(&self.loudness, found);
        shift_words(found, -self.loudness_before);
    }

    /// Returns the duration of frames in seconds.
    fn seconds_of(&self, frames: usize) -> f64 {
        let times = self.search.borrow_owner().decoder.times();
        times.seconds(frames) - times.seconds(0)
    }

    /// Runs the network over all rows.
    fn run_over_all(&mut self) -> Result<(), Error> {
        let stages = self.search.borrow_owner();
        let dim = stages.front_end.dim();
        let mut rows = self.rows.clone();
        stages.front_end.normalize_utterance(&mut rows);
        let rows = LodTensor::from_lengths(&[rows.len() / dim.max(1)], dim, rows)?;
        let output = stages.network.log_probs(&Batch::new(&[&self.utterance], &rows)?)?;
        self.output.clear();
        self.output.extend_from_slice(output.values());
        Ok(())
    }
}

/// Adds `seconds` to the times of words. No word begins before the utterance.
fn shift_words(found: &mut Recognition, seconds: f64) {
    for word in found.hypotheses.iter_mut().flat_map(|hypothesis| &mut hypothesis.words) {
        (word.start, word.end) = ((word.start + seconds).max(0.0), word.end + seconds);
        word.peak = word.peak.take().map(|peak| peak.start + seconds..peak.end + seconds);
    }
}

/// Returns the number of frames after the last token.
pub(in crate::recognizer) fn silence_frames(so_far: &Recognition) -> usize {
    let spoken = so_far.best().and_then(|best| best.tokens.last()).map_or(0, |last| last.frames.end);
    so_far.num_frames.saturating_sub(spoken)
}
