//! What the tests of decoding share.

use fsa::dense::{DenseFsaVec, DenseLattices, Ending, OnlineDecoder, Outcome};
use fsa::paths::{total_scores, total_scores_saved};
use fsa::{Arc, FINAL, Fsa, Fsas, Semiring};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Sums of some dozen numbers of a few units in single precision.
pub(crate) const SINGLE: f64 = 1e-4;
const DIFFERENCE: f64 = 2e-3;
const STEP: f32 = 1.0 / 64.0;
pub(crate) const SEMIRINGS: [Semiring; 2] = [Semiring::Log, Semiring::Tropical];

/// Scores of less than `most` frames.
pub(crate) fn frames(most: usize, num_classes: usize) -> impl Strategy<Value = Vec<f32>> {
    let score = prop_oneof![9 => (-256..64_i32).prop_map(|x| x as f32 / 64.0), 1 => Just(f32::NEG_INFINITY)];
    (0..most).prop_flat_map(move |frames| prop::collection::vec(score.clone(), frames * num_classes))
}

/// Finite scores of less than `most` frames.
pub(crate) fn finite_frames(most: usize, num_classes: usize) -> impl Strategy<Value = Vec<f32>> {
    let score = (-256..64_i32).prop_map(|x| x as f32 / 64.0);
    (0..most).prop_flat_map(move |frames| prop::collection::vec(score.clone(), frames * num_classes))
}

/// The scores as an FSA of their own; the first class has the label `first`.
pub(crate) fn acceptor(values: &[f32], num_classes: usize, first: i32) -> Fsa {
    let mut arcs = vec![];
    for (frame, row) in (0..).zip(values.chunks(num_classes)) {
        arcs.extend((first..).zip(row).map(|(label, &score)| Arc::new(frame, frame + 1, label, score)));
    }
    let frames = (values.len() / num_classes) as i32;
    arcs.push(Arc::new(frames, frames + 1, FINAL, 0.0));
    Fsa::from_arcs(frames as usize + 2, arcs).unwrap()
}

pub(crate) fn total(fsas: &impl Fsas, semiring: Semiring) -> f64 {
    total_scores::<f64, _>(fsas, semiring).unwrap()[0]
}

pub(crate) fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// The gradients of the total score with regard to the graph and to the scores of the frames are
/// differences of what `decode` gives.
pub(crate) fn check_gradients(
    graph: &Fsa,
    values: &[f32],
    num_classes: usize,
    decode: impl Fn(&Fsa, &[f32]) -> DenseLattices,
) -> Result<(), TestCaseError> {
    let came = decode(graph, values);
    let (totals, saved) = total_scores_saved::<f64, _>(came.graph().fsas(), Semiring::Log).unwrap();
    if totals[0] == f64::NEG_INFINITY {
        return Ok(());
    }
    let arcs = saved.backward(&[1.0]).unwrap();
    let value = |graph: &Fsa, values: &[f32]| total(decode(graph, values).graph().fsas(), Semiring::Log);
    let scores = graph.scores();
    for (arc, &grad) in came.graph_gradient(&arcs, graph.num_arcs()).unwrap().iter().enumerate() {
        let changed = |change: f32| {
            let mut scores = scores.clone();
            scores[arc] += change;
            value(&graph.with_scores(&scores).unwrap(), values)
        };
        let difference = (changed(STEP) - changed(-STEP)) / f64::from(2.0 * STEP);
        prop_assert!((grad - difference).abs() < DIFFERENCE, "arc {arc}: {grad} and {difference}");
    }
    let dense = DenseFsaVec::from_frames(values, num_classes).unwrap();
    for (place, &grad) in came.score_gradient(&arcs, &dense).unwrap().iter().enumerate() {
        let changed = |change: f32| {
            let mut values = values.to_vec();
            values[place] += change;
            value(graph, &values)
        };
        let difference = (changed(STEP) - changed(-STEP)) / f64::from(2.0 * STEP);
        prop_assert!((grad - difference).abs() < DIFFERENCE, "value {place}: {grad} and {difference}");
    }
    Ok(())
}

/// The parts that are taken from a stream of chunks of so many frames are together the lattice of
/// the whole.
pub(crate) fn check_finished_parts(
    decoder: &OnlineDecoder,
    (values, num_classes): (&[f32], usize),
    chunk: usize,
    right: &DenseLattices,
) -> Result<(), TestCaseError> {
    let mut stream = decoder.stream();
    let mut came = vec![];
    let mut add = |lattices: &DenseLattices, last: bool| {
        for (i, arc) in lattices.graph().fsas().arcs().iter().enumerate() {
            if last || arc.label != FINAL {
                came.push((lattices.frames()[i], lattices.graph_arcs()[i], arc.label, arc.score));
            }
        }
    };
    for chunk in values.chunks(chunk * num_classes) {
        let dense = DenseFsaVec::from_frames(chunk, num_classes).unwrap();
        decoder.decode(&mut [&mut stream], &dense).unwrap()[0].clone().unwrap();
        if let Some(part) = decoder.take_finished(&mut stream).unwrap() {
            prop_assert_eq!(&part.outcomes()[0], &Outcome::Partial);
            add(&part, false);
        }
    }
    let rest = decoder.lattices(&[&stream], Ending::Final).unwrap();
    add(&rest, true);
    prop_assert_eq!(&rest.outcomes()[0], &right.outcomes()[0]);
    if right.outcomes()[0].has_paths() {
        let arcs = right.graph().fsas().arcs().iter().enumerate();
        let right = arcs.map(|(i, arc)| (right.frames()[i], right.graph_arcs()[i], arc.label, arc.score));
        prop_assert_eq!(came, right.collect::<Vec<_>>());
    }
    Ok(())
}
