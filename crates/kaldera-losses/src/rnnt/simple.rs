//! RNN-T over the sum of an encoder's and a decoder's logits: a joiner that needs no memory, whose
//! normalizers are one matrix product. The smoothed loss mixes the sum with the scores of each
//! part.

use std::ops::Range;

use kaldera_base::gemm::{Operand, gemm_fused};
use kaldera_base::{Real, memory, par};
use ragged_core::Ragged;

use super::joiner::finish;
use super::trellis::Trellis;
use super::{RnntOptions, Summed, sum_up};
use crate::batch::{Batch, num_classes};
use crate::ctc::{Targets, class, split_rows};
use crate::error::Error;
use crate::rows::{Norm, norms, softmax};

/// Computes the RNN-T loss of `am + lm`, with log-softmax. `am` has logits for each frame, `lm` for
/// each number of symbols before, 0 to S. Without padding these are `[frames, C]` and `[symbols +
/// 1, C]`, padded `[N, T, C]` and `[N, S + 1, C]`.
///
/// All sums over classes are one matrix product per sequence, so that this is much faster than a
/// joiner. From its [occupations](SimpleRnntSaved::occupations) [`get_rnnt_prune_ranges`] selects
/// the symbols that a joiner should compute (Kuang et al. 2022).
///
/// [`get_rnnt_prune_ranges`]: super::get_rnnt_prune_ranges
///
/// ```
/// use kaldera_losses::rnnt::{get_rnnt_prune_ranges, rnnt_loss_simple};
/// use kaldera_losses::RnntOptions;
/// use lod::LodTensor;
/// use ragged_core::Ragged;
///
/// let am = LodTensor::from_lengths(&[2], 3, vec![0.0, 2.0, 0.0, 1.0, 0.0, 0.0])?;
/// let lm = LodTensor::from_lengths(&[2], 3, vec![0.0; 6])?;
/// let (loss, saved) =
///     rnnt_loss_simple(&am, &lm, &Ragged::from_lists(&[vec![1]])?, &RnntOptions::default())?;
/// assert!(loss[0] > 0.0);
/// let (by_am, by_lm) = saved.backward(&[1.0])?;
/// assert_eq!((by_am.lengths(), by_lm.lengths()), (vec![2], vec![2]));
/// assert_eq!(get_rnnt_prune_ranges(saved.occupations(), 2)?.begins(0), [0, 0]);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
///
/// # Errors
/// As [`rnnt_loss`](super::rnnt_loss); [`Error::Option`] with `use_hat_loss`, which sums of logits
/// do not support.
pub fn rnnt_loss_simple<T: Real, B: Batch<T>>(
    am: &B,
    lm: &B,
    labels: &Ragged<i32>,
    options: &RnntOptions,
) -> Result<(Vec<f64>, SimpleRnntSaved<T, B>), Error> {
    rnnt_loss_smoothed(am, lm, labels, 0.0, 0.0, options)
}

/// Tolerance for two decimal scales that sum to 1: three roundings of up to a quarter of it each.
const SUM_TOLERANCE: f64 = f64::EPSILON;

