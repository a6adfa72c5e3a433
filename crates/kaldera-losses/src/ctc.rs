//! CTC over rows of logits.

mod projected;
mod recursion;

use std::ops::Range;

use kaldera_base::{Real, memory, par, setters};
use ragged_core::Ragged;

use crate::batch::{Batch, num_classes};
use crate::error::Error;
use crate::reduction::{Impossible, Reduced, Reduction};
use crate::rows::{Norm, norms, softmax};

pub use projected::{ProjectedCtcSaved, Projection, ProjectionGradient, ctc_loss_projected};

/// Options of [`ctc_loss`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CtcOptions {
    /// The class of the blank.
    pub blank: usize,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of a sequence without an alignment. PyTorch: `zero_infinity`.
    pub impossible: Impossible,
    /// `true` if NaN and plus infinity among the logits of a sequence make its loss and its
    /// gradient NaN, as in PyTorch, and leave the other sequences unchanged. Otherwise they are
    /// [`Error::Logit`].
    pub allow_nan: bool,
}

setters! {
    CtcOptions:
    blank, with_blank: usize, "With this class for the blank.";
    reduction, with_reduction: Reduction, "With a reduction.";
    impossible, with_impossible: Impossible, "With this for sequences without alignment.";
    allow_nan, with_allow_nan: bool, "With losses of NaN instead of an error.";
}

/// Computes the CTC loss of logits: minus the log-probability of all alignments of the labels with
/// the frames. Log-softmax of the logits is part of the loss.
///
/// `logits` have a row for each frame, `labels` a list for each sequence. An alignment gives each
/// frame a label or the blank; without repetitions, and then without blanks, it equals the labels.
/// The result has a loss for each sequence, or one after reduction.
///
/// The sums are over probabilities (Graves et al. 2006), as numbers with exponents of their own.
/// O(frames × (classes + labels)) time. In addition to the gradient, each thread needs memory for
/// the trellis of one sequence. Sequences are divided among threads, with the same result.
///
/// ```
/// use kaldera_losses::{CtcOptions, ctc_loss};
/// use lod::LodTensor;
/// use ragged_core::Ragged;
///
/// // An utterance of three frames and one of two; the blank and two labels, all equally likely.
/// let logits = LodTensor::from_lengths(&[3, 2], 3, vec![0.0_f64; 15])?;
/// let labels = Ragged::from_lists(&[vec![1, 2], vec![]])?;
/// let (loss, saved) = ctc_loss(&logits, &labels, &CtcOptions::default())?;
/// // 1 2 has the alignments 112, 122, -12, 1-2 and 12-; nothing has only --.
/// let by_hand = [-(5.0_f64 / 27.0).ln(), -(1.0_f64 / 9.0).ln()];
/// assert!((loss[0] - (by_hand[0] / 2.0 + by_hand[1]) / 2.0).abs() < 1e-12); // PyTorch's mean
/// let gradient = saved.backward(&[1.0])?;
/// assert_eq!(gradient.lengths(), [3, 2]);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
///
/// # Errors
/// [`Error::Count`] unless there is one list of labels for each sequence; [`Error::Label`],
/// [`Error::BlankLabel`], [`Error::Blank`]; [`Error::Logit`]; [`Error::TooShort`] with
/// [`Impossible::Error`].
#[doc(alias = "CTCLoss")]
pub fn ctc_loss<T: Real, B: Batch<T>>(
    logits: &B,
    labels: &Ragged<i32>,
    options: &CtcOptions,
) -> Result<(Vec<f64>, CtcSaved<T, B>), Error> {
    let (rows, classes) = (logits.rows()?, num_classes(logits));
    let targets = Targets::new(labels, rows.len(), classes, options.blank)?;
    let one = |(sequence, rows): (usize, Range<usize>)| {
        let values = &logits.values()[rows.start * classes..rows.end * classes];
        let labels = targets.row(sequence);
        let (mut all, mut emissions) = (Vec::with_capacity(rows.len()), targets.emissions_of(rows.len(), sequence));
        for rows in blocks(rows.len(), classes) {
            let block = &values[rows.start * classes..rows.end * classes];
            let found = norms(sequence, block, classes, options.allow_nan).map_err(|error| error.behind(rows.start))?;
            targets.emissions(sequence, block, &found, &mut emissions);
            all.extend(found);
        }
        let total = match all.iter().any(Norm::is_nan) {
            true => f64::NAN,
            false => recursion::total(&emissions, labels),
        };
        Ok((all, total))
    };
    let found = par::map(rows.iter().cloned().enumerate().collect(), one);
    let (norms, totals): (Vec<_>, Vec<_>) = found.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
    let frames: Vec<usize> = rows.iter().map(Range::len).collect();
    let (loss, reduced) = targets.reduce(&totals, &frames, options)?;
    Ok((loss, CtcSaved { logits: logits.clone(), targets, rows, norms, totals, reduced }))
}

