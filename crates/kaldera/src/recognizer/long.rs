//! Recognition of a recording of any length.

use std::fmt;
use std::ops::{Deref, Range};
use std::vec::IntoIter;

use kaldera_decoder::{Hypothesis, Recognition, Segment};
use kaldi_feat::Audio;

use crate::Error;
use crate::kaldi_online::SpeakerVector;
use crate::recognizer::online::OnlineStream;
use crate::recognizer::parts::Parts;
use crate::recognizer::pauses::{PauseOptions, cut_at_pauses};
use crate::recognizer::samples::seconds_of;
use crate::recognizer::{Engine, Recognizer};

/// The words of a recording.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Transcript {
    /// The hypotheses, the best one first. For a recording that was cut, they are the best
    /// combinations of the hypotheses of its parts, and only the best one has tokens. The last ones
    /// are left out if the words of all would be more than a million. Times count from the start of
    /// the recording.
    pub recognition: Recognition,
    /// Duration in seconds.
    pub seconds: f64,
    /// The vectors of the speakers of utterances, with the seconds of the utterance; none for
    /// utterances with too little speech. A recognizer has them
    /// [with a speaker model](Recognizer::with_speaker_model).
    pub speakers: Vec<(Range<f64>, SpeakerVector)>,
}

impl Transcript {
    /// Creates the transcript of words that were aligned.
    pub(super) fn from_words(key: &str, words: Vec<Segment>, num_frames: usize, seconds: f64) -> Self {
        let mut hypothesis = Hypothesis::default();
        hypothesis.words = words;
        Self { recognition: Recognition::new(key, num_frames, vec![hypothesis]), seconds, speakers: vec![] }
    }
}

/// Transcription of a recording that is cut at pauses, for programs that do other work between the
/// parts, or show the words of each part when it is done. `R` is a reference to a [`Recognizer`],
/// or an [`Arc`](std::sync::Arc) of it.
///
/// A Vosk or Kaldi folder gets the whole as one stream, and a part is an utterance by its endpoint
/// rules: options of pauses have no effect.
///
/// ```no_run
/// use kaldera::recognizer::{LongTranscription, PauseOptions};
/// use kaldera::{Recognizer, Recording};
///
/// let recognizer = Recognizer::open("model")?;
/// let recording = Recording::open("lecture.m4a")?.mean();
/// let options = PauseOptions::default();
/// let mut long = LongTranscription::new(&recognizer, &recording.audio()?, &options)?;
/// while let Some(part) = long.next_part()? {
///     println!("{}", part.text());
/// }
/// println!("{} words", long.finish().recognition.best().map_or(0, |best| best.words.len()));
/// # Ok::<(), kaldera::Error>(())
/// ```
pub struct LongTranscription<R> {
    recognizer: R,
    key: String,
    samples: Vec<f32>,
    samp_freq: f32,
    vtln_warp: f32,
    ahead: Ahead,
    whole: Parts,
    speakers: Vec<(Range<f64>, SpeakerVector)>,
}

/// The audio that has no words yet.
enum Ahead {
    /// Parts between pauses.
    Parts(IntoIter<Range<usize>>),
    /// A stream, and the first sample that it has not got; `None` after its end.
    Stream(Box<OnlineStream>, Option<usize>),
}

impl<R: Deref<Target = Recognizer>> LongTranscription<R> {
    /// Creates a transcription of audio of one channel, without a part.
    ///
    /// # Errors
    /// [`Error::Feat`] for samples that are not finite.
    pub fn new(recognizer: R, audio: &Audio<'_>, options: &PauseOptions) -> Result<Self, Error> {
        audio.samples.check_finite()?;
        let samples = audio.samples.to_f32();
        recognizer.tell_resampling(audio.samp_freq);
        let ahead = match &recognizer.engine {
            Engine::Stages(_) => Ahead::Parts(cut_at_pauses(&samples, audio.samp_freq, options).into_iter()),
            Engine::Online(online) => Ahead::Stream(Box::new(online.stream(audio.samp_freq)?), Some(0)),
        };
        Ok(Self {
            key: audio.key.to_owned(),
            samp_freq: audio.samp_freq,
            vtln_warp: audio.vtln_warp,
            ahead,
            whole: Parts::new(recognizer.n_best()),
            speakers: vec![],
            samples,
            recognizer,
        })
    }

    /// Transcribes the next part and returns its words, with times from its start; `None` after the
    /// last part.
    ///
    /// # Errors
    /// As [`Recognizer::transcribe`].
    pub fn next_part(&mut self) -> Result<Option<&Recognition>, Error> {
        let (times, found) = match &mut self.ahead {
            Ahead::Parts(parts) => {
                let Some(part) = parts.next() else { return Ok(None) };
                let [start, end] = [part.start, part.end].map(|sample| seconds_of(sample, self.samp_freq));
                (start..end, self.recognizer.transcribe_frames(&self.audio(part))?)
            }
            Ahead::Stream(stream, next) => {
                let Some(begin) = *next else { return Ok(None) };
                let mut rest = &self.samples[begin..];
                let found = loop {
                    match stream.step(&mut rest)? {
                        Some(true) => break Some(stream.end_utterance(&self.key)?),
                        Some(false) => {}
                        None => break None,
                    }
                };
                *next = found.is_some().then(|| self.samples.len() - rest.len());
                let seconds = seconds_of(self.samples.len(), self.samp_freq);
                let (times, found) = match found {
                    Some((place, found)) => (place.seconds..place.seconds + stream.seconds(found.num_frames), found),
                    None => match stream.finish(&self.key)? {
                        Some((place, found)) => (place.seconds..seconds.max(place.seconds), found),
                        None => return Ok(None),
                    },
                };
                self.speakers.extend(stream.take_speaker().map(|speaker| (times.clone(), speaker)));
                (times, found)
            }
        };
        Ok(Some(self.whole.push(times, found)))
    }

    /// Returns the words of all parts so far, with times from the start of the recording.
    pub fn finish(mut self) -> Transcript {
        let whole = std::mem::replace(&mut self.whole, Parts::new(1));
        let speakers = std::mem::take(&mut self.speakers);
        let mut recognition = whole.finish(&self.key);
        let audio = self.audio(0..self.samples.len());
        self.recognizer.widen(&audio, &mut recognition);
        Transcript { recognition, seconds: seconds_of(self.samples.len(), self.samp_freq), speakers }
    }

    fn audio(&self, range: Range<usize>) -> Audio<'_> {
        Audio::new(&self.samples[range], self.samp_freq).with_key(&self.key).with_vtln_warp(self.vtln_warp)
    }
}

impl<R> fmt::Debug for LongTranscription<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongTranscription").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Recognizer {
    /// Returns the words of a recording of any length, which is cut at pauses.
    ///
    /// # Errors
    /// As [`transcribe`](Self::transcribe).
    pub fn transcribe_long(&self, audio: &Audio<'_>, options: &PauseOptions) -> Result<Transcript, Error> {
        let mut long = LongTranscription::new(self, audio, options)?;
        while long.next_part()?.is_some() {}
        Ok(long.finish())
    }
}
