//! The RNN-T family: one recursion over a trellis, for several sources of its scores.
//!
//! ```text
//!            frame 0     1     2     3          px: emits the next symbol
//!   symbol 0   o--py->o---->o---->o             py: emits the blank, goes on to the next frame
//!              |px    |     |     |
//!   symbol 1   o---->o---->o---->o              regular:  px stays in its frame
//!              |      |     |     |             modified: px goes on to the next frame, so that a
//!   symbol 2   o---->o---->o---->o  end                   frame emits one symbol at most
//! ```
//!
//! | loss | source of the scores |
//! |---|---|
//! | [`rnnt_loss`] | a joiner's logits for each frame and symbol |
//! | [`rnnt_loss_pruned`] | a joiner's logits for each frame and a few symbols, [`PruneRanges`] |
//! | [`rnnt_loss_simple`] | the sum of an encoder's and a decoder's logits, which is not stored |
//! | [`rnnt_loss_smoothed`] | the same, mixed with the scores of each of the two |
//! | [`tdt_loss`] | a joiner's logits for each frame and symbol, and for durations |
//! | [`mutual_information_recursion`] | given scores |

mod joiner;
mod logits;
mod mutual_information;
mod ranges;
mod simple;
mod tdt;
mod trellis;

pub use joiner::{RnntSaved, rnnt_loss, rnnt_loss_pruned};
pub use mutual_information::{
    MutualInformationSaved, joint_mutual_information_recursion, mutual_information_recursion,
};
pub use ranges::{PruneRanges, PruningSaved, do_rnnt_pruning, get_rnnt_prune_ranges};
pub use simple::{SimpleRnntSaved, rnnt_loss_simple, rnnt_loss_smoothed};
pub use tdt::{TdtOptions, TdtSaved, tdt_loss};
pub use trellis::{RnntType, Trellis};

use kaldera_base::{par, setters};

use crate::error::Error;
use crate::reduction::{Impossible, Reduced, Reduction};

/// Options of the RNN-T losses, with k2's defaults.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct RnntOptions {
    /// The class of the blank. k2: `termination_symbol`.
    pub blank: usize,
    /// Arcs of the trellis.
    pub rnnt_type: RnntType,
    /// Penalty on the score of a symbol per frame of delay; k2's `delay_penalty`. It adds
    /// `delay_penalty ((T - 1) / 2 - t)` to the score of a symbol in frame t of T.
    pub delay_penalty: f64,
    /// Relative increase of the gradient of symbols, FastEmit's lambda (Yu et al. 2021). The loss
    /// does not change.
    pub fastemit_lambda: f64,
    /// Limit of the gradient of each sequence's loss: entries are limited to -clamp..=clamp;
    /// torchaudio's `clamp`, where -1 means none.
    pub clamp: Option<f64>,
    /// `true` if the blank has its own sigmoid, and the softmax is over the other classes: the
    /// hybrid autoregressive transducer, k2's `use_hat_loss`. Only for a joiner's logits.
    pub use_hat_loss: bool,
    /// Reduction of the losses.
    pub reduction: Reduction,
    /// Loss of a sequence without an alignment: one without frames, or with more symbols than
    /// frames if a frame emits at most one.
    pub impossible: Impossible,
    /// `true` if NaN and plus infinity among the logits of a sequence make its loss and its
    /// gradient NaN, as in PyTorch, and leave the other sequences unchanged. Otherwise they are
    /// [`Error::Logit`].
    pub allow_nan: bool,
}

setters! {
    RnntOptions:
    blank, with_blank: usize, "With this class for the blank.";
    rnnt_type, with_rnnt_type: RnntType, "With these arcs.";
    delay_penalty, with_delay_penalty: f64, "With a delay penalty.";
    fastemit_lambda, with_fastemit_lambda: f64, "With FastEmit.";
    clamp, with_clamp: Option<f64>, "With a clamped gradient.";
    use_hat_loss, with_use_hat_loss: bool, "With a sigmoid for the blank.";
    reduction, with_reduction: Reduction, "With a reduction.";
    impossible, with_impossible: Impossible, "With this for sequences without alignment.";
    allow_nan, with_allow_nan: bool, "With losses of NaN instead of an error.";
}

impl RnntOptions {
    fn check(&self) -> Result<(), Error> {
        Error::check_range("delay_penalty", self.delay_penalty)?;
        Error::check_range("fastemit_lambda", self.fastemit_lambda)?;
        check_clamp(self.clamp)
    }

    /// Returns the term that is added to the score of a symbol in a frame.
    fn emission_bonus(&self, frame: usize, num_frames: usize) -> f64 {
        // Without a penalty the term is 0, and its addition does not round.
        self.delay_penalty * ((num_frames as f64 - 1.0) / 2.0 - frame as f64)
    }
}

fn check_clamp(clamp: Option<f64>) -> Result<(), Error> {
    let clamp = clamp.unwrap_or(0.0);
    Error::check_option("clamp", clamp, clamp >= 0.0, "0 or more, or None")
}

/// Result of the recursion for a batch.
#[derive(Debug, Clone)]
struct Summed {
    /// The occupation of each arc: the probability that a path has it.
    occupations: Vec<Trellis>,
    reduced: Reduced,
}

/// Computes the losses of trellises, and the occupation of their arcs.
fn sum_up(
    trellises: Vec<Trellis>,
    reduction: Reduction,
    impossible: Impossible,
    allow_nan: bool,
) -> Result<(Vec<f64>, Summed), Error> {
    let (totals, occupations): (Vec<f64>, Vec<Trellis>) =
        par::map(trellises, Trellis::into_occupation).into_iter().unzip();
    let loss = |(sequence, (total, trellis)): (usize, (&f64, &Trellis))| {
        let (labels, frames) = (trellis.num_symbols(), trellis.num_frames());
        let needed = if trellis.rnnt_type() == RnntType::Regular { 1 } else { labels.max(1) };
        let too_short = || Error::TooShort { sequence, labels, frames, needed: needed.max(frames) };
        impossible.loss(sequence, -total, allow_nan, too_short)
    };
    let losses = totals.iter().zip(&occupations).enumerate().map(loss).collect::<Result<Vec<_>, _>>()?;
    let (loss, reduced) = Reduced::new(losses, reduction, &[]);
    Ok((loss, Summed { occupations, reduced }))
}
