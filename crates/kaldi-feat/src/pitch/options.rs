//! Options of the pitch extractor and of the features of pitch, under Kaldi's names.

use crate::audio::MAX_SAMPLE_RATE;
use crate::error::Error;

/// Options of the pitch extractor. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[doc(alias = "kaldi::PitchExtractionOptions")]
#[non_exhaustive]
pub struct PitchExtractionOptions {
    /// Samples per second of the audio, Hz.
    pub samp_freq: f32,
    /// Distance from the start of one frame to the start of the next, ms.
    pub frame_shift_ms: f32,
    /// Length of the window whose correlation with a later one is measured, ms.
    pub frame_length_ms: f32,
    /// x\[i\] - `preemph_coeff` x\[i-1\] replaces x\[i\] in each frame; 0 = off. Kaldi advises
    /// against it.
    pub preemph_coeff: f32,
    /// The lowest pitch that is searched for, Hz.
    pub min_f0: f32,
    /// The highest pitch that is searched for, Hz.
    pub max_f0: f32,
    /// Pitches towards this one lose their advantage, Hz, as low pitches have multiples of the true
    /// lag.
    pub soft_min_f0: f32,
    /// Cost of a change of the logarithm of pitch from frame to frame, for its square.
    pub penalty_factor: f32,
    /// Cutoff frequency of the low-pass filter before the extraction, Hz.
    pub lowpass_cutoff: f32,
    /// Samples per second that the audio is resampled to, Hz.
    pub resample_freq: f32,
    /// The smallest change of pitch that is distinguished, as a fraction of it: the step between
    /// two lags.
    pub delta_pitch: f32,
    /// The ballast that makes the correlation of silence small. Larger: fewer frames influence the
    /// pitch.
    pub nccf_ballast: f32,
    /// Zeros of the low-pass filter on each side.
    pub lowpass_filter_width: i32,
    /// Zeros of the filter that interpolates the correlation at lags between samples, on each side.
    pub upsample_filter_width: i32,
    /// Number of frames that may wait until their pitch is final, while audio still arrives. 0 or
    /// less: none waits, and frames may change afterwards.
    pub max_frames_latency: i32,
    /// [`compute`](crate::PitchExtractor::compute) passes this number of frames of audio on at a
    /// time; 0 = all. The ballast of a frame comes from the loudness up to its chunk's end.
    pub frames_per_chunk: i32,
    /// [`compute`](crate::PitchExtractor::compute) takes each frame as soon as it is ready, without
    /// changes by later audio.
    pub simulate_first_pass_online: bool,
    /// When this number of frames is there, or at the end if there are fewer, their pitch is found
    /// anew with the loudness known by then.
    pub recompute_frame: i32,
    /// Takes the ballast of a frame from the loudness up to the frame's own end, and finds no pitch
    /// anew.
    pub nccf_ballast_online: bool,
    /// Makes only frames that lie wholly in the waveform; otherwise silence is put around it, so
    /// that the number of frames depends only on the shift.
    pub snip_edges: bool,
}

/// The length limit of a frame with its longest lag, in resampled samples.
const MAX_FRAME: f64 = 1_048_576.0;
/// The largest number of lags between `max-f0` and `min-f0`.
const MAX_LAGS: f64 = 65_536.0;

impl PitchExtractionOptions {
    /// Returns the distance from one frame to the next, in resampled samples: truncated, in Kaldi's
    /// arithmetic.
    #[doc(alias = "NccfWindowShift")]
    pub fn window_shift(&self) -> usize {
        (f64::from(self.resample_freq * self.frame_shift_ms) / 1000.0) as usize
    }

    /// Returns the length of the window, in resampled samples: truncated.
    #[doc(alias = "NccfWindowSize")]
    pub fn window_size(&self) -> usize {
        (f64::from(self.resample_freq * self.frame_length_ms) / 1000.0) as usize
    }

