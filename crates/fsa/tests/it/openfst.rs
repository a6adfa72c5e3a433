//! OpenFst's algorithms against the definition: all paths of small random FSAs, walked one by one.

use std::collections::{BTreeMap, BTreeSet};

use fsa::k2::{RandomFsaOptions, random_fsa};
use fsa::openfst::{
    DeterminizeOptions, MinimizeOptions, PushTo, Side, Unique, determinize, difference, encode, epsilon_normalize,
    minimize, optimize, project, push_weights, shortest_paths,
};
use fsa::{AUX_LABELS, Arc, Equivalence, Error, FINAL, Fsa, Graph, Limited, Limits, Semiring, equivalent};
use proptest::prelude::*;

/// Scores are multiples of 1/1024, so that nothing is rounded away; sums of a few of them are exact
/// in f32.
const SCORE: f32 = 1e-4;
const DELTA: f32 = 1.0 / 1024.0;
/// For sums, which are no multiples of anything.
const FINE: f32 = 1e-6;

/// The most arcs on a path of [`fsa`], and the largest score of one.
const LONGEST: f64 = 7.0;
const LARGEST: f64 = 4.0;
/// For sums: in determinization and in minimization each arc moves a score by up to `FINE`, and some
/// eight operations on it round what is as large as a path's score.
const SUM: f64 = LONGEST * (2.0 * FINE as f64 + 4.0 * f32::EPSILON as f64 * LONGEST * LARGEST);

/// A connected FSA without cycles; labels from `least` to 3.
fn fsa(seed: u64, least: i32) -> Fsa {
    let options = RandomFsaOptions::default()
        .with_min_symbol(least)
        .with_max_symbol(3)
        .with_min_num_arcs(0)
        .with_max_num_arcs(14);
    random_fsa(seed, &options).unwrap()
}

