//! Decoding of whole utterances.

use std::sync::{Mutex, PoisonError};

use super::graph::{DecodingGraph, LabelIndex};
use super::lattices::with_attributes;
use super::output::{LatticeArcs, Pruning, lattice};
use super::scratch::Scratch;
use super::search::Search;
use super::{DenseFsaVec, DenseLattices, DenseOptions, Outcome};
use crate::core::builder::{ArcMap, assemble, flatten};
use crate::core::view::FsaView;
use crate::support::threads::for_each_job;
use crate::{Error, Fsa, Fsas, Graph, GraphLabels, Quantity};

/// Intersects graphs with the scores of a network. Paths worse than the best one by more than
/// `output_beam` are left out.
///
/// Every path is looked at, so graphs should be small, such as the graphs of transcripts; use
/// [`intersect_dense_pruned`] for others, and for graphs with epsilons. There is one graph for all
/// utterances, or one for each. Labels are [read as the graph says](Graph::graph_labels): as
/// classes of the network, including 0, or as classes + 1; -1 ends an utterance. O(frames x arcs).
/// Several threads work on utterances, with the same result.
///
/// ```
/// use fsa::graphs::ctc_graph;
/// use fsa::dense::{DenseFsaVec, intersect_dense};
/// use fsa::Semiring;
/// use fsa::paths::total_scores;
/// use ragged_core::Ragged;
///
/// // The loss of CTC: minus the logarithm of what all alignments of the tokens 1 2 have together.
/// let scores = [0.2_f32, 0.5, 0.3, 0.6, 0.2, 0.2, 0.1, 0.1, 0.8].map(f32::ln);
/// let graph = ctc_graph(&Ragged::from_lists(&[vec![1, 2]])?, false)?;
/// let result = intersect_dense(&graph, &DenseFsaVec::from_frames(&scores, 3)?, f32::INFINITY)?;
/// let total = total_scores::<f64, _>(result.graph().fsas(), Semiring::Log)?[0];
/// let by_hand = 0.5 * 0.2 * 0.8
///     + 0.5 * 0.2 * 0.8
///     + 0.5 * 0.6 * 0.8
///     + 0.2 * 0.2 * 0.8
///     + 0.5 * 0.2 * 0.1_f64;
/// assert!((total - by_hand.ln()).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Beam`]; [`Error::Size`] for another number of graphs; [`Error::DenseLabel`] if there is
/// one graph; [`Error::TooLarge`] if all lattices together are. An error of one utterance is its
/// [`Outcome`].
pub fn intersect_dense<F: Fsas>(
    graphs: &Graph<F>,
    dense: &DenseFsaVec<'_>,
    output_beam: f32,
) -> Result<DenseLattices, Error> {
    intersect_dense_pruned(graphs, dense, &DenseOptions::exhaustive(output_beam))
}

/// Intersects as [`intersect_dense`], but from frame to frame only the best states are followed, as
/// the options say.
///
/// Epsilon arcs are followed within a frame, whatever the signs of their scores: [the
/// module](super#epsilon-arcs) says how exact results are. O(frames x arcs of active states).
///
/// # Errors
/// As [`intersect_dense`].
pub fn intersect_dense_pruned<F: Fsas>(
    graphs: &Graph<F>,
    dense: &DenseFsaVec<'_>,
    options: &DenseOptions,
) -> Result<DenseLattices, Error> {
    let fsas = graphs.fsas().as_fsa_vec();
    if fsas.num_fsas() != 1 {
        Error::same_size(Quantity::Graphs, dense.num_utterances(), fsas.num_fsas())?;
    }
    let index = LabelIndex::new(fsas, graphs.graph_labels());
    let fits = index.check(dense.num_classes());
    if fsas.num_fsas() == 1 {
        fits.clone()?;
    }
    let number = |utterance: usize| if fsas.num_fsas() == 1 { 0 } else { utterance };
    let graph_of = |utterance: usize| {
        if fits.is_err() {
            index.check_one(fsas, utterance, dense.num_classes())?;
        }
        Ok(index.graph(fsas, number(utterance)))
    };
    let (made, outcomes): (Vec<_>, _) = search_each(dense, options, graph_of)?.into_iter().unzip();
    gather(graphs, graphs.graph_labels(), made, outcomes, |utterance| fsas.fsa(number(utterance)))
}

