//! The family of RNN-T: one recursion over a trellis, and what scores its arcs.
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
//! | loss | where the scores come from |
//! |---|---|
//! | [`rnnt_loss`] | a joiner's logits for each frame and symbol |
//! | [`rnnt_loss_pruned`] | a joiner's logits for each frame and a few symbols, [`PruneRanges`] |
//! | [`rnnt_loss_simple`] | the sum of an encoder's and a decoder's logits, which is never in memory |
//! | [`rnnt_loss_smoothed`] | the same, mixed with what either says alone |
//! | [`tdt_loss`] | a joiner's logits for each frame and symbol, and for durations |
//! | [`mutual_information_recursion`] | scores as they are |

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
    /// Which arcs there are.
    pub rnnt_type: RnntType,
    /// How much less a symbol scores for each frame that it comes later; k2's `delay_penalty`. The
    /// score of a symbol in frame t of T becomes higher by `delay_penalty ((T - 1) / 2 - t)`.
    pub delay_penalty: f64,
    /// How much larger the gradient of symbols is than it would be, FastEmit's lambda (Yu et al.
    /// 2021). The loss is the same.
    pub fastemit_lambda: f64,
    /// Entries of the gradient of each sequence's loss are cut to -clamp..=clamp; torchaudio's
    /// `clamp`, which has -1 for none.
    pub clamp: Option<f64>,
    /// Whether the blank has a sigmoid of its own and the softmax goes over the other classes: the
    /// hybrid autoregressive transducer, k2's `use_hat_loss`. Of a joiner's logits only.
    pub use_hat_loss: bool,
    /// What becomes of the losses.
    pub reduction: Reduction,
    /// What a sequence without alignment has: without frames, or with more symbols than frames
    /// where a frame emits one at most.
    pub impossible: Impossible,
    /// Whether NaN and plus infinity among the logits of a sequence make its loss and its gradient
    /// NaN, as in PyTorch, and leave the others as they are. Else they are [`Error::Logit`].
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

    /// What is added to the score of a symbol in a frame.
    fn emission_bonus(&self, frame: usize, num_frames: usize) -> f64 {
        // Without a penalty also without the rounding of a sum with 0.
        self.delay_penalty * ((num_frames as f64 - 1.0) / 2.0 - frame as f64)
    }
}

fn check_clamp(clamp: Option<f64>) -> Result<(), Error> {
    let clamp = clamp.unwrap_or(0.0);
    Error::check_option("clamp", clamp, clamp >= 0.0, "0 or more, or None")
}

/// What the recursion has found for a batch.
#[derive(Debug, Clone)]
struct Summed {
    /// The occupation of each arc, how probable it is that a path has it.
    occupations: Vec<Trellis>,
    reduced: Reduced,
}

/// The losses of trellises, and the occupation of their arcs.
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
