//! LF-MMI over graphs, as in k2.

use fsa::dense::{DenseFsaVec, DenseOptions, intersect_dense, intersect_dense_pruned};
use fsa::{Fsas, Graph};
use kaldera_base::setters;

use crate::error::Error;
use crate::graph_totals::GraphTotals;
use crate::reduction::{Impossible, Reduced, Reduction};

/// Options of [`mmi_loss`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct MmiOptions {
    /// Factor of the denominator's total.
    pub den_scale: f64,
    /// Paths of the numerator that are worse than its best one by more than this are ignored.
    pub num_beam: f32,
    /// Options of the search over the denominator.
    pub den: DenseOptions,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of an utterance without a path in its numerator, or in the denominator.
    pub impossible: Impossible,
}

setters! {
    MmiOptions:
    den_scale, with_den_scale: f64 = 1.0, "With this weight of the denominator.";
    num_beam, with_num_beam: f32 = 10.0, "With a beam of the numerator.";
    den, with_den: DenseOptions = DenseOptions::default(), "With a search of the denominator.";
    reduction, with_reduction: Reduction = Reduction::default(), "With a reduction.";
    impossible, with_impossible: Impossible = Impossible::default(), "With this for utterances without path.";
}

/// Computes lattice-free MMI, negated: the total of an utterance's numerator minus the scaled total
/// of the denominator, `-(total(num) - den_scale total(den))`. `numerators` has one graph for each
/// utterance, its transcript; `denominator` is one graph of all word sequences.
///
/// For Kaldi's objective, with a leaky HMM, see [`chain_loss`](crate::chain_loss).
///
/// # Errors
/// As [`intersect_dense`]; [`Error::Utterance`]; [`Error::Option`]; [`Error::Loss`];
/// [`Error::TooShort`] with [`Impossible::Error`].
pub fn mmi_loss<'a, F: Fsas, G: Fsas>(
    numerators: &Graph<F>,
    denominator: &Graph<G>,
    dense: &DenseFsaVec<'a>,
    options: &MmiOptions,
) -> Result<(Vec<f64>, MmiSaved<'a>), Error> {
    let plain = |lattices: &fsa::dense::DenseLattices| Ok(lattices.graph().fsas().clone());
    Error::check_range("den_scale", options.den_scale)?;
    let num = GraphTotals::new(intersect_dense(numerators, dense, options.num_beam)?, plain)?;
    let den = GraphTotals::new(intersect_dense_pruned(denominator, dense, &options.den)?, plain)?;
    let has_paths = |&total: &f64| total != f64::NEG_INFINITY;
    let is_possible: Vec<bool> =
        num.totals.iter().zip(&den.totals).map(|(num, den)| has_paths(num) && has_paths(den)).collect();
    let loss = |(sequence, (&num, &den)): (usize, (&f64, &f64))| {
        let loss = if is_possible[sequence] { options.den_scale * den - num } else { f64::INFINITY };
        options.impossible.loss(sequence, loss, false, || {
            let frames = dense.segments()[sequence].duration;
            Error::TooShort { sequence, labels: 0, frames, needed: frames }
        })
    };
    let losses = num.totals.iter().zip(&den.totals).enumerate().map(loss).collect::<Result<Vec<_>, _>>()?;
    let (loss, reduced) = Reduced::new(losses, options.reduction, &[]);
    Ok((loss, MmiSaved { num, den, den_scale: options.den_scale, is_possible, dense: dense.clone(), reduced }))
}

/// Values that the gradient of [`mmi_loss`] needs.
#[derive(Debug, Clone)]
pub struct MmiSaved<'a> {
    num: GraphTotals,
    den: GraphTotals,
    den_scale: f64,
    is_possible: Vec<bool>,
    dense: DenseFsaVec<'a>,
    reduced: Reduced,
}

impl MmiSaved<'_> {
    /// Returns the derivative by each value of `dense`, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        let grads = self.reduced.backward(grad)?;
        let scaled = |scale: f64| {
            let of = |(&grad, &possible): (&f64, &bool)| if possible { scale * grad } else { 0.0 };
            grads.iter().zip(&self.is_possible).map(of).collect::<Vec<_>>()
        };
        let mut by_scores = self.num.by_scores(&scaled(-1.0), &self.dense)?;
        let by_den = self.den.by_scores(&scaled(self.den_scale), &self.dense)?;
        by_scores.iter_mut().zip(by_den).for_each(|(sum, x)| *sum += x);
        Ok(by_scores)
    }
}
