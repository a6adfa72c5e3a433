//! RNN-T over a joiner's logits, for each frame and all symbols or a range of them.

use std::ops::Range;

use kaldera_base::{Real, memory, par};
use ragged_core::Ragged;

use super::logits::{Classes, Occupation};
use super::ranges::PruneRanges;
use super::trellis::Trellis;
use super::{RnntOptions, Summed, sum_up};
use crate::batch::{Batch, num_classes};
use crate::ctc::{Targets, class, split_rows};
use crate::error::Error;
use crate::rows::Norm;

/// Computes the RNN-T loss of a joiner's logits: minus the log-probability of all paths that emit
/// the labels. Log-softmax of the logits is part of the loss.
///
/// For a sequence of T frames and S labels, `logits` have a row for each frame and each number of
/// symbols before, 0 to S. Without padding it is a [`LodTensor`](lod::LodTensor) of the shape
/// `[rows, C]` with T (S + 1) rows for the sequence, frame by frame. Padded it is `[N, T, S + 1,
/// C]` with the numbers of frames as lengths.
///
/// O(T S (C + 1)) time. In addition to the logits, a trellis of (T + S) S numbers is kept for each
/// sequence. Sequences are divided among threads, with the same result.
///
/// ```
/// use kaldera_losses::{RnntOptions, rnnt_loss};
/// use lod::LodTensor;
/// use ragged_core::Ragged;
///
/// // Two frames, one label; the blank 0 and the label 1 equally likely everywhere.
/// let logits = LodTensor::from_lengths(&[2 * 2], 2, vec![0.0_f32; 8])?;
/// let labels = Ragged::from_lists(&[vec![1]])?;
/// let (loss, saved) = rnnt_loss(&logits, &labels, &RnntOptions::default())?;
/// // The label comes before the first blank or before the second: two paths of three arcs.
/// assert!((loss[0] + (2.0 * 0.5_f64.powi(3)).ln()).abs() < 1e-6);
/// assert_eq!(saved.backward(&[1.0])?.lengths(), [4]);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
///
/// # Errors
/// [`Error::Count`], [`Error::Rows`] if logits and labels do not fit; [`Error::Label`],
/// [`Error::BlankLabel`], [`Error::Blank`]; [`Error::Logit`]; [`Error::Option`];
/// [`Error::TooShort`] with `Impossible::Error`.
#[doc(alias = "RNNTLoss")]
#[doc(alias = "get_rnnt_logprobs_joint")]
pub fn rnnt_loss<T: Real, B: Batch<T>>(
    logits: &B,
    labels: &Ragged<i32>,
    options: &RnntOptions,
) -> Result<(Vec<f64>, RnntSaved<T, B>), Error> {
    Joiner::new(logits, labels, None, options)?.sum_up()
}

/// Computes [`rnnt_loss`] of logits for only `ranges` of symbols: `[frames, s_range, C]` without
/// padding, `[N, T, s_range, C]` padded. [`do_rnnt_pruning`] selects the inputs of such a joiner.
/// All other arcs have the score minus infinity.
///
/// [`do_rnnt_pruning`]: super::do_rnnt_pruning
///
/// # Errors
/// As [`rnnt_loss`]; [`Error::Count`] for ranges of another batch; [`Error::Range`].
#[doc(alias = "get_rnnt_logprobs_pruned")]
pub fn rnnt_loss_pruned<T: Real, B: Batch<T>>(
    logits: &B,
    labels: &Ragged<i32>,
    ranges: &PruneRanges,
    options: &RnntOptions,
) -> Result<(Vec<f64>, RnntSaved<T, B>), Error> {
    Joiner::new(logits, labels, Some(ranges.clone()), options)?.sum_up()
}

/// Values that the gradient of [`rnnt_loss`] and [`rnnt_loss_pruned`] needs: the logits, which are
/// shared, a normalizer for each row, and the occupation of each arc.
#[derive(Debug, Clone)]
pub struct RnntSaved<T, B> {
    joiner: Joiner<B>,
    norms: Vec<Vec<Norm<T>>>,
    summed: Summed,
}

