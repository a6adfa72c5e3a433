//! Scores, gradients and paths against walks along every path.

use fsa::paths::*;
use fsa::{Arc, EPSILON, Error, FINAL, Fsa, FsaVec, FsaView, Fsas, Graph, Semiring};
use proptest::prelude::*;
use ragged_core::Ragged;

const NONE: f64 = f64::NEG_INFINITY;
/// Sums of some dozen numbers of a few units, in double and in single precision.
const DOUBLE: f64 = 1e-10;
const SINGLE: f64 = 1e-4;
/// Central differences with [`STEP`]: its square, times a third derivative of a few units.
const DIFFERENCE: f64 = 1e-4;
const STEP: f32 = 1.0 / 1024.0;

/// Arcs between any two states; `forward` ones go to later states. Scores are multiples of 1/64, so
/// that their sums are exact.
fn arcs(states: usize, forward: bool) -> impl Strategy<Value = Vec<Arc>> {
    let last = states as i32 - 1;
    let arc = (0..last, 0..last, 1..=last, 0..4, -192..192_i32);
    let arc = arc.prop_map(move |(src, any, offset, label, score)| {
        let dest = if forward { (src + offset).min(last) } else { any.max(offset) };
        Arc::new(src, dest, if dest == last { FINAL } else { label }, score as f32 / 64.0)
    });
    prop::collection::vec(arc, 0..14).prop_map(|mut arcs| {
        arcs.sort_by_key(|arc| arc.src_state);
        arcs
    })
}

fn acyclic() -> impl Strategy<Value = Fsa> {
    (2_usize..8).prop_flat_map(|states| arcs(states, true).prop_map(move |arcs| Fsa::from_arcs(states, arcs).unwrap()))
}

fn batch() -> impl Strategy<Value = FsaVec> {
    prop::collection::vec(prop_oneof![9 => acyclic(), 1 => Just(Fsa::empty())], 1..4)
        .prop_map(|fsas| FsaVec::from_fsas(&fsas).unwrap())
}

/// All paths between two states, as arcs counted within the FSA.
fn paths(fsa: FsaView<'_>, from: usize, to: usize) -> Vec<Vec<usize>> {
    if from == to {
        return vec![vec![]];
    }
    let on = |arc: usize| {
        let rest = paths(fsa, fsa.arcs()[arc].dest_state as usize, to).into_iter();
        rest.map(move |rest| std::iter::once(arc).chain(rest).collect())
    };
    fsa.arc_range(from).flat_map(on).collect()
}

fn all_paths(fsa: FsaView<'_>) -> Vec<Vec<usize>> {
    fsa.final_state().map_or(vec![], |last| paths(fsa, 0, last))
}

fn score(fsa: FsaView<'_>, path: &[usize]) -> f64 {
    path.iter().map(|&arc| f64::from(fsa.arcs()[arc].score)).sum()
}

fn sum(semiring: Semiring, scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = scores.clone().fold(NONE, f64::max);
    match semiring {
        Semiring::Log if most > NONE => most + scores.map(|x| (x - most).exp()).sum::<f64>().ln(),
        _ => most,
    }
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.len(), b.len());
    for (&x, &y) in a.iter().zip(b) {
        prop_assert!(x == y || (x - y).abs() <= tolerance * y.abs().max(1.0), "{:?} and {:?}", a, b);
    }
    Ok(())
}

fn doubles(x: Vec<f32>) -> Vec<f64> {
    x.into_iter().map(f64::from).collect()
}

const SEMIRINGS: [Semiring; 2] = [Semiring::Log, Semiring::Tropical];