/// Computes [`rnnt_loss_simple`] with smoothed scores: `1 - lm_only_scale - am_only_scale` times
/// its own, plus `lm_only_scale` times the scores of only `lm`, plus `am_only_scale` times the
/// scores of `am` with the mean of the probabilities that `lm` has in the whole batch, as in k2.
/// For a padded batch the mean includes the padding, so that all of it is part of the result, and
/// has a gradient.
///
/// # Errors
/// As [`rnnt_loss_simple`]; [`Error::Option`] for scales below 0, or with a sum above 1.
pub fn rnnt_loss_smoothed<T: Real, B: Batch<T>>(
    am: &B,
    lm: &B,
    labels: &Ragged<i32>,
    lm_only_scale: f64,
    am_only_scale: f64,
    options: &RnntOptions,
) -> Result<(Vec<f64>, SimpleRnntSaved<T, B>), Error> {
    options.check()?;
    Error::check_option("use_hat_loss", 1.0, !options.use_hat_loss, "0: a sum of logits has no blank of its own")?;
    for (name, scale) in [("lm_only_scale", lm_only_scale), ("am_only_scale", am_only_scale)] {
        Error::check_option(name, scale, (0.0..=1.0).contains(&scale), "in 0..=1")?;
    }
    let both = 1.0 - lm_only_scale - am_only_scale;
    let both = if both.abs() < SUM_TOLERANCE { 0.0 } else { both };
    Error::check_option("1 - lm_only_scale - am_only_scale", both, both >= 0.0, "0 or more")?;
    let width = num_classes(am);
    Error::check("the classes of `lm`", width, num_classes(lm))?;
    let (am_rows, lm_rows) = (am.rows()?, lm.rows()?);
    Error::check("the sequences of `lm`", am_rows.len(), lm_rows.len())?;
    let targets = Targets::new(labels, am_rows.len(), width, options.blank)?;
    for (sequence, rows) in lm_rows.iter().enumerate() {
        let (expected, found) = (targets.row(sequence).len() + 1, rows.len());
        if expected != found {
            return Err(Error::Rows { sequence, what: "`lm`", expected, found });
        }
    }
    let scales = Scales { both, lm: lm_only_scale, am: am_only_scale };
    let unigram =
        if am_only_scale > 0.0 { Some(Unigram::new(lm.values(), width, &lm_rows, options.allow_nan)?) } else { None };
    let inputs = Inputs {
        am: am.clone(),
        lm: lm.clone(),
        targets,
        am_rows,
        lm_rows,
        width,
        scales,
        unigram,
        options: options.clone(),
    };
    let score = |sequence: usize| {
        let sums = inputs.sums(sequence)?;
        Ok((inputs.trellis(sequence, &sums), sums))
    };
    let scored: Result<Vec<(Trellis, Sums<T>)>, Error> =
        par::map((0..inputs.am_rows.len()).collect(), score).into_iter().collect();
    let (trellises, sums): (Vec<_>, Vec<_>) = scored?.into_iter().unzip();
    let (loss, summed) = sum_up(trellises, options.reduction, options.impossible, options.allow_nan)?;
    Ok((loss, SimpleRnntSaved { inputs, sums, summed }))
}

/// Values that the gradient of [`rnnt_loss_simple`] and [`rnnt_loss_smoothed`] needs: the logits,
/// which are shared, a normalizer for each frame and number of symbols, and the occupation of each
/// arc.
#[derive(Debug, Clone)]
pub struct SimpleRnntSaved<T, B> {
    inputs: Inputs<T, B>,
    sums: Vec<Sums<T>>,
    summed: Summed,
}

/// Weights of the scores of each kind.
#[derive(Debug, Clone, Copy)]
struct Scales {
    both: f64,
    lm: f64,
    am: f64,
}

#[derive(Debug, Clone)]
struct Inputs<T, B> {
    am: B,
    lm: B,
    targets: Targets,
    am_rows: Vec<Range<usize>>,
    lm_rows: Vec<Range<usize>>,
    width: usize,
    scales: Scales,
    unigram: Option<Unigram<T>>,
    options: RnntOptions,
}

/// Sums over the classes of a sequence.
#[derive(Debug, Clone)]
struct Sums<T> {
    am: Vec<Norm<T>>,
    lm: Vec<Norm<T>>,
    /// `[symbols][frames]`: Σ e^(am + lm), with the highest values of the rows of `am` and of `lm`
    /// subtracted.
    products: Vec<T>,
    /// For each frame Σ e^am unigram, with the highest value of am subtracted; empty if the scores
    /// of only `am` have no weight.
    unigram: Vec<f64>,
}

/// The mean over all rows of the softmax of `lm`.
#[derive(Debug, Clone)]
struct Unigram<T> {
    probs: Vec<f64>,
    norms: Vec<Norm<T>>,
}

/// Returns the smallest normal number of a type, which keeps logarithms finite, as in k2.
fn tiny<T: Real>() -> f64 {
    T::MIN_POSITIVE.to_f64()
}

impl<T: Real> Unigram<T> {
    fn new(values: &[T], width: usize, sequences: &[Range<usize>], allow_nan: bool) -> Result<Self, Error> {
        let norms = norms(0, values, width, allow_nan).map_err(|error| match error {
            Error::Logit { row, class, logit, .. } => {
                // Padding belongs to the sequence before it.
                let sequence = sequences.iter().rposition(|rows| rows.start <= row).unwrap_or(0);
                let start = sequences.get(sequence).map_or(0, |rows| rows.start);
                Error::Logit { sequence, row: row - start, class, logit }
            }
            other => other,
        })?;
        let (mut sums, mut row) = (vec![0.0; width], vec![T::ZERO; width]);
        for (x, norm) in values.chunks_exact(width.max(1)).zip(&norms) {
            softmax(x, width, &[*norm], &[1.0], &mut row);
            sums.iter_mut().zip(&row).for_each(|(sum, p)| *sum += p.to_f64());
        }
        let count = norms.len().max(1) as f64;
        Ok(Self { probs: sums.into_iter().map(|sum| sum / count + tiny::<T>()).collect(), norms })
    }
}

