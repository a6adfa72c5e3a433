//! Composition on demand with look-ahead, compared with all paths of both sides.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc as Shared;

use fsa::incremental::{IncrementalDecoder, IncrementalOptions, TransitionLabels};
use fsa::lattice::Lattice;
use fsa::on_demand::{ComposedView, Composition, CompositionOptions, LookAheadGrammar, LookAheadLexicon, SearchGraph};
use fsa::{CostArc, EPSILON, Error, LabelReach, Limits, LookAheadProblem, Transducer};
use proptest::prelude::*;

/// Longest strings compared.
const LONGEST: usize = 3;

/// Each pushed cost that becomes part of a state is rounded to 1/1024, and a path has few of them.
const COST: f32 = 2e-2;

/// The cost of the best path for each pair of an input and an output string.
type Relation = BTreeMap<(Vec<i32>, Vec<i32>), f32>;

/// Transducers with epsilons on both sides, cycles, parallel arcs and dead ends.
fn transducer() -> impl Strategy<Value = Transducer> {
    // Costs are well above 0, so no cycle is rounded below it.
    let arc = |num_states: u32| {
        (0..num_states, 0..num_states, 0..3_i32, 0..4_i32, 1..16_u8).prop_map(|(src, dest, ilabel, olabel, cost)| {
            (src, CostArc { ilabel, olabel, cost: f32::from(cost) / 4.0, dest })
        })
    };
    (1..5_u32).prop_flat_map(move |num_states| {
        let finals = prop::collection::vec(prop::option::of(0..8_u8), num_states as usize);
        (prop::collection::vec(arc(num_states), 0..10), finals).prop_map(move |(arcs, finals)| {
            let rows: Vec<(f32, Vec<CostArc>)> = (0..num_states)
                .zip(finals)
                .map(|(state, end)| {
                    let own = arcs.iter().filter(|(src, _)| *src == state).map(|(_, arc)| *arc).collect();
                    (end.map_or(f32::INFINITY, f32::from), own)
                })
                .collect();
            Transducer::new(Some(0), rows.iter().map(|(end, arcs)| (*end, &arcs[..]))).unwrap()
        })
    })
}

/// Sorts the arcs of each state.
fn sorted(it: &Transducer, label: fn(&CostArc) -> i32) -> Transducer {
    let rows: Vec<(f32, Vec<CostArc>)> = (0..u32::try_from(it.num_states()).unwrap())
        .map(|state| {
            let mut arcs = it.arcs(state).to_vec();
            arcs.sort_by_key(label);
            (it.final_cost(state), arcs)
        })
        .collect();
    Transducer::new(it.start(), rows.iter().map(|(end, arcs)| (*end, &arcs[..]))).unwrap()
}

fn longer(string: &[i32], label: i32) -> Option<Vec<i32>> {
    let longer: Vec<i32> = string.iter().copied().chain((label != EPSILON).then_some(label)).collect();
    (longer.len() <= LONGEST).then_some(longer)
}

/// Relaxes all steps until no cost becomes less.
fn relation<S: Clone + Eq + std::hash::Hash>(
    start: S,
    steps: impl Fn(&S) -> Vec<(CostArc, S)>,
    end: impl Fn(&S) -> f32,
) -> Relation {
    let mut best = HashMap::from([((start.clone(), vec![], vec![]), 0.0_f32)]);
    let mut queue = vec![(start, vec![], vec![])];
    while let Some(at) = queue.pop() {
        let cost = best[&at];
        for (arc, dest) in steps(&at.0) {
            let (Some(input), Some(output)) = (longer(&at.1, arc.ilabel), longer(&at.2, arc.olabel)) else { continue };
            let (place, cost) = ((dest, input, output), cost + arc.cost);
            if best.get(&place).is_none_or(|&old| cost < old - 1e-3) {
                best.insert(place.clone(), cost);
                queue.push(place);
            }
        }
    }
    let mut relation = Relation::new();
    for ((state, input, output), cost) in best {
        let cost = cost + end(&state);
        if cost < f32::INFINITY {
            let old = relation.entry((input, output)).or_insert(f32::INFINITY);
            *old = old.min(cost);
        }
    }
    relation
}

fn relation_of(it: &Transducer) -> Relation {
    let steps = |&state: &u32| it.arcs(state).iter().map(|&arc| (arc, arc.dest)).collect();
    relation(it.start().unwrap(), steps, |&state| it.final_cost(state))
}

