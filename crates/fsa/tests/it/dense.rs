//! Dense intersection against composition, differences and itself.

use fsa::dense::*;
use fsa::graphs::CtcTopology;
use fsa::k2::{ComposeOptions, Epsilons, connect, top_sort};
use fsa::paths::{arc_posteriors, best_paths};
use fsa::{AUX_LABELS, Arc, Error, FINAL, Fsa, FsaVec, Graph, GraphLabels, Limits, Semiring};
use proptest::prelude::*;

use crate::decoding::{
    self, SEMIRINGS, SINGLE, acceptor, check_finished_parts, check_gradients, finite_frames, near, total,
};

const CLASSES: usize = 4;

/// Arcs between any two states, with cycles. Scores are multiples of 1/64, so that most sums are
/// exact.
fn graph() -> impl Strategy<Value = Fsa> {
    (2_usize..7).prop_flat_map(|states| {
        let last = states as i32 - 1;
        let arc = (0..last, 0..=last, 0..CLASSES as i32, -128..128_i32).prop_map(move |(src, dest, label, score)| {
            Arc::new(src, dest, if dest == last { FINAL } else { label }, score as f32 / 64.0)
        });
        prop::collection::vec(arc, 0..18).prop_map(move |mut arcs| {
            arcs.sort_by_key(|arc| arc.src_state);
            Fsa::from_arcs(states, arcs).unwrap()
        })
    })
}

/// Scores of some frames.
fn frames() -> impl Strategy<Value = Vec<f32>> {
    decoding::frames(7, CLASSES)
}

/// What composition makes of the same.
fn composed(values: &[f32], graph: &Fsa) -> Fsa {
    let options = ComposeOptions::default().with_epsilons(Epsilons::AsSymbol);
    let graph = Graph::new(graph.clone()).arc_sort().unwrap();
    let both = Graph::new(acceptor(values, CLASSES, 0)).compose_with(&graph, &options).unwrap();
    top_sort(&connect(both.fsas()).unwrap().0).unwrap().0
}

fn dense(values: &[f32]) -> DenseFsaVec<'_> {
    DenseFsaVec::from_frames(values, CLASSES).unwrap()
}

/// A search without any beam, in one of two ways.
fn without_beam(values: &[f32], graph: &Fsa, pruning: LatticePruning) -> DenseLattices {
    let options =
        DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(f32::INFINITY).with_pruning(pruning);
    intersect_dense_pruned(&Graph::new(graph.clone()), &dense(values), &options).unwrap()
}

