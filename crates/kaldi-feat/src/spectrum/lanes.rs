//! What is done to vectors of lanes in several places.

use kaldera_base::simd::{MAX_LANES, Simd};

/// How many sums a filter's energy is added up in: sum i is of every sixteenth frequency from the
/// i-th on. Then they are added in halves, as [`Simd::sum`] adds lanes.
pub(crate) const FILTER_SUMS: usize = 16;

/// What is in the first lane.
#[inline(always)]
pub(crate) fn first_lane<S: Simd>(s: S, v: S::F32) -> f32 {
    let mut lanes = [0.0; MAX_LANES];
    s.store(v, &mut lanes);
    lanes[0]
}

/// `map_lanes!(s, numbers, x => y)` replaces all numbers x of a frame by y, which is said for
/// vectors; with one more argument they are written there. Not a function: the closure that it
/// would take can't be told to become part of what is compiled for the instruction set.
macro_rules! map_lanes {
    ($s:expr, $from:expr, $x:ident => $y:expr, $to:expr) => {
        let (from, to): (&[f32], &mut [f32]) = ($from, $to);
        let (mut from, mut to) = (from.chunks_exact(S::LANES), to.chunks_exact_mut(S::LANES));
        for (from, to) in (&mut from).zip(&mut to) {
            let $x = $s.load(from);
            $s.store($y, to);
        }
        let (from, to) = (from.remainder(), to.into_remainder());
        if !to.is_empty() {
            let $x = $s.load_partial(from, $s.splat(1.0));
            $s.store_partial($y, to);
        }
    };
    ($s:expr, $numbers:expr, $x:ident => $y:expr) => {
        let numbers: &mut [f32] = $numbers;
        let mut vectors = numbers.chunks_exact_mut(S::LANES);
        for v in &mut vectors {
            let $x = $s.load(v);
            $s.store($y, v);
        }
        let rest = vectors.into_remainder();
        if !rest.is_empty() {
            let $x = $s.load_partial(rest, $s.splat(1.0));
            $s.store_partial($y, rest);
        }
    };
}
pub(crate) use map_lanes;
