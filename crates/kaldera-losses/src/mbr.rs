//! Minimum Bayes risk over lattices: what all paths get wrong, on average.

use fsa::dense::DenseLattices;
use fsa::paths::{ArcPosteriorsSaved, arc_posteriors_saved};
use fsa::{FsaVec, Semiring};
use kaldera_base::math::exp_in_place;
use ragged_core::Ragged;

use crate::error::Error;
use crate::reduction::{Reduced, Reduction};

/// The mean over all paths of each FSA of the sum of `values` along it, where each path counts by
/// its probability. An FSA without paths has 0.
///
/// # Errors
/// As [`arc_posteriors_saved`]; [`Error::Count`] if there is not a value for each arc;
/// [`Error::Loss`] for a mean that is not finite, as of values that are not.
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

/// What the gradient of [`expected_values`] needs.
#[derive(Debug, Clone)]
pub struct ExpectedValuesSaved {
    posteriors: Vec<f64>,
    values: Vec<f64>,
    /// How many arcs each FSA has.
    lengths: Vec<usize>,
    saved: ArcPosteriorsSaved<f64>,
}

impl ExpectedValuesSaved {
    /// The derivative by the score of each arc, from that by each mean: the arc's posterior times
    /// what paths over it have more than all paths.
    ///
    /// # Errors
    /// [`Error::Count`] if there is not one for each FSA.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        Error::check("the derivatives by the means", self.lengths.len(), grad.len())?;
        let grads = self.lengths.iter().zip(grad).flat_map(|(&length, &grad)| std::iter::repeat_n(grad, length));
        let by_posteriors = grads.zip(&self.posteriors).zip(&self.values);
        let by_posteriors: Vec<f64> =
            by_posteriors.map(|((grad, posterior), value)| grad * posterior * value).collect();
        Ok(self.saved.backward(&by_posteriors)?)
    }
}

/// The risk of lattices: the mean over all paths of the sum over their frames of `risk`, which is
/// given the utterance, the frame and the class that a path takes there.
///
/// With a risk of 1 for classes of another phone than the reference has, this is MPFE; see
/// [`smbr_loss`]. The gradient is by the scores of the lattices' arcs;
/// [`DenseLattices::score_gradient`] brings it to the network's.
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
            // Epsilon arcs and those into the final state take no class.
            let frame = usize::try_from(frame).ok().filter(|_| class >= 0);
            values.push(frame.map_or(0.0, |frame| risk(utterance, frame, class)));
        }
    }
    let (means, saved) = expected_values(fsas, &values)?;
    let (loss, reduced) = Reduced::new(means, reduction, &[]);
    Ok((loss, MbrSaved { saved, reduced }))
}

/// State-level minimum Bayes risk: the expected number of frames whose class is not that of
/// `references`, `[utterance][frame]`. Kaldi maximizes the number of the other frames.
///
/// # Errors
/// [`Error::Count`] if there is not a reference for each utterance; [`Error::Rows`] for a reference
/// with fewer frames than its lattice; as [`mbr_loss`].
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
        // The final arcs have the frame behind the last one.
        let expected = frames.iter().copied().max().and_then(|last| usize::try_from(last).ok()).unwrap_or(0);
        if reference.len() < expected {
            return Err(Error::Rows { sequence, what: "the reference", expected, found: reference.len() });
        }
    }
    let differs =
        |utterance: usize, frame: usize, class| f64::from(u8::from(references.row(utterance)[frame] != class));
    mbr_loss(lattices, differs, reduction)
}

/// What the gradient of [`mbr_loss`] and [`smbr_loss`] needs.
#[derive(Debug, Clone)]
pub struct MbrSaved {
    saved: ExpectedValuesSaved,
    reduced: Reduced,
}

impl MbrSaved {
    /// The derivative by the score of each of the lattices' arcs, from that by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] if there is not one for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        self.saved.backward(&self.reduced.backward(grad)?)
    }
}
