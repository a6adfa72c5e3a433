//! Labels by which callers know the words of a model.

use crate::error::{Error, Quantity};
use crate::support::ids::{id, number};
use crate::support::pair_interner::PairInterner;

/// Labels of words.
#[derive(Debug)]
pub(super) enum Labels {
    /// The label is a word's number plus 1, for so many words.
    Own(u32),
    /// Labels of a table.
    Table {
        labels: Vec<Option<i32>>,
        /// The pair of a label and 0 has the number of its word; a word without a label has the
        /// pair of its own number and 1.
        words: PairInterner,
    },
}

impl Labels {
    pub(super) fn own(num_words: u32) -> Result<Self, Error> {
        Error::fit(Quantity::Symbols, num_words as usize + 1)?;
        Ok(Self::Own(num_words))
    }

    /// Creates labels from the labels of all words; no two words have the same.
    ///
    /// # Errors
    /// [`Error::Symbol`] for a label that is below 1.
    pub(super) fn of_table(labels: &[Option<i32>]) -> Result<Self, Error> {
        let mut words = PairInterner::with_capacity(labels.len());
        for (word, label) in labels.iter().enumerate() {
            let pair = match *label {
                Some(symbol @ ..=0) => return Err(Error::Symbol { position: word, symbol, least: 1 }),
                Some(label) => (label.cast_unsigned(), 0),
                None => (number(word), 1),
            };
            words.insert(pair.0, pair.1)?;
        }
        Ok(Self::Table { labels: labels.to_vec(), words })
    }

    #[inline]
    pub(super) fn word(&self, label: i32) -> Option<u32> {
        match self {
            Self::Own(num_words) => label.cast_unsigned().checked_sub(1).filter(|word| word < num_words),
            Self::Table { words, .. } => words.find(label.cast_unsigned(), 0),
        }
    }

    pub(super) fn label(&self, word: u32) -> Option<i32> {
        match self {
            Self::Own(num_words) => (word < *num_words).then(|| id(word as usize + 1)),
            Self::Table { labels, .. } => labels.get(word as usize).copied().flatten(),
        }
    }
}