/// Values that the gradient of [`ctc_loss`] needs: the logits, which are shared, and a normalizer
/// for each frame.
#[derive(Debug, Clone)]
pub struct CtcSaved<T, B> {
    logits: B,
    targets: Targets,
    rows: Vec<Range<usize>>,
    norms: Vec<Vec<Norm<T>>>,
    /// The log-probability of each sequence's labels.
    totals: Vec<f64>,
    reduced: Reduced,
}

impl<T: Real, B: Batch<T>> CtcSaved<T, B> {
    /// Returns the derivative by the logits, given the derivative by each loss. It is 0 in the
    /// padding and for sequences without an alignment, and NaN if the loss is.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<B, Error> {
        let mut values: Vec<T> = memory::zeros(self.logits.values().len());
        self.backward_into(grad, &mut values)?;
        self.logits.with_values(values)
    }

    /// As [`backward`](Self::backward), but overwrites `to`, which has the layout of the logits.
    /// Reusing the buffer of the last step saves the first access to its pages.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss, and `to` one for each logit.
    pub fn backward_into(&self, grad: &[f64], to: &mut [T]) -> Result<(), Error> {
        let grads = self.reduced.backward(grad)?;
        let classes = num_classes(&self.logits);
        Error::check("the places for the gradient", self.logits.values().len(), to.len())?;
        let parts = split_rows(to, &self.rows, classes);
        par::for_each(parts.into_iter().enumerate().collect(), |(sequence, to)| {
            let (grad, total) = (grads[sequence], self.totals[sequence]);
            if grad == 0.0 || total == f64::NEG_INFINITY {
                return to.fill(T::ZERO);
            }
            if total.is_nan() {
                return to.fill(T::from_f64(total));
            }
            let (values, norms, labels) = (self.values(sequence), &self.norms[sequence], self.targets.row(sequence));
            let posteriors = self.posteriors_of(sequence);
            let width = labels.len() + 1;
            for rows in blocks(norms.len(), classes) {
                let block = rows.start * classes..rows.end * classes;
                let (values, to) = (&values[block.clone()], &mut to[block]);
                softmax(values, classes, &norms[rows.clone()], &vec![grad; rows.len()], to);
                let posteriors = posteriors[rows.start * width..rows.end * width].chunks_exact(width);
                for (to, row) in to.chunks_exact_mut(classes).zip(posteriors) {
                    to[self.targets.blank] -= T::from_f64(grad * row[0]);
                    for (&label, posterior) in labels.iter().zip(&row[1..]) {
                        to[class(label)] -= T::from_f64(grad * posterior);
                    }
                }
            }
        });
        Ok(())
    }

    /// Returns the probability that a frame of a sequence has the blank, its first label, its
    /// second ..: rows of `1 + labels` numbers that add up to 1. They are 0 without an alignment,
    /// and NaN if the loss is.
    ///
    /// # Panics
    /// If `sequence` is out of range.
    pub fn posteriors(&self, sequence: usize) -> Vec<f64> {
        match self.totals[sequence] {
            total if total.is_finite() => self.posteriors_of(sequence),
            total => {
                let none = if total.is_nan() { total } else { 0.0 };
                vec![none; self.rows[sequence].len() * (self.targets.row(sequence).len() + 1)]
            }
        }
    }

    fn posteriors_of(&self, sequence: usize) -> Vec<f64> {
        let emissions = self.targets.all_emissions(sequence, self.values(sequence), &self.norms[sequence]);
        recursion::posteriors(emissions, self.targets.row(sequence))
    }

    fn values(&self, sequence: usize) -> &[T] {
        let (rows, classes) = (&self.rows[sequence], num_classes(&self.logits));
        &self.logits.values()[rows.start * classes..rows.end * classes]
    }
}

/// Splits rows of logits into blocks that fit in the cache.
fn blocks(rows: usize, classes: usize) -> impl Iterator<Item = Range<usize>> {
    const LOGITS: usize = 1 << 14;
    let each = LOGITS.checked_div(classes).unwrap_or(0).max(1);
    (0..rows).step_by(each).map(move |begin| begin..rows.min(begin + each))
}