/// The relation of both sides, by all ways of taking their arcs.
fn relation_of_both(left: &Transducer, right: &Transducer) -> Relation {
    let steps = |&(l, r): &(u32, u32)| {
        let mut steps = Vec::new();
        for arc in left.arcs(l) {
            if arc.olabel == EPSILON {
                steps.push((*arc, (arc.dest, r)));
            }
            for other in right.arcs(r).iter().filter(|other| arc.olabel != EPSILON && other.ilabel == arc.olabel) {
                let both = CostArc { olabel: other.olabel, cost: arc.cost + other.cost, ..*arc };
                steps.push((both, (arc.dest, other.dest)));
            }
        }
        for other in right.arcs(r).iter().filter(|other| other.ilabel == EPSILON) {
            steps.push((*other, (l, other.dest)));
        }
        steps
    };
    relation((0, 0), steps, |&(l, r)| left.final_cost(l) + right.final_cost(r))
}

fn composition(left: &Transducer, right: &Transducer, cache_bytes: usize) -> Composition {
    let lexicon = LookAheadLexicon::with_reach(left.clone(), Limits::default()).unwrap();
    let grammar = LookAheadGrammar::new(sorted(right, |arc| arc.ilabel)).unwrap();
    let options = CompositionOptions::default().with_cache_bytes(cache_bytes);
    Composition::new(lexicon.into(), grammar.into(), options)
}

/// Walks all states of a view, which must be those of the whole composition.
fn check_view(whole: &Transducer, graph: &Composition) {
    let mut view = graph.view();
    let start = view.start().unwrap().unwrap();
    let mut number = HashMap::from([(start, 0)]);
    let mut queue = vec![start];
    while let Some(state) = queue.pop() {
        let found = view.arcs(state);
        let at = number[&state];
        let mut arcs = whole.arcs(at).to_vec();
        arcs.sort_by_key(|arc| arc.ilabel != EPSILON);
        assert_eq!(found.final_cost.to_bits(), whole.final_cost(at).to_bits());
        assert!(found.epsilons.iter().all(|arc| arc.ilabel == EPSILON));
        let came: Vec<CostArc> = [found.epsilons, found.emitting].concat();
        assert_eq!(came.len(), arcs.len());
        for (came, expected) in came.into_iter().zip(arcs) {
            assert_eq!(CostArc { dest: expected.dest, ..came }, expected);
            match number.get(&came.dest) {
                Some(&known) => assert_eq!(known, expected.dest),
                None => {
                    number.insert(came.dest, expected.dest);
                    queue.push(came.dest);
                }
            }
        }
    }
    assert_eq!(number.len(), whole.num_states());
}

proptest! {
    #[test]
    fn paths_are_those_of_both_sides(left in transducer(), right in transducer()) {
        let made = composition(&left, &right, 0).compose(Limits::default()).unwrap();
        let (right, came) = (relation_of_both(&left, &right), relation_of(&made));
        prop_assert_eq!(right.keys().collect::<Vec<_>>(), came.keys().collect::<Vec<_>>());
        for (strings, cost) in &right {
            prop_assert!((cost - came[strings]).abs() < COST, "{:?}: {} and {}", strings, cost, came[strings]);
        }
    }

    #[test]
    fn reached_labels_are_those_behind_epsilons(left in transducer()) {
        let lexicon = LookAheadLexicon::with_reach(left, Limits::default()).unwrap();
        let (it, reach): (&Transducer, &LabelReach) = (lexicon.transducer(), lexicon.reach());
        for state in 0..u32::try_from(it.num_states()).unwrap() {
            let (mut seen, mut open, mut labels) = (vec![state], vec![state], vec![]);
            while let Some(state) = open.pop() {
                labels.extend((it.final_cost(state) < f32::INFINITY).then_some(reach.final_label()));
                for arc in it.arcs(state) {
                    if arc.olabel != EPSILON {
                        labels.push(arc.olabel);
                    } else if !seen.contains(&arc.dest) {
                        seen.push(arc.dest);
                        open.push(arc.dest);
                    }
                }
            }
            labels.sort_unstable();
            labels.dedup();
            let came: Vec<i32> = reach.intervals(state).iter().flat_map(|&[first, end]| first..end).collect();
            prop_assert_eq!(labels, came);
        }
    }
}

