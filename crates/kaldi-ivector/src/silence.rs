//! Weights of frames from a decoder's best path: silence should not count for the speaker.

use std::sync::Arc;

use crate::error::Error;

/// Frames of the decoder, before the ones that were weighted last, whose weights can still change.
const REVISED: usize = 100;

/// Options of [`SilenceWeighting`]. Defaults are Kaldi's: no weighting.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(alias = "OnlineSilenceWeightingConfig")]
pub struct SilenceWeightingOptions {
    /// Weight of frames with silence. Vosk's recognisers have 0.001.
    pub silence_weight: f32,
    /// From this number of frames on, the repetition of one transition counts as silence; `None` =
    /// never.
    pub max_state_duration: Option<usize>,
}

kaldera_base::setters! {
    SilenceWeightingOptions:
    silence_weight, with_silence_weight: f32 = 1.0, "With this weight of frames with silence.";
    max_state_duration, with_max_state_duration: Option<usize> = None,
        "With this number of frames from which the repetition of one transition counts as silence.";
}

/// Turns the best path of a decoder that goes on into changes of the weights of frames, for
/// [`OnlineIvector::update_weights`](crate::OnlineIvector::update_weights).
///
/// A frame on a silence phone gets the weight `silence_weight`, any other 1. Frames newer than the
/// path get the weight of its last frame, or of silence as long as there is no path. When the path
/// changes, the weights of the last 100 frames (of the decoder) do, too.
///
/// ```
/// use kaldi_ivector::{SilenceWeighting, SilenceWeightingOptions};
///
/// // Transition 1 belongs to silence, transition 2 does not; there is no transition 0.
/// let options = SilenceWeightingOptions::default().with_silence_weight(0.25);
/// let mut weighting = SilenceWeighting::new(options, [false, true, false].into(), 1);
/// assert_eq!(weighting.changes(2, 0)?, [(0, 0.25), (1, 0.25)]);
/// weighting.set_path(&[1, 2])?;
/// assert_eq!(weighting.changes(3, 0)?, [(1, 0.75), (2, 1.0)]);
/// # Ok::<(), kaldi_ivector::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "OnlineSilenceWeighting")]
pub struct SilenceWeighting {
    options: SilenceWeightingOptions,
    is_silence: Arc<[bool]>,
    subsampling: usize,
    frames: Vec<Frame>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    /// Place in the decoder from which the path goes back, if it is known.
    token: Option<u64>,
    transition: Option<i32>,
    weight: f32,
}

impl SilenceWeighting {
    /// Creates the weighting of an utterance. `is_silence` has an element for each transition
    /// identifier, the unused 0 included; identifiers beyond it are no silence. A frame of the
    /// decoder has `subsampling` frames of features (0 counts as 1).
    pub fn new(options: SilenceWeightingOptions, is_silence: Arc<[bool]>, subsampling: usize) -> Self {
        Self { options, is_silence, subsampling: subsampling.max(1), frames: Vec::new() }
    }

    /// Returns `true` if the weighting has an effect.
    #[doc(alias = "Active")]
    pub fn is_active(&self) -> bool {
        self.options.silence_weight != 1.0 && self.is_silence.contains(&true)
    }

    /// Takes the transitions of the best path, one for each frame of the decoder so far.
    ///
    /// # Errors
    /// [`Error::PathShrank`] if the last path had more frames.
    pub fn set_path(&mut self, transitions: &[i32]) -> Result<(), Error> {
        self.trace_back(transitions.len(), transitions.iter().rev().map(|&transition| (None, transition)))
    }

    /// Takes the best path of `num_frames` frames of the decoder from its end backwards: for each
    /// frame a number that is unique to the decoder's token after it, and its transition.
    ///
    /// It stops at the first frame whose token is the one of the last path: from there on, nothing
    /// has changed. So the work is in proportion to the new frames.
    ///
    /// # Errors
    /// [`Error::PathShrank`] if the last path had more frames.
    #[doc(alias = "ComputeCurrentTraceback")]
    pub fn trace_back(
        &mut self,
        num_frames: usize,
        path: impl IntoIterator<Item = (Option<u64>, i32)>,
    ) -> Result<(), Error> {
        if self.frames.get(num_frames).is_some_and(|frame| frame.transition.is_some()) {
            let known = self.frames.iter().rposition(|frame| frame.transition.is_some());
            return Err(Error::PathShrank { before: known.map_or(0, |last| last + 1), found: num_frames });
        }
        if self.frames.len() < num_frames {
            self.frames.resize(num_frames, Frame::default());
        }
        for (frame, (token, transition)) in self.frames[..num_frames].iter_mut().rev().zip(path) {
            if token.is_some() && frame.token == token {
                break;
            }
            (frame.token, frame.transition) = (token, Some(transition));
        }
        Ok(())
    }