proptest! {
    #[test]
    fn paths_are_those_of_composition(graph in graph(), values in frames()) {
        let (right, whole) = (composed(&values, &graph), Graph::new(graph.clone()));
        let came = [
            intersect_dense(&whole, &dense(&values), f32::INFINITY).unwrap(),
            without_beam(&values, &graph, LatticePruning::Exact),
            without_beam(&values, &graph, LatticePruning::Chunkwise),
        ];
        for came in came {
            for semiring in SEMIRINGS {
                let (right, came) = (total(&right, semiring), total(came.graph().fsas(), semiring));
                prop_assert!(near(came, right, SINGLE), "{semiring:?}: {came} and {right}");
            }
            let finite = right.arcs().iter().filter(|arc| arc.score > f32::NEG_INFINITY).count();
            if finite == right.num_arcs() {
                prop_assert_eq!(came.graph().fsas().num_arcs(), right.num_arcs());
            }
            prop_assert_eq!(came.outcomes()[0].has_paths(), came.graph().fsas().num_arcs() > 0);
        }
    }

    #[test]
    fn the_output_beam_keeps_arcs_on_paths_within_it(graph in graph(), values in frames(), beam in 0..300_i32) {
        // Not a multiple of 1/64: no path is at the border.
        let beam = (beam as f32 + 0.5) / 64.0;
        let whole = without_beam(&values, &graph, LatticePruning::Exact);
        let by = arc_posteriors::<f64, _>(whole.graph().fsas(), Semiring::Tropical).unwrap();
        let right: Vec<_> = (0..by.len()).filter(|&arc| by[arc] >= -f64::from(beam)).collect();
        let came = intersect_dense(&Graph::new(graph), &dense(&values), beam).unwrap();
        let of = |lattices: &DenseLattices, arc: usize| (lattices.frames()[arc], lattices.graph_arcs()[arc]);
        let mut right: Vec<_> = right.into_iter().map(|arc| of(&whole, arc)).collect();
        let mut came: Vec<_> = (0..came.frames().len()).map(|arc| of(&came, arc)).collect();
        right.sort_unstable();
        came.sort_unstable();
        prop_assert_eq!(came, right);
    }

    #[test]
    fn arc_maps_tell_scores(graph in graph(), values in frames()) {
        let came = without_beam(&values, &graph, LatticePruning::Exact);
        let dense = dense(&values);
        let frames = dense.utterance(0).unwrap();
        for (i, arc) in came.graph().fsas().arcs().iter().enumerate() {
            let of_graph = graph.arcs()[came.graph_arcs()[i] as usize];
            prop_assert_eq!(arc.label, of_graph.label);
            prop_assert_eq!(came.graph_scores()[i], of_graph.score);
            prop_assert_eq!(arc.score, of_graph.score + frames.score(came.frames()[i] as usize, arc.label));
        }
    }

    #[test]
    fn gradients_are_differences(graph in graph(), values in frames()) {
        check_gradients(&graph, &values, CLASSES, |graph, values| {
            intersect_dense(&Graph::new(graph.clone()), &dense(values), f32::INFINITY).unwrap()
        })?;
    }

    #[test]
    fn chunks_are_the_whole(
        graph in graph(),
        values in finite_frames(60, CLASSES),
        cuts in prop::collection::vec(0_usize..9, 1..20),
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
        let graph = Graph::new(graph);
        let right = intersect_dense_pruned(&graph, &dense(values), &options).unwrap();
        let decoder = OnlineDecoder::new(graph, options).unwrap();
        let [mut stream, mut other] = [decoder.stream(), decoder.stream()];
        let mut rest = values;
        for cut in cuts.iter().cycle().map(|cut| cut * CLASSES) {
            // A stream on its own, and one that gets the frames in other pieces.
            let (chunk, after) = rest.split_at(cut.min(rest.len()));
            decoder.decode(&mut [&mut stream], &dense(chunk)).unwrap()[0].clone().unwrap();
            rest = after;
            if rest.is_empty() || cuts.iter().all(|&cut| cut == 0) {
                break;
            }
            stream = stream.clone();
            decoder.lattices(&[&stream], Ending::Active).unwrap();
        }
        decoder.decode(&mut [&mut stream, &mut other], &{
            let rows = values.len() / CLASSES;
            let rest = rest.len() / CLASSES;
            DenseFsaVec::new(values, CLASSES, CLASSES, vec![rows - rest..rows, 0..rows]).unwrap()
        })
        .unwrap();
        let came = decoder.lattices(&[&stream, &other], Ending::Final).unwrap();
        for i in 0..2 {
            prop_assert_eq!(came.graph().fsas().get(i).unwrap(), right.graph().fsas().get(0).unwrap());
            prop_assert_eq!(&came.outcomes()[i], &right.outcomes()[0]);
        }
    }

    #[test]
    fn finished_parts_are_the_whole(
        graph in graph(),
        values in finite_frames(60, CLASSES),
        chunk in 1_usize..7,
        output_beam in 0..200_i32,
    ) {
        let options = DenseOptions::default().with_output_beam((output_beam as f32 + 0.5) / 64.0);
        let graph = Graph::new(graph);
        let right = intersect_dense_pruned(&graph, &dense(&values), &options).unwrap();
        let decoder = OnlineDecoder::new(graph, options).unwrap();
        check_finished_parts(&decoder, (&values, CLASSES), chunk, &right)?;
    }

    #[test]
    fn best_paths_do_not_depend_on_the_kind_of_pruning(
        graph in graph(),
        values in finite_frames(120, CLASSES),
        ending in prop::sample::select(vec![Ending::Final, Ending::Active]),
    ) {
        let best = |pruning| {
            let options = DenseOptions::default().with_pruning(pruning);
            let decoder = OnlineDecoder::new(Graph::new(graph.clone()), options).unwrap();
            let mut stream = decoder.stream();
            decoder.decode(&mut [&mut stream], &dense(&values)).unwrap()[0].clone().unwrap();
            decoder.best_paths(&[&stream], ending).unwrap()
        };
        prop_assert_eq!(best(LatticePruning::Chunkwise), best(LatticePruning::Exact));
    }

    #[test]
    fn streams_are_saved_and_read_again(
        graph in graph(),
        values in finite_frames(20, CLASSES),
        cut in 0_usize..20,
        damage in any::<(prop::sample::Index, u8)>(),
    ) {
        let values = &values[..];
        let (first, second) = values.split_at((cut * CLASSES).min(values.len()));
        let decoder = OnlineDecoder::new(Graph::new(graph), DenseOptions::default()).unwrap();
        let mut stream = decoder.stream();
        decoder.decode(&mut [&mut stream], &dense(first)).unwrap()[0].clone().unwrap();
        let mut bytes = stream.to_bytes();
        prop_assert_eq!(&DecodingStream::from_bytes(&bytes).unwrap(), &stream);
        prop_assert!(DecodingStream::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        // Whatever damaged bytes are taken for, it does no harm.
        let (place, byte) = damage;
        bytes[place.index(stream.to_bytes().len())] = byte;
        if let Ok(mut damaged) = DecodingStream::from_bytes(&bytes) {
            let _ = decoder.decode(&mut [&mut damaged], &dense(second));
            let _ = decoder.lattices(&[&damaged], Ending::Active);
            let _ = decoder.take_finished(&mut damaged);
        }
    }

    #[test]
    fn a_batch_is_its_utterances(
        graphs in prop::collection::vec(graph(), 1..4),
        values in prop::collection::vec(frames(), 4),
        shared in any::<bool>(),
    ) {
        let all = values[..graphs.len()].concat();
        let mut row = 0;
        let sequences = values[..graphs.len()].iter().map(|values| {
            let rows = row..row + values.len() / CLASSES;
            row = rows.end;
            rows
        });
        let batch = DenseFsaVec::new(&all, CLASSES, CLASSES, sequences.collect()).unwrap();
        let options = DenseOptions::default();
        let all_graphs = FsaVec::from_fsas(if shared { &graphs[..1] } else { &graphs }).unwrap();
        let came = intersect_dense_pruned(&Graph::new(all_graphs.clone()), &batch, &options).unwrap();
        let mut arc = 0;
        for (i, values) in values[..graphs.len()].iter().enumerate() {
            let graph = if shared { 0 } else { i };
            let right = intersect_dense_pruned(&Graph::new(graphs[graph].clone()), &dense(values), &options).unwrap();
            prop_assert_eq!(came.graph().fsas().get(i).unwrap(), right.graph().fsas().get(0).unwrap());
            prop_assert_eq!(&came.outcomes()[i], &right.outcomes()[0]);
            let first = all_graphs.fsa(graph).first_arc() as i32;
            for (&of_graph, &frame) in right.graph_arcs().iter().zip(right.frames()) {
                prop_assert_eq!((came.graph_arcs()[arc], came.frames()[arc]), (of_graph + first, frame));
                arc += 1;
            }
        }
    }
}

/// A graph of tokens: no label is 0.
fn tokens() -> impl Strategy<Value = Graph<Fsa>> {
    graph().prop_map(|graph| {
        let arcs = graph.arcs().iter().map(|&arc| Arc { label: if arc.label == 0 { 1 } else { arc.label }, ..arc });
        let aux: Vec<_> =
            (0..).zip(graph.arcs()).map(|(i, arc)| if arc.label == FINAL { FINAL } else { i % 3 }).collect();
        let graph = Fsa::from_arcs(graph.num_states(), arcs.collect::<Vec<_>>()).unwrap();
        Graph::new(graph).with_aux_labels(aux).unwrap()
    })
}

/// What can be compared of lattices whose states are numbered otherwise: frame, label, label put
/// out and score of each arc.
fn arcs_of(lattices: &DenseLattices) -> Vec<(i32, i32, i32, i32, i32)> {
    let aux = lattices.graph().aux_labels().unwrap();
    let of = |(i, arc): (usize, &Arc)| {
        let graph_score = (lattices.graph_scores()[i] * 64.0) as i32;
        (lattices.frames()[i], arc.label, aux[i], (arc.score * 64.0) as i32, graph_score)
    };
    let mut arcs: Vec<_> = lattices.graph().fsas().arcs().iter().enumerate().map(of).collect();
    arcs.sort_unstable();
    arcs
}

proptest! {
    #[test]
    fn the_implicit_topology_is_the_explicit_one(
        tokens in tokens(),
        values in frames(),
        modified in any::<bool>(),
        search_beam in 0..600_i32,
        output_beam in 0..300_i32,
    ) {
        // Not multiples of 1/64: nothing is at the border.
        let beam = |beam: i32| (beam as f32 + 0.5) / 64.0;
        let options = DenseOptions::default()
            .with_search_beam(beam(search_beam))
            .with_output_beam(beam(output_beam))
            .with_min_active_states(0)
            .with_allow_partial(true);
        let topology = CtcTopology::new(CLASSES - 1, modified).unwrap();
        let explicit = topology.compose(&tokens, GraphLabels::Class, None, Limits::default()).unwrap();
        let right = intersect_dense_pruned(&explicit, &dense(&values), &options).unwrap();
        let implicit = CtcGraph::new(topology, tokens, Some("tokens")).unwrap();
        let came = implicit.intersect_dense_pruned(&dense(&values), &options).unwrap();
        prop_assert_eq!(came.outcomes(), right.outcomes());
        prop_assert_eq!(arcs_of(&came), arcs_of(&right));
        for semiring in SEMIRINGS {
            let (right, came) = (total(right.graph().fsas(), semiring), total(came.graph().fsas(), semiring));
            prop_assert!(near(came, right, SINGLE), "{semiring:?}: {came} and {right}");
        }
        let decoder = OnlineDecoder::with_ctc_topology(implicit, options).unwrap();
        let mut stream = decoder.stream();
        for row in values.chunks(CLASSES) {
            decoder.decode(&mut [&mut stream], &dense(row)).unwrap()[0].clone().unwrap();
        }
        let chunks = decoder.lattices(&[&stream], Ending::FinalElseActive).unwrap();
        prop_assert_eq!(chunks, came);
    }
}

/// 0 --1--> 1 --2--> 2 --> (3)
fn chain() -> Graph<Fsa> {
    let arcs = vec![Arc::new(0, 1, 1, 0.5), Arc::new(1, 2, 2, 0.25), Arc::new(2, 3, FINAL, 1.0)];
    Graph::new(Fsa::from_arcs(4, arcs).unwrap()).with_aux_labels(vec![7, 8, -1]).unwrap()
}

#[test]
fn one_bad_utterance_leaves_the_others_alone() {
    let mut values = vec![0.0_f32; 5 * 2 * CLASSES];
    values[2 * CLASSES * 2 + 6] = f32::NAN;
    let dense = DenseFsaVec::from_padded(&values, [5, 2, CLASSES], &[2, 3, 2, 0, 1]).unwrap();
    let came = intersect_dense_pruned(&chain(), &dense, &DenseOptions::default()).unwrap();
    let too_long = Error::DenseSegment { utterance: 1, sequence: 1, start: 0, duration: 3, num_frames: 2 };
    assert_eq!(came.outcomes()[0], Outcome::Final);
    assert_eq!(came.outcomes()[1], Outcome::Failed(too_long));
    let Outcome::Failed(Error::DenseScore { utterance: 2, frame: 1, class: 2, .. }) = came.outcomes()[2] else {
        panic!()
    };
    assert_eq!(came.outcomes()[3..], [Outcome::NoFinalState, Outcome::NoFinalState]);
    let states: Vec<_> = came.graph().fsas().iter().map(|fsa| fsa.num_states()).collect();
    assert_eq!(states, [4, 0, 0, 0, 0]);
    assert_eq!(came.graph().aux_labels(), Some(&[7, 8, -1][..]));
}

#[test]
fn partial_results_are_told_from_others() {
    let values = [0.0_f32; 3 * CLASSES];
    let partial = DenseOptions::default().with_allow_partial(true);
    let decode = |frames: usize| {
        let came = intersect_dense_pruned(&chain(), &dense(&values[..frames * CLASSES]), &partial).unwrap();
        (
            came.outcomes()[0].clone(),
            came.graph().fsas().labels(),
            came.graph().attributes().ints(AUX_LABELS).unwrap().to_vec(),
        )
    };
    assert_eq!(decode(0), (Outcome::Partial, vec![-1], vec![-1]));
    assert_eq!(decode(1), (Outcome::Partial, vec![1, -1], vec![7, -1]));
    assert_eq!(decode(2), (Outcome::Final, vec![1, 2, -1], vec![7, 8, -1]));
    assert_eq!(decode(3), (Outcome::Died { frame: 2 }, vec![], vec![]));
}

#[test]
fn graphs_without_paths_have_no_lattices() {
    let values = [0.0_f32; 2 * CLASSES];
    let decode = |fsa: Fsa| {
        let came = intersect_dense(&Graph::new(fsa), &dense(&values), 1.0).unwrap();
        assert_eq!(came.graph().fsas().num_states(), 0);
        came.outcomes()[0].clone()
    };
    assert_eq!(decode(Fsa::empty()), Outcome::NoFinalState);
    assert_eq!(decode(Fsa::from_arcs(2, vec![]).unwrap()), Outcome::Died { frame: 0 });
    assert_eq!(decode(Fsa::from_arcs(2, vec![Arc::new(0, 0, 1, 0.0)]).unwrap()), Outcome::NoFinalState);
    let nothing = Arc::new(0, 1, FINAL, f32::NEG_INFINITY);
    assert_eq!(decode(Fsa::from_arcs(2, vec![Arc::new(0, 0, 1, 0.0), nothing]).unwrap()), Outcome::NoFinalState);
}

#[test]
fn what_does_not_fit_is_refused() {
    let values = [0.0_f32; 2 * CLASSES];
    let options = DenseOptions::default();
    let narrow = DenseFsaVec::from_frames(&values, 2).unwrap();
    let no_class = Error::DenseLabel { fsa: 0, arc: 1, label: 2, num_classes: 2 };
    assert_eq!(intersect_dense_pruned(&chain(), &narrow, &options), Err(no_class.clone()));
    let decoder = OnlineDecoder::new(chain(), options.clone()).unwrap();
    let mut stream = decoder.stream();
    assert_eq!(decoder.decode(&mut [&mut stream], &narrow), Err(no_class));
    assert!(decoder.decode(&mut [], &dense(&values)).is_err());
    assert!(OnlineDecoder::new(chain(), options.clone().with_search_beam(f32::NAN)).is_err());
    let graph = |fsas: &[Fsa]| Graph::new(FsaVec::from_fsas(fsas).unwrap());
    let two = graph(&[chain().into_parts().0, Fsa::empty()]);
    assert!(intersect_dense_pruned(&two, &dense(&values), &options).is_err());
    assert!(intersect_dense_pruned(&graph(&[]), &dense(&values), &options).is_err());
    let other = OnlineDecoder::new(Graph::new(Fsa::from_arcs(2, vec![]).unwrap()), options).unwrap();
    assert!(other.decode(&mut [&mut stream], &dense(&values)).unwrap()[0].is_err());
    assert!(other.lattices(&[&stream], Ending::Active).is_err());
}

#[test]
fn times_are_those_of_the_input() {
    let values = [0.0_f32; 5 * CLASSES];
    let segment = Segment { sequence: 0, start: 3, duration: 2 };
    let dense = dense(&values).with_segments(vec![segment]).with_frame_subsampling(4);
    let came = intersect_dense(&chain(), &dense, 1.0).unwrap();
    assert_eq!(came.frames(), [0, 1, 2]);
    assert_eq!(came.input_frames(&dense).unwrap(), [12, 16, 20]);
    assert_eq!(best_paths(came.graph().fsas()).unwrap().values()[..], [0, 1, 2]);
}

#[test]
fn memory_is_limited() {
    let values = vec![0.0_f32; 2000 * CLASSES];
    let arcs: Vec<_> = (0..CLASSES as i32).map(|label| Arc::new(0, 0, label, 0.0)).collect();
    let loops = Graph::new(Fsa::from_arcs(2, arcs).unwrap());
    let options = DenseOptions::default().with_limits(Limits::default().with_max_bytes(10_000));
    let came = intersect_dense_pruned(&loops, &dense(&values), &options).unwrap();
    let Outcome::Failed(Error::DenseFrame { utterance: 0, frame: 1.., error }) = &came.outcomes()[0] else {
        panic!("{:?}", came.outcomes())
    };
    assert!(matches!(**error, Error::Limit { limit: 10_000, .. }));
}

#[test]
fn the_memory_of_lattices_is_limited() {
    let values = vec![0.0_f32; 20 * CLASSES];
    // Epsilons around a cycle that costs little make copies of the states of each frame.
    let around =
        vec![Arc::new(0, 1, 0, -0.001), Arc::new(0, 0, 1, 0.0), Arc::new(0, 2, FINAL, 0.0), Arc::new(1, 0, 0, 0.0)];
    let graph = Graph::new(Fsa::from_arcs(3, around).unwrap()).with_graph_labels(GraphLabels::ClassPlusOne);
    let options = |bytes: usize| DenseOptions::default().with_limits(Limits::default().with_max_bytes(bytes));
    let came = intersect_dense_pruned(&graph, &dense(&values), &options(1 << 20)).unwrap();
    assert_eq!(came.outcomes(), [Outcome::Final]);
    assert!(came.graph().fsas().num_arcs() > 32 * 20);
    let came = intersect_dense_pruned(&graph, &dense(&values), &options(20_000)).unwrap();
    let Outcome::Failed(Error::DenseFrame { utterance: 0, error, .. }) = &came.outcomes()[0] else {
        panic!("{:?}", came.outcomes())
    };
    assert!(matches!(**error, Error::Limit { limit: 20_000, .. }));
}

#[test]
fn scores_that_add_up_to_more_than_a_number_holds_concern_their_utterance() {
    let values = [3e38, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let dense = DenseFsaVec::from_padded(&values, [2, 2, 2], &[2, 2]).unwrap();
    let arcs = vec![Arc::new(0, 0, 0, 3e38), Arc::new(0, 1, FINAL, 0.0)];
    let graph = Graph::new(Fsa::from_arcs(2, arcs).unwrap());
    let came = intersect_dense_pruned(&graph, &dense, &DenseOptions::default().with_allow_partial(true)).unwrap();
    let error = Box::new(Error::Overflow { fsa: 0 });
    assert_eq!(came.outcomes()[0], Outcome::Failed(Error::DenseFrame { utterance: 0, frame: 0, error }));
    assert_eq!(came.outcomes()[1], Outcome::Final);
}

#[test]
fn an_end_that_costs_more_than_a_number_holds_is_none() {
    let arcs = vec![Arc::new(0, 1, 0, -3e38), Arc::new(0, 2, 0, 0.0), Arc::new(1, 3, FINAL, -3e38)];
    let graph = Graph::new(Fsa::from_arcs(4, arcs).unwrap());
    let came = intersect_dense(&graph, &dense(&[0.0; CLASSES]), f32::INFINITY).unwrap();
    assert_eq!(came.outcomes(), [Outcome::NoFinalState]);
}

#[test]
fn a_label_out_of_the_classes_concerns_its_utterance_if_each_has_a_graph() {
    let graph = |label| Fsa::from_arcs(3, vec![Arc::new(0, 1, label, 0.0), Arc::new(1, 2, FINAL, 0.0)]).unwrap();
    let both = Graph::new(FsaVec::from_fsas(&[graph(1), graph(CLASSES as i32), graph(0)]).unwrap());
    let values = [0.0; 3 * CLASSES];
    let three = DenseFsaVec::from_padded(&values, [3, 1, CLASSES], &[1, 1, 1]).unwrap();
    let came = intersect_dense(&both, &three, 1.0).unwrap();
    let error = Error::DenseLabel { fsa: 1, arc: 0, label: CLASSES as i32, num_classes: CLASSES };
    assert_eq!(came.outcomes(), [Outcome::Final, Outcome::Failed(error.clone()), Outcome::Final]);
    let one = Graph::new(graph(CLASSES as i32));
    assert!(matches!(intersect_dense(&one, &three, 1.0), Err(Error::DenseLabel { fsa: 0, .. })));
}

/// Frames of an hour of speech at 100 a second, in chunks, and after how many what is decided is
/// taken.
const HOUR: usize = 360_000;
const MINUTE: usize = 6_000;
const CHUNK: usize = 100;
const TAKE: usize = 1_000;
/// Memory after an hour beside that after a minute.
const MOST_GROWTH: f64 = 1.1;

/// What a stream has allocated beside what it holds: vectors grow by doubling.
const MOST_ALLOCATED: usize = 3;

/// Decodes noise with a peak, as of a network that is mostly sure, and returns how many bytes the
/// stream holds at most within the first minute and within the hour.
fn peak_memory_of_stream(output_beam: f32) -> [usize; 2] {
    let topology = CtcTopology::new(CLASSES - 1, false).unwrap();
    let graph = CtcGraph::new(topology, fsa::graphs::trivial_graph(CLASSES - 1).unwrap(), None).unwrap();
    let options =
        DenseOptions::default().with_search_beam(10.0).with_output_beam(output_beam).with_min_active_states(0);
    let decoder = OnlineDecoder::with_ctc_topology(graph, options).unwrap();
    let mut stream = decoder.stream();
    let mut seed = 1_u64;
    let mut random = move || {
        // The generator of Knuth's MMIX.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1 << 24) as f32
    };
    let (mut peak, mut after_minute, mut taken) = (0, 0, 0);
    for frame in (0..HOUR).step_by(CHUNK) {
        let mut values: Vec<_> = (0..CHUNK * CLASSES).map(|_| -4.0 * random()).collect();
        for row in values.chunks_mut(CLASSES) {
            row[(random() * CLASSES as f32) as usize] += 3.0;
        }
        decoder.decode(&mut [&mut stream], &dense(&values)).unwrap()[0].clone().unwrap();
        let partial = decoder.lattices(&[&stream], Ending::Active).unwrap();
        assert_eq!(partial.outcomes(), [Outcome::Partial]);
        peak = peak.max(stream.to_bytes().len());
        assert!(stream.num_bytes() <= MOST_ALLOCATED * peak);
        if (frame + CHUNK).is_multiple_of(TAKE)
            && let Some(part) = decoder.take_finished(&mut stream).unwrap()
        {
            taken += part.frames().iter().collect::<std::collections::HashSet<_>>().len() - 1;
        }
        if frame + CHUNK == MINUTE {
            after_minute = peak;
        }
    }
    assert!(stream.is_alive() && taken > HOUR - 2 * TAKE);
    [after_minute, peak]
}

#[test]
fn an_hour_takes_no_more_memory_than_a_minute() {
    for output_beam in [0.0, 2.0] {
        let [minute, hour] = peak_memory_of_stream(output_beam);
        println!("output beam {output_beam}: {minute} bytes after a minute, {hour} after an hour");
        assert!(hour as f64 <= MOST_GROWTH * minute as f64, "{hour} bytes after an hour, {minute} after a minute");
    }
}
