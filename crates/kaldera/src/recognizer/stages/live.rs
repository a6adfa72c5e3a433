//! Endless speech, in utterances, by stages.

use std::sync::Arc;

use kaldera_decoder::Recognition;
use kaldera_decoder::graph::{EndpointRule, EndpointRules};

use crate::Error;
use crate::recognizer::parts::end_at;
use crate::recognizer::samples::seconds_of;
use crate::recognizer::stages::Stages;
use crate::recognizer::stages::due::Due;
use crate::recognizer::stages::stream::{StagesStream, silence_frames};
use crate::recognizer::utterances::{LiveUpdate, Place, has_words, name};

/// Interval in seconds of audio at which the end of an utterance is searched for: utterances must
/// not depend on the length of chunks.
const LOOK_FOR_END: f64 = 0.1;

/// The shortest silence that ends an utterance, in seconds.
const PAUSE: f64 = 0.5;

/// Blanks of fewer seconds are silence only if the audio is quiet: a long sound has them, too.
const SURE_SILENCE: f32 = 1.0;

/// Maximum delay in seconds of an utterance's end within a token, which waits for the end of the
/// token. The end is then searched for in each frame.
const MOST_DELAY: f64 = 1.0;

/// Maximum seconds between two partial results of a network without a state.
const MOST_GROWTH: f64 = 1.0;

/// A network without a state may find a token of these last seconds later, when it has more of the
/// audio after it: they belong to the next utterance.
const UNSURE: f64 = 0.3;

/// Seconds after the last token that belong to its utterance: a network without a state may find
/// the token there the next time.
const AFTER_LAST: f64 = 0.2;

/// An utterance that has to end without silence is cut in the longest pause of these last seconds,
/// if the network has no state.
const CUT_WITHIN: f64 = 2.0;

/// Seconds before an utterance that a network without a state gets, too. Its output there is not
/// decoded: no word is found twice.
const CONTEXT: f64 = 1.0;

/// Seconds of audio that are kept for the next utterance.
const KEPT: f64 = CUT_WITHIN + CONTEXT + 1.0;

/// Endless speech, in utterances, by stages.
pub(in crate::recognizer) struct StagesLive {
    stages: Arc<Stages>,
    samp_freq: f32,
    rules: EndpointRules,
    /// The rules that hold if the audio is not quiet.
    loud_rules: EndpointRules,
    stream: StagesStream,
    /// Number of utterances that have ended.
    num_ended: usize,
    /// First frame of the utterance.
    first_frame: usize,
    num_samples: usize,
    /// Number of samples that no result includes.
    num_pending: usize,
    /// Number of samples until the end is searched for again.
    before_look: usize,
    /// Number of frames since the utterance should have ended.
    num_delays: usize,
    due: Due,
    /// The last samples.
    recent: Vec<f32>,
}

impl StagesLive {
    /// Creates a stream of samples of this rate, in utterances by Kaldi's endpoint rules.
    pub(in crate::recognizer) fn new(stages: Arc<Stages>, samp_freq: f32) -> Result<Self, Error> {
        let stream = StagesStream::new(Arc::clone(&stages), &name(1), samp_freq)?;
        let rules = EndpointRules::kaldi();
        Ok(Self {
            samp_freq,
            loud_rules: without_short_silence(&rules),
            rules,
            stream,
            num_ended: 0,
            first_frame: 0,
            num_samples: 0,
            num_pending: 0,
            before_look: samples_of(LOOK_FOR_END, samp_freq).max(1),
            num_delays: 0,
            due: Due::new(samples_of(PAUSE, samp_freq), samples_of(MOST_GROWTH, samp_freq)),
            recent: vec![],
            stages,
        })
    }

    /// Sets the endpoint rules.
    pub(in crate::recognizer) fn with_rules(self, rules: EndpointRules) -> Self {
        Self { loud_rules: without_short_silence(&rules), rules, ..self }
    }

    /// Returns the seconds of audio so far.
    fn seconds(&self) -> f64 {
        seconds_of(self.num_samples, self.samp_freq)
    }

    /// Returns the number of the last samples that no result includes.
    pub(in crate::recognizer) fn num_pending(&self) -> usize {
        self.num_pending
    }

    /// Returns the seconds that must come before the network has more of its output.
    pub(in crate::recognizer) fn seconds_before_output(&self) -> f64 {
        self.stream.seconds_before_output()
    }

    /// Returns the maximum number of streams that the network runs over in one pass.
    pub(in crate::recognizer) fn max_streams(&self) -> usize {
        self.stages.max_streams()
    }

