//! The search for the smoothest path through the lags: one step from frame to frame, and the
//! traceback.
//!
//! The cost of ending in lag i, given costs p of the frame before, is its local cost plus
//!
//! ```text
//!   h(i) = min over j of  p(j) + c (i - j)²
//! ```
//!
//! The place of the minimum, b(i), never falls as i grows, since h is a lower envelope of parabolas
//! of one shape. So b is searched for only at the borders of groups of lags, each search within the
//! range that the borders around it leave. Inside a group from border k to border k + 1 only the
//! parabolas j from b(k) to b(k + 1) count, for all its lanes at once. That is twice the number of
//! lags in all; Kaldi's search tightens bounds until they meet. b itself is not kept: the traceback
//! needs it for one lag of each frame, and finds it again from the costs.
//!
//! Near ties are frequent, and rounding decides them. So c n² comes from a table, rounded as Kaldi
//! rounds it, and is added to p(j) in single precision. The lines c i² - 2 c i j + c j² + p(j)
//! would take as long, and one frame in fifty would get another lag than in Kaldi.

use kaldera_base::simd::{MAX_LANES, Simd};

/// Number of lags in a group: two vectors of the widest registers share the loads for each line.
const GROUP: usize = 2 * MAX_LANES;
/// Number of vectors in a group, if they are narrow.
const MAX_VECTORS: usize = GROUP / 8;

/// The costs of moving from lag to lag.
#[derive(Debug)]
pub(super) struct Transitions {
    num_states: usize,
    /// The c of the formula.
    factor: f32,
    /// c n² for n from the first lag minus the last one on, up to the end of whole groups.
    moves: Vec<f32>,
    /// The part of `moves` from each index on, so that no load crosses a cache line.
    windows: Vec<Window>,
    /// The borders between groups, each after the borders to its left and right:
    /// `(left, border, right)`.
    order: Vec<(usize, usize, usize)>,
    num_groups: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Window([f32; MAX_LANES]);

impl Transitions {
    /// Creates the transitions among `num_states` lags, where moving by n of them costs `factor`
    /// n².
    pub(super) fn new(num_states: usize, factor: f32) -> Self {
        let num_groups = num_states.div_ceil(GROUP);
        let mut order = Vec::new();
        let mut spans = vec![(0, num_groups)];
        while !spans.is_empty() {
            let mut halves = Vec::new();
            for (left, right) in spans {
                let border = usize::midpoint(left, right);
                if border > left {
                    order.push((left, border, right));
                    halves.extend([(left, border), (border, right)]);
                }
            }
            spans = halves;
        }
        let far = num_states - 1;
        let cost = |n: usize| (n * n) as f32 * factor;
        let moves: Vec<f32> = (0..far + num_groups * GROUP).map(|at| cost(at.abs_diff(far))).collect();
        let windows = moves.array_windows().copied().map(Window).collect();
        Self { num_states, factor, moves, windows, order, num_groups }
    }

    /// Returns the number of lags.
    pub(super) fn num_states(&self) -> usize {
        self.num_states
    }

    /// Returns the length of a row of costs: whole groups. Costs beyond the last lag are infinite.
    pub(super) fn row_len(&self) -> usize {
        self.num_groups * GROUP
    }

    /// Returns the costs before the first frame, which are 0.
    pub(super) fn start(&self) -> impl Iterator<Item = f32> {
        (0..self.row_len()).map(|i| if i < self.num_states { 0.0 } else { f32::INFINITY })
    }

    /// Writes the costs of a frame minus the lowest of them, and returns the lowest. `local` gives
    /// the local costs of the lags from a multiple of the number of lanes on.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(
        &self,
        s: S,
        scratch: &mut Scratch,
        before: &[f32],
        local: impl Values<S>,
        after: &mut [f32],
    ) -> f32 {
        self.find_borders(s, before, &mut scratch.borders);

        let infinity = s.splat(f32::INFINITY);
        let mut lowest = infinity;
        for (group, ends) in scratch.borders.windows(2).enumerate() {
            let first = group * GROUP;
            // Two minima side by side, of every second previous lag, so that none waits for the one
            // before it.
            let mut best = [[infinity; MAX_VECTORS]; 2];
            let nearest = self.move_to(first, ends[1]);
            let span = ends[1] - ends[0] + 1;
            let [left, right] = [nearest, nearest + MAX_LANES].map(|at| self.windows[at..at + span].as_rchunks::<2>());
            let (costs, last_cost) = before[ends[0]..=ends[1]].as_chunks::<2>();
            for ((left, right), costs) in left.1.iter().zip(right.1).rev().zip(costs) {
                for (from, best) in best.iter_mut().enumerate() {
                    add_moves(s, costs[from], [&left[1 - from], &right[1 - from]], best);
                }
            }
            for ((left, right), &cost) in left.0.iter().zip(right.0).zip(last_cost) {
                add_moves(s, cost, [left, right], &mut best[0]);
            }
            let [even, odd] = &best;
            for ((&even, &odd), i) in even.iter().zip(odd).zip((first..first + GROUP).step_by(S::LANES)) {
                if i >= self.num_states {
                    break;
                }
                let cost = s.add(s.min(even, odd), local.at(s, i));
                s.store(cost, &mut after[i..]);
                if i + S::LANES <= self.num_states {
                    lowest = s.min(cost, lowest);
                }
            }
        }
        after[self.num_states..].fill(f32::INFINITY);
        let whole = self.num_states - self.num_states % S::LANES;
        let lowest = after[whole..self.num_states].iter().copied().fold(min_lane(s, lowest), f32::min);
        let by = s.splat(lowest);
        for costs in after.chunks_exact_mut(S::LANES) {
            s.store(s.sub(s.load(costs), by), costs);
        }
        lowest
    }

