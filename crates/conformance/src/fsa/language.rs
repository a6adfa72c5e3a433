//! The strings that an FSA accepts, found by walking its paths: the definition, which needs no
//! algorithm.

use std::collections::BTreeMap;

use fsa::{AUX_LABELS, Attribute, EPSILON, FINAL, FsaOrVec, FsaView, Fsas, Graph};
use kaldera::base::math::log_add;

use crate::Stop;

/// More paths than any case has.
const MOST_PATHS: usize = 1_000_000;
/// If there are cycles, this many beginnings of paths are walked, which is surely enough to
/// distinguish two FSAs of a case.
const MOST_BEGINNINGS: u64 = 30_000;

/// The input and output strings of a path, without epsilons and the final label.
pub(super) type Strings = (Vec<i32>, Vec<i32>);

/// For each pair of strings the score of the best path, and the logarithm of the sum of all paths.
pub(super) type Language = BTreeMap<Strings, (f64, f64)>;

/// The languages of FSAs; `None` if there are cycles on paths that lead to the end.
pub(super) fn languages(graph: &Graph<FsaOrVec>) -> Result<Vec<Option<Language>>, Stop> {
    // Dead ends may have cycles that no accepted path meets.
    let connected = graph.connect()?;
    let walk = |fsa| walk(fsa, &connected, fsa.num_states(), Beyond::IsCycle);
    Ok(connected.fsas().as_fsa_vec().iter().map(walk).collect())
}

/// The languages of two vectors of FSAs, for comparison: of all paths if the FSA of `a` has no
/// cycles, else of paths with few arcs, where a path of `b` has `longer` arcs more than its
/// counterpart in `a`. `None` if only `b` has cycles, or too many paths.
pub(super) fn languages_of_both(
    a: &Graph<FsaOrVec>,
    b: &Graph<FsaOrVec>,
    longer: usize,
) -> Result<Vec<(Language, Option<Language>)>, Stop> {
    let (a, b) = (a.connect()?, b.connect()?);
    if a.fsas().as_fsa_vec().num_fsas() != b.fsas().as_fsa_vec().num_fsas() {
        return Err(Stop::Damaged("other numbers of FSAs are to be compared".into()));
    }
    let pair = |(of_a, of_b): (FsaView<'_>, FsaView<'_>)| {
        if let Some(all) = walk(of_a, &a, of_a.num_states(), Beyond::IsCycle) {
            return (all, walk(of_b, &b, of_b.num_states(), Beyond::IsCycle));
        }
        let most = few_arcs(of_a);
        let few = walk(of_a, &a, most, Beyond::IsLeftOut).unwrap_or_default();
        (few, walk(of_b, &b, most + longer, Beyond::IsLeftOut))
    };
    Ok(a.fsas().as_fsa_vec().iter().zip(b.fsas().as_fsa_vec().iter()).map(pair).collect())
}

/// The most arcs of a path for which at most [`MOST_BEGINNINGS`] are walked.
fn few_arcs(fsa: FsaView<'_>) -> usize {
    let mut ways = vec![0_u64; fsa.num_states()];
    ways[0] = 1;
    let mut walked = 0_u64;
    for arcs in 0..3 * fsa.num_states() {
        let mut next = vec![0_u64; fsa.num_states()];
        for arc in fsa.arcs() {
            let [src, dest] = [arc.src_state, arc.dest_state].map(|state| usize::try_from(state).unwrap_or_default());
            next[dest] = next[dest].saturating_add(ways[src]);
        }
        walked = next.iter().fold(walked, |sum, &ways| sum.saturating_add(ways));
        if walked > MOST_BEGINNINGS {
            return arcs;
        }
        ways = next;
    }
    3 * fsa.num_states()
}

/// The meaning of a path with more arcs than asked for.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    IsCycle,
    IsLeftOut,
}

fn walk(fsa: FsaView<'_>, graph: &Graph<FsaOrVec>, most_arcs: usize, beyond: Beyond) -> Option<Language> {
    let aux = graph.attributes().get(AUX_LABELS);
    let mut walk = Walk { fsa, aux, most_arcs, beyond, found: BTreeMap::new(), paths: 0 };
    if fsa.num_states() > 0 {
        walk.from(0, &mut (vec![], vec![]), 0.0, 0)?;
    }
    Some(walk.found)
}

struct Walk<'a> {
    fsa: FsaView<'a>,
    /// Of the arcs of all FSAs.
    aux: Option<&'a Attribute>,
    most_arcs: usize,
    beyond: Beyond,
    found: Language,
    paths: usize,
}

impl<'a> Walk<'a> {
    fn from(&mut self, state: usize, strings: &mut Strings, score: f64, arcs: usize) -> Option<()> {
        if arcs > self.most_arcs {
            return (self.beyond == Beyond::IsLeftOut).then_some(());
        }
        if Some(state) == self.fsa.final_state() {
            self.paths += 1;
            let (best, sum) = self.found.entry(strings.clone()).or_insert((f64::NEG_INFINITY, f64::NEG_INFINITY));
            *sum = log_add(*sum, score);
            *best = best.max(score);
            return (self.paths <= MOST_PATHS).then_some(());
        }
        let visible = |label: &i32| *label != EPSILON && *label != FINAL;
        for at in self.fsa.arc_range(state) {
            let arc = self.fsa.arcs()[at];
            let before = (strings.0.len(), strings.1.len());
            strings.0.extend(Some(arc.label).filter(visible));
            strings.1.extend(self.put_out(at).iter().copied().filter(visible));
            let dest = usize::try_from(arc.dest_state).ok()?;
            self.from(dest, strings, score + f64::from(arc.score), arcs + 1)?;
            strings.0.truncate(before.0);
            strings.1.truncate(before.1);
        }
        Some(())
    }

    /// The output labels of an arc of this FSA.
    fn put_out(&self, arc: usize) -> &'a [i32] {
        let arc = self.fsa.first_arc() + arc;
        match self.aux {
            Some(Attribute::Ints { values, .. }) => &values[arc..=arc],
            Some(Attribute::Lists(lists)) => lists.row(arc),
            _ => &[],
        }
    }
}