    /// Returns the first and the last lag whose correlation is measured, in resampled samples. They
    /// reach further than the pitch does, by the filter that interpolates between them.
    pub(super) fn measured_lags(&self) -> (f64, f64) {
        let rate = f64::from(self.resample_freq);
        let reach = f64::from(self.upsample_filter_width) / (2.0 * rate);
        let [shortest, longest] = [self.max_f0, self.min_f0].map(|f0| 1.0 / f64::from(f0));
        ((rate * (shortest - reach)).ceil(), (rate * (longest + reach)).floor())
    }

    /// Returns the number of samples in a chunk of `frames-per-chunk` frames, at least one; no
    /// limit without that option.
    pub(super) fn samples_per_chunk(&self) -> usize {
        match self.frames_per_chunk {
            ..=0 => usize::MAX,
            frames => ((frames as f32 * self.samp_freq * self.frame_shift_ms / 1000.0) as usize).max(1),
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the first option that prevents finding pitch.
    pub fn check(&self) -> Result<(), Error> {
        let above_zero = [
            ("frame_length_ms", self.frame_length_ms),
            ("frame_shift_ms", self.frame_shift_ms),
            ("min_f0", self.min_f0),
            ("max_f0", self.max_f0),
            ("delta_pitch", self.delta_pitch),
        ];
        for (option, value) in above_zero {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::bad_option(option, value, "a number above 0"));
            }
        }
        let zero_or_more = [
            ("soft_min_f0", self.soft_min_f0),
            ("penalty_factor", self.penalty_factor),
            ("nccf_ballast", self.nccf_ballast),
        ];
        for (option, value) in zero_or_more {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::bad_option(option, value, "a number, 0 or more"));
            }
        }
        for (option, value) in [("samp_freq", self.samp_freq), ("resample_freq", self.resample_freq)] {
            if !(1.0..=MAX_SAMPLE_RATE).contains(&value) {
                return Err(Error::bad_option(option, value, "a number of Hz from 1 to 10000000"));
            }
        }
        if !(0.0..=1.0).contains(&self.preemph_coeff) {
            return Err(Error::bad_option("preemph_coeff", self.preemph_coeff, "from 0 to 1"));
        }
        let slower = self.samp_freq.min(self.resample_freq).floor();
        if !(self.lowpass_cutoff > 0.0 && f64::from(self.lowpass_cutoff) * 2.0 <= f64::from(slower)) {
            let expected = format!("above 0, and at most {} Hz, half of the lower sample rate", slower / 2.0);
            return Err(Error::bad_option("lowpass_cutoff", self.lowpass_cutoff, expected));
        }
        let widths = [
            ("lowpass_filter_width", self.lowpass_filter_width),
            ("upsample_filter_width", self.upsample_filter_width),
        ];
        for (option, value) in widths {
            if !(1..=1000).contains(&value) {
                return Err(Error::bad_option(option, value, "from 1 to 1000"));
            }
        }
        self.check_lags()?;
        if self.frames_per_chunk < 0 {
            return Err(Error::bad_option("frames_per_chunk", self.frames_per_chunk, "0 or more"));
        }
        if self.simulate_first_pass_online && self.frames_per_chunk == 0 {
            return Err(Error::bad_option("simulate_first_pass_online", true, "false without `frames_per_chunk`"));
        }
        Ok(())
    }

    /// Checks the frames and lags in samples.
    fn check_lags(&self) -> Result<(), Error> {
        let rate = self.resample_freq;
        if self.min_f0 > self.max_f0 {
            return Err(Error::bad_option("min_f0", self.min_f0, format!("at most `max_f0`={}", self.max_f0)));
        }
        let (first, last) = self.measured_lags();
        if first < 0.0 {
            let expected = format!(
                "lower, or `resample_freq`={rate} higher: correlations are needed {} samples around its period",
                f64::from(self.upsample_filter_width) / 2.0
            );
            return Err(Error::bad_option("max_f0", self.max_f0, expected));
        }
        if last < first {
            let expected = format!("lower: there is no whole number of samples at {rate} Hz near its period");
            return Err(Error::bad_option("min_f0", self.min_f0, expected));
        }
        if f64::from(self.max_f0 / self.min_f0).ln() / f64::from(self.delta_pitch).ln_1p() > MAX_LAGS {
            let expected = format!("so large that there are at most {MAX_LAGS} lags from `min_f0` to `max_f0`");
            return Err(Error::bad_option("delta_pitch", self.delta_pitch, expected));
        }
        let (size, shift) = (self.window_size(), self.window_shift());
        if shift < 1 || size < 1 {
            let (option, value) = if size < 1 {
                ("frame_length_ms", self.frame_length_ms)
            } else {
                ("frame_shift_ms", self.frame_shift_ms)
            };
            return Err(Error::bad_option(option, value, format!("a sample or more at {rate} Hz")));
        }
        if size as f64 + last > MAX_FRAME || shift as f64 > MAX_FRAME {
            let expected = format!("so short that {MAX_FRAME} samples at {rate} Hz hold it and a period of `min_f0`");
            return Err(Error::bad_option("frame_length_ms", self.frame_length_ms, expected));
        }
        Ok(())
    }
}

