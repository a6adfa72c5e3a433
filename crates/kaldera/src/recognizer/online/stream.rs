//! Audio for an online model, in steps of one length.

use std::ops::Range;

use kaldera_decoder::graph::EndpointRules;
use kaldera_decoder::{FrameTimes, Hypothesis, Recognition, Segment};

use crate::Error;
use crate::kaldi_online::{OnlineRecognizer, OnlineResult, SpeakerVector, SpokenWord};
use crate::recognizer::samples::check_finite;
use crate::recognizer::utterances::Place;

/// Number of samples that a recogniser gets at once, as in Vosk's own programs.
const STEP: usize = 4000;

/// A recogniser that gets its audio in steps of one length, for chunks of any length: its words
/// depend on the steps.
pub(in crate::recognizer) struct OnlineStream {
    recognizer: OnlineRecognizer,
    times: FrameTimes,
    step: usize,
    /// Samples of a step that is not complete.
    waiting: Vec<f32>,
    num_samples: usize,
    /// `true` if samples came since the last result.
    is_running: bool,
    /// The vector of the last result.
    speaker: Option<SpeakerVector>,
}

impl OnlineStream {
    /// Creates a stream of a recogniser without samples.
    pub(super) fn new(recognizer: OnlineRecognizer, times: FrameTimes) -> Self {
        Self { recognizer, times, step: STEP, waiting: vec![], num_samples: 0, is_running: false, speaker: None }
    }

    /// Sets the number of samples of a step.
    pub(in crate::recognizer) fn with_step(self, step: usize) -> Self {
        Self { step: step.max(1), ..self }
    }

    /// Returns the number of the last samples that the recogniser has not got.
    pub(in crate::recognizer) fn num_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Refuses samples that are not finite.
    pub(in crate::recognizer) fn check(&self, samples: &[f32]) -> Result<(), Error> {
        check_finite(samples, self.num_samples)
    }

    /// Takes samples from the beginning of `rest` until a step is complete. Returns `true` if the
    /// utterance has ended, and `None` if no step is complete.
    pub(in crate::recognizer) fn step(&mut self, rest: &mut &[f32]) -> Result<Option<bool>, Error> {
        let missing = self.step - self.waiting.len();
        let taken = rest.split_off(..missing.min(rest.len())).unwrap_or_default();
        self.waiting.extend_from_slice(taken);
        self.num_samples += taken.len();
        if self.waiting.len() < self.step { Ok(None) } else { self.pass_on().map(Some) }
    }

    fn pass_on(&mut self) -> Result<bool, Error> {
        let has_ended = self.recognizer.accept(&self.waiting)?;
        self.waiting.clear();
        self.is_running = true;
        Ok(has_ended)
    }

    /// Returns the first of these rules by which the utterance has ended.
    pub(in crate::recognizer) fn endpoint(&mut self, rules: &EndpointRules) -> Result<Option<usize>, Error> {
        self.recognizer.endpoint(rules)
    }

    /// Returns the words so far, and the place of the utterance.
    pub(in crate::recognizer) fn so_far(&mut self, utterance: &str) -> Result<(Place, Recognition), Error> {
        let result = self.recognizer.partial_result()?;
        Ok(self.found(utterance, result))
    }

    /// Ends the utterance, and returns its words and its place.
    pub(in crate::recognizer) fn end_utterance(&mut self, utterance: &str) -> Result<(Place, Recognition), Error> {
        let result = self.recognizer.result()?;
        self.is_running = false;
        Ok(self.found(utterance, result))
    }

    /// Ends the audio, and returns the words of the last utterance and its place; `None` if no
    /// audio came since the last one.
    pub(in crate::recognizer) fn finish(&mut self, utterance: &str) -> Result<Option<(Place, Recognition)>, Error> {
        if !self.waiting.is_empty() {
            self.pass_on()?;
        }
        if !std::mem::take(&mut self.is_running) {
            return Ok(None);
        }
        let result = self.recognizer.final_result()?;
        Ok(Some(self.found(utterance, result)))
    }

    /// Ends the audio, which is one utterance, and returns its words.
    pub(in crate::recognizer) fn finish_utterance(mut self, utterance: &str) -> Result<Recognition, Error> {
        Ok(self.finish(utterance)?.map_or_else(|| Recognition::new(utterance, 0, vec![]), |(_, found)| found))
    }

    /// Returns the vector of the speaker of the utterance that has ended, if there is one.
    pub(in crate::recognizer) fn take_speaker(&mut self) -> Option<SpeakerVector> {
        self.speaker.take()
    }

    /// Returns the seconds of a number of rows of the network's output.
    pub(in crate::recognizer) fn seconds(&self, frames: usize) -> f64 {
        self.times.seconds(frames)
    }

    /// Returns a result with times from the start of its utterance, and the place of the utterance.
    fn found(&mut self, utterance: &str, result: OnlineResult) -> (Place, Recognition) {
        let num_frames = self.recognizer.num_frames();
        let seconds = self.recognizer.utterance_start();
        let place = Place { first_frame: self.frame_at(seconds), seconds };
        let words = |words: Vec<SpokenWord>| words.into_iter().map(|word| self.segment(word, seconds)).collect();
        let (hypotheses, speaker) = match result {
            OnlineResult::Empty => (vec![], None),
            OnlineResult::Best { words: found, speaker } => (vec![hypothesis(words(found), 0.0)], speaker),
            OnlineResult::PartialWords(found) => (vec![hypothesis(words(found), 0.0)], None),
            OnlineResult::Alternatives { found, speaker } => {
                let all = found.into_iter().map(|one| hypothesis(words(one.words), one.confidence.into()));
                (all.collect(), speaker)
            }
            OnlineResult::Partial(found) => {
                let spanning = |word: String| Segment::new(-1, word, 0..num_frames, &self.times);
                (vec![hypothesis(found.into_iter().map(spanning).collect(), 0.0)], None)
            }
        };
        self.speaker = speaker;
        (place, Recognition::new(utterance, num_frames, hypotheses))
    }

    /// Returns a word with times from the start of its utterance, after `before` seconds.
    fn segment(&self, word: SpokenWord, before: f64) -> Segment {
        let SpokenWord { word, start, end, confidence } = word;
        let (start, end) = ((start - before).max(0.0), (end - before).max(0.0));
        let mut segment = Segment::new(-1, word, self.frames(start..end), &self.times);
        (segment.start, segment.end, segment.confidence) = (start, end, confidence.map(f64::from));
        segment
    }

    fn frames(&self, seconds: Range<f64>) -> Range<usize> {
        let begin = self.frame_at(seconds.start);
        begin..self.frame_at(seconds.end).max(begin + 1)
    }

    /// Returns the number of frames before a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in the audio, in frames")]
    fn frame_at(&self, seconds: f64) -> usize {
        (seconds / self.times.seconds(1)).round() as usize
    }
}

/// Returns a hypothesis of words. The score is of graph and network together.
fn hypothesis(words: Vec<Segment>, score: f64) -> Hypothesis {
    let mut made = Hypothesis::default();
    made.words = words;
    made.scores.acoustic = score;
    made
}
