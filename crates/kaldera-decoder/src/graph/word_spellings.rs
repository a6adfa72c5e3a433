//! Places of the words of a path among its tokens.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The tokens of words. A path's tokens are divided among its words by them, as in Kaldi's
/// `lattice-align-words-lexicon`.
#[derive(Debug, Clone, Default)]
#[doc(alias = "WordAlignLatticeLexicon")]
pub struct WordSpellings {
    by_word: HashMap<i32, Arc<[Vec<i32>]>>,
    boundary: Option<i32>,
}

impl WordSpellings {
    /// Creates spellings in tokens of the network, by the numbers of words in the graph. They may
    /// be shared with other owners of the lexicon. The boundary is a token that may stand before
    /// and after words.
    pub fn new<S: Into<Arc<[Vec<i32>]>>>(by_word: impl IntoIterator<Item = (i32, S)>, boundary: Option<i32>) -> Self {
        let by_word = by_word.into_iter().map(|(word, spellings)| (word, spellings.into())).collect();
        Self { by_word, boundary }
    }

    /// Returns the frames of each word, from the first frame of its first token to the last frame
    /// of its last one; `None` if these tokens are no spellings of these words.
    pub(crate) fn frames(&self, words: &[i32], tokens: &[(i32, Range<usize>)]) -> Option<Vec<Range<usize>>> {
        let numbers: Vec<i32> = tokens.iter().map(|&(token, _)| token).collect();
        let is_boundary = |token: &&i32| Some(**token) == self.boundary;
        let after_boundaries = |at: usize| at + numbers[at..].iter().take_while(is_boundary).count();
        // After each word: the possible numbers of tokens taken so far; for each of them the number
        // before the word, and the first token of the word.
        let mut reached = vec![BTreeMap::from([(0, (0, 0))])];
        for word in words {
            let spellings = self.by_word.get(word)?;
            let mut next = BTreeMap::new();
            for &before in reached.last()?.keys() {
                let start = after_boundaries(before);
                let fits = |spelling: &&Vec<i32>| !spelling.is_empty() && numbers[start..].starts_with(spelling);
                for spelling in spellings.iter().filter(fits) {
                    next.entry(start + spelling.len()).or_insert((before, start));
                }
            }
            reached.push(next);
        }
        let mut end = *reached.last()?.keys().find(|&&end| after_boundaries(end) == numbers.len())?;
        let mut frames = vec![];
        for after_word in reached[1..].iter().rev() {
            let (before, start) = after_word[&end];
            frames.push(tokens[start].1.start..tokens[end - 1].1.end);
            end = before;
        }
        frames.reverse();
        Some(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_divided_among_words_by_their_spellings() {
        let by_word =
            HashMap::from([(1, vec![vec![1], vec![1, 2]]), (2, vec![vec![2, 3], vec![3]]), (3, vec![vec![]])]);
        let spellings = WordSpellings::new(by_word, Some(9));
        let frames = |words: &[i32], tokens: &[i32]| {
            let tokens: Vec<_> = (0..).zip(tokens).map(|(at, &token)| (token, 3 * at..3 * at + 2)).collect();
            let pairs = |frames: Vec<Range<usize>>| {
                frames.into_iter().map(|frames| (frames.start, frames.end)).collect::<Vec<_>>()
            };
            spellings.frames(words, &tokens).map(pairs)
        };
        assert_eq!(frames(&[], &[]), Some(vec![]));
        assert_eq!(frames(&[], &[9]), Some(vec![]));
        assert_eq!(frames(&[1], &[1]), Some(vec![(0, 2)]));
        assert_eq!(frames(&[1], &[9, 1, 2, 9, 9]), Some(vec![(3, 8)]));
        assert_eq!(frames(&[1, 1], &[1, 2, 9, 1]), Some(vec![(0, 5), (9, 11)]));
        // A boundary ends a word: `1 | 2 3`, and not `1 2 | 3`.
        assert_eq!(frames(&[1, 2], &[1, 9, 2, 3]), Some(vec![(0, 2), (6, 11)]));
        for (words, tokens) in
            [(&[1][..], &[2][..]), (&[1], &[]), (&[], &[1]), (&[1], &[1, 3]), (&[3], &[]), (&[4], &[1])]
        {
            assert_eq!(frames(words, tokens), None, "{words:?} {tokens:?}");
        }
    }
}
