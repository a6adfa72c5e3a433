//! Paths of lattices, alignments and matching statistics.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use fsa::paths::{
    MatchingOptions, Nbest, REF_LABELS, backward_scores, get_best_matching_stats, levenshtein_alignment, n_best_paths,
    random_paths, total_scores,
};
use fsa::{AUX_LABELS, Attribute, FsaOrVec, FsaVec, FsaView, Fsas, Graph, Semiring};
use kaldera_losses::{MwerOptions, Reduction, mwer_loss_lattice};
use ragged_core::{Ragged, RaggedShape, RowSplits};
use serde::Deserialize;
use serde_json::Value;

use super::json::{all_close, close, compare_numbers, graph, lists};
use super::unary::vector;
use crate::decoder::transducer;
use crate::{Stop, field, flat, floats, number, single, unless};

/// Sums of a few scores in single precision.
const SINGLE: f64 = 1e-5;
/// All paths are next to each other on a line of length 1. A point that is this near to the
/// border between two paths may belong to either.
const BORDER: f64 = 1e-5;
/// The README's bound for values computed in single precision.
const README_SINGLE: f64 = 2e-3;
/// The same of gradients.
const README_GRADIENT: f64 = 1e-3;

/// Runs an operation of this file.
pub(super) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "nbest_paths" => n_best(args, expect),
        "random_paths" => random(args, expect),
        "nbest_from_lattice" => from_lattice(args, expect),
        "nbest_top_k" => top_k(args, expect),
        "levenshtein_alignment" => alignment(args, expect),
        "get_best_matching_stats" => matching(args, expect),
        "rnnt_decode" => rnnt_decode(args, expect),
        "mwer_loss" => mwer(args, expect),
        _ => Err(Stop::NotRun),
    }
}

/// The expected number of word errors over sampled paths. The sampling is the same as k2's except
/// for paths on the border between two, for which the bound for single precision leaves room.
fn mwer(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let options = MwerOptions::default()
        .with_temperature(number(&args["temperature"])?)
        .with_reduction(if args["reduction"] == "mean" { Reduction::Mean } else { Reduction::Sum });
    let (num_paths, scale) = (field(args, "num_paths")?, single(number(&args["nbest_scale"])?));
    let (loss, saved) = mwer_loss_lattice(&graph(args)?, &lists(args, "refs")?, num_paths, Some(scale), &options)?;
    let (right, came) = (number(&expect["loss"])?, loss[0]);
    let same = close(right, came, README_SINGLE);
    let loss = unless(same, || format!("expected loss {right}, came {came}"));
    Ok([loss, compare_numbers(expect, "grad", &saved.backward(&[1.0])?, README_GRADIENT)?].concat())
}

/// Streams of a transducer, whose code is with the decoders'.
fn rnnt_decode(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let damaged = |error: serde_json::Error| Stop::Damaged(error.to_string());
    let case = transducer::RnntDecode::deserialize(args).map_err(damaged)?;
    transducer::rnnt_decode(&case, &transducer::RnntDecodeAnswer::deserialize(expect).map_err(damaged)?)
}

fn n_best(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    #[derive(Debug, Deserialize)]
    struct Path {
        score: f64,
        arcs: Vec<usize>,
    }
    let graph = graph(args)?;
    let fsas = graph.fsas().as_fsa_vec();
    let paths = n_best_paths(fsas, field(args, "n")?)?;
    let right: Vec<Vec<Path>> = field(expect, "paths")?;
    let groups = paths.shape().row_splits(1).rows();
    if groups.len() != right.len() {
        return Ok(vec![format!("expected paths of {} FSAs, came of {}", right.len(), groups.len())]);
    }
    let mut differences = Vec::new();
    let all: Vec<usize> = field(expect, "num_paths")?;
    for (((right, group), fsa), &num_paths) in right.iter().zip(groups).zip(fsas.iter()).zip(&all) {
        let came: Vec<Path> = group
            .map(|path| arcs(paths.row(path)).map(|arc| arc - fsa.first_arc()).collect::<Vec<_>>())
            .map(|arcs| Path { score: arcs.iter().map(|&arc| f64::from(fsa.arcs()[arc].score)).sum(), arcs })
            .collect();
        // Of paths with the same score any may come first, or any may be the last one if there
        // are more.
        let cut = right.len() < num_paths;
        let alone = |i: usize| {
            let near = |other: Option<&Path>| other.is_some_and(|other| close(other.score, right[i].score, SINGLE));
            let last = cut && i + 1 == right.len();
            !near(i.checked_sub(1).and_then(|i| right.get(i))) && !near(right.get(i + 1)) && !last
        };
        let same =
            |(i, (a, b)): (usize, (&Path, &Path))| close(a.score, b.score, SINGLE) && (a.arcs == b.arcs || !alone(i));
        let same = right.len() == came.len() && right.iter().zip(&came).enumerate().all(same);
        differences.extend(unless(same, || format!("expected {right:?}, came {came:?}")));
        differences.extend(not_paths(fsa, came.iter().map(|path| &path.arcs)));
    }
    let found = n_best_paths(fsas, all.iter().max().map_or(1, |most| most + 1))?;
    let found: Vec<_> = found.shape().row_splits(1).rows().map(|paths| paths.len()).collect();
    differences.extend(unless(found == all, || format!("expected {all:?} paths in all, came {found:?}")));
    Ok(differences)
}

