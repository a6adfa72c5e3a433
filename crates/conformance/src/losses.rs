//! Losses: `k2/losses.json`, and PyTorch's CTC and torchaudio's RNN-T in `ctc_rnnt`.

use std::path::Path;

use fsa::dense::{DenseFsaVec, Segment};
use fsa::graphs::ctc_graph;
use kaldera::lod::{Lod, LodTensor};
use kaldera::recurrent::train::{log_softmax, log_softmax_backward};
use kaldera_losses::rnnt::{
    PruneRanges, RnntType, Trellis, do_rnnt_pruning, get_rnnt_prune_ranges, joint_mutual_information_recursion,
    mutual_information_recursion, rnnt_loss_pruned, rnnt_loss_simple, rnnt_loss_smoothed,
};
use kaldera_losses::{
    CtcGraphOptions, CtcOptions, Padded, Reduction, RnntOptions, ctc_loss, ctc_loss_graph, rnnt_loss, swoosh_l,
    swoosh_l_backward, swoosh_r, swoosh_r_backward,
};
use ragged_core::Ragged;
use serde_json::Value;

use crate::fsa::json::{close, compare_numbers, field, flat, number};
use crate::fsa::{Operation, Stop, judge_with};
use crate::{Case, Error, Settings, Verdict, caught};

/// Values that k2 computes as f64.
const DOUBLE: f64 = 1e-6;
/// Values computed in single precision: totals, and their gradients.
const TOTAL: f64 = 2e-3;
const GRADIENT: f64 = 1e-3;
/// The suggestions of the README of `ctc_rnnt`: losses, gradients.
const TORCH: f64 = 1e-5;

/// Runs k2's cases.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge_with(case, |op, _| operation(op))).collect())
}

fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "ctc_loss" => graph_ctc,
        "mutual_information_recursion" => mutual_information,
        "joint_mutual_information_recursion" => joint,
        "rnnt_loss" => joiner,
        "rnnt_loss_pruned" => pruned,
        "rnnt_loss_simple" | "rnnt_loss_smoothed" => simple,
        "get_rnnt_prune_ranges" => ranges,
        "do_rnnt_pruning" => pruning,
        "swoosh_l" => |args, expect| swoosh(args, expect, swoosh_l, swoosh_l_backward),
        "swoosh_r" => |args, expect| swoosh(args, expect, swoosh_r, swoosh_r_backward),
        _ => return None,
    })
}

/// The lengths of nested lists.
fn shape(value: &Value) -> Vec<usize> {
    let mut shape = Vec::new();
    let mut value = value;
    while let Some(list) = value.as_array() {
        shape.push(list.len());
        value = &list[0];
    }
    shape
}