/// The same as a transducer, which outputs up to two different labels.
fn transducer(seed: u64, least: i32) -> Graph<Fsa> {
    let fsa = fsa(seed, least);
    let random = |at: usize| i32::try_from((seed >> (at % 20)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61).unwrap();
    let aux = fsa.arcs().iter().enumerate();
    let aux: Vec<_> = aux.map(|(at, arc)| if arc.label == FINAL { FINAL } else { (random(at) - 5).max(0) }).collect();
    Graph::new(fsa).with_aux_labels(aux).unwrap()
}

/// What a path takes, outputs, and scores. Epsilons output are left out; those taken only if
/// `skip`.
type Path = (Vec<i32>, Vec<i32>, f32);

fn paths_from(graph: &Graph<Fsa>, start: usize, skip: bool) -> Vec<Path> {
    let view = graph.fsas().view();
    let mut found = Vec::new();
    let mut stack = vec![(start, (vec![], vec![], 0.0))];
    while let Some((state, path)) = stack.pop() {
        if Some(state) == view.final_state() {
            found.push(path);
            continue;
        }
        if state >= view.num_states() {
            continue;
        }
        for at in view.arc_range(state) {
            let arc = view.arcs()[at];
            let mut path: Path = path.clone();
            path.0.extend(Some(arc.label).filter(|&label| label != FINAL && !(skip && label == 0)));
            path.1.extend(graph.aux_labels().map(|aux| aux[at]).filter(|&label| label > 0));
            path.2 += arc.score;
            stack.push((usize::try_from(arc.dest_state).unwrap(), path));
        }
    }
    found
}

/// For each pair of strings, taken and output, the best score.
type Relation = BTreeMap<(Vec<i32>, Vec<i32>), f32>;

fn relation(graph: &Graph<Fsa>, skip: bool) -> Relation {
    let mut best = BTreeMap::new();
    for (input, output, score) in paths_from(graph, 0, skip) {
        let place = best.entry((input, output)).or_insert(f32::NEG_INFINITY);
        *place = place.max(score);
    }
    best
}

/// For each pair of strings the log-sum of all scores; epsilons taken are symbols unless `skip`.
fn sums(graph: &Graph<Fsa>, skip: bool) -> BTreeMap<(Vec<i32>, Vec<i32>), f64> {
    let mut sums = BTreeMap::new();
    for (input, output, score) in paths_from(graph, 0, skip) {
        *sums.entry((input, output)).or_insert(0.0) += f64::from(score).exp();
    }
    sums.into_iter().map(|(strings, sum): (_, f64)| (strings, sum.ln())).collect()
}

fn assert_same(a: &Graph<Fsa>, b: &Graph<Fsa>, skip: bool) {
    let (a, b) = (relation(a, skip), relation(b, skip));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (x, y) in a.values().zip(b.values()) {
        assert!((x - y).abs() <= SCORE, "{a:?}\n{b:?}");
    }
}

/// `best` is deterministic and has, for each input of the relation `right`, one of the best outputs
/// and no other.
fn assert_best(best: &Graph<Fsa>, right: &Relation) {
    assert!(is_deterministic(best.fsas()));
    let best = relation(best, true);
    assert_eq!(best.len(), right.keys().map(|(input, _)| input).collect::<BTreeSet<_>>().len());
    for ((input, output), score) in best {
        let of_input = right.iter().filter(|((other, _), _)| *other == input).map(|(_, score)| *score);
        assert!((right[&(input.clone(), output)] - score).abs() <= SCORE);
        assert!((of_input.fold(f32::NEG_INFINITY, f32::max) - score).abs() <= SCORE);
    }
}

fn is_deterministic(fsa: &Fsa) -> bool {
    let view = fsa.view();
    (0..view.num_states()).all(|state| {
        let labels: BTreeSet<_> = view.arcs_of(state).iter().map(|arc| arc.label).collect();
        labels.len() == view.arcs_of(state).len()
    })
}

/// Whether arcs with 0 on this side are followed by such arcs only, up to the final one.
fn is_normal(graph: &Graph<Fsa>, side: Side) -> bool {
    let view = graph.fsas().view();
    let label = |at: usize| match (side, graph.aux_labels()) {
        (Side::Output, Some(aux)) => aux[at],
        _ => view.arcs()[at].label,
    };
    let only_epsilons = |state: i32| view.arc_range(usize::try_from(state).unwrap()).all(|at| label(at) <= 0);
    (0..view.arcs().len()).all(|at| label(at) != 0 || only_epsilons(view.arcs()[at].dest_state))
}

/// The number of different futures of states, scores counted from the best one; that of the final
/// state differs from all.
fn num_futures(graph: &Graph<Fsa>) -> usize {
    let futures = (0..graph.fsas().num_states() - 1).map(|state| {
        let paths = paths_from(graph, state, false);
        let best = paths.iter().map(|path| path.2).fold(f32::NEG_INFINITY, f32::max);
        paths
            .into_iter()
            .map(|(input, _, score)| (input, (((score - best) * 1024.0).round() + 0.0).to_bits()))
            .collect()
    });
    futures.collect::<BTreeSet<BTreeSet<(Vec<i32>, u32)>>>().len() + 1
}

fn check_log_sums(seed: u64) -> Result<(), TestCaseError> {
    for (graph, skip) in [(Graph::new(fsa(seed, 0)), false), (transducer(seed, 1), true)] {
        let sums = sums(&graph, skip);
        let fine = DeterminizeOptions::default().with_delta(FINE).with_semiring(Semiring::Log);
        let pairs = sums.keys().map(|(input, _)| input).collect::<BTreeSet<_>>().len();
        let determinized = match determinize(&graph, &fine) {
            Err(Error::NotFunctional { .. }) => {
                prop_assert!(pairs < sums.len());
                continue;
            }
            determinized => determinized.unwrap(),
        };
        prop_assert!(is_deterministic(determinized.fsas()));
        let minimize_log = MinimizeOptions::default().with_delta(FINE).with_semiring(Semiring::Log);
        let minimized = minimize(&determinized, &minimize_log).unwrap();
        let (initial, last) =
            (graph.push_weights_log(PushTo::Initial).unwrap(), graph.push_weights_log(PushTo::Final).unwrap());
        for made in [&determinized, &minimized, &initial, &last] {
            let found = self::sums(made, skip);
            prop_assert!(found.keys().eq(sums.keys()));
            for (found, right) in found.values().zip(sums.values()) {
                prop_assert!((found - right).abs() < SUM, "{} and not {}", found, right);
            }
        }
        // From each state but the start, probabilities sum up to 1.
        for state in 1..initial.fsas().num_states().saturating_sub(1) {
            let sum: f64 = initial.fsas().view().arcs_of(state).iter().map(|arc| f64::from(arc.score).exp()).sum();
            prop_assert!((sum - 1.0).abs() < SUM);
        }
        let how = Equivalence::Structure { delta: DELTA, semiring: Semiring::Log };
        let same = equivalent(&graph, &minimized, how);
        let refused = matches!(same, Err(Error::LogSemiring { .. }));
        prop_assert!(refused || same == Ok(true));
    }
    Ok(())
}

proptest! {
    #[test]
    fn acceptors_become_deterministic_and_minimal(seed: u64) {
        let graph = Graph::new(fsa(seed, 0));
        let determinized = determinize(&graph, &DeterminizeOptions::default()).unwrap();
        prop_assert!(is_deterministic(determinized.fsas()));
        assert_same(&graph, &determinized, false);
        let minimized = minimize(&determinized, &MinimizeOptions::default()).unwrap();
        assert_same(&graph, &minimized, false);
        prop_assert_eq!(minimized.fsas().num_states(), if relation(&graph, false).is_empty() { 0 } else { num_futures(&determinized) });
        let nondet = minimize(&graph, &MinimizeOptions::default().with_allow_nondet(true)).unwrap();
        assert_same(&graph, &nondet, false);
        // Scores that stay are part of the symbols.
        let unpushed = minimize(&determinized, &MinimizeOptions::default().with_push_scores(false)).unwrap();
        assert_same(&graph, &unpushed, false);
        let (symbols, encoder) = encode(&determinized, true).unwrap();
        let encoded = minimize(&Graph::new(symbols), &MinimizeOptions::default()).unwrap();
        let encoded: Graph<Fsa> = encoder.decode(encoded.fsas()).unwrap();
        prop_assert_eq!(unpushed.fsas().num_states(), encoded.fsas().num_states());
        prop_assert!(equivalent(&graph, &minimized, Equivalence::default()).unwrap());
    }

    #[test]
    fn transducers_become_deterministic_if_functional(seed: u64) {
        let graph = transducer(seed, 1);
        let right = relation(&graph, true);
        let inputs: BTreeSet<_> = right.keys().map(|(input, _)| input).collect();
        match determinize(&graph, &DeterminizeOptions::default()) {
            Ok(determinized) => {
                prop_assert_eq!(inputs.len(), right.len());
                prop_assert!(is_deterministic(determinized.fsas()));
                assert_same(&graph, &determinized, true);
                assert_same(&graph, &minimize(&determinized, &MinimizeOptions::default()).unwrap(), true);
                prop_assert!(equivalent(&graph, &graph, Equivalence::default()).unwrap());
            }
            Err(Error::NotFunctional { .. }) => prop_assert!(inputs.len() < right.len()),
            Err(error) => prop_assert!(false, "{error}"),
        }
        let best = determinize(&graph, &DeterminizeOptions::default().with_disambiguate(true)).unwrap();
        assert_best(&best, &right);
    }

    #[test]
    fn epsilons_are_removed_by_determinization(seed: u64) {
        let graph = transducer(seed, 0);
        let right = relation(&graph, true);
        let inputs: BTreeSet<_> = right.keys().map(|(input, _)| input).collect();
        let options = DeterminizeOptions::default().with_remove_epsilons(true);
        match determinize(&graph, &options) {
            Ok(determinized) => {
                prop_assert_eq!(inputs.len(), right.len());
                prop_assert!(is_deterministic(determinized.fsas()));
                assert_same(&graph, &determinized, true);
                assert_same(&graph, &minimize(&determinized, &MinimizeOptions::default()).unwrap(), true);
                let normal = epsilon_normalize(&determinized, Side::Input, Limits::default()).unwrap();
                prop_assert!(is_deterministic(normal.fsas()) && is_normal(&normal, Side::Input));
                assert_same(&graph, &normal, true);
            }
            Err(Error::NotFunctional { .. }) => prop_assert!(inputs.len() < right.len()),
            Err(error) => prop_assert!(false, "{error}"),
        }
        let best = determinize(&graph, &options.clone().with_disambiguate(true)).unwrap();
        assert_best(&best, &right);
        let acceptor = graph.clone().without(AUX_LABELS);
        let determinized = determinize(&acceptor, &options).unwrap();
        prop_assert!(determinized.fsas().arcs().iter().all(|arc| arc.label != 0));
        prop_assert!(is_deterministic(determinized.fsas()));
        assert_same(&acceptor, &determinized, true);
    }

    #[test]
    fn epsilons_come_last(seed: u64) {
        let graph = transducer(seed, 0);
        for side in [Side::Input, Side::Output] {
            let normal = epsilon_normalize(&graph, side, Limits::default()).unwrap();
            prop_assert!(is_normal(&normal, side));
            assert_same(&graph, &normal, true);
            let acceptor = epsilon_normalize(&graph.clone().without(AUX_LABELS), side, Limits::default()).unwrap();
            prop_assert!(acceptor.fsas().arcs().iter().all(|arc| arc.label != 0));
            assert_same(&graph.clone().without(AUX_LABELS), &acceptor, true);
        }
    }

    #[test]
    fn scores_are_pushed_without_changing_a_path(seed: u64) {
        let graph = transducer(seed, 0);
        for to in [PushTo::Initial, PushTo::Final] {
            let pushed = graph.carry(push_weights(graph.fsas(), to).unwrap()).unwrap();
            assert_same(&graph, &pushed, false);
            for state in 1..pushed.fsas().num_states() {
                let best = paths_from(&pushed, state, false).iter().map(|path| path.2).fold(f32::NEG_INFINITY, f32::max);
                prop_assert!(to == PushTo::Final || best.abs() <= SCORE);
            }
        }
    }

    #[test]
    fn in_the_log_semiring_strings_have_the_sum_of_their_paths(seed: u64) {
        check_log_sums(seed)?;
    }

    #[test]
    fn the_best_paths_come_in_order(seed: u64, n in 0_usize..12) {
        let graph = transducer(seed, 0);
        let all = paths_from(&graph, 0, true);
        for unique in [Unique::Paths, Unique::Labels, Unique::AuxLabels] {
            let string = |path: &Path| if unique == Unique::Labels { path.0.clone() } else { path.1.clone() };
            let mut right: Vec<f32> = if unique == Unique::Paths {
                all.iter().map(|path| path.2).collect()
            } else {
                let strings: BTreeSet<_> = all.iter().map(string).collect();
                let best = |wanted: &Vec<i32>| {
                    all.iter().filter(|path| string(path) == *wanted).map(|path| path.2).fold(f32::NEG_INFINITY, f32::max)
                };
                strings.iter().map(best).collect()
            };
            right.sort_by(|a, b| b.total_cmp(a));
            right.truncate(n);
            let found = shortest_paths(&graph, n, unique).unwrap();
            let arcs = |path: &[i32]| path.iter().map(|&arc| graph.fsas().arcs()[usize::try_from(arc).unwrap()]).collect::<Vec<Arc>>();
            let scores: Vec<f32> = found.rows().map(|path| arcs(path).iter().map(|arc| arc.score).sum()).collect();
            prop_assert_eq!(scores.len(), right.len());
            for (a, b) in scores.iter().zip(&right) {
                prop_assert!((a - b).abs() <= SCORE);
            }
            for path in found.rows() {
                let arcs = arcs(path);
                prop_assert_eq!(arcs[0].src_state, 0);
                prop_assert!(arcs.windows(2).all(|pair| pair[0].dest_state == pair[1].src_state));
                prop_assert_eq!(arcs[arcs.len() - 1].label, FINAL);
            }
        }
    }

    #[test]
    fn differences_leave_out_what_is_accepted(seed: u64, other: u64) {
        let a = transducer(seed, 0);
        let b = determinize(&Graph::new(fsa(other, 1)), &DeterminizeOptions::default()).unwrap();
        let left = a.carry(difference(a.fsas(), b.fsas()).unwrap()).unwrap();
        let gone: BTreeSet<_> = relation(&b, true).into_keys().map(|(input, _)| input).collect();
        let mut right = relation(&a, true);
        right.retain(|(input, _), _| !gone.contains(input));
        prop_assert_eq!(relation(&left, true), right);
    }

    #[test]
    fn encoding_and_optimizing_keep_the_relation(seed: u64) {
        let graph = transducer(seed, 0);
        for with_scores in [false, true] {
            let (symbols, encoder) = encode(&graph, with_scores).unwrap();
            assert_same(&graph, &encoder.decode(&symbols).unwrap(), false);
        }
        assert_same(&graph, &optimize(&graph).unwrap(), true);
        let acceptor = graph.clone().without(AUX_LABELS);
        let smallest = optimize(&acceptor).unwrap();
        prop_assert!(is_deterministic(smallest.fsas()));
        assert_same(&acceptor, &smallest, true);
        let output = Graph::new(project(&graph, Side::Output).unwrap().0);
        let strings = |graph: &Graph<Fsa>| relation(graph, true).into_keys().collect::<BTreeSet<_>>();
        let projected: BTreeSet<_> = strings(&output).into_iter().map(|(input, _)| input).collect();
        prop_assert_eq!(projected, strings(&graph).into_iter().map(|(_, output)| output).collect());
    }

    #[test]
    fn other_scores_are_not_equivalent(seed: u64, arc: prop::sample::Index) {
        let graph = Graph::new(fsa(seed, 0));
        let mut scores = graph.fsas().scores();
        if scores.is_empty() {
            return Ok(());
        }
        scores[arc.index(graph.fsas().num_arcs())] += 2.0;
        let other = Graph::new(graph.fsas().with_scores(&scores).unwrap());
        let same = relation(&graph, true).into_iter().zip(relation(&other, true)).all(|(a, b)| (a.1 - b.1).abs() < SCORE);
        // Some scores may differ by 1/1024 only.
        prop_assert_eq!(equivalent(&graph, &other, Equivalence::Structure { delta: DELTA / 4.0, semiring: Semiring::Tropical }).unwrap(), same);
    }

    #[test]
    fn a_beam_keeps_what_is_near_the_best(seed: u64, beam in 0.5_f32..4.0) {
        let graph = Graph::new(fsa(seed, 1));
        let right = relation(&determinize(&graph, &DeterminizeOptions::default()).unwrap(), false);
        let best = right.values().copied().fold(f32::NEG_INFINITY, f32::max);
        let kept = determinize(&graph, &DeterminizeOptions::default().with_beam(beam)).unwrap();
        let kept = relation(&kept, false);
        for (strings, score) in &right {
            if *score > best - beam + SCORE {
                prop_assert!((kept[strings] - score).abs() <= SCORE);
            }
        }
        prop_assert!(kept.keys().all(|strings| right.contains_key(strings)));
    }
}

#[test]
fn log_sums_that_differed_by_what_equivalence_rounded() -> Result<(), TestCaseError> {
    [7_209_628_935_537_835_680, 966_915_548_851_797_542, 5_322_370_743_852_607_631]
        .into_iter()
        .try_for_each(check_log_sums)
}

/// Two paths with the same labels but for the last one, 2 or 3, and a bit of score less on each arc
/// of the second.
#[test]
fn differences_below_delta_add_up_in_equivalence() {
    const BIT: f32 = 0.4 * DELTA;
    const LABELS: i32 = 10;
    const DIFFERENCE: f32 = 10.0 * BIT;
    let num_states = |last: i32| usize::try_from(last + 1).unwrap();
    let end = 2 * LABELS + 1;
    let mut arcs = vec![Arc::new(0, 1, 1, 0.0), Arc::new(0, 2, 1, -BIT)];
    arcs.extend((1..end - 2).map(|state| Arc::new(state, state + 2, 1, if state % 2 == 1 { 0.0 } else { -BIT })));
    arcs.extend([Arc::new(end - 2, end, 2, 0.0), Arc::new(end - 1, end, 3, 0.0), Arc::new(end, end + 1, FINAL, 0.0)]);
    let two_paths = Graph::new(Fsa::from_arcs(num_states(end + 1), arcs).unwrap());
    let one_path = |score| {
        let mut arcs: Vec<_> = (0..LABELS).map(|state| Arc::new(state, state + 1, 1, 0.0)).collect();
        let end = LABELS + 1;
        arcs.extend([
            Arc::new(LABELS, end, 2, 0.0),
            Arc::new(LABELS, end, 3, score),
            Arc::new(end, end + 1, FINAL, 0.0),
        ]);
        Graph::new(Fsa::from_arcs(num_states(end + 1), arcs).unwrap())
    };
    for semiring in [Semiring::Tropical, Semiring::Log] {
        let how = Equivalence::Structure { delta: DELTA, semiring };
        assert!(equivalent(&two_paths, &one_path(-DIFFERENCE), how).unwrap());
        assert!(!equivalent(&two_paths, &one_path(0.0), how).unwrap());
    }
}

#[test]
fn what_never_ends_is_stopped_with_its_numbers() {
    // Two loops with the same label and different scores: the difference grows for ever.
    let arcs = [(0, 1, 1, 0.0), (0, 2, 1, 0.0), (1, 1, 2, 0.0), (1, 3, -1, 0.0), (2, 2, 2, -1.0), (2, 3, -1, 0.0)];
    let arcs = arcs.map(|(src, dest, label, score)| Arc::new(src, dest, label, score)).to_vec();
    let graph = Graph::new(Fsa::from_arcs(4, arcs.clone()).unwrap());
    let stopped =
        determinize(&graph, &DeterminizeOptions::default().with_limits(Limits::default().with_max_states(1000)));
    let Err(Error::DeterminizeLimit { limited: Limited::States, largest_subset: 2, pending_score, .. }) = stopped
    else {
        panic!("{stopped:?}")
    };
    assert!(pending_score > 900.0);
    let stopped =
        determinize(&graph, &DeterminizeOptions::default().with_limits(Limits::default().with_max_bytes(100_000)));
    assert!(matches!(stopped, Err(Error::DeterminizeLimit { limited: Limited::Bytes, .. })));
    // The same with labels that wait.
    let arcs: Vec<_> = arcs.into_iter().map(|arc| Arc { score: 0.0, ..arc }).collect();
    let graph = Graph::new(Fsa::from_arcs(4, arcs).unwrap()).with_aux_labels(vec![7, 8, 9, -1, 9, -1]).unwrap();
    let stopped =
        determinize(&graph, &DeterminizeOptions::default().with_limits(Limits::default().with_max_states(50)));
    assert!(matches!(stopped, Err(Error::NotFunctional { .. } | Error::DeterminizeLimit { pending_labels: 40.., .. })));
}

#[test]
fn cycles_around_which_scores_rise_are_minimized_without_pushing() {
    let arcs = [(0, 1, 1, 0.0), (0, 2, 2, -1.0), (1, 1, 3, 0.5), (1, 3, -1, 0.0), (2, 2, 3, 0.5), (2, 3, -1, 0.0)];
    let arcs = arcs.map(|(src, dest, label, score)| Arc::new(src, dest, label, score)).to_vec();
    let graph = Graph::new(Fsa::from_arcs(4, arcs).unwrap());
    assert!(matches!(minimize(&graph, &MinimizeOptions::default()), Err(Error::EndlessCycle { .. })));
    let minimized = minimize(&graph, &MinimizeOptions::default().with_push_scores(false)).unwrap();
    assert_eq!((minimized.fsas().num_states(), minimized.fsas().scores()), (3, vec![0.0, -1.0, 0.5, 0.0]));
}

/// 0.3 - 0.1 - 0.2 is a little above 0 in double precision, of numbers in single precision.
#[test]
fn a_level_cycle_of_decimal_scores_through_a_state_of_score_0_is_pushed() {
    let arcs = [(0, 1, -0.1), (0, 3, -1.0), (0, 5, 0.0), (1, 2, -0.2), (2, 0, 0.3), (3, 4, -1.0), (4, 0, -1.0)];
    let arcs = arcs.map(|(src, dest, score)| Arc::new(src, dest, if dest == 5 { FINAL } else { 1 }, score));
    let fsa = Fsa::from_arcs(6, arcs.to_vec()).unwrap();
    for to in [PushTo::Initial, PushTo::Final] {
        assert!(push_weights(&fsa, to).is_ok(), "{to:?}");
    }
}

fn cyclic(num_states: usize, arcs: &[(i32, i32, i32, i32, f32)]) -> Graph<Fsa> {
    let aux: Vec<_> = arcs.iter().map(|arc| arc.3).collect();
    let arcs = arcs.iter().map(|&(src, dest, label, _, score)| Arc::new(src, dest, label, score));
    Graph::new(Fsa::from_arcs(num_states, arcs.collect::<Vec<_>>()).unwrap()).with_aux_labels(aux).unwrap()
}

#[test]
fn cycles_that_put_out_more_than_they_take() {
    // Each 1 outputs 7 and then 8, which takes nothing.
    let graph = cyclic(3, &[(0, 1, 1, 7, 0.0), (0, 2, -1, -1, 0.0), (1, 0, 0, 8, -0.5)]);
    let star = determinize(&graph, &DeterminizeOptions::default().with_remove_epsilons(true)).unwrap();
    assert_eq!(star.fsas().labels(), [1, -1, 0]);
    assert_eq!(star.aux_labels(), Some(&[7, -1, 8][..]));
    assert!(matches!(epsilon_normalize(&graph, Side::Input, Limits::default()), Err(Error::EndlessOutput { .. })));
    assert!(epsilon_normalize(&graph, Side::Output, Limits::default()).is_ok());
    // The same once more on a cycle that takes nothing at all.
    let graph = cyclic(3, &[(0, 0, 0, 7, -1.0), (0, 1, 1, 0, 0.0), (1, 2, -1, -1, 0.0)]);
    assert!(matches!(epsilon_normalize(&graph, Side::Input, Limits::default()), Err(Error::EndlessOutput { .. })));
    let options = DeterminizeOptions::default().with_remove_epsilons(true);
    assert!(matches!(determinize(&graph, &options), Err(Error::NotFunctional { .. })));
    let best = determinize(&graph, &options.with_disambiguate(true)).unwrap();
    assert_eq!((best.fsas().labels(), best.aux_labels()), (vec![1, -1], Some(&[0, -1][..])));
}

proptest! {
    /// Epsilons are none, whichever side has them and wherever they stand; what cannot be told is
    /// refused.
    #[test]
    fn equivalence_is_that_of_the_relations(seed: u64, other: u64, change: bool) {
        let graph = transducer(seed, 0);
        let (right, delta) = (relation(&graph, true), Equivalence::Structure { delta: DELTA / 4.0, semiring: Semiring::Tropical });
        let mut twins = vec![Graph::cat(&[&graph]).and_then(|graph| graph.union()).unwrap()];
        twins.extend(epsilon_normalize(&graph, Side::Input, Limits::default()).ok());
        if change {
            twins.push(transducer(other, 0));
        }
        for twin in twins {
            let wrong = relation(&twin, true);
            let same = right.len() == wrong.len()
                && right.iter().zip(&wrong).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < SCORE);
            match equivalent(&graph, &twin, delta) {
                Ok(told) => prop_assert_eq!(told, same, "{:?} {:?}", right, wrong),
                Err(error) => prop_assert!(matches!(error, Error::NotFunctional { .. }), "{error}"),
            }
        }
    }
}

