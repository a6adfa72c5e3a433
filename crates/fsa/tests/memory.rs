//! Limits hold while lists grow. Alone in its program, as its allocator counts what all threads ask
//! for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsa::k2::{self, WeightPushing};
use fsa::openfst;
use fsa::{Arc, Error, FINAL, Fsa, Graph, Limits};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    // The system moves pages of large memory, and copies nothing.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        PEAK.fetch_max(LIVE.fetch_add(size, Relaxed) + size, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `run` returns, and the most bytes that it holds at once.
fn peak<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = run();
    (result, PEAK.load(Relaxed) - before)
}

/// Arcs among three states with labels 1 to 3 and output labels 1 to 3, and one into the final state.
fn random(seed: u64) -> Graph<Fsa> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        i32::try_from((state >> 16) % bound).unwrap()
    };
    let (mut arcs, mut outputs) = (Vec::new(), Vec::new());
    for source in 0..3 {
        for _ in 0..3 {
            let (dest, label, score) = (next(3), 1 + next(3), next(400));
            arcs.push(Arc::new(source, dest, label, score as f32 / 100.0 - 2.0));
            outputs.push(1 + next(3));
        }
    }
    arcs.push(Arc::new(2, 3, FINAL, 0.0));
    outputs.push(FINAL);
    Graph::new(Fsa::from_arcs(4, arcs).unwrap()).with_aux_labels(outputs).unwrap()
}

#[test]
fn determinization_takes_no_more_than_its_limit() {
    const LIMIT: usize = 3_000_000;
    let limits = Limits::default().with_max_bytes(LIMIT);
    let (mut refused, mut highest) = ([0; 3], 0);
    for seed in 0..80 {
        let graph = random(seed);
        let pushing = [WeightPushing::No, WeightPushing::Tropical, WeightPushing::Log][seed as usize % 3];
        let mut of_k2 = k2::DeterminizeOptions::from(pushing);
        of_k2.limits = limits;
        let of_openfst = openfst::DeterminizeOptions::default().with_limits(limits).with_disambiguate(true);
        let acceptor = Graph::new(graph.fsas().clone());
        let runs: [&dyn Fn() -> Result<usize, Error>; 3] = [
            &|| Ok(k2::determinize(graph.fsas(), of_k2)?.0.num_states()),
            &|| Ok(openfst::determinize(&graph, &of_openfst)?.fsas().num_states()),
            &|| Ok(openfst::determinize(&acceptor, &of_openfst.clone().with_delta(1e-6))?.fsas().num_states()),
        ];
        for (which, (run, refused)) in runs.iter().zip(&mut refused).enumerate() {
            let (result, bytes) = peak(run);
            match result {
                Err(Error::DeterminizeLimit { .. } | Error::Limit { .. }) => *refused += 1,
                Err(Error::NotFunctional { .. }) | Ok(_) => {}
                Err(error) => panic!("{seed}: {error}"),
            }
            // Tables that grow have their old place until they are copied, and the result lies beside them.
            assert!(bytes < LIMIT + LIMIT / 4, "{seed}, {which}: {bytes}");
            highest = highest.max(bytes);
        }
    }
    assert!(refused.iter().all(|&refused| refused > 5), "{refused:?}");
    // A limit that is told is not far above what is used.
    assert!(highest > LIMIT / 3, "{highest}");
}