impl<T: Real, B: Batch<T>> RnntSaved<T, B> {
    /// Returns the occupation of each sequence's arcs: the derivative of minus its loss by their
    /// scores; k2's `return_grad`.
    pub fn occupations(&self) -> &[Trellis] {
        &self.summed.occupations
    }

    /// Returns the derivative by the logits, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<B, Error> {
        let mut values: Vec<T> = memory::zeros(self.joiner.logits.values().len());
        self.backward_into(grad, &mut values)?;
        self.joiner.logits.with_values(values)
    }

    /// As [`backward`](Self::backward), but overwrites `to`, which has the layout of the logits.
    /// Reusing the buffer of the last step saves the first access to its pages.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss, and `to` one for each logit.
    pub fn backward_into(&self, grad: &[f64], to: &mut [T]) -> Result<(), Error> {
        let grads = self.summed.reduced.backward(grad)?;
        let Joiner { logits, rows, classes, options, strides, .. } = &self.joiner;
        Error::check("the places for the gradient", logits.values().len(), to.len())?;
        let parts = split_rows(to, rows, classes.width);
        par::for_each(parts.into_iter().enumerate().collect(), |(sequence, to): (usize, &mut [T])| {
            let (grad, occupation) = (grads[sequence], &self.summed.occupations[sequence]);
            if grad == 0.0 {
                return to.fill(T::ZERO);
            }
            let values = self.joiner.values(sequence);
            let mut norms = &self.norms[sequence][..];
            for (t, symbols, at) in self.joiner.frames(sequence) {
                let here: Vec<Occupation> =
                    symbols.map(|s| self.joiner.occupation(sequence, occupation, s, t)).collect();
                let (of_frame, behind) = norms.split_at(here.len());
                norms = behind;
                let at = at.start * classes.width..at.end * classes.width;
                let row = &mut to[at.start..][..strides[sequence] * classes.width];
                let (to, padding) = row.split_at_mut(at.len());
                padding.fill(T::ZERO);
                classes.gradient(&values[at], of_frame, &here, to);
                finish(to, options.clamp, grad);
            }
        });
        Ok(())
    }
}

/// Limits a gradient to the clamp, and multiplies it by `grad`.
pub(super) fn finish<T: Real>(gradient: &mut [T], clamp: Option<f64>, grad: f64) {
    let factor = T::from_f64(grad);
    if let Some(clamp) = clamp {
        let clamp = T::from_f64(clamp);
        for x in gradient.iter_mut().filter(|x| x.abs() > clamp) {
            *x = if *x > T::ZERO { clamp } else { -clamp };
        }
    }
    if grad != 1.0 {
        gradient.iter_mut().for_each(|x| *x *= factor);
    }
}

/// Logits with their labels and ranges.
#[derive(Debug, Clone)]
struct Joiner<B> {
    logits: B,
    targets: Targets,
    rows: Vec<Range<usize>>,
    ranges: Option<PruneRanges>,
    /// Number of rows from one frame to the next, for each sequence.
    strides: Vec<usize>,
    classes: Classes,
    options: RnntOptions,
}

impl<B> Joiner<B> {
    fn new<T: Real>(
        logits: &B,
        labels: &Ragged<i32>,
        ranges: Option<PruneRanges>,
        options: &RnntOptions,
    ) -> Result<Self, Error>
    where
        B: Batch<T>,
    {
        options.check()?;
        let (rows, width) = (logits.rows()?, num_classes(logits));
        let targets = Targets::new(labels, rows.len(), width, options.blank)?;
        if let Some(ranges) = &ranges {
            Error::check("the sequences of the ranges", rows.len(), ranges.num_sequences())?;
        }
        let mut strides = Vec::with_capacity(rows.len());
        for (sequence, rows) in rows.iter().enumerate() {
            let num_symbols = targets.row(sequence).len();
            let stride = logits.rows_per_frame().unwrap_or(num_symbols + 1);
            match &ranges {
                Some(ranges) => {
                    Error::check("the logits of each frame", ranges.s_range(), stride)?;
                    let (expected, found) = (ranges.begins(sequence).len().saturating_mul(stride), rows.len());
                    if expected != found {
                        return Err(Error::Rows { sequence, what: "the pruned logits", expected, found });
                    }
                    ranges.check(sequence, num_symbols)?;
                }
                None if stride <= num_symbols || rows.len() % stride != 0 => {
                    let expected = rows.len() / stride.max(1) * (num_symbols + 1);
                    return Err(Error::Rows { sequence, what: "the logits", expected, found: rows.len() });
                }
                None => {}
            }
            strides.push(stride);
        }
        let classes = Classes { width, blank: options.blank, is_hat: options.use_hat_loss };
        Ok(Self { logits: logits.clone(), targets, rows, ranges, strides, classes, options: options.clone() })
    }

