//! Perceptual linear prediction: cepstra of an all-pole model of the perceived spectrum.

pub(crate) mod lpc;
mod power;

use std::f64::consts::PI;

use kaldera_base::math::ln;
use kaldera_base::simd::{Simd, dispatch};
use kaldi_matrix::Matrix;

use crate::error::Error;
use crate::extractor::{ExtractKernel, Extractor, Kind};
use crate::kinds::energy::EnergyColumn;
use crate::kinds::lifter::lifter;
use crate::kinds::plp::lpc::{linear_predictor, predictor_cepstrum};
use crate::kinds::plp::power::Power;
use crate::kinds::products::weighted_sum;
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, Filters};
use crate::spectrum::frames::{EnergySource, Framing};
use crate::spectrum::mel::{MelBanks, MelBanksOptions};
use crate::spectrum::window::FrameExtractionOptions;

/// Options of PLP features. Names and defaults are Kaldi's, except for `autocorrelation_floor`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct PlpOptions {
    /// The frames.
    pub frame: FrameExtractionOptions,
    /// The filters.
    pub mel: MelBanksOptions,
    /// Number of poles of the model.
    pub lpc_order: i32,
    /// Number of cepstra, C0 included; at most `lpc_order` + 1.
    pub num_ceps: i32,
    /// Puts the log energy of the frame in place of C0.
    pub use_energy: bool,
    /// The least energy, before the logarithm; 0 = no such bound.
    pub energy_floor: f32,
    /// Takes the energy before preemphasis and window.
    pub raw_energy: bool,
    /// The exponent of the energies in the filters, from power to loudness.
    pub compress_factor: f32,
    /// The least autocorrelation at lag 0 (0 for digital silence); 0 = no such bound.
    ///
    /// The default is the precision of `f32`, which is also the least energy of a filter in Kaldi's
    /// filterbanks and MFCCs. Silence then has the predictor of white noise: its cepstra are 0,
    /// except C0. Kaldi's `compute-plp-feats` has no bound, divides 0 by 0 and writes NaN; so does
    /// 0 here.
    pub autocorrelation_floor: f32,
    /// Q of the liftering 1 + Q/2 sin(π k/Q); 0 = none.
    pub cepstral_lifter: i32,
    /// The factor of the cepstra, but not of the energy.
    pub cepstral_scale: f32,
    /// Puts C0 or the energy last.
    pub htk_compat: bool,
}

/// Kaldi's PLP features (H. Hermansky, *Perceptual linear predictive analysis of speech*, 1990).
///
/// For each frame: the energies in mel filters, weighted by loudness and compressed by a power, are
/// taken for a power spectrum; then come its autocorrelation, the linear predictor of the
/// autocorrelation, and the cepstrum of the predictor, with the log energy of the frame in the
/// place of C0. See [`autocorrelation_floor`](PlpOptions::autocorrelation_floor) for digital
/// silence, and [`Extractor`] for its use.
#[doc(alias = "PlpComputer")]
pub type Plp = Extractor<PlpKind>;

/// The PLP kind of features.
#[derive(Debug)]
pub struct PlpKind {
    order: usize,
    /// For each lag from 0 to the order, the weight of each filter in the autocorrelation.
    cosines: Vec<Vec<f32>>,
    /// The compression of a filter's energy.
    compress: Power,
    autocorrelation_floor: f32,
    /// The factors of C0, and of n · c\[n\] for each other cepstrum n.
    scales: Vec<f32>,
    energy: Option<EnergyColumn>,
    htk_compat: bool,
}

/// Filters for one warp factor.
#[derive(Debug)]
pub struct PlpFilters {
    banks: MelBanks,
    equal_loudness: Vec<f32>,
}

/// The highest order allowed, far above any use.
const MAX_ORDER: i32 = 1000;

/// Returns the perceived loudness of a tone of `hz`: Hermansky's curve of equal loudness at 40 dB,
/// without its drop above 5 kHz.
#[doc(alias = "GetEqualLoudnessVector")]
pub fn equal_loudness(hz: f32) -> f32 {
    let square = hz * hz;
    let rise = square / (square + 1.6e5);
    rise * rise * ((square + 1.44e6) / (square + 9.61e6))
}

/// Returns the inverse Fourier transform of symmetric spectra that are given at `points`
/// frequencies from 0 to half the sample rate. Row k has the weight of each frequency in the
/// autocorrelation at lag k. At least 2 points.
#[doc(alias = "InitIdftBases")]
pub fn idft_bases(num_lags: usize, points: usize) -> Matrix<f32> {
    Matrix::from_fn(num_lags, points, |lag, point| idft_weight(lag, point, points) as f32)
}

fn idft_weight(lag: usize, point: usize, points: usize) -> f64 {
    let last = points.saturating_sub(1).max(1);
    let ends = if point == 0 || point == last { 0.5 } else { 1.0 };
    ends / last as f64 * (PI * (lag * point) as f64 / last as f64).cos()
}

/// Returns [`idft_bases`] of spectra at `num_bins` + 2 points whose first and last are copies of
/// their neighbours: the weights of the copies are added to the weights of the originals.
fn cosines(num_lags: usize, num_bins: usize) -> Vec<Vec<f32>> {
    let weight = |lag, point| idft_weight(lag, point, num_bins + 2);
    let row = |lag| {
        let mut row: Vec<f64> = (1..=num_bins).map(|point| weight(lag, point)).collect();
        row[0] += weight(lag, 0);
        row[num_bins - 1] += weight(lag, num_bins + 1);
        row.iter().map(|&x| x as f32).collect()
    };
    (0..num_lags).map(row).collect()
}

impl Sealed for PlpKind {}

impl Kind for PlpKind {
    type Options = PlpOptions;
    type Warped = PlpFilters;