    /// Takes more samples of each stream.
    pub(in crate::recognizer) fn accept_all(streams: &mut [(&mut Self, &[f32])]) -> Vec<Result<LiveUpdate, Error>> {
        let mut updates: Vec<_> = streams.iter().map(|_| Ok(LiveUpdate::default())).collect();
        loop {
            let mut parts = vec![];
            for ((live, rest), update) in streams.iter_mut().zip(&mut updates).filter(|(_, update)| update.is_ok()) {
                if let Some(part) = rest.split_off(..live.before_look.min(rest.len())).filter(|part| !part.is_empty()) {
                    parts.push((&mut **live, part, rest.is_empty(), update));
                }
            }
            if parts.is_empty() {
                break;
            }
            let mut taking: Vec<_> = parts.iter_mut().map(|(live, part, ..)| (&mut live.stream, *part)).collect();
            let taken = StagesStream::accept_all(&mut taking);
            for ((live, part, is_last, update), taken) in parts.into_iter().zip(taken) {
                let after = |update: LiveUpdate| live.after(part, taken, is_last, update);
                *update = std::mem::replace(update, Ok(LiveUpdate::default())).and_then(after);
            }
        }
        for ((live, _), update) in streams.iter().zip(&mut updates) {
            if let Ok(update) = update {
                update.so_far = update.so_far.take().map(|found| live.place().shift(found));
            }
        }
        updates
    }

    /// Returns the results after samples that the stream has taken.
    fn after(
        &mut self,
        samples: &[f32],
        taken: Result<(), Error>,
        is_last: bool,
        mut update: LiveUpdate,
    ) -> Result<LiveUpdate, Error> {
        self.count(samples, taken)?;
        let looks = self.before_look == 0;
        if looks {
            self.before_look = samples_of(LOOK_FOR_END, self.samp_freq).max(1);
        }
        let is_due = match self.stream.keeps_state() {
            true => looks || is_last,
            false => looks && self.due.is_now(&self.recent),
        };
        if !is_due {
            return Ok(update);
        }
        let found = self.stream.partial()?;
        self.num_pending = 0;
        if looks && self.has_ended(&found)? {
            update.ended.extend(self.end(&found)?);
            update.so_far = None;
        } else {
            update.so_far = Some(found);
        }
        Ok(update)
    }

    /// Returns the last utterance, if it has a token. It ends with the audio.
    pub(in crate::recognizer) fn finish(self) -> Result<Option<Recognition>, Error> {
        let (place, name) = (self.place(), name(self.num_ended + 1));
        let seconds = (self.seconds() - place.seconds).max(0.0);
        let mut found = self.stream.finish()?;
        for hypothesis in &mut found.hypotheses {
            end_at(&mut hypothesis.tokens, seconds);
            end_at(&mut hypothesis.words, seconds);
        }
        found.utterance = name;
        Ok(has_words(&found).then(|| place.shift(found)))
    }

    /// Counts samples that the stream has taken.
    fn count(&mut self, samples: &[f32], taken: Result<(), Error>) -> Result<(), Error> {
        taken.map_err(|error| match error {
            // Counted from the start.
            Error::Audio(kaldera_audio::Error::NotFiniteSample { channel, value, .. }) => {
                let at = samples.iter().position(|sample| !sample.is_finite()).unwrap_or_default();
                let sample = self.num_samples + at;
                kaldera_audio::Error::NotFiniteSample { sample, channel, value }.into()
            }
            error => error,
        })?;
        self.num_samples += samples.len();
        self.num_pending += samples.len();
        self.before_look -= samples.len();
        self.due.add(samples);
        self.recent.extend_from_slice(samples);
        let kept = samples_of(if self.stream.keeps_state() { PAUSE } else { KEPT }, self.samp_freq);
        if self.recent.len() > 2 * kept {
            self.recent.drain(..self.recent.len() - kept);
        }
        Ok(())
    }

    /// Returns `true` if the utterance with this result so far has ended.
    fn has_ended(&mut self, found: &Recognition) -> Result<bool, Error> {
        let rules = if self.due.is_quiet(&self.recent) { &self.rules } else { &self.loud_rules };
        if self.stream.endpoint(found, rules)?.is_none() {
            return Ok(false);
        }
        // The rest of a token would be found as the token once more.
        let most_delays = frames_in(MOST_DELAY, self.frame_seconds(1));
        if self.stream.keeps_state() && silence_frames(found) == 0 && self.num_delays < most_delays {
            self.num_delays += 1;
            self.before_look = samples_of(self.frame_seconds(1), self.samp_freq).max(1);
            return Ok(false);
        }
        Ok(true)
    }

