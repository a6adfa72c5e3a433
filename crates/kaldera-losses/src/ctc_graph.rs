//! CTC over any graph of transcripts, as in k2.

use fsa::dense::{DenseFsaVec, DenseLattices, intersect_dense};
use fsa::{FINAL, FsaVec, Fsas, Graph};
use kaldera_base::setters;

use crate::error::Error;
use crate::graph_totals::GraphTotals;
use crate::reduction::{Impossible, Reduced, Reduction};

/// Options of [`ctc_loss_graph`], with k2's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CtcGraphOptions {
    /// Paths that are worse than the best one by more than this are ignored. Infinity: none is.
    pub output_beam: f32,
    /// Penalty on the score of an arc that outputs a label, per frame of delay: `delay_penalty
    /// (frame - frames / 2)` is subtracted, with half the number of frames rounded down. Such an
    /// arc has an output label above 0. If the graphs have k2's attribute `_is_repeat_token_`, it
    /// is instead an arc with a label above 0 and a 0 in that attribute.
    pub delay_penalty: f64,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of an utterance without a path.
    pub impossible: Impossible,
}

setters! {
    CtcGraphOptions:
    output_beam, with_output_beam: f32 = 10.0, "With an output beam.";
    delay_penalty, with_delay_penalty: f64 = 0.0, "With a delay penalty.";
    reduction, with_reduction: Reduction = Reduction::Sum, "With a reduction.";
    impossible, with_impossible: Impossible = Impossible::Infinite, "With this for utterances without path.";
}

/// Computes minus the logarithm of the sum over all paths of each utterance's graph. With
/// [`ctc_graph`](fsa::graphs::ctc_graph) of the labels it equals [`ctc_loss`](crate::ctc_loss), but
/// any topology with any weights is possible. `dense` has log-probabilities. A mean divides each
/// loss by its entry of `target_lengths`.
///
/// ```
/// use fsa::dense::DenseFsaVec;
/// use fsa::graphs::ctc_graph;
/// use kaldera_losses::{CtcGraphOptions, ctc_loss_graph};
/// use ragged_core::Ragged;
///
/// let log_probs = [0.2_f32, 0.8, 0.5, 0.5].map(f32::ln); // two frames of the blank and one label
/// let graph = ctc_graph(&Ragged::from_lists(&[vec![1]])?, false)?;
/// let dense = DenseFsaVec::from_frames(&log_probs, 2)?;
/// let (loss, saved) = ctc_loss_graph(&graph, &dense, &[1], &CtcGraphOptions::default())?;
/// assert!((loss[0] + 0.9_f64.ln()).abs() < 1e-6); // all but two blanks
/// assert_eq!(saved.backward(&[1.0])?.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`intersect_dense`]; [`Error::Utterance`] for scores that are NaN; [`Error::Count`] unless
/// there is one length for each utterance; [`Error::Option`] for a delay penalty if the graphs do
/// not say which arcs output a label; [`Error::Loss`]; [`Error::TooShort`] with
/// [`Impossible::Error`].
#[doc(alias = "ctc_loss")]
pub fn ctc_loss_graph<'a, F: Fsas>(
    graphs: &Graph<F>,
    dense: &DenseFsaVec<'a>,
    target_lengths: &[usize],
    options: &CtcGraphOptions,
) -> Result<(Vec<f64>, CtcGraphSaved<'a>), Error> {
    Error::check("the lengths of targets", dense.num_utterances(), target_lengths.len())?;
    Error::check_range("delay_penalty", options.delay_penalty)?;
    let sums = GraphTotals::new(intersect_dense(graphs, dense, options.output_beam)?, |lattices| {
        match options.delay_penalty {
            0.0 => Ok(lattices.graph().fsas().clone()),
            penalty => penalized(lattices, dense, penalty),
        }
    })?;
    let loss = |(sequence, &total): (usize, &f64)| {
        options.impossible.loss(sequence, -total, false, || {
            let frames = dense.segments()[sequence].duration;
            Error::TooShort { sequence, labels: target_lengths[sequence], frames, needed: frames }
        })
    };
    let losses = sums.totals.iter().enumerate().map(loss).collect::<Result<Vec<_>, _>>()?;
    let (loss, reduced) = Reduced::new(losses, options.reduction, target_lengths);
    Ok((loss, CtcGraphSaved { sums, dense: dense.clone(), reduced }))
}

/// k2's name of the attribute that is not 0 if an arc repeats the token of the frame before: output
/// labels of phones do not show it.
const IS_REPEAT: &str = "_is_repeat_token_";

/// Returns the lattices with a penalty for each frame of delay of an output label.
fn penalized(lattices: &DenseLattices, dense: &DenseFsaVec<'_>, penalty: f64) -> Result<FsaVec, Error> {
    let (graph, fsas) = (lattices.graph(), lattices.graph().fsas());
    let outputs_label: Vec<bool> = match (graph.attributes().ints(IS_REPEAT), graph.aux_labels()) {
        (Some(repeats), _) => {
            let labels = fsas.iter().flat_map(|fsa| fsa.arcs().iter().map(|arc| arc.label));
            labels.zip(repeats).map(|(label, &repeats)| label != 0 && label != FINAL && repeats == 0).collect()
        }
        (None, Some(outputs)) => outputs.iter().map(|&output| output > 0).collect(),
        (None, None) => {
            let expected = "0 for graphs without an output label for each arc (`aux_labels`)";
            return Err(Error::Option { option: "delay_penalty", found: penalty, expected });
        }
    };
    let (mut scores, mut arc) = (fsas.scores(), 0);
    for (fsa, segment) in fsas.iter().zip(dense.segments()) {
        for _ in fsa.arcs() {
            if outputs_label[arc] {
                let delay = f64::from(lattices.frames()[arc]) - (segment.duration / 2) as f64;
                scores[arc] = to_single(f64::from(scores[arc]) - penalty * delay);
            }
            arc += 1;
        }
    }
    Ok(fsas.with_scores(&scores)?)
}

/// Converts to single precision, the type of an FSA's scores.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the type of scores is meant")]
fn to_single(score: f64) -> f32 {
    score as f32
}

/// Values that the gradient of [`ctc_loss_graph`] needs.
#[derive(Debug, Clone)]
pub struct CtcGraphSaved<'a> {
    sums: GraphTotals,
    dense: DenseFsaVec<'a>,
    reduced: Reduced,
}

impl CtcGraphSaved<'_> {
    /// Returns the derivative by each value of `dense`, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        self.sums.by_scores(&self.negated(grad)?, &self.dense)
    }

    /// Returns the derivative by the score of each of the graphs' `num_arcs` arcs.
    ///
    /// # Errors
    /// As [`backward`](Self::backward); [`Error::Fsa`] if there are fewer arcs.
    pub fn backward_to_graph(&self, grad: &[f64], num_arcs: usize) -> Result<Vec<f64>, Error> {
        let arcs = self.sums.by_arcs(&self.negated(grad)?)?;
        Ok(self.sums.lattices.graph_gradient(&arcs, num_arcs)?)
    }

    fn negated(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.reduced.backward(grad)?.into_iter().map(|grad| -grad).collect())
    }
}