/// The derivative of Σ `weights` y with respect to each score, by central differences.
fn differences(fsas: &FsaVec, weights: &[f64], y: impl Fn(&FsaVec) -> Vec<f64>) -> Vec<f64> {
    let scores = fsas.scores();
    let value = |arc: usize, change: f32| {
        let mut scores = scores.clone();
        scores[arc] += change;
        let y = y(&fsas.with_scores(&scores).unwrap());
        y.iter().zip(weights).filter(|(y, _)| y.is_finite()).map(|(y, weight)| y * weight).sum::<f64>()
    };
    (0..scores.len()).map(|arc| (value(arc, STEP) - value(arc, -STEP)) / f64::from(2.0 * STEP)).collect()
}

/// Some weights, none of them like another.
fn weights(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + 11) % 23) as f64 / 11.0 - 1.0).collect()
}

/// x - ln Σ e^x over the arcs of each state, in double precision, so that differences have digits.
fn log_softmax(fsas: &FsaVec) -> Vec<f64> {
    let mut made = vec![];
    for fsa in fsas.iter() {
        for state in 0..fsa.num_states() {
            let arcs = fsa.arcs_of(state);
            let total = sum(Semiring::Log, arcs.iter().map(|arc| f64::from(arc.score)));
            made.extend(arcs.iter().map(|arc| f64::from(arc.score) - total));
        }
    }
    made
}

/// Whether there are two best paths to a state: there the best path's gradient is one-sided.
fn ties(fsas: &FsaVec) -> bool {
    fsas.iter().any(|fsa| {
        let last = fsa.num_states().saturating_sub(1);
        let pairs = (0..fsa.num_states()).flat_map(|state| [(0, state), (state, last)]);
        pairs.into_iter().any(|(from, to)| {
            let scores: Vec<_> = paths(fsa, from, to).iter().map(|path| score(fsa, path)).collect();
            let most = scores.iter().copied().fold(NONE, f64::max);
            scores.iter().filter(|&&score| score > most - 0.01).count() > 1
        })
    })
}

