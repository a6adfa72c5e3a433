//! OpenFst's shortest paths, with the criteria for different paths.

use ragged_core::Ragged;

use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::error::{AttributeProblem, Error};
use crate::openfst::machine::aux_labels;
use crate::paths::n_best_paths::{n_best_paths, n_best_strings};

/// Criterion for paths to count as different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Unique {
    /// Paths that differ in an arc.
    #[default]
    Paths,
    /// Paths with different labels, without epsilons: the best path of each string.
    Labels,
    /// Paths that output different labels, without epsilons: the best path of each string.
    AuxLabels,
}

/// Returns the `n` best paths of each FSA, the best first, as `[fsa][path][arc]`: indexes of arcs.
/// There are fewer paths if the FSA has fewer.
///
/// Calls [`n_best_paths`] or, if different strings are requested, [`n_best_strings`]: FSAs may have
/// cycles and epsilons, and cost and order are the same.
///
/// ```
/// use fsa::{Arc, Fsa, Graph};
/// use fsa::openfst::{Unique, shortest_paths};
///
/// // Any number of 7s, each at a cost.
/// let arcs = [Arc::new(0, 0, 7, -1.0), Arc::new(0, 0, 7, -1.5), Arc::new(0, 1, -1, 0.0)];
/// let graph = Graph::new(Fsa::from_arcs(2, arcs.to_vec())?);
/// let paths = shortest_paths(&graph, 3, Unique::Labels)?;
/// assert_eq!(paths.rows().collect::<Vec<_>>(), [&[2][..], &[0, 2], &[0, 0, 2]]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// Errors of the two functions; [`Error::Attribute`] if different output labels are requested, and
/// there are none or lists.
#[doc(alias = "fstshortestpath")]
pub fn shortest_paths<F: Fsas>(graph: &Graph<F>, n: usize, unique: Unique) -> Result<Ragged<i32>, Error> {
    match unique {
        Unique::Paths => n_best_paths(graph.fsas(), n),
        Unique::Labels => n_best_strings(graph.fsas(), &graph.fsas().as_fsa_vec().labels(), n),
        Unique::AuxLabels => {
            let problem = AttributeProblem::NoAuxLabelsForPaths;
            n_best_strings(graph.fsas(), aux_labels(graph)?.ok_or(Error::Attribute { problem })?, n)
        }
    }
}
