//! Options of the pitch extractor and of what is made of its pitch, under Kaldi's names.

use crate::audio::MAX_SAMPLE_RATE;
use crate::error::Error;
use crate::options::{OptionSet, Registry};

/// Options of the pitch extractor. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[doc(alias = "kaldi::PitchExtractionOptions")]
pub struct PitchExtractionOptions {
    /// Samples per second of the audio, Hz.
    pub samp_freq: f32,
    /// From the start of one frame to the start of the next, ms.
    pub frame_shift_ms: f32,
    /// Length of the window whose correlation with a later one is measured, ms.
    pub frame_length_ms: f32,
    /// x\[i\] - `preemph_coeff` x\[i-1\] replaces x\[i\] in each frame; 0 = off. Kaldi advises
    /// against it.
    pub preemph_coeff: f32,
    /// The lowest pitch that is looked for, Hz.
    pub min_f0: f32,
    /// The highest pitch that is looked for, Hz.
    pub max_f0: f32,
    /// Pitches towards this one lose their advantage, Hz: low ones are multiples of the true lag.
    pub soft_min_f0: f32,
    /// Cost of a change of the logarithm of pitch from frame to frame, for its square.
    pub penalty_factor: f32,
    /// Where the low-pass filter before the extraction cuts off, Hz.
    pub lowpass_cutoff: f32,
    /// Samples per second that the audio is resampled to, Hz.
    pub resample_freq: f32,
    /// The smallest change of pitch that is told, as a part of it: the step between two lags.
    pub delta_pitch: f32,
    /// What makes the correlation of silence small. Larger: fewer frames have a say in the pitch.
    pub nccf_ballast: f32,
    /// Zeros of the low-pass filter on each side.
    pub lowpass_filter_width: i32,
    /// Zeros of the filter that takes the correlation to lags between samples, on each side.
    pub upsample_filter_width: i32,
    /// While audio still comes: so many frames may wait for it to be sure which pitch they have. 0
    /// or less: none waits, and frames may change afterwards.
    pub max_frames_latency: i32,
    /// [`compute`](crate::PitchExtractor::compute) hands on so many frames of audio at a time; 0 =
    /// all. The ballast of a frame comes from the loudness up to its chunk's end.
    pub frames_per_chunk: i32,
    /// [`compute`](crate::PitchExtractor::compute) takes each frame as soon as it is ready, without
    /// what later audio makes of it.
    pub simulate_first_pass_online: bool,
    /// When so many frames are there, or all if they are fewer, their pitch is found anew with the
    /// loudness known by then.
    pub recompute_frame: i32,
    /// The ballast of a frame comes from the loudness up to the frame's own end, and nothing is
    /// found anew.
    pub nccf_ballast_online: bool,
    /// Only frames that lie wholly in the waveform; else silence is put around it, so that the
    /// number of frames depends on the shift alone.
    pub snip_edges: bool,
}

impl Default for PitchExtractionOptions {
    fn default() -> Self {
        Self {
            samp_freq: 16000.0,
            frame_shift_ms: 10.0,
            frame_length_ms: 25.0,
            preemph_coeff: 0.0,
            min_f0: 50.0,
            max_f0: 400.0,
            soft_min_f0: 10.0,
            penalty_factor: 0.1,
            lowpass_cutoff: 1000.0,
            resample_freq: 4000.0,
            delta_pitch: 0.005,
            nccf_ballast: 7000.0,
            lowpass_filter_width: 1,
            upsample_filter_width: 5,
            max_frames_latency: 0,
            frames_per_chunk: 0,
            simulate_first_pass_online: false,
            recompute_frame: 500,
            nccf_ballast_online: false,
            snip_edges: true,
        }
    }
}

