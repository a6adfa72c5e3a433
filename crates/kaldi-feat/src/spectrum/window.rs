//! From a waveform to frames: their length, their places, and their window.

use std::f64::consts::PI;

use crate::audio::MAX_SAMPLE_RATE;
use crate::error::Error;
use crate::options::option_of_names;

/// The shape of the window over a frame of N samples, with a = 2π / (N - 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WindowType {
    /// 0.54 - 0.46 cos(a i)
    Hamming,
    /// 0.5 - 0.5 cos(a i)
    Hanning,
    /// (0.5 - 0.5 cos(a i))^0.85: like Hamming's, but going to zero at the edges. Kaldi's own.
    #[default]
    Povey,
    /// 1
    Rectangular,
    /// sin(a i / 2)
    Sine,
    /// c - 0.5 cos(a i) + (0.5 - c) cos(2 a i), where c is `blackman_coeff`
    Blackman,
}

impl WindowType {
    /// All variants.
    pub const ALL: [Self; 6] =
        [Self::Hamming, Self::Hanning, Self::Povey, Self::Rectangular, Self::Sine, Self::Blackman];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hamming => "hamming",
            Self::Hanning => "hanning",
            Self::Povey => "povey",
            Self::Rectangular => "rectangular",
            Self::Sine => "sine",
            Self::Blackman => "blackman",
        }
    }
}

option_of_names!(WindowType);

/// Options of the step from waveform to frames. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct FrameExtractionOptions {
    /// Samples per second, Hz.
    pub samp_freq: f32,
    /// Distance from the start of one frame to the start of the next, ms.
    pub frame_shift_ms: f32,
    /// Length of a frame, ms.
    pub frame_length_ms: f32,
    /// Standard deviation of the noise added to each sample, in units of the samples; 0 = none.
    pub dither: f32,
    /// The seed of the noise: same seed, key and audio give the same features. Not an option of
    /// Kaldi's.
    pub dither_seed: u64,
    /// x\[i\] - `preemph_coeff` x\[i-1\] replaces x\[i\]; 0 = off.
    pub preemph_coeff: f32,
    /// Subtracts the frame's mean from the frame.
    pub remove_dc_offset: bool,
    /// The window.
    pub window_type: WindowType,
    /// The c of the Blackman window.
    pub blackman_coeff: f32,
    /// Makes the size of the FFT the next power of two, rather than the length of the frame. Its
    /// time grows with the largest prime factor of the size, as in Kaldi.
    pub round_to_power_of_two: bool,
    /// Makes only frames that lie wholly in the waveform; otherwise its ends are mirrored, so that
    /// the number of frames depends only on the shift.
    pub snip_edges: bool,
    /// Resamples audio of a higher sample rate rather than refusing it.
    pub allow_downsample: bool,
    /// Resamples audio of a lower sample rate rather than refusing it.
    pub allow_upsample: bool,
    /// The largest number of rows that a stream keeps; -1 = all until they are taken or discarded.
    /// No effect on whole signals, as in Kaldi.
    pub max_feature_vectors: i32,
    /// The value of the loudest sample: 32768 as in a WAV file, or 1 as in torchaudio and lhotse.
    /// Samples are given on the scale of 16-bit integers all the same. Not an option of Kaldi's.
    pub full_scale: f32,
}

/// The largest frame, in samples: far above any use, and far too small to exhaust memory.
const MAX_WINDOW: f64 = 4_194_304.0;

impl FrameExtractionOptions {
    /// Returns the distance from one frame to the next, in samples: a product in double precision,
    /// truncated, which is Kaldi's arithmetic to the bit.
    #[doc(alias = "WindowShift")]
    pub fn window_shift(&self) -> usize {
        (f64::from(self.samp_freq) * 0.001 * f64::from(self.frame_shift_ms)) as usize
    }

    /// Returns the length of a frame, in samples: truncated, so 551 for 25 ms at 22050 Hz.
    #[doc(alias = "WindowSize")]
    pub fn window_size(&self) -> usize {
        (f64::from(self.samp_freq) * 0.001 * f64::from(self.frame_length_ms)) as usize
    }

    /// Returns the size of the FFT, in samples.
    #[doc(alias = "PaddedWindowSize")]
    pub fn padded_window_size(&self) -> usize {
        let size = self.window_size();
        if self.round_to_power_of_two { size.next_power_of_two() } else { size }
    }

    /// Returns the number of frames in `num_samples` samples.
    #[doc(alias = "NumFrames")]
    pub fn num_frames(&self, num_samples: usize) -> usize {
        let (size, shift) = (self.window_size(), self.window_shift());
        if !self.snip_edges {
            (num_samples + shift / 2) / shift
        } else if num_samples < size {
            0
        } else {
            1 + (num_samples - size) / shift
        }
    }

    /// Returns the number of frames in a signal that has `num_samples` samples so far, and goes on.
    pub fn num_frames_ready(&self, num_samples: usize) -> usize {
        // The first frame may begin before the signal.
        let needed = self.first_sample_of_frame(0) + self.window_size().cast_signed();
        let beyond = num_samples.checked_sub(needed.max(0).cast_unsigned());
        beyond.map_or(0, |beyond| (beyond / self.window_shift() + 1).min(self.num_frames(num_samples)))
    }

    /// Returns the start of a frame, in samples: before 0 for the first frames if `snip_edges` is
    /// false.
    #[doc(alias = "FirstSampleOfFrame")]
    pub fn first_sample_of_frame(&self, frame: usize) -> isize {
        let (size, shift) = (self.window_size(), self.window_shift());
        let start = (frame * shift).cast_signed();
        if self.snip_edges { start } else { start + (shift / 2).cast_signed() - (size / 2).cast_signed() }
    }

