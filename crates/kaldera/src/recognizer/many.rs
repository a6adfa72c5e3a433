//! Recordings of any length, and many of them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera_decoder::{Hypothesis, Recognition, Segment};
use kaldi_feat::Audio;

use crate::Error;
use crate::pipeline::ordered::{self, Weighed};
use crate::pipeline::recording::Reader;
use crate::pipeline::{ChannelChoice, Failure, Inputs, ReadOptions, Summary, Utterance};
use crate::recognizer::Recognizer;
use crate::recognizer::parts::{Parts, end_at};
use crate::recognizer::pauses::{PauseOptions, cut_at_pauses};

/// The words of a recording.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Transcript {
    /// Its hypotheses, the best one first; of a recording that was cut, the best combinations of
    /// those of its parts, of which the best one alone has tokens; the last ones are left out where
    /// the words of all would be more than a million. Times are those of the recording.
    pub recognition: Recognition,
    /// How long it is.
    pub seconds: f64,
}

/// How many recordings are transcribed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AllOptions<'a> {
    /// Threads; 0 for one per processor.
    pub jobs: usize,
    /// The channel, unless an utterance says which.
    pub channel: ChannelChoice,
    /// How recordings are read.
    pub reading: ReadOptions,
    /// Where long ones are cut.
    pub pauses: PauseOptions,
    /// Keys of recordings that an earlier run has done.
    pub earlier: Option<&'a HashSet<String>>,
    /// Ends the run soon after it has become true.
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
}

impl Recognizer {
    /// The words of a recording of any length, which is cut at pauses.
    ///
    /// # Errors
    /// As [`transcribe`](Self::transcribe).
    pub fn transcribe_long(&self, audio: &Audio<'_>, options: &PauseOptions) -> Result<Transcript, Error> {
        let samples = audio.samples.to_f32();
        let seconds = seconds_of(samples.len(), audio.samp_freq);
        // What is known by its key cannot be cut.
        let parts = match self.by_key() {
            true => std::iter::once(0..samples.len()).collect(),
            false => cut_at_pauses(&samples, audio.samp_freq, options),
        };
        let mut whole = Parts::new(self.n_best);
        for part in parts {
            let own =
                Audio::new(&samples[part.clone()], audio.samp_freq).with_key(audio.key).with_vtln_warp(audio.vtln_warp);
            // The frames of an archive are not those of these samples.
            let end = if self.by_key() { f64::INFINITY } else { seconds_of(part.end, audio.samp_freq) };
            whole.push(seconds_of(part.start, audio.samp_freq)..end, self.transcribe(&own)?);
        }
        Ok(Transcript { recognition: whole.finish(audio.key), seconds })
    }

    /// The words of recordings, on several threads: calls `take` with each recording that has some,
    /// in the order of `inputs`, and `progress` after each. A recording that fails is in the summary
    /// instead.
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
        run(inputs, options, |audio| self.transcribe_long(audio, &options.pauses), take, progress)
    }

    /// Where the words of transcripts are, as [`transcribe_all`](Self::transcribe_all) gives words:
    /// `text` returns the transcript of a key. A recording without one fails.
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
            let mut hypothesis = Hypothesis::default();
            hypothesis.words = self.align(audio, transcript)?;
            let seconds = seconds_of(audio.samples.len(), audio.samp_freq);
            if !self.by_key() {
                end_at(&mut hypothesis.words, seconds);
            }
            Ok(Transcript { recognition: Recognition::new(audio.key, 0, vec![hypothesis]), seconds })
        };
        run(inputs, options, align, take, progress)
    }
}

/// Reads recordings and does `work` with them, on several threads, in order.
fn run(
    inputs: &Inputs,
    options: &AllOptions<'_>,
    work: impl Fn(&Audio<'_>) -> Result<Transcript, Error> + Sync,
    mut take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
    mut progress: impl FnMut(&Summary) + Send,
) -> Result<Summary, Error> {
    let jobs = match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let check_stop = || match options.stop {
        Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
        _ => Ok(()),
    };
    let is_new = |utterance: &&Utterance| options.earlier.is_none_or(|earlier| !earlier.contains(&utterance.key));
    let utterances: Vec<&Utterance> = inputs.utterances().iter().filter(is_new).collect();
    let earlier = (inputs.len() - utterances.len()) as u64;
    let rejected = inputs.rejected().to_vec();
    let mut summary = Summary { earlier, rejected, ..Summary::default() };
    let of_one = |reader: &mut Reader, index: usize, done: &mut Done| {
        done.0 = Some(check_stop().and_then(|()| with_audio(utterances[index], options, reader, &work)));
    };
    let commit = |index: usize, done: &mut Done| {
        check_stop()?;
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

/// Does `work` with the samples of an utterance.
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
    let range = recording.samples_of(utterance.span)?;
    let channel = recording.channel_of(utterance, options.channel, range)?;
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

#[expect(clippy::cast_precision_loss, reason = "recordings have fewer than 2^53 samples")]
fn seconds_of(samples: usize, samp_freq: f32) -> f64 {
    samples as f64 / f64::from(samp_freq)
}