impl OptionSet for PitchExtractionOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("sample-frequency", &mut self.samp_freq, "Sample rate of the waveforms, Hz");
        registry.add("frame-length", &mut self.frame_length_ms, "Length of a frame, ms");
        registry.add("frame-shift", &mut self.frame_shift_ms, "From one frame to the next, ms");
        registry.add(
            "preemphasis-coefficient",
            &mut self.preemph_coeff,
            "Coefficient of the preemphasis; 0 = off, as it should be",
        );
        registry.add("min-f0", &mut self.min_f0, "Lowest pitch to look for, Hz");
        registry.add("max-f0", &mut self.max_f0, "Highest pitch to look for, Hz");
        registry.add("soft-min-f0", &mut self.soft_min_f0, "Pitch towards which lower ones lose their advantage, Hz");
        registry.add("penalty-factor", &mut self.penalty_factor, "Cost of changes of pitch");
        registry.add("lowpass-cutoff", &mut self.lowpass_cutoff, "Cutoff of the low-pass filter, Hz");
        registry.add("resample-frequency", &mut self.resample_freq, "Sample rate to extract the pitch at, Hz");
        registry.add("delta-pitch", &mut self.delta_pitch, "Smallest relative change of pitch that is measured");
        registry.add("nccf-ballast", &mut self.nccf_ballast, "Larger: less correlation in quiet frames");
        registry.add(
            "lowpass-filter-width",
            &mut self.lowpass_filter_width,
            "Zeros of the low-pass filter on each side; more is sharper",
        );
        registry.add(
            "upsample-filter-width",
            &mut self.upsample_filter_width,
            "Zeros of the filter that interpolates the correlation, on each side",
        );
        registry.add(
            "max-frames-latency",
            &mut self.max_frames_latency,
            "How many frames may wait for later ones to be sure of their pitch, while audio comes",
        );
        registry.add(
            "frames-per-chunk",
            &mut self.frames_per_chunk,
            "Hand on the audio in chunks of so many frames, as if it came live; 0 = at once",
        );
        registry.add(
            "simulate-first-pass-online",
            &mut self.simulate_first_pass_online,
            "Take each frame as it is when it is first ready (needs --frames-per-chunk)",
        );
        registry.add(
            "recompute-frame",
            &mut self.recompute_frame,
            "Find the pitch of the frames before this one anew when it is reached, with the loudness known then",
        );
        registry.add(
            "nccf-ballast-online",
            &mut self.nccf_ballast_online,
            "Take the loudness from the audio up to the frame alone",
        );
        registry.add(
            "snip-edges",
            &mut self.snip_edges,
            "Only frames that fit in the waveform; false: silence around it, frames depend on the shift alone",
        );
    }
}

/// The longest frame with its longest lag, in resampled samples.
const MAX_FRAME: f64 = 1_048_576.0;
/// The most lags between `max-f0` and `min-f0`.
const MAX_LAGS: f64 = 65_536.0;

impl PitchExtractionOptions {
    /// From one frame to the next, in resampled samples: cut off, in Kaldi's arithmetic.
    #[doc(alias = "NccfWindowShift")]
    pub fn window_shift(&self) -> usize {
        (f64::from(self.resample_freq * self.frame_shift_ms) / 1000.0) as usize
    }

    /// Length of the window, in resampled samples: cut off.
    #[doc(alias = "NccfWindowSize")]
    pub fn window_size(&self) -> usize {
        (f64::from(self.resample_freq * self.frame_length_ms) / 1000.0) as usize
    }

    /// The lags whose correlation is measured, in resampled samples: from the first to the last.
    /// They reach further than the pitch does, by the filter that interpolates between them.
    pub(super) fn measured_lags(&self) -> (f64, f64) {
        let rate = f64::from(self.resample_freq);
        let reach = f64::from(self.upsample_filter_width) / (2.0 * rate);
        let [shortest, longest] = [self.max_f0, self.min_f0].map(|f0| 1.0 / f64::from(f0));
        ((rate * (shortest - reach)).ceil(), (rate * (longest + reach)).floor())
    }

