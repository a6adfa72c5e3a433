//! Composition on demand beside composition at once.

use std::collections::BTreeMap;

use fsa::k2::{ComposeOptions, Epsilons, RandomFsaOptions, arc_sort, random_fsa};
use fsa::openfst::{LazyArc, LazyComposition, LazyOptions};
use fsa::{Arc, Error, FINAL, Fsa, Graph, Limits, Operation};
use proptest::prelude::*;

/// With epsilons, parallel arcs, dead ends, and cycles.
fn graph(seed: u64, salt: i32, sorted: bool) -> Graph<Fsa> {
    let options = RandomFsaOptions::default()
        .with_acyclic(!seed.is_multiple_of(3))
        .with_connected(!seed.is_multiple_of(5))
        .with_max_symbol(3)
        .with_max_num_arcs(20);
    let fsa = random_fsa(seed, &options).unwrap();
    let fsa = if sorted { arc_sort(&fsa).unwrap().0 } else { fsa };
    let output_acceptor =
        |arc: &Arc| if arc.label == FINAL { FINAL } else { (arc.label * 5 + arc.dest_state * 3 + salt) % 4 };
    let aux: Vec<_> = fsa.arcs().iter().map(output_acceptor).collect();
    let numbers: Vec<i32> = (0..).take(fsa.num_arcs()).collect();
    let costs: Vec<f32> = fsa.scores().iter().map(|score| score / 2.0).collect();
    let graph = Graph::new(fsa).with("costs", costs).unwrap().with(&format!("arcs {salt}"), numbers).unwrap();
    if seed.is_multiple_of(7) { graph } else { graph.with_aux_labels(aux).unwrap() }
}

fn epsilons() -> impl Strategy<Value = Epsilons> {
    prop::sample::select(vec![Epsilons::Sequenced, Epsilons::AnyOrder, Epsilons::AsSymbol])
}

/// All arcs by the states that they leave, requested in an order that `pick` gives; up to the first
/// error.
fn walk(lazy: &mut LazyComposition, pick: impl Fn(usize) -> usize) -> (BTreeMap<i32, Vec<LazyArc>>, Result<(), Error>) {
    let mut found = BTreeMap::new();
    let mut open: Vec<_> = lazy.start().into_iter().collect();
    while !open.is_empty() {
        let state = open.swap_remove(pick(open.len()) % open.len());
        if !found.contains_key(&state) {
            let arcs = match lazy.arcs(state) {
                Ok(arcs) => arcs.to_vec(),
                Err(error) => return (found, Err(error)),
            };
            open.extend(arcs.iter().map(|lazy| lazy.arc.dest_state));
            found.insert(state, arcs);
        }
    }
    (found, Ok(()))
}

/// The arcs of a walk, with states numbered as [`compose`](fsa::k2::compose()) does it, output
/// labels, and arc maps.
fn in_order(found: &BTreeMap<i32, Vec<LazyArc>>) -> (Vec<Arc>, Vec<i32>, Vec<(i32, i32)>) {
    let mut order: Vec<i32> = found.keys().copied().take(1).collect();
    let (mut arcs, mut at) = (vec![], 0);
    while at < order.len() {
        for lazy in &found[&order[at]] {
            let dest = lazy.arc.dest_state;
            if dest != LazyComposition::FINAL_STATE && !order.contains(&dest) {
                order.push(dest);
            }
            arcs.push(*lazy);
        }
        at += 1;
    }
    let number = |state: i32| {
        let place = order.iter().position(|&it| it == state).unwrap_or(order.len());
        i32::try_from(place).unwrap()
    };
    let renumbered = |arc: Arc| Arc { src_state: number(arc.src_state), dest_state: number(arc.dest_state), ..arc };
    (
        arcs.iter().map(|lazy| renumbered(lazy.arc)).collect(),
        arcs.iter().map(|lazy| lazy.aux_label).collect(),
        arcs.iter().map(|lazy| (lazy.arc_a, lazy.arc_b)).collect(),
    )
}