    /// Ends the utterance with this result so far, and begins the next one.
    fn end(&mut self, found: &Recognition) -> Result<Option<Recognition>, Error> {
        let place = self.place();
        let next = name(self.num_ended + 1 + usize::from(has_words(found)));
        let mut ended = if self.stream.keeps_state() {
            let ended = self.stream.end_utterance(&next)?;
            self.first_frame += ended.num_frames;
            self.due = self.due.next();
            ended
        } else {
            let heard = frames_in(seconds_of(self.due.length(), self.samp_freq), self.frame_seconds(1));
            let cut = cut(found, heard, self.frame_seconds(1));
            let ended = self.stream.beginning(cut)?;
            self.first_frame += cut;
            self.begin_again(&next)?;
            ended
        };
        self.num_delays = 0;
        if !has_words(&ended) {
            return Ok(None);
        }
        self.num_ended += 1;
        ended.utterance = name(self.num_ended);
        Ok(Some(place.shift(ended)))
    }

    /// Begins an utterance at its first frame, which has arrived, with the audio before it as
    /// context.
    fn begin_again(&mut self, name: &str) -> Result<(), Error> {
        let sample_of = |frame| samples_of(self.frame_seconds(frame), self.samp_freq);
        let dropped = seconds_of(self.num_samples - self.recent.len(), self.samp_freq);
        let first_kept = (dropped / self.frame_seconds(1)).ceil();
        let context = frames_in(CONTEXT, self.frame_seconds(1));
        let begin = self.first_frame.saturating_sub(context).max(whole(first_kept)).min(self.first_frame);
        let kept_from = |sample: usize| {
            let before = self.num_samples - self.recent.len();
            &self.recent[sample.saturating_sub(before).min(self.recent.len())..]
        };
        let stream = StagesStream::new(Arc::clone(&self.stages), name, self.samp_freq)?;
        let mut stream = stream.with_context(self.first_frame - begin);
        stream.accept(kept_from(sample_of(begin)))?;
        let mut due = self.due.next();
        due.add(kept_from(sample_of(self.first_frame)));
        (self.stream, self.due) = (stream, due);
        Ok(())
    }

    /// Returns the place where the utterance begins.
    fn place(&self) -> Place {
        Place { first_frame: self.first_frame, seconds: self.frame_seconds(self.first_frame) }
    }

    /// Returns the duration of frames in seconds.
    fn frame_seconds(&self, frames: usize) -> f64 {
        let times = self.stages.decoder.times();
        times.seconds(frames) - times.seconds(0)
    }
}

/// Returns the rules that hold if the audio is not quiet.
fn without_short_silence(rules: &EndpointRules) -> EndpointRules {
    let of_sounds =
        |rule: &&EndpointRule| rule.min_trailing_silence == 0.0 || rule.min_trailing_silence >= SURE_SILENCE;
    EndpointRules::new(rules.rules.iter().filter(of_sounds).copied().collect())
}

/// Returns the number of frames after which an utterance is cut, for a network without a state;
/// `heard` is the number of frames of audio so far. The cut is in the silence at its end, or else
/// in the longest pause of the last seconds. A network that gets silence after its audio has frames
/// beyond these.
fn cut(found: &Recognition, heard: usize, frame_seconds: f64) -> usize {
    let frames = |seconds| frames_in(seconds, frame_seconds);
    let Some(best) = found.best().filter(|best| !best.tokens.is_empty()) else {
        return heard.saturating_sub(frames(UNSURE));
    };
    let spoken = best.tokens.last().map_or(0, |last| last.frames.end).min(heard);
    if heard - spoken >= frames(AFTER_LAST) {
        return heard.saturating_sub(frames(UNSURE)).max(spoken + frames(AFTER_LAST));
    }
    let segments = if best.words.is_empty() { &best.tokens } else { &best.words };
    let between = segments.windows(2).map(|pair| (pair[0].frames.end, pair[1].frames.start));
    let earliest = heard.saturating_sub(frames(CUT_WITHIN));
    let pauses = between.chain([(spoken, heard)]).filter(|&(begin, end)| begin >= earliest && end >= begin);
    pauses.max_by_key(|(begin, end)| end - begin).map_or(heard, |(begin, end)| usize::midpoint(begin, end))
}

/// Returns the nearest whole number to one that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that has passed, in samples or frames"
)]
fn whole(number: f64) -> usize {
    number.round() as usize
}

fn samples_of(seconds: f64, samp_freq: f32) -> usize {
    whole(seconds * f64::from(samp_freq))
}

fn frames_in(seconds: f64, frame_seconds: f64) -> usize {
    whole((seconds / frame_seconds).floor())
}
