//! The token-and-duration transducer: an arc says how many frames it takes.

use std::ops::Range;

use kaldera_base::{Real, memory, par, setters};
use ragged_core::Ragged;

use super::joiner::finish;
use super::logits::{Classes, Occupation};
use super::trellis::{Move, Trellis};
use super::{Summed, check_clamp, sum_up};
use crate::batch::{Batch, num_classes};
use crate::ctc::{Targets, class, split_rows};
use crate::error::Error;
use crate::reduction::{Impossible, Reduction};
use crate::rows::{Norm, norms, softmax};

/// Options of [`tdt_loss`], with NeMo's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct TdtOptions {
    /// The class of the blank.
    pub blank: usize,
    /// Numbers of frames that an arc may take: one class for each, after the classes of the
    /// symbols.
    pub durations: Vec<usize>,
    /// Value that is subtracted from each log-probability of a symbol or the blank; it penalizes
    /// paths of many arcs.
    pub sigma: f64,
    /// Limit of the gradient of each sequence's loss: entries are limited to -clamp..=clamp.
    pub clamp: Option<f64>,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of a sequence without an alignment.
    pub impossible: Impossible,
    /// `true` if NaN and plus infinity among the logits of a sequence make its loss and its
    /// gradient NaN, as in PyTorch, and leave the other sequences unchanged. Otherwise they are
    /// [`Error::Logit`].
    pub allow_nan: bool,
}

setters! {
    TdtOptions:
    blank, with_blank: usize = 0, "With this class for the blank.";
    durations, with_durations: Vec<usize> = vec![0, 1, 2, 3, 4], "With these durations.";
    sigma, with_sigma: f64 = 0.0, "With this subtracted from log-probabilities.";
    clamp, with_clamp: Option<f64> = None, "With a clamped gradient.";
    reduction, with_reduction: Reduction = Reduction::default(), "With a reduction.";
    impossible, with_impossible: Impossible = Impossible::default(), "With this for sequences without alignment.";
    allow_nan, with_allow_nan: bool = false, "With losses of NaN instead of an error.";
}

/// Computes the loss of the token-and-duration transducer (Xu et al. 2023). It is like
/// [`rnnt_loss`](super::rnnt_loss), but an arc that emits a symbol or the blank advances by a
/// duration, whose log-probability is added; the blank advances by at least 1 frame. A symbol stays
/// within the frames, and so the last arc is a blank.
///
/// A row of `logits` has classes of symbols and the blank, then one for each duration. Each of the
/// two parts has its own softmax.
///
/// # Errors
/// As [`rnnt_loss`](super::rnnt_loss); [`Error::Option`] if there is no duration above 0.
pub fn tdt_loss<T: Real, B: Batch<T>>(
    logits: &B,
    labels: &Ragged<i32>,
    options: &TdtOptions,
) -> Result<(Vec<f64>, TdtSaved<T, B>), Error> {
    let longest = options.durations.iter().copied().max().unwrap_or(0);
    let is_good = longest > 0 && u32::try_from(longest).is_ok();
    Error::check_option("durations", longest as f64, is_good, "at least one of 1 frame or more, none of 2^32")?;
    Error::check_range("sigma", options.sigma)?;
    check_clamp(options.clamp)?;
    let (rows, all) = (logits.rows()?, num_classes(logits));
    let width = all.saturating_sub(options.durations.len());
    let targets = Targets::new(labels, rows.len(), width, options.blank)?;
    let mut joiner =
        Joiner { logits: logits.clone(), targets, rows, strides: Vec::new(), width, options: options.clone() };
    for (sequence, rows) in joiner.rows.iter().enumerate() {
        let num_symbols = joiner.targets.row(sequence).len();
        let stride = logits.rows_per_frame().unwrap_or(num_symbols + 1);
        if stride <= num_symbols || rows.len() % stride != 0 {
            let expected = rows.len() / stride.max(1) * (num_symbols + 1);
            return Err(Error::Rows { sequence, what: "the logits", expected, found: rows.len() });
        }
        joiner.strides.push(stride);
    }
    let score = |sequence| joiner.trellis(sequence);
    let scored: Result<Vec<_>, Error> = par::map((0..joiner.rows.len()).collect(), score).into_iter().collect();
    let (trellises, norms): (Vec<_>, Vec<_>) = scored?.into_iter().unzip();
    let (loss, summed) = sum_up(trellises, options.reduction, options.impossible, options.allow_nan)?;
    Ok((loss, TdtSaved { joiner, norms, summed }))
}

/// The normalizers of a row's symbols and of its durations.
type RowNorms<T> = [Norm<T>; 2];

/// Values that the gradient of [`tdt_loss`] needs.
#[derive(Debug, Clone)]
pub struct TdtSaved<T, B> {
    joiner: Joiner<B>,
    norms: Vec<Vec<RowNorms<T>>>,
    summed: Summed,
}

#[derive(Debug, Clone)]
struct Joiner<B> {
    logits: B,
    targets: Targets,
    rows: Vec<Range<usize>>,
    strides: Vec<usize>,
    /// Number of classes of symbols and the blank.
    width: usize,
    options: TdtOptions,
}

