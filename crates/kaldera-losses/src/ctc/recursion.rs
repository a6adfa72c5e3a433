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
//! Each frame is divided by the sum of the frame before, so that the numbers stay near 1. Values
//! below 1e-308 of that sum are lost. `forward` and `backward` detect if this can be more than
//! rounding, and then `in_logs` computes the result again.

use kaldera_base::math::exp_in_place;
use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

/// In a frame whose smallest sum is above this share of the total, nothing underflows.
const SAFE: f64 = 1e-200;
/// With log-probabilities below this, it still may.
const LN_SAFE: f64 = -230.0;
/// A value that underflows is below 1e-308 of the frame before, and continues with a probability of
/// at most 1. If e^-600 of that frame reaches the end, the value is far below 1e-16 of the total.
const LN_REACHES: f64 = -600.0;
/// Largest difference between the totals of two frames, relative to their logarithm.
const ROUNDING: f64 = 1e-10;

/// Returns the smallest number of frames that the labels need.
pub(super) fn frames_needed(labels: &[i32]) -> usize {
    labels.len() + labels.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// Returns the log-probability of the labels, given the log-probabilities of blank and labels,
/// `[frame][1 + label]`; -inf if there is no alignment. `emissions` computes them again if the
/// first ones are used up.
pub(super) fn total(first: Vec<f64>, labels: &[i32], emissions: impl FnOnce() -> Vec<f64>) -> f64 {
    let frames = first.len() / (labels.len() + 1);
    if frames < frames_needed(labels) {
        return f64::NEG_INFINITY;
    }
    match forward(first, labels, Keep::Last) {
        Some(forward) => forward.total,
        None => in_logs::Trellis::new(&emissions(), labels).total(),
    }
}

/// Returns the posteriors of blank and labels in each frame, `[frame][1 + label]`. There must be an
/// alignment.
pub(super) fn posteriors(labels: &[i32], total: f64, emissions: impl Fn() -> Vec<f64>) -> Vec<f64> {
    let found = forward(emissions(), labels, Keep::All).and_then(|forward| backward(forward, labels, total));
    found.unwrap_or_else(|| in_logs::Trellis::new(&emissions(), labels).posteriors())
}

/// Frames whose sums are kept.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    All,
    Last,
}

/// Sums over the frames from the start on.
struct Forward {
    /// Probabilities `[frame][1 + label]`.
    probs: Vec<f64>,
    /// `[1 + frame]`, or the last two of them: blanks 0..=n, then a zero and labels 0..n.
    sums: Vec<f64>,
    /// Logarithm of the factor for the sums of each frame.
    scales: Vec<f64>,
    total: f64,
}

/// Returns 1 for a label that differs from the one before it; 0 for the first, and after the last.
fn skips(labels: &[i32]) -> Vec<f64> {
    let differs = labels.windows(2).map(|pair| if pair[0] == pair[1] { 0.0 } else { 1.0 });
    [0.0].into_iter().chain(differs).chain((!labels.is_empty()).then_some(0.0)).collect()
}

/// Returns `None` if a part of the sum may be lost or, with `Keep::All`, only if all of it is.
fn forward(emissions: Vec<f64>, labels: &[i32], keep: Keep) -> Option<Forward> {
    let width = labels.len() + 1;
    // Without a short circuit the compiler can vectorize it.
    let is_deep = emissions.iter().fold(false, |is_deep, &x| is_deep | ((x < LN_SAFE) & (x > f64::NEG_INFINITY)));
    let mut probs = emissions;
    exp_in_place(&mut probs);
    let frames = probs.len() / width;
    let rows = if keep == Keep::All { frames + 1 } else { 2 };
    let (mut sums, mut scales) = (memory::zeros(rows * 2 * width), vec![0.0; frames]);
    // Before the first frame, the first blank has all probability.
    sums[0] = 1.0;
    let kernel = ForwardKernel { probs: &probs, skips: &skips(labels), width, sums: &mut sums, scales: &mut scales };
    let lossy = dispatch(kernel);
    let last = &sums[frames % rows * 2 * width..][..2 * width];
    let total = (last[width - 1] + last[2 * width - 1]).ln() + scales.last().unwrap_or(&0.0);
    let lossy = if is_deep { 0.0 } else { lossy };
    // With `Keep::All`, `backward` compares each frame with a total in which nothing is lost.
    let is_whole = keep == Keep::All || total - lossy > LN_REACHES;
    (total.is_finite() && is_whole).then_some(Forward { probs, sums, scales, total })
}

struct ForwardKernel<'a> {
    probs: &'a [f64],
    skips: &'a [f64],
    width: usize,
    sums: &'a mut [f64],
    scales: &'a mut [f64],
}

