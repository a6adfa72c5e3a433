//! Minimization of weighted acceptors and transducers.

use kaldera_base::setters;

use crate::core::arc::Arc;
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::core::semiring::Semiring;
use crate::error::{Error, Operation};
use crate::openfst::determinize::quantize;
use crate::openfst::factor::{Rest, factor};
use crate::openfst::machine::{Built, Machine, map_each};
use crate::openfst::partition::{Automaton, same_futures};
use crate::openfst::push::{Pushed, push_to_start};
use crate::openfst::strings::Strings;
use crate::openfst::trim::{Trimmed, trim};
use crate::support::ids::{NONE, index, number};
use crate::support::interner::Interner;

/// Options of [`minimize`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct MinimizeOptions {
    /// Scores are equal if they are rounded to the same multiple of this: 1/1024 unless set, as in
    /// OpenFst's `kDelta` and [`determinize`](crate::openfst::determinize()); the command
    /// `fstminimize` has 1e-6.
    pub delta: f32,
    /// Also take FSAs that are not deterministic: the result is equivalent and not larger, but
    /// there may be smaller ones.
    pub allow_nondet: bool,
    /// The semiring in which scores are pushed. In the log semiring FSAs must be deterministic.
    pub semiring: Semiring,
    /// Push scores towards the start. Without it scores stay in place, and states are merged only
    /// if the scores of their arcs are equal too, as with Kaldi's `fstminimizeencoded`. Use it for
    /// FSAs with a cycle around which the best score rises, which cannot be pushed.
    #[doc(alias = "fstminimizeencoded")]
    pub push_scores: bool,
    /// The largest size of one FSA and of the work on it. Inputs that may need more are rejected,
    /// mostly before the work begins. By default there is no limit.
    pub limits: Limits,
}

setters! {
    MinimizeOptions:
    delta, with_delta: f32 = 1.0 / 1024.0, "With scores that are rounded to multiples of `delta`.";
    allow_nondet, with_allow_nondet: bool = false, "With FSAs that are not deterministic allowed.";
    semiring, with_semiring: Semiring = Semiring::Tropical, "In this semiring.";
    push_scores, with_push_scores: bool = true, "With scores that are pushed, or stay where they are.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
}

/// Returns the smallest equivalent deterministic FSAs. Scores, and the output labels of a
/// transducer, are pushed towards the start, which makes states comparable that differ only in the
/// places of their scores and labels; then states with the same future are merged.
///
/// Labels that come two at a time after pushing wait for later arcs, which can need additional
/// states, as in OpenFst. A start state that can be entered again gets another one before it, if
/// something is pushed through it. Attributes other than the output labels are refused. The result
/// is always connected. O(states + arcs) without cycles, O(arcs * log(states)) with.
///
/// ```
/// use fsa::{Arc, Fsa, Graph};
/// use fsa::openfst::{MinimizeOptions, minimize};
///
/// // The endings of both words are the same.
/// let arcs = [
///     Arc::new(0, 1, 5, 0.0),
///     Arc::new(0, 2, 6, 0.0),
///     Arc::new(1, 3, 7, 0.0),
///     Arc::new(2, 4, 7, -2.0),
///     Arc::new(3, 5, -1, 0.0),
///     Arc::new(4, 5, -1, 0.0)
/// ];
/// let fsa = Graph::new(Fsa::from_arcs(6, arcs.to_vec())?);
/// let made = minimize(&fsa, &MinimizeOptions::default())?;
/// assert_eq!((made.fsas().num_states(), made.fsas().scores()), (4, vec![0.0, -2.0, 0.0, 0.0]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// [`Error::NotDeterministic`] unless that is allowed; [`Error::EndlessCycle`] if scores are
/// pushed; [`Error::LostAttribute`]; [`Error::Attribute`] if the output labels are lists;
/// [`Error::LogSemiring`] for FSAs that are not deterministic; [`Error::Limit`].
#[doc(alias = "fstminimize")]
pub fn minimize<F: Fsas>(graph: &Graph<F>, options: &MinimizeOptions) -> Result<Graph<F>, Error> {
    map_each(graph, |fsa, machine| minimize_one(fsa, machine, options))
}

/// Runs [`minimize`] on one FSA.
pub(super) fn minimize_one(fsa: usize, machine: Machine<'_>, options: &MinimizeOptions) -> Result<Built, Error> {
    let (states, arcs) = (machine.fsa.num_states(), machine.fsa.arcs().len());
    let flat = states.saturating_mul(BYTES_OF_STATE).saturating_add(arcs.saturating_mul(BYTES_OF_ARC));
    let bytes_alone = Limits { max_states: None, ..options.limits };
    let within = |strings: &Strings| {
        let needed = flat.saturating_add(strings.bytes());
        bytes_alone.check(Operation::Minimize, needed, states, arcs)
    };
    within(&Strings::new())?;
    let Trimmed { builder, sources, acyclic } = trim(machine.fsa);
    if builder.ends.is_empty() {
        return Ok(Built::default());
    }
    let deterministic = is_deterministic(machine, fsa, &builder, options.allow_nondet)?;
    if !deterministic && options.semiring == Semiring::Log {
        return Err(Error::LogSemiring { operation: Operation::MinimizeNondeterministic });
    }
    let mut strings = Strings::new();
    let outputs = machine
        .aux
        .map(|_| sources.iter().map(|&arc| strings.append(0, machine.output(arc as usize))).collect::<Vec<_>>());
    drop(sources);
    let mut work = Pushed { builder, outputs };
    let (score, before) = push_to_start(fsa, &mut work, &mut strings, options.push_scores.then_some(options.semiring))?;
    work.pass_start(score, before, &mut strings)?;
    within(&strings)?;
    let symbols = symbols(&work, options.delta);
    let dests: Vec<_> = work.builder.arcs.iter().map(|arc| arc.dest_state.cast_unsigned()).collect();
    let automaton = Automaton { ends: &work.builder.ends, symbols: &symbols, dests: &dests };
    let (classes, num_classes) = same_futures(&automaton, acyclic, deterministic);
    drop(dests);
    options.limits.check(Operation::Minimize, 0, num_classes, work.builder.arcs.len())?;
    let Pushed { builder, outputs } = merge(work, &symbols, &classes, num_classes, deterministic);
    drop((symbols, classes));
    match outputs {
        None => Ok(Built { builder, aux: None }),
        Some(outputs) => factor(builder, outputs, &mut strings, Rest::Waits, (Operation::Minimize, options.limits)),
    }
}