    /// So many samples go into a chunk of `frames-per-chunk` frames, one at least; all without that
    /// option.
    pub(super) fn samples_per_chunk(&self) -> usize {
        match self.frames_per_chunk {
            ..=0 => usize::MAX,
            frames => ((frames as f32 * self.samp_freq * self.frame_shift_ms / 1000.0) as usize).max(1),
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the first option that no pitch can be found with.
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

    /// What the frames and lags come to in samples.
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

/// Options of what is made of pitch for a recogniser. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[doc(alias = "kaldi::ProcessPitchOptions")]
pub struct ProcessPitchOptions {
    /// The normalised log pitch is multiplied by this.
    pub pitch_scale: f32,
    /// The feature of voicing is multiplied by this.
    pub pov_scale: f32,
    /// This is added to the feature of voicing.
    pub pov_offset: f32,
    /// The change of log pitch is multiplied by this.
    pub delta_pitch_scale: f32,
    /// Standard deviation of noise that is added to the change of log pitch before it is scaled.
    pub delta_pitch_noise_stddev: f32,
    /// What makes the noise another. Not an option of Kaldi's classes, but of one of its programs,
    /// where it is `srand`.
    pub noise_seed: u64,
    /// Frames before a frame that its mean of log pitch is taken over.
    pub normalization_left_context: i32,
    /// Frames after a frame that its mean of log pitch is taken over; so many frames wait for later
    /// ones.
    pub normalization_right_context: i32,
    /// Frames on each side that the change of log pitch is measured over.
    pub delta_window: i32,
    /// So many frames come before the first one, which they repeat.
    pub delay: i32,
    /// Have the feature of voicing.
    pub add_pov_feature: bool,
    /// Have the log pitch less its mean around the frame, in which voiced frames weigh more.
    pub add_normalized_log_pitch: bool,
    /// Have the change of log pitch.
    pub add_delta_pitch: bool,
    /// Have the log pitch.
    pub add_raw_log_pitch: bool,
}

impl Default for ProcessPitchOptions {
    fn default() -> Self {
        Self {
            pitch_scale: 2.0,
            pov_scale: 2.0,
            pov_offset: 0.0,
            delta_pitch_scale: 10.0,
            delta_pitch_noise_stddev: 0.005,
            noise_seed: 0,
            normalization_left_context: 75,
            normalization_right_context: 75,
            delta_window: 2,
            delay: 0,
            add_pov_feature: true,
            add_normalized_log_pitch: true,
            add_delta_pitch: true,
            add_raw_log_pitch: false,
        }
    }
}

impl OptionSet for ProcessPitchOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("pitch-scale", &mut self.pitch_scale, "Scale of the normalised log pitch");
        registry.add("pov-scale", &mut self.pov_scale, "Scale of the feature of voicing");
        registry.add("pov-offset", &mut self.pov_offset, "Added to the feature of voicing");
        registry.add("delta-pitch-scale", &mut self.delta_pitch_scale, "Scale of the change of log pitch");
        registry.add(
            "delta-pitch-noise-stddev",
            &mut self.delta_pitch_noise_stddev,
            "Standard deviation of noise in the change of log pitch, before scaling",
        );
        registry.add("srand", &mut self.noise_seed, "Other seeds give other noise");
        registry.add(
            "normalization-left-context",
            &mut self.normalization_left_context,
            "Frames before a frame that its mean is taken over",
        );
        registry.add(
            "normalization-right-context",
            &mut self.normalization_right_context,
            "Frames after a frame that its mean is taken over",
        );
        registry.add("delta-window", &mut self.delta_window, "Frames on each side for the change of log pitch");
        registry.add("delay", &mut self.delay, "Put so many frames before the first one");
        registry.add("add-pov-feature", &mut self.add_pov_feature, "Have the feature of voicing");
        registry.add("add-normalized-log-pitch", &mut self.add_normalized_log_pitch, "Have the normalised log pitch");
        registry.add("add-delta-pitch", &mut self.add_delta_pitch, "Have the change of log pitch");
        registry.add("add-raw-log-pitch", &mut self.add_raw_log_pitch, "Have the log pitch");
    }
}

/// The most frames that a window, a context or a delay may have.
const MAX_CONTEXT: i32 = 1_000_000;

impl ProcessPitchOptions {
    /// How many features a frame has.
    pub fn dim(&self) -> usize {
        [self.add_pov_feature, self.add_normalized_log_pitch, self.add_delta_pitch, self.add_raw_log_pitch]
            .map(usize::from)
            .iter()
            .sum()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the first option that no features can be made with.
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
