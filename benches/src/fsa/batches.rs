//! Batches of FSAs as large as those that k2 was measured on.

use fsa::{Arc, EPSILON, FINAL, Fsa, FsaVec};
use ragged_core::Ragged;

use crate::random::Random;

const LABELS: usize = 100;

/// States and arcs as they are numbered here; none is too large for k2's numbers.
fn id(index: usize) -> i32 {
    i32::try_from(index).expect("a small FSA")
}

/// A score that is better than few.
fn score(random: &mut Random) -> f32 {
    (random.uniform() * -5.0) as f32
}

/// An acyclic FSA whose arcs all go to later states, any of them as likely as any other, so that
/// each state but the last is left by about as many. The last state is the final one. Each state
/// but the last has an arc to the next, so that there are no dead ends.
fn forward(random: &mut Random, num_states: usize, num_arcs: usize, epsilons: f64) -> Vec<Arc> {
    let last = num_states - 1;
    let mut arcs = Vec::with_capacity(num_arcs);
    for state in 0..last {
        let (first, end) = (state * num_arcs / last, (state + 1) * num_arcs / last);
        for i in first..end {
            let dest = if i == first { state + 1 } else { random.between(state + 1, num_states) };
            let label = random.between(1, LABELS + 1);
            let label = match () {
                () if dest == last => FINAL,
                () if random.uniform() < epsilons => EPSILON,
                () => id(label),
            };
            arcs.push(Arc::new(id(state), id(dest), label, score(random)));
        }
    }
    arcs
}

fn batch(num_fsas: usize, mut one: impl FnMut() -> Fsa) -> FsaVec {
    FsaVec::from_fsas(&(0..num_fsas).map(|_| one()).collect::<Vec<_>>()).expect("less than 2^31 arcs")
}

/// 100 FSAs of 2000 states, 1,000,000 arcs together, sorted topologically.
pub fn top_sorted() -> FsaVec {
    let mut random = Random(20_261_101);
    batch(100, || Fsa::from_arcs(2000, forward(&mut random, 2000, 10_000, 0.0)).expect("a valid FSA"))
}

/// 100 FSAs of 2000 states and some 980,000 arcs together: states in a random order, arcs of each
/// state too, and one state in fifty a dead end.
pub fn unsorted() -> FsaVec {
    let mut random = Random(20_261_102);
    batch(100, || {
        let mut arcs = forward(&mut random, 2000, 10_000, 0.0);
        let dead: Vec<_> = (0..2000).map(|state| state > 0 && random.uniform() < 0.02).collect();
        let mut names: Vec<_> = (1..1999).collect();
        random.shuffle(&mut names);
        names.insert(0, 0);
        names.push(1999);
        random.shuffle(&mut arcs);
        arcs.retain(|arc| !dead[arc.src_state as usize]);
        for arc in &mut arcs {
            (arc.src_state, arc.dest_state) = (names[arc.src_state as usize], names[arc.dest_state as usize]);
        }
        arcs.sort_by_key(|arc| arc.src_state);
        Fsa::from_arcs(2000, arcs).expect("a valid FSA")
    })
}

/// 40 FSAs of 1000 states, 200,000 arcs together, sorted topologically; one label in five is
/// epsilon.
pub fn with_epsilons() -> FsaVec {
    let mut random = Random(20_261_103);
    batch(40, || Fsa::from_arcs(1000, forward(&mut random, 1000, 5000, 0.2)).expect("a valid FSA"))
}

/// 20,000 sequences of 8 labels as one FSA that begins with a choice among them: 180,000 arcs.
pub fn word_trie() -> Fsa {
    const WORDS: usize = 20_000;
    const LENGTH: usize = 8;
    let mut random = Random(20_261_104);
    let last = 1 + WORDS * LENGTH;
    let mut label = || id(random.between(1, 122));
    let first: Vec<_> = (0..WORDS).map(|word| Arc::new(0, id(1 + word * LENGTH), label(), 0.0)).collect();
    let mut arcs = first;
    for state in 1..last {
        let ends = (state - 1) % LENGTH == LENGTH - 1;
        let (dest, label) = if ends { (last, FINAL) } else { (state + 1, label()) };
        arcs.push(Arc::new(id(state), id(dest), label, 0.0));
    }
    Fsa::from_arcs(last + 1, arcs).expect("a valid FSA")
}

/// 64 sequences of 60 tokens from 1 to 499.
pub fn symbols() -> Ragged<i32> {
    let mut random = Random(20_261_105);
    let lists: Vec<Vec<i32>> = (0..64).map(|_| (0..60).map(|_| id(random.between(1, 500))).collect()).collect();
    Ragged::from_lists(&lists).expect("small lists")
}

/// An acyclic FSA of 2500 states and a final one, 20,000 arcs, of which each goes at most ten
/// states on; one label in ten is epsilon.
pub fn lattice() -> Fsa {
    const STATES: usize = 2501;
    let mut random = Random(20_261_107);
    let last = STATES - 1;
    let arcs = (0..last).flat_map(|state| (0..8).map(move |i| (state, i)));
    let arcs = arcs.map(|(state, i)| {
        let dest = if i == 0 { state + 1 } else { random.between(state + 1, STATES.min(state + 11)) };
        let label = if random.uniform() < 0.1 { EPSILON } else { id(random.between(1, LABELS + 1)) };
        Arc::new(id(state), id(dest), if dest == last { FINAL } else { label }, score(&mut random))
    });
    Fsa::from_arcs(STATES, arcs.collect::<Vec<_>>()).expect("a valid FSA")
}