proptest! {
    #[test]
    fn scores_are_those_of_all_paths(fsas in batch()) {
        for semiring in SEMIRINGS {
            let of = |fsa: FsaView<'_>, from, to| sum(semiring, paths(fsa, from, to).iter().map(|path| score(fsa, path)));
            let mut right = (vec![], vec![], vec![], vec![]);
            for fsa in fsas.iter() {
                let last = fsa.num_states().saturating_sub(1);
                right.0.extend((0..fsa.num_states()).map(|state| of(fsa, 0, state)));
                right.1.extend((0..fsa.num_states()).map(|state| of(fsa, state, last)));
                let all = all_paths(fsa);
                let total = sum(semiring, all.iter().map(|path| score(fsa, path)));
                right.2.push(total);
                right.3.extend((0..fsa.arcs().len()).map(|arc| {
                    let over = all.iter().filter(|path| path.contains(&arc)).map(|path| score(fsa, path));
                    if total == NONE { NONE } else { sum(semiring, over) - total }
                }));
            }
            near(&forward_scores(&fsas, semiring).unwrap(), &right.0, DOUBLE)?;
            near(&backward_scores(&fsas, semiring).unwrap(), &right.1, DOUBLE)?;
            near(&total_scores(&fsas, semiring).unwrap(), &right.2, DOUBLE)?;
            near(&total_scores_saved(&fsas, semiring).unwrap().0, &right.2, DOUBLE)?;
            near(&arc_posteriors(&fsas, semiring).unwrap(), &right.3, DOUBLE)?;
            near(&doubles(forward_scores(&fsas, semiring).unwrap()), &right.0, SINGLE)?;
            near(&doubles(backward_scores(&fsas, semiring).unwrap()), &right.1, SINGLE)?;
            near(&doubles(arc_posteriors(&fsas, semiring).unwrap()), &right.3, SINGLE)?;
        }
    }

    #[test]
    fn gradients_are_differences(fsas in batch()) {
        for semiring in SEMIRINGS {
            if semiring == Semiring::Tropical && ties(&fsas) {
                continue;
            }
            let states = weights(fsas.num_states());
            let grad = forward_scores_saved::<f64, _>(&fsas, semiring).unwrap().1.backward(&states).unwrap();
            near(&grad, &differences(&fsas, &states, |fsas| forward_scores(fsas, semiring).unwrap()), DIFFERENCE)?;
            let grad = backward_scores_saved::<f64, _>(&fsas, semiring).unwrap().1.backward(&states).unwrap();
            near(&grad, &differences(&fsas, &states, |fsas| backward_scores(fsas, semiring).unwrap()), DIFFERENCE)?;
            let totals = weights(fsas.num_fsas());
            let saved = total_scores_saved::<f64, _>(&fsas, semiring).unwrap().1;
            let grad = saved.backward(&totals).unwrap();
            near(&grad, &differences(&fsas, &totals, |fsas| total_scores(fsas, semiring).unwrap()), DIFFERENCE)?;
            prop_assert!(saved.backward(&[0.0; 9]).is_err());
            // Posteriors of arcs on no path do not move.
            let (posteriors, saved) = arc_posteriors_saved::<f64, _>(&fsas, semiring).unwrap();
            let mut arcs = weights(fsas.num_arcs());
            arcs.iter_mut().zip(&posteriors).filter(|(_, by)| **by == NONE).for_each(|(weight, _)| *weight = 0.0);
            let grad = saved.backward(&arcs).unwrap();
            near(&grad, &differences(&fsas, &arcs, |fsas| arc_posteriors(fsas, semiring).unwrap()), DIFFERENCE)?;
        }
        let arcs = weights(fsas.num_arcs());
        let singles: Vec<_> = arcs.iter().map(|&weight| weight as f32).collect();
        let made = set_scores_stochastic(&fsas).unwrap();
        let grad = doubles(set_scores_stochastic_backward(&made, &singles).unwrap());
        near(&doubles(made.scores()), &log_softmax(&fsas), SINGLE)?;
        near(&grad, &differences(&fsas, &arcs, log_softmax), DIFFERENCE)?;
    }

    #[test]
    fn best_paths_are_the_best_of_all(fsas in batch(), n in 0_usize..30) {
        let (best, map) = shortest_path(&fsas).unwrap();
        let ragged = best_paths(&fsas).unwrap();
        prop_assert_eq!(ragged.values(), &map[..]);
        let found = n_best_paths(&fsas, n).unwrap();
        let strings = n_best_strings(&fsas, &fsas.labels(), n).unwrap();
        for (i, fsa) in fsas.iter().enumerate() {
            let of = |path: &[i32]| path.iter().map(|&arc| arc as usize - fsa.first_arc()).collect::<Vec<_>>();
            let mut all = all_paths(fsa);
            all.sort_by(|a, b| score(fsa, b).total_cmp(&score(fsa, a)));
            let one = of(ragged.row(i));
            prop_assert_eq!(one.is_empty(), all.is_empty());
            prop_assert_eq!(best.fsa(i).num_states(), if all.is_empty() { 0 } else { one.len() + 1 });
            if let Some(first) = all.first() {
                prop_assert!(all.contains(&one));
                prop_assert_eq!(score(fsa, &one), score(fsa, first));
            }
            let came: Vec<_> = found.shape().row_splits(1).row(i).map(|path| of(found.row(path))).collect();
            let scores = |paths: &[Vec<usize>]| paths.iter().map(|path| score(fsa, path)).collect::<Vec<_>>();
            prop_assert_eq!(scores(&came), scores(&all[..n.min(all.len())]));
            let mut different = came.clone();
            different.sort();
            different.dedup();
            prop_assert_eq!(different.len(), came.len());
            prop_assert!(came.iter().all(|path| all.contains(path)));
            // Of the paths with the same string only the best counts.
            let string = |path: &Vec<usize>| path.iter().map(|&arc| fsa.arcs()[arc].label).filter(|&label| label > EPSILON).collect::<Vec<_>>();
            let mut seen = vec![];
            let firsts: Vec<_> = all.iter().filter(|path| !seen.contains(&string(path)) && { seen.push(string(path)); true }).cloned().collect();
            let came: Vec<_> = strings.shape().row_splits(1).row(i).map(|path| of(strings.row(path))).collect();
            prop_assert_eq!(scores(&came), scores(&firsts[..n.min(firsts.len())]));
            prop_assert!(came.iter().all(|path| all.contains(path)));
            let mut words: Vec<_> = came.iter().map(string).collect();
            words.sort();
            words.dedup();
            prop_assert_eq!(words.len(), came.len());
        }
    }

    #[test]
    fn random_paths_are_paths(fsas in batch(), n in 0_usize..20, seed in 0_u64..9) {
        let drawn = [random_paths(&fsas, n).unwrap(), sample_paths(&fsas, n, seed).unwrap()];
        prop_assert_eq!(&drawn[1], &sample_paths(&fsas, n, seed).unwrap());
        for (drawn, (i, fsa)) in drawn.iter().flat_map(|drawn| std::iter::repeat(drawn).zip(fsas.iter().enumerate())) {
            let all = all_paths(fsa);
            let rows = drawn.shape().row_splits(1).row(i);
            prop_assert_eq!(rows.len(), if all.is_empty() { 0 } else { n });
            for row in rows {
                let path: Vec<_> = drawn.row(row).iter().map(|&arc| arc as usize - fsa.first_arc()).collect();
                prop_assert!(all.contains(&path));
            }
        }
    }

    #[test]
    fn pruning_keeps_what_is_probable(fsas in batch(), threshold in 0.0..1.0) {
        let posteriors = arc_posteriors::<f64, _>(&fsas, Semiring::Log).unwrap();
        let (pruned, map) = prune_on_arc_post(&fsas, threshold).unwrap();
        let kept: Vec<_> = (0..fsas.num_arcs()).filter(|&arc| posteriors[arc] >= threshold.ln()).collect();
        prop_assert_eq!(map.iter().map(|&arc| arc as usize).collect::<Vec<_>>(), kept.clone());
        prop_assert_eq!(pruned.num_states(), fsas.num_states());
        let arcs: Vec<_> = kept.iter().map(|&arc| fsas.arcs()[arc]).collect();
        prop_assert_eq!(pruned.arcs(), &arcs[..]);
    }

    #[test]
    fn n_best_lists_have_each_string_once(fsas in batch(), n in 1_usize..20) {
        let lattice = Graph::new(fsas.clone());
        let lists = [Nbest::from_lattice(&lattice, n, 0.5).unwrap(), Nbest::best(&lattice, n).unwrap()];
        for nbest in lists {
            let (words, scores) = (nbest.words(), nbest.total_scores());
            for (rows, fsa) in nbest.utterances().rows().zip(fsas.iter()) {
                let mut lists: Vec<_> = rows.clone().map(|row| words.row(row)).collect();
                lists.sort();
                prop_assert!(lists.windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert_eq!(rows.is_empty(), all_paths(fsa).is_empty());
            }
            let top = nbest.top_k(3).unwrap();
            for (rows, chosen) in nbest.utterances().rows().zip(top.total_scores().rows()) {
                let mut all = scores.values()[rows].to_vec();
                all.sort_by(|a, b| b.total_cmp(a));
                if let Some(&last) = all.last() {
                    all.resize(3, last);
                }
                prop_assert_eq!(&all[..], chosen);
            }
            prop_assert!(Nbest::new(nbest.paths().clone(), nbest.utterances().clone()).is_ok());
        }
    }

    #[test]
    fn distances_with_cycles_are_those_of_longer_and_longer_paths(
        (fsa, lower) in (2_usize..6).prop_flat_map(|states| (arcs(states, false).prop_map(move |arcs| Fsa::from_arcs(states, arcs).unwrap()), any::<bool>()))
    ) {
        // So low that the sums of all paths converge, or as they are: then cycles may rise.
        let scores: Vec<_> = fsa.scores().iter().map(|score| if lower { score - 6.0 } else { *score }).collect();
        let fsa = fsa.with_scores(&scores).unwrap();
        for semiring in SEMIRINGS {
            // The sums over all paths of up to so many arcs.
            let rounds = |count: usize, reverse: bool| {
                let states = fsa.num_states();
                let mut now = vec![NONE; states];
                now[if reverse { states - 1 } else { 0 }] = 0.0;
                let mut all = now.clone();
                for _ in 0..count {
                    let mut next = vec![NONE; states];
                    for arc in fsa.arcs() {
                        let (mut from, mut to) = (arc.src_state as usize, arc.dest_state as usize);
                        if reverse { std::mem::swap(&mut from, &mut to); }
                        next[to] = sum(semiring, [next[to], now[from] + f64::from(arc.score)].into_iter());
                    }
                    for (all, &next) in all.iter_mut().zip(&next) { *all = sum(semiring, [*all, next].into_iter()); }
                    now = next;
                }
                all
            };
            for reverse in [false, true] {
                let came = if reverse { reverse_shortest_distance(&fsa, semiring, 1e-12) } else { shortest_distance(&fsa, semiring, 1e-12) };
                let (few, many) = (rounds(6, reverse), rounds(400, reverse));
                match (semiring, lower) {
                    (Semiring::Tropical, _) if few != many => prop_assert!(came.is_err()),
                    (Semiring::Tropical, _) => prop_assert_eq!(came.unwrap(), many),
                    (Semiring::Log, true) => near(&came.unwrap(), &many, 1e-8)?,
                    (Semiring::Log, false) => if let Ok(came) = came { near(&came, &many, 0.1)? },
                }
            }
        }
        // Paths around cycles come in order, too.
        if let Ok(found) = n_best_paths(&fsa, 20) {
            let scores: Vec<f64> = found.rows().map(|path| path.iter().map(|&arc| f64::from(fsa.arcs()[arc as usize].score)).sum()).collect();
            prop_assert!(scores.windows(2).all(|pair| pair[0] >= pair[1] - DOUBLE));
            let mut different: Vec<_> = found.rows().collect();
            different.sort();
            different.dedup();
            prop_assert_eq!(different.len(), scores.len());
        }
    }

    #[test]
    fn alignments_have_the_fewest_errors(
        refs in prop::collection::vec(prop::collection::vec(1..4, 0..7), 1..4),
        hyps in prop::collection::vec((prop::collection::vec(1..4, 0..7), 0_usize..9), 0..5),
    ) {
        let map: Vec<_> = hyps.iter().map(|(_, which)| (which % refs.len()) as i32).collect();
        let hyps: Vec<_> = hyps.into_iter().map(|(hyp, _)| hyp).collect();
        let ragged = |lists: &[Vec<i32>]| Ragged::from_lists(lists).unwrap();
        let aligned = levenshtein_alignment(&ragged(&refs), &ragged(&hyps), &map).unwrap();
        let totals = total_scores::<f64, _>(aligned.fsas(), Semiring::Tropical).unwrap();
        let sides = [REF_LABELS, HYP_LABELS].map(|name| aligned.attributes().ints(name).unwrap());
        for (i, fsa) in aligned.fsas().iter().enumerate() {
            prop_assert_eq!(-totals[i], distance(&refs[map[i] as usize], &hyps[i]) as f64);
            for (side, right) in sides.iter().zip([&refs[map[i] as usize], &hyps[i]]) {
                let symbols = side[fsa.first_arc()..][..fsa.arcs().len()].iter().copied();
                prop_assert_eq!(&symbols.filter(|&symbol| symbol > 0).collect::<Vec<_>>(), right);
            }
        }
    }

    #[test]
    fn matches_are_those_with_most_in_common(
        sentences in prop::collection::vec((prop::collection::vec(1..4, 0..5), any::<bool>()), 1..6),
    ) {
        let lists: Vec<Vec<i32>> = sentences.iter().map(|(tokens, _)| tokens.iter().copied().chain([9]).collect()).collect();
        let counts: Vec<i32> = sentences.iter().zip(&lists).flat_map(|((_, key), list)| vec![i32::from(*key); list.len()]).collect();
        let scores: Vec<_> = weights(counts.len()).into_iter().map(|score| score as f32).collect();
        let options = MatchingOptions::new(9, 1..=9, 3);
        let stats = get_best_matching_stats(&Ragged::from_lists(&lists).unwrap(), &scores, &counts, options).unwrap();
        let text: Vec<i32> = std::iter::once(9).chain(lists.iter().flatten().copied()).collect();
        let own: Vec<usize> = lists.iter().flat_map(|list| 1..=list.len()).collect();
        for query in (0..counts.len()).filter(|&token| counts[token] == 0) {
            let shared: Vec<_> = (0..counts.len())
                .map(|other| text[..query + 2].iter().rev().zip(text[..other + 2].iter().rev()).take_while(|(a, b)| a == b).count())
                .collect();
            let keys = || (0..counts.len()).filter(|&token| counts[token] > 0);
            let most = keys().map(|key| shared[key]).max();
            let all = || (0..counts.len()).filter(|&token| most.is_some_and(|most| shared[token] >= most));
            let count = all().filter(|&token| counts[token] > 0).count();
            let mean = if count == 0 { 0.0 } else { all().map(|token| f64::from(scores[token])).sum::<f64>() / count as f64 };
            prop_assert_eq!(stats.counts[query], if most == Some(0) { 0 } else { count as i64 });
            prop_assert!((f64::from(stats.mean[query]) - mean).abs() < 1e-5);
            if let Some(most) = most {
                let order = if most >= own[query] { 3 } else { most.min(3) };
                prop_assert_eq!(stats.ngram_order[query], order as i32);
            }
        }
    }
}

/// The Levenshtein distance by its definition.
fn distance(a: &[i32], b: &[i32]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a @ ..], [y, b @ ..]) if x == y => distance(a, b),
        ([_, shorter_a @ ..], [_, shorter_b @ ..]) => {
            1 + distance(shorter_a, b).min(distance(a, shorter_b)).min(distance(shorter_a, shorter_b))
        }
    }
}