/// A lexicon in which each word has a phone for each of its digits, and a bigram model.
fn words(num_words: u32) -> (Transducer, Transducer) {
    let mut left = vec![(0.0, vec![])];
    for word in 1..=num_words {
        let (mut state, mut rest) = (0_usize, word);
        while rest >= 4 {
            let next = left.len();
            let ilabel = i32::try_from(rest % 4 + 1).unwrap();
            left[state].1.push(CostArc { ilabel, olabel: 0, cost: 0.5, dest: u32::try_from(next).unwrap() });
            left.push((f32::INFINITY, vec![]));
            (state, rest) = (next, rest / 4);
        }
        let ilabel = i32::try_from(rest + 1).unwrap();
        left[state].1.push(CostArc { ilabel, olabel: i32::try_from(word).unwrap(), cost: 0.0, dest: 0 });
    }
    let mut right = vec![];
    for history in 0..=num_words {
        let mut arcs = vec![];
        if history > 0 {
            arcs.push(CostArc { ilabel: 0, olabel: 0, cost: 2.0, dest: 0 });
        }
        for word in (1..=num_words).filter(|word| history == 0 || (word * history) % 7 == 1) {
            let label = i32::try_from(word).unwrap();
            arcs.push(CostArc {
                ilabel: label,
                olabel: label,
                cost: 1.0 + f32::from(u8::try_from(word % 13).unwrap()),
                dest: word,
            });
        }
        right.push((1.5, arcs));
    }
    let transducer = |rows: &[(f32, Vec<CostArc>)]| {
        Transducer::new(Some(0), rows.iter().map(|(end, arcs)| (*end, &arcs[..]))).unwrap()
    };
    (transducer(&left), transducer(&right))
}

#[test]
fn views_on_several_threads_see_the_whole() {
    let (left, right) = words(40);
    let graph = composition(&left, &right, 0);
    let whole = graph.compose(Limits::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_view(&whole, &graph));
        }
    });
    assert!(graph.cached().0 > 0);
}

/// Number of columns, and of frames that arrive at once.
const COLUMNS: usize = 4;
const CHUNK: usize = 5;

/// A decoder in the middle of its rows.
struct Decoding<'a> {
    view: ComposedView,
    decoder: IncrementalDecoder,
    chunks: std::slice::Chunks<'a, f32>,
}

impl<'a> Decoding<'a> {
    fn new(graph: &Composition, rows: &'a [f32]) -> Self {
        let options = IncrementalOptions::default().with_beam(4.0).with_max_active(300).with_lattice_beam(2.0);
        let options = options.with_determinize_max_delay(12).with_determinize_min_chunk_size(6);
        let (mut view, mut decoder) = (graph.view(), IncrementalDecoder::new(options).unwrap());
        decoder.begin(&mut view).unwrap();
        Self { view, decoder, chunks: rows.chunks(CHUNK * COLUMNS) }
    }

    /// Takes a chunk; returns the lattice after the last one.
    fn step(&mut self) -> Option<Lattice> {
        let labels = TransitionLabels::new((0..4).map(|column| (column, 1)));
        if let Some(rows) = self.chunks.next() {
            self.decoder.advance(&mut self.view, &labels, rows, COLUMNS).unwrap();
            return None;
        }
        self.decoder.finish(&mut self.view).unwrap();
        Some(self.decoder.lattice(&mut self.view, &labels, self.decoder.num_frames(), true).unwrap())
    }

    fn whole(&mut self) -> Lattice {
        std::iter::repeat_with(|| self.step()).flatten().next().unwrap()
    }
}

