//! Epsilon normalization: the epsilons of one side come behind everything else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::core::limits::{Limits, bytes_with};
use crate::error::{Error, Operation, Quantity};
use crate::k2::epsilon_closure::ranks;
use crate::openfst::factor::{Rest, factor};
use crate::openfst::machine::{Built, Machine, map_each, only_aux_labels};
use crate::openfst::project::{Side, project};
use crate::openfst::strings::{EMPTY, Strings};
use crate::openfst::trim::trim;
use crate::paths::distance::{ROUNDING, gains};
use crate::support::adjacency::Adjacency;
use crate::support::ids::{index, narrow, number};
use crate::support::interner::{Table, mix};

/// Returns equivalent FSAs on whose paths all arcs with input label 0 (or, with [`Side::Output`],
/// output label 0) come behind all others. Acceptors are returned without epsilons.
///
/// Output labels of arcs with input label 0 wait for the next arc that takes a symbol; if there is
/// none, they follow at the end. Of several paths with the same labels the best one stays. So a
/// transducer can be determinized whose epsilons are not symbols.
/// [`determinize`](crate::openfst::determinize()) with `remove_epsilons` does the same at once,
/// and, since it need not let labels wait, for more transducers. States that lie on no path are
/// left out.
///
/// The result is finite if no cycle outputs more labels than it takes; otherwise the number of
/// waiting labels would grow without bound. The transducer need not be functional. As OpenFst's
/// `EpsNormalize` (M. Mohri, *Generic epsilon-removal and input epsilon-normalization algorithms
/// for weighted transducers*, 2002). Time and memory are in proportion to the epsilon paths from
/// state to state, and to the labels that can wait at a state, within `limits` for each FSA.
///
/// ```
/// use fsa::{Arc, Fsa, Graph, Limits};
/// use fsa::openfst::{Side, epsilon_normalize};
///
/// // Puts out 70 before it takes 7.
/// let fsa = Fsa::from_arcs(
///     4,
///     vec![Arc::new(0, 1, 0, 0.25), Arc::new(1, 2, 7, 0.5), Arc::new(2, 3, -1, 0.0)]
/// )?;
/// let early = Graph::new(fsa).with_aux_labels(vec![70, 0, -1])?;
/// let normal = epsilon_normalize(&early, Side::Input, Limits::default())?;
/// assert_eq!(
///     *normal.fsas(),
///     Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.75), Arc::new(1, 2, -1, 0.0)])?
/// );
/// assert_eq!(normal.aux_labels(), Some(&[70, -1][..]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// [`Error::EndlessOutput`] if the result would be infinite; [`Error::EndlessCycle`] if a cycle of
/// epsilons makes scores better; [`Error::Limit`]; [`Error::LostAttribute`] for attributes other
/// than the output labels; [`Error::Attribute`] if these are lists.
#[doc(alias = "EpsNormalize")]
#[doc(alias = "fstepsnormalize")]
pub fn epsilon_normalize<F: Fsas>(graph: &Graph<F>, side: Side, limits: Limits) -> Result<Graph<F>, Error> {
    let normalize = |fsa, machine: Machine<'_>| normalize(fsa, machine, limits);
    if side == Side::Input || only_aux_labels(graph)?.is_none() {
        return map_each(graph, normalize);
    }
    exchange(&map_each(&exchange(graph)?, normalize)?)
}

/// Exchanges the input and output labels of a transducer. Unlike with `invert`, its final arcs may
/// output labels.
fn exchange<F: Fsas>(graph: &Graph<F>) -> Result<Graph<F>, Error> {
    let (fsas, map) = project(graph, Side::Output)?;
    let old = graph.fsas().as_fsa_vec().arcs();
    let taken = |(&from, arc): (&i32, &Arc)| match arc.label {
        FINAL => FINAL,
        _ => old.get(index(from.max(0))).map_or(EPSILON, |old| old.label.max(EPSILON)),
    };
    let aux: Vec<_> = map.iter().zip(fsas.as_fsa_vec().arcs()).map(taken).collect();
    Graph::new(fsas).with_graph_labels(graph.graph_labels()).with_aux_labels(aux)
}

