//! Decoding with graphs that have epsilon arcs: against composition, removal of epsilons, and a
//! search that is written down from its definition.

use std::collections::BTreeMap;

use fsa::dense::*;
use fsa::graphs::{CtcTopology, ctc_topo};
use fsa::k2::{connect, remove_epsilon, remove_epsilon_log, top_sort};
use fsa::paths::{arc_posteriors, shortest_path};
use fsa::{AUX_LABELS, Arc, EPSILON, Error, FINAL, Fsa, Graph, GraphLabels, Limits, Semiring};
use proptest::prelude::*;

use crate::decoding::{
    self, SEMIRINGS, SINGLE, acceptor, check_finished_parts, check_gradients, finite_frames, near, total,
};

const CLASSES: usize = 3;

/// Which epsilon arcs a graph may have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cycles {
    /// Only to later states.
    None,
    /// Any, but with no cycle whose score is above 0; some have the score 0.
    Harmless,
    /// Any, but each arc of a cycle costs 8 or more, self-loops too.
    Losing,
}

/// Arcs between any two states, labels of class + 1, epsilons with scores of any sign. Scores are
/// multiples of 1/64, so that most sums are exact.
fn graph(cycles: Cycles) -> impl Strategy<Value = Fsa> {
    (2_usize..7).prop_flat_map(move |states| {
        let last = states as i32 - 1;
        let labels = CLASSES as i32;
        let arc = (0..last, 0..=last, -labels..=labels, -128..128_i32);
        let potentials = prop::collection::vec(-100..100_i32, states);
        (prop::collection::vec(arc, 0..18), potentials).prop_map(move |(arcs, potentials)| {
            let arc = |(src, dest, label, score): (i32, i32, i32, i32)| {
                let epsilon = label <= 0 && dest != last && (cycles != Cycles::None || src < dest);
                let score = match (epsilon, cycles) {
                    // Around a cycle, potentials cancel.
                    (true, Cycles::Harmless) => potentials[dest as usize] - potentials[src as usize] - score.max(0),
                    (true, Cycles::Losing) => potentials[dest as usize] - potentials[src as usize] - score.max(0) - 512,
                    _ => score,
                };
                let label = if epsilon { EPSILON } else { label.abs().max(1) };
                Arc::new(src, dest, if dest == last { FINAL } else { label }, score as f32 / 64.0)
            };
            let mut arcs: Vec<_> = arcs.into_iter().map(arc).collect();
            arcs.sort_by_key(|arc| arc.src_state);
            Fsa::from_arcs(states, arcs).unwrap()
        })
    })
}

/// Scores of some frames.
fn frames(most: usize) -> impl Strategy<Value = Vec<f32>> {
    decoding::frames(most, CLASSES)
}

fn dense(values: &[f32]) -> DenseFsaVec<'_> {
    DenseFsaVec::from_frames(values, CLASSES).unwrap()
}

fn graph_of(fsa: Fsa) -> Graph<Fsa> {
    Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne)
}

fn without_beam() -> DenseOptions {
    DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(f32::INFINITY)
}

/// Not a multiple of 1/64: nothing is at the border.
fn beam(beam: i32) -> f32 {
    (beam as f32 + 0.5) / 64.0
}

fn decode(graph: &Fsa, values: &[f32], options: &DenseOptions) -> DenseLattices {
    intersect_dense_pruned(&graph_of(graph.clone()), &dense(values), options).unwrap()
}

/// What composition makes of the same.
fn composed(values: &[f32], graph: &Fsa) -> Fsa {
    let graph = Graph::new(graph.clone()).arc_sort().unwrap();
    let both = Graph::new(acceptor(values, CLASSES, 1)).compose(&graph).unwrap();
    top_sort(&connect(both.fsas()).unwrap().0).unwrap().0
}

