//! Whether two FSAs accept the same strings with the same scores.

use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::semiring::Semiring;
use crate::error::Error;
use crate::k2::equivalence::{is_equivalent, is_rand_equivalent};
use crate::openfst::equivalent::is_exactly_equivalent;

/// How [`equivalent`] compares.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Equivalence {
    /// As OpenFst: without trying, by the structure of the deterministic FSAs whose scores and
    /// output labels are pushed to the start. Epsilons are none: what takes some
    /// is determinized without them, or refused where one string has several outputs.
    #[doc(alias = "fstequivalent")]
    Structure {
        /// How far scores may differ; OpenFst's is 1/1024.
        delta: f32,
        /// Whether the best path of a string counts, or all. All are not counted where epsilons
        /// are.
        semiring: Semiring,
    },
    /// As k2's `is_equivalent`: all strings of FSAs without cycles are compared, by their labels
    /// alone, up to 2^20 of them. Epsilons are none.
    Strings {
        /// Whether the best path of a string counts, or all.
        semiring: Semiring,
        /// How far scores may differ.
        delta: f64,
    },
    /// As k2's `is_rand_equivalent`: strings drawn from either FSA are compared, by their labels
    /// alone. If they differ, so do the FSAs; if not, the FSAs are equivalent as far as could be
    /// seen. Epsilons are none.
    #[doc(alias = "is_rand_equivalent")]
    Random {
        /// Whether the best path of a string counts, or all.
        semiring: Semiring,
        /// How far scores may differ.
        delta: f64,
        /// How many strings of each side are drawn.
        num_paths: usize,
        /// What is drawn follows from this.
        seed: u64,
    },
}

impl Default for Equivalence {
    fn default() -> Self {
        Self::Structure { delta: 1.0 / 1024.0, semiring: Semiring::Tropical }
    }
}

/// Whether `a` and `b` accept the same strings with the same scores.
///
/// ```
/// use fsa::{Arc, Equivalence, Fsa, Graph, Semiring};
///
/// let early = Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?);
/// let late = Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.0), Arc::new(1, 2, -1, 0.5)])?);
/// assert!(early.equivalent(&late, Equivalence::default())?);
/// assert!(early.equivalent(&late, Equivalence::Strings { semiring: Semiring::Log, delta: 1e-6 })?);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// By structure those of [`openfst::determinize`](crate::openfst::determinize()), and
/// [`Error::EndlessCycle`] and [`Error::LogSemiring`]; `a` is FSA 0, `b` is FSA 1. By strings
/// [`Error::Cycle`], and [`Error::OutOfRange`] for more than 2^20 strings. At random
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