/// The arcs of a path.
pub(super) fn arcs(path: &[i32]) -> impl Iterator<Item = usize> + Clone {
    path.iter().filter_map(|&arc| usize::try_from(arc).ok())
}

/// The lists of arcs that are no path from the start to the end, or that occur twice.
fn not_paths<'a>(fsa: FsaView<'_>, paths: impl Iterator<Item = &'a Vec<usize>>) -> Vec<String> {
    let mut seen = HashSet::new();
    let wrong = |arcs: &'a Vec<usize>| {
        let follow = |state: usize, &arc: &usize| {
            fsa.arc_range(state).contains(&arc).then(|| usize::try_from(fsa.arcs()[arc].dest_state).ok()).flatten()
        };
        if arcs.is_empty() || arcs.iter().try_fold(0, follow) != fsa.final_state() {
            return Some(format!("{arcs:?} is no path from the start to the end"));
        }
        (!seen.insert(arcs)).then(|| format!("the path {arcs:?} comes twice"))
    };
    paths.filter_map(wrong).collect()
}

fn random(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let graph = graph(args)?;
    let num_paths: usize = field(args, "num_paths")?;
    let came = random_paths(graph.fsas(), num_paths)?;
    let splits: Vec<Vec<i32>> = field(expect, "row_splits")?;
    let splits = splits.into_iter().map(RowSplits::new).collect::<Result<Vec<_>, _>>()?;
    let right = Ragged::new(RaggedShape::new(splits)?, field::<Vec<i32>>(expect, "arcs")?)?;
    if right.num_rows() != came.num_rows() || right.shape().row_splits(1) != came.shape().row_splits(1) {
        return Ok(vec![format!("expected {:?}, came {:?}", right.shape(), came.shape())]);
    }
    let backward = backward_scores::<f64, _>(graph.fsas(), Semiring::Log)?;
    let mut differences = Vec::new();
    for paths in right.shape().row_splits(1).rows() {
        for (i, path) in paths.enumerate() {
            let point = (i as f64 + 0.5) / num_paths as f64;
            let near = |arcs: &[i32]| {
                place_on_line(graph.fsas(), &backward, arcs)
                    .is_some_and(|[begin, end]| begin - BORDER <= point && point <= end + BORDER)
            };
            let (right, came) = (right.row(path), came.row(path));
            let same = right == came || (near(right) && near(came));
            differences.extend(unless(same, || format!("path {path}: expected {right:?}, came {came:?}")));
        }
    }
    Ok(differences)
}

/// The interval of a path from the start to the end on the line of all paths, each of which is as
/// wide as it is probable; `None` if it is no path.
fn place_on_line(fsas: &FsaOrVec, backward: &[f64], path: &[i32]) -> Option<[f64; 2]> {
    let first = usize::try_from(*path.first()?).ok()?;
    let (mut state_0, mut fsas_before) = (0, fsas.as_fsa_vec().iter());
    let fsa = fsas_before.find(|fsa| {
        let found = (fsa.first_arc()..fsa.first_arc() + fsa.arcs().len()).contains(&first);
        state_0 += if found { 0 } else { fsa.num_states() };
        found
    })?;
    let (mut state, mut begin, mut width) = (0, 0.0, 1.0);
    for arc in path {
        let arc = usize::try_from(*arc).ok()?.checked_sub(fsa.first_arc())?;
        let probability = |arc: usize| {
            let dest = usize::try_from(fsa.arcs()[arc].dest_state).unwrap_or_default();
            (f64::from(fsa.arcs()[arc].score) + backward[state_0 + dest] - backward[state_0 + state]).exp()
        };
        let range = fsa.arc_range(state);
        if !range.contains(&arc) {
            return None;
        }
        begin += width * (range.start..arc).map(probability).sum::<f64>();
        width *= probability(arc);
        state = usize::try_from(fsa.arcs()[arc].dest_state).ok()?;
    }
    (Some(state) == fsa.final_state()).then_some([begin, begin + width])
}