/// What a search that gives up what is further than `beam` below the best state of a frame has as
/// its best score: after each frame the states above the beam of those that arcs with classes lead
/// to, and what epsilon arcs lead to from such states.
fn naive_search(graph: &Fsa, values: &[f32], beam: f64) -> Option<f64> {
    type Tokens = BTreeMap<i32, f64>;
    let close = |mut tokens: Tokens, cutoff: f64| {
        tokens.retain(|_, score| *score > cutoff);
        loop {
            let mut better = false;
            for arc in graph.arcs().iter().filter(|arc| arc.label == EPSILON) {
                let Some(&score) = tokens.get(&arc.src_state) else { continue };
                let score = score + f64::from(arc.score);
                let old = tokens.get(&arc.dest_state).copied().unwrap_or(f64::NEG_INFINITY);
                if score > cutoff && score > old {
                    tokens.insert(arc.dest_state, score);
                    better = true;
                }
            }
            if !better {
                return tokens;
            }
        }
    };
    let best = |tokens: &Tokens| tokens.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut tokens = close(Tokens::from([(0, 0.0)]), -beam);
    for row in values.chunks(CLASSES) {
        let cutoff = best(&tokens) - beam;
        let mut next = Tokens::new();
        for (state, score) in tokens.into_iter().filter(|&(_, score)| score > cutoff) {
            for arc in graph.arcs().iter().filter(|arc| arc.src_state == state && arc.label > 0) {
                let score = score + f64::from(arc.score) + f64::from(row[arc.label as usize - 1]);
                if score > f64::NEG_INFINITY {
                    let old = next.entry(arc.dest_state).or_insert(score);
                    *old = old.max(score);
                }
            }
        }
        let cutoff = best(&next) - beam;
        tokens = close(next, cutoff);
    }
    let ends = graph.arcs().iter().filter(|arc| arc.label == FINAL);
    ends.filter_map(|arc| Some(tokens.get(&arc.src_state)? + f64::from(arc.score))).max_by(f64::total_cmp)
}