#[test]
fn samples_come_as_often_as_they_are_probable() {
    let score = |share: f32| share.ln();
    let arcs = vec![Arc::new(0, 1, 1, score(0.25)), Arc::new(0, 1, 2, score(0.75)), Arc::new(1, 2, FINAL, 0.0)];
    let fsa = Fsa::from_arcs(3, arcs).unwrap();
    let n = 20_000;
    let count = sample_paths(&fsa, n, 7).unwrap().rows().filter(|path| path[0] == 0).count() as f64;
    // Six standard deviations.
    assert!((count - 5000.0).abs() < 6.0 * 3750.0_f64.sqrt(), "{count}");
    let even = random_paths(&fsa, n).unwrap().rows().filter(|path| path[0] == 0).count();
    assert_eq!(even, 5000);
}

#[test]
fn scores_too_large_for_the_type_are_told() {
    let large = f32::MAX;
    let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 1, large), Arc::new(1, 2, FINAL, large)]).unwrap();
    for semiring in SEMIRINGS {
        assert_eq!(forward_scores::<f32, _>(&fsa, semiring), Err(Error::Overflow { fsa: 0 }));
        assert_eq!(backward_scores::<f32, _>(&fsa, semiring), Err(Error::Overflow { fsa: 0 }));
        assert_eq!(total_scores::<f64, _>(&fsa, semiring), Ok(vec![2.0 * f64::from(large)]));
    }
    // Below all numbers there is nothing.
    let low = fsa.with_scores(&[-large, -large]).unwrap();
    assert_eq!(total_scores::<f32, _>(&low, Semiring::Log), Ok(vec![f32::NEG_INFINITY]));
}