proptest! {
    #[test]
    fn all_at_once_is_what_compose_makes(seed in 0..1_000_000_u64, epsilons in epsilons(), sorted: bool, inner: bool) {
        let (a, b) = (graph(seed, 1, sorted), graph(seed ^ 0x5a5a5, 2, sorted));
        let inner_labels = inner.then(|| "inner".to_owned());
        let right = a.compose_with(&b, &ComposeOptions::default().with_epsilons(epsilons).with_inner_labels(inner_labels.clone()));
        let right = right.unwrap();
        let options = LazyOptions::default().with_epsilons(epsilons);
        let of = |look_ahead| {
            let mut lazy = LazyComposition::new(&a, &b, &options.clone().with_look_ahead(look_ahead)).unwrap();
            // What was requested before is of no importance.
            if let Some(start) = lazy.start() {
                lazy.arcs(start).unwrap();
            }
            lazy.to_graph(inner_labels.as_deref()).unwrap()
        };
        prop_assert_eq!(&of(false), &right);
        // Only what leads nowhere is left out, and the order stays.
        let ahead = of(true);
        prop_assert!(ahead.fsas().num_states() <= right.fsas().num_states());
        prop_assert!(ahead.fsas().num_arcs() <= right.fsas().num_arcs());
        prop_assert_eq!(ahead.connect().unwrap(), right.connect().unwrap());
    }

    #[test]
    fn the_order_of_asking_and_the_cache_do_not_matter(
        seed in 0..1_000_000_u64, epsilons in epsilons(), look_ahead: bool, salt in 0..1000_usize,
        cache_bytes in prop::sample::select(vec![0_usize, 300, 1000, 1 << 20]),
    ) {
        let (a, b) = (graph(seed, 1, false), graph(seed ^ 0x5a5a5, 2, false));
        let options = LazyOptions::default().with_epsilons(epsilons).with_look_ahead(look_ahead);
        let right = LazyComposition::new(&a, &b, &options).unwrap().to_graph(None).unwrap();
        let mut lazy = LazyComposition::new(&a, &b, &options.with_cache_bytes(cache_bytes)).unwrap();
        let (found, outcome) = walk(&mut lazy, |len| salt * len / 7 + salt);
        outcome.unwrap();
        let (arcs, aux, maps) = in_order(&found);
        prop_assert_eq!(&arcs, right.fsas().arcs());
        prop_assert_eq!(&aux, right.aux_labels().unwrap_or_default());
        for (name, side) in [("arcs 1", 0), ("arcs 2", 1)] {
            let filled: Vec<_> = maps.iter().map(|&(a, b)| [a, b][side].max(0)).collect();
            prop_assert_eq!(&filled[..], right.attributes().ints(name).unwrap());
        }
        // Once more, forwards and backwards, with the same numbers.
        let num_states = lazy.num_states();
        for (&state, arcs) in found.iter().chain(found.iter().rev()) {
            prop_assert_eq!(lazy.arcs(state).unwrap(), &arcs[..]);
            prop_assert!(!lazy.is_final(state) || arcs.is_empty());
        }
        prop_assert_eq!(lazy.num_states(), num_states);
    }

    /// Whatever the limit, it is kept to, or refused.
    #[test]
    fn limits_are_kept(seed in 0..1_000_000_u64, look_ahead: bool, max_bytes in 0..8000_usize) {
        let (a, b) = (graph(seed, 1, true), graph(seed ^ 0x5a5a5, 2, true));
        let options = LazyOptions::default().with_look_ahead(look_ahead);
        let (right, _) = walk(&mut LazyComposition::new(&a, &b, &options).unwrap(), |len| len / 2);
        let limited = |error: &Error| matches!(error, Error::Limit { limit, needed, .. } if limit < needed);
        match LazyComposition::new(&a, &b, &options.with_limits(Limits::default().with_max_bytes(max_bytes))) {
            Err(error) => prop_assert!(limited(&error), "{error}"),
            Ok(mut lazy) => {
                let (found, outcome) = walk(&mut lazy, |len| len / 2);
                prop_assert!(lazy.bytes() <= max_bytes || found.is_empty(), "{} {}", lazy.bytes(), max_bytes);
                match outcome {
                    Ok(()) => prop_assert_eq!(&found, &right),
                    Err(error) => prop_assert!(limited(&error), "{error}"),
                }
                prop_assert!(found.iter().all(|(state, arcs)| arcs == &right[state]));
                if let Err(error) = lazy.to_graph(None) {
                    prop_assert!(limited(&error), "{error}");
                }
            }
        }
    }
}

fn star(labels: std::ops::Range<i32>) -> Graph<Fsa> {
    let arcs: Vec<_> = labels.map(|label| Arc::new(0, 0, label, -0.5)).chain([Arc::new(0, 1, FINAL, 0.0)]).collect();
    Graph::new(Fsa::from_arcs(2, arcs).unwrap())
}

