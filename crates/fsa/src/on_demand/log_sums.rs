//! Sums of the probabilities of a state's arcs, as OpenFst's accumulator gives them.

use std::ops::Range;

use crate::support::ids::{NONE, narrow, number};

/// States with so many arcs have sums computed beforehand, one for each [`PERIOD`] arcs.
const LEAST_ARCS: usize = 20;
const PERIOD: usize = 10;

/// Sums computed beforehand: minus the logarithm of the sum of the probabilities of a state's arcs
/// from the first one on.
///
/// Results are rounded to single precision after each step where OpenFst's are
/// (`FastLogAccumulator`): the costs of a composition depend on it.
#[derive(Debug)]
pub(super) struct LogSums {
    /// Index of the first sum of each state, [`NONE`] for states with few arcs.
    first: Vec<u32>,
    sums: Vec<f64>,
}

impl LogSums {
    /// Computes the sums of states by the ends of their arcs, and the costs of all arcs. O(arcs).
    pub(super) fn new(ends: &[u32], costs: &[f32]) -> Self {
        let (mut first, mut sums) = (Vec::with_capacity(ends.len()), Vec::new());
        let mut begin = 0;
        for &end in ends {
            let costs = &costs[begin as usize..end as usize];
            begin = end;
            if costs.len() < LEAST_ARCS {
                first.push(NONE);
                continue;
            }
            first.push(number(sums.len()));
            let mut sum = f64::INFINITY;
            sums.push(sum);
            for block in costs.chunks_exact(PERIOD) {
                for &cost in block {
                    sum = plus(sum, cost.into());
                }
                sums.push(sum);
            }
        }
        sums.shrink_to_fit();
        Self { first, sums }
    }

    /// Adds a range of the costs of a state's arcs, which are `costs`, to a sum.
    pub(super) fn add(&self, sum: f32, state: u32, costs: &[f32], range: Range<usize>) -> f32 {
        let add_all = |sum: f32, costs: &[f32]| costs.iter().fold(sum, |sum, &cost| add_costs(sum, cost));
        let first = self.first[state as usize];
        if first == NONE {
            return add_all(sum, &costs[range]);
        }
        let (begin, end) = (range.start.div_ceil(PERIOD), range.end / PERIOD);
        let (stored, stored_end) = (begin * PERIOD, end * PERIOD);
        let mut sum = if range.start < stored { add_all(sum, &costs[range.start..stored.min(range.end)]) } else { sum };
        if stored < stored_end {
            let of = |block: usize| self.sums[first as usize + block];
            if of(end) < of(begin) {
                sum = add_costs(sum, minus(of(end), of(begin)));
            }
        }
        if stored_end < range.end {
            sum = add_all(sum, &costs[stored.max(stored_end).min(range.end)..range.end]);
        }
        sum
    }

    pub(super) fn bytes(&self) -> usize {
        self.first.capacity() * size_of::<u32>() + self.sums.capacity() * size_of::<f64>()
    }
}

/// Returns the logarithm of `1 + e^-x`.
fn log_of_one_and(x: f64) -> f64 {
    if x == f64::INFINITY { 0.0 } else { (1.0 + (-x).exp()).ln() }
}

fn plus(a: f64, b: f64) -> f64 {
    match (a == f64::INFINITY, a > b) {
        (true, _) => b,
        (_, true) => b - log_of_one_and(a - b),
        _ => a - log_of_one_and(b - a),
    }
}

/// Returns minus the logarithm of the sum of the probabilities of two costs.
pub(super) fn add_costs(a: f32, b: f32) -> f32 {
    if a == f32::INFINITY { b } else { narrow(plus(a.into(), b.into())) }
}

/// Returns minus the logarithm of the difference of the probabilities of two costs, `a < b`.
fn minus(a: f64, b: f64) -> f32 {
    narrow(if b == f64::INFINITY { a } else { a - (1.0 - (a - b).exp()).ln() })
}
