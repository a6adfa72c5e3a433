//! Additions to a transducer's scores.

use fsa::graphs::ContextGraph;
use fsa::lattice::LanguageModel;

use crate::ctc::NoModel;

/// Additions to a transducer's scores, token by token.
#[derive(Debug, Clone, Copy)]
pub struct Fusion<'a, L: LanguageModel = NoModel> {
    pub(super) model: Option<&'a L>,
    pub(super) hot: Option<&'a ContextGraph>,
}

impl Default for Fusion<'_, NoModel> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'a> Fusion<'a, NoModel> {
    /// No additions.
    pub const NONE: Self = Self { model: None, hot: None };

    /// Adds only hot words.
    pub fn hot_words(graph: &'a ContextGraph) -> Self {
        Self { model: None, hot: Some(graph) }
    }
}

impl<'a, L: LanguageModel> Fusion<'a, L> {
    /// Adds a language model over tokens: shallow fusion.
    pub fn language_model(model: &'a L) -> Self {
        Self { model: Some(model), hot: None }
    }

    /// Adds hot words, phrases of tokens.
    #[must_use]
    pub fn with_hot_words(mut self, graph: &'a ContextGraph) -> Self {
        self.hot = Some(graph);
        self
    }
}
