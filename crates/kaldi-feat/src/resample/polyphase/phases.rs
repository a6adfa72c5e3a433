//! Weights of each phase, and their products with a signal.
//!
//! ```text
//!              samples of the input, transposed: a row holds those that are `step` apart
//!   lane 0     x[0]      x[1]      x[2] ...          outputs 0, 1, 2 ... of run 0
//!   lane 1     x[step]   x[step+1] ...               the same phases, a run later
//!   ...
//!                 |          |
//!          group of 4 outputs: 4 weights for each row, the same in all lanes
//! ```
//!
//! The lanes are periods of the signal. All of them have the same weights, so that a weight is
//! broadcast, and a row of samples serves the four outputs of a group. Each output is added up from
//! its first sample to its last in its own lane, whatever the others hold.

use kaldera_base::kernel;
use kaldera_base::simd::{Lines, MAX_LANES, Simd, dispatch};

use crate::resample::gcd;
use crate::resample::polyphase::kaiser::Prototype;
use crate::resample::polyphase::ratio::Ratio;

/// Number of outputs that share the loaded rows of samples.
pub(super) const GROUP: usize = 4;

/// Least number of groups that a lane computes. With fewer, most samples that a run reads are also
/// read for the neighbouring runs.
const MIN_RUN: usize = 16;

/// Four successive outputs.
#[derive(Debug, Clone, PartialEq)]
struct Group {
    /// The first sample that one of them needs, in the first period.
    first: isize,
    /// The start of their weights.
    weights: usize,
    /// Number of rows from `first` to the last sample that one of them needs.
    num_rows: usize,
}

/// The weights of all phases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phases {
    /// A period of groups: whole groups, and whole periods of the ratio.
    groups: Vec<Group>,
    /// For each row of a group, the weights of its outputs.
    weights: Vec<[f32; GROUP]>,
    /// Number of input samples in a period.
    period: usize,
}

impl Phases {
    /// Returns the number of groups in a period, and of its input samples.
    fn period(ratio: Ratio) -> (usize, usize) {
        // A ratio's numbers are rates, which have 24 bits.
        let divisor = gcd(GROUP as u32, ratio.output);
        ((ratio.output / divisor) as usize, ratio.input as usize * (GROUP / divisor as usize))
    }

    /// Returns the number of weights that the phases would have.
    pub(super) fn num_weights(ratio: Ratio, num_taps: usize) -> usize {
        let more = ratio.position(GROUP - 1).0.cast_unsigned() + 1;
        Self::period(ratio).0.saturating_mul(GROUP * (num_taps + more))
    }

    pub(super) fn new(ratio: Ratio, prototype: &Prototype) -> Self {
        let (num_groups, period) = Self::period(ratio);
        let num_taps = prototype.num_taps();
        let center = num_taps.cast_signed() / 2 - 1;
        let (mut groups, mut weights) = (Vec::with_capacity(num_groups), Vec::new());
        for group in 0..num_groups {
            let positions: [_; GROUP] = std::array::from_fn(|i| ratio.position(group * GROUP + i));
            let (first, last) = (positions[0].0, positions[GROUP - 1].0);
            let num_rows = (last - first).cast_unsigned() + num_taps;
            groups.push(Group { first: first - center, weights: weights.len(), num_rows });
            weights.extend((0..num_rows).map(|row| {
                positions.map(|(sample, rest)| {
                    let tap = row.checked_sub((sample - first).cast_unsigned()).filter(|&tap| tap < num_taps);
                    tap.map_or(0.0, |tap| prototype.weight(tap, f64::from(rest) / f64::from(ratio.output)) as f32)
                })
            }));
        }
        Self { groups, weights, period }
    }

    /// Returns the first sample that group `i` of a signal needs.
    fn first(&self, i: usize) -> isize {
        let (period, group) = (i / self.groups.len(), i % self.groups.len());
        self.groups[group].first + (period * self.period).cast_signed()
    }

    fn rows_of(&self, i: usize) -> &[[f32; GROUP]] {
        let Group { weights, num_rows, .. } = self.groups[i % self.groups.len()];
        &self.weights[weights..weights + num_rows]
    }