/// Computes e^(x - max) for each row.
fn exponentials<T: Real>(values: &[T], width: usize, norms: &[Norm<T>]) -> Vec<T> {
    let mut made = vec![T::ZERO; values.len()];
    softmax(values, width, norms, &norms.iter().map(|norm| norm.sum).collect::<Vec<_>>(), &mut made);
    made
}

impl<T: Real, B: Batch<T>> Inputs<T, B> {
    fn am_of(&self, sequence: usize) -> &[T] {
        &self.am.values()[self.am_rows[sequence].start * self.width..self.am_rows[sequence].end * self.width]
    }

    fn lm_of(&self, sequence: usize) -> &[T] {
        &self.lm.values()[self.lm_rows[sequence].start * self.width..self.lm_rows[sequence].end * self.width]
    }

    fn sums(&self, sequence: usize) -> Result<Sums<T>, Error> {
        let (am, lm, width) = (self.am_of(sequence), self.lm_of(sequence), self.width);
        let norms = |values| norms(sequence, values, width, self.options.allow_nan);
        let (am_norms, lm_norms) = (norms(am)?, norms(lm)?);
        let (am, lm) = (exponentials(am, width, &am_norms), exponentials(lm, width, &lm_norms));
        let (symbols, frames) = (lm_norms.len(), am_norms.len());
        let mut products = vec![T::ZERO; symbols * frames];
        let lm_operand = Operand { data: &lm, row_step: width, col_step: 1 };
        let am_operand = Operand { data: &am, row_step: 1, col_step: width };
        gemm_fused(symbols, frames, width, T::ONE, lm_operand, am_operand, T::ZERO, &mut products, frames.max(1));
        let of_frame = |unigram: &Unigram<T>, row: &[T]| {
            let sum: f64 = row.iter().zip(&unigram.probs).map(|(x, p)| x.to_f64() * p).sum();
            // As the normalizer of a row with only minus infinity.
            if sum == 0.0 { 1.0 } else { sum }
        };
        let unigram =
            self.unigram.as_ref().map(|unigram| am.chunks_exact(width).map(|row| of_frame(unigram, row)).collect());
        Ok(Sums { am: am_norms, lm: lm_norms, products, unigram: unigram.unwrap_or_default() })
    }

    fn trellis(&self, sequence: usize, sums: &Sums<T>) -> Trellis {
        let (am, lm, width, blank) = (self.am_of(sequence), self.lm_of(sequence), self.width, self.options.blank);
        let (labels, num_frames) = (self.targets.row(sequence), sums.am.len());
        let Scales { both, lm: lm_scale, am: am_scale } = self.scales;
        let mut trellis = Trellis::new(self.options.rnnt_type, labels.len(), num_frames);
        let is_nan = |unigram: &Unigram<T>| unigram.norms.iter().any(Norm::is_nan);
        if sums.am.iter().chain(&sums.lm).any(Norm::is_nan) || self.unigram.as_ref().is_some_and(is_nan) {
            trellis.spoil();
            return trellis;
        }
        let products: Vec<f64> = {
            let mut products: Vec<f64> = sums.products.iter().map(|&x| x.to_f64() + tiny::<T>()).collect();
            kaldera_base::math::ln_in_place(&mut products);
            products
        };
        let log_unigram = |class: usize| self.unigram.as_ref().map_or(0.0, |unigram| unigram.probs[class].ln());
        let of_unigrams: Vec<f64> = sums.unigram.iter().map(|sum| sum.ln()).collect();
        let bonuses: Vec<f64> = (0..num_frames).map(|t| self.options.emission_bonus(t, num_frames)).collect();
        // The scores of a class in `am`, for each frame.
        let column = |class: usize| -> Vec<f64> {
            am.chunks_exact(width).zip(&sums.am).map(|(row, norm)| (row[class] - norm.max).to_f64()).collect()
        };
        let of_blank = column(blank);
        for (s, lm_norm) in sums.lm.iter().enumerate() {
            let norms = &products[s * num_frames..][..num_frames];
            let scores = |class: usize, of_class: &[f64]| -> Vec<f64> {
                let logit = lm[s * width + class];
                let of_lm = (logit - lm_norm.max).to_f64();
                let of_lm_alone = if lm_scale > 0.0 { lm_scale * lm_norm.log_prob(logit) } else { 0.0 };
                // With a scale of 0, a term that may be minus infinity is left out.
                let score = |(of_am, norm): (&f64, &f64)| {
                    of_lm_alone + if both > 0.0 { both * (of_am + of_lm - norm) } else { 0.0 }
                };
                let mut scores: Vec<f64> = of_class.iter().zip(norms).map(score).collect();
                if am_scale > 0.0 {
                    let of_class = of_class.iter().zip(&of_unigrams);
                    let log_unigram = log_unigram(class);
                    for (score, (of_am, of_unigram)) in scores.iter_mut().zip(of_class) {
                        *score += am_scale * (of_am + log_unigram - of_unigram);
                    }
                }
                scores
            };
            for (t, score) in scores(blank, &of_blank).into_iter().enumerate() {
                trellis.set_py(s, t, score);
            }
            if let Some(class) = labels.get(s).map(|&label| class(label)) {
                for (t, (score, bonus)) in scores(class, &column(class)).into_iter().zip(&bonuses).enumerate() {
                    trellis.set_px(s, t, score + bonus);
                }
            }
        }
        trellis.add_constraint();
        trellis
    }
}