fn reduction(args: &Value) -> Reduction {
    match args["reduction"].as_str() {
        Some("mean") => Reduction::Mean,
        Some("sum") => Reduction::Sum,
        _ => Reduction::None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the shortest decimals of numbers that were f32")]
fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

fn graph_ctc(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let shape = shape(&args["logits"]);
    let logits = singles(&flat(&args["logits"])?);
    let logits = LodTensor::from_vec([shape[0] * shape[1], shape[2]], logits, Lod::none())
        .map_err(kaldera_losses::Error::from)?;
    let recurrent = |error: kaldera::recurrent::Error| Stop::Refused(error.to_string());
    let log_probs = log_softmax(&logits).map_err(recurrent)?;
    let rows: Vec<[usize; 3]> = field(args, "segments")?;
    let segments = rows.iter().map(|&[sequence, start, duration]| Segment { sequence, start, duration });
    let whole =
        DenseFsaVec::from_padded(log_probs.values(), [shape[0], shape[1], shape[2]], &vec![shape[1]; shape[0]])?;
    let dense = whole.with_segments(segments.collect());
    let symbols: Vec<Vec<i32>> = field(args, "symbols")?;
    let lengths: Vec<usize> = symbols.iter().map(Vec::len).collect();
    let graph = ctc_graph(&Ragged::from_lists(&symbols)?, args["modified"] == true)?;
    let options =
        CtcGraphOptions::default().with_delay_penalty(number(&args["delay_penalty"])?).with_reduction(reduction(args));
    let (loss, saved) = ctc_loss_graph(&graph, &dense, &lengths, &options)?;
    let mut differences = compare_numbers(expect, "loss", &loss, TOTAL)?;
    let by_log_probs = singles(&saved.backward(&flat(&args["out_grad"])?)?);
    let grad = log_probs.like(log_probs.num_rows(), by_log_probs, Lod::none()).map_err(kaldera_losses::Error::from)?;
    let by_logits = log_softmax_backward(&log_probs, &grad).map_err(recurrent)?;
    let came: Vec<f64> = by_logits.values().iter().map(|&x| f64::from(x)).collect();
    differences.extend(compare_numbers(expect, "grad_logits", &came, GRADIENT)?);
    Ok(differences)
}

/// The sizes of k2's padded arrays `px` and `py`, and their boundaries.
struct PaddedScores {
    rnnt_type: RnntType,
    symbols: usize,
    frames: usize,
    boundaries: Vec<[usize; 4]>,
}

impl PaddedScores {
    fn new(args: &Value, px: &Value, py: &Value) -> Result<Self, Stop> {
        let (px, py) = (shape(px), shape(py));
        let rnnt_type = if px[2] == py[2] { RnntType::Modified } else { RnntType::Regular };
        let (symbols, frames) = (py[1] - 1, py[2]);
        let whole = vec![[0, 0, symbols, frames]; py[0]];
        let boundaries = if args["boundary"].is_null() { whole } else { field(args, "boundary")? };
        Ok(Self { rnnt_type, symbols, frames, boundaries })
    }

    fn columns(&self) -> usize {
        self.frames + usize::from(self.rnnt_type == RnntType::Regular)
    }

    fn trellises(&self, px: &Value, py: &Value) -> Result<Vec<Trellis>, Stop> {
        let (px, py) = (flat(px)?, flat(py)?);
        let (px, py) = (px.chunks(self.symbols * self.columns()), py.chunks((self.symbols + 1) * self.frames));
        let made = px.zip(py).zip(&self.boundaries).map(|((px, py), &boundary)| {
            Ok(Trellis::from_padded(self.rnnt_type, [self.symbols, self.frames], px, py, boundary)?)
        });
        made.collect()
    }

    /// Padded arrays of trellises, with `filler` outside of them.
    fn padded(&self, trellises: &[Trellis], filler: f64) -> [Vec<f64>; 2] {
        let columns = self.columns();
        let mut px = vec![filler; trellises.len() * self.symbols * columns];
        let mut py = vec![filler; trellises.len() * (self.symbols + 1) * self.frames];
        for (i, (trellis, &[s0, t0, ..])) in trellises.iter().zip(&self.boundaries).enumerate() {
            for s in 0..=trellis.num_symbols() {
                for t in 0..=trellis.num_frames() {
                    if s < trellis.num_symbols() && t + t0 < columns {
                        px[(i * self.symbols + s + s0) * columns + t + t0] = trellis.px(s, t);
                    }
                    if t < trellis.num_frames() {
                        py[(i * (self.symbols + 1) + s + s0) * self.frames + t + t0] = trellis.py(s, t);
                    }
                }
            }
        }
        [px, py]
    }
}

fn mutual_information(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let padded = PaddedScores::new(args, &args["px"], &args["py"])?;
    let (scores, saved) = mutual_information_recursion(padded.trellises(&args["px"], &args["py"])?)?;
    let mut differences = compare_numbers(expect, "scores", &scores, DOUBLE)?;
    let gradient = saved.backward(&flat(&args["out_grad"])?)?;
    for (suffix, trellises) in [("occupation", saved.occupations()), ("grad", &gradient[..])] {
        let [px, py] = padded.padded(trellises, 0.0);
        differences.extend(compare_numbers(expect, &format!("{suffix}_px"), &px, DOUBLE)?);
        differences.extend(compare_numbers(expect, &format!("{suffix}_py"), &py, DOUBLE)?);
    }
    Ok(differences)
}

fn joint(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let terms = args["px"].as_array().into_iter().flatten().zip(args["py"].as_array().into_iter().flatten());
    let terms = terms.map(|(px, py)| PaddedScores::new(args, px, py)?.trellises(px, py));
    let (scores, _) = joint_mutual_information_recursion(&terms.collect::<Result<Vec<_>, _>>()?)?;
    compare_numbers(expect, "scores", &scores.concat(), DOUBLE)
}

/// The fields of all RNN-T cases: frames of each sequence, its labels, options.
fn rnnt(args: &Value) -> Result<(Vec<usize>, Ragged<i32>, RnntOptions), Stop> {
    let symbols: Vec<Vec<i32>> = field(args, "symbols")?;
    let first = ["am", "logits"].iter().find_map(|name| args.get(name)).map(shape).unwrap_or_default();
    let whole = || symbols.iter().map(|symbols| [0, 0, symbols.len(), first[1]]).collect();
    let boundary: Vec<[usize; 4]> = if args["boundary"].is_null() { whole() } else { field(args, "boundary")? };
    let labels: Vec<&[i32]> = symbols.iter().zip(&boundary).map(|(symbols, to)| &symbols[..to[2]]).collect();
    let rnnt_type = match args["rnnt_type"].as_str() {
        Some("modified") => RnntType::Modified,
        Some("constrained") => RnntType::Constrained,
        _ => RnntType::Regular,
    };
    let options = RnntOptions::default()
        .with_blank(field(args, "termination_symbol")?)
        .with_rnnt_type(rnnt_type)
        .with_delay_penalty(number(&args["delay_penalty"])?)
        .with_use_hat_loss(args["use_hat_loss"] == true)
        .with_reduction(Reduction::None);
    Ok((boundary.iter().map(|to| to[3]).collect(), Ragged::from_lists(&labels)?, options))
}

fn padded(value: &Value, lengths: Vec<usize>) -> Result<Padded<f64>, Stop> {
    Ok(Padded::new(flat(value)?, shape(value), lengths)?)
}

fn joiner(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (frames, labels, options) = rnnt(args)?;
    let logits = padded(&args["logits"], frames)?;
    let (loss, saved) = rnnt_loss(&logits, &labels, &options)?;
    let mut differences = compare_numbers(expect, "loss", &loss, DOUBLE)?;
    let by_logits = saved.backward(&flat(&args["out_grad"])?)?;
    differences.extend(compare_numbers(expect, "grad_logits", by_logits.values(), DOUBLE)?);
    for (name, reduction) in [("mean", Reduction::Mean), ("sum", Reduction::Sum)] {
        let (loss, _) = rnnt_loss(&logits, &labels, &options.clone().with_reduction(reduction))?;
        differences.extend(compare_numbers(expect, name, &loss, DOUBLE)?);
    }
    Ok(differences)
}

/// Ranges `[N, T, s_range]` of frames within sequences.
fn prune_ranges(value: &Value, frames: &[usize]) -> Result<PruneRanges, Stop> {
    let ranges: Vec<Vec<Vec<usize>>> =
        serde_json::from_value(value.clone()).map_err(|why| Stop::Damaged(format!("ranges: {why}")))?;
    let begins = ranges
        .iter()
        .zip(frames)
        .map(|(of_frames, &frames)| of_frames[..frames].iter().map(|range| range[0]).collect());
    Ok(PruneRanges::new(shape(value)[2], begins.collect())?)
}

fn pruned(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (frames, labels, options) = rnnt(args)?;
    let ranges = prune_ranges(&args["ranges"], &frames)?;
    let (loss, saved) = rnnt_loss_pruned(&padded(&args["logits"], frames)?, &labels, &ranges, &options)?;
    let mut differences = compare_numbers(expect, "loss", &loss, DOUBLE)?;
    let by_logits = saved.backward(&flat(&args["out_grad"])?)?;
    differences.extend(compare_numbers(expect, "grad_logits", by_logits.values(), DOUBLE)?);
    Ok(differences)
}

fn simple(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (frames, labels, options) = rnnt(args)?;
    let symbols: Vec<usize> = labels.lengths().into_iter().map(|length| length + 1).collect();
    let (am, lm) = (padded(&args["am"], frames)?, padded(&args["lm"], symbols)?);
    let (loss, saved) = match args.get("lm_only_scale") {
        None => rnnt_loss_simple(&am, &lm, &labels, &options)?,
        Some(scale) => {
            rnnt_loss_smoothed(&am, &lm, &labels, number(scale)?, number(&args["am_only_scale"])?, &options)?
        }
    };
    let mut differences = compare_numbers(expect, "loss", &loss, DOUBLE)?;
    let (by_am, by_lm) = saved.backward(&flat(&args["out_grad"])?)?;
    differences.extend(compare_numbers(expect, "grad_am", by_am.values(), DOUBLE)?);
    differences.extend(compare_numbers(expect, "grad_lm", by_lm.values(), DOUBLE)?);
    if expect.get("px_grad").is_some() {
        let arrays = PaddedScores::new(args, &expect["px_grad"], &expect["py_grad"])?;
        let [px, py] = arrays.padded(saved.occupations(), 0.0);
        differences.extend(compare_numbers(expect, "px_grad", &px, DOUBLE)?);
        differences.extend(compare_numbers(expect, "py_grad", &py, DOUBLE)?);
        differences.extend(scores(expect, &arrays, &saved, labels.num_rows(), &options)?);
    }
    Ok(differences)
}

/// The scores of all arcs within sequences; k2 has others behind their ends, and none of a delay.
fn scores(
    expect: &Value,
    arrays: &PaddedScores,
    saved: &kaldera_losses::rnnt::SimpleRnntSaved<f64, Padded<f64>>,
    num_sequences: usize,
    options: &RnntOptions,
) -> Result<Vec<String>, Stop> {
    let trellises: Vec<Trellis> = (0..num_sequences).map(|sequence| saved.scores(sequence)).collect();
    let [mut px, py] = arrays.padded(&trellises, f64::NAN);
    for (row, px) in px.chunks_mut(arrays.columns()).enumerate() {
        let last = arrays.boundaries[row / arrays.symbols.max(1)][3] as f64;
        for (t, px) in px.iter_mut().enumerate() {
            *px -= options.delay_penalty * ((last - 1.0) / 2.0 - t as f64);
        }
    }
    let mut differences = Vec::new();
    for (name, came) in [("px", px), ("py", py)] {
        let right = flat(&expect[name])?;
        // In k2's type with its last column the end is behind all symbols.
        let near = right.len() == came.len()
            && right.iter().zip(&came).all(|(&a, &b)| b.is_nan() || b == f64::NEG_INFINITY || close(a, b, DOUBLE));
        if !near {
            differences.push(format!("expected {name} {right:?}, came {came:?}"));
        }
    }
    Ok(differences)
}

fn ranges(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let arrays = PaddedScores::new(args, &args["px_grad"], &args["py_grad"])?;
    let occupations = arrays.trellises(&args["px_grad"], &args["py_grad"])?;
    let came = get_rnnt_prune_ranges(&occupations, field(args, "s_range")?)?;
    // Behind the end of a sequence its last range comes again.
    let range = |sequence: usize, frame: usize| -> Vec<usize> {
        let begins = came.begins(sequence);
        let begin = begins.get(frame).or(begins.last()).copied().unwrap_or(0);
        (begin..begin + came.s_range()).collect()
    };
    let came: Vec<Vec<Vec<usize>>> = (0..occupations.len())
        .map(|sequence| (0..arrays.frames).map(|frame| range(sequence, frame)).collect())
        .collect();
    let right: Vec<Vec<Vec<usize>>> = field(expect, "ranges")?;
    Ok(if right == came { vec![] } else { vec![format!("expected ranges {right:?}, came {came:?}")] })
}

fn pruning(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (am, lm) = (shape(&args["am"]), shape(&args["lm"]));
    let frames = vec![am[1]; am[0]];
    let ranges = prune_ranges(&args["ranges"], &frames)?;
    let (am, lm) = (padded(&args["am"], frames)?, padded(&args["lm"], vec![lm[1]; lm[0]])?);
    let (am, lm, _) = do_rnnt_pruning(&am, &lm, &ranges)?;
    let mut differences = compare_numbers(expect, "am_pruned", am.values(), 0.0)?;
    differences.extend(compare_numbers(expect, "lm_pruned", lm.values(), 0.0)?);
    Ok(differences)
}

fn swoosh(
    args: &Value,
    expect: &Value,
    forward: impl Fn(&[f32]) -> Vec<f32>,
    backward: impl Fn(&[f32], &[f32]) -> Result<Vec<f32>, kaldera::losses::Error>,
) -> Result<Vec<String>, Stop> {
    let x = singles(&flat(&args["x"])?);
    let double = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
    let mut differences = compare_numbers(expect, "y", &double(forward(&x)), TORCH)?;
    differences.extend(compare_numbers(expect, "deriv", &double(backward(&x, &vec![1.0; x.len()])?), TORCH)?);
    Ok(differences)
}

/// Runs a case that is one object, without `args` and `expect`.
fn judge(case: &Case, run: impl FnOnce(&Value) -> Result<Vec<String>, Stop>) -> Verdict {
    Verdict::of(match caught(std::panic::AssertUnwindSafe(|| run(&case.value))) {
        Ok(Ok(differences)) => differences,
        Ok(Err(Stop::Damaged(why))) => vec![format!("the case itself is damaged: {why}")],
        Ok(Err(Stop::Refused(error))) => vec![format!("came the error: {error}")],
        Err(panic) => vec![panic],
    })
}

/// Runs PyTorch's CTC cases.
pub(crate) fn run_torch_ctc(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, torch_ctc)).collect())
}

