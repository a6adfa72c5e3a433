//! Comparison of two FSAs by structure.

use crate::core::arc::{Arc, EPSILON};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{Error, Operation};
use crate::openfst::determinize::{DeterminizeOptions, determinize_parts, without_epsilons};
use crate::openfst::machine::{Machine, aux_labels};
use crate::openfst::push::{Pushed, push_to_start};
use crate::openfst::strings::Strings;
use crate::openfst::trim::{trim, trim_part};
use crate::support::ids::{narrow, number};

/// Returns `true` if `a` and `b` accept the same strings with scores within `delta` of each other
/// and, as transducers, have the same output labels.
///
/// Epsilons are removed. FSAs that are not deterministic are determinized, scores and output labels
/// are pushed to the start, and then both are walked in parallel (Hopcroft and Karp).
///
/// # Errors
/// Errors of determinization, and [`Error::EndlessCycle`]; `a` is FSA 0, `b` is FSA 1.
pub(crate) fn is_exactly_equivalent(
    a: &Graph<Fsa>,
    b: &Graph<Fsa>,
    delta: f32,
    semiring: Semiring,
) -> Result<bool, Error> {
    let mut strings = Strings::new();
    let as_transducers = a.attributes().get(crate::core::graph::AUX_LABELS).is_some()
        || b.attributes().get(crate::core::graph::AUX_LABELS).is_some();
    let how = DeterminizeOptions::default().with_semiring(semiring);
    let canonical = |fsa, graph: &Graph<Fsa>, strings: &mut Strings| {
        let how = how.clone().with_delta(rounding(delta, graph.fsas().view()));
        Canonical::new(fsa, graph, as_transducers, how, strings)
    };
    let a = canonical(0, a, &mut strings)?;
    let b = canonical(1, b, &mut strings)?;
    Ok(same(&a, &b, delta))
}

/// Relative rounding error of f32 for the scores of a path that are added up and subtracted again.
const ROUNDED_OFF: f32 = 8.0 * f32::EPSILON;

/// Returns the [`delta`](DeterminizeOptions::delta) of the determinization for a comparison up to
/// `delta`. Each label of a string may add half of it to the error of the string's score, and a
/// pushed score is the difference of two such scores. A string of an FSA without cycles has fewer
/// labels than there are states, so the errors of both sides sum to at most a quarter of `delta`.
///
/// It is not finer than f32 rounds the scores; otherwise costs that are equal except for rounding
/// would never lead back to a known state. It is `delta` divided by a power of two, so that
/// multiples of a `delta` such as 1/1024 stay exact.
fn rounding(delta: f32, fsa: FsaView<'_>) -> f32 {
    const OF_A_LABEL: f64 = 1.0 / 8.0;
    let most_labels = number(fsa.num_states()).next_power_of_two();
    let sizes = fsa.arcs().iter().map(|arc| arc.score.abs()).filter(|size| size.is_finite());
    let rounded_off = ROUNDED_OFF * sizes.fold(0.0, f32::max);
    let mut step = delta * narrow(OF_A_LABEL / f64::from(most_labels));
    while step < rounded_off && step < delta {
        step *= 2.0;
    }
    step.min(delta)
}

/// A deterministic machine whose scores and labels are as early as possible.
struct Canonical {
    pushed: Pushed,
    /// Score and output before the first arc.
    before: (f32, u32),
}