/// Upper bound of the bytes held at a time for an arc: the arc twice (36 with its output and its
/// index in the input), its symbol as a key in a table that has just grown (44) and as a number,
/// with the next state (8), and during partitioning its index among the arcs that enter a state,
/// among the arcs with the same symbol, and in a signature (36).
const BYTES_OF_ARC: usize = 124;

/// The same for a state: the ends of its arcs twice, its place in walks, its cost and string, and
/// three numbers in each of two partitions.
const BYTES_OF_STATE: usize = 80;

/// Returns `true` if no two arcs of a state have the same label.
fn is_deterministic(
    machine: Machine<'_>,
    fsa: usize,
    builder: &SortedFsaBuilder,
    allow_nondet: bool,
) -> Result<bool, Error> {
    let (mut start, mut labels) = (0, Vec::new());
    for &end in &builder.ends {
        let arcs = &builder.arcs[start..end];
        start = end;
        if arcs.is_sorted_by(|a, b| a.label < b.label) {
            continue;
        }
        labels.clear();
        labels.extend(arcs.iter().map(|arc| arc.label));
        labels.sort_unstable();
        if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
            if allow_nondet {
                return Ok(false);
            }
            return Err(not_deterministic(machine, fsa, pair[0]));
        }
    }
    Ok(true)
}

/// Returns the error for a state of the machine itself.
fn not_deterministic(machine: Machine<'_>, fsa: usize, label: i32) -> Error {
    let twice = |&state: &usize| machine.fsa.arcs_of(state).iter().filter(|arc| arc.label == label).count() > 1;
    let state = (0..machine.fsa.num_states()).find(twice).unwrap_or_default();
    Error::NotDeterministic { fsa, state, label }
}

/// Returns a number for each arc: equal ones for the same label, string and rounded score.
fn symbols(work: &Pushed, delta: f32) -> Vec<u32> {
    let mut known = Interner::new();
    let arcs = work.builder.arcs.iter().enumerate();
    arcs.map(|(at, arc)| {
        let cost = quantize(-arc.score, delta).to_bits();
        let output = work.outputs.as_ref().map_or(0, |outputs| outputs[at]);
        known.number(((u64::from(arc.label.cast_unsigned()) << 32) | u64::from(cost), output))
    })
    .collect()
}

/// Merges each class into one state, in the order in which classes are reached from the start; its
/// arcs are the arcs of the first of its states.
fn merge(work: Pushed, symbols: &[u32], classes: &[u32], num_classes: usize, deterministic: bool) -> Pushed {
    let Pushed { builder, outputs } = work;
    let last = builder.ends.len() - 1;
    let mut first = vec![NONE; num_classes];
    for (state, &class) in classes.iter().enumerate().rev() {
        first[class as usize] = number(state);
    }
    let mut new = vec![NONE; num_classes];
    new[classes[last] as usize] = number(num_classes - 1);
    new[classes[0] as usize] = 0;
    let (mut queue, mut next) = (vec![classes[0]], 0);
    let mut made = Pushed { builder: SortedFsaBuilder::default(), outputs: outputs.as_ref().map(|_| Vec::new()) };
    let mut row = Vec::new();
    while let Some(&class) = queue.get(next) {
        next += 1;
        let state = first[class as usize] as usize;
        let src = new[class as usize].cast_signed();
        let start = made.builder.arcs.len();
        let arcs = state.checked_sub(1).map_or(0, |before| builder.ends[before])..builder.ends[state];
        row.clear();
        row.extend(arcs.map(|arc| (symbols[arc], classes[index(builder.arcs[arc].dest_state)], arc)));
        if !deterministic {
            // Of arcs that have become equal, the first one stays.
            row.sort_unstable();
            row.dedup_by_key(|(symbol, to, _)| (*symbol, *to));
            row.sort_unstable_by_key(|(_, _, arc)| *arc);
        }
        for &(_, to, arc) in &row {
            let Arc { label, score, .. } = builder.arcs[arc];
            if new[to as usize] == NONE {
                new[to as usize] = number(queue.len());
                queue.push(to);
            }
            made.builder.arcs.push(Arc::new(src, new[to as usize].cast_signed(), label, score));
            if let (Some(made), Some(outputs)) = (&mut made.outputs, &outputs) {
                made.push(outputs[arc]);
            }
        }
        debug_assert!(made.builder.arcs.len() > start, "only the final state has no arcs, and it is not in the queue");
        made.builder.end_state();
    }
    made.builder.end_state();
    made
}
