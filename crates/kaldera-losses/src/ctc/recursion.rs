//! Sums over all alignments of labels with frames.
//!
//! A state is the k-th blank, before label k, or label k itself. In probabilities p, with `skip[k]`
//! equal to 1 if label k differs from the label before it, and 0 otherwise:
//!
//! ```text
//!   blank'[k] = (blank[k] + label[k - 1]) p[blank]
//!   label'[k] = (label[k] + blank[k] + skip[k] label[k - 1]) p[label k]
//! ```
//!
//! The sums of a long sequence are far outside the range of `f64`, and so are the quotients of two
//! sums of a frame. So each sum has an exponent of its own, in a second `f64`: see [`Wide`].

use std::f64::consts::{LN_2, LOG2_E};

use kaldera_base::math::double::{exp, parts, power_of_2, round};
use kaldera_base::math::log_add;
use kaldera_base::memory;
use kaldera_base::simd::{Doubles, Kernel, Lanes, Simd, dispatch};

/// The exponent of 0, below all others, whose sums stay finite.
const NONE: f64 = -1e305;
/// The lowest logarithm of a probability above 0. Lower ones count as this one.
const LOWEST: f64 = -1e290;
/// From here on, each number is an integer.
const INTEGERS: f64 = -4_503_599_627_370_496.0;
/// A term with an exponent so much below another one changes no bit of their sum.
const FAR: f64 = -1000.0;

/// Returns the smallest number of frames that the labels need.
pub(super) fn frames_needed(labels: &[i32]) -> usize {
    labels.len() + labels.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// Returns the log-probability of the labels, given the log-probabilities of blank and labels,
/// `[frame][1 + label]`; -inf if there is no alignment.
pub(super) fn total(emissions: &[f64], labels: &[i32]) -> f64 {
    if emissions.len() / (labels.len() + 1) < frames_needed(labels) {
        return f64::NEG_INFINITY;
    }
    Forward::new(emissions, labels, Keep::Last).total
}

/// Returns the posteriors of blank and labels in each frame, `[frame][1 + label]`. There must be an
/// alignment.
pub(super) fn posteriors(mut emissions: Vec<f64>, labels: &[i32]) -> Vec<f64> {
    let forward = Forward::new(&emissions, labels, Keep::All);
    dispatch(BackwardKernel { forward: &forward, skips: &skips(labels), rows: &mut emissions });
    emissions
}

/// Numbers with exponents of their own: `part` times 2 to the power `exponent`, where `part` is at
/// least 1 and less than 2, or 0 with the exponent [`NONE`].
#[derive(Clone, Copy)]
struct Wide<V> {
    part: V,
    exponent: V,
}

/// Returns e to the power `x`, which is at most 0.
#[inline(always)]
fn wide_exp<D: Doubles>(s: D, x: D::Vector) -> Wide<D::Vector> {
    let finite = s.max(x, s.splat(LOWEST));
    let n = s.mul(finite, s.splat(LOG2_E));
    let n = s.select_lt(n, s.splat(INTEGERS), n, round(s, n));
    // With the rounding of such a large number, the rest may be anything.
    let bound = s.splat(LN_2);
    let rest = s.max(s.sub(s.splat(0.0), bound), s.min(bound, s.neg_mul_add(n, s.splat(LN_2), finite)));
    let found = normal(s, exp(s, rest), n);
    let infinity = s.splat(f64::NEG_INFINITY);
    Wide {
        part: s.select_lt(infinity, x, found.part, s.splat(0.0)),
        exponent: s.select_lt(infinity, x, found.exponent, s.splat(NONE)),
    }
}

/// Returns `part`, which is 0 or from 2^-1022 on, times 2 to the power `exponent`.
#[inline(always)]
fn normal<D: Doubles>(s: D, part: D::Vector, exponent: D::Vector) -> Wide<D::Vector> {
    let (normal, own) = parts(s, part);
    let zero = s.splat(0.0);
    Wide {
        part: s.select_lt(zero, part, normal, zero),
        exponent: s.select_lt(zero, part, s.add(exponent, own), s.splat(NONE)),
    }
}

/// Returns the sum of numbers, whose part may be greater.
#[inline(always)]
fn sum<D: Doubles, const N: usize>(s: D, terms: [Wide<D::Vector>; N]) -> Wide<D::Vector> {
    let mut highest = s.splat(NONE);
    for term in &terms {
        highest = s.max(term.exponent, highest);
    }
    let mut part = s.splat(0.0);
    for term in &terms {
        let below = s.max(s.sub(term.exponent, highest), s.splat(FAR));
        part = s.mul_add(term.part, power_of_2(s, below), part);
    }
    Wide { part, exponent: highest }
}

/// Returns a product.
#[inline(always)]
fn product<D: Doubles>(s: D, a: Wide<D::Vector>, b: Wide<D::Vector>) -> Wide<D::Vector> {
    normal(s, s.mul(a.part, b.part), s.add(a.exponent, b.exponent))
}

/// Returns the product of three numbers, which is at most about 1.
#[inline(always)]
fn posterior<D: Doubles>(s: D, a: Wide<D::Vector>, b: Wide<D::Vector>, share: Wide<D::Vector>) -> D::Vector {
    let exponent = s.add(s.add(a.exponent, b.exponent), share.exponent);
    let exponent = s.max(s.splat(FAR), s.min(s.splat(-FAR), exponent));
    s.mul(s.mul(s.mul(a.part, b.part), share.part), power_of_2(s, exponent))
}

/// Returns the numbers of the lanes with `skip` 1, and otherwise 0.
#[inline(always)]
fn if_skipped<D: Doubles>(s: D, skip: D::Vector, a: Wide<D::Vector>) -> Wide<D::Vector> {
    let half = s.splat(0.5);
    Wide {
        part: s.select_lt(half, skip, a.part, s.splat(0.0)),
        exponent: s.select_lt(half, skip, a.exponent, s.splat(NONE)),
    }
}

/// Numbers in memory: parts, then exponents.
struct Row<'a> {
    parts: &'a [f64],
    exponents: &'a [f64],
}

