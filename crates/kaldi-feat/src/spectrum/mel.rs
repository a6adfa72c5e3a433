//! Triangular filters that are equally wide on the mel scale.

use kaldera_base::simd::Simd;

use crate::error::Error;
use crate::spectrum::window::FrameExtractionOptions;

/// Options of the mel filters. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct MelBanksOptions {
    /// Number of filters, 3 or more.
    pub num_bins: i32,
    /// Lower end of the first filter, Hz.
    pub low_freq: f32,
    /// Upper end of the last filter, Hz; 0 or less: that far below half the sample rate.
    pub high_freq: f32,
    /// Lower end of the VTLN warping, Hz.
    pub vtln_low: f32,
    /// Upper end of the VTLN warping, Hz; negative: that far below half the sample rate.
    pub vtln_high: f32,
    /// Lets the programs show the filters. No effect on the numbers.
    pub debug_mel: bool,
    /// Reproduces HTK's quirks: the first weight of the first filter is 0, energies below 1 are 1.
    pub htk_mode: bool,
}

impl Default for MelBanksOptions {
    fn default() -> Self {
        Self {
            num_bins: 23,
            low_freq: 20.0,
            high_freq: 0.0,
            vtln_low: 100.0,
            vtln_high: -500.0,
            debug_mel: false,
            htk_mode: false,
        }
    }
}

/// Converts Hz to mel: 1127 ln(1 + f/700), in single precision as Kaldi computes it.
#[doc(alias = "MelScale")]
pub fn mel_scale(hz: f32) -> f32 {
    1127.0 * (1.0 + hz / 700.0).ln()
}

/// Converts mel to Hz.
#[doc(alias = "InverseMelScale")]
pub fn inverse_mel_scale(mel: f32) -> f32 {
    700.0 * ((mel / 1127.0).exp() - 1.0)
}

/// One triangle: its weights, and the first frequency of the spectrum that it weighs.
#[derive(Debug, Clone, PartialEq)]
pub struct MelBin {
    /// Index of the first frequency.
    pub first: usize,
    /// One weight for each frequency from `first` on.
    pub weights: Vec<f32>,
}

/// The filters for one warp factor, as short runs of weights.
#[derive(Debug, Clone, PartialEq)]
pub struct MelBanks {
    bins: Vec<MelBin>,
    center_freqs: Vec<f32>,
    htk_mode: bool,
}

impl MelBanks {
    /// Creates the filters for frames of these options, warped by `vtln_warp` (1 = none).
    ///
    /// # Errors
    /// If the frequencies make no sense, or a filter would contain no frequency of the spectrum.
    pub fn new(options: &MelBanksOptions, frame: &FrameExtractionOptions, vtln_warp: f32) -> Result<Self, Error> {
        let num_bins = usize::try_from(options.num_bins).unwrap_or(0);
        let padded = frame.padded_window_size();
        let num_fft_bins = padded / 2;
        if num_bins < 3 || num_bins > num_fft_bins {
            let expected = format!("from 3 to {num_fft_bins}, half the size of the FFT");
            return Err(Error::bad_option("mel.num_bins", options.num_bins, expected));
        }
        let range = Range::new(options, frame.samp_freq)?;
        if vtln_warp != 1.0 {
            range.check_warp(vtln_warp)?;
        }
        let fft_bin_width = frame.samp_freq / padded as f32;
        let mel_low = mel_scale(range.low);
        let mel_delta = (mel_scale(range.high) - mel_low) / (num_bins + 1) as f32;
        let corner = |i: usize| {
            let mel = mel_low + i as f32 * mel_delta;
            if vtln_warp == 1.0 { mel } else { mel_scale(range.warp(vtln_warp, inverse_mel_scale(mel))) }
        };

        let mut bins = Vec::with_capacity(num_bins);
        let mut center_freqs = Vec::with_capacity(num_bins);
        for bin in 0..num_bins {
            let (left, center, right) = (corner(bin), corner(bin + 1), corner(bin + 2));
            let weight = |i: usize| {
                let mel = mel_scale(fft_bin_width * i as f32);
                (mel > left && mel < right).then(|| {
                    if mel <= center { (mel - left) / (center - left) } else { (right - mel) / (right - center) }
                })
            };
            let first = (0..num_fft_bins).find(|&i| weight(i).is_some());
            let first = first.ok_or(Error::EmptyMelBin { bin, num_bins, num_fft_bins })?;
            let mut weights: Vec<f32> = (first..num_fft_bins).map_while(weight).collect();
            if options.htk_mode && bin == 0 && mel_low != 0.0 {
                weights[0] = 0.0;
            }
            bins.push(MelBin { first, weights });
            center_freqs.push(inverse_mel_scale(center));
        }
        Ok(Self { htk_mode: options.htk_mode, ..Self::from_bins(bins, center_freqs) })
    }