#[test]
fn arcs_that_go_back_are_refused() {
    let back = Fsa::from_arcs(4, vec![Arc::new(0, 1, 1, 0.0), Arc::new(1, 2, 1, 0.0), Arc::new(2, 1, 1, 0.0)]).unwrap();
    let wrong = Error::NotTopSorted { fsa: 1, arc: 2, src_state: 2, dest_state: 1 };
    let both = FsaVec::from_fsas(&[Fsa::empty(), back]).unwrap();
    for semiring in SEMIRINGS {
        assert_eq!(forward_scores::<f64, _>(&both, semiring), Err(wrong.clone()));
        assert_eq!(backward_scores::<f64, _>(&both, semiring), Err(wrong.clone()));
        assert_eq!(total_scores::<f64, _>(&both, semiring), Err(wrong.clone()));
        assert_eq!(arc_posteriors::<f64, _>(&both, semiring), Err(wrong.clone()));
    }
    assert_eq!(shortest_path(&both), Err(wrong.clone()));
    assert_eq!(random_paths(&both, 3), Err(wrong.clone()));
    assert_eq!(prune_on_arc_post(&both, 0.5), Err(wrong));
}

#[test]
fn long_chains_need_no_stack() {
    let last = 300_000;
    let mut arcs: Vec<_> =
        (0..last).map(|state| Arc::new(state, state + 1, if state + 1 == last { FINAL } else { 1 }, -0.5)).collect();
    // All states but the last are one cycle.
    arcs.push(Arc::new(last - 1, 0, 2, -1.0));
    let fsa = Fsa::from_arcs(last as usize + 1, arcs).unwrap();
    let right = f64::from(last) * -0.5;
    for semiring in SEMIRINGS {
        assert_eq!(shortest_distance(&fsa, semiring, 1e-6).unwrap().last(), Some(&right));
        assert_eq!(reverse_shortest_distance(&fsa, semiring, 1e-6).unwrap().first(), Some(&right));
    }
    assert_eq!(n_best_paths(&fsa, 2).unwrap().num_elements(), 3 * last as usize);
}

