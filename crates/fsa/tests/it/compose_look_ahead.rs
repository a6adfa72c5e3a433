//! Composition with look-ahead, compared with composition without it.

use fsa::k2::{ComposeOptions, Epsilons, RandomFsaOptions, arc_sort, random_fsa};
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

proptest! {
    /// Only states and arcs that lead nowhere are left out, and the order stays.
    #[test]
    fn paths_are_the_paths_without_look_ahead(
        seed in 0..1_000_000_u64, epsilons in epsilons(), sorted: bool, inner: bool,
    ) {
        let (a, b) = (graph(seed, 1, sorted), graph(seed ^ 0x5a5a5, 2, sorted));
        let options = ComposeOptions::default().with_epsilons(epsilons).with_inner_labels(inner.then(|| "inner".to_owned()));
        let right = a.compose_with(&b, &options).unwrap();
        let ahead = a.compose_with(&b, &options.with_look_ahead(true)).unwrap();
        prop_assert!(ahead.fsas().num_states() <= right.fsas().num_states());
        prop_assert!(ahead.fsas().num_arcs() <= right.fsas().num_arcs());
        prop_assert_eq!(ahead.connect().unwrap(), right.connect().unwrap());
    }

    /// Whatever the limit, it is kept to, or refused.
    #[test]
    fn limits_are_kept(seed in 0..1_000_000_u64, max_bytes in 0..8000_usize) {
        let (a, b) = (graph(seed, 1, true), graph(seed ^ 0x5a5a5, 2, true));
        let options = ComposeOptions::default().with_look_ahead(true);
        let right = a.compose_with(&b, &options).unwrap();
        let limits = Limits::default().with_max_bytes(max_bytes);
        match a.compose_with(&b, &options.with_limits(limits)) {
            Ok(made) => prop_assert_eq!(made, right),
            Err(Error::Limit { limit, needed, .. }) => prop_assert!(limit < needed),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

#[test]
fn states_that_lead_nowhere_are_left_out() {
    // Words after two letters each, of which the grammar has one.
    let arcs = [(0, 1, 1), (0, 2, 2), (1, 3, 1), (2, 3, 2), (3, 4, FINAL)];
    let spelling = arcs.map(|(src, dest, label)| Arc::new(src, dest, label, 0.0));
    let spelling = Graph::new(Fsa::from_arcs(5, spelling.to_vec()).unwrap());
    let spelling = spelling.with_aux_labels(vec![0, 0, 7, 8, FINAL]).unwrap();
    let sizes = |look_ahead| {
        let made = spelling.compose_with(&star(7..8), &ComposeOptions::default().with_look_ahead(look_ahead)).unwrap();
        (made.fsas().num_states(), made.fsas().num_arcs())
    };
    assert_eq!((sizes(false), sizes(true)), ((5, 4), (4, 3)));
}

fn star(labels: std::ops::Range<i32>) -> Graph<Fsa> {
    let arcs: Vec<_> = labels.map(|label| Arc::new(0, 0, label, -0.5)).chain([Arc::new(0, 1, FINAL, 0.0)]).collect();
    Graph::new(Fsa::from_arcs(2, arcs).unwrap())
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
    let limited = ComposeOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    let refused = hub().compose_with(&hub(), &limited);
    assert!(matches!(refused, Err(Error::Limit { operation: Operation::Composition, limit: 1_048_576, .. })));
    let enough = ComposeOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    assert!(star(1..5000).compose_with(&star(1..5000), &enough).is_ok());
}
