//! Loops over one FSA that compute the scores of its states and their gradients.
//!
//! Passes from the end to the start find the arcs of a state consecutively. Passes from the start
//! to the end first copy the other end and the score of each arc, grouped by the state that it
//! enters: a counting sort of eight bytes for each arc, which costs less than reading the arcs in
//! place.

use std::ops::Range;

use kaldera_base::Real;
use kaldera_base::kernel;
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::core::arc::Arc;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::adjacency::Grouped;

/// Returns the score of a state that cannot be reached; below all others.
#[inline]
pub(super) fn none<T: Real>() -> T {
    -T::INFINITY
}

/// Returns the score of an arc as this type.
#[inline]
pub(super) fn real<T: Real>(score: f32) -> T {
    T::from_f64(f64::from(score))
}

/// Returns an error with the first arc that does not go to a later state.
#[cold]
fn not_top_sorted(fsa: usize, view: FsaView<'_>) -> Error {
    let wrong = view.arcs().iter().position(|arc| arc.dest_state <= arc.src_state).unwrap_or_default();
    let Arc { src_state, dest_state, .. } = view.arcs()[wrong];
    Error::NotTopSorted { fsa, arc: wrong, src_state, dest_state }
}

/// Checks that all arcs of an FSA go to later states.
pub(super) fn check_order(fsa: usize, view: FsaView<'_>) -> Result<(), Error> {
    let back = view.arcs().iter().fold(false, |back, arc| back | (arc.dest_state <= arc.src_state));
    if back { Err(not_top_sorted(fsa, view)) } else { Ok(()) }
}

/// Returns an error if a score is plus infinity, which means that T overflowed.
fn check_range<T: Real>(fsa: usize, scores: &[T]) -> Result<(), Error> {
    if scores.contains(&T::INFINITY) { Err(Error::Overflow { fsa }) } else { Ok(()) }
}

/// The arcs on one side of each state.
trait Side {
    /// Returns the range of the arcs of a state.
    fn range(&self, state: usize) -> Range<usize>;
    /// Returns the state at the other end of an arc, and its score.
    fn get(&self, i: usize) -> (usize, f32);
    /// Returns the largest number of arcs of a state.
    fn most(&self, num_states: usize) -> usize {
        (0..num_states).map(|state| self.range(state).len()).max().unwrap_or(0)
    }
}

/// The arcs that leave a state.
impl Side for FsaView<'_> {
    #[inline(always)]
    fn range(&self, state: usize) -> Range<usize> {
        self.arc_range(state)
    }

    #[inline(always)]
    fn get(&self, i: usize) -> (usize, f32) {
        let arc = &self.arcs()[i];
        (arc.states().1, arc.score)
    }
}

/// The arcs that enter a state: the states that they leave, and their scores.
impl Side for Grouped<(u32, f32)> {
    #[inline(always)]
    fn range(&self, state: usize) -> Range<usize> {
        Grouped::range(self, state)
    }

    #[inline(always)]
    fn get(&self, i: usize) -> (usize, f32) {
        let (state, score) = self.order()[i];
        (state as usize, score)
    }
}

/// Computes for each of `states` in turn the logarithm of the sum over its arcs.
struct LogSums<'a, T, A, I> {
    side: &'a A,
    states: I,
    scores: &'a mut [T],
}

impl<T: Real, A: Side, I: Iterator<Item = usize>> Kernel for LogSums<'_, T, A, I> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { side, states, scores } = self;
        let mut terms = padded::<T, S>(side.most(scores.len()));
        for state in states {
            let arcs = side.range(state);
            let count = arcs.len();
            let mut most = none::<T>();
            for (term, i) in terms.iter_mut().zip(arcs) {
                let (other, score) = side.get(i);
                *term = scores[other] + real(score);
                if *term > most {
                    most = *term;
                }
            }
            if count > 1 && most.is_finite() {
                most += exp_sum(s, &mut terms, count, most).ln();
            }
            scores[state] = most;
        }
    }
}

/// Allocates memory for `count` numbers in whole vectors.
#[inline(always)]
fn padded<T: Real, S: Simd>(count: usize) -> Vec<T> {
    vec![none(); count.next_multiple_of(T::Lanes::<S>::LANES)]
}