fn normalize(fsa: usize, machine: Machine<'_>, limits: Limits) -> Result<Built, Error> {
    let trimmed = trim(machine.fsa);
    let builder = &trimmed.builder;
    if builder.ends.is_empty() {
        return Ok(Built::default());
    }
    let outputs: Vec<_> = trimmed.sources.iter().map(|&arc| machine.output(arc as usize)).collect();
    let work = Normalizer::new(fsa, builder, &outputs, limits);
    let silent = builder.arcs.iter().zip(&outputs).filter(|(arc, _)| arc.label == EPSILON);
    check_growth(fsa, builder.ends.len(), silent.map(|(arc, &output)| (arc.states(), i64::from(output != EPSILON))))?;
    let mut strings = Strings::new();
    let (builder, outputs) = work.run(&mut strings).map_err(|error| trimmed.name_state(machine.fsa, error))?;
    if machine.aux.is_none() {
        return Ok(Built { builder, aux: None });
    }
    let more =
        |(arc, &output): (&Arc, &u32)| (arc.states(), strings.labels(output).fold(-1, |length: i64, _| length + 1));
    let going_on = builder.arcs.iter().zip(&outputs).filter(|(arc, _)| arc.label != FINAL);
    check_growth(fsa, builder.ends.len(), going_on.map(more))?;
    factor(builder, outputs, &mut strings, Rest::Waits, (Operation::EpsilonNormalize, limits))
}

/// Checks that the number of waiting labels at each state is bounded: no cycle adds labels. Each
/// arc adds, or removes, the given number of them.
///
/// # Errors
/// [`Error::EndlessOutput`].
fn check_growth(
    fsa: usize,
    num_states: usize,
    arcs: impl Iterator<Item = ((usize, usize), i64)> + Clone,
) -> Result<(), Error> {
    if arcs.clone().all(|(_, more)| more <= 0) {
        return Ok(());
    }
    let by_source = Adjacency::new(num_states, arcs.clone().map(|((src, _), _)| src));
    let arcs: Vec<_> = arcs.map(|((_, dest), more)| (dest, more)).collect();
    let row = |state: usize| by_source.row(state).iter().map(|&arc| arcs[arc as usize]);
    // On a path without cycles each state is left once.
    let bound: i64 = (0..num_states).map(|state| row(state).map(|(_, more)| more.max(0)).max().unwrap_or(0)).sum();
    let (mut waiting, mut queued) = (vec![0; num_states], vec![true; num_states]);
    let mut queue: VecDeque<usize> = (0..num_states).collect();
    while let Some(state) = queue.pop_front() {
        queued[state] = false;
        for (dest, more) in row(state) {
            let length = waiting[state] + more;
            if length > bound {
                return Err(Error::EndlessOutput { fsa, labels: bound });
            }
            if length > waiting[dest] {
                waiting[dest] = length;
                if !std::mem::replace(&mut queued[dest], true) {
                    queue.push_back(dest);
                }
            }
        }
    }
    Ok(())
}

/// A state reached over arcs with label 0, and their output.
#[derive(Debug, Clone, Copy)]
struct EpsilonPath {
    state: u32,
    string: u32,
    cost: f64,
    /// Number of its arcs.
    length: usize,
    /// `true` if it is in the queue.
    queued: bool,
}

struct Normalizer<'a> {
    fsa: usize,
    builder: &'a SortedFsaBuilder,
    /// Output label of each arc.
    outputs: &'a [i32],
    /// For each state, `true` if arcs with label 0 leave it.
    silent: Vec<bool>,
    /// An order in which these arcs lead to later states, as far as there is one.
    ranks: Vec<i32>,
    /// For each state its number in the result, or -1.
    names: Vec<i32>,
    ways: Vec<EpsilonPath>,
    limits: Limits,
    /// Number of bytes in use other than paths and strings.
    bytes_made: usize,
}

impl<'a> Normalizer<'a> {
    fn new(fsa: usize, builder: &'a SortedFsaBuilder, outputs: &'a [i32], limits: Limits) -> Self {
        let num_states = builder.ends.len();
        let row = |state: usize| &builder.arcs[range(builder, state)];
        let is_silent = |arc: &&Arc| arc.label == EPSILON;
        let silent = (0..num_states).map(|state| row(state).iter().any(|arc| is_silent(&arc))).collect();
        let dests = |state| row(state).iter().filter(is_silent).map(|arc| arc.states().1);
        // States that only arcs with label 0 enter are not needed.
        let mut names = vec![-1; num_states];
        builder.arcs.iter().filter(|arc| arc.label != EPSILON).for_each(|arc| names[arc.states().1] = 0);
        (names[0], names[num_states - 1]) = (0, 0);
        names.iter_mut().filter(|name| **name == 0).zip(0..).for_each(|(name, new)| *name = new);
        let ranks = ranks(num_states, dests).0;
        Self { fsa, builder, outputs, silent, ranks, names, ways: Vec::new(), limits, bytes_made: 0 }
    }

