//! Endpoint rules, which decide if an utterance has ended.

use crate::error::Error;

/// A rule as in Kaldi: an utterance has ended if all conditions of the rule hold.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "OnlineEndpointRule")]
pub struct EndpointRule {
    /// `true` if something other than silence must have been decoded.
    pub must_contain_nonsilence: bool,
    /// Minimum seconds of silence at the end.
    pub min_trailing_silence: f32,
    /// Maximum relative cost: the score of the best path minus the score of the best path that ends
    /// in a final state.
    pub max_relative_cost: f32,
    /// Minimum seconds of the utterance, including silence.
    pub min_utterance_length: f32,
}

impl Default for EndpointRule {
    /// Kaldi's default: speech that is followed by a second of silence.
    fn default() -> Self {
        Self::new(true, 1.0, f32::INFINITY, 0.0)
    }
}

impl EndpointRule {
    /// Creates a rule of these conditions.
    pub fn new(
        must_contain_nonsilence: bool,
        min_trailing_silence: f32,
        max_relative_cost: f32,
        min_utterance_length: f32,
    ) -> Self {
        Self { must_contain_nonsilence, min_trailing_silence, max_relative_cost, min_utterance_length }
    }

    fn holds(&self, at: &EndpointState) -> bool {
        let (length, silence) = (at.utterance_length(), at.trailing_silence());
        (length > silence || !self.must_contain_nonsilence)
            && silence >= self.min_trailing_silence
            && at.relative_cost <= self.max_relative_cost
            && length >= self.min_utterance_length
    }
}

/// Progress of a decoder. Times are computed in single precision, as in Kaldi.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EndpointState {
    /// Number of decoded frames.
    pub num_frames: usize,
    /// Number of these frames, at the end, that are silence.
    pub trailing_silence_frames: usize,
    /// Seconds of a frame.
    pub frame_shift: f32,
    /// Score of the best path minus the score of the best path that ends in a final state; infinite
    /// if there is no such path.
    #[doc(alias = "FinalRelativeCost")]
    pub relative_cost: f32,
}

impl EndpointState {
    /// Creates the state after `num_frames` frames, of which the last `trailing_silence_frames` are
    /// silence.
    pub fn new(num_frames: usize, trailing_silence_frames: usize, frame_shift: f32, relative_cost: f32) -> Self {
        Self { num_frames, trailing_silence_frames, frame_shift, relative_cost }
    }

    #[expect(clippy::cast_precision_loss, reason = "what Kaldi does: BaseFloat")]
    fn utterance_length(&self) -> f32 {
        self.num_frames as f32 * self.frame_shift
    }

    #[expect(clippy::cast_precision_loss, reason = "what Kaldi does: BaseFloat")]
    fn trailing_silence(&self) -> f32 {
        self.trailing_silence_frames as f32 * self.frame_shift
    }
}

/// Endpoint rules; any of them ends an utterance.
///
/// ```
/// use kaldera_decoder::graph::{EndpointRules, EndpointState};
///
/// let rules = EndpointRules::kaldi();
/// // Two seconds, of which the last 0.6 are silence, and a path that ends here is nearly the best.
/// let state = EndpointState::new(200, 60, 0.01, 1.5);
/// assert_eq!(rules.detect(&state)?, Some(2));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "OnlineEndpointConfig")]
pub struct EndpointRules {
    /// The rules, in order.
    pub rules: Vec<EndpointRule>,
}

impl Default for EndpointRules {
    /// [`kaldi`](Self::kaldi).
    fn default() -> Self {
        Self::kaldi()
    }
}

impl EndpointRules {
    /// Creates a set of these rules.
    pub fn new(rules: Vec<EndpointRule>) -> Self {
        Self { rules }
    }

    /// Returns Kaldi's five rules: 5 s of silence; 0.5 s if the end is likely; 1 s if it is
    /// possible; 2 s after speech; 20 s in all.
    pub fn kaldi() -> Self {
        let rule = EndpointRule::new;
        Self::new(vec![
            rule(false, 5.0, f32::INFINITY, 0.0),
            rule(true, 0.5, 2.0, 0.0),
            rule(true, 1.0, 8.0, 0.0),
            rule(true, 2.0, f32::INFINITY, 0.0),
            rule(false, 0.0, f32::INFINITY, 20.0),
        ])
    }

    /// Returns sherpa-onnx's three rules, which ignore the cost: 2.4 s of silence; 1.2 s after
    /// speech; 20 s in all.
    pub fn sherpa_onnx() -> Self {
        let rule = EndpointRule::new;
        let any = f32::INFINITY;
        Self::new(vec![rule(false, 2.4, any, 0.0), rule(true, 1.2, any, 0.0), rule(false, 0.0, any, 20.0)])
    }

    /// Returns the numbers, from 1 on, of all rules that hold.
    ///
    /// # Errors
    /// [`Error::Size`] for more frames of silence than frames, [`Error::Option`] for a frame shift
    /// that is not above 0.
    pub fn fired(&self, state: &EndpointState) -> Result<Vec<usize>, Error> {
        let (frames, silence) = (state.num_frames, state.trailing_silence_frames);
        if silence > frames {
            return Err(Error::Size { what: "frames of silence at the end", expected: frames, found: silence });
        }
        if state.frame_shift.is_nan() || state.frame_shift <= 0.0 {
            let value = state.frame_shift.into();
            return Err(Error::Option { name: "frame_shift", value, reason: "it must be above 0" });
        }
        Ok((1..).zip(&self.rules).filter(|(_, rule)| rule.holds(state)).map(|(number, _)| number).collect())
    }

    /// Returns the first rule that holds: the utterance has ended.
    ///
    /// # Errors
    /// As [`fired`](Self::fired).
    #[doc(alias = "EndpointDetected")]
    pub fn detect(&self, state: &EndpointState) -> Result<Option<usize>, Error> {
        Ok(self.fired(state)?.first().copied())
    }
}
