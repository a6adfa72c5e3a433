//! Models with fewer words.

use super::NgramModel;
use super::layout::check_limit;
use super::lists::{Level, NgramLists};
use super::tree::bytes_of_words;
use crate::core::limits::Limits;
use crate::error::Error;
use crate::support::ids::{NONE, number};
use std::sync::Arc as Shared;

impl NgramModel {
    /// Keeps the n-grams all of whose words are wanted; `<s>`, `</s>` and the unknown word always
    /// are. The n-grams that are left out, and the words that cause it, are in
    /// [`left_out`](Self::left_out). Weights for backing off stay as they are, so that histories
    /// sum to less than 1; see [`normalize`](Self::normalize). Labels are the model's own.
    /// O(n-grams).
    ///
    /// # Errors
    /// [`Error::NgramLimit`] and [`Error::TooLarge`].
    #[doc(alias = "limit-vocab")]
    pub fn restrict(self, mut wanted: impl FnMut(&str) -> bool, limits: Limits) -> Result<Self, Error> {
        let unknown = self.layout.special.unknown;
        let mut is_wanted = |word: u32| word == unknown || self.is_end(word) || wanted(self.word(word));
        let (mut renumbered, mut words) = (Vec::new(), Vec::new());
        for word in 0..self.layout.num_words() {
            let is_wanted = is_wanted(word);
            renumbered.push(if is_wanted { number(words.len()) } else { NONE });
            words.extend(is_wanted.then(|| Shared::from(self.word(word))));
        }
        if words.len() == renumbered.len() {
            return Ok(self);
        }
        let (view, mut left_out) = (self.view(), self.left_out.clone());
        let (mut levels, mut taken) = (Vec::new(), bytes_of_words(&words));
        for order in 1..=self.order() {
            let mut level = Level::new(order);
            let mut kept = Vec::new();
            self.for_each_ngram(order, |node, words| {
                kept.clear();
                kept.extend(words.iter().map(|&word| renumbered[word as usize]));
                if kept.contains(&NONE) {
                    // Every word is an n-gram of order 1.
                    left_out.add((order == 1).then(|| self.word(words[0])));
                } else {
                    level.push(&kept, view.entry(node).0, view.inner(node).0);
                }
                check_limit(limits, taken + level.bytes() + left_out.bytes(), level.len())
            })?;
            taken += level.bytes();
            levels.push(level);
        }
        let special = self.layout.special.map(|word| renumbered[word as usize]);
        let model = Self::from_lists(NgramLists { words, special, levels }, limits)?;
        Ok(Self { left_out, missing: self.missing, ..model })
    }
}