/// What the arcs of a lattice say of themselves fits the graph and the scores.
fn check_arcs(came: &DenseLattices, graph: &Fsa, values: &[f32]) {
    let dense = dense(values);
    let frames = dense.utterance(0).unwrap();
    let classes = came.classes();
    for (i, arc) in came.graph().fsas().arcs().iter().enumerate() {
        let of_graph = graph.arcs()[came.graph_arcs()[i] as usize];
        assert_eq!((arc.label, came.graph_scores()[i]), (of_graph.label, of_graph.score));
        assert!(arc.src_state < arc.dest_state);
        let acoustic = match (arc.label, usize::try_from(came.frames()[i])) {
            (EPSILON, frame) => {
                assert!(frame.is_err());
                0.0
            }
            (label, frame) => frames.score(frame.unwrap(), (label - 1).max(-1)),
        };
        assert_eq!(classes[i], (arc.label - 1).max(-1));
        assert_eq!(arc.score, of_graph.score + acoustic);
    }
    // The frames of a path follow one another.
    if came.outcomes()[0].has_paths() {
        let (_, best) = shortest_path(came.graph().fsas()).map(|it| (it.0, it.1)).unwrap();
        let best: Vec<_> = best.iter().map(|&arc| came.frames()[arc as usize]).filter(|&frame| frame >= 0).collect();
        assert_eq!(best, (0..=frames.num_frames() as i32).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn paths_are_those_of_composition(graph in graph(Cycles::None), values in frames(6)) {
        let right = composed(&values, &graph);
        for pruning in [LatticePruning::Exact, LatticePruning::Chunkwise] {
            let came = decode(&graph, &values, &without_beam().with_pruning(pruning));
            for semiring in SEMIRINGS {
                let (right, came) = (total(&right, semiring), total(came.graph().fsas(), semiring));
                prop_assert!(near(came, right, SINGLE), "{semiring:?}: {came} and {right}");
            }
            if right.arcs().iter().all(|arc| arc.score > f32::NEG_INFINITY) {
                prop_assert_eq!(came.graph().fsas().num_arcs(), right.num_arcs());
            }
            check_arcs(&came, &graph, &values);
        }
    }

    #[test]
    fn totals_are_those_of_the_graph_without_epsilons(graph in graph(Cycles::None), values in frames(6)) {
        let came = decode(&graph, &values, &without_beam());
        for (semiring, without) in
            [(Semiring::Log, remove_epsilon_log(&graph, Limits::default()).unwrap()), (Semiring::Tropical, remove_epsilon(&graph).unwrap().0)]
        {
            let right = total(decode(&without, &values, &without_beam()).graph().fsas(), semiring);
            let came = total(came.graph().fsas(), semiring);
            prop_assert!(near(came, right, SINGLE), "{semiring:?}: {came} and {right}");
        }
    }

    #[test]
    fn best_paths_are_exact_around_cycles(graph in graph(Cycles::Harmless), values in frames(6), one_best in any::<bool>()) {
        let options = if one_best { without_beam().with_output_beam(0.0) } else { without_beam() };
        let came = decode(&graph, &values, &options);
        check_arcs(&came, &graph, &values);
        let without = remove_epsilon(&graph).unwrap().0;
        let right = total(decode(&without, &values, &options).graph().fsas(), Semiring::Tropical);
        let best = total(came.graph().fsas(), Semiring::Tropical);
        prop_assert!(near(best, right, SINGLE), "{best} and {right}");
        prop_assert!(right == f64::NEG_INFINITY || came.outcomes() == [Outcome::Final]);
        // Paths are left out, but none is there twice.
        if let Ok(without) = remove_epsilon_log(&graph, Limits::default()) {
            let all = total(decode(&without, &values, &without_beam()).graph().fsas(), Semiring::Log);
            let some = total(came.graph().fsas(), Semiring::Log);
            prop_assert!(some >= best - SINGLE * best.abs() && some <= all + SINGLE * all.abs().max(1.0) || some == all);
        }
    }

    #[test]
    fn paths_around_losing_cycles_are_all_there(graph in graph(Cycles::Losing), values in frames(4)) {
        let came = decode(&graph, &values, &without_beam());
        check_arcs(&came, &graph, &values);
        let Ok(without) = remove_epsilon_log(&graph, Limits::default()) else { return Ok(()) };
        let right = total(decode(&without, &values, &without_beam()).graph().fsas(), Semiring::Log);
        let came = total(came.graph().fsas(), Semiring::Log);
        prop_assert!(near(came, right, SINGLE), "{came} and {right}");
    }

    #[test]
    fn beams_are_those_of_the_definition(
        graph in graph(Cycles::Harmless),
        values in frames(8),
        search_beam in prop_oneof![0..400_i32, Just(i32::MAX)],
        output_beam in prop_oneof![Just(0.0), Just(f32::INFINITY), (0..300_i32).prop_map(beam)],
    ) {
        let search_beam = if search_beam == i32::MAX { f32::INFINITY } else { beam(search_beam) };
        let options =
            DenseOptions::default().with_search_beam(search_beam).with_output_beam(output_beam).with_min_active_states(0);
        let came = decode(&graph, &values, &options);
        check_arcs(&came, &graph, &values);
        let right = naive_search(&graph, &values, f64::from(search_beam));
        let best = total(came.graph().fsas(), Semiring::Tropical);
        prop_assert!(near(best, right.unwrap_or(f64::NEG_INFINITY), SINGLE), "{best} and {right:?}");
        prop_assert_eq!(came.outcomes()[0].has_paths(), right.is_some());
    }

    #[test]
    fn few_states_are_never_better_than_all(
        graph in graph(Cycles::Harmless),
        values in frames(8),
        most in 1_usize..3,
    ) {
        let came = decode(&graph, &values, &DenseOptions::default().with_max_active_states(most).with_search_beam(f32::INFINITY));
        check_arcs(&came, &graph, &values);
        let exact = total(decode(&graph, &values, &without_beam()).graph().fsas(), Semiring::Tropical);
        prop_assert!(total(came.graph().fsas(), Semiring::Tropical) <= exact + SINGLE);
    }

    #[test]
    fn the_output_beam_keeps_arcs_on_paths_within_it(
        graph in graph(Cycles::None),
        values in frames(6),
        output_beam in 0..300_i32,
    ) {
        let output_beam = beam(output_beam);
        let whole = decode(&graph, &values, &without_beam());
        let by = arc_posteriors::<f64, _>(whole.graph().fsas(), Semiring::Tropical).unwrap();
        let of = |lattices: &DenseLattices, arc: usize| (lattices.graph_arcs()[arc], lattices.input_frames(&dense(&values)).unwrap()[arc]);
        let right = (0..by.len()).filter(|&arc| by[arc] >= -f64::from(output_beam));
        let mut right: Vec<_> = right.map(|arc| of(&whole, arc)).collect();
        let came = decode(&graph, &values, &without_beam().with_output_beam(output_beam));
        let mut came: Vec<_> = (0..came.frames().len()).map(|arc| of(&came, arc)).collect();
        right.sort_unstable();
        came.sort_unstable();
        prop_assert_eq!(came, right);
    }

    #[test]
    fn gradients_are_differences(graph in graph(Cycles::None), values in frames(5)) {
        check_gradients(&graph, &values, CLASSES, |graph, values| decode(graph, values, &without_beam()))?;
    }

    #[test]
    fn chunks_are_the_whole(
        graph in graph(Cycles::Harmless),
        values in finite_frames(60, CLASSES),
        chunk in 1_usize..9,
        narrow in any::<bool>(),
        chunkwise in any::<bool>(),
    ) {
        let values = &values[..];
        let mut options = DenseOptions::default();
        if narrow {
            options = options.with_search_beam(3.0).with_output_beam(2.0).with_min_active_states(2).with_max_active_states(3);
        }
        if chunkwise {
            options = options.with_pruning(LatticePruning::Chunkwise);
        }
        let right = decode(&graph, values, &options);
        let decoder = OnlineDecoder::new(graph_of(graph), options).unwrap();
        let mut stream = decoder.stream();
        for chunk in values.chunks(chunk * CLASSES) {
            decoder.decode(&mut [&mut stream], &dense(chunk)).unwrap()[0].clone().unwrap();
            stream = DecodingStream::from_bytes(&stream.to_bytes()).unwrap();
            decoder.lattices(&[&stream], Ending::Active).unwrap();
        }
        let came = decoder.lattices(&[&stream], Ending::Final).unwrap();
        prop_assert_eq!(came, right);
    }

    #[test]
    fn finished_parts_are_the_whole(
        graph in graph(Cycles::None),
        values in finite_frames(60, CLASSES),
        chunk in 1_usize..7,
        output_beam in 0..200_i32,
    ) {
        let options = DenseOptions::default().with_output_beam(beam(output_beam));
        let right = decode(&graph, &values, &options);
        let decoder = OnlineDecoder::new(graph_of(graph), options).unwrap();
        check_finished_parts(&decoder, (&values, CLASSES), chunk, &right)?;
    }

    #[test]
    fn damaged_streams_do_no_harm(
        graph in graph(Cycles::Harmless),
        values in frames(9),
        damage in any::<(prop::sample::Index, u8)>(),
    ) {
        let decoder = OnlineDecoder::new(graph_of(graph), DenseOptions::default()).unwrap();
        let mut stream = decoder.stream();
        decoder.decode(&mut [&mut stream], &dense(&values)).unwrap()[0].clone().unwrap();
        let mut bytes = stream.to_bytes();
        let (place, byte) = damage;
        let len = bytes.len();
        bytes[place.index(len)] = byte;
        if let Ok(mut damaged) = DecodingStream::from_bytes(&bytes) {
            let _ = decoder.decode(&mut [&mut damaged], &dense(&values));
            let _ = decoder.lattices(&[&damaged], Ending::Active);
            let _ = decoder.take_finished(&mut damaged);
        }
    }

    #[test]
    fn the_implicit_topology_follows_the_epsilons_of_its_graph(
        graph in graph(Cycles::None),
        values in frames(6),
        modified in any::<bool>(),
    ) {
        // Here the label 0 is epsilon and others are tokens; the highest one is no class.
        let arcs = graph.arcs().iter().map(|&arc| Arc { label: arc.label.min(CLASSES as i32 - 1), ..arc });
        let tokens = Fsa::from_arcs(graph.num_states(), arcs.collect::<Vec<_>>()).unwrap();
        let aux: Vec<_> = (1..).zip(tokens.arcs()).map(|(i, arc)| if arc.label == FINAL { FINAL } else { i }).collect();
        let tokens = Graph::new(tokens).with_aux_labels(aux).unwrap();
        let topology = ctc_topo(CLASSES - 1, modified).unwrap();
        let labels = topology.fsas().arcs().iter().map(|arc| Arc { label: if arc.label < 0 { FINAL } else { arc.label + 1 }, ..*arc });
        let shifted = Fsa::from_arcs(topology.fsas().num_states(), labels.collect::<Vec<_>>()).unwrap();
        let shifted = graph_of(shifted).with_aux_labels(topology.aux_labels().unwrap().to_vec()).unwrap();
        let explicit = shifted.compose(&tokens.arc_sort().unwrap()).unwrap();
        let right = intersect_dense_pruned(&explicit, &dense(&values), &without_beam()).unwrap();
        let implicit = CtcGraph::new(CtcTopology::new(CLASSES - 1, modified).unwrap(), tokens, Some("tokens")).unwrap();
        let came = implicit.intersect_dense_pruned(&dense(&values), &without_beam()).unwrap();
        for semiring in SEMIRINGS {
            let (right, came) = (total(right.graph().fsas(), semiring), total(came.graph().fsas(), semiring));
            prop_assert!(near(came, right, SINGLE), "{semiring:?}: {came} and {right}");
        }
        prop_assert_eq!(came.outcomes(), right.outcomes());
        let (frames, classes) = (came.frames(), came.classes());
        for (i, arc) in came.graph().fsas().arcs().iter().enumerate() {
            prop_assert_eq!(classes[i], if frames[i] < 0 { -1 } else { arc.label });
            prop_assert!(frames[i] >= 0 || came.graph_arcs()[i] >= 0);
        }
        // Narrow beams are never better.
        let came = implicit.intersect_dense_pruned(&dense(&values), &narrow()).unwrap();
        let exact = total(right.graph().fsas(), Semiring::Tropical);
        prop_assert!(total(came.graph().fsas(), Semiring::Tropical) <= exact + SINGLE);
        let one_best = implicit.intersect_dense_pruned(&dense(&values), &without_beam().with_output_beam(0.0)).unwrap();
        prop_assert!(near(total(one_best.graph().fsas(), Semiring::Tropical), exact, SINGLE));
    }
}

fn narrow() -> DenseOptions {
    DenseOptions::default().with_search_beam(2.0).with_output_beam(1.0).with_min_active_states(0)
}

/// 0 --1--> 1 --e--> 2 --e--> 1, 2 --2--> 3 --> (4), with a score of the epsilon cycle.
fn circle(scores: [f32; 2]) -> Graph<Fsa> {
    let arcs = vec![
        Arc::new(0, 1, 1, 0.0),
        Arc::new(1, 2, EPSILON, scores[0]),
        Arc::new(2, 1, EPSILON, scores[1]),
        Arc::new(2, 3, 2, 0.0),
        Arc::new(3, 4, FINAL, 0.0),
    ];
    graph_of(Fsa::from_arcs(5, arcs).unwrap()).with_aux_labels(vec![7, 0, 0, 8, -1]).unwrap()
}

/// The utterance that has come to an endless cycle, and whether that is beyond the start state.
fn endless(outcome: &Outcome) -> Option<(usize, bool)> {
    let Outcome::Failed(Error::DenseFrame { utterance, error, .. }) = outcome else { return None };
    let Error::EndlessCycle { fsa, state, .. } = **error else { return None };
    (fsa == *utterance).then_some((*utterance, state > 0))
}

#[test]
fn a_cycle_with_a_positive_score_is_an_error_of_its_utterance() {
    let values = [0.0_f32; 4 * CLASSES];
    // The second utterance ends before the cycle is reached.
    let dense = DenseFsaVec::from_padded(&values, [2, 2, CLASSES], &[2, 0]).unwrap();
    for scores in [[1.0, -0.75], [-5.0, 5.001], [0.01, 0.01]] {
        let came =
            intersect_dense_pruned(&circle(scores), &dense, &DenseOptions::default().with_allow_partial(true)).unwrap();
        assert_eq!(endless(&came.outcomes()[0]), Some((0, true)), "{:?}", came.outcomes());
        assert_eq!(came.outcomes()[1], Outcome::Partial);
        // A stream stays where it is.
        let decoder = OnlineDecoder::new(circle(scores), DenseOptions::default()).unwrap();
        let mut stream = decoder.stream();
        let one = DenseFsaVec::from_frames(&values[..CLASSES], CLASSES).unwrap();
        let untouched = stream.clone();
        assert!(matches!(decoder.decode(&mut [&mut stream], &one).unwrap()[0], Err(Error::DenseFrame { .. })));
        assert_eq!(stream, untouched);
    }
    let at_once = graph_of(Fsa::from_arcs(2, vec![Arc::new(0, 0, EPSILON, 0.5), Arc::new(0, 1, FINAL, 0.0)]).unwrap());
    let came = intersect_dense_pruned(&at_once, &dense, &DenseOptions::default()).unwrap();
    assert_eq!([0, 1].map(|i| endless(&came.outcomes()[i])), [Some((0, false)), Some((1, false))]);
    OnlineDecoder::new(at_once, DenseOptions::default()).unwrap().stream();
}

#[test]
fn cycles_without_gain_end() {
    let values = [0.0_f32; 2 * CLASSES];
    // The third one is 0 but for the rounding of single precision; the last one loses more than the
    // output beam.
    for scores in [[0.0, 0.0], [-1.5, 1.5], [0.1 + 0.2, -0.3], [-5.0, -4.0]] {
        let came = intersect_dense_pruned(&circle(scores), &dense(&values), &DenseOptions::default()).unwrap();
        assert_eq!(came.outcomes(), [Outcome::Final], "{scores:?}");
        assert_eq!(came.graph().attributes().ints(AUX_LABELS).unwrap().to_vec(), [7, 0, 8, -1]);
        assert_eq!(came.frames(), [0, -1, 1, 2]);
        assert_eq!(came.input_frames(&dense(&values)).unwrap(), [0, 1, 1, 2]);
    }
}

#[test]
fn cycles_that_lose_little_are_gone_around() {
    let values = [0.0_f32; 2 * CLASSES];
    let circle = |beam: f32| {
        let came = intersect_dense_pruned(
            &circle([-0.5, -0.5]),
            &dense(&values),
            &DenseOptions::default().with_output_beam(beam),
        );
        fsa::paths::n_best_paths(came.unwrap().graph().fsas(), 100).unwrap().num_elements()
    };
    // A path has four arcs, and two more for each lap.
    assert_eq!(circle(0.5), 4);
    assert_eq!(circle(1.5), 4 + 6);
    assert_eq!(circle(3.5), 4 + 6 + 8 + 10);
}

#[test]
fn an_utterance_without_frames_takes_epsilons() {
    let arcs = vec![Arc::new(0, 1, EPSILON, 0.25), Arc::new(1, 2, FINAL, 0.5)];
    let graph = graph_of(Fsa::from_arcs(3, arcs).unwrap());
    let came = intersect_dense_pruned(&graph, &dense(&[]), &DenseOptions::default()).unwrap();
    assert_eq!(came.outcomes(), [Outcome::Final]);
    assert_eq!(came.graph().fsas().scores(), [0.25, 0.5]);
    let decoder = OnlineDecoder::new(graph, DenseOptions::default()).unwrap();
    assert_eq!(decoder.lattices(&[&decoder.stream()], Ending::Final).unwrap(), came);
}

#[test]
fn labels_of_classes_plus_one_are_checked() {
    let arcs = vec![Arc::new(0, 1, CLASSES as i32, 0.0), Arc::new(1, 2, FINAL, 0.0)];
    let graph = graph_of(Fsa::from_arcs(3, arcs).unwrap());
    let values = [0.0; CLASSES];
    assert!(intersect_dense_pruned(&graph, &dense(&values), &DenseOptions::default()).is_ok());
    let as_class = graph.with_graph_labels(GraphLabels::Class);
    let as_class = intersect_dense_pruned(&as_class, &dense(&values), &DenseOptions::default());
    assert!(matches!(as_class, Err(Error::DenseLabel { label: 3, num_classes: CLASSES, .. })));
}

/// A chain of epsilons that is long, whose states are numbered from its end: what is entered last
/// comes first.
#[test]
fn long_chains_of_epsilons_are_followed() {
    const LENGTH: i32 = 5000;
    let mut arcs = vec![Arc::new(0, LENGTH, 1, 0.0)];
    arcs.extend((1..LENGTH).map(|state| Arc::new(state + 1, state, EPSILON, -0.001)));
    arcs.push(Arc::new(1, LENGTH + 1, FINAL, 0.0));
    arcs.sort_by_key(|arc| arc.src_state);
    let graph = graph_of(Fsa::from_arcs(LENGTH as usize + 2, arcs).unwrap());
    let values = [0.0; CLASSES];
    let came = intersect_dense_pruned(&graph, &dense(&values), &DenseOptions::default()).unwrap();
    assert_eq!(came.graph().fsas().num_arcs(), LENGTH as usize + 1);
    assert!(near(total(came.graph().fsas(), Semiring::Tropical), -0.001 * f64::from(LENGTH - 1), SINGLE));
}
