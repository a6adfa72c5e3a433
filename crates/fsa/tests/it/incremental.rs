//! Decoding with incremental determinization, against all paths of small graphs.

use std::collections::BTreeMap;

use fsa::incremental::{IncrementalDecoder, IncrementalOptions, TransitionLabels};
use fsa::lattice::Lattice;
use fsa::on_demand::SearchGraph;
use fsa::{CostArc, StateArcs};
use proptest::prelude::*;

const LABELS: usize = 3;

/// Final costs, epsilon arcs and other arcs of each state.
#[derive(Debug, Clone)]
struct Small(Vec<(f32, Vec<CostArc>, Vec<CostArc>)>);

impl SearchGraph for Small {
    fn start(&mut self) -> Result<Option<u32>, fsa::Error> {
        Ok((!self.0.is_empty()).then_some(0))
    }

    fn arcs(&mut self, state: u32) -> StateArcs<'_> {
        let (final_cost, epsilons, emitting) = &self.0[state as usize];
        StateArcs { final_cost: *final_cost, epsilons, emitting }
    }

    fn renew(&mut self, _: &mut [u32]) -> Result<(), fsa::Error> {
        Ok(())
    }
}

/// Any arcs with labels; epsilons lead to later states. Costs are multiples of 1/64.
fn graph() -> impl Strategy<Value = Small> {
    (1_u32..6).prop_flat_map(|states| {
        let arc = (0..states, 0..states, 0..=LABELS as i32, 0..4_i32, -64..256_i32);
        let finals = prop::collection::vec(prop::option::of(-64..256_i32), states as usize);
        (prop::collection::vec(arc, 0..16), finals).prop_map(|(arcs, finals)| {
            let cost = |cost: i32| cost as f32 / 64.0;
            let of_final = |end: Option<i32>| (end.map_or(f32::INFINITY, cost), vec![], vec![]);
            let mut states: Vec<_> = finals.into_iter().map(of_final).collect();
            for (source, dest, ilabel, olabel, own) in arcs {
                let arc = CostArc { ilabel, olabel, cost: cost(own), dest };
                match ilabel {
                    0 if dest > source => states[source as usize].1.push(arc),
                    0 => {}
                    _ => states[source as usize].2.push(arc),
                }
            }
            Small(states)
        })
    })
}

fn frames() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(prop::collection::vec(-256..64_i32, LABELS), 1..8)
        .prop_map(|rows| rows.concat().into_iter().map(|score| score as f32 / 64.0).collect())
}

type Costs = BTreeMap<(u32, Vec<i32>), f64>;

/// Returns the least cost of each state and word sequence, after all frames.
fn all_paths(graph: &Small, values: &[f32]) -> Costs {
    fn enter(costs: &mut Costs, (source, words, cost): (u32, &[i32], f64), arc: &CostArc, score: f32) {
        let _ = source;
        let words = words.iter().copied().chain((arc.olabel != 0).then_some(arc.olabel)).collect();
        let cost = cost + f64::from(arc.cost) - f64::from(score);
        let least = costs.entry((arc.dest, words)).or_insert(f64::INFINITY);
        *least = least.min(cost);
    }
    let close = |mut costs: Costs| {
        for state in 0..graph.0.len() as u32 {
            let here: Vec<_> = costs.iter().filter(|((of, _), _)| *of == state).map(|(k, c)| (k.clone(), *c)).collect();
            for ((_, words), cost) in here {
                for arc in &graph.0[state as usize].1 {
                    enter(&mut costs, (state, &words, cost), arc, 0.0);
                }
            }
        }
        costs
    };
    let mut costs = close(BTreeMap::from([((0, vec![]), 0.0)]));
    for row in values.chunks(LABELS) {
        let mut next = Costs::new();
        for ((state, words), &cost) in &costs {
            for arc in &graph.0[*state as usize].2 {
                enter(&mut next, (*state, words, cost), arc, row[arc.ilabel as usize - 1]);
            }
        }
        costs = close(next);
    }
    costs
}

