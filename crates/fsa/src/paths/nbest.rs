//! Several hypotheses for each utterance, as linear FSAs.

use ragged_core::{Ragged, RaggedShape, RowSplits, index_select};

use crate::core::attributes::Attribute;
use crate::core::fsa::{Fsa, FsaVec, Fsas};
use crate::core::graph::{AUX_LABELS, Graph};
use crate::error::{AttributeProblem, Error, Quantity};
use crate::k2::levenshtein::levenshtein_graph;
use crate::k2::linear::linear_fsas;
use crate::paths::best_path::{fsas_of_paths, shortest_path};
use crate::paths::n_best_paths::n_best_strings;
use crate::paths::random::random_paths;
use crate::support::ids::index;

/// Name of the attribute with the part of each score that a language model has given.
pub const LM_SCORES: &str = "lm_scores";

/// Paths of each utterance, as linear FSAs with the attributes of their lattice.
///
/// ```
/// use fsa::paths::Nbest;
/// use fsa::{Arc, Fsa, Graph};
///
/// let lattice = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, 1.0), Arc::new(0, 1, 8, 0.5), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// let nbest = Nbest::from_lattice(&Graph::new(lattice), 10, 1.0)?;
/// assert_eq!((nbest.len(), nbest.words().rows().collect::<Vec<_>>()), (2, vec![&[7][..], &[8]]));
/// assert_eq!(nbest.total_scores().values(), [1.0, 0.5]);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nbest {
    paths: Graph<FsaVec>,
    utterances: RowSplits,
}

impl Nbest {
    /// Creates hypotheses; `paths` are linear FSAs, `utterances` has the row splits of the paths of
    /// each utterance.
    ///
    /// # Errors
    /// [`Error::NotLinear`]; [`Error::Size`] if there are not as many paths as `utterances` says.
    pub fn new(paths: Graph<FsaVec>, utterances: RowSplits) -> Result<Self, Error> {
        Error::same_size(Quantity::Paths, utterances.num_elements(), paths.fsas().num_fsas())?;
        for (i, fsa) in paths.fsas().iter().enumerate() {
            let odd = |&state: &usize| !matches!(fsa.arcs_of(state), [arc] if arc.states().1 == state + 1);
            if let Some(state) = (0..fsa.num_states().saturating_sub(1)).find(odd) {
                return Err(Error::NotLinear { fsa: i, state });
            }
        }
        Ok(Self { paths, utterances })
    }

