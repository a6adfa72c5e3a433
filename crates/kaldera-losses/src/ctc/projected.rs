//! CTC from a network's last hidden states and the projection to classes, for large vocabularies.
//! The logits of all frames are never in memory at once.

use std::ops::Range;

use kaldera_base::gemm::{Operand, gemm_fused};
use kaldera_base::{Real, memory, par};
use ragged_core::Ragged;

use super::{CtcOptions, Targets, class, recursion};
use crate::batch::{Batch, num_classes};
use crate::error::Error;
use crate::reduction::Reduced;
use crate::rows::{Norm, norms, softmax};

/// Number of frames whose logits are in memory at once.
const CHUNK: usize = 128;
/// Number of multiplications that is worth a separate task.
const TASK: usize = 1 << 20;

/// A linear layer from hidden states to classes: `logits = weight state + bias`.
#[derive(Debug, Clone, Copy)]
pub struct Projection<'a, T> {
    /// `[classes, dimension]`, as in PyTorch's `nn.Linear`.
    pub weight: &'a [T],
    /// `[classes]`.
    pub bias: &'a [T],
}

/// The gradient of a [`Projection`], with the same shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionGradient<T> {
    /// By the weight.
    pub weight: Vec<T>,
    /// By the bias.
    pub bias: Vec<T>,
}

/// Computes [`ctc_loss`](super::ctc_loss) of `projection(states)`, with the logits of only 128
/// frames in memory at once, in the forward and in the backward pass. With 10,000 classes a batch
/// of 8,000 frames takes 5 MB instead of twice 320.
///
/// For each frame, the normalizer and the log-probabilities of its sequence's labels are kept. The
/// products are divided among threads by classes and frames, with the same result.
///
/// # Errors
/// As [`ctc_loss`](super::ctc_loss); [`Error::Count`] for a projection of other sizes.
pub fn ctc_loss_projected<'a, T: Real, B: Batch<T>>(
    states: &B,
    projection: Projection<'a, T>,
    labels: &Ragged<i32>,
    options: &CtcOptions,
) -> Result<(Vec<f64>, ProjectedCtcSaved<'a, T, B>), Error> {
    let (rows, dim, classes) = (states.rows()?, num_classes(states), projection.bias.len());
    Error::check_option("the width of the states", dim as f64, dim > 0, "1 or more")?;
    Error::check("the weights of the projection", classes.saturating_mul(dim), projection.weight.len())?;
    let targets = Targets::new(labels, rows.len(), classes, options.blank)?;
    let (mut emissions, mut all_norms) = (Vec::new(), Vec::new());
    let mut logits = Vec::new();
    for (sequence, rows) in rows.iter().enumerate() {
        let (mut of_sequence, mut norms_of_sequence) = (Vec::new(), Vec::new());
        for chunk in chunks(rows) {
            let values = &states.values()[chunk.start * dim..chunk.end * dim];
            projection.logits(values, dim, &mut logits);
            let found = norms(sequence, &logits, classes, options.allow_nan)
                .map_err(|error| error.behind(chunk.start - rows.start))?;
            targets.emissions(sequence, &logits, &found, &mut of_sequence);
            norms_of_sequence.extend(found);
        }
        emissions.push(of_sequence);
        all_norms.push(norms_of_sequence);
    }
    let work = emissions.iter().enumerate().collect();
    let total = |(sequence, emissions): (usize, &Vec<f64>)| match all_norms[sequence].iter().any(Norm::is_nan) {
        true => f64::NAN,
        false => recursion::total(emissions, targets.row(sequence)),
    };
    let totals = par::map(work, total);
    let frames: Vec<usize> = rows.iter().map(Range::len).collect();
    let (loss, reduced) = targets.reduce(&totals, &frames, options)?;
    let saved = ProjectedCtcSaved {
        states: states.clone(),
        projection,
        targets,
        rows,
        emissions,
        norms: all_norms,
        totals,
        reduced,
    };
    Ok((loss, saved))
}

/// Values that the gradient of [`ctc_loss_projected`] needs.
#[derive(Debug, Clone)]
pub struct ProjectedCtcSaved<'a, T, B> {
    states: B,
    projection: Projection<'a, T>,
    targets: Targets,
    rows: Vec<Range<usize>>,
    emissions: Vec<Vec<f64>>,
    norms: Vec<Vec<Norm<T>>>,
    totals: Vec<f64>,
    reduced: Reduced,
}