impl Canonical {
    fn new(
        fsa: usize,
        graph: &Graph<Fsa>,
        as_transducer: bool,
        how: DeterminizeOptions,
        strings: &mut Strings,
    ) -> Result<Self, Error> {
        let view = graph.fsas().view();
        let own: Vec<i32>;
        let aux = match aux_labels(graph)? {
            None if as_transducer => {
                own = view.arcs().iter().map(|arc| arc.label).collect();
                Some(&own[..])
            }
            aux => aux,
        };
        let machine = Machine { fsa: view, aux };
        let trimmed = trim(view);
        let mut outputs = aux.map(|_| {
            let of = |&arc: &u32| strings.append(0, machine.output(arc as usize));
            trimmed.sources.iter().map(of).collect::<Vec<_>>()
        });
        let mut builder = trimmed.builder;
        let epsilons = builder.arcs.iter().any(|arc| arc.label == EPSILON);
        if epsilons || !sort_rows(&mut builder.arcs, &builder.ends, outputs.as_deref_mut()) {
            if epsilons && how.semiring == Semiring::Log {
                return Err(Error::LogSemiring { operation: Operation::EquivalenceWithEpsilons });
            }
            let how = how.with_remove_epsilons(epsilons);
            let determinize = if epsilons { without_epsilons } else { determinize_parts };
            let (made, made_outputs) = determinize(fsa, machine, &how, strings)?;
            let trimmed = trim_part(&made)?;
            outputs = aux.map(|_| trimmed.sources.iter().map(|&arc| made_outputs[arc as usize]).collect());
            builder = trimmed.builder;
        }
        let mut pushed = Pushed { builder, outputs };
        let before = if pushed.builder.ends.is_empty() {
            (0.0, 0)
        } else {
            // A deterministic FSA has one path for a string, so either semiring will do.
            push_to_start(fsa, &mut pushed, strings, Some(Semiring::Tropical))?
        };
        Ok(Self { pushed, before })
    }

    fn arcs_of(&self, state: u32) -> std::ops::Range<usize> {
        let (state, ends) = (state as usize, &self.pushed.builder.ends);
        state.checked_sub(1).map_or(0, |before| ends[before])..ends[state]
    }

    fn arc(&self, at: usize) -> (&Arc, u32) {
        (&self.pushed.builder.arcs[at], self.pushed.outputs.as_ref().map_or(0, |outputs| outputs[at]))
    }
}

/// Sorts the arcs of each state by label, final ones last as in [`determinize_parts`], and returns
/// `true` if it is deterministic.
fn sort_rows(arcs: &mut [Arc], ends: &[usize], mut outputs: Option<&mut [u32]>) -> bool {
    let mut start = 0;
    ends.iter().all(|&end| {
        let row = start..end;
        start = end;
        if !arcs[row.clone()].is_sorted_by_key(|arc| arc.label.cast_unsigned()) {
            let of = |at: usize| (arcs[at], outputs.as_ref().map_or(0, |outputs| outputs[at]));
            let mut sorted: Vec<_> = row.clone().map(of).collect();
            sorted.sort_by_key(|(arc, _)| arc.label.cast_unsigned());
            for (at, (arc, output)) in row.clone().zip(sorted) {
                arcs[at] = arc;
                if let Some(outputs) = &mut outputs {
                    outputs[at] = output;
                }
            }
        }
        arcs[row].windows(2).all(|pair| pair[0].label != pair[1].label)
    })
}

fn same(a: &Canonical, b: &Canonical, delta: f32) -> bool {
    let [of_a, of_b] = [a, b].map(|machine| machine.pushed.builder.ends.len());
    if of_a == 0 || of_b == 0 {
        return of_a == of_b;
    }
    let near = |x: f32, y: f32| (x - y).abs() <= delta + ROUNDED_OFF * x.abs().max(y.abs());
    if a.before.1 != b.before.1 || !near(a.before.0, b.before.0) {
        return false;
    }
    // Sets of states that must be equal; the states of b follow the states of a.
    let mut sets: Vec<u32> = (0..number(of_a + of_b)).collect();
    let (mut pairs, behind) = (vec![(0, 0)], number(of_a));
    unite(&mut sets, 0, behind);
    while let Some((p, q)) = pairs.pop() {
        let (rows_a, rows_b) = (a.arcs_of(p), b.arcs_of(q));
        if rows_a.len() != rows_b.len() {
            return false;
        }
        for (x, y) in rows_a.zip(rows_b) {
            let ((x, out_x), (y, out_y)) = (a.arc(x), b.arc(y));
            if x.label != y.label || out_x != out_y || !near(x.score, y.score) {
                return false;
            }
            let (p, q) = (x.dest_state.cast_unsigned(), y.dest_state.cast_unsigned());
            if unite(&mut sets, p, behind + q) {
                pairs.push((p, q));
            }
        }
    }
    true
}

/// Merges two sets; returns `false` if they were one.
fn unite(sets: &mut [u32], a: u32, b: u32) -> bool {
    let mut root = |mut x: u32| {
        while sets[x as usize] != x {
            let next = sets[sets[x as usize] as usize];
            sets[x as usize] = next;
            x = next;
        }
        x
    };
    let (a, b) = (root(a), root(b));
    sets[a as usize] = b;
    a != b
}