/// Does the same for graphs of another kind, each for one utterance, whose arcs are the arcs of
/// `carrier`.
pub(super) fn intersect_one_graph<G: DecodingGraph>(
    graph_of_one: impl Fn() -> G + Sync,
    carrier: &Graph<Fsa>,
    dense: &DenseFsaVec<'_>,
    options: &DenseOptions,
) -> Result<DenseLattices, Error> {
    let (made, outcomes): (Vec<_>, _) = search_each(dense, options, |_| Ok(graph_of_one()))?.into_iter().unzip();
    gather(carrier, GraphLabels::Class, made, outcomes, |_| carrier.fsas().view())
}

/// Returns the result for each utterance.
fn search_each<G: DecodingGraph>(
    dense: &DenseFsaVec<'_>,
    options: &DenseOptions,
    graph_of: impl Fn(usize) -> Result<G, Error> + Sync,
) -> Result<Vec<(LatticeArcs, Outcome)>, Error> {
    options.check()?;
    let unused = Mutex::new(Vec::<(Scratch, Search)>::new());
    let work = dense.total_frames().saturating_mul(dense.num_classes());
    for_each_job(work, 0..dense.num_utterances(), |_, utterance| {
        let graph = match graph_of(utterance) {
            Ok(graph) => graph,
            Err(error) => return Ok((LatticeArcs::default(), Outcome::Failed(error))),
        };
        let lock = || unused.lock().unwrap_or_else(PoisonError::into_inner);
        let (scratch, search) = lock().pop().unzip();
        let mut memory = (Scratch::of_size(scratch, graph.num_states()), search.unwrap_or_else(Search::new));
        let found = search_one(&graph, dense, options, &mut memory, utterance);
        lock().push(memory);
        Ok(found.unwrap_or_else(|error| (LatticeArcs::default(), Outcome::Failed(error))))
    })
}

/// Returns the result for one utterance.
fn search_one<G: DecodingGraph>(
    graph: &G,
    dense: &DenseFsaVec<'_>,
    options: &DenseOptions,
    (scratch, search): &mut (Scratch, Search),
    utterance: usize,
) -> Result<(LatticeArcs, Outcome), Error> {
    let frames = dense.utterance(utterance)?;
    frames.check(utterance)?;
    graph.check()?;
    if graph.num_states() == 0 {
        return Ok((LatticeArcs::default(), Outcome::NoFinalState));
    }
    search.restart();
    search.advance(graph, frames, options, scratch, utterance)?;
    lattice(graph, search, options, options.ending(), Pruning::OutputBeam, utterance)
}

/// Concatenates the lattices of all utterances into one vector.
pub(super) fn gather<'g, F: Fsas>(
    graphs: &Graph<F>,
    labels: GraphLabels,
    made: Vec<LatticeArcs>,
    outcomes: Vec<Outcome>,
    graph_of: impl Fn(usize) -> FsaView<'g>,
) -> Result<DenseLattices, Error> {
    let (mut parts, mut frames, mut graph_scores) = (vec![], vec![], vec![]);
    for (utterance, made) in made.into_iter().enumerate() {
        parts.push((made.builder, [ArcMap::new(graph_of(utterance), made.graph_arcs)]));
        frames.push(made.frames);
        graph_scores.push(made.graph_scores);
    }
    let (fsas, [graph_arcs]) = assemble(parts)?;
    let graph = with_attributes(graphs, fsas, &graph_arcs)?;
    let (frames, graph_scores) = (flatten(frames), flatten(graph_scores));
    let graph = graph.with_graph_labels(labels);
    Ok(DenseLattices { graph, graph_arcs, frames, graph_scores, outcomes })
}