impl<T: Real, B: Batch<T>> SimpleRnntSaved<T, B> {
    /// Returns the occupation of each sequence's arcs: the derivative of minus its loss by their
    /// scores; k2's `return_grad`.
    pub fn occupations(&self) -> &[Trellis] {
        &self.summed.occupations
    }

    /// Returns the scores of a sequence's arcs; k2's `get_rnnt_logprobs` and
    /// `get_rnnt_logprobs_smoothed`.
    ///
    /// # Panics
    /// If `sequence` is out of range.
    #[doc(alias = "get_rnnt_logprobs")]
    #[doc(alias = "get_rnnt_logprobs_smoothed")]
    pub fn scores(&self, sequence: usize) -> Trellis {
        self.inputs.trellis(sequence, &self.sums[sequence])
    }

    /// Returns the derivatives by `am` and by `lm`, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<(B, B), Error> {
        let grads = self.summed.reduced.backward(grad)?;
        let inputs = &self.inputs;
        let mut by_am: Vec<T> = memory::zeros(inputs.am.values().len());
        let mut by_lm: Vec<T> = memory::zeros(inputs.lm.values().len());
        let parts = split_rows(&mut by_am, &inputs.am_rows, inputs.width);
        let parts = parts.into_iter().zip(split_rows(&mut by_lm, &inputs.lm_rows, inputs.width));
        let by_unigrams =
            par::map(parts.enumerate().collect(), |(sequence, (by_am, by_lm)): (usize, (&mut [T], &mut [T]))| {
                if grads[sequence] == 0.0 {
                    return Vec::new();
                }
                let mut by_unigram = self.backward_of(sequence, by_am, by_lm);
                finish(by_am, inputs.options.clamp, grads[sequence]);
                finish(by_lm, inputs.options.clamp, grads[sequence]);
                by_unigram.iter_mut().for_each(|x| *x *= grads[sequence]);
                by_unigram
            });
        if let Some(unigram) = &inputs.unigram {
            // In the order of the sequences, for any assignment to threads.
            let mut sums = vec![0.0; inputs.width];
            for of_sequence in by_unigrams {
                sums.iter_mut().zip(of_sequence).for_each(|(sum, x)| *sum += x);
            }
            unigram.backward(&sums, inputs.lm.values(), &mut by_lm);
        }
        Ok((inputs.am.with_values(by_am)?, inputs.lm.with_values(by_lm)?))
    }

    /// Computes the derivatives of a sequence's loss by `am` and `lm`, and returns the one by the
    /// unigram.
    fn backward_of(&self, sequence: usize, by_am: &mut [T], by_lm: &mut [T]) -> Vec<f64> {
        let (inputs, sums, occupation) = (&self.inputs, &self.sums[sequence], &self.summed.occupations[sequence]);
        let (am, lm, width, blank) =
            (inputs.am_of(sequence), inputs.lm_of(sequence), inputs.width, inputs.options.blank);
        let (labels, frames, symbols) = (inputs.targets.row(sequence), sums.am.len(), sums.lm.len());
        let Scales { both, lm: lm_scale, am: am_scale } = inputs.scales;
        let emitted = 1.0 + inputs.options.fastemit_lambda;
        // For each cell, the occupation of its outgoing arcs divided by the sum over its classes;
        // and sums over rows and columns, also for blanks.
        let mut shares = vec![T::ZERO; symbols * frames];
        let (mut of_frames, mut of_symbols) = (vec![0.0; frames], vec![0.0; symbols]);
        let mut blanks_of_frames = vec![0.0; frames];
        let mut by_unigram = if am_scale > 0.0 { vec![0.0; width] } else { Vec::new() };
        // Derivatives by the scores of single classes; they are added to `by_lm` after the product.
        let mut lm_hits = Vec::with_capacity(2 * symbols);
        for s in 0..symbols {
            let label = labels.get(s).map(|&label| class(label));
            let (mut sum_px, mut sum_py) = (0.0, 0.0);
            for t in 0..frames {
                let px = label.map_or(0.0, |_| occupation.px(s, t) * emitted);
                let py = occupation.blank_occupation(s, t);
                shares[s * frames + t] =
                    T::from_f64(both * (px + py) / (sums.products[s * frames + t].to_f64() + tiny::<T>()));
                of_frames[t] += px + py;
                blanks_of_frames[t] += py;
                (sum_px, sum_py) = (sum_px + px, sum_py + py);
            }
            of_symbols[s] = sum_px + sum_py;
            let hits = [(blank, sum_py)].into_iter().chain(label.map(|label| (label, sum_px)));
            for (class, sum) in hits {
                lm_hits.push((s * width + class, (both + lm_scale) * sum));
                if let Some(unigram) = inputs.unigram.as_ref() {
                    by_unigram[class] -= am_scale * sum / unigram.probs[class];
                }
            }
        }
        let (am_exps, lm_exps) = (exponentials(am, width, &sums.am), exponentials(lm, width, &sums.lm));
        let plain = |data| Operand { data, row_step: width, col_step: 1 };
        let by_frame = Operand { data: &shares[..], row_step: 1, col_step: frames };
        let by_symbol = Operand { data: &shares[..], row_step: frames, col_step: 1 };
        gemm_fused(frames, width, symbols, T::ONE, by_frame, plain(&lm_exps), T::ZERO, by_am, width);
        gemm_fused(symbols, width, frames, T::ONE, by_symbol, plain(&am_exps), T::ZERO, by_lm, width);
        if let Some(unigram) = &inputs.unigram {
            for (t, to) in by_am.chunks_exact_mut(width).enumerate() {
                let share = am_scale * of_frames[t] / sums.unigram[t];
                let terms = to.iter_mut().zip(&unigram.probs).zip(by_unigram.iter_mut()).zip(&am_exps[t * width..]);
                for (((to, p), by_unigram), x) in terms {
                    *to += T::from_f64(share * p);
                    *by_unigram += share * x.to_f64();
                }
            }
        }
        by_am.iter_mut().zip(&am_exps).for_each(|(to, &x)| *to *= x);
        for (s, (to, x)) in by_lm.chunks_exact_mut(width).zip(lm_exps.chunks_exact(width)).enumerate() {
            let alone = T::from_f64(lm_scale * of_symbols[s] / sums.lm[s].sum);
            to.iter_mut().zip(x).for_each(|(to, &x)| *to = (*to + alone) * x);
        }
        for (s, &label) in labels.iter().enumerate() {
            for (t, to) in by_am.chunks_exact_mut(width).enumerate() {
                to[class(label)] -= T::from_f64((both + am_scale) * occupation.px(s, t) * emitted);
            }
        }
        for (to, sum) in by_am.chunks_exact_mut(width).zip(blanks_of_frames) {
            to[blank] -= T::from_f64((both + am_scale) * sum);
        }
        lm_hits.into_iter().for_each(|(place, x)| by_lm[place] -= T::from_f64(x));
        by_unigram
    }
}

impl<T: Real> Unigram<T> {
    /// Adds the derivative by `lm`, given the derivative by the mean probabilities.
    fn backward(&self, grad: &[f64], values: &[T], by_lm: &mut [T]) {
        let width = grad.len();
        let mut row = vec![T::ZERO; width];
        let count = self.norms.len().max(1) as f64;
        for ((x, norm), to) in values.chunks_exact(width).zip(&self.norms).zip(by_lm.chunks_exact_mut(width)) {
            softmax(x, width, &[*norm], &[1.0], &mut row);
            let mean: f64 = row.iter().zip(grad).map(|(p, g)| p.to_f64() * g).sum();
            for ((to, p), g) in to.iter_mut().zip(&row).zip(grad) {
                *to += T::from_f64(p.to_f64() * (g - mean) / count);
            }
        }
    }
}