/// Returns the parts of `values` with the rows of each sequence, in order. All other values, the
/// padding, are set to 0.
pub(crate) fn split_rows<'a, T: Real>(values: &'a mut [T], rows: &[Range<usize>], width: usize) -> Vec<&'a mut [T]> {
    let (mut rest, mut end) = (values, 0);
    let part = |rows: &Range<usize>| {
        let (padding, behind) = std::mem::take(&mut rest).split_at_mut((rows.start - end) * width);
        padding.fill(T::ZERO);
        let (part, behind) = behind.split_at_mut(rows.len() * width);
        (rest, end) = (behind, rows.end);
        part
    };
    let parts = rows.iter().map(part).collect();
    rest.fill(T::ZERO);
    parts
}

/// The labels of a batch. Each is a class, and none is the blank.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    labels: Ragged<i32>,
    pub(crate) blank: usize,
}

impl Targets {
    pub(crate) fn new(labels: &Ragged<i32>, num_sequences: usize, classes: usize, blank: usize) -> Result<Self, Error> {
        check_labels(labels, num_sequences, classes, blank)?;
        Ok(Self { labels: labels.clone(), blank })
    }

    pub(crate) fn row(&self, sequence: usize) -> &[i32] {
        self.labels.row(sequence)
    }

    /// Allocates a buffer for the log-probabilities of the blank and of each label in each frame.
    fn emissions_of(&self, frames: usize, sequence: usize) -> Vec<f64> {
        memory::with_capacity(frames * (self.row(sequence).len() + 1))
    }

    /// Returns the log-probabilities of the blank and of each label in each frame, `[frame][1 +
    /// label]`.
    fn all_emissions<T: Real>(&self, sequence: usize, values: &[T], norms: &[Norm<T>]) -> Vec<f64> {
        let mut emissions = self.emissions_of(norms.len(), sequence);
        self.emissions(sequence, values, norms, &mut emissions);
        emissions
    }

    /// Appends the log-probabilities of some frames.
    fn emissions<T: Real>(&self, sequence: usize, values: &[T], norms: &[Norm<T>], emissions: &mut Vec<f64>) {
        let labels = self.row(sequence);
        for (row, norm) in values.chunks_exact(values.len().checked_div(norms.len()).unwrap_or(1)).zip(norms) {
            // One logarithm for the whole row.
            let log_norm = norm.sum.ln();
            let log_prob = |class: usize| (row[class] - norm.max).to_f64() - log_norm;
            emissions.push(log_prob(self.blank));
            emissions.extend(labels.iter().map(|&label| log_prob(class(label))));
        }
    }

    /// Returns the losses to report, given the log-probability of each sequence's labels.
    fn reduce(&self, totals: &[f64], frames: &[usize], options: &CtcOptions) -> Result<(Vec<f64>, Reduced), Error> {
        let loss = |(sequence, (&total, &frames)): (usize, (&f64, &usize))| {
            options.impossible.loss(sequence, -total, options.allow_nan, || {
                let labels = self.row(sequence);
                let needed = recursion::frames_needed(labels).max(frames);
                Error::TooShort { sequence, labels: labels.len(), frames, needed }
            })
        };
        let losses = totals.iter().zip(frames).enumerate().map(loss).collect::<Result<Vec<_>, _>>()?;
        Ok(Reduced::new(losses, options.reduction, &self.labels.lengths()))
    }
}

/// Rejects labels that are not classes or are the blank, and a number of lists that is not
/// `num_sequences`.
pub(crate) fn check_labels(
    labels: &Ragged<i32>,
    num_sequences: usize,
    classes: usize,
    blank: usize,
) -> Result<(), Error> {
    Error::check("the axes of the labels", 2, labels.num_axes())?;
    Error::check("the lists of labels", num_sequences, labels.num_rows())?;
    if blank >= classes {
        return Err(Error::Blank { blank, classes });
    }
    for (sequence, labels) in labels.rows().enumerate() {
        for (position, &label) in labels.iter().enumerate() {
            match usize::try_from(label) {
                Ok(class) if class == blank => return Err(Error::BlankLabel { sequence, position, blank }),
                Ok(class) if class < classes => {}
                _ => return Err(Error::Label { sequence, position, label, classes }),
            }
        }
    }
    Ok(())
}

/// Converts a label that was checked into an index.
#[inline]
pub(crate) fn class(label: i32) -> usize {
    label.cast_unsigned() as usize
}