    fn sum_up<T: Real>(self) -> Result<(Vec<f64>, RnntSaved<T, B>), Error>
    where
        B: Batch<T>,
    {
        let score = |sequence: usize| {
            let norms = self.norms(sequence)?;
            Ok((self.trellis(sequence, &norms), norms))
        };
        let found = par::map((0..self.rows.len()).collect(), score);
        let (trellises, norms): (Vec<_>, Vec<_>) =
            found.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        let options = &self.options;
        let (loss, summed) = sum_up(trellises, options.reduction, options.impossible, options.allow_nan)?;
        Ok((loss, RnntSaved { joiner: self, norms, summed }))
    }

    fn values<T: Real>(&self, sequence: usize) -> &[T]
    where
        B: Batch<T>,
    {
        let (rows, width) = (&self.rows[sequence], self.classes.width);
        &self.logits.values()[rows.start * width..rows.end * width]
    }

    /// Returns each frame with the symbols of its rows, and these rows within the sequence.
    fn frames(&self, sequence: usize) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> + '_ {
        let (stride, num_symbols) = (self.strides[sequence], self.targets.row(sequence).len());
        let num_frames = self.rows[sequence].len() / stride.max(1);
        (0..num_frames).map(move |t| {
            let begin = self.ranges.as_ref().map_or(0, |ranges| ranges.begins(sequence)[t]);
            let end = (begin + stride).min(num_symbols + 1);
            (t, begin..end, t * stride..t * stride + (end - begin))
        })
    }

    /// Computes the normalizers of the rows of all frames that have symbols.
    fn norms<T: Real>(&self, sequence: usize) -> Result<Vec<Norm<T>>, Error>
    where
        B: Batch<T>,
    {
        let values = self.values(sequence);
        let mut norms = Vec::new();
        for (_, _, at) in self.frames(sequence) {
            let of_frame = &values[at.start * self.classes.width..at.end * self.classes.width];
            norms.extend(
                self.classes
                    .norms(sequence, of_frame, self.options.allow_nan)
                    .map_err(|error| error.behind(at.start))?,
            );
        }
        Ok(norms)
    }

    fn trellis<T: Real>(&self, sequence: usize, norms: &[Norm<T>]) -> Trellis
    where
        B: Batch<T>,
    {
        let (labels, values) = (self.targets.row(sequence), self.values(sequence));
        let num_frames = self.rows[sequence].len() / self.strides[sequence].max(1);
        let mut trellis = Trellis::new(self.options.rnnt_type, labels.len(), num_frames);
        if norms.iter().any(Norm::is_nan) {
            trellis.spoil();
            return trellis;
        }
        let mut norms = norms.iter();
        for (t, symbols, at) in self.frames(sequence) {
            let bonus = self.options.emission_bonus(t, num_frames);
            let rows = values[at.start * self.classes.width..].chunks_exact(self.classes.width);
            for ((s, row), norm) in symbols.zip(rows).zip(&mut norms) {
                trellis.set_py(s, t, self.classes.blank(row, norm));
                if let Some(&label) = labels.get(s) {
                    trellis.set_px(s, t, self.classes.symbol(row, norm, class(label)) + bonus);
                }
            }
        }
        trellis.add_constraint();
        trellis
    }

    /// Returns the occupation of the arcs of symbol `s` in frame `t`.
    fn occupation(&self, sequence: usize, trellis: &Trellis, s: usize, t: usize) -> Occupation {
        let class = self.targets.row(sequence).get(s).map(|&label| class(label));
        let symbol = class.map_or(0.0, |_| trellis.px(s, t) * (1.0 + self.options.fastemit_lambda));
        Occupation { class, symbol, blank: trellis.blank_occupation(s, t) }
    }
}
