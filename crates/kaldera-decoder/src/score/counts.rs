//! Numbers of errors, and rates.

use std::ops::{Add, AddAssign};

/// How many words of a reference are correct, substituted and deleted, and how many have been
/// inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counts {
    /// Words that are right.
    pub correct: usize,
    /// Words with another in their place.
    pub substitutions: usize,
    /// Words that are missing.
    pub deletions: usize,
    /// Words that are too many.
    pub insertions: usize,
}

impl Counts {
    /// Words of the reference.
    pub fn words(&self) -> usize {
        self.correct + self.substitutions + self.deletions
    }

    /// Words of the hypothesis.
    pub fn hypothesis_words(&self) -> usize {
        self.correct + self.substitutions + self.insertions
    }

    /// All errors.
    pub fn errors(&self) -> usize {
        self.substitutions + self.deletions + self.insertions
    }

    /// Errors for each word of the reference: WER, or CER for characters. NaN without words and
    /// errors.
    #[doc(alias = "wer")]
    #[doc(alias = "cer")]
    pub fn error_rate(&self) -> f64 {
        ratio(self.errors(), self.words())
    }

    /// Errors for each pair of the alignment: the match error rate of Morris, Maier and Green
    /// (2004).
    #[doc(alias = "mer")]
    pub fn match_error_rate(&self) -> f64 {
        ratio(self.errors(), self.words() + self.insertions)
    }

    /// The share of words of the reference that are right, times that of the hypothesis: word
    /// information preserved (the same).
    #[doc(alias = "wip")]
    pub fn information_preserved(&self) -> f64 {
        if self.correct == 0 {
            return 0.0;
        }
        ratio(self.correct, self.words()) * ratio(self.correct, self.hypothesis_words())
    }

    /// Word information lost: 1 without what is preserved.
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
