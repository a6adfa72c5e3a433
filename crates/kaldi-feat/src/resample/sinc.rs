//! The low-pass filter of both resamplers: a sinc under a Hann window.

use std::f64::consts::{PI, TAU};

use crate::error::Error;

/// A windowed sinc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowedSinc {
    /// Cutoff frequency, Hz.
    cutoff: f64,
    /// Zeros of the sinc on each side.
    num_zeros: f64,
}

impl WindowedSinc {
    /// Checks the two numbers.
    pub(super) fn new(filter_cutoff: f32, num_zeros: i32) -> Result<Self, Error> {
        if !(filter_cutoff > 0.0 && filter_cutoff.is_finite()) {
            return Err(Error::BadFilter { what: "cutoff in Hz", value: filter_cutoff, expected: "above 0" });
        }
        if num_zeros < 1 {
            return Err(Error::BadFilter {
                what: "number of zeros on each side",
                value: num_zeros as f32,
                expected: "1 or more",
            });
        }
        Ok(Self { cutoff: f64::from(filter_cutoff), num_zeros: f64::from(num_zeros) })
    }

    /// Returns the reach of the filter to each side, in seconds.
    pub(super) fn half_width(&self) -> f64 {
        self.num_zeros / (2.0 * self.cutoff)
    }

    /// Returns its value at `t` seconds. The argument, the two factors and the result are of single
    /// precision, as in Kaldi.
    pub(super) fn at(&self, t: f32) -> f32 {
        let t = f64::from(t);
        if t.abs() >= self.half_width() {
            return 0.0;
        }
        let window = 0.5 * (1.0 + (TAU * self.cutoff / self.num_zeros * t).cos());
        let sinc = if t == 0.0 { 2.0 * self.cutoff } else { (TAU * self.cutoff * t).sin() / (PI * t) };
        sinc as f32 * window as f32
    }
}