    /// Returns the index in `moves` of the cost of moving to lag `to` from lag `from`. After it are
    /// the costs to the lags behind `to`, and to `to` from the lags before `from`.
    #[inline(always)]
    fn move_to(&self, to: usize, from: usize) -> usize {
        self.num_states - 1 + to - from
    }

    /// Finds the lag before the first lag of each group, and before the last lag of all.
    #[inline(always)]
    fn find_borders<S: Simd>(&self, s: S, before: &[f32], borders: &mut Vec<usize>) {
        let last = self.num_states - 1;
        borders.clear();
        borders.resize(self.num_groups + 1, 0);
        borders[0] = self.best_before(s, before, 0, 0, last);
        borders[self.num_groups] = self.best_before(s, before, last, borders[0], last);
        for &(left, border, right) in &self.order {
            borders[border] = self.best_before(s, before, border * GROUP, borders[left], borders[right]);
        }
    }

    /// Returns the lag from `from` to `to` that is the best before lag `i`.
    #[inline(always)]
    fn best_before<S: Simd>(&self, s: S, before: &[f32], i: usize, from: usize, to: usize) -> usize {
        // c n² = c (-n)²
        argmin(s, from, to, Moves { costs: &self.moves[self.num_states - 1 - i..], before })
    }

    /// Returns the lag before lag `i` on its best path, given the costs of the frame before: the
    /// first one if several tie.
    ///
    /// As no cost is below 0, a lag does not count if the move from it costs more than staying at
    /// `i`. The bound leaves room for its own rounding; a `factor` of 0 makes it infinite or not a
    /// number, and then it does not apply.
    #[inline(always)]
    pub(super) fn back<S: Simd>(&self, s: S, before: &[f32], i: usize) -> usize {
        let last = self.num_states - 1;
        let reach = (before[i] / self.factor).sqrt() * 1.001 + 2.0;
        let (from, to) = if reach < last as f32 {
            (i.saturating_sub(reach as usize), last.min(i + reach as usize))
        } else {
            (0, last)
        };
        self.best_before(s, before, i, from, to)
    }

    /// Returns the lag of the lowest cost: the first one if several tie. The lowest cost is 0 as a
    /// rule, which is found soonest as bits.
    #[inline(always)]
    pub(super) fn best_end<S: Simd>(&self, s: S, costs: &[f32]) -> usize {
        for (costs, first) in costs[..self.row_len()].chunks_exact(S::LANES).zip((0..).step_by(S::LANES)) {
            let zeros = !s.not_equal_u32(s.bits_of(s.load(costs)), s.splat_u32(0));
            let lane = zeros.trailing_zeros() as usize;
            if lane < S::LANES {
                return first + lane;
            }
        }
        argmin(s, 0, self.num_states - 1, Costs(costs))
    }
}

/// Takes the moves from one more lag into the minima at the lags of a group.
#[inline(always)]
fn add_moves<S: Simd>(s: S, cost: f32, moves: [&Window; 2], best: &mut [S::F32; MAX_VECTORS]) {
    let cost = s.splat(cost);
    let in_window = MAX_LANES / S::LANES;
    for (window, best) in moves.iter().zip(best.chunks_exact_mut(in_window)) {
        for (moves, best) in window.0.chunks_exact(S::LANES).zip(best) {
            *best = s.min(s.add(s.load(moves), cost), *best);
        }
    }
}