fn nbest(args: &Value) -> Result<Nbest, Stop> {
    let scale = single(number(&args["nbest_scale"])?);
    Ok(Nbest::from_lattice(&graph(args)?, field(args, "num_paths")?, scale)?)
}

/// For each utterance the words and total scores.
type Hypotheses = Vec<Vec<(Vec<i32>, f64)>>;

fn came(nbest: &Nbest) -> Hypotheses {
    let (words, scores) = (nbest.words(), nbest.total_scores());
    let paths = |paths: std::ops::Range<usize>| paths.map(|i| (words.row(i).to_vec(), scores.values()[i])).collect();
    nbest.utterances().rows().map(paths).collect()
}

fn expected(expect: &Value) -> Result<Hypotheses, Stop> {
    let words: Vec<Vec<i32>> = field(expect, "words")?;
    let all: Vec<_> = words.into_iter().zip(flat(&expect["total_scores"])?).collect();
    let splits: Vec<usize> = field(expect, "row_splits")?;
    Ok(splits.windows(2).map(|ends| all[ends[0]..ends[1]].to_vec()).collect())
}

fn from_lattice(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let made = nbest(args)?;
    let in_order = |hypotheses: Hypotheses| -> Vec<BTreeMap<_, _>> {
        hypotheses.into_iter().map(|paths| paths.into_iter().collect()).collect()
    };
    let (right, came) = (in_order(expected(expect)?), in_order(came(&made)));
    let alike = |(right, came): (&BTreeMap<_, f64>, &BTreeMap<Vec<i32>, f64>)| {
        right.keys().eq(came.keys()) && right.values().zip(came.values()).all(|(&a, &b)| close(a, b, SINGLE))
    };
    let same = right.len() == came.len() && right.iter().zip(&came).all(alike);
    let once = made.utterances().rows().zip(&came).all(|(paths, words)| paths.len() == words.len());
    Ok([
        not_of_lattice(args, &made)?,
        unless(once, || "two paths of an utterance have the same words".into()),
        unless(same, || format!("expected {right:?}, came {came:?}")),
    ]
    .concat())
}

/// The hypotheses that are no path of the FSA of their utterance: none of its paths has these
/// labels, words and scores.
fn not_of_lattice(args: &Value, nbest: &Nbest) -> Result<Vec<String>, Stop> {
    let words_of = |graph: &Graph<FsaVec>, arc: usize| match graph.attributes().get(AUX_LABELS) {
        Some(Attribute::Ints { values, .. }) => vec![values[arc]],
        Some(Attribute::Lists(lists)) => lists.row(arc).to_vec(),
        _ => vec![],
    };
    let (lattice, paths) = (vector(graph(args)?)?, nbest.paths());
    let mut differences = Vec::new();
    for (of_utterance, fsa) in nbest.utterances().rows().zip(lattice.fsas().as_fsa_vec().iter()) {
        for path in of_utterance {
            let linear = paths.fsas().fsa(path);
            // Several arcs between two states may be alike, and so all states that a path may have
            // reached are followed.
            let mut states = BTreeSet::from([0]);
            for (at, arc) in linear.arcs().iter().enumerate() {
                let words = words_of(paths, linear.first_arc() + at);
                let takes = |&other: &usize| {
                    let same = fsa.arcs()[other];
                    same.label == arc.label
                        && close(same.score.into(), arc.score.into(), SINGLE)
                        && words_of(&lattice, fsa.first_arc() + other) == words
                };
                let next = states.iter().flat_map(|&state| fsa.arc_range(state)).filter(takes);
                states = next.filter_map(|arc| usize::try_from(fsa.arcs()[arc].dest_state).ok()).collect();
            }
            let is_path = !linear.arcs().is_empty() && fsa.final_state().is_some_and(|last| states.contains(&last));
            let tell = || format!("hypothesis {path} is no path of its lattice: {:?}", linear.arcs());
            differences.extend(unless(is_path, tell));
        }
    }
    Ok(differences)
}

