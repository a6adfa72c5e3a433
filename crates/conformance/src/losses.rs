//! Losses: `k2/losses.json`, and PyTorch's CTC and torchaudio's RNN-T in `ctc_rnnt`.

use fsa::dense::{DenseFsaVec, Segment};
use fsa::graphs::ctc_graph;
use kaldera::lod::{Lod, LodTensor};
use kaldera::recurrent::train::{log_softmax, log_softmax_backward};
use kaldera_losses::rnnt::{
    PruneRanges, RnntType, Trellis, do_rnnt_pruning, get_rnnt_prune_ranges, joint_mutual_information_recursion,
    mutual_information_recursion, rnnt_loss_pruned, rnnt_loss_simple, rnnt_loss_smoothed,
};
use kaldera_losses::{
    CtcGraphOptions, CtcOptions, Impossible, Padded, Reduction, RnntOptions, ctc_loss, ctc_loss_graph, rnnt_loss,
    swoosh_l, swoosh_l_backward, swoosh_r, swoosh_r_backward,
};
use ragged_core::Ragged;
use serde::Deserialize;
use serde_json::Value;

use crate::fsa::json::{all_close, close, compare_by, compare_exact, compare_floats, compare_numbers, lists};
use crate::{Stop, field, flat, floats, list, number, single, unless};

/// Values that k2 computes as f64.
const DOUBLE: f64 = 1e-6;
/// Values computed in single precision: totals, and their gradients.
const TOTAL: f64 = 2e-3;
const GRADIENT: f64 = 1e-3;
/// The suggestions of the README of `ctc_rnnt`: losses, gradients.
const TORCH: f64 = 1e-5;
/// Losses in double precision.
const TORCH_DOUBLE: f64 = 1e-9;

/// Runs an operation of k2.
pub(crate) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "ctc_loss" => graph_ctc(args, expect),
        "mutual_information_recursion" => mutual_information(args, expect),
        "joint_mutual_information_recursion" => joint(args, expect),
        "rnnt_loss" => joiner(args, expect),
        "rnnt_loss_pruned" => pruned(args, expect),
        "rnnt_loss_simple" | "rnnt_loss_smoothed" => simple(args, expect),
        "get_rnnt_prune_ranges" => ranges(args, expect),
        "do_rnnt_pruning" => pruning(args, expect),
        "swoosh_l" => swoosh(args, expect, swoosh_l, swoosh_l_backward),
        "swoosh_r" => swoosh(args, expect, swoosh_r, swoosh_r_backward),
        _ => Err(Stop::NotRun),
    }
}

/// The lengths of nested lists.
fn shape(value: &Value) -> Vec<usize> {
    let lists = std::iter::successors(value.as_array(), |list| list[0].as_array());
    lists.map(Vec::len).collect()
}

fn reduction(args: &Value) -> Reduction {
    match args["reduction"].as_str() {
        Some("mean") => Reduction::Mean,
        Some("sum") => Reduction::Sum,
        _ => Reduction::None,
    }
}