/// Values in lanes. A closure can't be used, as it can't be forced inline into the function that is
/// compiled for the instruction set.
pub(super) trait Values<S: Simd> {
    /// Returns the values from `i` on, a multiple of the number of lanes.
    fn at(&self, s: S, i: usize) -> S::F32;
}

/// The costs of moving to one lag: Kaldi's expression, with its roundings.
struct Moves<'a> {
    costs: &'a [f32],
    before: &'a [f32],
}

impl<S: Simd> Values<S> for Moves<'_> {
    #[inline(always)]
    fn at(&self, s: S, i: usize) -> S::F32 {
        s.add(s.load(&self.costs[i..]), s.load(&self.before[i..]))
    }
}

/// The costs of a frame, unchanged.
struct Costs<'a>(&'a [f32]);

impl<S: Simd> Values<S> for Costs<'_> {
    #[inline(always)]
    fn at(&self, s: S, i: usize) -> S::F32 {
        s.load(&self.0[i..])
    }
}

/// Buffers of [`Transitions::forward`].
#[derive(Debug, Default)]
pub(super) struct Scratch {
    borders: Vec<usize>,
}

/// Returns the first j from `from` to `to` (inclusive) with the lowest value. `values` gives the
/// values from a multiple of the number of lanes on; values outside the range don't count.
#[inline(always)]
fn argmin<S: Simd>(s: S, from: usize, to: usize, values: impl Values<S>) -> usize {
    let lanes = s.i32_to_f32(s.lane_indexes());
    // Two searches side by side, of every second vector, so that none waits for the one before it.
    let (mut best, mut at) = ([s.splat(f32::INFINITY); 2], [s.splat(0.0); 2]);
    let begin = from - from % S::LANES;
    let mut j = begin;
    while j <= to {
        for (best, at) in best.iter_mut().zip(&mut at) {
            if j <= to {
                let value = values.at(s, j);
                *at = s.select_lt(value, *best, s.splat(j as f32), *at);
                *best = s.min(value, *best);
                j += S::LANES;
            }
        }
    }
    let ([best, other], [at, other_at]) = (best, at);
    let first = s.select_lt(best, other, at, s.min(at, other_at));
    let at = s.select_lt(other, best, other_at, first);
    let best = s.min(best, other);
    let lowest = s.splat(min_lane(s, best));
    let found = min_lane(s, s.select_lt(lowest, best, s.splat(f32::INFINITY), s.add(at, lanes)));
    (found as usize).clamp(from, to)
}

#[inline(always)]
fn min_lane<S: Simd>(s: S, v: S::F32) -> f32 {
    -s.max_lane(s.sub(s.splat(0.0), v))
}

#[cfg(test)]
mod tests {
    use kaldera_base::kernel;
    use kaldera_base::simd::dispatch;
    use proptest::prelude::*;

    use super::*;

    fn first_lowest(values: impl Iterator<Item = f32>) -> usize {
        values.enumerate().fold((0, f32::INFINITY), |best, (i, x)| if x < best.1 { (i, x) } else { best }).0
    }

    proptest! {
        /// Costs of few values, so that many are equal, and steps that cost nothing, next to
        /// nothing, or too much.
        #[test]
        fn grouped_search_equals_search_of_all_lags(
            costs in prop::collection::vec(0..40_u16, 1..200),
            unit in prop::sample::select(&[0.05_f32, 0.3, 1e-30, 1e-42][..]),
            factor in prop::sample::select(&[0.0_f32, 1e-45, 1e-40, 1e-31, 2.5e-6, 0.05, 3.0][..]),
            lowest in 0..5_u16,
        ) {
            let n = costs.len();
            let transitions = Transitions::new(n, factor);
            let mut costs: Vec<f32> = costs.iter().map(|&x| f32::from(x.saturating_sub(lowest)) * unit).collect();
            costs.resize(transitions.row_len(), f32::INFINITY);

            // The lag of the lowest cost, and the lag before each lag.
            let (end, backs) = dispatch(kernel!(<'a>(
                s: S,
                transitions: &'a Transitions = &transitions,
                costs: &'a [f32] = &costs,
            ) -> (usize, Vec<usize>) {
                let mut backs = Vec::new();
                for i in 0..transitions.num_states() {
                    backs.push(transitions.back(s, costs, i));
                }
                (transitions.best_end(s, costs), backs)
            }));
            prop_assert_eq!(end, first_lowest(costs.iter().copied()));
            for (i, back) in backs.into_iter().enumerate() {
                let through = |j: usize| (j as f32 - i as f32) * (j as f32 - i as f32) * factor + costs[j];
                prop_assert_eq!(back, first_lowest((0..n).map(through)), "before lag {} of {}", i, n);
            }
        }
    }
}