#[test]
fn outputs_of_epsilons_belong_to_their_strings() {
    // 0:5 1:0 beside 1:5, and 1:5 2:0 beside 1:0 2:5.
    let one = |arcs: &[(i32, i32, i32, i32, f32)]| cyclic(arcs.len() + 1, arcs);
    let late = one(&[(0, 1, 0, 5, 0.0), (1, 2, 1, 0, 0.0), (2, 3, -1, -1, 0.0)]);
    let at_once = one(&[(0, 1, 1, 5, 0.0), (1, 2, -1, -1, 0.0)]);
    let other = one(&[(0, 1, 1, 6, 0.0), (1, 2, -1, -1, 0.0)]);
    let same = |a, b| equivalent(a, b, Equivalence::default()).unwrap();
    assert!(same(&late, &at_once) && same(&at_once, &late) && !same(&late, &other));
    let early = one(&[(0, 1, 1, 5, 0.0), (1, 2, 2, 0, 0.0), (2, 3, -1, -1, 0.0)]);
    let later = one(&[(0, 1, 1, 0, 0.0), (1, 2, 2, 5, 0.0), (2, 3, -1, -1, 0.0)]);
    assert!(same(&early, &later));
    let two_outputs = cyclic(3, &[(0, 1, 0, 5, 0.0), (0, 1, 0, 6, 0.0), (1, 2, -1, -1, 0.0)]);
    assert!(matches!(equivalent(&two_outputs, &late, Equivalence::default()), Err(Error::NotFunctional { .. })));
}