/// Returns the least cost of each word sequence; if no path ends in a final state, all may end.
fn word_costs(graph: &Small, costs: &Costs, use_finals: bool) -> BTreeMap<Vec<i32>, f64> {
    let ends = |state: u32| f64::from(graph.0[state as usize].0);
    let any = use_finals && costs.keys().any(|&(state, _)| ends(state).is_finite());
    let mut found = BTreeMap::new();
    for ((state, words), cost) in costs {
        let cost = cost + if any { ends(*state) } else { 0.0 };
        if cost.is_finite() {
            let least = found.entry(words.clone()).or_insert(f64::INFINITY);
            *least = cost.min(*least);
        }
    }
    found
}

/// Rounding of single precision, and the difference up to which determinization merges states.
const NEAR: f64 = 0.02;

fn check(lattice: &Lattice, expected: &BTreeMap<Vec<i32>, f64>, beam: f64, frames: usize) -> Result<(), TestCaseError> {
    let found: BTreeMap<Vec<i32>, f64> = lattice
        .n_best(0, expected.len() + 1)
        .unwrap()
        .into_iter()
        .map(|path| {
            assert_eq!(path.alignment.len(), frames);
            (path.words.clone(), -path.score())
        })
        .collect();
    let Some(best) = expected.values().copied().reduce(f64::min) else {
        prop_assert!(found.is_empty());
        return Ok(());
    };
    for (words, cost) in expected {
        let within = *cost <= best + beam - NEAR;
        match found.get(words) {
            // The best path of words beyond the beam may have been left out.
            Some(own) => {
                prop_assert!(*own > cost - NEAR && (!within || *own < cost + NEAR), "{:?}: {} and {}", words, own, cost)
            }
            None => prop_assert!(!within, "{:?} with {} of {} is missing", words, cost, best),
        }
    }
    prop_assert!(found.keys().all(|words| expected.contains_key(words)));
    Ok(())
}

proptest! {
    #[test]
    fn word_sequences_within_the_beam_are_in_the_lattice(
        graph in graph(), values in frames(), beam in 1..400_i32, delay in 2..5_usize, chunk in 1..9_usize, asks in prop::bool::ANY,
    ) {
        let beam = beam as f32 / 16.0 + 0.01;
        let options = IncrementalOptions::default().with_beam(1e6).with_lattice_beam(beam).with_prune_interval(2);
        let options = options.with_determinize_max_delay(delay).with_determinize_min_chunk_size(delay - 1);
        let labels = TransitionLabels::new([(0, 1), (1, 0), (2, 2)]);
        let mut graph_of = graph.clone();
        let mut decoder = IncrementalDecoder::new(options).unwrap();
        decoder.begin(&mut graph_of).unwrap();
        for rows in values.chunks(chunk * LABELS) {
            decoder.advance(&mut graph_of, &labels, rows, LABELS).unwrap();
            if asks {
                let frames = decoder.num_frames();
                let lattice = decoder.lattice(&mut graph_of, &labels, frames, false).unwrap();
                let costs = all_paths(&graph, &values[..frames * LABELS]);
                check(&lattice, &word_costs(&graph, &costs, false), beam.into(), frames)?;
            }
        }
        let costs = all_paths(&graph, &values);
        let frames = values.len() / LABELS;
        let best = |costs: &BTreeMap<Vec<i32>, f64>| costs.values().copied().fold(f64::INFINITY, f64::min);
        let [ended, open] = [true, false].map(|use_finals| best(&word_costs(&graph, &costs, use_finals)));
        let path = decoder.best_path();
        if open.is_finite() {
            prop_assert!((path.graph_cost + path.acoustic_cost - open).abs() < 1e-3);
            prop_assert_eq!(path.labels.len(), frames);
        }
        let mut back: Vec<_> = decoder.trace_back().map(|(_, label)| label).collect();
        back.reverse();
        prop_assert_eq!(&back, &path.labels);
        let final_costs = costs.iter().map(|((state, _), cost)| cost + f64::from(graph.0[*state as usize].0));
        let relative = final_costs.fold(f64::INFINITY, f64::min) - open;
        let own = decoder.final_relative_cost(&mut graph_of);
        prop_assert!(relative.is_nan() || (f64::from(own) - relative).abs() < 1e-3 || f64::from(own) == relative);
        decoder.finish(&mut graph_of).unwrap();
        let lattice = decoder.lattice(&mut graph_of, &labels, frames, true).unwrap();
        check(&lattice, &word_costs(&graph, &costs, true), beam.into(), frames)?;
        let path = decoder.best_path();
        if ended.is_finite() {
            prop_assert!((path.graph_cost + path.acoustic_cost - ended).abs() < 1e-3);
        }
    }

    #[test]
    fn beams_only_remove(graph in graph(), values in frames(), most in 2..5_usize) {
        let options = IncrementalOptions::default().with_beam(2.0).with_min_active(0).with_max_active(most);
        let labels = TransitionLabels::new([(0, 1), (1, 0), (2, 2)]);
        let mut graph_of = graph.clone();
        let mut decoder = IncrementalDecoder::new(options).unwrap();
        decoder.begin(&mut graph_of).unwrap();
        decoder.advance(&mut graph_of, &labels, &values, LABELS).unwrap();
        decoder.finish(&mut graph_of).unwrap();
        let frames = values.len() / LABELS;
        let lattice = decoder.lattice(&mut graph_of, &labels, frames, true).unwrap();
        let costs = all_paths(&graph, &values);
        let expected = word_costs(&graph, &costs, false);
        for path in lattice.n_best(0, 1000).unwrap() {
            prop_assert!(expected.contains_key(&path.words));
        }
    }
}

