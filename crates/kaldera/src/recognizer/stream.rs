//! Recognition while samples arrive.

use std::fmt;
use std::sync::Arc;

use kaldera_decoder::Recognition;
use kaldera_decoder::graph::EndpointRules;
use kaldi_feat::Samples;

use crate::Error;
use crate::recognizer::online::OnlineStream;
use crate::recognizer::stages::StagesStream;
use crate::recognizer::{Engine, Recognizer};

/// An utterance whose samples come in chunks.
///
/// [`finish`](Self::finish) returns the result of [`Recognizer::transcribe`] for the whole. A
/// network with a state runs once over each chunk. Other networks need the whole utterance, such as
/// networks with layers in both directions or ONNX files without states. They run over all samples
/// so far whenever a result is requested; the same holds for features that are normalised over the
/// utterance.
///
/// For endless speech use [`LiveRecognizer`](super::LiveRecognizer), which divides it into
/// utterances.
///
/// The stream keeps the recognizer alive, so that it can be moved to other threads and kept in
/// maps.
pub struct RecognizerStream {
    utterance: String,
    running: Running,
}

enum Running {
    Stages(Box<StagesStream>),
    Online(Box<OnlineStream>),
}

impl RecognizerStream {
    pub(super) fn new(recognizer: &Recognizer, utterance: &str, samp_freq: f32) -> Result<Self, Error> {
        let running = match &recognizer.engine {
            Engine::Stages(stages) => {
                Running::Stages(Box::new(StagesStream::new(Arc::clone(stages), utterance, samp_freq)?))
            }
            Engine::Online(online) => Running::Online(Box::new(online.stream(samp_freq)?)),
        };
        Ok(Self { utterance: utterance.to_owned(), running })
    }

    /// Returns `true` if the network keeps a state, and takes each chunk once.
    pub fn keeps_state(&self) -> bool {
        match &self.running {
            Running::Stages(stream) => stream.keeps_state(),
            Running::Online(_) => true,
        }
    }

    /// Takes more samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// [`kaldera_audio::Error::NotFiniteSample`]; errors of the features, the network and the
    /// decoder.
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<(), Error> {
        let mut rest = match samples.into() {
            Samples::F32(samples) => samples,
            samples => &samples.to_f32(),
        };
        match &mut self.running {
            Running::Stages(stream) => stream.accept(rest),
            Running::Online(stream) => {
                stream.check(rest)?;
                while stream.step(&mut rest)?.is_some() {}
                Ok(())
            }
        }
    }

    /// Returns the words so far.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn partial(&mut self) -> Result<Recognition, Error> {
        match &mut self.running {
            Running::Stages(stream) => stream.partial(),
            Running::Online(stream) => Ok(stream.so_far(&self.utterance)?.1),
        }
    }

    /// Returns the first of these rules by which the utterance has ended; `so_far` is its last
    /// [result](Self::partial).
    ///
    /// # Errors
    /// [`Error::Recognition`] for an invalid rule; errors of the decoder.
    #[doc(alias = "EndpointDetected")]
    pub fn endpoint(&mut self, so_far: &Recognition, rules: &EndpointRules) -> Result<Option<usize>, Error> {
        match &mut self.running {
            Running::Stages(stream) => stream.endpoint(so_far, rules),
            Running::Online(stream) => stream.endpoint(rules),
        }
    }

    /// Returns the words of the utterance, which ends here.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn finish(self) -> Result<Recognition, Error> {
        match self.running {
            Running::Stages(stream) => stream.finish(),
            Running::Online(stream) => stream.finish_utterance(&self.utterance),
        }
    }
}

impl fmt::Debug for RecognizerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecognizerStream").field("utterance", &self.utterance).finish_non_exhaustive()
    }
}
