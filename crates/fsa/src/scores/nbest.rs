//! Several hypotheses for each utterance, as linear FSAs.

use ragged_core::{Ragged, RaggedShape, RowSplits, index_select};

use super::best_path::fsas_of_paths;
use super::{n_best_strings, random_paths};
use crate::arc::index;
use crate::{AUX_LABELS, Attribute, Error, FsaVec, Fsas, Graph};

/// For each utterance some paths, as linear FSAs with the attributes of the lattice that they come from.
///
/// ```
/// use fsa::scores::Nbest;
/// use fsa::{Arc, Fsa, Graph};
///
/// let lattice = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 1.0), Arc::new(0, 1, 8, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// let nbest = Nbest::from_lattice(&Graph::new(lattice), 10, 1.0)?;
/// assert_eq!(nbest.words().rows().collect::<Vec<_>>(), [[7], [8]]);
/// assert_eq!(nbest.total_scores().values(), [1.0, 0.5]);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nbest {
    paths: Graph<FsaVec>,
    utterances: RowSplits,
}

impl Nbest {
    /// `paths` are linear FSAs, `utterances` says how many belong to each utterance.
    ///
    /// # Errors
    /// [`Error::NotLinear`]; [`Error::Size`] if there are not as many paths as `utterances` says.
    pub fn new(paths: Graph<FsaVec>, utterances: RowSplits) -> Result<Self, Error> {
        Error::same_size("the number of paths", utterances.num_elements(), paths.fsas().num_fsas())?;
        for (i, fsa) in paths.fsas().iter().enumerate() {
            let odd = |&state: &usize| !matches!(fsa.arcs_of(state), [arc] if arc.states().1 == state + 1);
            if let Some(state) = (0..fsa.num_states().saturating_sub(1)).find(odd) {
                return Err(Error::NotLinear { fsa: i, state });
            }
        }
        Ok(Self { paths, utterances })
    }

    /// Takes `num_paths` [`random_paths`] of each FSA of a lattice whose scores are multiplied by `scale` for that (smaller numbers give
    /// more different ones), and keeps of those with the same words the first.
    ///
    /// # Errors
    /// As [`random_paths`]; [`Error::Score`] if a score becomes infinite or NaN by `scale`.
    #[doc(alias = "Nbest.from_lattice")]
    pub fn from_lattice<F: Fsas>(lattice: &Graph<F>, num_paths: usize, scale: f32) -> Result<Self, Error> {
        let fsas = lattice.fsas().as_vec();
        let paths = if scale == 1.0 {
            random_paths(fsas, num_paths)?
        } else {
            let scores: Vec<_> = fsas.arcs().iter().map(|arc| arc.score * scale).collect();
            random_paths(&fsas.with_scores(&scores)?, num_paths)?
        };
        Self::from_paths(lattice, &paths)
    }

    /// The `n` best sequences of words of each FSA of a lattice, exactly, from the best down, each with its best path.
    ///
    /// # Errors
    /// As [`n_best_strings`]; [`Error::Attribute`] if the arcs put out lists.
    pub fn best<F: Fsas>(lattice: &Graph<F>, n: usize) -> Result<Self, Error> {
        let fsas = lattice.fsas().as_vec();
        let paths = match lattice.attributes().get(AUX_LABELS) {
            Some(Attribute::Ints { values, .. }) => n_best_strings(fsas, values, n)?,
            Some(Attribute::Lists(_)) => {
                return Err(Error::Attribute { what: "the best words are found where each arc puts out one label" });
            }
            _ => n_best_strings(fsas, &fsas.labels(), n)?,
        };
        let utterances = paths.shape().row_splits(1).clone();
        let paths = lattice.carry(fsas_of_paths(fsas, &paths.remove_axis(0)?)?)?;
        Ok(Self { paths, utterances })
    }

    /// Takes paths of a lattice, `[fsa][path][arc]`, and keeps of those with the same words the first.
    fn from_paths<F: Fsas>(lattice: &Graph<F>, paths: &Ragged<i32>) -> Result<Self, Error> {
        let unique = words(lattice, paths)?.unique();
        let utterances = unique.num_repeats.shape().last_splits().clone();
        let (kept, _) = paths.index(1, &unique.new2old)?;
        let paths = lattice.carry(fsas_of_paths(lattice.fsas().as_vec(), &kept.remove_axis(0)?)?)?;
        Ok(Self { paths, utterances })
    }

    /// The paths of all utterances behind each other.
    pub fn paths(&self) -> &Graph<FsaVec> {
        &self.paths
    }

    /// Which paths are an utterance's.
    pub fn utterances(&self) -> &RowSplits {
        &self.utterances
    }

    /// The words of each path, `[utterance][path][word]`: what it puts out, or its labels where nothing is put out, without 0 and -1.
    pub fn words(&self) -> Ragged<i32> {
        let fsas = self.paths.fsas();
        let arcs: Vec<_> = (0..).take(fsas.num_arcs()).collect();
        let splits = fsas.iter().map(|fsa| fsa.first_arc()).chain([fsas.num_arcs()]).map(to_i32).collect::<Vec<_>>();
        let every = RowSplits::new(splits).and_then(|splits| RaggedShape::new([self.utterances.clone(), splits]));
        let every = every.and_then(|shape| Ragged::new(shape, arcs)).expect("the arcs of each path follow each other");
        words(&self.paths, &every).expect("all arcs are there")
    }

    /// The sum of the scores of each path, `[utterance][path]`.
    pub fn total_scores(&self) -> Ragged<f64> {
        let sum = |fsa: crate::FsaView<'_>| fsa.arcs().iter().map(|arc| f64::from(arc.score)).sum();
        let sums: Vec<_> = self.paths.fsas().iter().map(sum).collect();
        let shape = RaggedShape::new([self.utterances.clone()]);
        shape.and_then(|shape| Ragged::new(shape, sums)).expect("one for each path")
    }

    /// The `k` paths of each utterance with the highest total scores, from the highest down; where there are fewer, the last comes again.
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
            ends.push(Error::fit("the number of paths", chosen.len())?);
        }
        let paths = self.paths.carry(self.paths.fsas().index(&chosen)?)?;
        Ok(Self { paths, utterances: RowSplits::new(ends)? })
    }
}

/// Numbers of arcs and paths are i32 in FSAs.
fn to_i32(x: usize) -> i32 {
    i32::try_from(x).unwrap_or(i32::MAX)
}

/// The words along `paths`, `[fsa][path][arc]`.
fn words<F: Fsas>(graph: &Graph<F>, paths: &Ragged<i32>) -> Result<Ragged<i32>, Error> {
    let words = match graph.attributes().get(AUX_LABELS) {
        Some(Attribute::Lists(lists)) => lists.index_ragged(paths)?.remove_axis(2)?,
        Some(Attribute::Ints { values, .. }) => paths.with_values(index_select(values, paths.values(), 0)?)?,
        _ => {
            let arcs = graph.fsas().as_vec().arcs();
            paths.with_values(paths.values().iter().map(|&arc| arcs[index(arc)].label).collect::<Vec<_>>())?
        }
    };
    Ok(words.remove_values_leq(0))
}