    fn framing(options: &PlpOptions) -> Result<Framing, Error> {
        Framing::new(&options.frame)
    }

    fn new(options: &PlpOptions, unwarped: &PlpFilters) -> Result<Self, Error> {
        let num_bins = unwarped.banks.bins().len();
        if !(1..=MAX_ORDER).contains(&options.lpc_order) {
            return Err(Error::bad_option("lpc_order", options.lpc_order, format!("from 1 to {MAX_ORDER}")));
        }
        if !(1..=options.lpc_order + 1).contains(&options.num_ceps) {
            let expected = format!("from 1 to {}, one more than `lpc_order`", options.lpc_order + 1);
            return Err(Error::bad_option("num_ceps", options.num_ceps, expected));
        }
        for (option, value) in
            [("compress_factor", options.compress_factor), ("cepstral_scale", options.cepstral_scale)]
        {
            if !value.is_finite() {
                return Err(Error::bad_option(option, value, "a finite number"));
            }
        }
        let floor = options.autocorrelation_floor;
        if !(floor == 0.0 || (floor.is_normal() && floor > 0.0)) {
            let expected = format!("0, or a number from {:e} on", f32::MIN_POSITIVE);
            return Err(Error::bad_option("autocorrelation_floor", floor, expected));
        }
        let order = options.lpc_order as usize;
        let (q, scale) = (f64::from(options.cepstral_lifter), f64::from(options.cepstral_scale));
        let scales = (0..options.num_ceps as usize).map(|k| (lifter(q, k) * scale / k.max(1) as f64) as f32);
        let column = EnergyColumn::new(options.raw_energy, options.energy_floor, options.htk_compat)?;
        let cosines = cosines(order + 1, num_bins);
        Ok(Self {
            order,
            cosines,
            compress: Power::new(options.compress_factor),
            autocorrelation_floor: options.autocorrelation_floor,
            scales: scales.collect(),
            energy: options.use_energy.then_some(column),
            htk_compat: options.htk_compat,
        })
    }

    fn warped(options: &PlpOptions, vtln_warp: f32) -> Result<PlpFilters, Error> {
        let banks = MelBanks::new(&options.mel, &options.frame, vtln_warp)?;
        let equal_loudness = banks.center_freqs().iter().map(|&hz| equal_loudness(hz)).collect();
        Ok(PlpFilters { banks, equal_loudness })
    }

    fn dim(&self) -> usize {
        self.scales.len()
    }

    fn filters<'a>(&self, filters: &'a PlpFilters) -> Option<Filters<'a>> {
        Some(Filters { banks: &filters.banks, magnitudes: false })
    }

    fn scratch_rows(&self) -> usize {
        (self.order + 1) + 2 * self.order
    }

    fn energy_source(&self) -> EnergySource {
        self.energy.map_or(EnergySource::None, |energy| energy.source)
    }

    fn run(kernel: ExtractKernel<'_, '_, Self>) {
        dispatch(kernel);
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, filters: &PlpFilters, frames: Bands<'_, S::F32>, features: &mut [S::F32]) {
        let Bands { bands: loudness, energy: frame_energy, scratch } = frames;
        let (autocorrelation, scratch) = scratch.split_at_mut(self.order + 1);
        let (predictor, cepstrum) = scratch.split_at_mut(self.order);

        for (x, &weight) in loudness.iter_mut().zip(&filters.equal_loudness) {
            *x = self.compress.apply(s, s.mul(*x, s.splat(weight)));
        }
        for (weights, to) in self.cosines.iter().zip(&mut *autocorrelation) {
            *to = weighted_sum(s, weights, loudness);
        }
        self.cepstra(s, autocorrelation, predictor, cepstrum, features);
        if let Some(energy) = self.energy {
            features[0] = energy.ln(s, frame_energy, energy.least_of_plp());
        }
        if self.htk_compat {
            features.rotate_left(1);
        }
    }
}

impl PlpKind {
    /// Computes the scaled cepstra of an autocorrelation from its predictor.
    #[inline(always)]
    fn cepstra<S: Simd>(
        &self,
        s: S,
        autocorrelation: &mut [S::F32],
        predictor: &mut [S::F32],
        cepstrum: &mut [S::F32],
        features: &mut [S::F32],
    ) {
        // The numbers at other lags are not larger, so that the floor leaves an autocorrelation.
        autocorrelation[0] = s.max(s.splat(self.autocorrelation_floor), autocorrelation[0]);
        let mut error = if self.energy.is_none() { Some(s.splat(0.0)) } else { None };
        linear_predictor(s, autocorrelation, predictor, cepstrum, error.as_mut());
        predictor_cepstrum(s, predictor, cepstrum);
        let (first, rest) = features.split_at_mut(1);
        first[0] = match error {
            Some(error) => log_of_error(s, error),
            None => s.splat(0.0),
        };
        rest.copy_from_slice(&cepstrum[..rest.len()]);
        for (x, &scale) in features.iter_mut().zip(&self.scales) {
            *x = s.mul(*x, s.splat(scale));
        }
    }
}

/// Returns the logarithm of the energy that a predictor leaves.
#[inline(always)]
fn log_of_error<S: Simd>(s: S, error: S::F32) -> S::F32 {
    // Kaldi's floor for numbers also bounds the logarithm.
    s.max(s.splat(f32::MIN_POSITIVE), ln(s, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicated_end_points_are_folded_in() {
        let (whole, folded) = (idft_bases(4, 7), cosines(4, 5));
        for (row, folded) in whole.rows().zip(folded) {
            let expected = [row[0] + row[1], row[2], row[3], row[4], row[5] + row[6]];
            for (x, y) in folded.iter().zip(expected) {
                assert!((x - y).abs() < 1e-6, "{x} for {y}");
            }
        }
    }
}
