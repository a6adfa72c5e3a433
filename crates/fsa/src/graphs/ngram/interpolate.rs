//! Mixtures of models.

use std::collections::BTreeSet;
use std::sync::Arc as Shared;

use super::NgramModel;
use super::layout::{ROOT, SpecialWords, check_limit};
use super::lists::{Level, NgramLists};
use super::normalize::exp10;
use crate::core::limits::Limits;
use crate::error::{Error, Quantity};
use crate::support::ids::{NONE, narrow, number};

/// Weights whose sum differs from 1 by no more sum to 1.
const WEIGHT_TOLERANCE: f64 = 1e-6;

impl NgramModel {
    /// Returns a mixture of models (linear interpolation). It has the n-grams of all, each with the
    /// sum of the probabilities that the models give it, backing off if necessary, times their
    /// weights; then weights for backing off are computed as [`normalize`](Self::normalize) does
    /// for histories. A word that a model does not have has the probability 0 there. SRILM's
    /// `ngram -mix-lm` makes the same. Labels are the model's own. O(n-grams x models).
    ///
    /// ```
    /// use fsa::graphs::{ArpaOptions, NgramModel};
    ///
    /// let model = |a: &str, end: &str| {
    ///     let arpa =
    ///         format!("\\data\\\nngram 1=3\n\\1-grams:\n-99 <s>\n{a} a\n{end} </s>\n\\end\\\n");
    ///     NgramModel::from_reader(arpa.as_bytes(), &ArpaOptions::default(), &mut |_| {})
    /// };
    /// let (one, other) = (model("0", "-inf")?, model("-1", "-0.045757")?);
    /// let mixed =
    ///     NgramModel::interpolate(&[(&one, 0.25), (&other, 0.75)], fsa::Limits::default())?;
    /// let a = mixed.find("a").unwrap();
    /// assert!((mixed.step(mixed.start(), a).1.exp() - (0.25 + 0.75 * 0.1)).abs() < 1e-6);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InterpolationWeight`] for weights below 0, or that do not sum to 1;
    /// [`Error::NgramLimit`]; [`Error::TooLarge`].
    #[doc(alias = "mix-lm")]
    pub fn interpolate(models: &[(&Self, f64)], limits: Limits) -> Result<Self, Error> {
        let sum: f64 = models.iter().map(|(_, weight)| weight).sum();
        let wrong = models.iter().map(|(_, weight)| *weight).find(|weight| weight.is_nan() || *weight < 0.0);
        if let Some(found) = wrong.or(Some(sum).filter(|sum| sum.is_nan() || (sum - 1.0).abs() > WEIGHT_TOLERANCE)) {
            return Err(Error::InterpolationWeight { found });
        }
        let needed = models.iter().fold(0_usize, |sum, (model, _)| sum.saturating_add(model.bytes_of_lists()));
        check_limit(limits, needed, models.iter().map(|(model, _)| model.num_ngrams()).sum())?;
        let all: BTreeSet<&str> =
            models.iter().flat_map(|(model, _)| (0..model.layout.num_words()).map(|word| model.word(word))).collect();
        let words: Vec<Shared<str>> = all.into_iter().map(Shared::from).collect();
        Error::fit(Quantity::Symbols, words.len())?;
        let mixed: Vec<_> = models.iter().map(|&(model, weight)| Mixed::new(model, weight, &words)).collect();
        let order = models.iter().map(|(model, _)| model.order()).max().unwrap_or(1);
        let mut levels = Vec::new();
        for order in 1..=order {
            let mut level = Level::new(order);
            for Mixed { model, of_mixture, .. } in mixed.iter().filter(|mixed| order <= mixed.model.order()) {
                let mut ngram = vec![0; order];
                let Ok(()) = model.for_each_ngram(order, |_, words| {
                    ngram.iter_mut().zip(words).for_each(|(mixed, &word)| *mixed = of_mixture[word as usize]);
                    level.push(&ngram, 0.0, 0.0);
                    Ok::<_, std::convert::Infallible>(())
                });
            }
            level.sort(words.len());
            levels.push(mix(&level, &mixed));
        }
        let special = |pick: fn(&SpecialWords) -> u32| {
            let word = mixed.iter().map(|mixed| (mixed, pick(&mixed.model.layout.special))).find(|it| it.1 != NONE);
            word.map_or(NONE, |(mixed, word)| mixed.of_mixture[word as usize])
        };
        let special = SpecialWords {
            start: special(|it| it.start),
            end: special(|it| it.end),
            unknown: special(|it| it.unknown),
        };
        let mut tree = NgramLists { words, special, levels }.into_tree(limits)?;
        tree.compute_backoffs();
        Self::from_tree(tree, limits)
    }
}

/// One of several models.
struct Mixed<'a> {
    model: &'a NgramModel,
    weight: f64,
    /// For each of its words, the word of the mixture.
    of_mixture: Vec<u32>,
    /// For each word of the mixture, its own word, or [`NONE`].
    own: Vec<u32>,
}

impl<'a> Mixed<'a> {
    fn new(model: &'a NgramModel, weight: f64, words: &[Shared<str>]) -> Self {
        let own: Vec<_> =
            words.iter().map(|word| model.layout.find_word(model.as_bytes(), word).unwrap_or(NONE)).collect();
        let mut of_mixture = vec![0; model.num_words()];
        for (at, &word) in own.iter().enumerate() {
            if word != NONE {
                of_mixture[word as usize] = number(at);
            }
        }
        Self { model, weight, of_mixture, own }
    }

    /// Returns the node of as many of the words of a history as the model has one for.
    fn node(&self, context: &[u32]) -> u32 {
        let view = self.model.view();
        let step = |node: u32, &word: &u32| match self.own[word as usize] {
            NONE => ROOT,
            word => view.step(node, word).0,
        };
        context.iter().fold(ROOT, step)
    }

    /// Returns its share of the probability of a word.
    fn share(&self, node: u32, word: u32) -> f64 {
        match self.own[word as usize] {
            NONE => 0.0,
            word => self.weight * exp10(self.model.view().step(node, word).1),
        }
    }
}

/// Returns each n-gram once, with its probability in the mixture.
fn mix(sorted: &Level, models: &[Mixed<'_>]) -> Level {
    let order = sorted.ngrams().next().map_or(1, <[u32]>::len);
    let mut level = Level::new(order);
    let (mut context, mut nodes): (Option<&[u32]>, Vec<u32>) = (None, Vec::new());
    let mut before: Option<&[u32]> = None;
    for ngram in sorted.ngrams() {
        if before.replace(ngram) == Some(ngram) {
            continue;
        }
        let (&word, history) = ngram.split_last().unwrap_or((&0, &[]));
        if context != Some(history) {
            nodes = models.iter().map(|model| model.node(history)).collect();
            context = Some(history);
        }
        let probability: f64 = models.iter().zip(&nodes).map(|(model, &node)| model.share(node, word)).sum();
        level.push(ngram, narrow(probability.log10()), 0.0);
    }
    level
}
