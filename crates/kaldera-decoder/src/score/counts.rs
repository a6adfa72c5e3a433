//! Counts of errors, and error rates.

use std::ops::{Add, AddAssign};

/// Numbers of words of a reference that are correct, substituted and deleted, and of inserted
/// words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counts {
    /// Correct words.
    pub correct: usize,
    /// Words that are replaced by another.
    pub substitutions: usize,
    /// Missing words.
    pub deletions: usize,
    /// Extra words.
    pub insertions: usize,
}

impl Counts {
    /// Returns the number of words of the reference.
    pub fn words(&self) -> usize {
        self.correct + self.substitutions + self.deletions
    }

    /// Returns the number of words of the hypothesis.
    pub fn hypothesis_words(&self) -> usize {
        self.correct + self.substitutions + self.insertions
    }

    /// Returns the number of all errors.
    pub fn errors(&self) -> usize {
        self.substitutions + self.deletions + self.insertions
    }

    /// Returns the errors per word of the reference: WER, or CER for characters. NaN without words
    /// and errors.
    #[doc(alias = "wer")]
    #[doc(alias = "cer")]
    pub fn error_rate(&self) -> f64 {
        ratio(self.errors(), self.words())
    }

    /// Returns the errors per pair of the alignment: the match error rate of Morris, Maier and
    /// Green (2004).
    #[doc(alias = "mer")]
    pub fn match_error_rate(&self) -> f64 {
        ratio(self.errors(), self.words() + self.insertions)
    }

    /// Returns word information preserved (the same authors): the share of correct words in the
    /// reference times their share in the hypothesis.
    #[doc(alias = "wip")]
    pub fn information_preserved(&self) -> f64 {
        if self.correct == 0 {
            return 0.0;
        }
        ratio(self.correct, self.words()) * ratio(self.correct, self.hypothesis_words())
    }

    /// Returns word information lost: 1 minus the information preserved.
    #[doc(alias = "wil")]
    pub fn information_lost(&self) -> f64 {
        1.0 - self.information_preserved()
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 words are scored")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            correct: self.correct + other.correct,
            substitutions: self.substitutions + other.substitutions,
            deletions: self.deletions + other.deletions,
            insertions: self.insertions + other.insertions,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}
