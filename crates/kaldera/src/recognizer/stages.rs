//! A model of three stages: front end, network, decoder.

mod due;
mod live;
mod stream;

use std::sync::Arc;

use kaldera_decoder::align::{Loudness, Topology};
use kaldera_decoder::{FrameTimes, HotWord, Recognition, Segment};
use kaldera_network::{Batch, Merged, Network};
use kaldi_feat::{Audio, Samples};
use lod::LodTensor;

pub(super) use self::live::StagesLive;
pub(super) use self::stream::StagesStream;
use crate::Error;
use crate::recognizer::decoding::{AnyDecoder, DecodingOptions};
use crate::recognizer::description::Model;
use crate::recognizer::front_end::ModelFrontEnd;
use crate::recognizer::parts::end_at;
use crate::recognizer::rate::ModelRate;
use crate::recognizer::samples::seconds_of;

/// Front end, network and decoder, one after the other.
#[derive(Debug)]
pub(super) struct Stages {
    front_end: Arc<ModelFrontEnd>,
    network: Arc<dyn Network>,
    decoder: AnyDecoder,
    rate: ModelRate,
}

impl Stages {
    /// Creates stages that fit each other.
    pub(super) fn new(
        front_end: kaldi_feat::FrontEnd,
        network: impl Network + 'static,
        decoder: AnyDecoder,
    ) -> Result<Self, Error> {
        let front_end = ModelFrontEnd::from(front_end);
        let (expected, found) = (network.num_inputs(), front_end.dim());
        if expected != found {
            return Err(kaldera_network::Error::Rows { expected, found }.into());
        }
        decoder.check_columns(network.num_outputs())?;
        let Ok(subsampling @ 1..) = u32::try_from(network.subsampling()) else {
            let (found, expected) = (network.subsampling().to_string(), "it must be from 1 to 2^32 - 1");
            return Err(kaldera_network::Error::Option { key: "subsampling", found, expected }.into());
        };
        let Ok(upsampling @ 1..) = u32::try_from(network.upsampling()) else {
            let (found, expected) = (network.upsampling().to_string(), "it must be from 1 to 2^32 - 1");
            return Err(kaldera_network::Error::Option { key: "upsampling", found, expected }.into());
        };
        let times = FrameTimes::new(front_end.frame_shift() / f64::from(upsampling)).with_subsampling(subsampling);
        Self::from_parts(front_end, Arc::new(network), decoder.with_times(times)?)
    }

    /// Reads the files of a description.
    pub(super) fn read(
        mut model: Model<'_>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        model.description.decoding = change(std::mem::take(&mut model.description.decoding));
        model.network_file()?;
        let front_end = model.front_end()?;
        let network = model.network(&front_end)?;
        let times = model.times(Some(&front_end), (network.subsampling(), network.upsampling()))?;
        let decoder = model.decoder(network.num_outputs(), times, model.predictor()?)?;
        Self::from_parts(front_end, network, decoder.with_files(model.files()?))
    }

    fn from_parts(
        front_end: ModelFrontEnd,
        mut network: Arc<dyn Network>,
        mut decoder: AnyDecoder,
    ) -> Result<Self, Error> {
        if let Some(merge) = decoder.take_merge() {
            network = Arc::new(Merged::new(network, merge)?);
        }
        let rate = ModelRate::new(front_end.samp_freq());
        Ok(Self { front_end: Arc::new(front_end), network, decoder, rate })
    }

    /// Returns stages with these hot words, which share the network.
    pub(super) fn with_hot_words(&self, phrases: Vec<HotWord>) -> Result<Self, Error> {
        Ok(Self {
            front_end: Arc::clone(&self.front_end),
            network: Arc::clone(&self.network),
            decoder: self.decoder.with_hot_words(phrases)?,
            rate: ModelRate::new(self.rate.samp_freq()),
        })
    }

    /// Returns the decoder.
    pub(super) fn decoder(&self) -> &AnyDecoder {
        &self.decoder
    }

    /// Returns the maximum number of streams that the network runs over in one pass.
    pub(super) fn max_streams(&self) -> usize {
        if self.front_end.needs_utterance() { 1 } else { self.network.max_streams() }
    }

    /// Returns the sample rate.
    pub(super) fn rate(&self) -> &ModelRate {
        &self.rate
    }

    /// Returns the words of an utterance, with the times of their frames.
    pub(super) fn transcribe(&self, audio: &Audio<'_>) -> Result<Recognition, Error> {
        let rows = self.network_rows(std::slice::from_ref(audio))?;
        self.decoder.decode(audio.key, rows.values())
    }

    /// Returns the words of utterances, with the times at which they are heard.
    pub(super) fn transcribe_batch(&self, audio: &[Audio<'_>]) -> Result<Vec<Recognition>, Error> {
        let rows = self.network_rows(audio)?;
        let of_one = |(audio, values): (&Audio<'_>, &[f32])| {
            let mut found = self.decoder.decode(audio.key, values)?;
            self.widen(audio, &mut found);
            Ok(found)
        };
        audio.iter().zip(rows.sequences()).map(of_one).collect()
    }

    /// Returns the network's output of utterances: log-probabilities, or the rows of a transducer's
    /// encoder.
    pub(super) fn network_rows(&self, audio: &[Audio<'_>]) -> Result<LodTensor<f32>, Error> {
        let (mut lengths, mut values) = (Vec::with_capacity(audio.len()), vec![]);
        for audio in audio {
            self.rate.tell_resampling(audio.samp_freq);
            lengths.push(self.front_end.append_rows(audio, &mut values)?);
        }
        let rows = LodTensor::from_lengths(&lengths, self.front_end.dim(), values)?;
        let names: Vec<&str> = audio.iter().map(|audio| audio.key).collect();
        Ok(self.network.log_probs(&Batch::new(&names, &rows)?)?)
    }

    /// Returns the words of a transcript, within the audio, and the number of frames.
    pub(super) fn align(&self, audio: &Audio<'_>, transcript: &str) -> Result<(Vec<Segment>, usize), Error> {
        let rows = self.network_rows(std::slice::from_ref(audio))?;
        let (mut words, num_frames) = self.decoder.align_frames(audio.key, rows.values(), transcript)?;
        end_at(&mut words, seconds_of(audio.samples.len(), audio.samp_freq));
        if self.has_peaks() {
            loudness(audio).widen(&mut words);
        }
        Ok((words, num_frames))
    }

    /// Returns `true` if words are longer than their frames in the network. They are not if each
    /// frame belongs to a token.
    fn has_peaks(&self) -> bool {
        self.decoder.topology() == Topology::Ctc
    }

    /// Gives words the times at which they are heard in the audio.
    pub(super) fn widen(&self, audio: &Audio<'_>, found: &mut Recognition) {
        if self.has_peaks() {
            self.widen_by(&loudness(audio), found);
        }
    }

    /// As [`widen`](Self::widen), by the loudness of the audio.
    fn widen_by(&self, loudness: &Loudness, found: &mut Recognition) {
        if self.has_peaks() {
            found.hypotheses.iter_mut().for_each(|hypothesis| loudness.widen(&mut hypothesis.words));
        }
    }
}

/// Returns the loudness of audio over time.
fn loudness(audio: &Audio<'_>) -> Loudness {
    let mut loudness = Loudness::new(audio.samp_freq);
    match audio.samples {
        Samples::F32(samples) => loudness.accept(samples),
        samples => loudness.accept(&samples.to_f32()),
    }
    loudness
}
