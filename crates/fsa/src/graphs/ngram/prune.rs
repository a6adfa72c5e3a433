//! Pruning of n-grams that change little.

use std::convert::Infallible;

use super::NgramModel;
use super::layout::ROOT;
use super::lists::{Level, NgramLists};
use super::normalize::exp10;
use super::tree::Tree;
use crate::core::limits::Limits;
use crate::error::{Error, Quantity};

impl NgramModel {
    /// Removes n-grams whose absence raises the perplexity of the model, measured on its own
    /// distribution, by less than a share of `threshold` (Stolcke 1998, *Entropy-based pruning of
    /// backoff language models*), as SRILM's `ngram -prune`. The longest n-grams come first;
    /// n-grams of which longer ones are left stay. Then the weights for backing off are computed
    /// again, as [`normalize`](Self::normalize) does for histories. Labels are the model's own.
    /// O(n-grams).
    ///
    /// # Errors
    /// [`Error::Probability`] for a threshold that is not above 0 and below 1,
    /// [`Error::NgramLimit`] and [`Error::TooLarge`].
    #[doc(alias = "relative entropy pruning")]
    pub fn prune(&self, threshold: f64, limits: Limits) -> Result<Self, Error> {
        if !(threshold > 0.0 && threshold < 1.0) {
            return Err(Error::Probability { what: Quantity::PruneThreshold, found: threshold });
        }
        // Its nodes have the numbers of this model's, which has the n-grams that others need.
        let (is_kept, words, special) = {
            let tree = self.to_lists(limits)?.into_tree(limits)?;
            (tree.prune(threshold), tree.words, tree.special)
        };
        let (view, mut levels) = (self.view(), Vec::new());
        for order in 1..=self.order() {
            let mut level = Level::new(order);
            let Ok(()) = self.for_each_ngram(order, |node, words| {
                if is_kept[node as usize] {
                    level.push(words, view.entry(node).0, view.inner(node).0);
                }
                Ok::<_, Infallible>(())
            });
            // An order without n-grams does not count.
            if level.len() == 0 && order > 1 {
                break;
            }
            levels.push(level);
        }
        let lists = NgramLists { words, special, levels };
        let mut tree = lists.into_tree(limits)?;
        tree.compute_backoffs();
        Self::from_tree(tree, limits)
    }
}

impl Tree {
    /// Returns for each node whether its n-gram is kept.
    fn prune(&self, threshold: f64) -> Vec<bool> {
        let mut is_kept = vec![true; self.scores.len()];
        let log10_of = |node: usize| f64::from(self.scores[node]);
        let contexts = self.context_scores();
        for context in (1..self.num_inner()).rev() {
            let children = self.children(context);
            let suffix = self.suffixes[context];
            let lower: Vec<_> = children.clone().map(|child| self.score(suffix, self.last_words[child])).collect();
            let left = 1.0 - children.clone().map(|child| exp10(log10_of(child))).sum::<f64>();
            let lower_left = 1.0 - lower.iter().copied().map(exp10).sum::<f64>();
            for (child, backed_off) in children.zip(lower) {
                let has_longer = child < self.num_inner() && self.children(child).any(|longer| is_kept[longer]);
                if has_longer {
                    continue;
                }
                let score = log10_of(child);
                let new_backoff = ((left + exp10(score)) / (lower_left + exp10(backed_off))).log10();
                let change = exp10(score) * (backed_off + new_backoff - score)
                    + left * (new_backoff - f64::from(self.backoffs[context]));
                let entropy = -exp10(contexts[context]) * change;
                // If this is not a number, the n-gram is kept.
                let growth = exp10(entropy) - 1.0;
                is_kept[child] = growth.is_nan() || growth >= threshold;
            }
        }
        is_kept
    }

    /// Returns the base 10 logarithm of the probability of the words of each history. The beginning
    /// of sentences has the probability of the end.
    fn context_scores(&self) -> Vec<f64> {
        let mut scores = vec![0.0; self.num_inner()];
        for node in self.children(ROOT as usize).filter(|&node| node < self.num_inner()) {
            let word = self.last_words[node];
            let as_event = if self.is_event(word) { word } else { self.special.end };
            scores[node] = self.scores.get((as_event as usize).wrapping_add(1)).map_or(0.0, |&score| score.into());
        }
        for context in 1..self.num_inner() {
            for child in self.children(context).filter(|&child| child < self.num_inner()) {
                scores[child] = scores[context] + f64::from(self.scores[child]);
            }
        }
        scores
    }
}
