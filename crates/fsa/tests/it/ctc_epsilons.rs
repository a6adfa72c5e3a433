//! The topology of CTC in front of graphs with epsilons, beside all alignments of all paths.

use std::collections::HashMap;

use fsa::graphs::CtcTopology;
use fsa::{Arc, EPSILON, FINAL, Fsa, Graph, GraphLabels, Limits};
use proptest::prelude::*;

/// Tokens 1 and 2.
const MAX_TOKEN: usize = 2;

/// Graphs of tokens whose arcs output their numbers, from 1 on. Epsilons lead to later states.
fn graphs() -> impl Strategy<Value = Graph<Fsa>> {
    let arc = |num_states: i32| (0..num_states, 0..num_states, 0..=2_i32, 0..64_i32);
    let arcs = (1..=4_i32).prop_flat_map(move |num_states| {
        let arcs = prop::collection::vec(arc(num_states), 0..10);
        (Just(num_states), arcs, prop::collection::vec(0..num_states, 1..3))
    });
    arcs.prop_map(|(num_states, arcs, finals)| {
        let arcs = arcs.into_iter().filter(|(src, dest, label, _)| *label != EPSILON || src < dest);
        let arcs = arcs.map(|(src, dest, label, score)| Arc::new(src, dest, label, -(score as f32) / 64.0));
        let finals = finals.into_iter().map(|state| Arc::new(state, num_states, FINAL, -0.5));
        let mut arcs: Vec<_> = arcs.chain(finals).collect();
        arcs.sort_by_key(|arc| arc.src_state);
        let numbers: Vec<i32> = (1..).take(arcs.len()).collect();
        let num_states = usize::try_from(num_states).unwrap() + 1;
        Graph::new(Fsa::from_arcs(num_states, arcs).unwrap()).with_aux_labels(numbers).unwrap()
    })
}

/// Paths to the final state: their labels that `takes` keeps, of which there are `most` at the
/// most, with the output labels of their arcs, and how many paths have both, and the score of one.
fn paths(
    graph: &Graph<Fsa>,
    most: usize,
    takes: impl Fn(i32) -> Option<i32>,
) -> HashMap<(Vec<i32>, Vec<i32>), (usize, f32)> {
    let (view, outputs) = (graph.fsas().view(), graph.aux_labels().unwrap());
    let mut found = HashMap::new();
    let mut waiting = vec![(0, vec![], vec![], 0.0)];
    while let Some((state, labels, arcs, score)) = waiting.pop() {
        if view.final_state().is_none_or(|last| last == state) {
            found.entry((labels, arcs)).or_insert((0, score)).0 += 1;
            continue;
        }
        for at in view.arc_range(state) {
            let arc = view.arcs()[at];
            let (mut labels, mut arcs) = (labels.clone(), arcs.clone());
            labels.extend(takes(arc.label));
            arcs.extend(Some(outputs[at]).filter(|&output| output > 0));
            if labels.len() <= most {
                waiting.push((usize::try_from(arc.dest_state).unwrap(), labels, arcs, score + arc.score));
            }
        }
    }
    found
}

/// In how many ways frames are these tokens: a blank must stand between equal ones, unless the
/// topology is the modified one.
fn ways(frames: &[i32], tokens: &[i32], before: i32, modified: bool) -> usize {
    let blank = |frames: &[i32]| if frames[0] == EPSILON { ways(&frames[1..], tokens, EPSILON, modified) } else { 0 };
    match (frames.first(), tokens.split_first()) {
        (None, None) => 1,
        (None, Some(_)) => 0,
        (Some(_), None) => blank(frames),
        (Some(&frame), Some((&token, later))) if frame == token && (modified || token != before) => {
            let held = frames.iter().take_while(|frame| **frame == token).count();
            (1..=held).map(|held| ways(&frames[held..], later, token, modified)).sum()
        }
        _ => blank(frames),
    }
}

