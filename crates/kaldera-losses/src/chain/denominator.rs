//! Kaldi's denominator: an HMM over the whole language. Its sums are probabilities, scaled in each
//! frame. In each frame it may leak into a state drawn by the initial probabilities.
//!
//! With the initial probabilities `init`, the coefficient `leaky`, and `sum(t)`, the sum of
//! `alpha(t, i)` over all states:
//!
//! ```text
//!   alpha'(t, i) = alpha(t, i) + leaky sum(t) init(i)
//!   alpha(t + 1, j) = Σ over arcs i -> j of alpha'(t, i) p(arc) e^output(t, class) / sum(t)
//!   total = ln Σ alpha'(T, i) + Σ over t < T of ln sum(t)
//! ```

use fsa::{FINAL, Fsa};

use super::state;
use crate::error::Error;

/// Limit of the absolute value of outputs, as in Kaldi.
const LIMIT: f64 = 30.0;
/// Number of frames over which Kaldi averages the distribution of the HMM's states.
const INITIAL_FRAMES: usize = 100;

/// A denominator graph, ready for [`chain_loss`](crate::chain_loss).
///
/// ```
/// use fsa::{Arc, Fsa};
/// use kaldera_losses::ChainDenominator;
///
/// // Two classes, in any order.
/// let graph = Fsa::from_arcs(
///     2,
///     vec![Arc::new(0, 0, 0, -0.7), Arc::new(0, 0, 1, -0.7), Arc::new(0, 1, -1, 0.0)]
/// )?;
/// assert_eq!(ChainDenominator::new(&graph, 2)?.initial_probs(), [1.0, 0.0]);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ChainDenominator {
    arcs: Vec<HmmArc>,
    initial: Vec<f64>,
    num_classes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct HmmArc {
    source: usize,
    dest: usize,
    class: usize,
    prob: f64,
}

impl ChainDenominator {
    /// Creates a denominator from a graph whose labels are classes, counted from 0. Arcs into the
    /// final state are ignored, because a path may end anywhere. The initial probabilities are the
    /// mean of the HMM's state distribution, without outputs, over 100 frames.
    ///
    /// # Errors
    /// [`Error::Label`] for a label that is not a class; [`Error::ArcScore`] for a score whose
    /// exponential overflows; [`Error::Option`] for 0 classes.
    pub fn new(graph: &Fsa, num_classes: usize) -> Result<Self, Error> {
        Error::check_option("num_classes", 0.0, num_classes > 0, "1 or more")?;
        let mut arcs = Vec::with_capacity(graph.num_arcs());
        for (position, arc) in graph.arcs().iter().enumerate().filter(|(_, arc)| arc.label != FINAL) {
            let class = usize::try_from(arc.label).ok().filter(|&class| class < num_classes);
            let class = class.ok_or(Error::Label { sequence: 0, position, label: arc.label, classes: num_classes })?;
            let (source, dest) = (state(arc.src_state), state(arc.dest_state));
            let (score, prob) = (f64::from(arc.score), f64::from(arc.score).exp());
            if !prob.is_finite() {
                return Err(Error::ArcScore { arc: position, score });
            }
            arcs.push(HmmArc { source, dest, class, prob });
        }
        let initial = initial_probs(&arcs, graph.num_states());
        Ok(Self { arcs, initial, num_classes })
    }

    /// Returns the number of classes of the network.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Returns the probability of each state at the start, and after a leak.
    pub fn initial_probs(&self) -> &[f64] {
        &self.initial
    }

    /// Returns the logarithm of the sum over all paths; minus infinity if there is none.
    pub(super) fn total(&self, values: &[f64], leaky: f64) -> f64 {
        self.forward(&exponentials(values), leaky).total
    }