    /// Creates hypotheses that are all of one utterance.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_one(paths: Graph<FsaVec>) -> Result<Self, Error> {
        let utterances = RowSplits::from_lengths([paths.fsas().num_fsas()])?;
        Self::new(paths, utterances)
    }

    /// Takes `num_paths` [`random_paths`] of each FSA of a lattice whose scores are multiplied by
    /// `scale` for that (smaller numbers give more different ones), and keeps the first of paths
    /// with the same words.
    ///
    /// # Errors
    /// As [`random_paths`]; [`Error::Score`] if a score becomes infinite or NaN by `scale`.
    #[doc(alias = "Nbest.from_lattice")]
    pub fn from_lattice<F: Fsas>(lattice: &Graph<F>, num_paths: usize, scale: f32) -> Result<Self, Error> {
        let fsas = lattice.fsas().as_fsa_vec();
        let paths = if scale == 1.0 {
            random_paths(fsas, num_paths)?
        } else {
            let scores: Vec<_> = fsas.arcs().iter().map(|arc| arc.score * scale).collect();
            random_paths(&fsas.with_scores(&scores)?, num_paths)?
        };
        Self::from_paths(lattice, &paths)
    }

    /// Returns the `n` best sequences of words of each FSA of a lattice, exactly, from the best
    /// down, each with its best path.
    ///
    /// # Errors
    /// As [`n_best_strings`]; [`Error::Attribute`] if the arcs output lists.
    pub fn best<F: Fsas>(lattice: &Graph<F>, n: usize) -> Result<Self, Error> {
        let fsas = lattice.fsas().as_fsa_vec();
        let paths = match lattice.attributes().get(AUX_LABELS) {
            Some(Attribute::Ints { values, .. }) => n_best_strings(fsas, values, n)?,
            Some(Attribute::Lists(_)) => {
                return Err(Error::Attribute { problem: AttributeProblem::ListsOfWords });
            }
            _ => n_best_strings(fsas, &fsas.labels(), n)?,
        };
        Self::of_paths(lattice, &paths)
    }

    /// Returns paths of a lattice, given as `[fsa][path][arc]`.
    pub(super) fn of_paths<F: Fsas>(lattice: &Graph<F>, paths: &Ragged<i32>) -> Result<Self, Error> {
        let utterances = paths.shape().row_splits(1).clone();
        let paths = lattice.carry(fsas_of_paths(lattice.fsas().as_fsa_vec(), &paths.remove_axis(0)?)?)?;
        Ok(Self { paths, utterances })
    }

    /// Returns the different sequences of an attribute along `num_paths` [`random_paths`] of each
    /// FSA, as linear FSAs with these as their labels and scores of 0; entries that are 0 or -1 are
    /// left out. For a lattice with words as output labels and tokens as the attribute it gives the
    /// token sequences, to be scored by [`intersect`](Self::intersect).
    ///
    /// # Errors
    /// As [`random_paths`]; [`Error::Attribute`] if there are no integers or lists of that name;
    /// [`Error::Symbol`] for entries below -1.
    #[doc(alias = "generate_nbest_list")]
    pub fn sequences_of<F: Fsas>(lattice: &Graph<F>, attribute: &str, num_paths: usize) -> Result<Self, Error> {
        let paths = random_paths(lattice.fsas(), num_paths)?;
        let entries = match lattice.attributes().get(attribute) {
            Some(Attribute::Lists(lists)) => lists.index_ragged(&paths)?.remove_axis(2)?,
            Some(Attribute::Ints { values, .. }) => paths.with_values(index_select(values, paths.values(), 0)?)?,
            _ => return Err(Error::Attribute { problem: AttributeProblem::NoSequences }),
        };
        let unique = entries.remove_values_leq(0).unique();
        let utterances = unique.num_repeats.shape().last_splits().clone();
        let paths = Graph::new(linear_fsas(&unique.rows.remove_axis(0)?)?);
        Ok(Self { paths, utterances })
    }

    /// Returns the best path that each of these paths has in the FSA of its utterance, with the
    /// scores and attributes of both: each label of a path meets an equal one, and epsilons of the
    /// FSA are skipped. Paths that are not in it become FSAs without states. These paths should
    /// have no epsilons; `lattice` has an FSA for each utterance, without cycles.
    ///
    /// ```
    /// use fsa::paths::Nbest;
    /// use fsa::{Arc, Fsa, FsaVec, Graph};
    /// use fsa::k2::linear_fsa;
    ///
    /// let two = FsaVec::from_fsas(&[linear_fsa(&[7])?, linear_fsa(&[8])?])?;
    /// let lattice = Fsa::from_arcs(
    ///     3,
    ///     vec![Arc::new(0, 1, 0, 1.0), Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)]
    /// )?;
    /// let rescored = Nbest::of_one(Graph::new(two))?
    ///     .intersect(&Graph::new(FsaVec::from_fsas(&[lattice])?))?;
    /// assert_eq!(rescored.total_scores().values(), [0.5, f64::NEG_INFINITY]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one FSA for each utterance; [`Error::Cycle`];
    /// [`Error::TooLarge`].
    #[doc(alias = "Nbest.intersect")]
    pub fn intersect(&self, lattice: &Graph<FsaVec>) -> Result<Self, Error> {
        Error::same_size(Quantity::LatticeFsas, self.utterances.num_rows(), lattice.fsas().num_fsas())?;
        let utterances = self.utterances.rows().zip(0..).flat_map(|(paths, utterance)| paths.map(move |_| utterance));
        let utterances: Vec<i32> = utterances.collect();
        let met = lattice.intersect_device(&self.paths.add_epsilon_self_loops()?, &utterances)?;
        let met = met.connect()?.top_sort()?;
        let best = met.carry(shortest_path(met.fsas())?)?.remove_epsilon()?;
        Ok(Self { paths: best, utterances: self.utterances.clone() })
    }

    /// Returns for each path the [graph](levenshtein_graph) of its words and their edits,
    /// concatenated over utterances.
    ///
    /// # Errors
    /// As [`levenshtein_graph`].
    #[doc(alias = "Nbest.build_levenshtein_graphs")]
    pub fn levenshtein_graphs(&self, ins_del_score: f32) -> Result<Graph<FsaVec>, Error> {
        levenshtein_graph(&self.words().remove_axis(0)?, ins_del_score)
    }

    /// Takes paths of a lattice, `[fsa][path][arc]`, and keeps the first of paths with the same
    /// words.
    fn from_paths<F: Fsas>(lattice: &Graph<F>, paths: &Ragged<i32>) -> Result<Self, Error> {
        let unique = words(lattice, paths)?.unique();
        let (kept, _) = paths.index(1, &unique.new2old)?;
        Self::of_paths(lattice, &kept)
    }

    /// Returns the paths of all utterances, concatenated.
    pub fn paths(&self) -> &Graph<FsaVec> {
        &self.paths
    }

    /// Returns the number of paths of all utterances.
    pub fn len(&self) -> usize {
        self.paths.fsas().num_fsas()
    }

    /// Returns `true` if there are no paths.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row splits of the paths by utterance.
    pub fn utterances(&self) -> &RowSplits {
        &self.utterances
    }

    /// Returns the words of each path, `[utterance][path][word]`, without 0 and -1: its output
    /// labels, or its labels if it has no output labels.
    pub fn words(&self) -> Ragged<i32> {
        let fsas = self.paths.fsas();
        let arcs: Vec<_> = (0..).take(fsas.num_arcs()).collect();
        let splits = fsas.iter().map(|fsa| fsa.first_arc()).chain([fsas.num_arcs()]).map(to_i32).collect::<Vec<_>>();
        let every = RowSplits::new(splits).and_then(|splits| RaggedShape::new([self.utterances.clone(), splits]));
        let every = every.and_then(|shape| Ragged::new(shape, arcs)).expect("the arcs of each path follow each other");
        words(&self.paths, &every).expect("all arcs are there")
    }

    /// Returns the sum of the scores of each path, `[utterance][path]`; minus infinity for an FSA
    /// without states.
    pub fn total_scores(&self) -> Ragged<f64> {
        let sum = |fsa: crate::core::view::FsaView<'_>| match fsa.arcs() {
            [] => f64::NEG_INFINITY,
            arcs => arcs.iter().map(|arc| f64::from(arc.score)).sum(),
        };
        let sums: Vec<_> = self.paths.fsas().iter().map(sum).collect();
        let shape = RaggedShape::new([self.utterances.clone()]);
        shape.and_then(|shape| Ragged::new(shape, sums)).expect("one for each path")
    }

    /// Returns the `k` paths of each utterance with the highest total scores, from the highest
    /// down; if there are fewer, the last one is repeated.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "Nbest.top_k")]
    pub fn top_k(&self, k: usize) -> Result<Self, Error> {
        let scores = self.total_scores();
        let (mut chosen, mut ends) = (Vec::new(), vec![0]);
        for paths in self.utterances.rows() {
            let mut order: Vec<_> = paths.collect();
            order.sort_by(|&a, &b| scores.values()[b].total_cmp(&scores.values()[a]));
            if let Some(&last) = order.last() {
                order.resize(k, last);
            }
            chosen.extend(order.into_iter().map(to_i32));
            ends.push(Error::fit(Quantity::Paths, chosen.len())?);
        }
        let paths = self.paths.carry(self.paths.fsas().index(&chosen)?)?;
        Ok(Self { paths, utterances: RowSplits::new(ends)? })
    }
}