#[test]
fn cycles_of_epsilons() {
    let options = DeterminizeOptions::default().with_remove_epsilons(true);
    // State 1 leads nowhere; 2 and 3 make the cycle.
    let circle = |score| {
        cyclic(
            5,
            &[
                (0, 1, 0, 0, 1.0),
                (0, 2, 0, 0, 0.0),
                (1, 1, 0, 0, 1.0),
                (2, 3, 0, 0, -0.5),
                (3, 2, 0, 0, score),
                (3, 4, -1, -1, 0.0),
            ],
        )
    };
    for score in [0.5, 0.0] {
        for made in
            [determinize(&circle(score), &options), epsilon_normalize(&circle(score), Side::Input, Limits::default())]
        {
            let made = made.unwrap();
            assert_eq!(*made.fsas(), Fsa::from_arcs(2, vec![Arc::new(0, 1, FINAL, -0.5)]).unwrap());
        }
    }
    for made in [determinize(&circle(0.75), &options), epsilon_normalize(&circle(0.75), Side::Input, Limits::default())]
    {
        assert!(matches!(made, Err(Error::EndlessCycle { fsa: 0, state: 2 | 3, .. })), "{made:?}");
    }
}

#[test]
fn cycles_that_rise_are_found_soon() {
    // 100,000 states, once in the order of their numbers and once against it.
    let last = 100_000;
    for against in [false, true] {
        let next = |state: i32| if against { (state + last - 1) % last } else { (state + 1) % last };
        let mut arcs: Vec<_> =
            (0..last).map(|state| Arc::new(state, next(state), 1, if state == 7 { 2.0 } else { 0.0 })).collect();
        arcs.insert(1, Arc::new(0, last, FINAL, 0.0));
        let graph = Graph::new(Fsa::from_arcs(usize::try_from(last).unwrap() + 1, arcs).unwrap());
        let rises = |error: Error| matches!(error, Error::EndlessCycle { fsa: 0, .. });
        assert!(rises(push_weights(graph.fsas(), PushTo::Initial).unwrap_err()));
        assert!(rises(push_weights(graph.fsas(), PushTo::Final).unwrap_err()));
        assert!(rises(shortest_paths(&graph, 1, Unique::Paths).unwrap_err()));
    }
}