impl<'a> Row<'a> {
    /// Divides a row of states into blanks and labels.
    #[inline(always)]
    fn pair(row: &'a [f64], width: usize) -> [Self; 2] {
        let (parts, exponents) = row.split_at(2 * width);
        let ([a, b], [c, d]) = ([&parts[..width], &parts[width..]], [&exponents[..width], &exponents[width..]]);
        [Self { parts: a, exponents: c }, Self { parts: b, exponents: d }]
    }

    /// Loads the lanes from `k` on; behind the end they are 0.
    #[inline(always)]
    fn load<D: Doubles>(&self, s: D, k: usize) -> Wide<D::Vector> {
        Wide {
            part: s.load_partial(&self.parts[k..], s.splat(0.0)),
            exponent: s.load_partial(&self.exponents[k..], s.splat(NONE)),
        }
    }
}

/// A row of states: parts of blanks, parts of labels, and the exponents of both.
fn no_states(width: usize) -> Vec<f64> {
    let mut row = vec![0.0; 4 * width];
    row[2 * width..].fill(NONE);
    row
}

/// Stores the lanes of blanks (`of` 0) or labels (`of` 1) from `k` up to `end` in a row of states.
#[inline(always)]
fn store<D: Doubles>(s: D, a: Wide<D::Vector>, row: &mut [f64], of: usize, [k, end]: [usize; 2]) {
    let (parts, exponents) = row.split_at_mut(row.len() / 2);
    let width = parts.len() / 2;
    s.store_partial(a.part, &mut parts[of * width + k..of * width + end]);
    s.store_partial(a.exponent, &mut exponents[of * width + k..of * width + end]);
}

/// Frames whose sums are kept.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    All,
    Last,
}

/// Sums over the frames from the start on.
struct Forward {
    width: usize,
    /// `[1 + frame]`, or the last two of them: states as [`no_states`] has them. The first label is
    /// none, and label k is the next one.
    sums: Vec<f64>,
    total: f64,
}

impl Forward {
    fn new(emissions: &[f64], labels: &[i32], keep: Keep) -> Self {
        let width = labels.len() + 1;
        let frames = emissions.len() / width;
        let rows = if keep == Keep::All { frames + 1 } else { 2 };
        let mut sums = memory::zeros(rows * 4 * width);
        // Before the first frame, the first blank has all probability.
        sums[..4 * width].copy_from_slice(&no_states(width));
        (sums[0], sums[2 * width]) = (1.0, 0.0);
        dispatch(ForwardKernel { emissions, skips: &skips(labels), width, sums: &mut sums });
        let last = &sums[frames % rows * 4 * width..][..4 * width];
        let [blanks, labels] = [width - 1, 2 * width - 1].map(|at| last[at].ln() + last[2 * width + at] * LN_2);
        Self { width, sums, total: log_add(blanks, labels) }
    }
}