    /// Returns the changes of weights since the last call: pairs of a frame of features and the
    /// difference of its weight, in the order of frames, for `num_frames_ready` frames of features.
    /// The decoder's first frame begins at the frame of features `first_decoder_frame`.
    ///
    /// The last frame of the decoder is always among them, with 0 if nothing has changed.
    ///
    /// # Errors
    /// [`Error::NotReady`] if `first_decoder_frame` is not among the frames that are ready, and
    /// there are some.
    #[doc(alias = "GetDeltaWeights")]
    pub fn changes(&mut self, num_frames_ready: usize, first_decoder_frame: usize) -> Result<Vec<(usize, f32)>, Error> {
        if num_frames_ready == 0 {
            return Ok(Vec::new());
        }
        if num_frames_ready <= first_decoder_frame {
            return Err(Error::NotReady { frame: first_decoder_frame, ready: num_frames_ready });
        }
        // Rounded up, so that the last frame of features has a weight.
        let ready = (num_frames_ready - first_decoder_frame).div_ceil(self.subsampling);
        let begin = self.frames.len().saturating_sub(REVISED);
        if self.frames.len() < ready {
            self.frames.resize(ready, Frame::default());
        }
        let weights = self.weights(begin);
        let last = weights.len().saturating_sub(1);
        let mut changes = Vec::new();
        for (at, (frame, weight)) in self.frames[begin..].iter_mut().zip(weights).enumerate() {
            let change = weight - frame.weight;
            frame.weight = weight;
            if change != 0.0 || at == last {
                let input = first_decoder_frame + (begin + at) * self.subsampling;
                changes.extend((input..input + self.subsampling).map(|input| (input, change)));
            }
        }
        Ok(changes)
    }

    /// Returns the new weights of the frames of the decoder from `begin` on.
    fn weights(&self, begin: usize) -> Vec<f32> {
        let silence = self.options.silence_weight;
        let frames = &self.frames[begin..];
        let before = if begin == 0 { silence } else { self.frames[begin - 1].weight };
        if frames.first().is_none_or(|first| first.transition.is_none()) {
            return vec![before; frames.len()];
        }
        let mut weights = Vec::with_capacity(frames.len());
        for run in frames.chunk_by(|a, b| a.transition == b.transition) {
            let weight = match run[0].transition {
                // Nothing is known of frames after the path: they are like its last one.
                None => weights.last().copied().unwrap_or(before),
                Some(transition) => {
                    let is_long = self.options.max_state_duration.is_some_and(|most| run.len() >= most.max(1));
                    if is_long || self.is_silence(transition) { silence } else { 1.0 }
                }
            };
            weights.extend(run.iter().map(|_| weight));
        }
        weights
    }

    fn is_silence(&self, transition: i32) -> bool {
        usize::try_from(transition).is_ok_and(|place| self.is_silence.get(place) == Some(&true))
    }

    /// Returns the frames of the decoder without silence, of the last `most` before the ones that
    /// were weighted last, and all newer ones: Kaldi has 500. They are the frames from which a
    /// speaker's vector is computed.
    ///
    /// # Errors
    /// As [`changes`](Self::changes).
    #[doc(alias = "GetNonsilenceFrames")]
    pub fn speech_frames(
        &mut self,
        num_frames_ready: usize,
        first_decoder_frame: usize,
        most: usize,
    ) -> Result<Vec<usize>, Error> {
        if num_frames_ready == 0 {
            return Ok(Vec::new());
        }
        if num_frames_ready <= first_decoder_frame {
            return Err(Error::NotReady { frame: first_decoder_frame, ready: num_frames_ready });
        }
        let ready = (num_frames_ready - first_decoder_frame).div_ceil(self.subsampling);
        let begin = self.frames.len().saturating_sub(most);
        if self.frames.len() < ready {
            self.frames.resize(ready, Frame::default());
        }
        let speech = |frame: &Frame| frame.transition.is_some_and(|transition| !self.is_silence(transition));
        Ok((begin..).zip(&self.frames[begin..]).filter(|(_, frame)| speech(frame)).map(|(at, _)| at).collect())
    }
}
