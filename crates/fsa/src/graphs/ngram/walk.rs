//! The n-grams of a model, in their order.

use std::sync::Arc as Shared;

use crate::core::limits::Limits;
use crate::error::Error;
use crate::graphs::ngram::NgramModel;
use crate::graphs::ngram::layout::check_limit;
use crate::graphs::ngram::lists::{Level, NgramLists, bytes_of_ngrams};
use crate::graphs::ngram::tree::bytes_of_word;
use crate::support::ids::NONE;

impl NgramModel {
    /// Calls `each` with the n-grams of an order, their nodes and their words, in their order.
    /// Stops at an error, and returns it. O(n-grams).
    pub(super) fn for_each_ngram<E>(
        &self,
        order: usize,
        mut each: impl FnMut(u32, &[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let view = self.view();
        let mut path: Vec<u32> = (1..order).map(|shorter| self.layout.nodes(shorter).start).collect();
        let mut words = vec![NONE; order];
        for node in self.layout.nodes(order) {
            let mut child = node;
            for at in (0..path.len()).rev() {
                let before = path[at];
                while view.inner(path[at]).1.end <= child {
                    path[at] += 1;
                }
                words[at] = view.last_word(path[at]);
                child = path[at];
                if child == before && words[0] != NONE {
                    break;
                }
            }
            words[order - 1] = view.last_word(node);
            each(node, &words)?;
        }
        Ok(())
    }

    /// Returns the bytes of the result of [`to_lists`](Self::to_lists), with memory for sorting it.
    pub(super) fn bytes_of_lists(&self) -> usize {
        let levels = (1..=self.order()).map(|order| bytes_of_ngrams(order, self.num_ngrams_of(order)));
        let words = (0..self.layout.num_words()).map(|word| bytes_of_word(self.word(word)));
        levels.chain(words).fold(0, usize::saturating_add)
    }

    /// Returns all n-grams.
    ///
    /// # Errors
    /// [`Error::NgramLimit`].
    pub(super) fn to_lists(&self, limits: Limits) -> Result<NgramLists, Error> {
        check_limit(limits, self.bytes_of_lists(), self.num_ngrams())?;
        let view = self.view();
        let words = (0..self.layout.num_words()).map(|word| Shared::from(self.word(word))).collect();
        let levels = (1..=self.order()).map(|order| {
            let mut level = Level::new(order);
            let Ok(()) = self.for_each_ngram(order, |node, words| {
                level.push(words, view.entry(node).0, view.inner(node).0);
                Ok::<_, std::convert::Infallible>(())
            });
            level
        });
        Ok(NgramLists { words, special: self.layout.special, levels: levels.collect() })
    }
}
