//! Endless speech, in utterances.

mod online;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kaldera_decoder::Recognition;
use kaldera_decoder::graph::EndpointRules;
use kaldi_feat::Samples;

use crate::Error;
use crate::recognizer::live::online::OnlineLive;
use crate::recognizer::samples::seconds_of;
use crate::recognizer::stages::StagesLive;
use crate::recognizer::utterances::LiveUpdate;
use crate::recognizer::{Engine, Recognizer};

/// Recognizer of endless speech, such as from a microphone, in utterances.
///
/// An utterance ends by [endpoint rules](Self::with_rules), which are checked each tenth of a
/// second of audio, regardless of chunk sizes. A rule of less than a second of silence only counts
/// if the audio is quiet, 6 dB below the utterance; rules without silence always count. Each frame
/// of the network's output belongs to one utterance, so that no word is found twice and none is
/// lost. A network with a state keeps it from one utterance to the next. A network that needs whole
/// utterances runs again over an utterance when it has grown by an eighth or by a second, and each
/// tenth of a second while the last half second is quiet. It also gets the second before.
///
/// A Vosk or Kaldi folder has rules of its own, by its phones of silence, for loud and quiet audio.
/// In its results so far, words have no times: they span the utterance.
///
/// Times count from the start of the stream. The recognizer is shared, and lives as long as its
/// streams: they can be moved to other threads and kept in maps.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use kaldera::recognizer::{LiveRecognizer, Recognizer};
///
/// # fn next_chunk_of_the_microphone() -> Option<Vec<i16>> { None }
/// let recognizer = Arc::new(Recognizer::open("model")?);
/// let mut live = LiveRecognizer::new(recognizer, 16_000.0)?;
/// while let Some(chunk) = next_chunk_of_the_microphone() {
///     let update = live.accept(&chunk)?;
///     for utterance in &update.ended {
///         println!("{}", utterance.text());
///     }
///     if let Some(so_far) = update.so_far {
///         println!("({})", so_far.text());
///     }
/// }
/// if let Some(last) = live.finish()? {
///     println!("{}", last.text());
/// }
/// # Ok::<(), kaldera::Error>(())
/// ```
#[doc(alias = "OnlineRecognizer")]
pub struct LiveRecognizer {
    samp_freq: f32,
    num_samples: usize,
    running: Running,
}

enum Running {
    Stages(Box<StagesLive>),
    Online(Box<OnlineLive>),
}

impl LiveRecognizer {
    /// Creates a stream of samples of this rate, in utterances by Kaldi's endpoint rules, or by the
    /// rules of a Vosk or Kaldi folder.
    ///
    /// # Errors
    /// As [`Recognizer::stream`].
    pub fn new(recognizer: Arc<Recognizer>, samp_freq: f32) -> Result<Self, Error> {
        recognizer.tell_resampling(samp_freq);
        let running = match &recognizer.engine {
            Engine::Stages(stages) => Running::Stages(Box::new(StagesLive::new(Arc::clone(stages), samp_freq)?)),
            Engine::Online(online) => Running::Online(Box::new(OnlineLive::new(online, samp_freq)?)),
        };
        Ok(Self { samp_freq, num_samples: 0, running })
    }

    /// Sets the endpoint rules.
    #[must_use]
    pub fn with_rules(self, rules: EndpointRules) -> Self {
        let running = match self.running {
            Running::Stages(live) => Running::Stages(Box::new(live.with_rules(rules))),
            Running::Online(live) => Running::Online(Box::new(live.with_rules(rules))),
        };
        Self { running, ..self }
    }

    /// Returns the number of samples per second.
    pub fn samp_freq(&self) -> f32 {
        self.samp_freq
    }

    /// Returns the seconds of audio so far.
    pub fn seconds(&self) -> f64 {
        seconds_of(self.num_samples, self.samp_freq)
    }

    /// Returns the number of the last samples that no result includes.
    pub fn num_pending(&self) -> usize {
        match &self.running {
            Running::Stages(live) => live.num_pending(),
            Running::Online(live) => live.num_pending(),
        }
    }

    /// Returns the seconds of audio that must come before the network has more of its output. Until
    /// then results stay as they are, so that a server can wait for these samples.
    pub fn seconds_before_output(&self) -> f64 {
        match &self.running {
            Running::Stages(live) => live.seconds_before_output(),
            Running::Online(_) => 0.0,
        }
    }

    /// Returns the maximum number of streams that the network runs over in one pass, in
    /// [`accept_all`](Self::accept_all).
    pub fn max_streams(&self) -> usize {
        match &self.running {
            Running::Stages(live) => live.max_streams(),
            Running::Online(_) => 1,
        }
    }

    /// Takes more samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// As [`RecognizerStream::accept`](super::RecognizerStream::accept); [`Error::Recognition`] for
    /// an invalid endpoint rule.
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<LiveUpdate, Error> {
        Self::accept_all(&mut [(self, samples.into())]).pop().unwrap_or_else(|| Ok(LiveUpdate::default()))
    }

    /// Takes more samples of each stream, as [`accept`](Self::accept). A network may run over up to
    /// [`max_streams`](Self::max_streams) of them in one pass, which takes less time than a run for
    /// each. Its output then differs from the output of `accept` at most by rounding.
    ///
    /// # Errors
    /// For each stream as [`accept`](Self::accept).
    #[doc(alias = "decode_streams")]
    pub fn accept_all(streams: &mut [(&mut Self, Samples<'_>)]) -> Vec<Result<LiveUpdate, Error>> {
        let mut results: Vec<_> = streams.iter().map(|_| Ok(LiveUpdate::default())).collect();
        let samples: Vec<Cow<'_, [f32]>> = streams
            .iter()
            .map(|(_, samples)| match *samples {
                Samples::F32(samples) => samples.into(),
                samples => samples.to_f32().into(),
            })
            .collect();
        let (mut stages, mut of_stages) = (vec![], vec![]);
        for (((live, _), samples), result) in streams.iter_mut().zip(&samples).zip(&mut results) {
            match &mut live.running {
                Running::Stages(live) => {
                    stages.push((&mut **live, &samples[..]));
                    of_stages.push(result);
                }
                Running::Online(live) => *result = live.accept(samples),
            }
        }
        of_stages.into_iter().zip(StagesLive::accept_all(&mut stages)).for_each(|(result, found)| *result = found);
        for (((live, _), samples), result) in streams.iter_mut().zip(&samples).zip(&results) {
            live.num_samples += if result.is_ok() { samples.len() } else { 0 };
        }
        results
    }

    /// Returns the last utterance, if it has a token. It ends with the audio.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn finish(self) -> Result<Option<Recognition>, Error> {
        match self.running {
            Running::Stages(live) => live.finish(),
            Running::Online(live) => live.finish(seconds_of(self.num_samples, self.samp_freq)),
        }
    }
}

impl fmt::Debug for LiveRecognizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveRecognizer")
            .field("samp_freq", &self.samp_freq)
            .field("seconds", &self.seconds())
            .finish_non_exhaustive()
    }
}
