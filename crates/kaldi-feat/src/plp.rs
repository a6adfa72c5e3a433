//! Perceptual linear prediction: cepstra of an all-pole model of what the ear makes of a spectrum.

use std::f64::consts::PI;

use kaldera_base::math::{exp, ln};
use kaldera_base::simd::Simd;

use crate::error::Error;
use crate::extractor::{Extractor, Kind, Sealed, Spectra};
use crate::fbank::EnergyColumn;
use crate::frames::{EnergyOf, Framing};
use crate::mel::{MelBanks, MelBanksOptions, weighted_sum};
use crate::options::{OptionSet, Registry};
use crate::window::FrameExtractionOptions;

/// Options of PLP features. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
pub struct PlpOptions {
    /// The frames.
    pub frame: FrameExtractionOptions,
    /// The filters.
    pub mel: MelBanksOptions,
    /// Poles of the model.
    pub lpc_order: i32,
    /// How many cepstra, C0 included; `lpc_order` + 1 at most.
    pub num_ceps: i32,
    /// The log energy of the frame in place of C0.
    pub use_energy: bool,
    /// The least energy, before the logarithm; 0 = no such bound.
    pub energy_floor: f32,
    /// The energy is the one before preemphasis and window.
    pub raw_energy: bool,
    /// From power to loudness: the energies in the filters to the power of it.
    pub compress_factor: f32,
    /// Q of the liftering 1 + Q/2 sin(π k/Q); 0 = none.
    pub cepstral_lifter: i32,
    /// The cepstra times it, but not the energy.
    pub cepstral_scale: f32,
    /// C0 or the energy comes last.
    pub htk_compat: bool,
}

impl Default for PlpOptions {
    fn default() -> Self {
        Self {
            frame: FrameExtractionOptions::default(),
            mel: MelBanksOptions::default(),
            lpc_order: 12,
            num_ceps: 13,
            use_energy: true,
            energy_floor: 0.0,
            raw_energy: true,
            compress_factor: 0.33333,
            cepstral_lifter: 22,
            cepstral_scale: 1.0,
            htk_compat: false,
        }
    }
}

impl OptionSet for PlpOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.frame.register(registry);
        self.mel.register(registry);
        registry.add("lpc-order", &mut self.lpc_order, "Order of the linear prediction");
        registry.add("num-ceps", &mut self.num_ceps, "Number of cepstra, C0 included");
        registry.add("use-energy", &mut self.use_energy, "The log energy in place of C0");
        registry.add("energy-floor", &mut self.energy_floor, "Least energy before the logarithm; 0 = none");
        registry.add("raw-energy", &mut self.raw_energy, "Take the energy before preemphasis and window");
        registry.add("compress-factor", &mut self.compress_factor, "Exponent of the energies in the filters");
        registry.add("cepstral-lifter", &mut self.cepstral_lifter, "Constant of the liftering; 0 = none");
        registry.add("cepstral-scale", &mut self.cepstral_scale, "Factor of the cepstra");
        registry.add("htk-compat", &mut self.htk_compat, "Put energy or C0 last");
    }
}

/// Kaldi's PLP features (H. Hermansky, *Perceptual linear predictive analysis of speech*, 1990).
///
/// For each frame: the energies in mel filters, weighted by how loud they are heard and compressed by a power, taken for a
/// power spectrum; its autocorrelation; the linear predictor of that; the cepstrum of the predictor, with the log energy of the
/// frame in the place of C0. A frame of digital silence has no predictor: its cepstra are NaN, as they are in Kaldi. See
/// [`Extractor`] for how to use it.
#[doc(alias = "PlpComputer")]
pub type Plp = Extractor<PlpKind>;