/// Returns Σ e^(x - `most`) of the first `count` terms. The lanes after them are overwritten.
#[inline(always)]
fn exp_sum<T: Real, S: Simd>(s: S, terms: &mut [T], count: usize, most: T) -> T {
    let s = T::lanes(s);
    let lanes = T::Lanes::<S>::LANES;
    let whole = count.next_multiple_of(lanes);
    terms[count..whole].fill(none());
    let most = s.splat(most);
    let mut sum = s.splat(T::ZERO);
    for terms in terms[..whole].chunks_exact(lanes) {
        sum = s.add(sum, T::exp_lanes::<S>(s, s.sub(s.load(terms), most)));
    }
    s.sum(sum)
}

/// Computes e^x of the first `count` terms, in place. The lanes after them are overwritten.
#[inline(always)]
fn exp_all<T: Real, S: Simd>(s: S, terms: &mut [T], count: usize) {
    let s = T::lanes(s);
    let lanes = T::Lanes::<S>::LANES;
    for terms in terms[..count.next_multiple_of(lanes)].chunks_exact_mut(lanes) {
        s.store(T::exp_lanes::<S>(s, s.load(terms)), terms);
    }
}

/// Computes the logarithm of the sum over all paths from the start to each state.
///
/// # Errors
/// [`Error::NotTopSorted`], [`Error::Overflow`].
pub(super) fn forward_log<T: Real>(fsa: usize, view: FsaView<'_>, scores: &mut [T]) -> Result<(), Error> {
    check_order(fsa, view)?;
    let arcs = view.arcs().iter().map(|arc| (arc.states().1, (arc.src_state.cast_unsigned(), arc.score)));
    let entering = Grouped::group(view.num_states(), arcs);
    if let Some(start) = scores.first_mut() {
        *start = T::ZERO;
        dispatch(LogSums { side: &entering, states: 1..scores.len(), scores });
    }
    check_range(fsa, scores)
}

/// Computes the logarithm of the sum over all paths from each state to the final one.
///
/// # Errors
/// [`Error::NotTopSorted`], [`Error::Overflow`].
pub(super) fn backward_log<T: Real>(fsa: usize, view: FsaView<'_>, scores: &mut [T]) -> Result<(), Error> {
    check_order(fsa, view)?;
    if let Some(last) = scores.last_mut() {
        *last = T::ZERO;
        dispatch(LogSums { side: &view, states: (0..scores.len() - 1).rev(), scores });
    }
    check_range(fsa, scores)
}

/// Computes the score of the best path from the start to each state, and its last arc; -1 if there
/// is none. Of several best arcs it is the last one.
///
/// # Errors
/// [`Error::NotTopSorted`], [`Error::Overflow`].
pub(super) fn forward_best<T: Real>(
    fsa: usize,
    view: FsaView<'_>,
    scores: &mut [T],
    last_arcs: &mut [i32],
) -> Result<(), Error> {
    scores.fill(none());
    last_arcs.fill(-1);
    if let Some(start) = scores.first_mut() {
        *start = T::ZERO;
    }
    let (mut back, mut arc) = (false, 0);
    for state in 0..view.num_states() {
        let before = scores[state];
        for it in view.arcs_of(state) {
            let (_, dest) = it.states();
            back |= dest <= state;
            let score = before + real(it.score);
            let better = score >= scores[dest] && score > none();
            scores[dest] = if better { score } else { scores[dest] };
            last_arcs[dest] = if better { arc } else { last_arcs[dest] };
            arc += 1;
        }
    }
    if back {
        return Err(not_top_sorted(fsa, view));
    }
    check_range(fsa, scores)
}

/// Computes the score of the best path from each state to the final one.
///
/// # Errors
/// [`Error::NotTopSorted`], [`Error::Overflow`].
pub(super) fn backward_best<T: Real>(fsa: usize, view: FsaView<'_>, scores: &mut [T]) -> Result<(), Error> {
    let Some(last) = scores.len().checked_sub(1) else { return Ok(()) };
    scores[last] = T::ZERO;
    let mut back = false;
    for state in (0..last).rev() {
        let mut best = none::<T>();
        for arc in view.arcs_of(state) {
            let (_, dest) = arc.states();
            back |= dest <= state;
            let score = scores[dest] + real(arc.score);
            best = if score > best { score } else { best };
        }
        scores[state] = best;
    }
    if back {
        return Err(not_top_sorted(fsa, view));
    }
    check_range(fsa, scores)
}

