//! k2's determinization, which returns for each arc the arcs that it stands for.

use kaldera_base::setters;
use ragged_core::Ragged;

use crate::core::builder::{Lists, SortedFsaBuilder, map_fsas};
use crate::core::fsa::Fsas;
use crate::core::limits::Limits;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::k2::connect::{goes_forward, useful_states};
use crate::k2::determinize::expansion::{Expansion, STATES_AT_ONCE, Search};
use crate::k2::determinize::numbering::Numbering;
use crate::k2::determinize::subsets::Subsets;

mod expansion;
mod numbering;
mod subsets;
mod weight_pushing;

pub use weight_pushing::WeightPushing;

/// Options of [`determinize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct DeterminizeOptions {
    /// Placement of the scores of undecided paths.
    pub weight_pushing: WeightPushing,
    /// The largest size of one FSA of the result, with its arc map and the subsets; by default half
    /// of the memory, and 2^24 states.
    pub limits: Limits,
}

setters! {
    DeterminizeOptions:
    weight_pushing, with_weight_pushing: WeightPushing, "With scores placed there.";
    limits, with_limits: Limits, "With these limits.";
}

impl From<WeightPushing> for DeterminizeOptions {
    fn from(weight_pushing: WeightPushing) -> Self {
        Self { weight_pushing, limits: Limits::default() }
    }
}

/// Determinizes FSAs: no two arcs of a state of the result have the same label, so that each string
/// has one path, with the score of its best path in the input. Returns also for each arc the arcs
/// of the input that it stands for, in order. Label 0 is a symbol like others.
///
/// While several paths are open, arcs stand for none until the best one is decided; the arc after
/// that stands for all of its arcs since. So attributes of the best path follow by
/// [`carry_ragged`](crate::Graph::carry_ragged); if a transducer outputs different strings for one
/// input, the best one is kept. States of no use are left out.
/// [`openfst::determinize`](crate::openfst::determinize()) gives smaller results, as it merges
/// states whose scores ahead are equal.
///
/// A state of the result is the last state through which all open paths went, and the labels since.
/// Time and memory are in proportion to the result and to the open paths; the result can be
/// exponential, and infinite if paths stay open around a cycle.
///
/// # Errors
/// [`Error::DeterminizeLimit`], [`Error::TooLarge`], [`Error::Score`] if scores overflow.
#[doc(alias = "Determinize")]
pub fn determinize<F: Fsas>(fsas: &F, options: DeterminizeOptions) -> Result<(F, Ragged<i32>), Error> {
    let (made, maps) = map_fsas(fsas.as_fsa_vec(), |i, fsa| determinize_one(i, fsa, options))?;
    Ok((fsas.same_kind(made), Lists::assemble(maps)?))
}

/// Expands all known states, which makes more of them known, and so on.
fn determinize_one(
    fsa_index: usize,
    fsa: FsaView<'_>,
    DeterminizeOptions { weight_pushing, limits }: DeterminizeOptions,
) -> Result<(SortedFsaBuilder, Lists), Error> {
    let useful = (!goes_forward(fsa)).then(|| useful_states(fsa));
    if fsa.num_states() == 0 || useful.as_ref().is_some_and(|useful| !useful[0]) {
        return Ok(nothing());
    }
    let (mut known, mut expansion) = (Subsets::default(), Expansion::default());
    let mut numbering = Numbering::new(fsa_index, fsa, limits);
    numbering.single(&known, 0, 0)?;
    loop {
        let num_states = numbering.make_known(&mut known)?;
        if num_states == 0 {
            return numbering.finish();
        }
        let mut search = Search { fsa, weight_pushing, useful: useful.as_deref(), known: &known, most_bytes: 0 };
        for first in (0..num_states).step_by(STATES_AT_ONCE) {
            search.most_bytes = numbering.bytes_left(&known);
            search.leave(first..num_states.min(first + STATES_AT_ONCE), &mut expansion);
            numbering.number(&known, &expansion)?;
        }
    }
}

/// Returns no states, and no arc map.
fn nothing() -> (SortedFsaBuilder, Lists) {
    (SortedFsaBuilder::default(), Lists::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::{Fsa, fsa};
    use crate::core::graph::Graph;
    use crate::error::Limited;

    /// Case 168 of k2's known answers, with shorter numbers.
    #[test]
    fn scores_wait_or_are_pushed() {
        let arcs =
            [(0, 1, 3, -1.0), (0, 2, 3, -0.5), (1, 3, -1, 0.5), (1, 2, 2, -0.25), (2, 3, -1, -0.5), (2, 3, -1, 0.75)];
        let graph = Graph::new(fsa(4, &arcs)).with_aux_labels(vec![3, 1, -1, 1, -1, -1]).unwrap();
        let scores = |pushing: WeightPushing| determinize(graph.fsas(), pushing.into()).unwrap().0.scores();
        assert_eq!(scores(WeightPushing::No), [0.0, -1.25, 0.25, 0.75]);
        assert_eq!(scores(WeightPushing::Tropical), [-0.5, -0.75, 0.75, 0.75]);
        let (made, map) = determinize(graph.fsas(), WeightPushing::No.into()).unwrap();
        assert_eq!(made.labels(), [3, 2, -1, -1]);
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[][..], &[0, 3], &[1, 5], &[5]]);
        let aux = graph.determinize(WeightPushing::No.into()).unwrap();
        let lists = aux.attributes().lists(crate::core::graph::AUX_LABELS).unwrap();
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[][..], &[3, 1], &[1, -1], &[-1]]);
    }

    #[test]
    fn dead_ends_and_nothing() {
        let dead = fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 3, -1, 0.5)]);
        let (made, map) = determinize(&dead, Default::default()).unwrap();
        assert_eq!(made, fsa(3, &[(0, 1, 3, 0.0), (1, 2, -1, 0.5)]));
        assert_eq!(map.values(), [0, 2]);
        assert_eq!(determinize(&Fsa::empty(), WeightPushing::No.into()).unwrap().0, Fsa::empty());
        assert_eq!(determinize(&fsa(3, &[(0, 1, 3, 0.0)]), WeightPushing::No.into()).unwrap().0, Fsa::empty());
    }

    #[test]
    fn what_stays_open_is_refused() {
        let twins =
            fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 1, 5, 0.0), (1, 3, -1, 0.0), (2, 2, 5, 0.5), (2, 3, -1, 0.0)]);
        let made = determinize(
            &twins,
            DeterminizeOptions { weight_pushing: WeightPushing::Log, limits: Limits::default().with_max_states(100) },
        );
        assert!(matches!(made, Err(Error::DeterminizeLimit { limit: 100, largest_subset: 2, .. })), "{made:?}");
        let limits = Limits::default().with_max_bytes(10_000);
        let made = determinize(&twins, DeterminizeOptions { limits, ..DeterminizeOptions::default() });
        assert!(
            matches!(made, Err(Error::DeterminizeLimit { limited: Limited::Bytes, limit: 10_000, .. })),
            "{made:?}"
        );
    }
}