    /// Creates filters of any shape, with the frequencies of their tips.
    pub(crate) fn from_bins(bins: Vec<MelBin>, center_freqs: Vec<f32>) -> Self {
        Self { bins, center_freqs, htk_mode: false }
    }

    /// Returns the triangles, the lowest first.
    pub fn bins(&self) -> &[MelBin] {
        &self.bins
    }

    /// Returns the frequency of each triangle's tip, Hz.
    #[doc(alias = "GetCenterFreqs")]
    pub fn center_freqs(&self) -> &[f32] {
        &self.center_freqs
    }

    /// Computes the energy in each filter, with a frame in each lane: `energies[b]` = Σ weight ·
    /// `power[frequency]`.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, power: &[S::F32], energies: &mut [S::F32]) {
        for (bin, energy) in self.bins.iter().zip(energies) {
            *energy = energy_of(s, &bin.weights, &power[bin.first..bin.first + bin.weights.len()]);
            if self.htk_mode {
                *energy = s.max(*energy, s.splat(1.0));
            }
        }
    }
}

/// Number of partial sums of a filter's energy: sum i is of every sixteenth frequency from the i-th
/// on. Then they are added in halves, as [`Simd::sum`] adds lanes.
const FILTER_SUMS: usize = 16;

/// Computes Σ weight · row, of as many rows as weights, a frame in each lane.
#[inline(always)]
fn energy_of<S: Simd>(s: S, weights: &[f32], rows: &[S::F32]) -> S::F32 {
    macro_rules! by_length {
        ($($len:literal)*) => {
            match weights.len() % FILTER_SUMS {
                $($len => energy_with_rest::<S, $len>(s, weights, rows),)*
                _ => energy_with_rest::<S, 0>(s, weights, rows),
            }
        };
    }
    by_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

/// Computes the energy of a filter with `N` frequencies more than a multiple of [`FILTER_SUMS`].
#[inline(always)]
fn energy_with_rest<S: Simd, const N: usize>(s: S, weights: &[f32], rows: &[S::F32]) -> S::F32 {
    let (weights, last_weights) = weights.as_chunks::<FILTER_SUMS>();
    let (rows, last_rows) = rows.as_chunks::<FILTER_SUMS>();
    let last_weights: &[f32; N] = last_weights.try_into().expect("the caller has counted");
    let last_rows: &[S::F32; N] = last_rows.try_into().expect("as many rows as weights");
    let mut sums = [s.splat(0.0); FILTER_SUMS];
    for (weights, rows) in weights.iter().zip(rows) {
        for i in 0..FILTER_SUMS {
            sums[i] = s.mul_add(s.splat(weights[i]), rows[i], sums[i]);
        }
    }
    for i in 0..N {
        sums[i] = s.mul_add(s.splat(last_weights[i]), last_rows[i], sums[i]);
    }
    halves(s, sums, if weights.is_empty() { N } else { FILTER_SUMS })
}

/// Adds up the first `len` sums; the others are zeros.
#[inline(always)]
fn halves<S: Simd>(s: S, mut sums: [S::F32; FILTER_SUMS], len: usize) -> S::F32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            if i + half < len {
                sums[i] = s.add(sums[i], sums[i + half]);
            }
        }
    }
    sums[0]
}

/// Frequencies in Hz, all counted from zero.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f32,
    high: f32,
    vtln_low: f32,
    vtln_high: f32,
}

impl Range {
    fn new(options: &MelBanksOptions, samp_freq: f32) -> Result<Self, Error> {
        let nyquist = 0.5 * samp_freq;
        let from_nyquist = |hz: f32, offset: bool| if offset { nyquist + hz } else { hz };
        let range = Self {
            low: options.low_freq,
            high: from_nyquist(options.high_freq, options.high_freq <= 0.0),
            vtln_low: options.vtln_low,
            vtln_high: from_nyquist(options.vtln_high, options.vtln_high < 0.0),
        };
        if !(0.0..nyquist).contains(&range.low) {
            let expected = format!("at least 0 and below {nyquist}, half the sample rate");
            return Err(Error::bad_option("mel.low_freq", range.low, expected));
        }
        if !(range.high > range.low && range.high <= nyquist) {
            let expected = format!("above `mel.low_freq`={} and at most {nyquist}, half the sample rate", range.low);
            return Err(Error::bad_option("mel.high_freq", options.high_freq, expected));
        }
        for (option, value) in [("mel.vtln_low", options.vtln_low), ("mel.vtln_high", options.vtln_high)] {
            if !value.is_finite() {
                return Err(Error::bad_option(option, value, "a finite number"));
            }
        }
        Ok(range)
    }

