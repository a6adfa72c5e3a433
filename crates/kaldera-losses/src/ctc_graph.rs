//! CTC over any graph of transcripts, as k2 has it.

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
    /// Paths that are worse than the best one by more than this do not count. Infinity: all count.
    pub output_beam: f32,
    /// How much less an arc that outputs a label scores for each frame that it comes later:
    /// `delay_penalty (frame - frames / 2)` is taken from its score, where half the frames are
    /// rounded down. Such an arc has an output label above 0. Where the graphs have k2's attribute
    /// `_is_repeat_token_`, it has instead a label above 0 and a 0 there.
    pub delay_penalty: f64,
    /// What becomes of the losses.
    pub reduction: Reduction,
    /// What an utterance without path has.
    pub impossible: Impossible,
}

impl Default for CtcGraphOptions {
    fn default() -> Self {
        Self { output_beam: 10.0, delay_penalty: 0.0, reduction: Reduction::Sum, impossible: Impossible::Infinite }
    }
}

setters! {
    CtcGraphOptions:
    output_beam, with_output_beam: f32, "With an output beam.";
    delay_penalty, with_delay_penalty: f64, "With a delay penalty.";
    reduction, with_reduction: Reduction, "With a reduction.";
    impossible, with_impossible: Impossible, "With this for utterances without path.";
}

/// Minus the logarithm of the sum over all paths of each utterance's graph: of
/// [`ctc_graph`](fsa::graphs::ctc_graph) of its labels it is [`ctc_loss`](crate::ctc_loss), and any
/// topology with any weights will do. `dense` has log-probabilities, `target_lengths` are what a
/// mean divides each loss by.
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
/// As [`intersect_dense`]; [`Error::Utterance`] for scores that are NaN; [`Error::Count`] if there
/// is not a length for each utterance; [`Error::Option`] for a delay penalty and graphs that do not
/// say which arcs output a label; [`Error::Loss`]; [`Error::TooShort`] if asked for.
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

/// k2's name of the attribute that is not 0 where an arc repeats the token of the frame before:
/// output labels of phones do not tell.
const IS_REPEAT: &str = "_is_repeat_token_";

/// The lattices with a penalty for each frame that an output label comes later.
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

/// Scores of FSAs are in single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the type of scores is meant")]
fn to_single(score: f64) -> f32 {
    score as f32
}

/// What the gradient of [`ctc_loss_graph`] needs.
#[derive(Debug, Clone)]
pub struct CtcGraphSaved<'a> {
    sums: GraphTotals,
    dense: DenseFsaVec<'a>,
    reduced: Reduced,
}

impl CtcGraphSaved<'_> {
    /// The derivative by each of the values of `dense`, from that by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] if there is not one for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        self.sums.by_scores(&self.negated(grad)?, &self.dense)
    }

    /// The derivative by the score of each of the graphs' arcs, of which there are `num_arcs`.
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
