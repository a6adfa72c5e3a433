//! The models of a server, by name.

use std::fmt;
use std::sync::Arc;

use kaldera::recognizer::Recognizer;

use crate::error::Error;

/// A model with the name that clients give.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) name: Arc<str>,
    pub(crate) recognizer: Arc<Recognizer>,
}

impl Model {
    /// Returns the model with the phrases of a prompt, which commas or lines divide, as hot words.
    /// Phrases that cannot be spelled are left out with a warning.
    pub(crate) fn with_prompt(&self, prompt: &str) -> Self {
        let phrases = prompt.split([',', '\n']).map(str::trim).filter(|phrase| !phrase.is_empty());
        let (spelled, others): (Vec<&str>, Vec<&str>) =
            phrases.partition(|phrase| self.recognizer.check_hot_word(phrase).is_ok());
        if !others.is_empty() {
            let count = others.len();
            tracing::warn!(model = &*self.name, "{count} hot words of a prompt cannot be spelled, and are left out");
        }
        let recognizer = match self.recognizer.with_hot_words(spelled.iter().copied()) {
            Ok(recognizer) if !spelled.is_empty() => Arc::new(recognizer),
            _ => Arc::clone(&self.recognizer),
        };
        Self { name: Arc::clone(&self.name), recognizer }
    }
}

impl Model {
    /// Returns the model with a grammar of phrases in place of its own. Words that it lacks are
    /// left out with a warning, and so are all phrases if its grammar is fixed, as in Vosk.
    pub(crate) fn with_phrases(&self, phrases: Vec<String>) -> Result<Self, kaldera::Error> {
        let Some((recognizer, unknown)) = self.recognizer.with_phrases(phrases)? else {
            tracing::warn!(model = &*self.name, "phrase_list is not used: the grammar of the model is fixed");
            return Ok(self.clone());
        };
        if !unknown.is_empty() {
            let count = unknown.len();
            tracing::warn!(model = &*self.name, "{count} words of phrase_list are not in the model, and are left out");
        }
        Ok(Self { name: Arc::clone(&self.name), recognizer: Arc::new(recognizer) })
    }
}

/// The models of a server; the first one is the default.
///
/// ```no_run
/// use kaldera::Recognizer;
/// use kaldera_server::Models;
///
/// let models = Models::new([("digits", Recognizer::open("model")?)])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Models {
    models: Vec<Model>,
}

impl Models {
    /// Creates a set of models with their names.
    ///
    /// # Errors
    /// [`Error::NoModel`] and [`Error::RepeatedModel`].
    pub fn new<N: Into<String>>(models: impl IntoIterator<Item = (N, Recognizer)>) -> Result<Self, Error> {
        let mut all: Vec<Model> = vec![];
        for (name, recognizer) in models {
            let name: String = name.into();
            if all.iter().any(|model| *model.name == *name) {
                return Err(Error::RepeatedModel { name });
            }
            all.push(Model { name: name.into(), recognizer: Arc::new(recognizer) });
        }
        if all.is_empty() {
            return Err(Error::NoModel);
        }
        Ok(Self { models: all })
    }

    /// Returns the model of this name, or the first one for an empty name.
    pub(crate) fn named(&self, name: &str) -> Option<&Model> {
        if name.is_empty() { Some(self.first()) } else { self.models.iter().find(|model| *model.name == *name) }
    }

    pub(crate) fn first(&self) -> &Model {
        &self.models[0]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Model> {
        self.models.iter()
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.models.iter().map(|model| &model.name)).finish()
    }
}