#[test]
fn each_fsa_of_a_large_batch_is_as_alone() {
    // Enough arcs for several threads.
    let one = |seed: i32| {
        let score = |arc: i32| ((arc * 7919 + seed * 104_729) % 1009) as f32 / -256.0;
        let arcs = (0..499).flat_map(|state| (1..=8).map(move |step| (state, (state + step).min(499))));
        let arcs = (0..)
            .zip(arcs)
            .map(|(i, (src, dest))| Arc::new(src, dest, if dest == 499 { FINAL } else { 1 + i % 5 }, score(i)));
        Fsa::from_arcs(500, arcs.collect::<Vec<_>>()).unwrap()
    };
    let alone: Vec<_> = (0..8).map(one).collect();
    let batch = FsaVec::from_fsas(&alone).unwrap();
    for semiring in SEMIRINGS {
        let each: Vec<f64> = alone.iter().flat_map(|fsa| arc_posteriors(fsa, semiring).unwrap()).collect();
        assert_eq!(arc_posteriors::<f64, _>(&batch, semiring).unwrap(), each);
        let each: Vec<f32> = alone.iter().flat_map(|fsa| total_scores(fsa, semiring).unwrap()).collect();
        assert_eq!(total_scores::<f32, _>(&batch, semiring).unwrap(), each);
    }
    let each: Vec<_> = alone.iter().map(|fsa| shortest_path(fsa).unwrap().0).collect();
    assert_eq!(shortest_path(&batch).unwrap().0, FsaVec::from_fsas(&each).unwrap());
    assert_eq!(batch.as_fsa_vec().num_arcs(), 8 * 499 * 8);
}

