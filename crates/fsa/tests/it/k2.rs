//! k2's algorithms against the definition: what an FSA accepts, by walking every path.

use std::collections::BTreeMap;

use fsa::k2::{
    ComposeOptions, DeterminizeOptions, Epsilons, RandomFsaOptions, WeightPushing, add_epsilon_self_loops, arc_sort,
    closure, concat, connect, determinize, expand_arcs, intersect, intersect_device, random_fsa, remove_epsilon,
    remove_epsilon_log, remove_epsilon_self_loops, replace_fsa, reverse, top_sort, union,
};
use fsa::{Arc, Equivalence, FINAL, Fsa, FsaVec, FsaView, Graph, Limits, Properties, Semiring};
use proptest::prelude::*;
use ragged_core::{RaggedShape, RowSplits};

/// Labels and output labels, without epsilons.
type Strings = (Vec<i32>, Vec<i32>);
/// For each the score of the best path and the logarithm of the sum of all.
type Language = BTreeMap<Strings, (f64, f64)>;

/// Scores are multiples of 1/1024, exact in f32; only logarithms of sums are rounded.
const ROUNDING: f64 = 1e-4;

fn add(language: &mut Language, strings: Strings, (best, sum): (f64, f64)) {
    let entry = language.entry(strings).or_insert((f64::NEG_INFINITY, f64::NEG_INFINITY));
    let (low, high) = if entry.1 < sum { (entry.1, sum) } else { (sum, entry.1) };
    *entry = (entry.0.max(best), if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() });
}