impl Kernel for ForwardKernel<'_> {
    /// The highest scale of a frame in which values may be lost.
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { probs, skips, width, sums, scales } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let (zero, large) = (s.splat(0.0), s.splat(f64::MAX));
        let rows = sums.len() / (2 * width);
        let (mut scale, mut factor, mut lossy) = (0.0, 1.0, f64::NEG_INFINITY);
        for (frame, (probs, kept)) in probs.chunks_exact(width).zip(scales).enumerate() {
            let row = |at: usize| at % rows * 2 * width..(at % rows + 1) * 2 * width;
            let [before, to] = sums.get_disjoint_mut([row(frame), row(frame + 1)]).expect("two rows or more");
            let (blanks, after) = before.split_at(width);
            let (to_blanks, to_labels) = to.split_at_mut(width);
            let (mut sum, mut least) = (zero, large);
            let blank = s.splat(probs[0] * factor);
            let factors = s.splat(factor);
            for k in (0..width).step_by(lanes) {
                let [b, l] = [&blanks[k..], &after[k..]].map(|x| s.load_partial(x, zero));
                let to = s.mul(s.add(b, l), blank);
                (sum, least) = (s.add(sum, to), s.min(least, s.select_le(to, zero, large, to)));
                s.store_partial(to, &mut to_blanks[k..]);
            }
            for k in (0..width - 1).step_by(lanes) {
                let [stay, from_blank, from_label] =
                    [&after[k + 1..], &blanks[k..width - 1], &after[k..width - 1]].map(|x| s.load_partial(x, zero));
                let from = s.mul_add(s.load_partial(&skips[k..width - 1], zero), from_label, s.add(stay, from_blank));
                let to = s.mul(s.mul(from, factors), s.load_partial(&probs[k + 1..], zero));
                (sum, least) = (s.add(sum, to), s.min(least, s.select_le(to, zero, large, to)));
                s.store_partial(to, &mut to_labels[k + 1..]);
            }
            *kept = scale;
            let sum = s.sum(sum);
            if -s.max_lane(s.sub(zero, least)) < SAFE * sum {
                lossy = f64::max(lossy, scale);
            }
            factor = 1.0 / sum;
            scale += sum.ln();
        }
        lossy
    }
}

/// Computes the posteriors, in the buffer of the probabilities. Returns `None` if values were lost.
fn backward(mut forward: Forward, labels: &[i32], total: f64) -> Option<Vec<f64>> {
    let width = labels.len() + 1;
    dispatch(BackwardKernel { forward: &mut forward, skips: &skips(labels), width, total }).then_some(forward.probs)
}

struct BackwardKernel<'a> {
    forward: &'a mut Forward,
    skips: &'a [f64],
    width: usize,
    total: f64,
}

impl Kernel for BackwardKernel<'_> {
    /// `true` if all frames have the same total.
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> bool {
        let Self { forward: Forward { probs, sums, scales, .. }, skips, width, total } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let zero = s.splat(0.0);
        // Sums from each state of the next frame to the end, times its probability: blanks, then
        // labels and a zero.
        let (mut blanks, mut after) = (vec![0.0; width], vec![0.0; width]);
        blanks[width - 1] = 1.0;
        let (mut scale, mut sum_behind) = (0.0, 1.0_f64);
        let frames = sums[2 * width..].chunks_exact(2 * width).zip(probs.chunks_exact_mut(width)).zip(scales);
        for ((sums, row), forward_scale) in frames.rev() {
            let (of_blanks, of_labels) = sums.split_at(width);
            let (mut in_blanks, mut in_labels, mut sum) = (zero, zero, zero);
            let factor = 1.0 / sum_behind;
            let (blank, factors) = (s.splat(row[0] * factor), s.splat(factor));
            for k in (0..width).step_by(lanes) {
                let [b, l] = [&blanks[k..], &after[k..]].map(|x| s.load_partial(x, zero));
                let from_blank = s.add(b, l);
                in_blanks = s.mul_add(from_blank, s.load_partial(&of_blanks[k..], zero), in_blanks);
                if k < width - 1 {
                    let [next_blank, next_label, skip] =
                        [&blanks[k + 1..], &after[k + 1..], &skips[k + 1..]].map(|x| s.load_partial(x, zero));
                    let from_label = s.mul_add(skip, next_label, s.add(l, next_blank));
                    let posterior = s.mul(from_label, s.load_partial(&of_labels[k + 1..], zero));
                    in_labels = s.add(in_labels, posterior);
                    let l = s.mul(s.mul(from_label, factors), s.load_partial(&row[k + 1..], zero));
                    s.store_partial(posterior, &mut row[k + 1..]);
                    sum = s.add(sum, l);
                    s.store_partial(l, &mut after[k..width - 1]);
                }
                let b = s.mul(from_blank, blank);
                sum = s.add(sum, b);
                s.store_partial(b, &mut blanks[k..]);
            }
            row[0] = s.sum(in_blanks);
            let of_frame = row[0] + s.sum(in_labels);
            let found = of_frame.ln() + *forward_scale + scale;
            // Lost values are missing in the total of their frame. The inverse of a total that is
            // not a normal number may be infinite.
            let is_whole = of_frame.is_normal() && (found - total).abs() <= ROUNDING * total.abs().max(1.0);
            if !is_whole {
                return false;
            }
            let share = 1.0 / of_frame;
            row.iter_mut().for_each(|posterior| *posterior *= share);
            scale += sum_behind.ln();
            sum_behind = s.sum(sum);
        }
        true
    }
}