proptest! {
    /// A sequence of labels has in the lattice the score of the best of the paths with it.
    #[test]
    fn sequences_meet_their_best_paths(fsas in batch(), n in 1_usize..20) {
        let tokens = fsas.labels();
        let lattice = Graph::new(fsas.clone()).with("tokens", tokens).unwrap();
        let sequences = Nbest::sequences_of(&lattice, "tokens", n).unwrap();
        let met = sequences.intersect(&lattice).unwrap();
        prop_assert_eq!(met.utterances(), sequences.utterances());
        let words = sequences.words();
        for (rows, fsa) in met.utterances().rows().zip(fsas.iter()) {
            let last = fsa.num_states().saturating_sub(1);
            let all = if last == 0 { vec![] } else { paths(fsa, 0, last) };
            for row in rows {
                let has_it = |path: &&Vec<usize>| {
                    path.iter().map(|&arc| fsa.arcs()[arc].label).filter(|&l| l > 0).eq(words.row(row).iter().copied())
                };
                let score = |path: &Vec<usize>| path.iter().map(|&arc| f64::from(fsa.arcs()[arc].score)).sum::<f64>();
                let best = all.iter().filter(has_it).map(score).fold(NONE, f64::max);
                prop_assert_eq!(met.total_scores().values()[row], best);
            }
        }
        // Those are linear again, and what they come from follows.
        prop_assert!(Nbest::new(met.paths().clone(), met.utterances().clone()).is_ok());
        prop_assert_eq!(met.words(), words);
    }
}