#[test]
fn nothing_comes_of_nothing() {
    let two = Fsa::from_arcs(2, vec![]).unwrap();
    let dead = Fsa::from_arcs(3, vec![Arc::new(0, 1, 5, 0.0)]).unwrap();
    let never = Fsa::from_arcs(2, vec![Arc::new(0, 1, FINAL, f32::NEG_INFINITY)]).unwrap();
    for fsa in [Fsa::empty(), two, dead, never] {
        let graph = Graph::new(fsa.clone());
        assert!(relation(&determinize(&graph, &DeterminizeOptions::default()).unwrap(), false).is_empty());
        let options = DeterminizeOptions::default().with_remove_epsilons(true);
        assert_eq!(determinize(&graph, &options).unwrap().fsas().num_states(), 0);
        assert_eq!(epsilon_normalize(&graph, Side::Output, Limits::default()).unwrap().fsas().num_states(), 0);
        assert_eq!(minimize(&graph, &MinimizeOptions::default()).unwrap().fsas().num_states(), 0);
        assert_eq!(optimize(&graph).unwrap().fsas().num_states(), 0);
        assert_eq!(push_weights(&fsa, PushTo::Initial).unwrap().0, fsa);
        assert_eq!(shortest_paths(&graph, 3, Unique::Labels).unwrap().num_elements(), 0);
        assert_eq!(difference(&fsa, &fsa).unwrap().0.num_states(), 0);
        assert!(equivalent(&graph, &Graph::new(Fsa::empty()), Equivalence::default()).unwrap());
    }
}