/// The same recursion in logarithms, which loses nothing.
mod in_logs {
    use kaldera_base::math::double::{exp, ln};
    use kaldera_base::math::log_add;
    use kaldera_base::memory;
    use kaldera_base::simd::{Doubles, Kernel, Lanes, Simd, dispatch};

    use super::skips;

    pub(super) struct Trellis<'a> {
        emissions: &'a [f64],
        skips: Vec<f64>,
        width: usize,
        /// `[frame]`: blanks 0..=n, then minus infinity and labels 0..n.
        sums: Vec<f64>,
    }

    impl<'a> Trellis<'a> {
        pub(super) fn new(emissions: &'a [f64], labels: &[i32]) -> Self {
            let width = labels.len() + 1;
            let skips: Vec<f64> = skips(labels).into_iter().map(f64::ln).collect();
            let mut sums = memory::with_capacity(emissions.len() * 2);
            sums.resize(emissions.len() * 2, f64::NEG_INFINITY);
            dispatch(Forward { emissions, skips: &skips, width, sums: &mut sums });
            Self { emissions, skips, width, sums }
        }

        pub(super) fn total(&self) -> f64 {
            let Some(last) = self.sums.rchunks_exact(2 * self.width).next() else { return 0.0 };
            log_add(last[self.width - 1], last[2 * self.width - 1])
        }

        pub(super) fn posteriors(&self) -> Vec<f64> {
            let mut posteriors = vec![0.0; self.emissions.len()];
            dispatch(Backward { trellis: self, total: self.total(), posteriors: &mut posteriors });
            posteriors
        }
    }

    /// Computes the logarithm of a sum of exponentials.
    #[inline(always)]
    fn log_sum<D: Doubles, const N: usize>(s: D, terms: [D::Vector; N]) -> D::Vector {
        let none = s.splat(f64::NEG_INFINITY);
        // Loops, because closures of this size may not be inlined into the kernel.
        let (mut highest, mut sum) = (none, s.splat(0.0));
        for term in terms {
            highest = s.max(term, highest);
        }
        for term in terms {
            sum = s.add(sum, exp(s, s.sub(term, highest)));
        }
        // If all terms are -inf, their differences are NaN, and the sum is -inf.
        s.select_lt(none, highest, s.add(highest, ln(s, sum)), none)
    }

    /// Returns the share of all paths that pass through a state.
    #[inline(always)]
    fn posterior<D: Doubles>(s: D, sum: D::Vector, rest: D::Vector, total: D::Vector) -> D::Vector {
        exp(s, s.sub(s.add(sum, rest), total))
    }

    struct Forward<'a> {
        emissions: &'a [f64],
        skips: &'a [f64],
        width: usize,
        sums: &'a mut [f64],
    }

    impl Kernel for Forward<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self { emissions, skips, width, sums } = self;
            let s = s.doubles();
            let lanes = <S::Doubles as Lanes<f64>>::LANES;
            let none = s.splat(f64::NEG_INFINITY);
            let mut start = vec![f64::NEG_INFINITY; 2 * width];
            start[0] = 0.0;
            let mut before: &[f64] = &start;
            for (to, emissions) in sums.chunks_exact_mut(2 * width).zip(emissions.chunks_exact(width)) {
                let (blanks, after) = before.split_at(width);
                let (to_blanks, to_labels) = to.split_at_mut(width);
                let blank = s.splat(emissions[0]);
                for k in (0..width).step_by(lanes) {
                    let terms = [&blanks[k..], &after[k..]].map(|x| s.load_partial(x, none));
                    s.store_partial(s.add(log_sum(s, terms), blank), &mut to_blanks[k..]);
                }
                for k in (0..width - 1).step_by(lanes) {
                    let [stay, from_blank, from_label, skip, emission] = [
                        &after[k + 1..],
                        &blanks[k..width - 1],
                        &after[k..width - 1],
                        &skips[k..],
                        &emissions[k + 1..],
                    ]
                    .map(|x| s.load_partial(x, none));
                    let sum = log_sum(s, [stay, from_blank, s.add(from_label, skip)]);
                    s.store_partial(s.add(sum, emission), &mut to_labels[k + 1..]);
                }
                before = to;
            }
        }
    }

    struct Backward<'a> {
        trellis: &'a Trellis<'a>,
        total: f64,
        posteriors: &'a mut [f64],
    }

    impl Kernel for Backward<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self { trellis: Trellis { emissions, skips, width, sums }, total, posteriors } = self;
            let (s, width) = (s.doubles(), *width);
            let lanes = <S::Doubles as Lanes<f64>>::LANES;
            let (none, total) = (s.splat(f64::NEG_INFINITY), s.splat(total));
            // Sums from each state of the next frame to the end, its emission included: blanks,
            // then labels and minus infinity.
            let (mut blanks, mut labels) = (vec![f64::NEG_INFINITY; width], vec![f64::NEG_INFINITY; width]);
            blanks[width - 1] = 0.0;
            let frames = sums.chunks_exact(2 * width).zip(emissions.chunks_exact(width));
            for ((sums, emissions), to) in frames.zip(posteriors.chunks_exact_mut(width)).rev() {
                let (of_blanks, of_labels) = sums.split_at(width);
                let (blank, mut in_blanks) = (s.splat(emissions[0]), s.splat(0.0));
                for k in (0..width).step_by(lanes) {
                    let [of_blank, b, l] =
                        [&of_blanks[k..], &blanks[k..], &labels[k..]].map(|x| s.load_partial(x, none));
                    let from_blank = log_sum(s, [b, l]);
                    in_blanks = s.add(in_blanks, posterior(s, of_blank, from_blank, total));
                    if k < width - 1 {
                        let [next_blank, next_label, skip, of_label, emission] = [
                            &blanks[k + 1..],
                            &labels[k + 1..],
                            &skips[k + 1..],
                            &of_labels[k + 1..],
                            &emissions[k + 1..],
                        ]
                        .map(|x| s.load_partial(x, none));
                        let from_label = log_sum(s, [l, next_blank, s.add(skip, next_label)]);
                        s.store_partial(posterior(s, of_label, from_label, total), &mut to[k + 1..]);
                        s.store_partial(s.add(from_label, emission), &mut labels[k..width - 1]);
                    }
                    s.store_partial(s.add(from_blank, blank), &mut blanks[k..]);
                }
                to[0] = s.sum(in_blanks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As in a network before training: too long for the forward pass to be sure of its sum.
    #[test]
    fn posteriors_of_long_sequences_equal_those_in_logarithms() {
        let labels: Vec<i32> = (0..120).map(|i| 1 + i % 7).collect();
        let width = labels.len() + 1;
        let emissions: Vec<f64> = (0..900 * width).map(|i| -6.0 + 2.0 * (i as f64 * 12.9898).sin()).collect();
        assert!(forward(emissions.clone(), &labels, Keep::Last).is_none());
        let trellis = in_logs::Trellis::new(&emissions, &labels);
        let scaled = forward(emissions.clone(), &labels, Keep::All).expect("the total is finite");
        let posteriors = backward(scaled, &labels, trellis.total()).expect("nothing is lost");
        for (a, b) in posteriors.iter().zip(trellis.posteriors()) {
            assert!((a - b).abs() <= 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn posteriors_are_finite_where_the_sum_of_a_frame_is_subnormal() {
        let emissions = vec![-0.1, -710.0];
        let total = total(emissions.clone(), &[1], || emissions.clone());
        assert_eq!(posteriors(&[1], total, || emissions.clone()), [0.0, 1.0]);
    }

    proptest! {
        #[test]
        fn sums_in_logarithms_equal_those_of_scaled_probabilities(
            labels in prop::collection::vec(1_i32..4, 0..40), more in 0_usize..20,
            values in prop::collection::vec(-3.0_f64..-0.1, 97),
        ) {
            let width = labels.len() + 1;
            let frames = frames_needed(&labels) + more;
            let emissions: Vec<f64> = values.iter().copied().cycle().take(frames * width).collect();
            let scaled = forward(emissions.clone(), &labels, Keep::All).expect("nothing underflows");
            let total = scaled.total;
            prop_assert_eq!(forward(emissions.clone(), &labels, Keep::Last).map(|forward| forward.total), Some(total));
            let posteriors = backward(scaled, &labels, total).expect("nothing underflows");
            let trellis = in_logs::Trellis::new(&emissions, &labels);
            let tolerance = ROUNDING * total.abs().max(1.0);
            prop_assert!((trellis.total() - total).abs() <= tolerance, "{} {}", trellis.total(), total);
            for (a, b) in posteriors.iter().zip(trellis.posteriors()) {
                prop_assert!((a - b).abs() <= tolerance, "{a} {b}");
            }
        }
    }
}
