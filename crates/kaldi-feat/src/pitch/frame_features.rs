//! The features of one frame, from its pitch and the frames around it.

use kaldera_base::random::Philox;

use crate::pitch::options::ProcessPitchOptions;

/// The data of a frame that its features need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) nccf: f32,
    pub(super) log_pitch: f32,
    /// The probability of voicing.
    pub(super) pov: f32,
}

impl Frame {
    pub(super) fn new(nccf: f32, pitch: f32) -> Self {
        Self { nccf, log_pitch: pitch.ln(), pov: nccf_to_pov(nccf) }
    }
}

/// Computes the feature of voicing before its scale. In experiments of Kaldi's authors, it makes
/// voicing look normally distributed.
fn nccf_to_pov_feature(nccf: f32) -> f32 {
    ((1.0001 - f64::from(nccf.clamp(-1.0, 1.0))).powf(0.15) - 1.0) as f32
}

/// Returns the probability of voicing, 0 to 1, of a frame with this NCCF: equation 3 of Ghahremani
/// et al., *A pitch extraction algorithm tuned for automatic speech recognition*, ICASSP 2014,
/// which is a fit to data.
///
/// ```
/// use kaldi_feat::nccf_to_pov;
///
/// assert!(nccf_to_pov(0.0) < 0.01 && nccf_to_pov(1.0) > 0.99);
/// ```
#[doc(alias = "NccfToPov")]
pub fn nccf_to_pov(nccf: f32) -> f32 {
    let n = f64::from(nccf.abs().min(1.0));
    let r = -5.2 + 5.4 * (7.5 * (n - 1.0)).exp() + 4.8 * n - 2.0 * (-10.0 * n).exp() + 4.2 * (20.0 * (n - 1.0)).exp();
    (1.0 / (1.0 + (-f64::from(r as f32)).exp())) as f32
}

/// Sums over the frames around a frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    pub(super) pov: f64,
    pub(super) weighted: f64,
}

impl Sums {
    pub(super) fn add(&mut self, frame: Frame) {
        self.pov += f64::from(frame.pov);
        self.weighted += f64::from(frame.pov * frame.log_pitch);
    }

    pub(super) fn subtract(&mut self, frame: Frame) {
        self.pov -= f64::from(frame.pov);
        self.weighted -= f64::from(frame.pov * frame.log_pitch);
    }
}

impl ProcessPitchOptions {
    pub(super) fn left_context(&self) -> usize {
        usize::try_from(self.normalization_left_context).unwrap_or(0)
    }

    pub(super) fn right_context(&self) -> usize {
        usize::try_from(self.normalization_right_context).unwrap_or(0)
    }

    pub(super) fn delta_context(&self) -> usize {
        usize::try_from(self.delta_window).unwrap_or(0)
    }

    /// Returns the delay in frames.
    pub(super) fn delay_frames(&self) -> usize {
        usize::try_from(self.delay).unwrap_or(0)
    }

    /// Appends the features of frame `t`, given the sums around it and the log pitch of the frames
    /// around it, which repeats the first and the last frame outside the signal.
    pub(super) fn push_features(
        &self,
        noise: &Philox,
        t: usize,
        frame: Frame,
        sums: Sums,
        log_pitch: impl Fn(isize) -> f32,
        out: &mut Vec<f32>,
    ) {
        if self.add_pov_feature {
            out.push(self.pov_scale * nccf_to_pov_feature(frame.nccf) + self.pov_offset);
        }
        if self.add_normalized_log_pitch {
            out.push((frame.log_pitch - (sums.weighted / sums.pov) as f32) * self.pitch_scale);
        }
        if self.add_delta_pitch {
            let window = self.delta_context().cast_signed();
            let norm: f32 = (1..=window).map(|j| 2.0 * (j * j) as f32).sum();
            let mut delta = [(-window..=window)
                .filter(|&j| j != 0)
                .fold(0.0, |sum, j| sum + j as f32 * (1.0 / norm) * log_pitch(j))];
            if self.delta_pitch_noise_stddev != 0.0 {
                noise.add_gaussian(self.delta_pitch_noise_stddev, t as u64, &mut delta);
            }
            out.push(delta[0] * self.delta_pitch_scale);
        }
        if self.add_raw_log_pitch {
            out.push(frame.log_pitch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voicing_rises_with_the_correlation() {
        let likely = [0.0, 0.3, 0.6, 0.9, 1.0].map(nccf_to_pov);
        assert!(likely.is_sorted() && likely[0] < 0.01 && likely[4] > 0.99, "{likely:?}");
    }
}
