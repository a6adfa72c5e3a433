//! Intersection with a network's scores of each frame: `k2/dense.json`.

use std::path::Path;

use fsa::dense::{
    DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder, Outcome, Segment, intersect_dense,
    intersect_dense_pruned,
};
use fsa::paths::{best_paths, total_scores, total_scores_saved};
use fsa::{AUX_LABELS, FINAL, Fsa, FsaOrVec, Fsas, Graph, Semiring};
use serde_json::Value;

use super::json::{close, field, flat, floats, graph, numbers};
use super::{Operation, Stop, judge_with};
use crate::{Case, Error, Settings, Verdict};

/// The README's tolerance for totals computed in single precision, and for their gradients.
const TOTAL: f64 = 2e-3;
const GRADIENT: f64 = 1e-3;
/// The most by which the sum over all paths of a pruned search may be below k2's.
const PRUNED: f64 = 0.05;

/// Runs the cases.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge_with(case, |op, _| operation(op))).collect())
}

fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "intersect_dense" => exact,
        "intersect_dense_pruned" => pruned,
        "online" => online,
        "dense_fsa_vec" => scores,
        _ => return None,
    })
}

/// The scores `[sequence][frame][class]`, concatenated, and their shape.
fn values(args: &Value) -> Result<(Vec<f32>, [usize; 3]), Stop> {
    let rows = args["log_probs"].as_array().into_iter().flatten().flat_map(|sequence| sequence.as_array()).flatten();
    let rows: Vec<_> = rows.map(floats).collect::<Result<_, _>>()?;
    Ok((rows.concat(), field(args, "shape")?))
}

fn dense<'a>(args: &Value, (values, shape): &'a (Vec<f32>, [usize; 3])) -> Result<DenseFsaVec<'a>, Stop> {
    let whole = DenseFsaVec::from_padded(values, *shape, &vec![shape[1]; shape[0]])?;
    let rows: Vec<[usize; 3]> = field(args, "segments")?;
    let mut segments: Vec<_> =
        rows.into_iter().map(|[sequence, start, duration]| Segment { sequence, start, duration }).collect();
    if args.get("a_to_b_map").is_some() {
        let map: Vec<usize> = field(args, "a_to_b_map")?;
        segments = map.into_iter().map(|segment| segments[segment]).collect();
    }
    Ok(whole.with_segments(segments))
}

fn exact(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let values = values(args)?;
    let (graph, dense) = (graph(&args["graph"])?, dense(args, &values)?);
    let came = intersect_dense(&graph, &dense, floats(&Value::from(vec![args["output_beam"].clone()]))?[0])?;
    compare(expect, &came, &graph, &dense)
}

fn pruned(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let values = values(args)?;
    let (graph, dense) = (graph(&args["graph"])?, dense(args, &values)?);
    let beams = floats(&Value::from(vec![args["search_beam"].clone(), args["output_beam"].clone()]))?;
    let options = DenseOptions::default()
        .with_search_beam(beams[0])
        .with_output_beam(beams[1])
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
    let mut differences = Vec::new();
    if let Some(failed) = came.outcomes().iter().find(|outcome| matches!(outcome, Outcome::Failed(_))) {
        differences.push(format!("came {failed:?}"));
    }
    let fsas = came.graph().fsas();
    let note = expect["note"].as_str().unwrap_or_default();
    let is_pruned = expect.get("unpruned_tot_log").is_some();
    for (name, semiring) in [("tot_log", Semiring::Log), ("tot_tropical", Semiring::Tropical)] {
        let (totals, saved) = total_scores_saved::<f64, _>(fsas, semiring)?;
        let right = numbers(&expect[name])?;
        let near = if is_pruned && semiring == Semiring::Log {
            let most = numbers(&expect["unpruned_tot_log"])?;
            right.iter().zip(&most).zip(&totals).all(|((&k2, &all), &came)| k2 - PRUNED <= came && came <= all + TOTAL)
        } else {
            right.iter().zip(&totals).all(|(&right, &came)| right == came || (right - came).abs() <= TOTAL)
        };
        if right.len() != totals.len() || !near {
            differences.push(format!("expected {name} {right:?}, came {totals:?}"));
        }
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
    if note.contains("exact output-beam pruning") {
        let sizes: [Vec<usize>; 2] =
            [fsas.iter().map(|fsa| fsa.num_states()).collect(), fsas.iter().map(|fsa| fsa.arcs().len()).collect()];
        let right: [Vec<usize>; 2] = [field(expect, "lattice_states")?, field(expect, "lattice_arcs")?];
        if sizes != right {
            differences.push(format!("expected states and arcs {right:?}, came {sizes:?}"));
        }
    }
    Ok(differences)
}

/// A gradient, in nested lists or flat.
fn gradient(expect: &Value, name: &str, came: &[f64]) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() {
        return Ok(vec![]);
    }
    let right = flat(&expect[name])?;
    let near = right.len() == came.len() && right.iter().zip(came).all(|(a, b)| (a - b).abs() <= GRADIENT);
    Ok(if near { vec![] } else { vec![format!("expected {name} {right:?}, came {came:?}")] })
}