    /// Returns the window, `window_size()` values.
    #[doc(alias = "FeatureWindowFunction")]
    pub fn window_function(&self) -> Vec<f32> {
        let size = self.window_size();
        let a = 2.0 * PI / (size - 1) as f64;
        let c = f64::from(self.blackman_coeff);
        let value = |i: f64| match self.window_type {
            WindowType::Hamming => 0.54 - 0.46 * (a * i).cos(),
            WindowType::Hanning => 0.5 - 0.5 * (a * i).cos(),
            WindowType::Povey => (0.5 - 0.5 * (a * i).cos()).powf(0.85),
            WindowType::Rectangular => 1.0,
            WindowType::Sine => (0.5 * a * i).sin(),
            WindowType::Blackman => c - 0.5 * (a * i).cos() + (0.5 - c) * (2.0 * a * i).cos(),
        };
        (0..size).map(|i| value(i as f64) as f32).collect()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the first field that prevents making frames: numbers that are not finite, a frame of
    /// fewer than 2 samples or more than 4 million, a shift below one sample, a preemphasis outside
    /// 0 to 1, an odd size of the FFT.
    pub fn check(&self) -> Result<(), Error> {
        let rate = self.samp_freq;
        if !(1.0..=MAX_SAMPLE_RATE).contains(&rate) {
            return Err(Error::bad_option("frame.samp_freq", rate, "a number of Hz from 1 to 10000000"));
        }
        let samples = |ms: f32| f64::from(rate) * 0.001 * f64::from(ms);
        if !(2.0..=MAX_WINDOW).contains(&samples(self.frame_length_ms)) {
            return Err(Error::bad_option(
                "frame.frame_length_ms",
                self.frame_length_ms,
                format!("a number of ms that makes 2 to {MAX_WINDOW} samples at {rate} Hz"),
            ));
        }
        if !(1.0..=MAX_WINDOW).contains(&samples(self.frame_shift_ms)) {
            return Err(Error::bad_option(
                "frame.frame_shift_ms",
                self.frame_shift_ms,
                format!("a number of ms that makes 1 to {MAX_WINDOW} samples at {rate} Hz"),
            ));
        }
        if !self.dither.is_finite() {
            return Err(Error::bad_option("frame.dither", self.dither, "a finite number"));
        }
        if !(0.0..=1.0).contains(&self.preemph_coeff) {
            return Err(Error::bad_option("frame.preemph_coeff", self.preemph_coeff, "from 0 to 1"));
        }
        if !self.blackman_coeff.is_finite() {
            return Err(Error::bad_option("frame.blackman_coeff", self.blackman_coeff, "a finite number"));
        }
        if !(self.full_scale.is_finite() && self.full_scale > 0.0) {
            return Err(Error::bad_option("frame.full_scale", self.full_scale, "a number above 0, such as 32768 or 1"));
        }
        let padded = self.padded_window_size();
        if !padded.is_multiple_of(2) || padded < 4 {
            return Err(Error::bad_option(
                "frame.round_to_power_of_two",
                self.round_to_power_of_two,
                format!("true for a frame of {padded} samples: the size of the FFT must be even, and 4 or more"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_off_as_in_kaldi() {
        let options = FrameExtractionOptions { samp_freq: 22050.0, ..Default::default() };
        assert_eq!((options.window_size(), options.window_shift(), options.padded_window_size()), (551, 220, 1024));
    }

    #[test]
    fn frames_are_counted_as_in_kaldi() {
        let snip = FrameExtractionOptions::default();
        assert_eq!([0, 399, 400, 559, 560].map(|n| snip.num_frames(n)), [0, 0, 1, 1, 2]);
        let whole = FrameExtractionOptions { snip_edges: false, ..Default::default() };
        assert_eq!([0, 79, 80, 120, 399, 400].map(|n| whole.num_frames(n)), [0, 0, 1, 1, 2, 3]);
        assert_eq!(whole.first_sample_of_frame(0), -120);
    }

    #[test]
    fn windows_have_their_known_values() {
        let window = |window_type| FrameExtractionOptions { window_type, ..Default::default() }.window_function();
        let mid = |w: Vec<f32>| (w.len(), w[0], w[200]);
        assert_eq!(mid(window(WindowType::Rectangular)), (400, 1.0, 1.0));
        assert_eq!(window(WindowType::Hanning)[0], 0.0);
        assert!((window(WindowType::Hamming)[0] - 0.08).abs() < 1e-6);
        assert!((window(WindowType::Povey)[100] - 0.5_f32.powf(0.85)).abs() < 0.01);
        assert!((window(WindowType::Blackman)[0]).abs() < 1e-6);
    }

    #[test]
    fn invalid_frame_options_are_named() {
        let base = FrameExtractionOptions::default;
        let bad = [
            ("frame.samp_freq", FrameExtractionOptions { samp_freq: f32::NAN, ..base() }),
            ("frame.frame_length_ms", FrameExtractionOptions { frame_length_ms: 0.1, ..base() }),
            ("frame.frame_length_ms", FrameExtractionOptions { frame_length_ms: f32::INFINITY, ..base() }),
            ("frame.frame_shift_ms", FrameExtractionOptions { frame_shift_ms: 0.0, ..base() }),
            ("frame.dither", FrameExtractionOptions { dither: f32::NAN, ..base() }),
            ("frame.preemph_coeff", FrameExtractionOptions { preemph_coeff: 1.5, ..base() }),
            ("frame.full_scale", FrameExtractionOptions { full_scale: 0.0, ..base() }),
        ];
        for (name, options) in bad {
            let Err(Error::BadOption { field, .. }) = options.check() else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
        let odd = FrameExtractionOptions { samp_freq: 22050.0, round_to_power_of_two: false, ..base() };
        assert!(odd.check().is_err());
    }
}
