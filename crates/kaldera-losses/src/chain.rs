//! LF-MMI as in Kaldi's chain models: a denominator with a leaky HMM.

mod denominator;
mod numerator;

use std::ops::Range;

use fsa::FsaVec;
use kaldera_base::{Real, memory, par, setters};

use crate::batch::{Batch, num_classes};
use crate::ctc::split_rows;
use crate::error::Error;
use crate::reduction::{Impossible, Reduced, Reduction};

pub use denominator::ChainDenominator;

/// Options of [`chain_loss`], with Kaldi's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ChainOptions {
    /// Probability, in each frame, that the HMM jumps to a state drawn from the initial
    /// probabilities.
    pub leaky_hmm_coefficient: f64,
    /// Factor of half the sum of the squares of the network's output, which is added to the loss.
    pub l2_regularize: f64,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of an utterance without a path in its numerator, or in the denominator.
    pub impossible: Impossible,
}

setters! {
    ChainOptions:
    leaky_hmm_coefficient, with_leaky_hmm_coefficient: f64 = 1e-5, "With a leaky-HMM coefficient; 0 for none.";
    l2_regularize, with_l2_regularize: f64 = 0.0, "With a regularization.";
    reduction, with_reduction: Reduction = Reduction::Sum, "With a reduction.";
    impossible, with_impossible: Impossible = Impossible::Infinite, "With this for utterances without path.";
}

/// Computes Kaldi's chain objective, negated: the logarithm of the sum over all paths of the
/// denominator, minus the same for an utterance's numerator. `output` has unnormalized
/// log-likelihoods of classes (pdf-ids) for each frame.
///
/// `numerators` has one FSA for each utterance. Its labels are classes, counted from 0 (Kaldi's
/// supervision counts from 1), and each of its paths takes one class in each frame. The
/// denominator's paths may end in any state. As in Kaldi, the denominator limits outputs to
/// -30..=30. Utterances are divided among threads, with the same result.
///
/// # Errors
/// [`Error::Count`] unless there is one numerator for each utterance, and if the denominator has
/// another number of classes; [`Error::Label`]; [`Error::Logit`] for outputs that are not finite;
/// [`Error::Option`]; [`Error::Loss`]; [`Error::TooShort`] with [`Impossible::Error`].
#[doc(alias = "ComputeChainObjfAndDeriv")]
pub fn chain_loss<'a, T: Real, B: Batch<T>>(
    output: &B,
    numerators: &FsaVec,
    denominator: &'a ChainDenominator,
    options: &ChainOptions,
) -> Result<(Vec<f64>, ChainSaved<'a, B>), Error> {
    let (rows, classes) = (output.rows()?, num_classes(output));
    Error::check("the numerators", rows.len(), numerators.num_fsas())?;
    Error::check("the classes of the denominator", classes, denominator.num_classes())?;
    let leaky = options.leaky_hmm_coefficient;
    Error::check_option("leaky_hmm_coefficient", leaky, (0.0..1.0).contains(&leaky), "0 or more, and below 1")?;
    let l2 = options.l2_regularize;
    Error::check_option("l2_regularize", l2, l2 >= 0.0 && l2.is_finite(), "0 or more")?;
    for (sequence, fsa) in numerators.iter().enumerate() {
        numerator::check(sequence, fsa, classes)?;
    }
    let one = |(sequence, rows): (usize, Range<usize>)| {
        let values = finite(sequence, &output.values()[rows.start * classes..rows.end * classes], classes)?;
        let num = numerator::total(numerators.fsa(sequence), &values, classes);
        let den = denominator.total(&values, leaky);
        let squares: f64 = values.iter().map(|x| x * x).sum();
        let is_possible = num != f64::NEG_INFINITY && den != f64::NEG_INFINITY;
        let loss = if is_possible { den - num + 0.5 * l2 * squares } else { f64::INFINITY };
        options.impossible.loss(sequence, loss, false, || Error::TooShort {
            sequence,
            labels: 0,
            frames: rows.len(),
            needed: rows.len(),
        })
    };
    let losses: Result<Vec<f64>, Error> =
        par::map(rows.iter().cloned().enumerate().collect(), one).into_iter().collect();
    let (loss, reduced) = Reduced::new(losses?, options.reduction, &[]);
    let saved = ChainSaved {
        output: output.clone(),
        rows,
        numerators: numerators.clone(),
        denominator,
        options: options.clone(),
        reduced,
    };
    Ok((loss, saved))
}

/// Converts the number of an FSA's state, which is never negative.
fn state(number: i32) -> usize {
    number.cast_unsigned() as usize
}

/// Converts the outputs to double precision.
fn finite<T: Real>(sequence: usize, values: &[T], classes: usize) -> Result<Vec<f64>, Error> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Error::Logit { sequence, row: at / classes, class: at % classes, logit: values[at].to_f64() }),
        None => Ok(values.iter().map(|x| x.to_f64()).collect()),
    }
}

/// Values that the gradient of [`chain_loss`] needs.
#[derive(Debug, Clone)]
pub struct ChainSaved<'a, B> {
    output: B,
    rows: Vec<Range<usize>>,
    numerators: FsaVec,
    denominator: &'a ChainDenominator,
    options: ChainOptions,
    reduced: Reduced,
}

impl<B> ChainSaved<'_, B> {
    /// Returns the derivative by the network's output, given the derivative by each loss: the
    /// denominator's posteriors minus the numerator's.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward<T: Real>(&self, grad: &[f64]) -> Result<B, Error>
    where
        B: Batch<T>,
    {
        let grads = self.reduced.backward(grad)?;
        let classes = num_classes(&self.output);
        let mut values: Vec<T> = memory::zeros(self.output.values().len());
        let parts = split_rows(&mut values, &self.rows, classes);
        let work: Vec<_> = parts.into_iter().enumerate().collect();
        let done = par::map(work, |(sequence, to): (usize, &mut [T])| {
            let (grad, rows) = (grads[sequence], &self.rows[sequence]);
            if grad == 0.0 {
                return Ok(());
            }
            let values = finite(sequence, &self.output.values()[rows.start * classes..rows.end * classes], classes)?;
            let mut sums = vec![0.0; values.len()];
            let leaky = self.options.leaky_hmm_coefficient;
            if !numerator::add_posteriors(self.numerators.fsa(sequence), &values, classes, -grad, &mut sums)
                || !self.denominator.add_posteriors(&values, leaky, grad, &mut sums)
            {
                return Ok(());
            }
            for ((to, sum), x) in to.iter_mut().zip(sums).zip(values) {
                *to = T::from_f64(sum + grad * self.options.l2_regularize * x);
            }
            Ok(())
        });
        done.into_iter().collect::<Result<Vec<()>, Error>>()?;
        self.output.with_values(values)
    }
}