/// `visible` says which labels count besides those above 0.
fn language_of(fsa: FsaView<'_>, aux: Option<&[i32]>, epsilons_count: bool) -> Language {
    fn walk(
        (fsa, aux, epsilons_count): (FsaView<'_>, Option<&[i32]>, bool),
        state: usize,
        path: &mut Vec<usize>,
        language: &mut Language,
    ) {
        if Some(state) == fsa.final_state() {
            let least = if epsilons_count { 0 } else { 1 };
            let labels = path.iter().map(|&at| fsa.arcs()[at].label).filter(|&label| label >= least).collect();
            let puts_out = path.iter().filter_map(|&at| aux.map(|aux| aux[at])).filter(|&label| label > 0).collect();
            let score = path.iter().map(|&at| f64::from(fsa.arcs()[at].score)).sum();
            add(language, (labels, puts_out), (score, score));
            return;
        }
        for at in fsa.arc_range(state) {
            path.push(at);
            walk((fsa, aux, epsilons_count), usize::try_from(fsa.arcs()[at].dest_state).unwrap(), path, language);
            path.pop();
        }
    }
    let mut language = Language::new();
    if fsa.num_states() > 0 {
        walk((fsa, aux, epsilons_count), 0, &mut vec![], &mut language);
    }
    language
}

fn language(fsa: &Fsa) -> Language {
    language_of(fsa.view(), None, false)
}

fn same(right: &Language, came: &Language, sums_too: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!(right.keys().collect::<Vec<_>>(), came.keys().collect::<Vec<_>>());
    for (right, came) in right.values().zip(came.values()) {
        prop_assert!((right.0 - came.0).abs() < ROUNDING, "best {:?} {:?}", right, came);
        prop_assert!(!sums_too || (right.1 - came.1).abs() < ROUNDING, "sum {:?} {:?}", right, came);
    }
    Ok(())
}

/// Small enough to walk every path, with epsilons, parallel arcs and dead ends.
fn acyclic(seed: u64) -> Fsa {
    let options =
        RandomFsaOptions::default().with_connected(!seed.is_multiple_of(3)).with_max_symbol(3).with_max_num_arcs(14);
    random_fsa(seed, &options).unwrap()
}

fn cyclic(seed: u64) -> Fsa {
    let options = RandomFsaOptions::default()
        .with_acyclic(false)
        .with_connected(!seed.is_multiple_of(3))
        .with_max_symbol(3)
        .with_max_num_arcs(16);
    let fsa = random_fsa(seed, &options).unwrap();
    // No cycle is worth going round again.
    let scores: Vec<_> = fsa.scores().iter().map(|score| score - 4.25).collect();
    fsa.with_scores(&scores).unwrap()
}

/// The same FSA with states in another order.
fn shuffled(fsa: &Fsa, seed: usize) -> Fsa {
    let num_states = fsa.num_states();
    if num_states < 4 {
        return fsa.clone();
    }
    let inner = num_states - 2;
    let step = [1, 7, 11, 13].into_iter().map(|step| step + seed % 5).find(|step| gcd(*step, inner) == 1).unwrap_or(1);
    let name = |state: i32| match usize::try_from(state).unwrap() {
        0 => 0,
        last if last == num_states - 1 => state,
        state => i32::try_from(1 + (state - 1) * step % inner).unwrap(),
    };
    let mut arcs: Vec<_> = fsa
        .arcs()
        .iter()
        .map(|arc| Arc { src_state: name(arc.src_state), dest_state: name(arc.dest_state), ..*arc })
        .collect();
    arcs.sort_by_key(|arc| arc.src_state);
    Fsa::from_arcs(num_states, arcs).unwrap()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Output labels, drawn from the arcs themselves.
fn transducer(fsa: Fsa, salt: i32) -> Graph<Fsa> {
    let output_acceptor =
        |arc: &Arc| if arc.label == FINAL { FINAL } else { (arc.label * 5 + arc.dest_state * 3 + salt) % 4 };
    let aux: Vec<_> = fsa.arcs().iter().map(output_acceptor).collect();
    Graph::new(fsa).with_aux_labels(aux).unwrap()
}

fn language_of_graph(graph: &Graph<Fsa>) -> Language {
    language_of(graph.fsas().view(), graph.aux_labels(), false)
}

proptest! {
    #[test]
    fn order_and_useless_states_do_not_matter(seed in 0..1_000_000_u64) {
        let fsa = acyclic(seed);
        let right = language(&fsa);
        let turned = shuffled(&fsa, usize::try_from(seed).unwrap());
        for made in [&arc_sort(&fsa).unwrap().0, &connect(&turned).unwrap().0, &top_sort(&turned).unwrap().0] {
            same(&right, &language(made), true)?;
        }
        let connected = connect(&turned).unwrap();
        for (&from, arc) in connected.1.iter().zip(connected.0.arcs()) {
            let before = turned.arcs()[usize::try_from(from).unwrap()];
            prop_assert_eq!((before.label, before.score), (arc.label, arc.score));
        }
        let useful = Properties::MAYBE_ACCESSIBLE | Properties::MAYBE_COACCESSIBLE;
        prop_assert!(connected.0.properties().contains(useful));
        let with_loops = add_epsilon_self_loops(&fsa).unwrap().0;
        same(&language(&remove_epsilon_self_loops(&fsa).unwrap().0), &language(&remove_epsilon_self_loops(&with_loops).unwrap().0), true)?;
    }

    #[test]
    fn rational_operations(seed in 0..1_000_000_u64) {
        let (a, b) = (acyclic(seed), acyclic(seed ^ 0xABCDEF));
        let (in_a, in_b) = (language(&a), language(&b));
        let (mut either, mut behind) = (in_a.clone(), Language::new());
        in_b.iter().for_each(|(strings, &scores)| add(&mut either, strings.clone(), scores));
        for ((first, _), (best, sum)) in &in_a {
            for ((second, _), (more, others)) in &in_b {
                add(&mut behind, ([first.as_slice(), second].concat(), vec![]), (best + more, sum + others));
            }
        }
        let both = FsaVec::from_fsas(&[a.clone(), b.clone()]).unwrap();
        same(&either, &language(&union(&both).unwrap().0), true)?;
        same(&behind, &language(&concat(&a, &b).unwrap().0), true)?;
        let turned = in_a.iter().map(|((labels, _), scores)| ((labels.iter().rev().copied().collect(), vec![]), *scores));
        same(&turned.collect(), &language(&reverse(&a).unwrap().0), true)?;
        let by_strings = |a: &Fsa, b: &Fsa| {
            let how = Equivalence::Strings { semiring: Semiring::Log, delta: ROUNDING };
            Graph::new(a.clone()).equivalent(&Graph::new(b.clone()), how)
        };
        prop_assert_eq!(by_strings(&a, &a), Ok(true));
        let equal = in_a.len() == in_b.len() && in_a.iter().zip(&in_b).all(|(a, b)| a.0 == b.0 && (a.1.1 - b.1.1).abs() < ROUNDING);
        prop_assert_eq!(by_strings(&a, &b), Ok(equal));
        // Once and twice are among any number of times.
        let any = closure(&connect(&a).unwrap().0).unwrap().0;
        if let Some(((labels, _), _)) = in_a.iter().next() {
            let word: Vec<_> = labels.iter().chain(labels).copied().collect();
            let linear = fsa::k2::linear_fsa(&word).unwrap();
            let (met, ..) = intersect(&any, &linear, Epsilons::default().into()).unwrap();
            prop_assert!(connect(&met).unwrap().0.num_states() > 0);
        }
    }

    #[test]
    fn what_both_accept(seed in 0..1_000_000_u64) {
        let (a, b) = (acyclic(seed), acyclic(seed ^ 0x123456));
        let meet = |in_a: &Language, in_b: &Language| {
            let mut both = Language::new();
            for (strings, (best, sum)) in in_a {
                if let Some((more, others)) = in_b.get(strings) {
                    add(&mut both, strings.clone(), (best + more, sum + others));
                }
            }
            both
        };
        let right = meet(&language(&a), &language(&b));
        same(&right, &language(&intersect(&a, &b, Epsilons::Sequenced.into()).unwrap().0), true)?;
        let (any_order, map_a, map_b) = intersect(&a, &b, Epsilons::AnyOrder.into()).unwrap();
        same(&right, &language(&any_order), false)?;
        for (arc, (&from_a, &from_b)) in any_order.arcs().iter().zip(map_a.iter().zip(&map_b)) {
            let score = |fsa: &Fsa, from: i32| usize::try_from(from).map_or(0.0, |at| fsa.arcs()[at].score);
            prop_assert_eq!(arc.score, score(&a, from_a) + score(&b, from_b));
        }
        let with = |fsa: &Fsa| language_of(fsa.view(), None, true);
        let right = meet(&with(&a), &with(&b));
        same(&right, &with(&intersect(&a, &b, Epsilons::AsSymbol.into()).unwrap().0), true)?;
        let several = FsaVec::from_fsas(&[b.clone(), a.clone()]).unwrap();
        let (on_device, ..) = intersect_device(&several, &a, &[0]).unwrap();
        same(&right, &with(&on_device), true)?;
    }

    #[test]
    fn one_transducer_behind_another(seed in 0..1_000_000_u64, sequenced: bool) {
        let (a, b) = (transducer(acyclic(seed), 1), transducer(acyclic(seed ^ 0x77777), 2));
        let mut right = Language::new();
        for ((labels, inner), (best, sum)) in &language_of_graph(&a) {
            for ((met, aux), (more, others)) in &language_of_graph(&b) {
                if inner == met {
                    add(&mut right, (labels.clone(), aux.clone()), (best + more, sum + others));
                }
            }
        }
        let epsilons = if sequenced { Epsilons::Sequenced } else { Epsilons::AnyOrder };
        for look_ahead in [false, true] {
            let made = a.compose_with(&b, &ComposeOptions::default().with_epsilons(epsilons).with_look_ahead(look_ahead)).unwrap();
            same(&right, &language_of_graph(&made), sequenced)?;
        }
        let turned = |language: Language| -> Language {
            language.into_iter().map(|((labels, aux), scores)| ((aux, labels), scores)).collect()
        };
        same(&turned(language_of_graph(&a)), &language_of_graph(&a.invert().unwrap()), true)?;
    }

    #[test]
    fn epsilons_go(seed in 0..1_000_000_u64) {
        let fsa = shuffled(&acyclic(seed), usize::try_from(seed).unwrap());
        let (without, map) = remove_epsilon(&fsa).unwrap();
        prop_assert!(without.properties().contains(Properties::EPSILON_FREE));
        same(&language(&fsa), &language(&without), false)?;
        for (arc, from) in without.arcs().iter().zip(map.rows()) {
            let path: Vec<_> = from.iter().map(|&at| fsa.arcs()[usize::try_from(at).unwrap()]).collect();
            prop_assert_eq!(arc.score, path.iter().map(|arc| arc.score).sum::<f32>());
            prop_assert!(path.windows(2).all(|pair| pair[0].dest_state == pair[1].src_state && pair[0].label == 0));
            prop_assert_eq!(path.last().map(|arc| arc.label), Some(arc.label));
        }
        let log = remove_epsilon_log(&fsa, Limits::default()).unwrap();
        let (right, came) = (language(&fsa), language(&log));
        prop_assert_eq!(right.len(), came.len());
        for (right, came) in right.values().zip(came.values()) {
            prop_assert!((right.1 - came.1).abs() < ROUNDING);
        }
    }

    #[test]
    fn each_string_has_one_path(seed in 0..1_000_000_u64) {
        let fsa = shuffled(&acyclic(seed), usize::try_from(seed).unwrap());
        let with = |fsa: &Fsa| language_of(fsa.view(), None, true);
        for pushing in [WeightPushing::No, WeightPushing::Tropical, WeightPushing::Log] {
            let (made, map) = determinize(&fsa, pushing.into()).unwrap();
            same(&with(&fsa), &with(&made), false)?;
            let sorted = arc_sort(&made).unwrap().0;
            prop_assert!(sorted.properties().contains(Properties::ARC_SORTED_AND_DETERMINISTIC));
            prop_assert!(made.num_states() == 0 || connect(&made).unwrap().0.num_states() == made.num_states());
            if pushing == WeightPushing::No {
                for (arc, from) in made.arcs().iter().zip(map.rows()) {
                    let sum: f32 = from.iter().map(|&at| fsa.arcs()[usize::try_from(at).unwrap()].score).sum();
                    prop_assert_eq!(arc.score, sum);
                }
            }
        }
    }

    #[test]
    fn with_cycles(seed in 0..1_000_000_u64) {
        let fsa = cyclic(seed);
        let at_random = Equivalence::Random { semiring: Semiring::Tropical, delta: 1e-4, num_paths: 20, seed };
        let graph = Graph::new(fsa.clone());
        let equivalent = |made: &Fsa| graph.equivalent(&Graph::new(made.clone()), at_random);
        prop_assert_eq!(equivalent(&connect(&fsa).unwrap().0), Ok(true));
        prop_assert_eq!(equivalent(&arc_sort(&fsa).unwrap().0), Ok(true));
        prop_assert_eq!(equivalent(&remove_epsilon(&fsa).unwrap().0), Ok(true));
        prop_assert_eq!(equivalent(&reverse(&reverse(&fsa).unwrap().0).unwrap().0), Ok(true));
        if let Ok((made, _)) = determinize(&fsa, DeterminizeOptions::default().with_limits(Limits::default().with_max_states(300))) {
            prop_assert_eq!(equivalent(&made), Ok(true));
        }
        if let Ok((sorted, _)) = top_sort(&fsa) {
            prop_assert!(sorted.properties().contains(Properties::TOP_SORTED));
            prop_assert_eq!(equivalent(&sorted), Ok(true));
        }
    }

    #[test]
    fn labels_replaced_by_words(seed in 0..1_000_000_u64) {
        let (index, one, two) = (acyclic(seed), acyclic(seed ^ 0x1111), acyclic(seed ^ 0x2222));
        let src = FsaVec::from_fsas(&[one.clone(), two.clone()]).unwrap();
        let mut right = Language::new();
        for ((labels, _), scores) in &language(&index) {
            let mut so_far = Language::from([((vec![], vec![]), *scores)]);
            for label in labels {
                let choice = match label {
                    2 => language(&one),
                    3 => language(&two),
                    _ => Language::from([((vec![*label], vec![]), (0.0, 0.0))]),
                };
                let mut next = Language::new();
                for ((before, _), (best, sum)) in &so_far {
                    for ((word, _), (more, others)) in &choice {
                        add(&mut next, ([before.as_slice(), word].concat(), vec![]), (best + more, sum + others));
                    }
                }
                so_far = next;
            }
            so_far.into_iter().for_each(|(strings, scores)| add(&mut right, strings, scores));
        }
        if right.len() < 3000 {
            same(&right, &language(&replace_fsa(&src, &index, 2).unwrap().0), true)?;
        }
        let lengths = index.arcs().iter().map(|arc| usize::try_from(arc.label + 1).unwrap());
        let shape = RaggedShape::new([RowSplits::from_lengths(lengths).unwrap()]).unwrap();
        same(&language(&index), &language(&expand_arcs(&index, &[&shape]).unwrap().fsas), true)?;
    }
}

#[cfg(feature = "rayon")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn threads_change_nothing(seed in 0..1000_u64) {
        use fsa::paths::{arc_posteriors, prune_on_arc_post, shortest_path, total_scores_saved};

        let options = RandomFsaOptions::default().with_max_symbol(20).with_min_num_arcs(50).with_max_num_arcs(300);
        let sorted = fsa::k2::random_fsa_vec(seed, 200, &options).unwrap();
        let turned: Vec<_> = (0..200).map(|i| shuffled(&sorted.get(i).unwrap(), i)).collect();
        let turned = FsaVec::from_fsas(&turned).unwrap();
        prop_assert!(turned.num_arcs() > 1 << 14);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                // Nothing is known of these yet.
                let turned = FsaVec::new(turned.as_ragged().clone()).unwrap();
                let met = intersect(&turned, &turned.get(7).unwrap(), Epsilons::default().into()).unwrap();
                let arcs = (arc_sort(&turned).unwrap(), connect(&met.0).unwrap(), top_sort(&turned).unwrap(), met);
                let others = (remove_epsilon(&turned).unwrap(), reverse(&turned).unwrap());
                let known = (turned.properties_of_each(), turned.entering_arcs().clone());
                let sorted = top_sort(&turned).unwrap().0;
                let scores: Vec<_> = [Semiring::Log, Semiring::Tropical]
                    .map(|semiring| {
                        let (totals, saved) = total_scores_saved::<f64, _>(&sorted, semiring).unwrap();
                        (arc_posteriors::<f64, _>(&sorted, semiring).unwrap(), saved.backward(&totals), totals)
                    })
                    .into();
                let bits = format!("{scores:?}");
                let paths = (shortest_path(&sorted).unwrap(), prune_on_arc_post(&sorted, 0.1).unwrap());
                (arcs, others, known, bits, paths)
            })
        };
        let one = run(1);
        prop_assert!(one == run(2) && one == run(3));
    }
}
