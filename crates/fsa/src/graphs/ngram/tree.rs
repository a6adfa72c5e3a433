//! Nodes of a model that is being built, whose weights can still change.

use std::ops::Range;
use std::sync::Arc as Shared;

use super::layout::{Layout, ROOT, Sections, SpecialWords};
use crate::core::limits::Limits;
use crate::error::Error;
use crate::support::ids::{narrow, number};

/// Returns the bytes of so many nodes, if none of them is of the highest order.
pub(super) fn bytes_of_tree(num_nodes: usize) -> usize {
    num_nodes * 5 * size_of::<u32>()
}

/// Returns the bytes of words.
pub(super) fn bytes_of_words(words: &[Shared<str>]) -> usize {
    words.iter().map(|word| bytes_of_word(word)).sum()
}

/// Returns the bytes of a word, including its counters and its entries in a list and a table.
pub(super) fn bytes_of_word(word: &str) -> usize {
    word.len() + size_of::<[usize; 8]>()
}

/// The nodes of a model, as in its [layout](super::layout), except for suffixes, which are the
/// longest that are nodes.
pub(super) struct Tree {
    pub(super) words: Vec<Shared<str>>,
    pub(super) special: SpecialWords,
    /// Number of nodes of each order, from 1 on.
    pub(super) counts: Vec<u32>,
    pub(super) first_children: Vec<u32>,
    pub(super) last_words: Vec<u32>,
    pub(super) scores: Vec<f32>,
    pub(super) backoffs: Vec<f32>,
    pub(super) suffixes: Vec<u32>,
}

impl Tree {
    /// Returns the number of nodes that are not of the highest order.
    pub(super) fn num_inner(&self) -> usize {
        self.backoffs.len()
    }

    /// Returns the children of a node below the highest order.
    pub(super) fn children(&self, node: usize) -> Range<usize> {
        self.first_children[node] as usize..self.first_children[node + 1] as usize
    }

    /// Returns `true` if a node has children.
    pub(super) fn is_extended(&self, node: usize) -> bool {
        node < self.num_inner() && !self.children(node).is_empty()
    }

    fn find(&self, node: u32, word: u32) -> Option<u32> {
        if node == ROOT {
            return Some(word + 1);
        }
        let children = self.children(node as usize);
        let words = &self.last_words[children.clone()];
        let at = words.partition_point(|&it| it < word);
        (words.get(at) == Some(&word)).then(|| number(children.start + at))
    }

    /// Returns the node of a word after the words of a node, or after as many of the last of them
    /// as there is one for, and the weight for backing off to it.
    pub(super) fn back_off(&self, mut node: u32, word: u32) -> (u32, f64) {
        let mut backed_off = 0.0;
        loop {
            if let Some(found) = self.find(node, word) {
                return (found, backed_off);
            }
            backed_off += f64::from(self.backoffs[node as usize]);
            node = self.suffixes[node as usize];
        }
    }

    /// Returns the base 10 logarithm of the probability of a word after the words of a node.
    pub(super) fn score(&self, node: u32, word: u32) -> f64 {
        let (found, backed_off) = self.back_off(node, word);
        backed_off + f64::from(self.scores[found as usize])
    }

    /// Returns the number of bytes.
    fn bytes(&self) -> usize {
        bytes_of_tree(self.last_words.len()) + bytes_of_words(&self.words)
    }

    /// Finds the suffixes of all nodes, and computes the scores that result from backing off.
    pub(super) fn find_suffixes(&mut self) {
        for context in 1..self.num_inner() {
            let (backoff, shorter) = (f64::from(self.backoffs[context]), self.suffixes[context]);
            for child in self.children(context) {
                let word = self.last_words[child];
                let (suffix, backed_off) = self.back_off(shorter, word);
                if self.scores[child].is_nan() {
                    self.scores[child] = narrow(backoff + backed_off + f64::from(self.scores[suffix as usize]));
                }
                self.suffixes[child] = if word == self.special.end { ROOT } else { suffix };
            }
        }
    }

    /// Returns the bytes of the model.
    ///
    /// # Errors
    /// [`Error::NgramLimit`] and [`Error::TooLarge`].
    pub(super) fn finish(mut self, limits: Limits) -> Result<(Layout, Vec<u8>), Error> {
        // Goes on from each suffix to one that is a state. Suffixes have lower numbers, and are
        // done first.
        for node in 0..self.suffixes.len() {
            let suffix = self.suffixes[node] as usize;
            if suffix != 0 && self.backoffs[suffix] == 0.0 && !self.is_extended(suffix) {
                self.suffixes[node] = self.suffixes[suffix];
            }
        }
        let sections = Sections {
            words: &self.words,
            counts: &self.counts,
            special: self.special,
            backoffs: &self.backoffs,
            first_children: &self.first_children,
            last_words: &self.last_words,
            scores: &self.scores,
            suffixes: &self.suffixes,
        };
        sections.write(self.bytes(), limits)
    }

    /// Returns `true` if a word can follow others: all but the one that begins sentences.
    pub(super) fn is_event(&self, word: u32) -> bool {
        word != self.special.start
    }
}
