//! A recognizer of streams, as Vosk's.

use std::sync::Arc;

use kaldera_decoder::graph::EndpointRules;
use kaldi_feat::{OnlineCmvn, RowStream, Samples};
use kaldi_ivector::{SilenceWeighting, SilenceWeightingOptions};
use kaldi_nnet3::{LoopedNetwork, Stream};

use crate::error::Error;
use crate::kaldi_online::decoder_model::UtteranceDecoder;
use crate::kaldi_online::folder::Part;
use crate::kaldi_online::ivector_rows::IvectorStream;
use crate::kaldi_online::online_model::{FeatureRows, OnlineModel};
use crate::kaldi_online::pitched_rows::PitchedRows;
use crate::kaldi_online::results::TimedWord;
use crate::kaldi_online::speaker_model::{SpeakerModel, SpeakerStream, SpeakerVector};
use crate::kaldi_online::spoken::{OnlineResult, SpokenAlternative, SpokenWord};

/// Weight of silence for i-vectors, as Vosk has it.
const SILENCE_WEIGHT: f32 = 1e-3;
/// Seconds of audio after which i-vectors, network and search go on.
const STEP: f32 = 0.2;
/// Rows of output after which the features begin anew at the end of an utterance.
const MOST_FRAMES: usize = 20_000;
/// Rows of output at the end of an utterance whose speech decides the vector of its speaker.
const SPEAKER_FRAMES: usize = 500;

/// State of the recognizer between results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Initialized,
    Running,
    /// An utterance has ended, and the audio goes on.
    Endpoint,
    /// The audio has ended.
    Finalized,
}

/// The parts before the decoder. They go on when an utterance ends.
struct Pipeline {
    features: Box<dyn FeatureRows>,
    rows: PitchedRows,
    cmvn: Option<OnlineCmvn>,
    ivector: Option<IvectorStream>,
    network: Stream,
    /// Buffers.
    new: Vec<f32>,
    taken: Vec<f32>,
    normalised: Vec<f32>,
    current: Vec<f32>,
}

impl Pipeline {
    fn new(model: &Arc<OnlineModel>, samp_freq: f32) -> Result<Self, Error> {
        let ivector = match &model.ivector {
            Some(front_end) => Some(IvectorStream::new(Arc::clone(front_end), None)?),
            None => None,
        };
        Ok(Self {
            features: model.features.stream(samp_freq)?,
            rows: model.rows(samp_freq)?,
            cmvn: model.cmvn.clone(),
            ivector,
            network: model.network.stream(),
            new: Vec::new(),
            taken: Vec::new(),
            normalised: Vec::new(),
            current: vec![0.0; model.network.ivector_dim().unwrap_or(0)],
        })
    }

    /// Takes samples.
    fn accept(&mut self, samples: &[f32]) -> Result<(), Error> {
        self.new.clear();
        self.features.accept(samples, &mut self.new)?;
        self.rows.accept(samples, &self.new)?;
        if let Some(ivector) = &mut self.ivector {
            ivector.accept(&self.new)?;
        }
        Ok(())
    }

    /// Takes the end of the audio.
    fn finish(&mut self) -> Result<(), Error> {
        self.new.clear();
        self.features.finish(&mut self.new);
        self.rows.finish(&self.new)?;
        if let Some(ivector) = &mut self.ivector {
            ivector.accept(&self.new)?;
            ivector.finish()?;
        }
        self.push(self.rows.num_waiting())?;
        self.network.end();
        Ok(())
    }

    /// Passes rows of features on to the network.
    fn push(&mut self, count: usize) -> Result<(), Error> {
        self.taken.clear();
        self.rows.take(count, &mut self.taken);
        for row in self.taken.chunks(self.rows.dim()) {
            let Some(cmvn) = &mut self.cmvn else {
                self.network.push_row(row)?;
                continue;
            };
            self.normalised.clear();
            cmvn.accept(row, &mut self.normalised)?;
            self.network.push_row(&self.normalised)?;
        }
        Ok(())
    }

    /// Returns `true` if the network has the rows of a chunk, which it gets when all are there.
    fn fill(&mut self) -> Result<bool, Error> {
        let missing = self.network.frames_to_chunk();
        if missing <= self.rows.num_waiting() {
            self.push(missing)?;
        }
        Ok(self.network.ready())
    }

    /// Returns the number of frames of which features and i-vector are there.
    fn num_frames_ready(&self) -> usize {
        let frames = self.rows.num_frames_ready();
        self.ivector.as_ref().map_or(frames, |ivector| ivector.num_frames_ready().min(frames))
    }

