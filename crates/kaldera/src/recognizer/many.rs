//! Recognition of recordings of any length, and of many recordings.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera_decoder::{Hypothesis, Segment};
use kaldi_feat::Audio;

use crate::Error;
use crate::pipeline::ordered::{self, Weighed};
use crate::pipeline::reader::{Reader, channel_of, frames_of};
use crate::pipeline::{ChannelChoice, Failure, Inputs, ReadOptions, Summary, Utterance};
use crate::recognizer::long::{LongTranscription, Transcript};
use crate::recognizer::pauses::PauseOptions;
use crate::recognizer::samples::seconds_of;
use crate::recognizer::{ALIGNMENT, AnyDecoder, Recognizer};

/// Options of transcribing many recordings.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AllOptions<'a> {
    /// Number of threads; 0 for one per processor.
    pub jobs: usize,
    /// The channel, unless an utterance specifies it.
    pub channel: ChannelChoice,
    /// Options of reading recordings.
    pub reading: ReadOptions,
    /// Options of cutting long recordings.
    pub pauses: PauseOptions,
    /// Keys of recordings that an earlier run has finished.
    pub earlier: Option<&'a HashSet<String>>,
    /// Stops the run soon after it has become true.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> AllOptions<'a> {
    /// Sets [`jobs`](Self::jobs).
    #[must_use]
    pub fn with_jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Sets [`channel`](Self::channel).
    #[must_use]
    pub fn with_channel(self, channel: impl Into<ChannelChoice>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// Sets [`reading`](Self::reading).
    #[must_use]
    pub fn with_reading(self, reading: ReadOptions) -> Self {
        Self { reading, ..self }
    }

    /// Sets [`pauses`](Self::pauses).
    #[must_use]
    pub fn with_pauses(self, pauses: PauseOptions) -> Self {
        Self { pauses, ..self }
    }

    /// Sets [`earlier`](Self::earlier).
    #[must_use]
    pub fn with_earlier(self, earlier: Option<&'a HashSet<String>>) -> Self {
        Self { earlier, ..self }
    }

    /// Sets [`stop`](Self::stop).
    #[must_use]
    pub fn with_stop(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    fn check_stop(&self) -> Result<(), Error> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}

impl Recognizer {
    /// Transcribes recordings on several threads. Calls `take` with the words of each recording, in
    /// the order of `inputs`, and `progress` after each recording. A recording that fails is in the
    /// summary instead.
    ///
    /// # Errors
    /// The first error of `take`, and [`Error::Stopped`].
    pub fn transcribe_all(
        &self,
        inputs: &Inputs,
        options: &AllOptions<'_>,
        take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
        progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        let transcribe = |audio: &Audio<'_>| {
            let mut long = LongTranscription::new(self, audio, &options.pauses)?;
            while long.next_part()?.is_some() {
                options.check_stop()?;
            }
            Ok(long.finish())
        };
        run(inputs, options, |reader, utterance| with_audio(utterance, options, reader, transcribe), take, progress)
    }

    /// Aligns the words of transcripts, in the same way as
    /// [`transcribe_all`](Self::transcribe_all): `text` returns the transcript of a key. A
    /// recording without one fails.
    ///
    /// # Errors
    /// As [`transcribe_all`](Self::transcribe_all).
    pub fn align_all<'t>(
        &self,
        inputs: &Inputs,
        options: &AllOptions<'_>,
        text: impl Fn(&str) -> Option<&'t str> + Sync,
        take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
        progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        let align = |audio: &Audio<'_>| {
            let transcript = text(audio.key).ok_or_else(|| Error::NoTranscript { utterance: audio.key.to_owned() })?;
            let (words, num_frames) = self.stages_for(ALIGNMENT)?.align(audio, transcript)?;
            Ok(Transcript::from_words(audio.key, words, num_frames, seconds_of(audio.samples.len(), audio.samp_freq)))
        };
        run(inputs, options, |reader, utterance| with_audio(utterance, options, reader, align), take, progress)
    }
}

