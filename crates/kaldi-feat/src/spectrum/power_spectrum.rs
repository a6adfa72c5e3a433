//! Power spectra of frames.

use kaldera_base::simd::{Kernel, Lines, Simd};

use crate::spectrum::fft::{LaneFft, factors};

/// A plan for frames of one size.
#[derive(Debug)]
pub(crate) struct PowerSpectrum {
    lanes: LaneFft,
}

/// The output of the transform of each frame of N values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumOf {
    /// |X\[k\]|² for k = 0 ..= N/2.
    Power,
    /// N values: X\[0\], X\[N/2\], which are real, then real and imaginary parts of X\[1\], X\[2\]
    /// ...
    Packed,
}

impl SpectrumOf {
    /// Returns the number of rows for frames of `size` samples.
    pub(crate) fn rows(self, size: usize) -> usize {
        match self {
            Self::Power => size / 2 + 1,
            Self::Packed => size,
        }
    }
}

impl PowerSpectrum {
    /// Plans frames of `size` samples: even, 4 or more. With `as_kaldi` a size that is a power of 2
    /// has the rounding of Kaldi's transform.
    pub(crate) fn new(size: usize, as_kaldi: bool) -> Self {
        let half = size / 2;
        let split = as_kaldi && size.is_power_of_two();
        Self { lanes: if split { LaneFft::as_kaldi(half) } else { LaneFft::new(&factors(half)) } }
    }

    /// Computes the output `of` in the rows of `spectrum`. The rows of `frames`, as many as a frame
    /// has samples, are overwritten.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, of: SpectrumOf, frames: &mut Lines, spectrum: &mut Lines) {
        s.vectorize(Transform { plan: &self.lanes, of, frames, spectrum });
    }
}

/// The transform, which is the same for all kinds of features: it is compiled once, rather than
/// into each of them.
struct Transform<'a> {
    plan: &'a LaneFft,
    of: SpectrumOf,
    frames: &'a mut Lines,
    spectrum: &'a mut Lines,
}

impl Kernel for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { plan, of, frames, spectrum } = self;
        let size = 2 * plan.half;
        let rows = frames.vectors(s, size);
        plan.transform(s, rows);
        let spectrum = spectrum.vectors(s, of.rows(size));
        match of {
            SpectrumOf::Power => plan.power(s, rows, spectrum),
            SpectrumOf::Packed => plan.packed(s, rows, spectrum),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use kaldera_base::random::Philox;
    use kaldera_base::simd::{available, dispatch_at};

    use super::*;

    struct Compare {
        size: usize,
        as_kaldi: bool,
    }

    impl Kernel for Compare {
        type Output = f64;

        /// Returns the largest error, relative to the largest power of the frame.
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let size = self.size;
            let (mut frames, mut power) = (Lines::new(), Lines::new());
            Philox::new(size as u64).add_gaussian(1.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            let plan = PowerSpectrum::new(size, self.as_kaldi);
            plan.compute(s, SpectrumOf::Power, &mut frames, &mut power);
            let power = power.floats((size / 2 + 1) * S::LANES);
            let mut worst = 0.0_f64;
            for lane in 0..S::LANES {
                let exact: Vec<f64> = (0..=size / 2)
                    .map(|k| {
                        let terms = (0..size).map(|i| {
                            (f64::from(signal[i * S::LANES + lane]), TAU * ((i * k) % size) as f64 / size as f64)
                        });
                        let (re, im) = terms.fold((0.0, 0.0), |(re, im), (x, a)| (re + x * a.cos(), im - x * a.sin()));
                        re * re + im * im
                    })
                    .collect();
                let largest = exact.iter().fold(0.0_f64, |a, &b| a.max(b));
                for (k, exact) in exact.iter().enumerate() {
                    worst = worst.max((f64::from(power[k * S::LANES + lane]) - exact).abs() / largest);
                }
            }
            worst
        }
    }

    struct Packed {
        size: usize,
        as_kaldi: bool,
    }

    impl Kernel for Packed {
        type Output = f64;

        /// Returns the largest error, relative to the largest magnitude.
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let size = self.size;
            let (mut frames, mut packed) = (Lines::new(), Lines::new());
            Philox::new(size as u64).add_gaussian(1.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            let plan = PowerSpectrum::new(size, self.as_kaldi);
            plan.compute(s, SpectrumOf::Packed, &mut frames, &mut packed);
            let packed = packed.floats(size * S::LANES);
            let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
            for k in 0..=size / 2 {
                let (mut re, mut im) = (0.0, 0.0);
                for i in 0..size {
                    let (sin, cos) = (TAU * ((i * k) % size) as f64 / size as f64).sin_cos();
                    let x = f64::from(signal[i * S::LANES]);
                    (re, im) = (re + x * cos, im - x * sin);
                }
                largest = largest.max(re.hypot(im));
                let row = |row: usize| f64::from(packed[row * S::LANES]);
                let error = match k {
                    0 => (row(0) - re).abs(),
                    k if k == size / 2 => (row(1) - re).abs(),
                    k => (row(2 * k) - re).abs().max((row(2 * k + 1) - im).abs()),
                };
                worst = worst.max(error);
            }
            worst / largest
        }
    }

    /// Rounding grows with the number of steps; the factors of Kaldi's last step have errors that
    /// grow with their index.
    fn tolerance(size: usize, as_kaldi: bool) -> f64 {
        let steps = 4e-7 * f64::from(size.ilog2());
        if as_kaldi && size.is_power_of_two() { steps + 3e-8 * size as f64 } else { steps }
    }

    #[test]
    fn packed_spectrum_equals_the_definition() {
        for size in [4, 6, 8, 18, 34, 50, 200, 256, 400] {
            for (level, as_kaldi) in available().flat_map(|level| [(level, false), (level, true)]) {
                let error = dispatch_at(level, Packed { size, as_kaldi });
                assert!(error < tolerance(size, as_kaldi), "{error} for {size} at {level}, {as_kaldi}");
            }
        }
    }

    #[test]
    fn power_spectrum_equals_the_definition() {
        // 34, 1102 and 1202 have large prime factors.
        for size in
            [4, 6, 8, 10, 14, 16, 18, 22, 26, 30, 32, 34, 50, 64, 128, 200, 256, 400, 512, 720, 882, 1024, 1102, 1202]
        {
            for (level, as_kaldi) in available().flat_map(|level| [(level, false), (level, true)]) {
                let error = dispatch_at(level, Compare { size, as_kaldi });
                assert!(error < tolerance(size, as_kaldi), "{error} for {size} at {level}, {as_kaldi}");
            }
        }
    }
}