#[test]
fn n_best_lists_of_other_lattices_are_refused() {
    let one = Nbest::of_one(Graph::new(fsa::k2::linear_fsa(&[7]).unwrap().into_vec())).unwrap();
    assert!(matches!(one.intersect(&Graph::new(FsaVec::empty())), Err(Error::Size { .. })));
    let graphs = one.levenshtein_graphs(-0.501).unwrap();
    assert_eq!(graphs.fsas().labels(), [0, 0, 7, 0, -1]);
    assert!(matches!(Nbest::sequences_of(one.paths(), "tokens", 3), Err(Error::Attribute { .. })));
}

/// A lattice of two words, 1 and 2, spelled 11 and 12; a grammar that knows only the second, at
/// another price.
#[test]
fn a_lattice_gets_the_scores_of_another_grammar() {
    let arcs = vec![
        Arc::new(0, 1, 11, -1.5),
        Arc::new(0, 1, 12, -2.0),
        Arc::new(1, 2, 13, -0.25),
        Arc::new(2, 3, FINAL, -0.5),
    ];
    let lattice =
        Graph::new(Fsa::from_arcs(4, arcs).unwrap().into_vec()).with_aux_labels(vec![1, 2, 0, FINAL]).unwrap();
    assert!(matches!(rescore_lattice(&lattice, &Graph::new(Fsa::empty())), Err(Error::Attribute { .. })));
    let lattice = lattice.with(LM_SCORES, vec![-1.0, -1.0, 0.0, -0.5]).unwrap();
    let grammar = Fsa::from_arcs(3, vec![Arc::new(0, 1, 2, -4.0), Arc::new(1, 2, FINAL, -8.0)]).unwrap();
    let grammar = Graph::new(grammar).add_epsilon_self_loops().unwrap();
    let scores = grammar.fsas().scores();
    let rescored = rescore_lattice(&lattice, &grammar.with(LM_SCORES, scores).unwrap()).unwrap();
    assert_eq!(rescored.fsas().labels(), [12, 13, FINAL]);
    assert_eq!(rescored.aux_labels(), Some(&[2, 0, FINAL][..]));
    assert_eq!(rescored.fsas().scores(), [-5.0, -0.25, -8.0]);
    let lm = match rescored.attributes().get(LM_SCORES) {
        Some(fsa::Attribute::Floats { values, .. }) => values.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(lm, [-4.0, 0.0, -8.0]);
}