impl AnyDecoder {
    /// Decodes log-probabilities in the same way as [`Recognizer::transcribe_all`]: `log_probs`
    /// returns the rows of a key. No recording is read.
    ///
    /// # Errors
    /// As [`Recognizer::transcribe_all`].
    pub fn decode_all<'p>(
        &self,
        inputs: &Inputs,
        options: &AllOptions<'_>,
        log_probs: impl Fn(&str) -> Option<&'p [f32]> + Sync,
        take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
        progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        let decode = |_: &mut Reader, Utterance { key, .. }: &Utterance| {
            let rows = log_probs(key).ok_or_else(|| Error::NoLogProbs { utterance: key.clone() })?;
            let recognition = self.decode(key, rows)?;
            let seconds = self.times().seconds(recognition.num_frames);
            Ok(Transcript { seconds, recognition, speakers: vec![] })
        };
        run(inputs, options, decode, take, progress)
    }

    /// Aligns the words of transcripts with log-probabilities, in the same way as
    /// [`Recognizer::align_all`]: `log_probs` returns the rows of a key. No recording is read.
    ///
    /// # Errors
    /// As [`Recognizer::transcribe_all`].
    pub fn align_all<'p, 't>(
        &self,
        inputs: &Inputs,
        options: &AllOptions<'_>,
        log_probs: impl Fn(&str) -> Option<&'p [f32]> + Sync,
        text: impl Fn(&str) -> Option<&'t str> + Sync,
        take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
        progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        let align = |_: &mut Reader, Utterance { key, .. }: &Utterance| {
            let transcript = text(key).ok_or_else(|| Error::NoTranscript { utterance: key.clone() })?;
            let rows = log_probs(key).ok_or_else(|| Error::NoLogProbs { utterance: key.clone() })?;
            let (words, num_frames) = self.align_frames(key, rows, transcript)?;
            Ok(Transcript::from_words(key, words, num_frames, self.times().seconds(num_frames)))
        };
        run(inputs, options, align, take, progress)
    }
}

/// Calls `work` with utterances on several threads, and `take` with its results, in order.
fn run(
    inputs: &Inputs,
    options: &AllOptions<'_>,
    work: impl Fn(&mut Reader, &Utterance) -> Result<Transcript, Error> + Sync,
    mut take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
    mut progress: impl FnMut(&Summary) + Send,
) -> Result<Summary, Error> {
    let jobs = match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let is_new = |utterance: &&Utterance| options.earlier.is_none_or(|earlier| !earlier.contains(&utterance.key));
    let utterances: Vec<&Utterance> = inputs.utterances().iter().filter(is_new).collect();
    let earlier = (inputs.len() - utterances.len()) as u64;
    let (rejected, num_rejected) = (inputs.rejected().to_vec(), inputs.num_rejected());
    let mut summary = Summary { earlier, rejected, num_rejected, ..Summary::default() };
    let of_one = |reader: &mut Reader, index: usize, done: &mut Done| {
        let utterance = utterances[index];
        done.0 = Some(options.check_stop().and_then(|()| work(reader, utterance)));
    };
    let commit = |index: usize, done: &mut Done| {
        options.check_stop()?;
        let utterance: &Utterance = utterances[index];
        match done.0.take() {
            None => {}
            Some(Ok(transcript)) => {
                summary.utterances += 1;
                summary.seconds += transcript.seconds;
                summary.frames += transcript.recognition.num_frames as u64;
                take(utterance, transcript)?;
            }
            Some(Err(source)) => summary.failures.push(Failure { utterance: utterance.clone(), source }),
        }
        progress(&summary);
        Ok::<(), Error>(())
    };
    ordered::run(jobs, utterances.len(), Reader::default, of_one, commit)?;
    Ok(summary)
}

/// Calls `work` with the samples of an utterance.
fn with_audio<T>(
    utterance: &Utterance,
    options: &AllOptions<'_>,
    reader: &mut Reader,
    work: impl Fn(&Audio<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let recording = {
        let _span = tracing::error_span!("reading", key = utterance.key, file = %utterance.source).entered();
        reader.read(&utterance.source, utterance.span, &options.reading)?
    };
    let range = frames_of(&recording, utterance.span)?;
    let channel = channel_of(&recording, utterance, options.channel, range)?;
    let mut samples = vec![];
    work(&Audio::new(channel.samples(&mut samples), recording.samp_freq()).with_key(&utterance.key))
}

/// The result of one recording.
#[derive(Default)]
struct Done(Option<Result<Transcript, Error>>);

impl Weighed for Done {
    fn bytes(&self) -> usize {
        let segments = |hypothesis: &Hypothesis| hypothesis.tokens.len() + hypothesis.words.len();
        match &self.0 {
            Some(Ok(transcript)) => {
                transcript.recognition.hypotheses.iter().map(segments).sum::<usize>() * size_of::<Segment>()
            }
            _ => 0,
        }
    }
}