/// Losses, of which infinity is null.
fn losses(case: &Value) -> Vec<f64> {
    let loss = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
    case["loss"].as_array().map_or_else(|| vec![loss(&case["loss"])], |list| list.iter().map(loss).collect())
}

fn torch_ctc(case: &Value) -> Result<Vec<String>, Stop> {
    let shape: [usize; 3] = [field(case, "N")?, field(case, "T")?, field(case, "C")?];
    let labels = Ragged::from_lists(&field::<Vec<Vec<i32>>>(case, "targets")?)?;
    let impossible = match case["zero_infinity"] == true {
        true => kaldera_losses::Impossible::Zero,
        false => kaldera_losses::Impossible::Infinite,
    };
    let options = CtcOptions::default()
        .with_blank(field(case, "blank")?)
        .with_reduction(reduction(case))
        .with_impossible(impossible);
    let right = losses(case);
    let mut differences = Vec::new();
    let values = flat(&case["logits"])?;
    // Both types; the second one within the README's tolerance for it.
    let double = Padded::new(values.clone(), shape, field(case, "input_lengths")?)?;
    let single = Padded::new(singles(&values), shape, field(case, "input_lengths")?)?;
    let (loss, saved) = ctc_loss(&double, &labels, &options)?;
    let gradient = saved.backward(&vec![1.0; loss.len()])?;
    let (single_loss, saved) = ctc_loss(&single, &labels, &options)?;
    let single_gradient: Vec<f64> =
        saved.backward(&vec![1.0; loss.len()])?.values().iter().map(|&x| f64::from(x)).collect();
    let all = [(loss, gradient.values(), 1e-9), (single_loss, &single_gradient[..], TORCH)];
    for (loss, gradient, tolerance) in all {
        if right.len() != loss.len() || right.iter().zip(&loss).any(|(&a, &b)| !close(a, b, tolerance)) {
            differences.push(format!("expected loss {right:?}, came {loss:?}"));
        }
        differences.extend(compare_numbers(case, "grad_logits", gradient, TORCH)?);
    }
    Ok(differences)
}

