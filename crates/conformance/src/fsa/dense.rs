//! Intersection with a network's scores of each frame: `k2/dense.json`.

use fsa::dense::{
    DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder, Outcome, Segment, intersect_dense,
    intersect_dense_pruned,
};
use fsa::paths::{best_paths, total_scores, total_scores_saved};
use fsa::{AUX_LABELS, FINAL, Fsa, FsaOrVec, Fsas, Graph, Semiring};
use serde_json::{Value, json};

use super::json::{all_close, close, compare_by, compare_exact, graph};
use super::nbest::arcs;
use crate::{Stop, all_near, field, flat, floats, list, number, single, unless};

/// The README's tolerance for totals computed in single precision, and for their gradients.
const TOTAL: f64 = 2e-3;
const GRADIENT: f64 = 1e-3;
/// The most by which the sum over all paths of a pruned search may be below k2's.
const PRUNED: f64 = 0.05;
/// Scores that are copied.
const SCORE: f64 = 1e-6;

/// Runs an operation of this file.
pub(crate) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "intersect_dense" => exact(args, expect),
        "intersect_dense_pruned" => pruned(args, expect),
        "online" => online(args, expect),
        "dense_fsa_vec" => scores(args, expect),
        _ => Err(Stop::NotRun),
    }
}

const SEMIRINGS: [(&str, Semiring); 2] = [("tot_log", Semiring::Log), ("tot_tropical", Semiring::Tropical)];

/// The scores `[sequence][frame][class]`, concatenated, and their shape.
fn values(args: &Value) -> Result<(Vec<f32>, [usize; 3]), Stop> {
    Ok((floats(&args["log_probs"])?, field(args, "shape")?))
}

fn dense<'a>(args: &Value, (values, shape): &'a (Vec<f32>, [usize; 3])) -> Result<DenseFsaVec<'a>, Stop> {
    let whole = DenseFsaVec::from_padded(values, *shape, &vec![shape[1]; shape[0]])?;
    let rows: Vec<[usize; 3]> = field(args, "segments")?;
    let mut segments: Vec<_> =
        rows.into_iter().map(|[sequence, start, duration]| Segment { sequence, start, duration }).collect();
    if let Some(map) = field::<Option<Vec<usize>>>(args, "a_to_b_map")? {
        segments = map.into_iter().map(|segment| segments[segment]).collect();
    }
    Ok(whole.with_segments(segments))
}

fn exact(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let values = values(args)?;
    let (graph, dense) = (graph(&args["graph"])?, dense(args, &values)?);
    let came = intersect_dense(&graph, &dense, single(number(&args["output_beam"])?))?;
    compare(expect, &came, &graph, &dense)
}

fn pruned(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let values = values(args)?;
    let (graph, dense) = (graph(&args["graph"])?, dense(args, &values)?);
    let options = DenseOptions::default()
        .with_search_beam(single(number(&args["search_beam"])?))
        .with_output_beam(single(number(&args["output_beam"])?))
        .with_min_active_states(field(args, "min_active_states")?)
        .with_max_active_states(field(args, "max_active_states")?)
        .with_allow_partial(args["allow_partial"] == true);
    let came = intersect_dense_pruned(&graph, &dense, &options)?;
    compare(expect, &came, &graph, &dense)
}

/// Compares every field of a case about lattices.
fn compare(
    expect: &Value,
    came: &DenseLattices,
    graph: &Graph<FsaOrVec>,
    dense: &DenseFsaVec<'_>,
) -> Result<Vec<String>, Stop> {
    let failed = came.outcomes().iter().find(|outcome| matches!(outcome, Outcome::Failed(_)));
    let mut differences: Vec<String> = failed.map(|failed| format!("came {failed:?}")).into_iter().collect();
    let fsas = came.graph().fsas();
    for (name, semiring) in SEMIRINGS {
        let (totals, saved) = total_scores_saved::<f64, _>(fsas, semiring)?;
        let most = flat(expect.get("unpruned_tot_log").unwrap_or(&json!([])))?;
        differences.extend(compare_by(expect, name, &totals, |right, came| {
            if most.is_empty() || semiring == Semiring::Tropical {
                return all_near(right, came, TOTAL);
            }
            let mut all = right.iter().zip(&most).zip(came);
            right.len() == came.len() && all.all(|((k2, most), came)| (k2 - PRUNED..=most + TOTAL).contains(came))
        })?);
        let finite: Vec<f64> = totals.iter().map(|total| if total.is_finite() { 1.0 } else { 0.0 }).collect();
        let arcs = saved.backward(&finite)?;
        let suffix = if semiring == Semiring::Log { "" } else { "_tropical" };
        let of_scores = came.score_gradient(&arcs, dense)?;
        differences.extend(gradient(expect, &format!("grad_log_probs{suffix}"), &of_scores)?);
        if semiring == Semiring::Log {
            let of_graph = came.graph_gradient(&arcs, graph.fsas().as_fsa_vec().num_arcs())?;
            differences.extend(gradient(expect, "grad_graph_scores", &of_graph)?);
        }
    }
    differences.extend(paths(expect, came)?);
    if expect["note"].as_str().is_some_and(|note| note.contains("exact output-beam pruning")) {
        let sizes: [Vec<usize>; 2] =
            [fsas.iter().map(|fsa| fsa.num_states()).collect(), fsas.iter().map(|fsa| fsa.arcs().len()).collect()];
        let right: [Vec<usize>; 2] = [field(expect, "lattice_states")?, field(expect, "lattice_arcs")?];
        differences.extend(unless(sizes == right, || format!("expected states and arcs {right:?}, came {sizes:?}")));
    }
    Ok(differences)
}