    /// Returns the machine without arcs with label 0, and the output of each arc.
    fn run(mut self, strings: &mut Strings) -> Result<(SortedFsaBuilder, Vec<u32>), Error> {
        let (mut made, mut outputs) = (SortedFsaBuilder::default(), Vec::new());
        let mut row: Vec<(Arc, u32)> = Vec::new();
        for state in 0..self.builder.ends.len() {
            let src_state = self.names[state];
            if src_state < 0 {
                continue;
            }
            self.follow(state, strings)?;
            row.clear();
            for way in &self.ways {
                for at in range(self.builder, way.state as usize) {
                    let arc = self.builder.arcs[at];
                    if arc.label != EPSILON {
                        let dest_state = self.names[arc.states().1];
                        let string = strings.append(way.string, self.outputs[at]);
                        let score = narrow(f64::from(arc.score) - way.cost).clamp(f32::MIN, f32::MAX);
                        row.push((Arc { src_state, dest_state, score, ..arc }, string));
                    }
                }
            }
            // Keeps the best of several arcs with the same labels and destination.
            row.sort_by(|(a, x), (b, y)| (a.sort_key(), x).cmp(&(b.sort_key(), y)).then(b.score.total_cmp(&a.score)));
            row.dedup_by_key(|(arc, string)| (arc.sort_key(), *string));
            made.arcs.extend(row.iter().map(|(arc, _)| arc));
            outputs.extend(row.iter().map(|(_, string)| string));
            made.end_state();
            Error::fit(Quantity::Arcs, made.arcs.len())?;
            self.bytes_made = bytes_with(&made.arcs, row.len()) + bytes_with(&outputs, row.len()) + bytes_with(&row, 1);
            self.check(strings, made.ends.len(), made.arcs.len())?;
        }
        Ok((made, outputs))
    }

    /// Checks that the memory in use is within the limits.
    fn check(&self, strings: &Strings, states: usize, arcs: usize) -> Result<(), Error> {
        /// A way, and its place in the table and in the queue, while these grow.
        const BYTES_OF_WAY: usize = size_of::<EpsilonPath>() + 40;
        let ways = bytes_with(&self.ways, 1) / size_of::<EpsilonPath>();
        let bytes = strings.bytes_with(1) + ways * BYTES_OF_WAY + self.bytes_made;
        self.limits.check(Operation::EpsilonNormalize, bytes, states, arcs)
    }

    /// Finds all paths over arcs with label 0 from `source` that differ in their last state or in
    /// their output, and keeps the best of each.
    fn follow(&mut self, source: usize, strings: &mut Strings) -> Result<(), Error> {
        self.ways.clear();
        self.ways.push(EpsilonPath { state: number(source), string: EMPTY, cost: 0.0, length: 0, queued: true });
        if !self.silent[source] {
            return Ok(());
        }
        let mut table = Table::new();
        let hash = |way: &EpsilonPath| mix(mix(0, way.state.into()), way.string.into());
        let _ = table.find_or_insert(hash(&self.ways[0]), |_| false, 0);
        let mut turn = 0_u64;
        let mut queue = BinaryHeap::from([Reverse((0, turn, 0))]);
        while let Some(Reverse((_, _, from))) = queue.pop() {
            let way = self.ways[from as usize];
            self.ways[from as usize].queued = false;
            for at in range(self.builder, way.state as usize) {
                let Arc { dest_state, label, score, .. } = self.builder.arcs[at];
                if label != EPSILON {
                    continue;
                }
                let (state, string) = (dest_state.cast_unsigned(), strings.append(way.string, self.outputs[at]));
                let cost = way.cost - f64::from(score);
                let new = EpsilonPath { state, string, cost, length: way.length + 1, queued: true };
                let ways = &self.ways;
                let is_it = |at: u32| (ways[at as usize].state, ways[at as usize].string) == (state, string);
                let place = match table.find_or_insert(hash(&new), is_it, ways.len()) {
                    Err(place) => {
                        self.ways.push(new);
                        self.check(strings, source, self.ways.len())?;
                        place
                    }
                    Ok(place) => {
                        let num_ways = self.ways.len();
                        let known = &mut self.ways[place as usize];
                        if !gains(-cost, -known.cost, 0.0, ROUNDING) {
                            continue;
                        }
                        // A path of more arcs than there are paths went round a cycle, and gained
                        // by it.
                        if new.length > num_ways {
                            let state = state as usize;
                            return Err(Error::EndlessCycle { fsa: self.fsa, state, visits: turn });
                        }
                        if std::mem::replace(known, new).queued {
                            continue;
                        }
                        place
                    }
                };
                turn += 1;
                queue.push(Reverse((self.ranks[state as usize], turn, place)));
            }
        }
        Ok(())
    }
}

/// Returns the range of the arcs of a state.
fn range(builder: &SortedFsaBuilder, state: usize) -> std::ops::Range<usize> {
    state.checked_sub(1).map_or(0, |before| builder.ends[before])..builder.ends[state]
}