/// Returns the first arc of the best path from a state with that score to the final one, if there
/// is one. Of several it is the last one.
pub(super) fn best_leaving<T: Real>(view: FsaView<'_>, state: usize, scores: &[T]) -> Option<usize> {
    if scores[state] == none() {
        return None;
    }
    let mut arcs = view.arc_range(state).rev();
    arcs.find(|&i| {
        let arc = &view.arcs()[i];
        scores[arc.states().1] + real(arc.score) == scores[state]
    })
}

/// Computes the gradient of [`forward_log`]: from the gradient of states, `grads`, which is
/// modified, the gradient of arcs.
pub(super) fn forward_log_grad<T: Real>(view: FsaView<'_>, scores: &[T], grads: &mut [T], to: &mut [T]) {
    // Gradient of [`forward_log`]'s scores with respect to arcs; `grads` is the gradient of the
    // states and is modified.
    dispatch(kernel!(<'a, T: Real>(s: S, view: FsaView<'a>, scores: &'a [T], grads: &'a mut [T], to: &'a mut [T]) {
        let mut shares = padded::<T, S>(view.most(scores.len()));
        for state in (0..scores.len()).rev() {
            let range = view.arc_range(state);
            let (arcs, to) = (&view.arcs()[range.clone()], &mut to[range]);
            if scores[state] == none() {
                to.fill(T::ZERO);
                continue;
            }
            // The arc's share of the total that enters the destination.
            for (share, arc) in shares.iter_mut().zip(arcs) {
                let all = scores[arc.states().1];
                *share = if all == none() { all } else { scores[state] + real(arc.score) - all };
            }
            exp_all(s, &mut shares, arcs.len());
            let mut sum = grads[state];
            for ((to, &share), arc) in to.iter_mut().zip(&shares).zip(arcs) {
                *to = grads[arc.states().1] * share;
                sum += *to;
            }
            grads[state] = sum;
        }
    }));
}

/// Computes the gradient of [`backward_log`]: from the gradient of states, `grads`, which is
/// modified, the gradient of arcs.
pub(super) fn backward_log_grad<T: Real>(view: FsaView<'_>, scores: &[T], grads: &mut [T], to: &mut [T]) {
    // Gradient of [`backward_log`]'s scores with respect to arcs; `grads` is the gradient of the
    // states and is modified.
    dispatch(kernel!(<'a, T: Real>(s: S, view: FsaView<'a>, scores: &'a [T], grads: &'a mut [T], to: &'a mut [T]) {
        let mut shares = padded::<T, S>(view.most(scores.len()));
        for state in 0..scores.len() {
            let range = view.arc_range(state);
            let (arcs, to) = (&view.arcs()[range.clone()], &mut to[range]);
            let grad = grads[state];
            if scores[state] == none() || grad == T::ZERO {
                to.fill(T::ZERO);
                continue;
            }
            // The arc's share of the total that leaves the state.
            for (share, arc) in shares.iter_mut().zip(arcs) {
                *share = real::<T>(arc.score) + scores[arc.states().1] - scores[state];
            }
            exp_all(s, &mut shares, arcs.len());
            for ((to, &share), arc) in to.iter_mut().zip(&shares).zip(arcs) {
                *to = grad * share;
                grads[arc.states().1] += *to;
            }
        }
    }));
}

/// Computes the gradient of [`forward_best`]: from the gradient of states, `grads`, which is
/// modified, the gradient of arcs. The whole gradient of a state goes to its best entering arc.
pub(super) fn forward_best_grad<T: Real>(view: FsaView<'_>, last_arcs: &[i32], grads: &mut [T], to: &mut [T]) {
    to.fill(T::ZERO);
    for state in (0..grads.len()).rev() {
        if let Ok(arc) = usize::try_from(last_arcs[state]) {
            to[arc] = grads[state];
            grads[view.arcs()[arc].states().0] += to[arc];
        }
    }
}

/// Computes the gradient of [`backward_best`]: from the gradient of states, `grads`, which is
/// modified, the gradient of arcs. The whole gradient of a state goes to its best leaving arc.
pub(super) fn backward_best_grad<T: Real>(view: FsaView<'_>, scores: &[T], grads: &mut [T], to: &mut [T]) {
    to.fill(T::ZERO);
    for state in 0..grads.len() {
        if let Some(arc) = best_leaving(view, state, scores) {
            to[arc] = grads[state];
            grads[view.arcs()[arc].states().1] += to[arc];
        }
    }
}
