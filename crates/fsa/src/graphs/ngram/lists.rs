//! N-grams in lists, from which models are built.

use std::sync::Arc as Shared;

use super::layout::{ROOT, SpecialWords, check_limit};
use super::tree::{Tree, bytes_of_tree, bytes_of_words};
use crate::core::limits::Limits;
use crate::error::{Error, Quantity};
use crate::support::adjacency::Adjacency;
use crate::support::ids::{NONE, number};

/// Score that is still to be computed: the n-gram is there because longer ones need it.
pub(super) const BACKED_OFF: f32 = f32::NAN;

/// Returns the bytes of so many n-grams in a list: their words, scores and weights for backing off,
/// in vectors that have grown to twice that at most, or are sorted.
pub(super) fn bytes_of_ngrams(order: usize, count: usize) -> usize {
    (2 * (size_of::<u32>() * order + 2 * size_of::<f32>())).saturating_mul(count)
}

/// N-grams of one order, with the logarithms of base 10 that ARPA files have.
#[derive(Debug, Clone)]
pub(super) struct Level {
    order: usize,
    /// The words of one n-gram after another.
    pub(super) words: Vec<u32>,
    pub(super) scores: Vec<f32>,
    pub(super) backoffs: Vec<f32>,
}

impl Level {
    pub(super) fn new(order: usize) -> Self {
        Self { order, words: Vec::new(), scores: Vec::new(), backoffs: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    /// Returns an upper bound of its bytes.
    pub(super) fn bytes(&self) -> usize {
        bytes_of_ngrams(self.order, self.len())
    }

    pub(super) fn push(&mut self, words: &[u32], score: f32, backoff: f32) {
        debug_assert_eq!(words.len(), self.order);
        self.words.extend(words);
        self.scores.push(score);
        self.backoffs.push(backoff);
    }

    pub(super) fn ngram(&self, at: usize) -> &[u32] {
        &self.words[self.order * at..][..self.order]
    }

    pub(super) fn ngrams(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.words.chunks_exact(self.order)
    }

    /// Sorts by words, of which there are `num_words`. Returns the old index of each n-gram, if any
    /// has moved. O(order x (n-grams + words)).
    pub(super) fn sort(&mut self, num_words: usize) -> Option<Vec<u32>> {
        if self.ngrams().is_sorted() {
            return None;
        }
        // Sorts by the last word first: a stable sort by the first word comes last.
        let mut order: Vec<u32> = (0..number(self.len())).collect();
        for position in (0..self.order).rev() {
            let key = |&at: &u32| self.words[self.order * at as usize + position] as usize;
            let by_word = Adjacency::new(num_words, order.iter().map(key));
            order = by_word.order().iter().map(|&at| order[at as usize]).collect();
        }
        self.reorder(&order);
        Some(order)
    }

    /// Puts n-grams in another order, given by their indexes.
    pub(super) fn reorder(&mut self, order: &[u32]) {
        self.words = order.iter().flat_map(|&at| self.ngram(at as usize)).copied().collect();
        self.scores = order.iter().map(|&at| self.scores[at as usize]).collect();
        self.backoffs = order.iter().map(|&at| self.backoffs[at as usize]).collect();
    }

    /// Returns the first n-gram that is the same as the one before it; the list must be sorted.
    pub(super) fn repeated(&self) -> Option<usize> {
        let same = |at: &usize| self.ngram(*at) == self.ngram(at - 1);
        (1..self.len()).find(same)
    }
}

/// The n-grams of a model, and the words of their numbers.
#[derive(Debug, Clone)]
pub(super) struct NgramLists {
    pub(super) words: Vec<Shared<str>>,
    pub(super) special: SpecialWords,
    /// One level for each order, from 1 on.
    pub(super) levels: Vec<Level>,
}

impl NgramLists {
    /// Numbers words in the order of their bytes, and sorts n-grams.
    pub(super) fn sort(&mut self) {
        if !self.words.is_sorted() {
            let mut sorted: Vec<u32> = (0..number(self.words.len())).collect();
            sorted.sort_unstable_by_key(|&word| &self.words[word as usize]);
            let mut renumbered = vec![0; self.words.len()];
            for (new, &old) in (0..).zip(&sorted) {
                renumbered[old as usize] = new;
            }
            let renumber = |word: &mut u32| *word = renumbered[*word as usize];
            self.words = sorted.iter().map(|&word| Shared::clone(&self.words[word as usize])).collect();
            self.levels.iter_mut().flat_map(|level| &mut level.words).for_each(renumber);
            self.special = self.special.map(|word| renumbered[word as usize]);
        }
        for level in &mut self.levels {
            level.sort(self.words.len());
        }
    }

    /// Returns the nodes of the model. Each n-gram occurs once at most. If the words before the
    /// last one of an n-gram are not an n-gram themselves, they are added with the score that
    /// backing off gives; a word that is not an n-gram of order 1 is added with -inf.
    /// O(n-grams x order), besides look-ups of suffixes.
    ///
    /// # Errors
    /// [`Error::NgramLimit`] and [`Error::TooLarge`].
    pub(super) fn into_tree(mut self, limits: Limits) -> Result<Tree, Error> {
        self.sort();
        self.add_contexts(limits)?;
        let order = self.levels.len();
        let counts: Vec<u32> = self.levels.iter().map(|level| number(level.len())).collect();
        let total = self.levels.iter().map(Level::len).sum::<usize>() + 1;
        if total >= NONE as usize {
            return Err(Error::TooLarge { what: Quantity::Ngrams, size: total as u64 });
        }
        check_limit(limits, self.bytes().saturating_add(bytes_of_tree(total)), total)?;
        let num_inner = total - self.levels[order - 1].len();
        let mut first_children = Vec::with_capacity(num_inner + 1);
        let mut last_words = Vec::with_capacity(total);
        let (mut scores, mut backoffs) = (Vec::with_capacity(total), Vec::with_capacity(num_inner));
        first_children.push(1);
        last_words.push(0);
        scores.push(0.0);
        backoffs.push(0.0);
        let mut first = 1;
        for at in 0..order {
            let level = &self.levels[at];
            last_words.extend(level.ngrams().map(|ngram| ngram[at]));
            scores.extend(&level.scores);
            let next = first + number(level.len());
            if let Some(longer) = self.levels.get(at + 1) {
                backoffs.extend(&level.backoffs);
                let mut children = longer.ngrams().peekable();
                let mut child = next;
                for ngram in level.ngrams() {
                    first_children.push(child);
                    while children.next_if(|longer| longer[..=at] == *ngram).is_some() {
                        child += 1;
                    }
                }
            }
            first = next;
            // The words of n-grams take more memory than the rest together.
            self.levels[at] = Level::new(at + 1);
        }
        first_children.push(first);
        let (words, special) = (self.words, self.special);
        let suffixes = vec![ROOT; total];
        let mut tree = Tree { words, special, counts, first_children, last_words, scores, backoffs, suffixes };
        tree.find_suffixes();
        Ok(tree)
    }

    /// Returns the number of bytes.
    fn bytes(&self) -> usize {
        bytes_of_words(&self.words) + self.levels.iter().map(Level::bytes).sum::<usize>()
    }

    /// Adds the n-grams without which others have no parent. All levels are sorted, and stay so.
    fn add_contexts(&mut self, limits: Limits) -> Result<(), Error> {
        let mut taken = self.bytes();
        for at in (1..self.levels.len()).rev() {
            let (shorter, longer) = self.levels.split_at_mut(at);
            let (shorter, mut missing) = (&mut shorter[at - 1], Level::new(at));
            let mut place = 0;
            for context in longer[0].ngrams().map(|ngram| &ngram[..at]) {
                while place < shorter.len() && shorter.ngram(place) < context {
                    place += 1;
                }
                let is_there = place < shorter.len() && shorter.ngram(place) == context;
                let is_added = missing.len() > 0 && missing.ngram(missing.len() - 1) == context;
                if !is_there && !is_added {
                    missing.push(context, BACKED_OFF, 0.0);
                    check_limit(limits, taken + missing.bytes(), missing.len())?;
                }
            }
            taken += missing.bytes();
            shorter.append(missing, self.words.len());
        }
        let (unigrams, mut missing) = (&mut self.levels[0], Level::new(1));
        let mut known = unigrams.words.iter().peekable();
        for word in 0..number(self.words.len()) {
            if known.next_if_eq(&&word).is_none() {
                missing.push(&[word], BACKED_OFF, 0.0);
            }
        }
        drop(known);
        unigrams.append(missing, self.words.len());
        for score in unigrams.scores.iter_mut().filter(|score| score.is_nan()) {
            *score = f32::NEG_INFINITY;
        }
        Ok(())
    }
}

impl Level {
    /// Appends other n-grams, and sorts.
    fn append(&mut self, mut other: Self, num_words: usize) {
        if other.len() > 0 {
            self.words.append(&mut other.words);
            self.scores.append(&mut other.scores);
            self.backoffs.append(&mut other.backoffs);
            self.sort(num_words);
        }
    }
}
