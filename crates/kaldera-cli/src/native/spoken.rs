//! A recording with its words and the posteriors of a model.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

use kaldera::decoder::Hypothesis;
use kaldera::matrix::Matrix;
use kaldera::pipeline::{ChannelChoice, Inputs, ReadOptions};
use kaldera::recognizer::PauseOptions;
use kaldera::{Error, Recording};

use super::CliError;
use super::decoding::{Decoding, Opened};
use super::words::{self, Word};
use crate::log;

/// Options for reading a recording, with the choice of a channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Taking {
    pub(super) reading: ReadOptions,
    pub(super) channel: ChannelChoice,
    /// `true` if the description of a model may name files outside its folder.
    pub(super) allow_outside: bool,
}

impl Taking {
    /// Returns the channel that is used.
    fn channel_of(&self, recording: &Recording, name: &dyn Display) -> Result<Recording, Error> {
        if self.channel == ChannelChoice::First && recording.num_channels() > 1 {
            tracing::warn!("{name}: using the first of {} channels", recording.num_channels());
        }
        let channel = self.channel.index(recording.num_channels())?;
        Ok(channel.map_or_else(|| Ok(recording.mean()), |channel| recording.channel(channel))?)
    }
}

/// A recording and its words.
pub(super) struct Spoken {
    pub(super) key: String,
    pub(super) recording: Recording,
    pub(super) words: Vec<Word>,
    pub(super) posteriors: Option<Posteriors>,
    /// Further files that were read, and may not be overwritten.
    pub(super) files: Vec<OsString>,
}

/// Posteriors of a model for the frames of a recording.
pub(super) struct Posteriors {
    /// A row for each output frame of the network, a column for each token.
    pub(super) probabilities: Matrix<f32>,
    /// Frame shift in seconds.
    pub(super) frame_shift: f64,
    pub(super) tokens: Vec<String>,
}

impl Spoken {
    /// Opens a recording, with the words in the file `words`, or else the words that `model` finds.
    pub(super) fn open(path: &Path, words: &str, model: &str, taking: &Taking) -> Result<Self, CliError> {
        let failed = |error: &Error| CliError::Failed(format!("{}: {}", path.display(), log::one_line(error)));
        let inputs = Inputs::from_paths([path]).map_err(|error| CliError::failed(&error))?;
        let [utterance] = inputs.utterances() else {
            return Err(CliError::Usage(format!("{} is more than one recording", path.display())));
        };
        let key = utterance.key.clone();
        let recording = Recording::open_with(path, &taking.reading).map_err(|error| CliError::failed(&error))?;
        let recording = taking.channel_of(&recording, &path.display()).map_err(|error| failed(&error))?;
        let mut spoken = Self { key, recording, words: vec![], posteriors: None, files: vec![] };
        if !words.is_empty() {
            spoken.words = words::read(words, &spoken.key)?;
        }
        if !model.is_empty() {
            let opened = Decoding::with_model_defaults(taking.allow_outside).open(Path::new(model))?;
            spoken.ask(&opened, words.is_empty()).map_err(|error| failed(&error))?;
            spoken.files = opened.files().into_iter().map(OsString::from).collect();
        }
        let seconds = f64::from(spoken.recording.duration());
        if let Some((count, first)) = words::clip(&mut spoken.words, seconds) {
            let Word { text, start, .. } = first;
            tracing::warn!(
                "words beyond the end ({seconds} s) are not drawn: {count}, the first is '{text}' at {start} s"
            );
        }
        Ok(spoken)
    }

    /// Adds the posteriors of a model, and its words if `wants_words`.
    fn ask(&mut self, model: &Opened, wants_words: bool) -> Result<(), Error> {
        let audio = self.recording.audio()?;
        let audio = audio.with_key(&self.key);
        let archived = match model {
            Opened::Archives(_, archives) => {
                archives.log_probs(&self.key).ok_or_else(|| Error::NoLogProbs { utterance: self.key.clone() })?
            }
            Opened::Recognizer(_) => &[],
        };
        let log_probs = match model {
            // A transducer has no posteriors of a frame by itself, a Vosk folder no tokens.
            Opened::Recognizer(recognizer) if recognizer.is_transducer() || model.is_online() => vec![],
            Opened::Recognizer(recognizer) => recognizer.log_probs(std::slice::from_ref(&audio))?.values().to_vec(),
            Opened::Archives(decoder, _) => decoder.of_tokens(&self.key, archived)?.into_owned(),
        };
        if let Some(decoder) = model.decoder().filter(|_| !log_probs.is_empty()) {
            let (tokens, times) = (decoder.vocabulary(), decoder.times());
            let probabilities = log_probs.iter().map(|value| value.exp()).collect();
            let probabilities = Matrix::from_vec(log_probs.len() / tokens.len(), tokens.len(), probabilities)?;
            self.posteriors = Some(Posteriors {
                probabilities,
                frame_shift: times.seconds(1) - times.seconds(0),
                tokens: (0..).take(tokens.len()).map(|token| printable(tokens.text(token))).collect(),
            });
        }
        if wants_words {
            let nothing = Hypothesis::default();
            let found = match model {
                Opened::Recognizer(recognizer) => {
                    recognizer.transcribe_long(&audio, &PauseOptions::default())?.recognition
                }
                Opened::Archives(decoder, _) => decoder.decode(&self.key, archived)?,
            };
            let best = found.best().unwrap_or(&nothing);
            self.words = best.words.iter().map(|word| Word::new(&word.text, word.start, word.end)).collect();
        }
        Ok(())
    }
}

/// Returns a visible form of a token.
fn printable(token: &str) -> String {
    if token.trim().is_empty() { "space".to_owned() } else { token.replace(char::is_control, "\u{fffd}") }
}