proptest! {
    #[test]
    fn each_alignment_of_each_path_is_one_path(graph in graphs(), modified: bool) {
        const FRAMES: usize = 4;
        let topology = CtcTopology::new(MAX_TOKEN, modified).unwrap();
        let labels = GraphLabels::ClassPlusOne;
        let composed = topology.compose(&graph, labels, Some("tokens"), Limits::default()).unwrap();
        let class = |label| labels.class(label).map(|class| i32::try_from(class).unwrap());
        let found = paths(&composed, FRAMES, class);
        let mut expected = HashMap::new();
        for ((tokens, arcs), (_, score)) in paths(&graph, FRAMES, |label| Some(label).filter(|&label| label > 0)) {
            for num_frames in 0..=FRAMES {
                for code in 0..3_usize.pow(u32::try_from(num_frames).unwrap()) {
                    let frames: Vec<i32> = (0..num_frames).scan(code, |code, _| {
                        let frame = i32::try_from(*code % 3).unwrap();
                        *code /= 3;
                        Some(frame)
                    }).collect();
                    let ways = ways(&frames, &tokens, EPSILON, modified);
                    if ways > 0 {
                        expected.insert((frames, arcs.clone()), (ways, score));
                    }
                }
            }
        }
        // Scores are multiples of 1/64, whose sums are exact.
        prop_assert_eq!(found, expected);
    }

    /// What leads from the start to the end of the graph does so in the result, and nothing else is
    /// there.
    #[test]
    fn connected_and_sorted_graphs_stay_so(graph in graphs(), modified: bool) {
        let graph = graph.connect().unwrap().arc_sort().unwrap();
        let topology = CtcTopology::new(MAX_TOKEN, modified).unwrap();
        let composed = topology.compose(&graph, GraphLabels::ClassPlusOne, None, Limits::default()).unwrap();
        let connected = composed.connect().unwrap();
        prop_assert_eq!(connected.fsas().num_arcs(), composed.fsas().num_arcs());
        prop_assert_eq!(connected.fsas().num_states(), composed.fsas().num_states());
        let view = composed.fsas().view();
        for state in 0..view.num_states() {
            prop_assert!(view.arcs_of(state).is_sorted_by_key(|arc| arc.label.cast_unsigned()));
        }
    }
}

/// A graph of words that backs off: a -(a)-> h, h -eps-> o, o -a-> h. The state behind the epsilon
/// is there once for blank and once for a, as a goes on from it; with b in its place, once.
#[test]
fn states_behind_epsilons_remember_only_what_makes_a_difference() {
    let sizes = |token| {
        let arcs = [(0, 1, 1), (1, 2, EPSILON), (2, 1, token), (2, 3, FINAL)];
        let arcs = arcs.map(|(src, dest, label)| Arc::new(src, dest, label, 0.0)).to_vec();
        let graph = Graph::new(Fsa::from_arcs(4, arcs).unwrap());
        let topology = CtcTopology::new(MAX_TOKEN, false).unwrap();
        let made = topology.compose(&graph, GraphLabels::ClassPlusOne, None, Limits::default()).unwrap();
        made.fsas().num_states()
    };
    // 0; 1 after blank and after a; 2 after blank and a; the end.
    assert_eq!(sizes(1), 1 + 2 + 2 + 1);
    // 1 after blank, a and b; 2 after blank, after a is the same, and after b.
    assert_eq!(sizes(2), 1 + 3 + 2 + 1);
}

/// Circles of epsilons are followed as far as they lead.
#[test]
fn circles_of_epsilons_are_composed() {
    let arcs = [(0, 1, 1), (1, 2, EPSILON), (2, 1, EPSILON), (2, 2, EPSILON), (2, 3, FINAL)];
    let arcs = arcs.map(|(src, dest, label)| Arc::new(src, dest, label, -1.0)).to_vec();
    let graph = Graph::new(Fsa::from_arcs(4, arcs).unwrap());
    let topology = CtcTopology::new(1, false).unwrap();
    let made = topology.compose(&graph, GraphLabels::ClassPlusOne, None, Limits::default()).unwrap();
    let best = made.shortest_path().unwrap();
    assert_eq!(best.fsas().labels(), [2, 0, FINAL]);
    assert_eq!(best.fsas().scores().iter().sum::<f32>(), -3.0);
}