    /// Appends the rows of output that are ready.
    fn output(&mut self, model: &OnlineModel, out: &mut Vec<f32>) -> Result<(), Error> {
        while self.fill()? {
            let newest = self.num_frames_ready().checked_sub(1);
            if let (Some(ivector), Some(frame)) = (&mut self.ivector, newest) {
                ivector.ivector(frame, &mut self.current)?;
            }
            LoopedNetwork::advance(&model.network, &mut [&mut self.network], &[&self.current])?;
            let rows = self.network.take_output();
            out.extend(rows.rows().flatten());
        }
        Ok(())
    }
}

/// Recognizes a stream of audio: utterance after utterance, as Vosk's `KaldiRecognizer` does, with
/// its steps, endpoints and results.
pub struct OnlineRecognizer {
    model: Arc<OnlineModel>,
    samp_freq: f32,
    pipeline: Pipeline,
    decoder: UtteranceDecoder,
    weighting: SilenceWeighting,
    speaker: Option<SpeakerStream>,
    state: State,
    /// Rows of output of the utterances before, since the features began.
    frame_offset: usize,
    samples_processed: u64,
    /// Samples before the features began.
    samples_round_start: u64,
    max_alternatives: usize,
    partial_words: bool,
    words: bool,
    buffer: Vec<f32>,
}

impl std::fmt::Debug for OnlineRecognizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnlineRecognizer").field("samp_freq", &self.samp_freq).field("state", &self.state).finish()
    }
}

fn weighting(model: &OnlineModel) -> SilenceWeighting {
    let options = SilenceWeightingOptions::default().with_silence_weight(SILENCE_WEIGHT);
    let decoder = model.decoder();
    SilenceWeighting::new(options, Arc::clone(decoder.is_silence()), decoder.config().frame_subsampling_factor)
}

impl OnlineModel {
    /// Returns a recognizer of audio with this rate, in Hz.
    ///
    /// # Errors
    /// [`Error::Feat`] for a rate that features cannot be computed from.
    #[doc(alias = "KaldiRecognizer")]
    pub fn recognizer(self: &Arc<Self>, samp_freq: f32) -> Result<OnlineRecognizer, Error> {
        Ok(OnlineRecognizer {
            pipeline: Pipeline::new(self, samp_freq)?,
            decoder: self.decoder().decoder()?,
            weighting: weighting(self),
            speaker: None,
            model: Arc::clone(self),
            samp_freq,
            state: State::Initialized,
            frame_offset: 0,
            samples_processed: 0,
            samples_round_start: 0,
            max_alternatives: 0,
            partial_words: false,
            words: false,
            buffer: Vec::new(),
        })
    }
}

impl OnlineRecognizer {
    /// Sets the number of readings of a result; 0, the default, for the one with the least expected
    /// error.
    #[doc(alias = "SetMaxAlternatives")]
    pub fn set_max_alternatives(&mut self, max_alternatives: usize) {
        self.max_alternatives = max_alternatives;
    }

    /// Sets whether partial results have times and confidences.
    #[doc(alias = "SetPartialWords")]
    pub fn set_partial_words(&mut self, partial_words: bool) {
        self.partial_words = partial_words;
    }

    /// Sets whether the JSON of [`json`](Self::json) lists the words of a result.
    #[doc(alias = "SetWords")]
    pub fn set_words(&mut self, words: bool) {
        self.words = words;
    }