    /// Returns the frequencies where the warping bends. Outside them it is straight to the ends of
    /// the range.
    fn bends(&self, warp: f32) -> (f32, f32) {
        (self.vtln_low * warp.max(1.0), self.vtln_high * warp.min(1.0))
    }

    fn check_warp(&self, warp: f32) -> Result<(), Error> {
        let (left, right) = self.bends(warp);
        let rising = |values: [f32; 4]| values.is_sorted_by(|a, b| a < b);
        if warp > 0.0
            && warp.is_finite()
            && rising([self.low, self.vtln_low, self.vtln_high, self.high])
            && rising([self.low, left, right, self.high])
        {
            return Ok(());
        }
        Err(Error::BadVtln {
            warp,
            vtln_low: self.vtln_low,
            vtln_high: self.vtln_high,
            low_freq: self.low,
            high_freq: self.high,
        })
    }

    /// Warps a frequency, piecewise linearly: by 1 / `warp` between the bends, and from there
    /// straight to the ends of the range, which stay.
    #[doc(alias = "VtlnWarpFreq")]
    fn warp(&self, warp: f32, hz: f32) -> f32 {
        if hz < self.low || hz > self.high {
            return hz;
        }
        let (left, right) = self.bends(warp);
        let scale = 1.0 / warp;
        if hz < left {
            self.low + (scale * left - self.low) / (left - self.low) * (hz - self.low)
        } else if hz < right {
            scale * hz
        } else {
            self.high + (self.high - scale * right) / (self.high - right) * (hz - self.high)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banks(options: MelBanksOptions, warp: f32) -> Result<MelBanks, Error> {
        MelBanks::new(&options, &FrameExtractionOptions::default(), warp)
    }

    #[test]
    fn triangles_overlap_by_half_and_sum_to_one_between_the_first_and_the_last_tip() {
        let banks = banks(MelBanksOptions::default(), 1.0).unwrap();
        let mut sums = [0.0; 256];
        for bin in banks.bins() {
            for (sum, w) in sums[bin.first..].iter_mut().zip(&bin.weights) {
                *sum += w;
            }
        }
        let tip = |hz: f32| (hz / 31.25) as usize;
        let [first, .., last] = banks.center_freqs() else { panic!() };
        assert!(sums[tip(*first) + 1..tip(*last)].iter().all(|sum| (sum - 1.0).abs() < 1e-4));
    }

    #[test]
    fn warping_keeps_the_ends_and_scales_the_middle() {
        let range = Range::new(&MelBanksOptions::default(), 16000.0).unwrap();
        assert_eq!(range.warp(0.9, 20.0), 20.0);
        assert_eq!(range.warp(0.9, 8000.0), 8000.0);
        assert!((range.warp(0.9, 900.0) - 1000.0).abs() < 1e-3);
        let (left, right) = range.bends(0.9);
        for bend in [left, right] {
            assert!((range.warp(0.9, bend - 0.01) - range.warp(0.9, bend + 0.01)).abs() < 0.1);
        }
    }

    #[test]
    fn invalid_mel_options_are_named() {
        let base = MelBanksOptions::default;
        assert!(matches!(
            banks(MelBanksOptions { num_bins: 200, ..base() }, 1.0),
            Err(Error::EmptyMelBin { num_bins: 200, num_fft_bins: 256, .. })
        ));
        for (name, options) in [
            ("mel.num_bins", MelBanksOptions { num_bins: 2, ..base() }),
            ("mel.num_bins", MelBanksOptions { num_bins: i32::MAX, ..base() }),
            ("mel.low_freq", MelBanksOptions { low_freq: 8000.0, ..base() }),
            ("mel.low_freq", MelBanksOptions { low_freq: f32::NAN, ..base() }),
            ("mel.high_freq", MelBanksOptions { high_freq: 8001.0, ..base() }),
            ("mel.high_freq", MelBanksOptions { high_freq: f32::NAN, ..base() }),
        ] {
            let Err(Error::BadOption { field, .. }) = banks(options, 1.0) else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
        for warp in [0.0, -1.0, f32::NAN, f32::INFINITY, 100.0, 0.001] {
            assert!(matches!(banks(base(), warp), Err(Error::BadVtln { .. })), "{warp}");
        }
    }
}