#[test]
fn what_is_not_there() {
    let empty = Graph::new(Fsa::empty());
    let mut lazy = LazyComposition::new(&empty, &star(1..3), &LazyOptions::default()).unwrap();
    assert_eq!((lazy.start(), lazy.num_states(), lazy.pair(0)), (None, 0, None));
    assert_eq!(lazy.to_graph(None).unwrap().fsas(), &Fsa::empty());
    assert!(matches!(lazy.arcs(0), Err(Error::OutOfRange { found: 0, max: -1, .. })));
    let mut lazy = LazyComposition::new(&star(1..3), &star(2..9), &LazyOptions::default()).unwrap();
    assert_eq!((lazy.start(), lazy.pair(0), lazy.pair(1), lazy.pair(2)), (Some(0), Some((0, 0)), Some((1, 1)), None));
    for state in [2, -1, i32::MAX, i32::MIN] {
        assert!(matches!(lazy.arcs(state), Err(Error::OutOfRange { .. })));
    }
    assert_eq!(
        lazy.arcs(0).unwrap().iter().map(|it| (it.arc.label, it.arc.dest_state)).collect::<Vec<_>>(),
        [(2, 0), (-1, 1)]
    );
    assert_eq!(lazy.arcs(LazyComposition::FINAL_STATE).unwrap(), []);
    let heavy = |score| Graph::new(Fsa::from_arcs(2, vec![Arc::new(0, 1, FINAL, score)]).unwrap());
    let mut lazy = LazyComposition::new(&heavy(f32::MAX), &heavy(f32::MAX), &LazyOptions::default()).unwrap();
    assert!(
        matches!(lazy.arcs(0), Err(Error::Score { .. })) && matches!(lazy.to_graph(None), Err(Error::Score { .. }))
    );
}

/// 3,000 x 3,000 arcs of one label leave the start: more than the limit, which is found out before
/// they are all there.
#[test]
fn a_state_with_too_many_arcs_is_refused() {
    let hub = || {
        Graph::new(
            Fsa::from_arcs(2, [vec![Arc::new(0, 0, 5, 0.0); 3000], vec![Arc::new(0, 1, FINAL, 0.0)]].concat()).unwrap(),
        )
    };
    let options = LazyOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    let mut lazy = LazyComposition::new(&hub(), &hub(), &options).unwrap();
    assert!(matches!(lazy.arcs(0), Err(Error::Limit { operation: Operation::LazyComposition, .. })));
    assert!(matches!(lazy.to_graph(None), Err(Error::Limit { operation: Operation::Composition, .. })));
    assert!(lazy.bytes() <= 1 << 20);
    let limited = ComposeOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    assert!(matches!(hub().compose_with(&hub(), &limited), Err(Error::Limit { limit: 1_048_576, .. })));
    let enough = ComposeOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    assert!(star(1..5000).compose_with(&star(1..5000), &enough).is_ok());
}

/// A walk through a product of a million states that keeps a few kilobytes of arcs.
#[test]
fn a_long_walk_needs_memory_for_its_states_only() {
    let circle = |length: i32, label: i32| {
        let mut arcs = vec![Arc::new(0, length, FINAL, 0.0)];
        arcs.extend((0..length).map(|state| Arc::new(state, (state + 1) % length, label, 0.0)));
        arcs.sort_by_key(|arc| (arc.src_state, arc.sort_key()));
        Graph::new(Fsa::from_arcs(usize::try_from(length).unwrap() + 1, arcs).unwrap())
    };
    let options = LazyOptions::default().with_cache_bytes(10_000);
    let mut lazy = LazyComposition::new(&circle(1000, 3), &circle(1001, 3), &options).unwrap();
    let (mut state, mut steps) = (0, 0);
    loop {
        state = lazy.arcs(state).unwrap()[0].arc.dest_state;
        steps += 1;
        if state == 0 {
            break;
        }
    }
    assert_eq!((steps, lazy.num_states()), (1_001_000, 1_001_001));
    assert!(lazy.bytes() < 40 * 1_001_000, "{}", lazy.bytes());
    // The last arc of the start is the final one, and has been dropped from the cache meanwhile.
    assert_eq!(lazy.arcs(0).unwrap().last().map(|it| it.arc.dest_state), Some(LazyComposition::FINAL_STATE));
}