impl<B> Joiner<B> {
    /// Returns for each duration the number of the symbol's arc, and of the blank's.
    fn arcs(&self) -> impl Iterator<Item = (usize, usize, Option<usize>)> + '_ {
        let mut next = self.options.durations.len();
        self.options.durations.iter().enumerate().map(move |(symbol, &duration)| {
            let blank = (duration > 0).then_some(next);
            next += usize::from(duration > 0);
            (duration, symbol, blank)
        })
    }

    fn moves(&self) -> Vec<Move> {
        let durations = &self.options.durations;
        let symbols = durations.iter().map(|&frames| Move { symbols: 1, frames });
        let blanks = durations.iter().filter(|&&frames| frames > 0).map(|&frames| Move { symbols: 0, frames });
        symbols.chain(blanks).collect()
    }

    fn num_frames(&self, sequence: usize) -> usize {
        self.rows[sequence].len() / self.strides[sequence].max(1)
    }

    /// Returns each row that a path can reach: symbols before, frame, row, and its values.
    fn each_row<T: Real>(&self, sequence: usize) -> impl Iterator<Item = (usize, usize, usize, &[T])>
    where
        B: Batch<T>,
    {
        let (stride, num_symbols) = (self.strides[sequence], self.targets.row(sequence).len());
        let all = self.width + self.options.durations.len();
        let values = &self.logits.values()[self.rows[sequence].start * all..self.rows[sequence].end * all];
        (0..self.num_frames(sequence)).flat_map(move |t| {
            (0..=num_symbols).map(move |s| (s, t, t * stride + s, &values[(t * stride + s) * all..][..all]))
        })
    }

    fn trellis<T: Real>(&self, sequence: usize) -> Result<(Trellis, Vec<RowNorms<T>>), Error>
    where
        B: Batch<T>,
    {
        let (labels, num_frames, sigma) = (self.targets.row(sequence), self.num_frames(sequence), self.options.sigma);
        let mut trellis = Trellis::with_moves(self.moves(), labels.len(), num_frames);
        let mut found = Vec::with_capacity(num_frames * (labels.len() + 1));
        for (s, t, row, values) in self.each_row(sequence) {
            let (symbols, durations) = values.split_at(self.width);
            let norm = |part: &[T], first: usize| match norms(sequence, part, part.len(), self.options.allow_nan) {
                Ok(norms) => Ok(norms[0]),
                Err(error) => Err(error.within(row, first)),
            };
            let (symbol_norm, duration_norm) = (norm(symbols, 0)?, norm(durations, self.width)?);
            let of_blank = symbol_norm.log_prob(symbols[self.options.blank]) - sigma;
            let of_symbol = labels.get(s).map(|&label| symbol_norm.log_prob(symbols[class(label)]) - sigma);
            for ((frames, symbol, blank), &logit) in self.arcs().zip(durations) {
                let of_duration = duration_norm.log_prob(logit);
                if let Some(score) = of_symbol.filter(|_| t + frames < num_frames) {
                    *trellis.arc_mut(symbol, s, t) = score + of_duration;
                }
                if let Some(blank) = blank.filter(|_| t + frames <= num_frames) {
                    *trellis.arc_mut(blank, s, t) = of_blank + of_duration;
                }
            }
            found.push([symbol_norm, duration_norm]);
        }
        if found.iter().flatten().any(Norm::is_nan) {
            trellis.spoil();
        }
        Ok((trellis, found))
    }
}

impl<T: Real, B: Batch<T>> TdtSaved<T, B> {
    /// Returns the derivative by the logits, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<B, Error> {
        let grads = self.summed.reduced.backward(grad)?;
        let (joiner, width) = (&self.joiner, self.joiner.width);
        let all = width + joiner.options.durations.len();
        let mut values: Vec<T> = memory::zeros(joiner.logits.values().len());
        let parts = split_rows(&mut values, &joiner.rows, all);
        let classes = Classes { width, blank: joiner.options.blank, is_hat: false };
        par::for_each(parts.into_iter().enumerate().collect(), |(sequence, to): (usize, &mut [T])| {
            let (labels, occupation) = (joiner.targets.row(sequence), &self.summed.occupations[sequence]);
            if grads[sequence] == 0.0 {
                return;
            }
            for ((s, t, row, logits), norms) in joiner.each_row(sequence).zip(&self.norms[sequence]) {
                let (by_symbols, by_durations) = to[row * all..][..all].split_at_mut(width);
                let mut here = Occupation { class: labels.get(s).map(|&label| class(label)), ..Occupation::default() };
                let mut of_durations = Vec::with_capacity(all - width);
                for (_, symbol, blank) in joiner.arcs() {
                    let of_symbol = here.class.map_or(0.0, |_| occupation.arc(symbol, s, t));
                    let of_blank = blank.map_or(0.0, |blank| occupation.arc(blank, s, t));
                    here.symbol += of_symbol;
                    here.blank += of_blank;
                    of_durations.push(of_symbol + of_blank);
                }
                classes.gradient(&logits[..width], &norms[..1], &[here], by_symbols);
                softmax(&logits[width..], all - width, &norms[1..], &[here.symbol + here.blank], by_durations);
                by_durations.iter_mut().zip(of_durations).for_each(|(to, share)| *to -= T::from_f64(share));
            }
            finish(to, joiner.options.clamp, grads[sequence]);
        });
        joiner.logits.with_values(values)
    }
}