    /// Begins anew with a grammar of phrases in place of the model's: a bigram of their words.
    /// Returns the words that the model lacks, which are left out.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a model whose graph is whole, so that its grammar is fixed.
    #[doc(alias = "SetGrm")]
    pub fn set_phrases<'a>(&mut self, phrases: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, Error> {
        let Some((decoder, unknown_words)) = self.model.decoder().phrase_decoder(phrases)? else {
            let path = self.model.folder().path(Part::Lexicon);
            let reason = "the file is missing: a grammar needs the lexicon apart, and this graph is whole".to_owned();
            return Err(Error::ModelFile { path, reason });
        };
        self.begin_audio()?;
        (self.decoder, self.weighting, self.state) = (decoder, weighting(&self.model), State::Initialized);
        Ok(unknown_words)
    }

    /// Begins anew with a speaker model: results get the vector of the speaker. It comes from the
    /// frames in the last 500 rows of output (15 s of 30 ms each) of the utterance whose phone on
    /// the best path is no silence, if they are 50 or more. Audio without a result is forgotten.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a model without silence phones, and for a rate of audio below the
    /// speaker model's.
    #[doc(alias = "SetSpkModel")]
    pub fn set_speaker_model(&mut self, speaker_model: Arc<SpeakerModel>) -> Result<(), Error> {
        if !self.weighting.is_active() {
            let path = self.model.folder().path(Part::DecodingConfig);
            let reason = "a speaker model needs the phones that are no speech: set --endpoint.silence-phones";
            return Err(Error::ModelFile { path, reason: reason.to_owned() });
        }
        self.speaker = Some(SpeakerStream::new(speaker_model, self.samp_freq)?);
        self.begin_audio()?;
        self.decoder.begin()?;
        (self.weighting, self.state) = (weighting(&self.model), State::Initialized);
        Ok(())
    }

    /// Returns a result as Vosk's JSON.
    pub fn json(&self, result: &OnlineResult) -> String {
        match result {
            OnlineResult::Empty if self.max_alternatives > 0 => {
                "{\"alternatives\" : [{\"text\": \"\", \"confidence\" : 1.0}] }".to_owned()
            }
            result => result.to_json(self.words),
        }
    }

    /// Takes samples on the scale of 16-bit integers. Returns `true` if the utterance has ended, so
    /// that [`result`](Self::result) is due.
    ///
    /// # Errors
    /// Errors of the parts; [`Error::Feat`] for samples that are not finite.
    #[doc(alias = "AcceptWaveform")]
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<bool, Error> {
        if !matches!(self.state, State::Running | State::Initialized) {
            self.begin_utterance()?;
        }
        self.state = State::Running;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.extend(samples.into().to_f32());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate in Hz; negative ones are 0"
        )]
        let step = ((self.samp_freq * STEP) as usize).max(1);
        for samples in buffer.chunks(step) {
            self.pipeline.accept(samples)?;
            if let Some(speaker) = &mut self.speaker {
                speaker.accept(samples)?;
            }
            self.weight_silence()?;
            self.advance()?;
        }
        self.samples_processed += buffer.len() as u64;
        self.buffer = buffer;
        self.decoder.has_ended()
    }

    /// Begins the next utterance, behind the last row that was decoded.
    #[doc(alias = "CleanUp")]
    fn begin_utterance(&mut self) -> Result<(), Error> {
        self.weighting = weighting(&self.model);
        self.frame_offset += self.decoder.num_frames();
        if self.state == State::Finalized || self.frame_offset > MOST_FRAMES {
            self.begin_audio()?;
        }
        let first = self.first_frame();
        if let Some(speaker) = &mut self.speaker {
            speaker.discard(first);
        }
        self.decoder.begin()
    }

    /// Begins the features anew; seconds of results go on.
    fn begin_audio(&mut self) -> Result<(), Error> {
        self.samples_round_start += self.samples_processed;
        (self.samples_processed, self.frame_offset) = (0, 0);
        self.pipeline = Pipeline::new(&self.model, self.samp_freq)?;
        if let Some(speaker) = &mut self.speaker {
            *speaker = speaker.restarted(self.samp_freq)?;
        }
        Ok(())
    }

    /// Gives the frames of silence on the best path less weight in the i-vector.
    #[doc(alias = "UpdateSilenceWeights")]
    fn weight_silence(&mut self) -> Result<(), Error> {
        let ready = self.pipeline.num_frames_ready();
        // No frame of the utterance may be ready yet: pitch comes later than its audio.
        if self.pipeline.ivector.is_none() || ready <= self.first_frame() || !self.weighting.is_active() {
            return Ok(());
        }
        self.trace_back()?;
        let changes = self.weighting.changes(ready, self.first_frame())?;
        self.pipeline.ivector.as_mut().map_or(Ok(()), |ivector| ivector.update_weights(&changes))
    }

    /// Passes the best path on to the weighting.
    fn trace_back(&mut self) -> Result<(), Error> {
        let path = self.decoder.decoder().trace_back().map(|(token, label)| (Some(token), label));
        Ok(self.weighting.trace_back(self.decoder.num_frames(), path)?)
    }

    /// Returns the frame of features at which the utterance begins.
    fn first_frame(&self) -> usize {
        self.frame_offset * self.model.decoder().config().frame_subsampling_factor
    }

    /// Returns the vector of the speaker of the utterance, which has ended.
    #[doc(alias = "GetSpkVector")]
    fn speaker_vector(&mut self) -> Result<Option<SpeakerVector>, Error> {
        let ready = self.pipeline.num_frames_ready();
        if self.speaker.is_none() || ready <= self.first_frame() {
            return Ok(None);
        }
        self.trace_back()?;
        let first = self.first_frame();
        let speech = self.weighting.speech_frames(ready, first, SPEAKER_FRAMES)?;
        let factor = self.model.decoder().config().frame_subsampling_factor;
        let frames = speech.iter().flat_map(|row| (row * factor..(row + 1) * factor).map(|frame| first + frame));
        self.speaker.as_mut().map_or(Ok(None), |speaker| speaker.vector(frames))
    }

    /// Computes and decodes the rows that are ready.
    fn advance(&mut self) -> Result<(), Error> {
        let mut rows = Vec::new();
        self.pipeline.output(&self.model, &mut rows)?;
        self.decoder.advance(&rows, self.model.network.output_dim())
    }

    /// Returns the first of these rules by which the utterance has ended.
    ///
    /// # Errors
    /// [`Error::Recognition`] for rules without sense.
    pub fn endpoint(&mut self, rules: &EndpointRules) -> Result<Option<usize>, Error> {
        self.decoder.endpoint(rules)
    }

    /// Returns the number of rows of output of the utterance, or of the last one after its end.
    pub fn num_frames(&self) -> usize {
        self.decoder.num_frames()
    }

    /// Returns the second at which this utterance begins in the audio.
    #[expect(clippy::cast_precision_loss, reason = "as in Vosk: single precision")]
    pub fn utterance_start(&self) -> f64 {
        f64::from(self.samples_round_start as f32 / self.samp_freq) + self.frame_offset as f64 * self.frame_seconds()
    }

    /// Ends the utterance and returns its result; [`OnlineResult::Empty`] if nothing came since the
    /// last one.
    ///
    /// # Errors
    /// Errors of the lattice.
    #[doc(alias = "Result")]
    pub fn result(&mut self) -> Result<OnlineResult, Error> {
        if self.state != State::Running {
            return Ok(OnlineResult::Empty);
        }
        self.state = State::Endpoint;
        self.get_result()
    }

    /// Ends the audio and returns the result of its last utterance. Audio that follows is new.
    ///
    /// # Errors
    /// Errors of the parts.
    #[doc(alias = "FinalResult")]
    pub fn final_result(&mut self) -> Result<OnlineResult, Error> {
        if self.state != State::Running {
            return Ok(OnlineResult::Empty);
        }
        self.pipeline.finish()?;
        self.weight_silence()?;
        self.advance()?;
        self.state = State::Finalized;
        self.get_result()
    }

    /// Returns the words of the utterance so far.
    ///
    /// # Errors
    /// Errors of the lattice.
    #[doc(alias = "PartialResult")]
    pub fn partial_result(&mut self) -> Result<OnlineResult, Error> {
        if self.state != State::Running {
            return Ok(OnlineResult::Empty);
        }
        if self.partial_words {
            let words = self.decoder.partial_words()?;
            return Ok(OnlineResult::PartialWords(words.iter().map(|word| self.spoken(word)).collect()));
        }
        let model = self.model.decoder();
        Ok(OnlineResult::Partial(self.decoder.partial().iter().map(|&word| model.word(word).to_owned()).collect()))
    }

    /// Gives the utterance up; its audio is not decoded again.
    #[doc(alias = "Reset")]
    pub fn reset(&mut self) {
        if self.state != State::Finalized {
            self.state = State::Endpoint;
        }
    }

    fn get_result(&mut self) -> Result<OnlineResult, Error> {
        if self.decoder.num_frames() == 0 {
            return Ok(OnlineResult::Empty);
        }
        let lattice = self.decoder.finish()?;
        if lattice.fsas().num_states() == 0 {
            return Ok(OnlineResult::Empty);
        }
        let model = Arc::clone(self.model.decoder());
        if self.max_alternatives == 0 {
            let words = model.best_words(&lattice)?;
            let words = words.iter().map(|word| self.spoken(word)).collect();
            return Ok(OnlineResult::Best { words, speaker: self.speaker_vector()? });
        }
        let found = model.alternatives(&lattice, self.max_alternatives)?;
        let found = found.iter().map(|found| SpokenAlternative {
            words: found.words.iter().map(|word| self.spoken(word)).collect(),
            confidence: found.score,
        });
        Ok(OnlineResult::Alternatives { found: found.collect(), speaker: self.speaker_vector()? })
    }

    /// Returns the seconds of a row of the output.
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    fn frame_seconds(&self) -> f64 {
        self.model.decoder().config().frame_subsampling_factor as f64 / 100.0
    }

    /// Returns a word with its seconds, rounded as Vosk does.
    #[expect(clippy::cast_precision_loss, reason = "as in Vosk: single precision")]
    fn spoken(&self, word: &TimedWord) -> SpokenWord {
        let start = f64::from(self.samples_round_start as f32 / self.samp_freq);
        let seconds = |frame: f32| start + f64::from(self.frame_offset as f32 + frame) * self.frame_seconds();
        SpokenWord {
            word: self.model.decoder().word(word.word).to_owned(),
            start: seconds(word.begin),
            end: seconds(word.end),
            confidence: word.confidence,
        }
    }
}
