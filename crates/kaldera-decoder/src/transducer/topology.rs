//! Numbers of frames of tokens and blanks.

use crate::error::Error;
use crate::transducer::model::TransducerModel;

/// Number of frames that the tokens and the blanks of a transducer take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "rnnt_type")]
pub enum TransducerTopology {
    /// A token takes no frame, and a blank ends the frame: Graves' RNN-T, k2's `regular`.
    Regular,
    /// A token takes one frame, as a blank does: k2's `modified`, with which icefall's transducers
    /// are decoded.
    Modified,
    /// A token takes the frames of its duration, and a blank at least one: token-and-duration
    /// transducers (Xu et al., 2023), NeMo's TDT.
    #[doc(alias = "TDT")]
    Durations,
}

impl TransducerTopology {
    /// Returns the durations of the model if the topology uses them; there must be some.
    pub(super) fn durations<M: TransducerModel + ?Sized>(self, model: &M) -> Result<&[usize], Error> {
        match (self, model.durations()) {
            (Self::Regular | Self::Modified, _) => Ok(&[]),
            (Self::Durations, []) => Err(Error::Size { what: "durations of the model", expected: 1, found: 0 }),
            (Self::Durations, durations) => Ok(durations),
        }
    }

    /// Returns the possible durations of a token, with their scores; see
    /// [`durations`](Self::durations).
    pub(super) fn steps<'s>(
        self,
        durations: &'s [usize],
        scores: &'s [f64],
    ) -> impl Iterator<Item = (usize, f64)> + Clone + 's {
        let (durations, scores): (&[usize], &[f64]) = match self {
            Self::Regular => (&[0], &[0.0]),
            Self::Modified => (&[1], &[0.0]),
            Self::Durations => (durations, scores),
        };
        durations.iter().copied().zip(scores.iter().copied())
    }

    /// Returns the frames that a blank of this duration takes.
    pub(super) fn blank_frames(duration: usize) -> usize {
        duration.max(1)
    }

    /// Returns the frames that a token takes after `taken` tokens have stayed in its frame, which
    /// may have `most`: 0 if it stays there too; `None` if it is forbidden.
    pub(super) fn token_frames(self, duration: usize, taken: usize, most: usize) -> Option<usize> {
        match self {
            Self::Regular => (taken < most).then_some(0),
            // The last token of a frame takes it.
            _ if duration == 0 && taken.saturating_add(1) >= most => Some(1),
            _ => Some(duration),
        }
    }

    /// Returns the least number of frames of an utterance of `labels` tokens.
    pub(super) fn frames_needed(self, durations: &[usize], labels: usize) -> usize {
        let least = match self {
            Self::Regular => 0,
            Self::Modified => 1,
            Self::Durations => durations.iter().copied().min().unwrap_or(0),
        };
        // Frames of the last token beyond the end are cut off.
        labels.checked_sub(1).map_or(0, |before| before.saturating_mul(least).saturating_add(1))
    }
}