impl<T: Real, B: Batch<T>> ProjectedCtcSaved<'_, T, B> {
    /// Returns the derivatives by the states and by the projection, given the derivative by each
    /// loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<(B, ProjectionGradient<T>), Error> {
        let grads = self.reduced.backward(grad)?;
        let (dim, classes) = (num_classes(&self.states), self.projection.bias.len());
        let is_used = |sequence: usize| grads[sequence] != 0.0 && self.totals[sequence] != f64::NEG_INFINITY;
        let is_finite = |sequence: usize| is_used(sequence) && self.totals[sequence].is_finite();
        let posteriors = par::map((0..self.rows.len()).collect(), |sequence| match is_finite(sequence) {
            true => recursion::posteriors(self.emissions[sequence].clone(), self.targets.row(sequence)),
            false => Vec::new(),
        });
        let mut by_states: Vec<T> = memory::zeros(self.states.values().len());
        let mut by_weight: Vec<T> = memory::zeros(self.projection.weight.len());
        let mut by_bias = vec![T::ZERO; classes];
        let (mut logits, mut by_logits) = (Vec::new(), Vec::new());
        for (sequence, rows) in self.rows.iter().enumerate().filter(|&(sequence, _)| is_used(sequence)) {
            let (grad, labels) = (grads[sequence], self.targets.row(sequence));
            if self.totals[sequence].is_nan() {
                let nan = T::from_f64(f64::NAN);
                by_states[rows.start * dim..rows.end * dim].fill(nan);
                by_weight.fill(nan);
                by_bias.fill(nan);
                continue;
            }
            for chunk in chunks(rows) {
                let states = &self.states.values()[chunk.start * dim..chunk.end * dim];
                let frames = chunk.start - rows.start..chunk.end - rows.start;
                self.projection.logits(states, dim, &mut logits);
                by_logits.clear();
                by_logits.resize(logits.len(), T::ZERO);
                let norms = &self.norms[sequence][frames.clone()];
                softmax(&logits, classes, norms, &vec![grad; norms.len()], &mut by_logits);
                let width = labels.len() + 1;
                let posteriors = &posteriors[sequence][frames.start * width..frames.end * width];
                for (to, row) in by_logits.chunks_exact_mut(classes).zip(posteriors.chunks_exact(width)) {
                    to[self.targets.blank] -= T::from_f64(grad * row[0]);
                    for (&label, posterior) in labels.iter().zip(&row[1..]) {
                        to[class(label)] -= T::from_f64(grad * posterior);
                    }
                    by_bias.iter_mut().zip(&*to).for_each(|(sum, &x)| *sum += x);
                }
                self.projection.states_gradient(&by_logits, &mut by_states[chunk.start * dim..chunk.end * dim]);
                add_weight_gradient(&by_logits, states, dim, &mut by_weight);
            }
        }
        let projection = ProjectionGradient { weight: by_weight, bias: by_bias };
        Ok((self.states.with_values(by_states)?, projection))
    }
}

impl<T: Real> Projection<'_, T> {
    /// Computes the logits of some states, `[frame][class]`.
    fn logits(&self, states: &[T], dim: usize, to: &mut Vec<T>) {
        let classes = self.bias.len();
        let frames = states.len().checked_div(dim).unwrap_or(0);
        to.clear();
        (0..frames).for_each(|_| to.extend(self.bias));
        // Divided by frames, which have separate sums.
        let parts = par::num_parts(frames * classes * dim.max(1), TASK);
        let each = frames.div_ceil(parts).max(1);
        let work = to.chunks_mut((each * classes).max(1)).zip(states.chunks((each * dim).max(1))).collect();
        par::for_each(work, |(to, states): (&mut [T], &[T])| {
            let weight = Operand { data: self.weight, row_step: 1, col_step: dim };
            let frames = states.len() / dim.max(1);
            gemm_fused(frames, classes, dim, T::ONE, rows_of(states, dim), weight, T::ONE, to, classes);
        });
    }

    /// Computes the derivative by the states, given the derivative by the logits.
    fn states_gradient(&self, by_logits: &[T], to: &mut [T]) {
        let classes = self.bias.len();
        let frames = by_logits.len().checked_div(classes).unwrap_or(0);
        let dim = to.len().checked_div(frames).unwrap_or(0);
        let parts = par::num_parts(frames * classes * dim.max(1), TASK);
        let each = frames.div_ceil(parts).max(1);
        let work = to.chunks_mut((each * dim).max(1)).zip(by_logits.chunks((each * classes).max(1))).collect();
        par::for_each(work, |(to, by_logits): (&mut [T], &[T])| {
            let frames = by_logits.len() / classes.max(1);
            gemm_fused(
                frames,
                dim,
                classes,
                T::ONE,
                rows_of(by_logits, classes),
                rows_of(self.weight, dim),
                T::ZERO,
                to,
                dim,
            );
        });
    }
}

/// Adds the derivative by the weight. Its rows, the classes, are divided among threads.
fn add_weight_gradient<T: Real>(by_logits: &[T], states: &[T], dim: usize, to: &mut [T]) {
    let frames = states.len().checked_div(dim).unwrap_or(0);
    let classes = by_logits.len().checked_div(frames).unwrap_or(0);
    let parts = par::num_parts(frames * classes * dim.max(1), TASK);
    let each = classes.div_ceil(parts).max(1);
    par::for_each(to.chunks_mut((each * dim).max(1)).enumerate().collect(), |(part, to): (usize, &mut [T])| {
        let by_logits = Operand { data: &by_logits[part * each..], row_step: 1, col_step: classes };
        gemm_fused(to.len() / dim, dim, frames, T::ONE, by_logits, rows_of(states, dim), T::ONE, to, dim);
    });
}

/// Returns an operand for a matrix in C order.
fn rows_of<T>(data: &[T], width: usize) -> Operand<'_, T> {
    Operand { data, row_step: width, col_step: 1 }
}

fn chunks(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = rows.end;
    rows.clone().step_by(CHUNK).map(move |start| start..(start + CHUNK).min(end))
}
