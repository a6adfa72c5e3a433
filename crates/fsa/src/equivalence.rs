//! Comparison of two FSAs by their strings and scores.

use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::semiring::Semiring;
use crate::error::Error;
use crate::k2::equivalence::{is_equivalent, is_rand_equivalent};
use crate::openfst::equivalent::is_exactly_equivalent;

/// Methods of [`equivalent`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Equivalence {
    /// As OpenFst: compares the structure of the deterministic FSAs, with scores and output labels
    /// pushed to the start, and tries no strings. Epsilons do not count as labels: FSAs with
    /// epsilons are determinized without them, or rejected if a string has several outputs.
    #[doc(alias = "fstequivalent")]
    Structure {
        /// Tolerance of scores; OpenFst's is 1/1024.
        delta: f32,
        /// Compares the best path of each string, or the sum of its paths. The sum is not supported
        /// with epsilons.
        semiring: Semiring,
    },
    /// As k2's `is_equivalent`: compares all strings of FSAs without cycles, up to 2^20 of them, by
    /// their labels only. Epsilons do not count as labels.
    Strings {
        /// Compares the best path of each string, or the sum of its paths.
        semiring: Semiring,
        /// Tolerance of scores.
        delta: f64,
    },
    /// As k2's `is_rand_equivalent`: compares strings drawn from either FSA, by their labels only.
    /// A difference proves that the FSAs differ; without one they may still differ. Epsilons do not
    /// count as labels.
    #[doc(alias = "is_rand_equivalent")]
    Random {
        /// Compares the best path of each string, or the sum of its paths.
        semiring: Semiring,
        /// Tolerance of scores.
        delta: f64,
        /// Number of strings drawn from each FSA.
        num_paths: usize,
        /// Seed of the random draws.
        seed: u64,
    },
}

impl Default for Equivalence {
    fn default() -> Self {
        Self::Structure { delta: 1.0 / 1024.0, semiring: Semiring::Tropical }
    }
}

/// Returns `true` if `a` and `b` accept the same strings with the same scores.
///
/// ```
/// use fsa::{Arc, Equivalence, Fsa, Graph, Semiring};
///
/// let early =
///     Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?);
/// let late =
///     Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.0), Arc::new(1, 2, -1, 0.5)])?);
/// assert!(early.equivalent(&late, Equivalence::default())?);
/// assert!(
///     early.equivalent(&late, Equivalence::Strings { semiring: Semiring::Log, delta: 1e-6 })?
/// );
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// By structure: the errors of [`openfst::determinize`](crate::openfst::determinize()),
/// [`Error::EndlessCycle`] and [`Error::LogSemiring`]; `a` is FSA 0, `b` is FSA 1. By strings:
/// [`Error::Cycle`], and [`Error::OutOfRange`] for more than 2^20 strings. At random:
/// [`Error::EndlessCycle`] if cycles of epsilons have no finite score.
pub fn equivalent(a: &Graph<Fsa>, b: &Graph<Fsa>, how: Equivalence) -> Result<bool, Error> {
    match how {
        Equivalence::Structure { delta, semiring } => is_exactly_equivalent(a, b, delta, semiring),
        Equivalence::Strings { semiring, delta } => is_equivalent(a.fsas(), b.fsas(), semiring, delta),
        Equivalence::Random { semiring, delta, num_paths, seed } => {
            is_rand_equivalent(a.fsas(), b.fsas(), semiring, delta, num_paths, seed)
        }
    }
}

impl Graph<Fsa> {
    /// [`equivalent`](crate::equivalent()).
    ///
    /// # Errors
    /// As the function.
    pub fn equivalent(&self, other: &Self, how: Equivalence) -> Result<bool, Error> {
        equivalent(self, other, how)
    }
}
