//! Normalization of histories, whose probabilities then sum to 1.

use super::NgramModel;
use super::layout::ROOT;
use super::tree::Tree;
use crate::core::limits::Limits;
use crate::error::Error;
use crate::support::ids::{NONE, narrow};

/// A rest of 1, or of the lower order, below this counts as 0: it is the rounding of sums of
/// probabilities whose logarithms are of single precision. SRILM has the same.
const NOTHING: f64 = 3e-6;

impl NgramModel {
    /// Returns the same n-grams with weights for backing off such that the probabilities of all
    /// words sum to 1 after every history, as SRILM's `ngram -renorm` computes them:
    ///
    /// ```text
    /// weight(h) = (1 - sum of p(w | h)) / (1 - sum of p(w | h without its first word))
    /// w: the words seen after h
    /// ```
    ///
    /// Words without history come first: if their probabilities sum to less than 1, the rest goes
    /// to the unknown word; without one, or if they sum to more than 1, they are divided by their
    /// sum. If the words seen after a history sum to 1 or more, all its probabilities are divided
    /// by their sum. Labels are the model's own. O(n-grams).
    ///
    /// # Errors
    /// [`Error::NgramLimit`] and [`Error::TooLarge`].
    #[doc(alias = "renorm")]
    pub fn normalize(&self, limits: Limits) -> Result<Self, Error> {
        let mut tree = self.to_lists(limits)?.into_tree(limits)?;
        tree.normalize_unigrams();
        tree.compute_backoffs();
        Self::from_tree(tree, limits)
    }
}

pub(super) fn exp10(log10: f64) -> f64 {
    (log10 * std::f64::consts::LN_10).exp()
}

impl Tree {
    fn normalize_unigrams(&mut self) {
        let events = self.children(ROOT as usize).filter(|&node| self.is_event(self.last_words[node]));
        let events: Vec<_> = events.collect();
        let sum: f64 = events.iter().map(|&node| exp10(self.scores[node].into())).sum();
        if sum < 1.0 && self.special.unknown != NONE {
            let unknown = self.special.unknown as usize + 1;
            self.scores[unknown] = narrow((exp10(self.scores[unknown].into()) + 1.0 - sum).log10());
        } else if sum > 0.0 {
            let log10 = sum.log10();
            for node in events {
                self.scores[node] = narrow(f64::from(self.scores[node]) - log10);
            }
        }
    }

    /// Sets the weights for backing off such that each history sums to 1, assuming that words
    /// without history do.
    pub(super) fn compute_backoffs(&mut self) {
        // The sum of each history, with rounded numbers.
        let mut totals = vec![1.0; self.num_inner()];
        let is_event = |&node: &usize| self.is_event(self.last_words[node]);
        let unigrams = self.children(ROOT as usize).filter(is_event);
        totals[ROOT as usize] = unigrams.map(|node| exp10(self.scores[node].into())).sum();
        // Shorter histories come first: longer ones back off to them.
        for context in 1..self.num_inner() {
            let (children, suffix) = (self.children(context), self.suffixes[context]);
            let lower_total = totals[suffix as usize];
            if children.is_empty() {
                (self.backoffs[context], totals[context]) = (0.0, lower_total);
                continue;
            }
            let (mut seen, mut lower) = (0.0, 0.0);
            for child in children.clone() {
                seen += exp10(self.scores[child].into());
                lower += exp10(self.score(suffix, self.last_words[child]));
            }
            let (left, lower_left) = (1.0 - seen, lower_total - lower);
            if left > NOTHING && lower_left > NOTHING {
                self.backoffs[context] = narrow((left / lower_left).log10());
            } else {
                // No probability is left for backing off, or no word that it could go to.
                let shared = if lower_left > NOTHING { exp10(self.backoffs[context].into()) * lower_left } else { 0.0 };
                let log10 = (seen + shared).log10();
                let scaled = |weight: f32| if log10.is_finite() { narrow(f64::from(weight) - log10) } else { weight };
                children.clone().for_each(|child| self.scores[child] = scaled(self.scores[child]));
                self.backoffs[context] = if lower_left > NOTHING { scaled(self.backoffs[context]) } else { 0.0 };
                seen = children.map(|child| exp10(self.scores[child].into())).sum();
            }
            totals[context] = seen + exp10(self.backoffs[context].into()) * lower_left;
        }
    }
}