/// Options of features for a recogniser from pitch. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[doc(alias = "kaldi::ProcessPitchOptions")]
#[non_exhaustive]
pub struct ProcessPitchOptions {
    /// The factor of the normalised log pitch.
    pub pitch_scale: f32,
    /// The factor of the feature of voicing.
    pub pov_scale: f32,
    /// The offset added to the feature of voicing.
    pub pov_offset: f32,
    /// The factor of the change of log pitch.
    pub delta_pitch_scale: f32,
    /// Standard deviation of noise that is added to the change of log pitch before it is scaled.
    pub delta_pitch_noise_stddev: f32,
    /// The seed of the noise. Not an option of Kaldi's classes, but of one of its programs, as
    /// `srand`.
    pub noise_seed: u64,
    /// Number of frames before a frame in the mean of its log pitch.
    pub normalization_left_context: i32,
    /// Number of frames after a frame in the mean of its log pitch; so many frames wait for later
    /// ones.
    pub normalization_right_context: i32,
    /// Number of frames on each side over which the change of log pitch is measured.
    pub delta_window: i32,
    /// Number of frames before the first one, which they repeat.
    pub delay: i32,
    /// Adds the feature of voicing.
    pub add_pov_feature: bool,
    /// Adds the log pitch minus its mean around the frame, in which voiced frames weigh more.
    pub add_normalized_log_pitch: bool,
    /// Adds the change of log pitch.
    pub add_delta_pitch: bool,
    /// Adds the log pitch.
    pub add_raw_log_pitch: bool,
}

/// The largest number of frames in a window, a context or a delay.
const MAX_CONTEXT: i32 = 1_000_000;

impl ProcessPitchOptions {
    /// Returns the number of features in a frame.
    pub fn dim(&self) -> usize {
        [self.add_pov_feature, self.add_normalized_log_pitch, self.add_delta_pitch, self.add_raw_log_pitch]
            .map(usize::from)
            .iter()
            .sum()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the first option that prevents making features.
    pub fn check(&self) -> Result<(), Error> {
        let finite = [
            ("pitch_scale", self.pitch_scale),
            ("pov_scale", self.pov_scale),
            ("pov_offset", self.pov_offset),
            ("delta_pitch_scale", self.delta_pitch_scale),
            ("delta_pitch_noise_stddev", self.delta_pitch_noise_stddev),
        ];
        for (option, value) in finite {
            if !value.is_finite() {
                return Err(Error::bad_option(option, value, "a finite number"));
            }
        }
        let counts = [
            ("normalization_left_context", self.normalization_left_context),
            ("normalization_right_context", self.normalization_right_context),
            ("delay", self.delay),
        ];
        for (option, value) in counts {
            if !(0..=MAX_CONTEXT).contains(&value) {
                return Err(Error::bad_option(option, value, format!("from 0 to {MAX_CONTEXT}")));
            }
        }
        if !(1..1000).contains(&self.delta_window) {
            return Err(Error::bad_option("delta_window", self.delta_window, "from 1 to 999"));
        }
        if self.dim() == 0 {
            return Err(Error::bad_option("add_pov_feature", false, "true where no other feature is asked for"));
        }
        Ok(())
    }
}