    /// Adds `weight` times the posterior of each class in each frame to `to`. Returns `false` if
    /// there is no path of that length.
    pub(super) fn add_posteriors(&self, values: &[f64], leaky: f64, weight: f64, to: &mut [f64]) -> bool {
        let probs = exponentials(values);
        let forward = self.forward(&probs, leaky);
        if !forward.total.is_finite() {
            return false;
        }
        let num_states = self.initial.len();
        // The derivative of the total by alpha', then by alpha.
        let mut rests = vec![1.0 / forward.end; num_states];
        let classes = self.num_classes.max(1);
        let frames = probs.chunks_exact(classes).zip(to.chunks_exact_mut(classes)).zip(values.chunks_exact(classes));
        for (t, ((probs, to), values)) in frames.enumerate().rev() {
            let leak: f64 = leaky * rests.iter().zip(&self.initial).map(|(rest, init)| rest * init).sum::<f64>();
            rests.iter_mut().for_each(|rest| *rest += leak);
            let (alphas, scale) = (&forward.alphas[t * num_states..][..num_states], 1.0 / forward.sums[t]);
            let mut before = vec![0.0; num_states];
            for arc in &self.arcs {
                let rest = arc.prob * probs[arc.class] * rests[arc.dest] * scale;
                before[arc.source] += rest;
                // An output beyond the limit has no influence.
                if values[arc.class].abs() <= LIMIT {
                    to[arc.class] += weight * alphas[arc.source] * rest;
                }
            }
            rests = before;
        }
        true
    }

    fn forward(&self, probs: &[f64], leaky: f64) -> Forward {
        let num_states = self.initial.len();
        let num_frames = probs.len().checked_div(self.num_classes).unwrap_or(0);
        let mut alphas = vec![0.0; (num_frames + 1) * num_states];
        let (mut sums, mut scale) = (Vec::with_capacity(num_frames), 0.0);
        alphas[..num_states].copy_from_slice(&self.initial);
        let leak = |alphas: &mut [f64]| {
            let sum: f64 = alphas.iter().sum();
            alphas.iter_mut().zip(&self.initial).for_each(|(alpha, init)| *alpha += leaky * sum * init);
            sum
        };
        for (t, probs) in probs.chunks_exact(self.num_classes.max(1)).enumerate() {
            let (before, behind) = alphas.split_at_mut((t + 1) * num_states);
            let before = &mut before[t * num_states..];
            let sum = leak(before);
            if sum == 0.0 {
                // No path reaches this frame.
                return Forward { total: f64::NEG_INFINITY, end: 0.0, alphas, sums };
            }
            for arc in &self.arcs {
                behind[arc.dest] += before[arc.source] * arc.prob * probs[arc.class] / sum;
            }
            sums.push(sum);
            scale += sum.ln();
        }
        let last = &mut alphas[num_frames * num_states..];
        leak(last);
        let end: f64 = last.iter().sum();
        Forward { total: end.ln() + scale, end, alphas, sums }
    }
}

struct Forward {
    total: f64,
    /// Σ alpha'(T, i)
    end: f64,
    /// alpha'
    alphas: Vec<f64>,
    sums: Vec<f64>,
}

fn exponentials(values: &[f64]) -> Vec<f64> {
    let mut probs: Vec<f64> = values.iter().map(|x| x.clamp(-LIMIT, LIMIT)).collect();
    kaldera_base::math::exp_in_place(&mut probs);
    probs
}

fn initial_probs(arcs: &[HmmArc], num_states: usize) -> Vec<f64> {
    let (mut now, mut mean) = (vec![0.0; num_states], vec![0.0; num_states]);
    if let Some(start) = now.first_mut() {
        *start = 1.0;
    }
    let mut leaving = vec![0.0; num_states];
    arcs.iter().for_each(|arc| leaving[arc.source] += arc.prob);
    for _ in 0..INITIAL_FRAMES {
        mean.iter_mut().zip(&now).for_each(|(mean, p)| *mean += p / INITIAL_FRAMES as f64);
        let mut next = vec![0.0; num_states];
        for arc in arcs.iter().filter(|arc| arc.prob > 0.0) {
            next[arc.dest] += now[arc.source] * arc.prob / leaving[arc.source];
        }
        let sum: f64 = next.iter().sum();
        // States without arcs lose their probability.
        if sum == 0.0 {
            break;
        }
        next.iter_mut().for_each(|p| *p /= sum);
        now = next;
    }
    let sum: f64 = mean.iter().sum();
    mean.iter_mut().filter(|_| sum > 0.0).for_each(|p| *p /= sum);
    mean
}
