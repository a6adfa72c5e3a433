//! Scores of words in contexts that were seen before.

use std::ops::RangeInclusive;

use ragged_core::Ragged;

use crate::error::{Error, Quantity};
use crate::paths::suffixes::{Set, sets, suffix_array};
use crate::support::ids::narrow;

/// Statistics of [`get_best_matching_stats`] for each token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchingStats {
    /// Sum of the scores of the tokens with the longest context in common, divided by the sum of
    /// their counts; 0 if that is 0.
    pub mean: Vec<f32>,
    /// Mean of their squared scores less the square of the mean; 0 if the sum of their counts is
    /// below 2.
    pub var: Vec<f32>,
    /// Sum of their counts. For a query it is 0, as in k2, exactly if no token with a count is
    /// equal to it; then mean and variance are taken over all tokens.
    pub counts: Vec<i64>,
    /// Number of tokens in common, up to and including this one, but at most the highest order
    /// requested. A match back to the beginning of the token's own sentence counts as the highest
    /// order.
    pub ngram_order: Vec<i32>,
}

/// Options of [`get_best_matching_stats`]: the token that ends sentences, the range of tokens and
/// the highest order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct MatchingOptions {
    /// The token at the end of each sentence.
    pub eos: i32,
    /// Smallest valid token.
    pub min_token: i32,
    /// Largest valid token.
    pub max_token: i32,
    /// Highest n-gram order reported; 1 or more.
    pub max_order: i32,
}

impl MatchingOptions {
    /// Creates options: the token at the end of each sentence, the valid tokens, and the highest
    /// n-gram order.
    pub fn new(eos: i32, tokens: RangeInclusive<i32>, max_order: i32) -> Self {
        let (min_token, max_token) = tokens.into_inner();
        Self { eos, min_token, max_token, max_order }
    }
}

/// Finds for each token the tokens that have most in common with it, counted backwards from the
/// token itself, and returns statistics of their scores.
///
/// `tokens` is `[sentence][token]`, each sentence with `eos` at its end; `scores` and `counts` have
/// an entry for each token. Keys are tokens with a count, mostly 1; queries have 0, and should have
/// score 0, since the scores of all matching tokens are summed up. The result is meant for queries.
///
/// As in k2, matching goes on beyond the beginning of a sentence into the one before, as if `eos`
/// stood before the first. If no token with most in common has a count, the next larger set of
/// tokens is taken. O(n log n) for n tokens: the sets are the intervals of a suffix array of the
/// tokens in reverse.
///
/// ```
/// use fsa::paths::{MatchingOptions, get_best_matching_stats};
/// use ragged_core::Ragged;
///
/// let tokens = Ragged::from_lists(&[vec![5, 6, 9], vec![4, 6, 9], vec![5, 6, 9]])?;
/// let options = MatchingOptions::new(9, 1..=9, 2);
/// let (scores, counts) =
///     ([0.0, 0.5, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1, 1, 1, 0, 0, 0]);
/// let stats = get_best_matching_stats(&tokens, &scores, &counts, options)?;
/// // The 6 in the third sentence follows a 5, as in the first.
/// assert_eq!((stats.mean[7], stats.counts[7], stats.ngram_order[7]), (0.5, 1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Axes`] unless `tokens` has two axes; [`Error::Size`] if there is not one score and one
/// count for each token; [`Error::OutOfRange`] for tokens, or `eos`, outside of their range, for
/// counts below 0 and orders below 1; [`Error::Score`] for scores that are not finite.
#[doc(alias = "GetBestMatchingStats")]
pub fn get_best_matching_stats(
    tokens: &Ragged<i32>,
    scores: &[f32],
    counts: &[i32],
    options: MatchingOptions,
) -> Result<MatchingStats, Error> {
    check(tokens, scores, counts, options)?;
    let size = tokens.num_elements();
    // In reverse; the last element is no token's.
    let text: Vec<_> = tokens.values().iter().rev().copied().chain([options.eos]).collect();
    let order = suffix_array(&text);
    let (mut sets, smallest) = sets(&text, &order);

    // Sums over all before each suffix in order.
    let mut sums = Vec::with_capacity(order.len() + 1);
    let mut sum = Sums::default();
    sums.push(sum);
    for place in order {
        if let Some(token) = size.checked_sub(place as usize + 1) {
            sum.add(counts[token], f64::from(scores[token]));
        }
        sums.push(sum);
    }
    let count = |set: &Set| sums[set.places.end].count - sums[set.places.start].count;

    let mut stats = MatchingStats::default();
    for sentence in tokens.shape().last_splits().rows() {
        for (token, length) in sentence.zip(1_usize..) {
            let mut at = smallest[size - 1 - token];
            while count(&sets[at]) == 0 && at > 0 {
                // Skip sets without counts in later searches.
                let parent = sets[at].parent;
                if count(&sets[parent]) == 0 {
                    sets[at].parent = sets[parent].parent;
                }
                at = parent;
            }
            let set = &sets[at];
            let (before, after) = (&sums[set.places.start], &sums[set.places.end]);
            let count = after.count - before.count;
            let per_count = |total: f64| if count == 0 { 0.0 } else { total / real(count) };
            let mean = per_count(after.scores - before.scores);
            let var = if count > 1 { per_count(after.squares - before.squares) - mean * mean } else { 0.0 };
            let common = i32::try_from(set.common).unwrap_or(i32::MAX);
            stats.mean.push(narrow(mean));
            stats.var.push(narrow(var));
            stats.counts.push(if common == 0 { 0 } else { count });
            stats.ngram_order.push(if set.common >= length {
                options.max_order
            } else {
                common.min(options.max_order)
            });
        }
    }
    Ok(stats)
}

/// Sums over a set of tokens.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    scores: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, count: i32, score: f64) {
        self.count += i64::from(count);
        self.scores += score;
        self.squares += score * score;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn real(count: i64) -> f64 {
    count as f64
}

fn check(tokens: &Ragged<i32>, scores: &[f32], counts: &[i32], options: MatchingOptions) -> Result<(), Error> {
    if tokens.num_axes() != 2 {
        return Err(Error::Axes { what: Quantity::Sentences, expected: 2, found: tokens.num_axes() });
    }
    Error::same_size(Quantity::Scores, tokens.num_elements(), scores.len())?;
    Error::same_size(Quantity::Counts, tokens.num_elements(), counts.len())?;
    let MatchingOptions { eos, min_token, max_token, max_order } = options;
    let within = |what, range: RangeInclusive<i32>, values: &[i32]| {
        let out = values.iter().find(|value| !range.contains(value));
        let (min, max) = (i64::from(*range.start()), i64::from(*range.end()));
        out.map_or(Ok(()), |&found| Err(Error::OutOfRange { what, min, max, found: found.into() }))
    };
    within(Quantity::Eos, min_token..=max_token, &[eos])?;
    within(Quantity::Token, min_token..=max_token, tokens.values())?;
    within(Quantity::Count, 0..=i32::MAX, counts)?;
    within(Quantity::Order, 1..=i32::MAX, &[max_order])?;
    match scores.iter().position(|score| !score.is_finite()) {
        Some(arc) => Err(Error::Score { arc, score: scores[arc] }),
        None => Ok(()),
    }
}