/// Runs torchaudio's RNN-T cases.
pub(crate) fn run_torchaudio_rnnt(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|case| judge(case, torchaudio_rnnt)).collect())
}

fn torchaudio_rnnt(case: &Value) -> Result<Vec<String>, Stop> {
    let [sequences, frames, symbols, classes] =
        [field(case, "N")?, field(case, "T")?, field::<usize>(case, "U")?, field(case, "C")?];
    let labels = Ragged::from_lists(&field::<Vec<Vec<i32>>>(case, "targets")?)?;
    let clamp = number(&case["clamp"])?;
    let options = RnntOptions::default()
        .with_blank(field(case, "blank")?)
        .with_clamp((clamp >= 0.0).then_some(clamp))
        .with_reduction(Reduction::None);
    let logits = singles(&flat(&case["logits"])?);
    let logits = Padded::new(logits, [sequences, frames, symbols + 1, classes], field(case, "logit_lengths")?)?;
    let (loss, saved) = rnnt_loss(&logits, &labels, &options)?;
    let gradient = saved.backward(&vec![1.0; loss.len()])?;
    let right = losses(case);
    let mut differences = Vec::new();
    if right.len() != loss.len() || right.iter().zip(&loss).any(|(&a, &b)| !close(a, b, TORCH)) {
        differences.push(format!("expected loss {right:?}, came {loss:?}"));
    }
    let came: Vec<f64> = gradient.values().iter().map(|&x| f64::from(x)).collect();
    differences.extend(compare_numbers(case, "grad_logits", &came, TORCH)?);
    Ok(differences)
}