fn top_k(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (all, k) = (nbest(args)?, field::<usize>(args, "k")?);
    let made = all.top_k(k)?;
    let (right, came) = (expected(expect)?, came(&made));
    let mut differences = not_of_lattice(args, &made)?;
    // All differ except the last one, which is repeated if there are fewer than `k`.
    for (chosen, of_all) in came.iter().zip(all.utterances().rows()) {
        let (distinct, of) = (chosen.iter().map(|(words, _)| words).collect::<BTreeSet<_>>().len(), of_all.len());
        let tell = || format!("{distinct} of the {k} best paths differ, of {of}");
        differences.extend(unless(distinct == k.min(of), tell));
    }
    let scores = |all: &Hypotheses| all.iter().flatten().map(|(_, score)| *score).collect::<Vec<_>>();
    let same =
        right.iter().map(Vec::len).eq(came.iter().map(Vec::len)) && all_close(&scores(&right), &scores(&came), SINGLE);
    differences.extend(unless(same, || format!("expected {right:?}, came {came:?}")));
    Ok(differences)
}

fn alignment(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (reference, hyps): (Vec<i32>, Ragged<i32>) = (field(args, "ref")?, lists(args, "hyps")?);
    let refs = Ragged::from_lists(std::slice::from_ref(&reference))?;
    let aligned = levenshtein_alignment(&refs, &hyps, &vec![0; hyps.num_rows()])?;
    let totals = total_scores::<f64, _>(aligned.fsas(), Semiring::Tropical)?;
    let right = flat(&expect["distance"])?;
    // The distances are whole numbers, but k2 sums them in single precision.
    let same = right.iter().map(|right| right.round()).eq(totals.iter().map(|total| -total));
    let mut differences =
        unless(same, || format!("expected the distances {right:?}, came {totals:?} with their signs turned"));
    let of_ref = aligned.attributes().ints(REF_LABELS).unwrap_or_default();
    for fsa in aligned.fsas().as_fsa_vec().iter() {
        let symbols = of_ref[fsa.first_arc()..][..fsa.arcs().len()].iter().filter(|&&symbol| symbol > 0);
        let tell = || format!("an alignment has not the symbols of the reference: {of_ref:?}");
        differences.extend(unless(symbols.eq(&reference), tell));
    }
    Ok(differences)
}

fn matching(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let counts: Vec<i32> = field(args, "counts")?;
    let tokens = field(args, "min_token")?..=field(args, "max_token")?;
    let options = MatchingOptions::new(field(args, "eos")?, tokens, field(args, "max_order")?);
    let scores = floats(&args["scores"])?;
    let stats = get_best_matching_stats(&lists(args, "tokens")?, &scores, &counts, options)?;
    let (means, vars) = (flat(&expect["mean"])?, flat(&expect["var"])?);
    let (sums, orders): (Vec<i64>, Vec<i32>) = (field(expect, "counts_out")?, field(expect, "ngram_order")?);
    // k2 takes differences of sums over all tokens before, each of which is rounded to single
    // precision.
    let rounding = |power: i32| {
        let sum: f64 = scores.iter().map(|score| f64::from(score.abs()).powi(power)).sum();
        (scores.len() as f64 * sum * f64::from(f32::EPSILON)).clamp(SINGLE, README_SINGLE)
    };
    let (of_means, of_vars) = (rounding(1), rounding(2));
    let mut differences = Vec::new();
    for query in (0..counts.len()).filter(|&token| counts[token] == 0) {
        let right = (means[query], vars[query], sums[query], orders[query]);
        let came = (stats.mean[query].into(), stats.var[query].into(), stats.counts[query], stats.ngram_order[query]);
        let near = close(right.0, came.0, of_means) && close(right.1, came.1, of_vars);
        let same = near && (right.2, right.3) == (came.2, came.3);
        differences.extend(unless(same, || format!("token {query}: expected {right:?}, came {came:?}")));
    }
    Ok(differences)
}