/// Other decoders of the same graph change the numbers of its states, and no bit of a result.
#[test]
fn decoders_of_one_graph_do_not_change_each_other() {
    let (left, right) = words(600);
    let noise = |seed: u32, count: u32| -> Vec<f32> {
        let bits = |i: u32| (i + seed).wrapping_mul(0x9E37_79B9) >> 16;
        (0..count * 4).map(|i| -f32::from(u8::try_from(bits(i) % 200).unwrap()) / 40.0).collect()
    };
    let rows: Vec<_> = (0..4).map(|number| noise(1000 * number, 30 + 10 * number)).collect();
    let fresh = || composition(&left, &right, 0);
    let alone: Vec<_> = rows.iter().map(|rows| Decoding::new(&fresh(), rows).whole()).collect();
    assert!(alone.iter().all(|lattice| lattice.fsas().num_arcs() > 30));

    let graph = fresh();
    let mut decodings: Vec<_> = rows.iter().map(|rows| Decoding::new(&graph, rows)).collect();
    let mut interleaved = vec![None; rows.len()];
    while interleaved.contains(&None) {
        for (decoding, result) in decodings.iter_mut().zip(&mut interleaved).filter(|(_, result)| result.is_none()) {
            *result = decoding.step();
        }
    }
    assert_eq!(interleaved, alone.iter().cloned().map(Some).collect::<Vec<_>>());

    let graph = fresh();
    let on_threads: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = rows.iter().map(|rows| scope.spawn(|| Decoding::new(&graph, rows).whole())).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(on_threads, alone);
}

/// States that go over to a new cache are the same.
#[test]
fn renewed_states_keep_their_arcs() {
    let (left, right) = words(600);
    let graph = composition(&left, &right, 0);
    let mut view = graph.view();
    let mut states = vec![view.start().unwrap().unwrap()];
    let mut renewals = 0;
    for _ in 0..40 {
        let costs = |view: &mut dyn SearchGraph, states: &[u32]| -> Vec<Vec<(i32, i32, u32)>> {
            let of = |arc: &CostArc| (arc.ilabel, arc.olabel, arc.cost.to_bits());
            let row = |&state: &u32| {
                let found = view.arcs(state);
                found.epsilons.iter().chain(found.emitting).map(of).collect()
            };
            states.iter().map(row).collect()
        };
        let before = (costs(&mut view, &states), graph.cached().0);
        view.renew(&mut states).unwrap();
        renewals += usize::from(graph.cached().0 < before.1);
        assert_eq!(costs(&mut view, &states), before.0);
        let mut next: Vec<u32> = Vec::new();
        for &state in &states {
            let found = view.arcs(state);
            next.extend(found.epsilons.iter().chain(found.emitting).map(|arc| arc.dest));
        }
        next.sort_unstable();
        next.dedup();
        next.drain(..next.len().saturating_sub(1000));
        states = next;
    }
    assert!(renewals > 0, "{:?}", graph.cached());
    let (_, bytes) = graph.cached();
    assert!(bytes < 1 << 25, "{bytes}");
}

#[test]
fn wrong_sides_are_refused() {
    let (left, right) = words(3);
    let unsorted = Transducer::new(
        Some(0),
        [(0.0, &[2, 1].map(|label| CostArc { ilabel: label, olabel: label, cost: 0.0, dest: 0 })[..])],
    );
    let unsorted = unsorted.unwrap();
    let problem = |error| match error {
        Error::LookAhead { problem, .. } => problem,
        other => panic!("{other}"),
    };
    assert_eq!(problem(LookAheadGrammar::new(unsorted.clone()).unwrap_err()), LookAheadProblem::UnsortedInput);
    let reach = LookAheadLexicon::with_reach(left, Limits::default()).unwrap().reach().clone();
    assert_eq!(problem(LookAheadLexicon::new(right, reach).unwrap_err()), LookAheadProblem::OtherReach);
    let one = LookAheadLexicon::with_reach(unsorted.clone(), Limits::default()).unwrap().reach().clone();
    assert_eq!(problem(LookAheadLexicon::new(unsorted, one).unwrap_err()), LookAheadProblem::UnsortedOutput);
    let (left, _) = words(300);
    let small = LookAheadLexicon::with_reach(left, Limits::default().with_max_bytes(1000));
    assert!(matches!(small, Err(Error::Limit { limit: 1000, .. })));
}

#[test]
fn a_side_without_states_gives_no_start() {
    let empty = Transducer::new(None, []).unwrap();
    let (left, right) = words(3);
    for (left, right) in [(&empty, &right), (&left, &empty)] {
        let graph = composition(left, right, 0);
        assert_eq!(graph.view().start().unwrap(), None);
        assert_eq!(graph.compose(Limits::default()).unwrap().num_states(), 0);
    }
    let shared: Shared<LookAheadLexicon> = Shared::clone(composition(&left, &right, 0).left());
    assert_eq!(shared.transducer().start(), Some(0));
}