fn graph_ctc(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let shape = shape(&args["logits"]);
    let logits = LodTensor::from_vec([shape[0] * shape[1], shape[2]], floats(&args["logits"])?, Lod::none())?;
    let log_probs = log_softmax(&logits)?;
    let rows: Vec<[usize; 3]> = field(args, "segments")?;
    let segments = rows.iter().map(|&[sequence, start, duration]| Segment { sequence, start, duration });
    let whole =
        DenseFsaVec::from_padded(log_probs.values(), [shape[0], shape[1], shape[2]], &vec![shape[1]; shape[0]])?;
    let dense = whole.with_segments(segments.collect());
    let symbols = lists(args, "symbols")?;
    let graph = ctc_graph(&symbols, args["modified"] == true)?;
    let options =
        CtcGraphOptions::default().with_delay_penalty(number(&args["delay_penalty"])?).with_reduction(reduction(args));
    let (loss, saved) = ctc_loss_graph(&graph, &dense, &symbols.lengths(), &options)?;
    let by_log_probs: Vec<f32> = saved.backward(&flat(&args["out_grad"])?)?.into_iter().map(single).collect();
    let grad = log_probs.like(log_probs.num_rows(), by_log_probs, Lod::none())?;
    let by_logits = log_softmax_backward(&log_probs, &grad)?;
    let loss = compare_numbers(expect, "loss", &loss, TOTAL)?;
    Ok([loss, compare_floats(expect, "grad_logits", by_logits.values(), GRADIENT)?].concat())
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
        let boundaries = field::<Option<_>>(args, "boundary")?.unwrap_or(whole);
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

/// The differences of two arrays.
fn compare_pair(expect: &Value, names: [&str; 2], came: [&[f64]; 2], tolerance: f64) -> Result<Vec<String>, Stop> {
    let first = compare_numbers(expect, names[0], came[0], tolerance)?;
    Ok([first, compare_numbers(expect, names[1], came[1], tolerance)?].concat())
}

fn mutual_information(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let padded = PaddedScores::new(args, &args["px"], &args["py"])?;
    let (scores, saved) = mutual_information_recursion(padded.trellises(&args["px"], &args["py"])?)?;
    let gradient = saved.backward(&flat(&args["out_grad"])?)?;
    let [px, py] = padded.padded(saved.occupations(), 0.0);
    let [grad_px, grad_py] = padded.padded(&gradient, 0.0);
    Ok([
        compare_numbers(expect, "scores", &scores, DOUBLE)?,
        compare_pair(expect, ["occupation_px", "occupation_py"], [&px, &py], DOUBLE)?,
        compare_pair(expect, ["grad_px", "grad_py"], [&grad_px, &grad_py], DOUBLE)?,
    ]
    .concat())
}

fn joint(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let terms = list(args, "px")?.iter().zip(list(args, "py")?);
    let terms = terms.map(|(px, py)| PaddedScores::new(args, px, py)?.trellises(px, py));
    let (scores, _) = joint_mutual_information_recursion(&terms.collect::<Result<Vec<_>, _>>()?)?;
    compare_numbers(expect, "scores", &scores.concat(), DOUBLE)
}

/// The fields of all RNN-T cases: frames of each sequence, its labels, options.
fn rnnt(args: &Value) -> Result<(Vec<usize>, Ragged<i32>, RnntOptions), Stop> {
    let symbols: Vec<Vec<i32>> = field(args, "symbols")?;
    let first = ["am", "logits"].iter().find_map(|name| args.get(name)).map(shape).unwrap_or_default();
    let whole = || symbols.iter().map(|symbols| [0, 0, symbols.len(), first[1]]).collect();
    let boundary: Vec<[usize; 4]> = field::<Option<_>>(args, "boundary")?.unwrap_or_else(whole);
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
    let by_logits = saved.backward(&flat(&args["out_grad"])?)?;
    let mut differences = compare_pair(expect, ["loss", "grad_logits"], [&loss, by_logits.values()], DOUBLE)?;
    for (name, reduction) in [("mean", Reduction::Mean), ("sum", Reduction::Sum)] {
        let (loss, _) = rnnt_loss(&logits, &labels, &options.clone().with_reduction(reduction))?;
        differences.extend(compare_numbers(expect, name, &loss, DOUBLE)?);
    }
    Ok(differences)
}

/// Ranges `[N, T, s_range]` of frames within sequences.
fn prune_ranges(value: &Value, frames: &[usize]) -> Result<PruneRanges, Stop> {
    let ranges = Vec::<Vec<Vec<usize>>>::deserialize(value);
    let ranges = ranges.map_err(|why| Stop::Damaged(format!("ranges: {why}")))?.into_iter().zip(frames);
    let begins = ranges.map(|(ranges, &frames)| ranges[..frames].iter().map(|range| range[0]).collect());
    Ok(PruneRanges::new(shape(value)[2], begins.collect())?)
}

fn pruned(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (frames, labels, options) = rnnt(args)?;
    let ranges = prune_ranges(&args["ranges"], &frames)?;
    let (loss, saved) = rnnt_loss_pruned(&padded(&args["logits"], frames)?, &labels, &ranges, &options)?;
    let by_logits = saved.backward(&flat(&args["out_grad"])?)?;
    compare_pair(expect, ["loss", "grad_logits"], [&loss, by_logits.values()], DOUBLE)
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
    let (by_am, by_lm) = saved.backward(&flat(&args["out_grad"])?)?;
    let mut differences = compare_numbers(expect, "loss", &loss, DOUBLE)?;
    differences.extend(compare_pair(expect, ["grad_am", "grad_lm"], [by_am.values(), by_lm.values()], DOUBLE)?);
    if expect.get("px_grad").is_some() {
        let arrays = PaddedScores::new(args, &expect["px_grad"], &expect["py_grad"])?;
        let [px, py] = arrays.padded(saved.occupations(), 0.0);
        differences.extend(compare_pair(expect, ["px_grad", "py_grad"], [&px, &py], DOUBLE)?);
        let trellises: Vec<Trellis> = (0..labels.num_rows()).map(|sequence| saved.scores(sequence)).collect();
        differences.extend(scores(expect, &arrays, &trellises, &options)?);
    }
    Ok(differences)
}

/// The scores of all arcs within sequences; k2 has others behind their ends, and none of a delay.
fn scores(
    expect: &Value,
    arrays: &PaddedScores,
    trellises: &[Trellis],
    options: &RnntOptions,
) -> Result<Vec<String>, Stop> {
    let [mut px, py] = arrays.padded(trellises, f64::NAN);
    for (row, px) in px.chunks_mut(arrays.columns()).enumerate() {
        let last = arrays.boundaries[row / arrays.symbols.max(1)][3] as f64;
        for (t, px) in px.iter_mut().enumerate() {
            *px -= options.delay_penalty * ((last - 1.0) / 2.0 - t as f64);
        }
    }
    let mut differences = Vec::new();
    for (name, came) in [("px", px), ("py", py)] {
        // In k2's type with its last column the end is behind all symbols.
        let same = |&b: &f64, a: f64| b.is_nan() || b == f64::NEG_INFINITY || close(a, b, DOUBLE);
        differences.extend(compare_by(expect, name, &came, |right, came| {
            right.len() == came.len() && right.iter().zip(came).all(|(&a, b)| same(b, a))
        })?);
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
    compare_exact(expect, "ranges", &came)
}

fn pruning(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (am, lm) = (shape(&args["am"]), shape(&args["lm"]));
    let frames = vec![am[1]; am[0]];
    let ranges = prune_ranges(&args["ranges"], &frames)?;
    let (am, lm) = (padded(&args["am"], frames)?, padded(&args["lm"], vec![lm[1]; lm[0]])?);
    let (am, lm, _) = do_rnnt_pruning(&am, &lm, &ranges)?;
    compare_pair(expect, ["am_pruned", "lm_pruned"], [am.values(), lm.values()], 0.0)
}

fn swoosh(
    args: &Value,
    expect: &Value,
    forward: impl Fn(&[f32]) -> Vec<f32>,
    backward: impl Fn(&[f32], &[f32]) -> Result<Vec<f32>, kaldera::losses::Error>,
) -> Result<Vec<String>, Stop> {
    let x = floats(&args["x"])?;
    let y = compare_floats(expect, "y", &forward(&x), TORCH)?;
    Ok([y, compare_floats(expect, "deriv", &backward(&x, &vec![1.0; x.len()])?, TORCH)?].concat())
}

/// The difference of losses, of which infinity is null.
fn compare_losses(case: &Value, came: &[f64], tolerance: f64) -> Vec<String> {
    let loss = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
    let of = &case["loss"];
    let right: Vec<f64> = of.as_array().map_or_else(|| vec![loss(of)], |list| list.iter().map(loss).collect());
    unless(all_close(&right, came, tolerance), || format!("expected loss {right:?}, came {came:?}"))
}

/// Runs a case of PyTorch's CTC.
pub(crate) fn torch_ctc(case: &Value) -> Result<Vec<String>, Stop> {
    let shape: [usize; 3] = [field(case, "N")?, field(case, "T")?, field(case, "C")?];
    let labels = lists(case, "targets")?;
    let impossible = if case["zero_infinity"] == true { Impossible::Zero } else { Impossible::Infinite };
    let options = CtcOptions::default()
        .with_blank(field(case, "blank")?)
        .with_reduction(reduction(case))
        .with_impossible(impossible);
    let lengths: Vec<usize> = field(case, "input_lengths")?;
    // Both types; the second one within the README's tolerance for it.
    let double = Padded::new(flat(&case["logits"])?, shape, lengths.clone())?;
    let (loss, saved) = ctc_loss(&double, &labels, &options)?;
    let grad_out = vec![1.0; loss.len()];
    let gradient = saved.backward(&grad_out)?;
    let single = Padded::new(floats(&case["logits"])?, shape, lengths)?;
    let (single_loss, saved) = ctc_loss(&single, &labels, &options)?;
    Ok([
        compare_losses(case, &loss, TORCH_DOUBLE),
        compare_numbers(case, "grad_logits", gradient.values(), TORCH)?,
        compare_losses(case, &single_loss, TORCH),
        compare_floats(case, "grad_logits", saved.backward(&grad_out)?.values(), TORCH)?,
    ]
    .concat())
}

/// Runs a case of torchaudio's RNN-T.
pub(crate) fn torchaudio_rnnt(case: &Value) -> Result<Vec<String>, Stop> {
    let [sequences, frames, symbols, classes] =
        [field(case, "N")?, field(case, "T")?, field::<usize>(case, "U")?, field(case, "C")?];
    let clamp = number(&case["clamp"])?;
    let options = RnntOptions::default()
        .with_blank(field(case, "blank")?)
        .with_clamp((clamp >= 0.0).then_some(clamp))
        .with_reduction(Reduction::None);
    let shape = [sequences, frames, symbols + 1, classes];
    let logits = Padded::new(floats(&case["logits"])?, shape, field(case, "logit_lengths")?)?;
    let (loss, saved) = rnnt_loss(&logits, &lists(case, "targets")?, &options)?;
    let gradient = saved.backward(&vec![1.0; loss.len()])?;
    let differences = compare_losses(case, &loss, TORCH);
    Ok([differences, compare_floats(case, "grad_logits", gradient.values(), TORCH)?].concat())
}
