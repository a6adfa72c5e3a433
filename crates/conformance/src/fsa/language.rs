//! What an FSA accepts, by walking every path: the definition that needs no algorithm.

use std::collections::BTreeMap;

use fsa::{EPSILON, FINAL, FsaView};

/// More paths than any case has.
const MOST_PATHS: usize = 1_000_000;

/// What a path takes and puts out, without epsilons and the final label.
pub(super) type Strings = (Vec<i32>, Vec<i32>);

/// For each pair of strings the score of the best path, and the logarithm of the sum of all paths.
pub(super) type Language = BTreeMap<Strings, (f64, f64)>;

/// The language of an FSA without cycles, which need not be connected. `None` if it has a cycle that the walk meets, or too many paths.
pub(super) fn language(fsa: FsaView<'_>, aux_labels: Option<&[i32]>) -> Option<Language> {
    let mut walk = Walk { fsa, aux_labels, found: BTreeMap::new(), paths: 0 };
    if fsa.num_states() > 0 {
        walk.from(0, &mut (vec![], vec![]), 0.0, 0)?;
    }
    Some(walk.found)
}

struct Walk<'a> {
    fsa: FsaView<'a>,
    /// Of the arcs of this FSA.
    aux_labels: Option<&'a [i32]>,
    found: Language,
    paths: usize,
}

impl Walk<'_> {
    fn from(&mut self, state: usize, strings: &mut Strings, score: f64, depth: usize) -> Option<()> {
        if depth > self.fsa.num_states() {
            return None;
        }
        if Some(state) == self.fsa.final_state() {
            self.paths += 1;
            let (best, sum) = self.found.entry(strings.clone()).or_insert((f64::NEG_INFINITY, f64::NEG_INFINITY));
            *sum = log_add(*sum, score);
            *best = best.max(score);
            return (self.paths <= MOST_PATHS).then_some(());
        }
        let visible = |label: i32| label != EPSILON && label != FINAL;
        for at in self.fsa.arc_range(state) {
            let arc = self.fsa.arcs()[at];
            let before = (strings.0.len(), strings.1.len());
            strings.0.extend(Some(arc.label).filter(|&label| visible(label)));
            strings.1.extend(self.aux_labels.map(|aux| aux[at]).filter(|&label| visible(label)));
            let dest = usize::try_from(arc.dest_state).ok()?;
            self.from(dest, strings, score + f64::from(arc.score), depth + 1)?;
            strings.0.truncate(before.0);
            strings.1.truncate(before.1);
        }
        Some(())
    }
}

fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
