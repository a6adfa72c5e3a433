//! Minimum Bayes risk over lattices: the expected error of all paths.

use fsa::dense::DenseLattices;
use fsa::paths::{ArcPosteriorsSaved, arc_posteriors_saved};
use fsa::{FsaVec, Semiring};
use kaldera_base::math::exp_in_place;
use ragged_core::Ragged;

use crate::error::Error;
use crate::reduction::{Reduced, Reduction};

/// Computes the expected sum of `values` along the paths of each FSA, weighted by the probability
/// of each path. It is 0 for an FSA without paths.
///
/// # Errors
/// As [`arc_posteriors_saved`]; [`Error::Count`] unless there is one value for each arc;
/// [`Error::Loss`] for a mean that is not finite, for example if a value is not.
pub fn expected_values(fsas: &FsaVec, values: &[f64]) -> Result<(Vec<f64>, ExpectedValuesSaved), Error> {
    Error::check("the values", fsas.num_arcs(), values.len())?;
    let (mut posteriors, saved) = arc_posteriors_saved::<f64, _>(fsas, Semiring::Log)?;
    exp_in_place(&mut posteriors);
    posteriors.iter_mut().filter(|posterior| posterior.is_nan()).for_each(|posterior| *posterior = 0.0);
    let (mut means, mut lengths) = (Vec::with_capacity(fsas.num_fsas()), Vec::with_capacity(fsas.num_fsas()));
    let mut arcs = posteriors.iter().zip(values);
    for fsa in fsas.iter() {
        let mean: f64 = arcs.by_ref().take(fsa.arcs().len()).map(|(posterior, value)| posterior * value).sum();
        if !mean.is_finite() {
            return Err(Error::Loss { sequence: means.len(), loss: mean });
        }
        means.push(mean);
        lengths.push(fsa.arcs().len());
    }
    Ok((means, ExpectedValuesSaved { posteriors, values: values.to_vec(), lengths, saved }))
}

/// Values that the gradient of [`expected_values`] needs.
#[derive(Debug, Clone)]
pub struct ExpectedValuesSaved {
    posteriors: Vec<f64>,
    values: Vec<f64>,
    /// Number of arcs of each FSA.
    lengths: Vec<usize>,
    saved: ArcPosteriorsSaved<f64>,
}

impl ExpectedValuesSaved {
    /// Returns the derivative by the score of each arc, given the derivative by each mean: the
    /// arc's posterior times the difference of two means, over the paths with the arc and over all
    /// paths.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each FSA.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        Error::check("the derivatives by the means", self.lengths.len(), grad.len())?;
        let grads = self.lengths.iter().zip(grad).flat_map(|(&length, &grad)| std::iter::repeat_n(grad, length));
        let by_posteriors = grads.zip(&self.posteriors).zip(&self.values);
        let by_posteriors: Vec<f64> =
            by_posteriors.map(|((grad, posterior), value)| grad * posterior * value).collect();
        Ok(self.saved.backward(&by_posteriors)?)
    }
}

/// Computes the risk of lattices: the expected sum of `risk` over the frames of a path. `risk`
/// takes the utterance, the frame, and the class of the path in it.
///
/// With a risk of 1 for classes of another phone than the reference's, this is MPFE; see
/// [`smbr_loss`]. The gradient is by the scores of the lattices' arcs;
/// [`DenseLattices::score_gradient`] converts it to one by the network's scores.
///
/// # Errors
/// As [`expected_values`].
pub fn mbr_loss(
    lattices: &DenseLattices,
    risk: impl Fn(usize, usize, i32) -> f64,
    reduction: Reduction,
) -> Result<(Vec<f64>, MbrSaved), Error> {
    let fsas = lattices.graph().fsas();
    let classes = lattices.classes();
    let mut taken = lattices.frames().iter().zip(&classes);
    let mut values = Vec::with_capacity(fsas.num_arcs());
    for (utterance, fsa) in fsas.iter().enumerate() {
        for (&frame, &class) in taken.by_ref().take(fsa.arcs().len()) {
            // Epsilon arcs and arcs into the final state take no class.
            let frame = usize::try_from(frame).ok().filter(|_| class >= 0);
            values.push(frame.map_or(0.0, |frame| risk(utterance, frame, class)));
        }
    }
    let (means, saved) = expected_values(fsas, &values)?;
    let (loss, reduced) = Reduced::new(means, reduction, &[]);
    Ok((loss, MbrSaved { saved, reduced }))
}

/// Computes state-level minimum Bayes risk: the expected number of frames whose class differs from
/// the one in `references`, `[utterance][frame]`. Kaldi maximizes the number of the other frames.
///
/// # Errors
/// [`Error::Count`] unless there is one reference for each utterance; [`Error::Rows`] for a
/// reference with fewer frames than its lattice; as [`mbr_loss`].
pub fn smbr_loss(
    lattices: &DenseLattices,
    references: &Ragged<i32>,
    reduction: Reduction,
) -> Result<(Vec<f64>, MbrSaved), Error> {
    let fsas = lattices.graph().fsas();
    Error::check("the references", fsas.num_fsas(), references.num_rows())?;
    let mut arc = 0;
    for (sequence, (fsa, reference)) in fsas.iter().zip(references.rows()).enumerate() {
        let frames = &lattices.frames()[arc..arc + fsa.arcs().len()];
        arc += fsa.arcs().len();
        // The final arcs have the frame after the last one.
        let expected = frames.iter().copied().max().and_then(|last| usize::try_from(last).ok()).unwrap_or(0);
        if reference.len() < expected {
            return Err(Error::Rows { sequence, what: "the reference", expected, found: reference.len() });
        }
    }
    let differs =
        |utterance: usize, frame: usize, class| f64::from(u8::from(references.row(utterance)[frame] != class));
    mbr_loss(lattices, differs, reduction)
}

/// Values that the gradient of [`mbr_loss`] and [`smbr_loss`] needs.
#[derive(Debug, Clone)]
pub struct MbrSaved {
    saved: ExpectedValuesSaved,
    reduced: Reduced,
}

impl MbrSaved {
    /// Returns the derivative by the score of each of the lattices' arcs, given the derivative by
    /// each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        self.saved.backward(&self.reduced.backward(grad)?)
    }
}
