//! OpenFst's text, read and looked at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fsa::io::OpenFstText;
use fsa::{Arc, EPSILON, FINAL, Fsa, Graph};
use serde_json::Value;

use crate::{Stop, list};

/// A transducer of the case.
pub(super) struct Machine {
    pub(super) graph: Graph<Fsa>,
    /// The states in the order of their numbers in the text.
    pub(super) by_number: Vec<usize>,
    /// The states in the order in which the text names them, as `fstcompile` numbers them.
    pub(super) by_appearance: Vec<usize>,
}

/// The start and state 0 change their places.
pub(super) fn read(text: &str) -> Result<Machine, Stop> {
    let graph = OpenFstText::default().read(text)?;
    let mut named = Vec::<usize>::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let states = if fields.len() > 2 { 2 } else { fields.len().min(1) };
        named.extend(fields[..states].iter().filter_map(|state| state.parse::<usize>().ok()));
    }
    let start = named.first().copied().unwrap_or_default();
    let turn = |state: usize| match state {
        _ if state == start => 0,
        0 => start,
        _ => state,
    };
    let by_number = (0..graph.fsas().num_states().saturating_sub(1)).map(turn).collect();
    let mut seen = BTreeSet::new();
    named.retain(|&state| seen.insert(state));
    Ok(Machine { graph, by_number, by_appearance: named.into_iter().map(turn).collect() })
}

/// The inputs of a case.
pub(super) fn inputs(case: &Value) -> Result<Vec<Machine>, Stop> {
    list(case, "inputs")?.iter().map(|text| read(text.as_str().unwrap_or_default())).collect()
}

/// The counts that OpenFst would give: states, arcs and final states.
pub(super) fn counts(graph: &Graph<Fsa>) -> [usize; 3] {
    let fsa = graph.fsas();
    let (finals, arcs): (Vec<&Arc>, Vec<&Arc>) = fsa.arcs().iter().partition(|arc| arc.label == FINAL);
    let states: BTreeSet<_> = finals.iter().map(|arc| arc.src_state).collect();
    [fsa.num_states().saturating_sub(1), arcs.len(), states.len()]
}

/// Input and output labels without epsilons.
pub(super) type Strings = (Vec<i32>, Vec<i32>);

/// The input and the output label of an arc; of acceptors they are the same.
fn labels(graph: &Graph<Fsa>, arc: usize) -> (i32, i32) {
    let label = graph.fsas().arcs()[arc].label.max(EPSILON);
    (label, graph.aux_labels().map_or(label, |aux| aux[arc].max(EPSILON)))
}

/// The cost of the best path with these strings, infinite if there is none. No cycle may have a
/// negative cost.
pub(super) fn cost_of(graph: &Graph<Fsa>, (ilabels, olabels): &Strings) -> f64 {
    let view = graph.fsas().view();
    let Some(last) = view.final_state() else { return f64::INFINITY };
    let mut best = BTreeMap::from([((0, 0, 0), 0.0)]);
    let mut queue = VecDeque::from([(0, 0, 0)]);
    while let Some((state, i, o)) = queue.pop_front() {
        let so_far = best[&(state, i, o)];
        for arc in view.arc_range(state) {
            let (label, aux) = labels(graph, arc);
            let (Some(i), Some(o)) = (step(ilabels, i, label), step(olabels, o, aux)) else { continue };
            let cost = so_far - f64::from(view.arcs()[arc].score);
            let place = (usize::try_from(view.arcs()[arc].dest_state).unwrap_or_default(), i, o);
            if best.get(&place).is_none_or(|&old| cost < old - 1e-9) {
                best.insert(place, cost);
                queue.push_back(place);
            }
        }
    }
    best.get(&(last, ilabels.len(), olabels.len())).copied().unwrap_or(f64::INFINITY)
}

fn step(labels: &[i32], at: usize, label: i32) -> Option<usize> {
    if label == EPSILON { Some(at) } else { (labels.get(at) == Some(&label)).then_some(at + 1) }
}

/// The costs of the best paths from the start (`forward`), or to the final state, for each state;
/// infinite if there is no path.
pub(super) fn distances(graph: &Graph<Fsa>, forward: bool) -> Vec<f64> {
    let fsa = graph.fsas();
    let mut costs = vec![f64::INFINITY; fsa.num_states()];
    let Some(last) = fsa.view().final_state() else { return costs };
    costs[if forward { 0 } else { last }] = 0.0;
    loop {
        let mut changed = false;
        for arc in fsa.arcs() {
            let ends = [arc.src_state, arc.dest_state].map(|state| usize::try_from(state).unwrap_or_default());
            let [from, to] = if forward { ends } else { [ends[1], ends[0]] };
            let cost = costs[from] - f64::from(arc.score);
            if cost < costs[to] - 1e-9 {
                costs[to] = cost;
                changed = true;
            }
        }
        if !changed {
            return costs;
        }
    }
}

/// Some accepted strings: the strings of paths from the start, the short ones first, up to a
/// number of paths.
pub(super) fn some_strings(graph: &Graph<Fsa>) -> BTreeSet<Strings> {
    const MOST_PATHS: usize = 300;
    let view = graph.fsas().view();
    let ends = distances(graph, false);
    let mut found = BTreeSet::new();
    let mut queue = VecDeque::from([(0, (vec![], vec![]))]);
    let mut looked_at = 0;
    while let Some((state, strings)) = queue.pop_front() {
        looked_at += 1;
        if looked_at > MOST_PATHS || ends.get(state).is_none_or(|cost| cost.is_infinite()) {
            continue;
        }
        if Some(state) == view.final_state() {
            found.insert(strings);
            continue;
        }
        for arc in view.arc_range(state) {
            let (label, aux) = labels(graph, arc);
            let mut strings: Strings = strings.clone();
            strings.0.extend(Some(label).filter(|&label| label != EPSILON));
            strings.1.extend(Some(aux).filter(|&label| label != EPSILON));
            queue.push_back((usize::try_from(view.arcs()[arc].dest_state).unwrap_or_default(), strings));
        }
    }
    found
}