    /// Computes the outputs from group `group` on, in whole groups. `samples[0]` is the sample
    /// number `base` of the signal; all samples that the outputs need are there.
    pub(super) fn products(&self, samples: &[f32], base: isize, group: usize, out: &mut [f32], scratch: &mut Lines) {
        let run = MIN_RUN.next_multiple_of(self.groups.len());
        let job = Job { phases: self, samples, base, group, run };
        dispatch(kernel!(<'a>(s: S, job: Job<'a>, out: &'a mut [f32], scratch: &'a mut Lines) {
            job.run(s, out, scratch);
        }));
    }
}

#[derive(Debug, Clone, Copy)]
struct Job<'a> {
    phases: &'a Phases,
    samples: &'a [f32],
    base: isize,
    /// The first group.
    group: usize,
    /// Number of groups that a lane computes, in whole periods.
    run: usize,
}

impl Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S, mut out: &mut [f32], scratch: &mut Lines) {
        let of_lane = self.run * GROUP;
        while !out.is_empty() {
            let two = out.len() > S::LANES * of_lane;
            let most = if two { 2 * S::LANES } else { S::LANES } * of_lane;
            let (now, later) = out.split_at_mut(most.min(out.len()));
            if two {
                self.block::<S, 2>(s, now, scratch)
            } else {
                self.block::<S, 1>(s, now, scratch)
            };
            self.group += now.len() / GROUP;
            out = later;
        }
    }

    /// Computes the outputs of up to `V` vectors of lanes.
    #[inline(always)]
    fn block<S: Simd, const V: usize>(self, s: S, out: &mut [f32], scratch: &mut Lines) {
        let Self { phases, samples, base, group, run } = self;
        let run_now = run.min(out.len() / GROUP);
        let first = phases.first(group);
        let last = group + run_now - 1;
        let num_rows = (phases.first(last) - first).cast_unsigned() + phases.rows_of(last).len();
        let step = run / phases.groups.len() * phases.period;
        let rows = scratch.vectors(s, num_rows.next_multiple_of(S::LANES) * V);
        // If the outputs end before, the rows of later runs may not be there: zeros stand for them,
        // in lanes whose outputs are not stored.
        let begin = (first - base).cast_unsigned();
        for (i, rows) in rows.chunks_exact_mut(S::LANES * V).enumerate() {
            for v in 0..V {
                let mut square = [s.splat(0.0); MAX_LANES];
                let square = &mut square[..S::LANES];
                for (lane, x) in square.iter_mut().enumerate() {
                    let from = samples.get(begin + (v * S::LANES + lane) * step + i * S::LANES..).unwrap_or_default();
                    *x = if from.len() >= S::LANES { s.load(from) } else { s.load_partial(from, s.splat(0.0)) };
                }
                s.transpose(square);
                for (row, &x) in rows.chunks_exact_mut(V).zip(&*square) {
                    row[v] = x;
                }
            }
        }
        let tile = S::LANES / GROUP;
        for begin in (0..run_now).step_by(tile) {
            let groups = tile.min(run_now - begin);
            let mut sums = [[s.splat(0.0); MAX_LANES]; V];
            for i in 0..groups {
                let at = group + begin + i;
                let weights = phases.rows_of(at);
                let offset = (phases.first(at) - first).cast_unsigned();
                let rows = rows[offset * V..][..weights.len() * V].chunks_exact(V);
                let mut group_sums = [[s.splat(0.0); V]; GROUP];
                for (weights, row) in weights.iter().zip(rows) {
                    for (sums, &weight) in group_sums.iter_mut().zip(weights) {
                        let weight = s.splat(weight);
                        for (sum, &x) in sums.iter_mut().zip(row) {
                            *sum = s.mul_add(x, weight, *sum);
                        }
                    }
                }
                for (v, sums) in sums.iter_mut().enumerate() {
                    for (k, group_sums) in group_sums.iter().enumerate() {
                        sums[i * GROUP + k] = group_sums[v];
                    }
                }
            }
            for (v, square) in sums.iter_mut().enumerate() {
                let square = &mut square[..S::LANES];
                s.transpose(square);
                for (lane, &outputs) in square.iter().enumerate() {
                    let from = ((v * S::LANES + lane) * run + begin) * GROUP;
                    if from < out.len() {
                        let to = out.len().min(from + groups * GROUP);
                        s.store_partial(outputs, &mut out[from..to]);
                    }
                }
            }
        }
    }
}