#[test]
fn attributes_that_cannot_follow_are_told() {
    let graph = Graph::new(fsa(7, 1));
    let graph = graph.clone().with("frames", vec![1; graph.fsas().num_arcs()]).unwrap();
    let lost = Err(Error::LostAttribute { name: "frames".to_owned() });
    assert_eq!(determinize(&graph, &DeterminizeOptions::default()), lost);
    assert_eq!(minimize(&graph, &MinimizeOptions::default()), lost);
    assert_eq!(optimize(&graph), lost);
    assert_eq!(epsilon_normalize(&graph, Side::Output, Limits::default()), lost);
    assert!(encode(&graph, false).is_err() && optimize(&graph.without("frames")).is_ok());
}

#[test]
fn huge_scores_do_not_become_infinite() {
    let arcs = [(0, 1, 1, f32::MAX), (0, 2, 1, f32::MIN), (1, 3, -1, f32::MAX), (2, 3, -1, f32::MIN)];
    let graph = Graph::new(Fsa::from_arcs(4, arcs.map(|(s, d, l, x)| Arc::new(s, d, l, x)).to_vec()).unwrap());
    let determinized = determinize(&graph, &DeterminizeOptions::default()).unwrap();
    assert!(determinized.fsas().scores().iter().all(|score| score.is_finite()));
    let minimized = minimize(&determinized, &MinimizeOptions::default()).unwrap();
    assert!(minimized.fsas().scores().iter().all(|score| score.is_finite()));
    assert!(push_weights(graph.fsas(), PushTo::Final).is_ok());
    shortest_paths(&graph, 2, Unique::Labels).unwrap();
}