/// Returns 1 for a label that differs from the one before it; 0 for the first, and after the last.
fn skips(labels: &[i32]) -> Vec<f64> {
    let differs = labels.windows(2).map(|pair| if pair[0] == pair[1] { 0.0 } else { 1.0 });
    [0.0].into_iter().chain(differs).chain((!labels.is_empty()).then_some(0.0)).collect()
}

struct ForwardKernel<'a> {
    emissions: &'a [f64],
    skips: &'a [f64],
    width: usize,
    sums: &'a mut [f64],
}

impl Kernel for ForwardKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { emissions, skips, width, sums } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let rows = sums.len() / (4 * width);
        for (frame, emissions) in emissions.chunks_exact(width).enumerate() {
            let row = |at: usize| at % rows * 4 * width..(at % rows + 1) * 4 * width;
            let [before, to] = sums.get_disjoint_mut([row(frame), row(frame + 1)]).expect("two rows or more");
            let [blanks, labels] = Row::pair(before, width);
            // The first label is none.
            (to[width], to[3 * width]) = (0.0, NONE);
            let blank = wide_exp(s, s.splat(emissions[0]));
            for k in (0..width).step_by(lanes) {
                let found = sum(s, [blanks.load(s, k), labels.load(s, k)]);
                store(s, product(s, found, blank), to, 0, [k, width]);
            }
            for k in (0..width - 1).step_by(lanes) {
                let skip = s.load_partial(&skips[k..], s.splat(0.0));
                let found = sum(s, [labels.load(s, k + 1), blanks.load(s, k), if_skipped(s, skip, labels.load(s, k))]);
                let emission = wide_exp(s, s.load_partial(&emissions[k + 1..], s.splat(f64::NEG_INFINITY)));
                store(s, product(s, found, emission), to, 1, [k + 1, width]);
            }
        }
    }
}

/// Computes the posteriors, in the buffer of the emissions.
struct BackwardKernel<'a> {
    forward: &'a Forward,
    skips: &'a [f64],
    rows: &'a mut [f64],
}