#[test]
fn wrong_input_is_an_error() {
    let mut graph = Small(vec![(0.0, vec![], vec![CostArc { ilabel: 3, olabel: 0, cost: 0.0, dest: 0 }])]);
    let labels = TransitionLabels::new([(0, 1), (1, 0)]);
    let options = IncrementalOptions::default();
    let mut decoder = IncrementalDecoder::new(options).unwrap();
    assert!(decoder.advance(&mut graph, &labels, &[0.0; 2], 2).is_err());
    assert!(decoder.finish(&mut graph).is_err());
    decoder.begin(&mut graph).unwrap();
    assert!(decoder.advance(&mut graph, &labels, &[0.0; 3], 2).is_err());
    assert!(decoder.advance(&mut graph, &labels, &[], 0).is_err());
    assert!(decoder.advance(&mut graph, &labels, &[f32::NAN, 0.0], 2).is_err());
    // The identifier 3 has no column.
    assert!(decoder.advance(&mut graph, &labels, &[0.0, 0.0], 2).is_err());
    decoder.begin(&mut graph).unwrap();
    assert!(decoder.lattice(&mut graph, &labels, 1, false).is_err());
    decoder.finish(&mut graph).unwrap();
    assert!(decoder.advance(&mut graph, &labels, &[0.0; 2], 2).is_err());
    assert_eq!(decoder.lattice(&mut graph, &labels, 0, true).unwrap().fsas().num_states(), 0);
    for bad in [
        options.with_beam(f32::NAN),
        options.with_lattice_beam(0.0),
        options.with_max_active(1),
        options.with_min_active(10).with_max_active(5),
        options.with_prune_interval(0),
        options.with_determinize_max_delay(20),
    ] {
        assert!(IncrementalDecoder::new(bad).is_err(), "{bad:?}");
    }
    // No word has the number of a state in the lattice.
    let arc = CostArc { ilabel: 1, olabel: 250_000_000, cost: 0.0, dest: 0 };
    let mut graph = Small(vec![(0.0, vec![], vec![arc])]);
    decoder.begin(&mut graph).unwrap();
    decoder.advance(&mut graph, &labels, &[0.0; 2], 2).unwrap();
    assert!(decoder.lattice(&mut graph, &labels, 1, false).unwrap_err().to_string().contains("250000000"));
    let mut empty = Small(vec![]);
    decoder.begin(&mut empty).unwrap();
    decoder.advance(&mut empty, &labels, &[0.0; 4], 2).unwrap();
    assert!(!decoder.is_alive() && decoder.best_path().labels.is_empty());
    decoder.finish(&mut empty).unwrap();
    assert_eq!(decoder.lattice(&mut empty, &labels, 2, true).unwrap().fsas().num_states(), 0);
}
