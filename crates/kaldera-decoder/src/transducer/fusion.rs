//! Additions to a transducer's scores.

use std::sync::Arc;

use fsa::graphs::ContextGraph;
use fsa::lattice::LanguageModel;

use crate::ctc::NoModel;

/// Additions to a transducer's scores, token by token. Clones share them.
#[derive(Debug)]
pub struct Fusion<L: LanguageModel = NoModel> {
    pub(super) model: Option<Arc<L>>,
    pub(super) hot: Option<Arc<ContextGraph>>,
}

impl<L: LanguageModel> Clone for Fusion<L> {
    fn clone(&self) -> Self {
        Self { model: self.model.clone(), hot: self.hot.clone() }
    }
}

impl Default for Fusion<NoModel> {
    fn default() -> Self {
        Self::NONE
    }
}

impl Fusion<NoModel> {
    /// No additions.
    pub const NONE: Self = Self { model: None, hot: None };

    /// Adds only hot words.
    pub fn hot_words(graph: impl Into<Arc<ContextGraph>>) -> Self {
        Self::NONE.with_hot_words(graph)
    }
}

impl<L: LanguageModel> Fusion<L> {
    /// Adds a language model over tokens: shallow fusion.
    pub fn language_model(model: impl Into<Arc<L>>) -> Self {
        Self { model: Some(model.into()), hot: None }
    }

    /// Adds hot words, phrases of tokens.
    #[must_use]
    pub fn with_hot_words(mut self, graph: impl Into<Arc<ContextGraph>>) -> Self {
        self.hot = Some(graph.into());
        self
    }
}