#[test]
fn what_takes_the_best_path_is_refused_in_the_log_semiring() {
    let graph = transducer(7, 0);
    let log = DeterminizeOptions::default().with_semiring(Semiring::Log);
    for options in [log.clone().with_beam(1.0), log.clone().with_remove_epsilons(true), log.with_disambiguate(true)] {
        assert!(matches!(determinize(&graph, &options), Err(Error::LogSemiring { .. })), "{options:?}");
    }
    let twice = [Arc::new(0, 1, 5, 0.0), Arc::new(0, 1, 5, -1.0), Arc::new(1, 2, -1, 0.0)];
    let twice = Graph::new(Fsa::from_arcs(3, twice.to_vec()).unwrap());
    let options = MinimizeOptions::default().with_allow_nondet(true).with_semiring(Semiring::Log);
    assert!(matches!(minimize(&twice, &options), Err(Error::LogSemiring { .. })));
    let silent = Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 0, 0.0), Arc::new(1, 2, -1, 0.0)]).unwrap());
    let how = Equivalence::Structure { delta: DELTA, semiring: Semiring::Log };
    assert!(matches!(equivalent(&silent, &twice, how), Err(Error::LogSemiring { .. })));
    // Determinized, both arcs are one with the sum of both.
    let once = determinize(&twice, &DeterminizeOptions::default().with_semiring(Semiring::Log)).unwrap();
    assert!((once.fsas().arcs()[0].score - (1.0 + (-1.0_f32).exp()).ln()).abs() < 1e-3);
    assert!(equivalent(&once, &twice, how).unwrap());
    assert!(!equivalent(&once, &twice, Equivalence::default()).unwrap());
}

#[test]
fn epsilon_normalization_keeps_to_its_limit() {
    // Each of many epsilons outputs one of two labels: 2^30 strings wait.
    let step = |state: i32| [Arc::new(state, state + 1, 0, 0.0), Arc::new(state, state + 1, 0, -0.5)];
    let mut arcs: Vec<_> = (0..30).flat_map(step).collect();
    arcs.extend([Arc::new(30, 31, 7, 0.0), Arc::new(31, 32, -1, 0.0)]);
    let aux = (0..60).map(|at| 1 + at % 2).chain([0, -1]).collect::<Vec<_>>();
    let graph = Graph::new(Fsa::from_arcs(33, arcs).unwrap()).with_aux_labels(aux).unwrap();
    let limits = Limits::default().with_max_bytes(10_000_000);
    let error = epsilon_normalize(&graph, Side::Input, limits).unwrap_err();
    assert!(matches!(error, Error::Limit { limited: Limited::Bytes, limit: 10_000_000, .. }), "{error}");
}
