//! Minimum word error rate over the n best paths of lattices.

use std::ops::Range;

use fsa::paths::{Nbest, levenshtein_alignment};
use fsa::{Attribute, FsaVec, Fsas, Graph};
use kaldera_base::math::log_softmax;
use kaldera_base::setters;
use ragged_core::Ragged;

use crate::error::Error;
use crate::reduction::{Reduced, Reduction};

/// Options of [`mwer_loss`], with k2's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct MwerOptions {
    /// Divisor of the scores, before they become probabilities.
    pub temperature: f64,
    /// Reduction of the terms, one for each path; as in k2, a mean is over paths.
    pub reduction: Reduction,
}

setters! {
    MwerOptions:
    temperature, with_temperature: f64 = 1.0, "With a temperature.";
    reduction, with_reduction: Reduction = Reduction::Sum, "With a reduction.";
}

/// Computes the expected number of word errors: for each path of an utterance, its probability
/// among these paths times its edit distance from the reference. `references` are
/// `[utterance][word]`.
///
/// ```
/// use fsa::paths::Nbest;
/// use fsa::{Arc, Fsa, Graph};
/// use kaldera_losses::{MwerOptions, mwer_loss};
/// use ragged_core::Ragged;
///
/// let lattice = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, 0.0), Arc::new(0, 1, 8, 0.0), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// let nbest = Nbest::best(&Graph::new(lattice), 10)?;
/// let (loss, _) = mwer_loss(&nbest, &Ragged::from_lists(&[vec![7]])?, &MwerOptions::default())?;
/// assert!((loss[0] - 0.5).abs() < 1e-12); // one of two paths has one error
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Count`] unless there is one reference for each utterance; [`Error::Option`] unless the
/// temperature is above 0; [`Error::Fsa`] for words below 1; [`Error::Loss`] for a temperature that
/// makes scores infinite.
#[doc(alias = "MWERLoss")]
pub fn mwer_loss(
    nbest: &Nbest,
    references: &Ragged<i32>,
    options: &MwerOptions,
) -> Result<(Vec<f64>, MwerSaved), Error> {
    let is_good = options.temperature > 0.0 && options.temperature.is_finite();
    Error::check_option("temperature", options.temperature, is_good, "above 0")?;
    let utterances = nbest.utterances();
    Error::check("the references", utterances.num_rows(), references.num_rows())?;
    let aligned = levenshtein_alignment(references, &nbest.words().remove_axis(0)?, &utterances.to_row_ids())?;
    let distances = aligned.fsas().iter().map(|path| -path.arcs().iter().map(|arc| f64::from(arc.score)).sum::<f64>());
    let errors: Vec<f64> = distances.collect();
    let scores = nbest.total_scores();
    let mut probs: Vec<f64> = scores.values().iter().map(|score| score / options.temperature).collect();
    for paths in utterances.rows() {
        log_softmax(&mut probs[paths]);
    }
    probs.iter_mut().for_each(|x| *x = x.exp());
    for (sequence, paths) in utterances.rows().enumerate() {
        let loss: f64 = probs[paths].iter().sum();
        if loss.is_nan() {
            return Err(Error::Loss { sequence, loss });
        }
    }
    let terms: Vec<f64> = probs.iter().zip(&errors).map(|(prob, errors)| prob * errors).collect();
    let (loss, reduced) = Reduced::new(terms, options.reduction, &[]);
    let paths = utterances.rows().collect();
    let saved = MwerSaved { probs, errors, paths, temperature: options.temperature, reduced };
    Ok((loss, saved))
}

/// Values that the gradient of [`mwer_loss`] needs.
#[derive(Debug, Clone)]
pub struct MwerSaved {
    probs: Vec<f64>,
    errors: Vec<f64>,
    /// The paths of each utterance.
    paths: Vec<Range<usize>>,
    temperature: f64,
    reduced: Reduced,
}

impl MwerSaved {
    /// Returns the number of word errors of each path.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// Returns the derivative by the total score of each path, given the derivative by each loss.
    /// It equals the derivative by the score of each arc of the path.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        let mut grads = self.reduced.backward(grad)?;
        for paths in &self.paths {
            let (probs, errors) = (&self.probs[paths.clone()], &self.errors[paths.clone()]);
            let of_utterance = &mut grads[paths.clone()];
            of_utterance.iter_mut().zip(errors).for_each(|(grad, errors)| *grad *= errors);
            let mean: f64 = of_utterance.iter().zip(probs).map(|(grad, prob)| grad * prob).sum();
            for (grad, prob) in of_utterance.iter_mut().zip(probs) {
                *grad = prob * (*grad - mean) / self.temperature;
            }
        }
        Ok(grads)
    }
}

/// Computes [`mwer_loss`] over `num_paths` paths of each lattice, chosen by [`Nbest::from_lattice`]
/// with `nbest_scale`, or the best ones without a scale. The gradient is by the lattices' arcs.
///
/// # Errors
/// As [`mwer_loss`], [`Nbest::from_lattice`] and [`Nbest::best`].
pub fn mwer_loss_lattice<F: Fsas>(
    lattice: &Graph<F>,
    references: &Ragged<i32>,
    num_paths: usize,
    nbest_scale: Option<f32>,
    options: &MwerOptions,
) -> Result<(Vec<f64>, MwerLatticeSaved), Error> {
    let fsas: &FsaVec = lattice.fsas().as_fsa_vec();
    // Each arc carries its number, so that arcs of the paths refer to arcs of the lattice.
    let numbers: Vec<i32> = (0..).take(fsas.num_arcs()).collect();
    let numbered = Graph::from_parts(fsas.clone(), lattice.attributes().clone())?.with(ARCS, numbers)?;
    let nbest = match nbest_scale {
        Some(scale) => Nbest::from_lattice(&numbered, num_paths, scale)?,
        None => Nbest::best(&numbered, num_paths)?,
    };
    let (loss, saved) = mwer_loss(&nbest, references, options)?;
    let numbers = match nbest.paths().attributes().get(ARCS) {
        Some(Attribute::Ints { values, .. }) => values.to_vec(),
        _ => Vec::new(),
    };
    let lengths = nbest.paths().fsas().iter().map(|path| path.arcs().len()).collect();
    Ok((loss, MwerLatticeSaved { saved, numbers, lengths, num_arcs: fsas.num_arcs() }))
}

/// The attribute with the number of the lattice's arc.
const ARCS: &str = "mwer_lattice_arcs";

/// Values that the gradient of [`mwer_loss_lattice`] needs.
#[derive(Debug, Clone)]
pub struct MwerLatticeSaved {
    saved: MwerSaved,
    /// The lattice's arc for each arc of the paths.
    numbers: Vec<i32>,
    /// Number of arcs of each path.
    lengths: Vec<usize>,
    num_arcs: usize,
}

impl MwerLatticeSaved {
    /// Returns the derivative by the score of each of the lattice's arcs, given the derivative by
    /// each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        let by_paths = self.saved.backward(grad)?;
        let mut by_arcs = vec![0.0; self.num_arcs];
        let grads = by_paths.iter().zip(&self.lengths).flat_map(|(&grad, &length)| std::iter::repeat_n(grad, length));
        for (grad, &arc) in grads.zip(&self.numbers) {
            if let Some(sum) = usize::try_from(arc).ok().and_then(|arc| by_arcs.get_mut(arc)) {
                *sum += grad;
            }
        }
        Ok(by_arcs)
    }
}