/// A gradient, in nested lists or flat.
fn gradient(expect: &Value, name: &str, came: &[f64]) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() {
        return Ok(vec![]);
    }
    compare_by(expect, name, came, |right, came| all_near(right, came, GRADIENT))
}

/// The best path of each utterance: its labels, the words on it and its score.
fn paths(expect: &Value, came: &DenseLattices) -> Result<Vec<String>, Stop> {
    let graph = came.graph();
    let (all, words) = (graph.fsas().arcs(), graph.attributes().ints(AUX_LABELS));
    let (mut labels, mut of_words, mut scores) = (vec![], vec![], vec![]);
    for path in best_paths(graph.fsas())?.rows() {
        labels.push(arcs(path).map(|arc| all[arc].label).collect());
        of_words.push(words.map(|words| arcs(path).map(|arc| words[arc]).filter(|&word| word > 0).collect()));
        scores.push(arcs(path).map(|arc| f64::from(all[arc].score)).sum::<f64>());
    }
    Ok([
        compare_exact::<Vec<Vec<i32>>>(expect, "best_labels", &labels)?,
        compare_exact::<Vec<Option<Vec<i32>>>>(expect, "best_words", &of_words)?,
        compare_by(expect, "best_score", &scores, |right, came| all_near(right, came, TOTAL))?,
    ]
    .concat())
}

/// Chunk after chunk, of one stream and of two that share calls.
fn online(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (values, shape) = values(args)?;
    let chunk: usize = field(args, "chunk")?;
    let graph = graph(&args["graph"])?;
    let graph: Graph<Fsa> = Graph::from_parts(graph.fsas().as_fsa_vec().get(0)?, graph.attributes().clone())?;
    let wide = DenseOptions::default().with_search_beam(1000.0).with_output_beam(1000.0);
    let decoder = OnlineDecoder::new(graph, wide)?;
    let whole = DenseFsaVec::from_padded(&values, shape, &vec![shape[1]; shape[0]])?;
    let mut streams = [decoder.stream(), decoder.stream()];
    let mut differences = Vec::new();
    for (start, right) in (0..shape[1]).step_by(chunk).zip(list(expect, "after_chunk")?) {
        let segment = Segment { sequence: 0, start, duration: chunk.min(shape[1] - start) };
        let [first, second] = &mut streams;
        let both = whole.clone().with_segments(vec![segment; 2]);
        for result in decoder.decode(&mut [first, second], &both)? {
            result?;
        }
        let [first, second] = &streams;
        let so_far = decoder.lattices(&[first, second], Ending::Active)?;
        let fsas = so_far.graph().fsas();
        let place = format!("up to {start} + {chunk}");
        for (name, semiring) in SEMIRINGS {
            let (totals, right) = (total_scores::<f64, _>(fsas, semiring)?, flat(&right[name])?[0]);
            let near = totals.iter().all(|&total| close(right, total, TOTAL));
            differences.extend(unless(near, || format!("{place}: expected {name} {right}, came {totals:?}")));
        }
        let right: Vec<i32> = field(right, "best_labels")?;
        for path in best_paths(fsas)?.rows() {
            let labels: Vec<_> = arcs(path).map(|arc| fsas.arcs()[arc].label).collect();
            let tell = || format!("{place}: expected best_labels {right:?}, came {labels:?}");
            differences.extend(unless(labels == right, tell));
        }
    }
    Ok(differences)
}

/// The rows with k2's column of label -1 and its additional row of each utterance.
fn scores(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let values = values(args)?;
    let dense = dense(args, &values)?;
    let (mut rows, mut row_splits, mut durations) = (vec![], vec![0], vec![]);
    for utterance in 0..dense.num_utterances() {
        let frames = dense.utterance(utterance)?;
        for frame in 0..=frames.num_frames() {
            let labels = FINAL..i32::try_from(dense.num_classes()).unwrap_or(i32::MAX);
            rows.push(labels.map(|label| f64::from(frames.score(frame, label))).collect::<Vec<_>>());
        }
        row_splits.push(rows.len());
        durations.push(frames.num_frames());
    }
    let right: Vec<_> = list(expect, "scores")?.iter().map(flat).collect::<Result<_, _>>()?;
    let near = right.len() == rows.len() && right.iter().zip(&rows).all(|(a, b)| all_close(a, b, SCORE));
    let (splits, duration): (Vec<usize>, Vec<usize>) = (field(expect, "row_splits")?, field(expect, "duration")?);
    let same = splits == row_splits && duration == durations;
    let right_sizes = (&splits, &duration);
    Ok([
        unless(near, || format!("expected scores {right:?}, came {rows:?}")),
        unless(same, || {
            format!("expected row_splits and duration {right_sizes:?}, came {row_splits:?}, {durations:?}")
        }),
    ]
    .concat())
}