/// The best path of each utterance: its labels, the words on it and its score.
fn paths(expect: &Value, came: &DenseLattices) -> Result<Vec<String>, Stop> {
    let graph = came.graph();
    let paths = best_paths(graph.fsas())?;
    let (arcs, words) = (graph.fsas().arcs(), graph.attributes().ints(AUX_LABELS));
    let (mut labels, mut of_words, mut scores) = (vec![], vec![], vec![]);
    for path in paths.rows() {
        let on = || path.iter().filter_map(|&arc| usize::try_from(arc).ok());
        labels.push(on().map(|arc| arcs[arc].label).collect::<Vec<_>>());
        of_words.push(words.map(|words| on().map(|arc| words[arc]).filter(|&word| word > 0).collect::<Vec<_>>()));
        scores.push(on().map(|arc| f64::from(arcs[arc].score)).sum::<f64>());
    }
    let mut differences = Vec::new();
    let right: Vec<Vec<i32>> = field(expect, "best_labels")?;
    if right != labels {
        differences.push(format!("expected best_labels {right:?}, came {labels:?}"));
    }
    let right: Vec<Option<Vec<i32>>> = field(expect, "best_words")?;
    if right != of_words {
        differences.push(format!("expected best_words {right:?}, came {of_words:?}"));
    }
    let right = numbers(&expect["best_score"])?;
    if right.len() != scores.len() || right.iter().zip(&scores).any(|(a, b)| (a - b).abs() > TOTAL) {
        differences.push(format!("expected best_score {right:?}, came {scores:?}"));
    }
    Ok(differences)
}

/// Chunk after chunk, of one stream and of two that share calls.
fn online(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (values, shape) = values(args)?;
    let chunk: usize = field(args, "chunk")?;
    let graph = graph(&args["graph"])?;
    let (fsas, attributes) = (graph.fsas().as_fsa_vec().get(0)?, graph.attributes().clone());
    let graph: Graph<Fsa> = Graph::from_parts(fsas, attributes)?;
    let wide = DenseOptions::default().with_search_beam(1000.0).with_output_beam(1000.0);
    let decoder = OnlineDecoder::new(graph, wide)?;
    let whole = DenseFsaVec::from_padded(&values, shape, &vec![shape[1]; shape[0]])?;
    let mut streams = [decoder.stream(), decoder.stream()];
    let mut differences = Vec::new();
    let right = expect["after_chunk"].as_array().ok_or_else(|| Stop::Damaged("no list after_chunk".into()))?;
    for (start, right) in (0..shape[1]).step_by(chunk).zip(right) {
        let segment = Segment { sequence: 0, start, duration: chunk.min(shape[1] - start) };
        let [first, second] = &mut streams;
        let both = whole.clone().with_segments(vec![segment; 2]);
        for result in decoder.decode(&mut [first, second], &both)? {
            result?;
        }
        let [first, second] = &streams;
        let so_far = decoder.lattices(&[first, second], Ending::Active)?;
        for (name, semiring) in [("tot_log", Semiring::Log), ("tot_tropical", Semiring::Tropical)] {
            let totals = total_scores::<f64, _>(so_far.graph().fsas(), semiring)?;
            let right = numbers(&right[name])?[0];
            if totals.iter().any(|&total| !close(right, total, TOTAL)) {
                differences.push(format!("up to {start} + {chunk}: expected {name} {right}, came {totals:?}"));
            }
        }
        let right: Vec<i32> = field(right, "best_labels")?;
        for path in best_paths(so_far.graph().fsas())?.rows() {
            let arcs = path.iter().filter_map(|&arc| usize::try_from(arc).ok());
            let labels: Vec<_> = arcs.map(|arc| so_far.graph().fsas().arcs()[arc].label).collect();
            if labels != right {
                differences.push(format!("up to {start} + {chunk}: expected best_labels {right:?}, came {labels:?}"));
            }
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
    let right: Vec<_> = expect["scores"].as_array().into_iter().flatten().map(numbers).collect::<Result<_, _>>()?;
    let mut differences = Vec::new();
    let alike = |a: &Vec<f64>, b: &Vec<f64>| a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| close(a, b, 1e-6));
    if right.len() != rows.len() || !right.iter().zip(&rows).all(|(a, b)| alike(a, b)) {
        differences.push(format!("expected scores {right:?}, came {rows:?}"));
    }
    let right: (Vec<usize>, Vec<usize>) = (field(expect, "row_splits")?, field(expect, "duration")?);
    if right != (row_splits.clone(), durations.clone()) {
        differences.push(format!("expected row_splits and duration {right:?}, came {row_splits:?}, {durations:?}"));
    }
    Ok(differences)
}