/// Replaces the language model scores of a lattice: subtracts its `lm_scores`, which are part of
/// its scores, and adds the scores of `grammar`. Keeps the labels (tokens) and the output labels
/// (words), which `grammar` accepts.
///
/// `grammar` needs an epsilon self-loop at each state where arcs of the lattice have no output
/// ([`add_epsilon_self_loops`]). The result is connected and top-sorted. It has as many states and
/// arcs as pairs that match.
///
/// [`add_epsilon_self_loops`]: crate::k2::add_epsilon_self_loops()
///
/// # Errors
/// [`Error::Attribute`] without `lm_scores`, or if nothing is output; [`Error::Cycle`];
/// [`Error::TooLarge`]: prune the lattice with
/// [`prune_on_arc_post`](crate::paths::prune_on_arc_post).
#[doc(alias = "whole_lattice_rescoring")]
pub fn rescore_lattice(lattice: &Graph<FsaVec>, grammar: &Graph<Fsa>) -> Result<Graph<FsaVec>, Error> {
    let Some(Attribute::Floats { values: before, .. }) = lattice.attributes().get(LM_SCORES) else {
        return Err(Error::Attribute { problem: AttributeProblem::NoLmScores });
    };
    let scores: Vec<f32> = lattice.fsas().arcs().iter().zip(before.iter()).map(|(arc, lm)| arc.score - lm).collect();
    let acoustic = Graph::from_parts(lattice.fsas().with_scores(&scores)?, lattice.attributes().clone())?;
    let words = acoustic.without(LM_SCORES).invert()?;
    let grammar = Graph::cat(&[grammar])?;
    let all = vec![0; words.fsas().num_fsas()];
    grammar.intersect_device(&words, &all)?.connect()?.top_sort()?.invert()
}

/// Converts a number of arcs or paths, which is an i32 in FSAs.
fn to_i32(x: usize) -> i32 {
    i32::try_from(x).unwrap_or(i32::MAX)
}

/// Returns the words along `paths`, `[fsa][path][arc]`.
fn words<F: Fsas>(graph: &Graph<F>, paths: &Ragged<i32>) -> Result<Ragged<i32>, Error> {
    let words = match graph.attributes().get(AUX_LABELS) {
        Some(Attribute::Lists(lists)) => lists.index_ragged(paths)?.remove_axis(2)?,
        Some(Attribute::Ints { values, .. }) => paths.with_values(index_select(values, paths.values(), 0)?)?,
        _ => {
            let arcs = graph.fsas().as_fsa_vec().arcs();
            paths.with_values(paths.values().iter().map(|&arc| arcs[index(arc)].label).collect::<Vec<_>>())?
        }
    };
    Ok(words.remove_values_leq(0))
}