/// How spectra become PLP features.
#[derive(Debug)]
pub struct PlpKind {
    num_bins: usize,
    order: usize,
    /// For each lag from 0 to the order, the weight of each filter in the autocorrelation.
    cosines: Vec<Vec<f32>>,
    compress: f32,
    /// What becomes of a filter without energy.
    compressed_zero: f32,
    /// What each cepstrum is multiplied with.
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

/// What a reflection leaves of the error at least.
const LEAST_ERROR: f32 = 1e-5;

/// Far above any use.
const MAX_ORDER: i32 = 1000;

/// How loud a tone of `hz` is heard: Hermansky's curve of equal loudness at 40 dB, without its drop above 5 kHz.
#[doc(alias = "GetEqualLoudnessVector")]
fn equal_loudness(hz: f32) -> f32 {
    let square = hz * hz;
    let rise = square / (square + 1.6e5);
    rise * rise * ((square + 1.44e6) / (square + 9.61e6))
}

/// The inverse Fourier transform of a symmetric spectrum at `num_bins` + 2 points, whose first and last are copies of their
/// neighbours: the weights of the points at each lag, those of the copies added to their originals'.
#[doc(alias = "InitIdftBases")]
fn cosines(num_lags: usize, num_bins: usize) -> Vec<Vec<f32>> {
    let last = num_bins + 1;
    let at = |lag: usize, point: usize| {
        let ends = if point == 0 || point == last { 0.5 } else { 1.0 };
        ends / last as f64 * (PI * (lag * point) as f64 / last as f64).cos()
    };
    let row = |lag| {
        let mut row: Vec<f64> = (1..=num_bins).map(|point| at(lag, point)).collect();
        row[0] += at(lag, 0);
        row[num_bins - 1] += at(lag, last);
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
            return Err(Error::bad_option("lpc-order", options.lpc_order, format!("from 1 to {MAX_ORDER}")));
        }
        if !(1..=options.lpc_order + 1).contains(&options.num_ceps) {
            let expected = format!("from 1 to {}, one more than --lpc-order", options.lpc_order + 1);
            return Err(Error::bad_option("num-ceps", options.num_ceps, expected));
        }
        for (option, value) in
            [("compress-factor", options.compress_factor), ("cepstral-scale", options.cepstral_scale)]
        {
            if !value.is_finite() {
                return Err(Error::bad_option(option, value, "a finite number"));
            }
        }
        let order = options.lpc_order as usize;
        let (lifter, scale) = (f64::from(options.cepstral_lifter), f64::from(options.cepstral_scale));
        let scales = (0..options.num_ceps).map(|k| {
            let lift = if lifter == 0.0 { 1.0 } else { 1.0 + 0.5 * lifter * (PI * f64::from(k) / lifter).sin() };
            (lift * scale) as f32
        });
        let column = EnergyColumn::new(options.raw_energy, options.energy_floor, options.htk_compat)?;
        Ok(Self {
            num_bins,
            order,
            cosines: cosines(order + 1, num_bins),
            compress: options.compress_factor,
            compressed_zero: 0.0_f32.powf(options.compress_factor),
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

    fn scratch_rows(&self) -> usize {
        self.num_bins + (self.order + 1) + 2 * self.order
    }

    fn energy_of(&self) -> EnergyOf {
        self.energy.map_or(EnergyOf::Nothing, |energy| energy.of)
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, filters: &PlpFilters, spectra: Spectra<'_, S::F32>, features: &mut [S::F32]) {
        let Spectra { spectrum, energy: frame_energy, scratch } = spectra;
        let (loudness, scratch) = scratch.split_at_mut(self.num_bins);
        let (autocorrelation, scratch) = scratch.split_at_mut(self.order + 1);
        let (predictor, cepstrum) = scratch.split_at_mut(self.order);

        filters.banks.compute(s, spectrum, loudness);
        let (zero, compressed_zero) = (s.splat(0.0), s.splat(self.compressed_zero));
        for (x, &weight) in loudness.iter_mut().zip(&filters.equal_loudness) {
            let heard = s.mul(*x, s.splat(weight));
            let compressed = exp(s, s.mul(ln(s, heard), s.splat(self.compress)));
            *x = s.select_lt(zero, heard, compressed, compressed_zero);
        }
        for (weights, to) in self.cosines.iter().zip(&mut *autocorrelation) {
            *to = weighted_sum(s, weights, loudness);
        }
        let error = linear_predictor(s, autocorrelation, predictor);
        predictor_cepstrum(s, predictor, cepstrum);

        // Kaldi's floor of the logarithm is the one of a number.
        let (first, rest) = features.split_at_mut(1);
        first[0] = s.max(s.splat(f32::MIN_POSITIVE), ln(s, error));
        rest.copy_from_slice(&cepstrum[..rest.len()]);
        for (x, &scale) in features.iter_mut().zip(&self.scales) {
            *x = s.mul(*x, s.splat(scale));
        }
        if let Some(energy) = self.energy {
            let least = if energy.of == EnergyOf::RawFrame { f32::EPSILON } else { f32::MIN_POSITIVE };
            features[0] = energy.ln(s, frame_energy, least);
        }
        if self.htk_compat {
            features.rotate_left(1);
        }
    }
}

/// The Levinson-Durbin recursion: a\[1\] .. a\[p\] such that x\[t\] + Σ a\[k\] x\[t-k\] is smallest, and how large that is.
#[doc(alias("ComputeLpc", "Durbin"))]
#[inline(always)]
fn linear_predictor<S: Simd>(s: S, autocorrelation: &[S::F32], a: &mut [S::F32]) -> S::F32 {
    let mut error = autocorrelation[0];
    for i in 0..a.len() {
        let mut sum = autocorrelation[i + 1];
        for j in 0..i {
            sum = s.mul_add(a[j], autocorrelation[i - j], sum);
        }
        let reflection = s.div(sum, error);
        let left = s.neg_mul_add(reflection, reflection, s.splat(1.0));
        error = s.mul(error, s.max(s.splat(LEAST_ERROR), left));
        // a[j] and a[i-1-j] change together.
        for j in 0..i / 2 {
            let (low, high) = (a[j], a[i - 1 - j]);
            a[j] = s.neg_mul_add(reflection, high, low);
            a[i - 1 - j] = s.neg_mul_add(reflection, low, high);
        }
        if i % 2 == 1 {
            a[i / 2] = s.neg_mul_add(reflection, a[i / 2], a[i / 2]);
        }
        a[i] = s.sub(s.splat(0.0), reflection);
    }
    error
}

/// The cepstrum of 1 / (1 + Σ a\[k\] z^-k): c\[n\] = -a\[n\] - Σ over k below n of (n-k)/n a\[k\] c\[n-k\].
#[doc(alias = "Lpc2Cepstrum")]
#[inline(always)]
fn predictor_cepstrum<S: Simd>(s: S, a: &[S::F32], c: &mut [S::F32]) {
    for i in 0..a.len() {
        let mut sum = s.splat(0.0);
        for j in 0..i {
            sum = s.mul_add(s.mul(s.splat((i - j) as f32), a[j]), c[i - 1 - j], sum);
        }
        let of_smaller = s.mul(sum, s.splat(1.0 / (i + 1) as f32));
        c[i] = s.sub(s.splat(0.0), s.add(a[i], of_smaller));
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use super::*;

    struct Predict<'a>(&'a [f32]);

    impl Kernel for Predict<'_> {
        type Output = (f32, Vec<f32>, Vec<f32>);

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Self::Output {
            let autocorrelation: Vec<_> = self.0.iter().map(|&x| s.splat(x)).collect();
            let order = self.0.len() - 1;
            let (mut a, mut c) = (vec![s.splat(0.0); order], vec![s.splat(0.0); order]);
            let error = linear_predictor(s, &autocorrelation, &mut a);
            predictor_cepstrum(s, &a, &mut c);
            let lane = |x| s.max_lane(x);
            (lane(error), a.into_iter().map(lane).collect(), c.into_iter().map(lane).collect())
        }
    }

    /// Kaldi's answers, from the known answers.
    #[test]
    fn the_predictor_and_its_cepstrum_are_kaldis() {
        for level in available() {
            let (error, a, c) = dispatch_at(level, Predict(&[10.0, 6.0, 3.0, 1.0, -1.0, -2.0]));
            assert!((error.ln() - 1.807_762_5).abs() < 1e-5, "{error} at {level}");
            let expected = [-0.627_610_86, 0.057_564_97, -0.046_357_61, 0.134_488_02, 0.064_696_915];
            for (a, expected) in a.iter().zip(expected) {
                assert!((a - expected).abs() < 1e-5, "{a} for {expected} at {level}");
            }
            assert!((c[0] - 0.627_610_86).abs() < 1e-5);
        }
    }

    /// The predictor solves the normal equations.
    #[test]
    fn what_is_left_is_orthogonal_to_the_past() {
        let r = [5.0, 3.0, -1.0, 0.5];
        let (_, a, _) = dispatch_at(available().next().unwrap(), Predict(&r));
        for lag in 1..4_usize {
            let sum: f32 = r[lag] + (1..4).map(|k: usize| a[k - 1] * r[lag.abs_diff(k)]).sum::<f32>();
            assert!(sum.abs() < 1e-5, "{sum} at {lag}");
        }
    }

    #[test]
    fn kaldis_inverse_transform_has_its_copies_folded_in() {
        // InitIdftBases for 4 bases over 7 points begins 1/12 1/6 1/6 ...: the first two together are 1/4.
        let rows = cosines(4, 5);
        let close = |x: f32, y: f32| (x - y).abs() < 1e-6;
        assert!(close(rows[0][0], 0.25) && close(rows[0][1], 1.0 / 6.0) && close(rows[0][4], 0.25));
        assert!(close(rows[1][0], 1.0 / 12.0 + (PI / 6.0).cos() as f32 / 6.0));
    }
}