impl Kernel for BackwardKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { forward: &Forward { width, ref sums, total }, skips, rows } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let total = wide_exp(s, s.splat(total));
        let share = Wide { part: s.div(s.splat(1.0), total.part), exponent: s.sub(s.splat(0.0), total.exponent) };
        // Sums from each state of the next frame to the end, times its probability: blanks, then
        // labels and none.
        let mut behind = no_states(width);
        (behind[width - 1], behind[3 * width - 1]) = (1.0, 0.0);
        let frames = sums[4 * width..].chunks_exact(4 * width).zip(rows.chunks_exact_mut(width));
        for (sums, row) in frames.rev() {
            let [of_blanks, of_labels] = Row::pair(sums, width);
            let blank = wide_exp(s, s.splat(row[0]));
            let mut in_blanks = s.splat(0.0);
            for k in (0..width).step_by(lanes) {
                let [blanks, labels] = Row::pair(&behind, width);
                let (here, label) = (blanks.load(s, k), labels.load(s, k));
                let from_blank = sum(s, [here, label]);
                in_blanks = s.add(in_blanks, posterior(s, of_blanks.load(s, k), from_blank, share));
                if k < width - 1 {
                    let skip = s.load_partial(&skips[k + 1..], s.splat(0.0));
                    let next = if_skipped(s, skip, labels.load(s, k + 1));
                    let from_label = sum(s, [label, blanks.load(s, k + 1), next]);
                    let emission = wide_exp(s, s.load_partial(&row[k + 1..], s.splat(f64::NEG_INFINITY)));
                    s.store_partial(posterior(s, of_labels.load(s, k + 1), from_label, share), &mut row[k + 1..]);
                    store(s, product(s, from_label, emission), &mut behind, 1, [k, width - 1]);
                }
                store(s, product(s, from_blank, blank), &mut behind, 0, [k, width]);
            }
            row[0] = s.sum(in_blanks);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Differences of sums in logarithms and of wide numbers, relative to the total.
    const ROUNDING: f64 = 1e-10;

    /// The recursion in logarithms, one state after the other: the total, and posteriors.
    fn in_logs(emissions: &[f64], labels: &[i32]) -> (f64, Vec<f64>) {
        let width = labels.len() + 1;
        let states = 2 * labels.len() + 1;
        let column = |state: usize| if state.is_multiple_of(2) { 0 } else { state / 2 + 1 };
        let skips = |to: usize| to % 2 == 1 && to > 1 && labels[to / 2] != labels[to / 2 - 1];
        let frames: Vec<&[f64]> = emissions.chunks_exact(width).collect();
        let mut start = vec![f64::NEG_INFINITY; states];
        start[0] = 0.0;
        let mut forward = vec![];
        for (t, frame) in frames.iter().enumerate() {
            let sums = (0..states).map(|to| {
                let before = |from: usize| match t {
                    // The first frame begins in the first blank or the first label.
                    0 => {
                        if from == 0 {
                            0.0
                        } else {
                            f64::NEG_INFINITY
                        }
                    }
                    _ => forward[(t - 1) * states + from],
                };
                let mut sum = before(to);
                if to > 0 {
                    sum = log_add(sum, before(to - 1));
                }
                if skips(to) {
                    sum = log_add(sum, before(to - 2));
                }
                sum + frame[column(to)]
            });
            let sums: Vec<f64> = sums.collect();
            forward.extend(sums);
        }
        let mut behind = vec![f64::NEG_INFINITY; states];
        behind[states - 1] = 0.0;
        if states > 1 {
            behind[states - 2] = 0.0;
        }
        let last = forward.rchunks_exact(states).next().unwrap_or(&start);
        let total = last.iter().zip(&behind).fold(f64::NEG_INFINITY, |sum, (a, b)| log_add(sum, a + b));
        let mut posteriors = vec![0.0; emissions.len()];
        for t in (0..frames.len()).rev() {
            for state in 0..states {
                posteriors[t * width + column(state)] += (forward[t * states + state] + behind[state] - total).exp();
            }
            let with: Vec<f64> = (0..states).map(|state| behind[state] + frames[t][column(state)]).collect();
            behind = (0..states)
                .map(|from| {
                    let mut sum = with[from];
                    for to in [from + 1, from + 2] {
                        if to < states && (to == from + 1 || skips(to)) {
                            sum = log_add(sum, with[to]);
                        }
                    }
                    sum
                })
                .collect();
        }
        (total, posteriors)
    }

    fn compare(emissions: &[f64], labels: &[i32]) {
        let (expected, by_state) = in_logs(emissions, labels);
        let found = total(emissions, labels);
        let tolerance = ROUNDING * expected.abs().max(1.0);
        assert!((found - expected).abs() <= tolerance || found == expected, "{found} {expected}");
        if expected.is_finite() {
            for (a, b) in posteriors(emissions.to_vec(), labels).iter().zip(by_state) {
                assert!((a - b).abs() <= tolerance, "{a} {b}");
            }
        }
    }

    /// As in a network before training: scaled sums of one frame are too far apart for `f64`.
    #[test]
    fn long_sequences_lose_nothing() {
        let labels: Vec<i32> = (0..120).map(|i| 1 + i % 7).collect();
        let width = labels.len() + 1;
        let emissions: Vec<f64> = (0..900 * width).map(|i| -6.0 + 2.0 * (i as f64 * 12.9898).sin()).collect();
        compare(&emissions, &labels);
    }

    #[test]
    fn probabilities_may_be_very_small() {
        for least in [-710.0, -1e4, -1e9, -1e17, -3e38] {
            compare(&[-0.1, least], &[1]);
            compare(&[least, least, least, -0.5], &[1]);
            compare(&[-0.1, least, -0.2, least - 1.0], &[1]);
        }
        compare(&[-0.1, f64::NEG_INFINITY, -0.2, -1.0], &[1]);
        assert_eq!(total(&[-0.1, f64::NEG_INFINITY], &[1]), f64::NEG_INFINITY);
        assert_eq!((total(&[], &[]), total(&[-1.5], &[])), (0.0, -1.5));
    }

    proptest! {
        #[test]
        fn sums_equal_those_in_logarithms(
            labels in prop::collection::vec(1_i32..4, 0..40), more in 0_usize..20,
            values in prop::collection::vec(prop_oneof![9 => -3.0_f64..-0.1, 1 => -900.0..-600.0], 97),
        ) {
            let frames = frames_needed(&labels) + more;
            let emissions: Vec<f64> = values.iter().copied().cycle().take(frames * (labels.len() + 1)).collect();
            compare(&emissions, &labels);
        }
    }
}
