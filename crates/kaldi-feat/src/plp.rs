//! Perceptual linear prediction: cepstra of an all-pole model of what the ear makes of a spectrum.

use std::f64::consts::PI;

use kaldera_base::math::ln;
use kaldera_base::simd::{Kernel, Simd, dispatch};
use kaldi_matrix::Matrix;

use crate::bands::{Bands, Filters, OneBands};
use crate::error::Error;
use crate::extractor::{Compute, Extractor, Kind, Sealed};
use crate::fbank::EnergyColumn;
use crate::frames::{EnergyOf, Framing};
use crate::mel::{Columns, MelBanks, MelBanksOptions, first_lane, weighted_sum};
use crate::options::{OptionSet, Registry};
use crate::power::Power;
use crate::window::FrameExtractionOptions;

/// Options of PLP features. Names and defaults are Kaldi's, except for `autocorrelation_floor`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
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
    /// The least autocorrelation at lag 0, of which digital silence has 0; 0 = no such bound.
    ///
    /// The default is the precision of `f32`, which Kaldi's filterbanks and MFCCs take for the least energy of a filter.
    /// Silence then has the predictor of white noise: its cepstra are 0, but for C0. Kaldi's `compute-plp-feats` has no
    /// bound, divides 0 by 0 and writes NaN; so does 0 here.
    pub autocorrelation_floor: f32,
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
            autocorrelation_floor: f32::EPSILON,
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
        registry.add(
            "autocorrelation-floor",
            &mut self.autocorrelation_floor,
            "Least autocorrelation at lag 0, which is 0 in digital silence; 0 = none, and NaN there as Kaldi's",
        );
        registry.add("cepstral-lifter", &mut self.cepstral_lifter, "Constant of the liftering; 0 = none");
        registry.add("cepstral-scale", &mut self.cepstral_scale, "Factor of the cepstra");
        registry.add("htk-compat", &mut self.htk_compat, "Put energy or C0 last");
    }
}

/// Kaldi's PLP features (H. Hermansky, *Perceptual linear predictive analysis of speech*, 1990).
///
/// For each frame: the energies in mel filters, weighted by how loud they are heard and compressed by a power, taken for a
/// power spectrum; its autocorrelation; the linear predictor of that; the cepstrum of the predictor, with the log energy of the
/// frame in the place of C0. What digital silence gives is said at
/// [`autocorrelation_floor`](PlpOptions::autocorrelation_floor). See [`Extractor`] for how to use it.
#[doc(alias = "PlpComputer")]
pub type Plp = Extractor<PlpKind>;

/// How spectra become PLP features.
#[derive(Debug)]
pub struct PlpKind {
    order: usize,
    /// For each lag from 0 to the order, the weight of each filter in the autocorrelation.
    cosines: Vec<Vec<f32>>,
    /// The same, for one frame at a time.
    columns: Columns,
    /// What a filter's energy is heard as.
    compress: Power,
    autocorrelation_floor: f32,
    /// What C0 is multiplied with, and n times each other cepstrum n.
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
pub fn equal_loudness(hz: f32) -> f32 {
    let square = hz * hz;
    let rise = square / (square + 1.6e5);
    rise * rise * ((square + 1.44e6) / (square + 9.61e6))
}

/// The inverse Fourier transform of symmetric spectra that are given at `points` frequencies from 0 to half the sample rate:
/// row k has the weight of each of them in the autocorrelation at lag k. At least 2 points.
#[doc(alias = "InitIdftBases")]
pub fn idft_bases(num_lags: usize, points: usize) -> Matrix<f32> {
    Matrix::from_fn(num_lags, points, |lag, point| idft_weight(lag, point, points) as f32)
}

fn idft_weight(lag: usize, point: usize, points: usize) -> f64 {
    let last = points.saturating_sub(1).max(1);
    let ends = if point == 0 || point == last { 0.5 } else { 1.0 };
    ends / last as f64 * (PI * (lag * point) as f64 / last as f64).cos()
}

/// [`idft_bases`] of spectra at `num_bins` + 2 points whose first and last are copies of their neighbours: the weights of the copies
/// are added to their originals'.
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

/// The factors of cepstra that make the higher ones as large as the lower ones: 1 + Q/2 sin(π k/Q) for k from 0, or 1 for a Q
/// of 0.
#[doc(alias = "ComputeLifterCoeffs")]
pub fn lifter_coefficients(q: f32, num_ceps: usize) -> Vec<f32> {
    (0..num_ceps).map(|k| lifter(f64::from(q), k) as f32).collect()
}

pub(crate) fn lifter(q: f64, k: usize) -> f64 {
    if q == 0.0 { 1.0 } else { 1.0 + 0.5 * q * (PI * k as f64 / q).sin() }
}

/// The linear predictor that belongs to an autocorrelation at the lags from 0 on: the logarithm of the energy that it leaves, and
/// a\[1\], a\[2\] ... such that x\[t\] + Σ a\[k\] x\[t-k\] has that energy. An autocorrelation of nothing gives 0 and no
/// coefficients.
///
/// That of silence has no predictor: coefficients are not finite, as they are not for an autocorrelation from 2^127 on. One below 2^-126
/// has fewer bits than others, and so have they.
///
/// ```
/// let (log_energy, a) = kaldi_feat::compute_lpc(&[1.0, 0.5]);
/// assert_eq!(a, [-0.5]);
/// assert!((log_energy - 0.75_f32.ln()).abs() < 1e-6);
/// ```
#[doc(alias("ComputeLpc", "Durbin"))]
pub fn compute_lpc(autocorrelation: &[f32]) -> (f32, Vec<f32>) {
    dispatch(Predict { autocorrelation })
}

struct Predict<'a> {
    autocorrelation: &'a [f32],
}

impl Kernel for Predict<'_> {
    type Output = (f32, Vec<f32>);

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Some(order) = self.autocorrelation.len().checked_sub(1) else { return (0.0, Vec::new()) };
        let mut autocorrelation: Vec<_> = self.autocorrelation.iter().map(|&x| s.splat(x)).collect();
        let (mut a, mut scratch) = (vec![s.splat(0.0); order], vec![s.splat(0.0); order]);
        let mut error = s.splat(0.0);
        linear_predictor(s, &mut autocorrelation, &mut a, &mut scratch, Some(&mut error));
        (s.max_lane(ln(s, error)), a.into_iter().map(|x| s.max_lane(x)).collect())
    }
}

/// The cepstrum, from c\[1\] on, of the all-pole filter 1 / (1 + Σ a\[k\] z^-k): as many numbers as there are in `a`.
#[doc(alias = "Lpc2Cepstrum")]
pub fn lpc_to_cepstrum(a: &[f32]) -> Vec<f32> {
    dispatch(Cepstrum { a })
}

struct Cepstrum<'a> {
    a: &'a [f32],
}

impl Kernel for Cepstrum<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Vec<f32> {
        let a: Vec<_> = self.a.iter().map(|&x| s.splat(x)).collect();
        let mut c = a.clone();
        predictor_cepstrum(s, &a, &mut c);
        (1..).zip(c).map(|(n, x)| s.max_lane(x) / n as f32).collect()
    }
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
            columns: Columns::new(&cosines),
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

    fn energy_of(&self) -> EnergyOf {
        self.energy.map_or(EnergyOf::Nothing, |energy| energy.of)
    }

    fn run(compute: Compute<'_, '_, Self>) {
        dispatch(compute);
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, filters: &PlpFilters, frames: Bands<'_, S::F32>, features: &mut [S::F32]) {
        let Bands { bands: loudness, energy: frame_energy, scratch } = frames;
        let (autocorrelation, scratch) = scratch.split_at_mut(self.order + 1);
        let (predictor, cepstrum) = scratch.split_at_mut(self.order);

        for (x, &weight) in loudness.iter_mut().zip(&filters.equal_loudness) {
            *x = self.compress.of(s, s.mul(*x, s.splat(weight)));
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

    #[inline(always)]
    fn features_of_one<S: Simd>(&self, s: S, filters: &PlpFilters, frame: OneBands<'_>, features: &mut [f32]) {
        let OneBands { bands: loudness, scratch, .. } = frame;
        // Nothing waits for it, so that it costs least where there is other work to do.
        let energy = match &self.energy {
            Some(energy) => Some(energy.ln_of_one(s, frame.energy, energy.least_of_plp())),
            None => None,
        };
        for (x, weights) in loudness.chunks_exact_mut(S::LANES).zip(filters.equal_loudness.chunks(S::LANES)) {
            let heard = s.mul(s.load(x), s.load_partial(weights, s.splat(1.0)));
            s.store(self.compress.of(s, heard), x);
        }
        // Vectors with the frame in each lane, and behind them its lags.
        let (lags, dim) = (self.order + 1, features.len());
        let num_rows = lags + 2 * self.order + dim;
        let (rows, autocorrelation) = scratch.floats(num_rows * S::LANES + lags).split_at_mut(num_rows * S::LANES);
        self.columns.times_one(s, loudness, autocorrelation);
        for (row, &x) in rows.chunks_exact_mut(S::LANES).zip(&*autocorrelation) {
            row.fill(x);
        }
        let rows = scratch.vectors(s, num_rows);
        let (autocorrelation, rest) = rows.split_at_mut(lags);
        let (predictor, rest) = rest.split_at_mut(self.order);
        let (cepstrum, row) = rest.split_at_mut(self.order);
        self.cepstra(s, autocorrelation, predictor, cepstrum, row);
        for (to, &x) in features.iter_mut().zip(&*row) {
            *to = first_lane(s, x);
        }
        if let Some(energy) = energy {
            features[0] = energy;
        }
        if self.htk_compat {
            features.rotate_left(1);
        }
    }
}

impl PlpKind {
    /// The scaled cepstra that belong to an autocorrelation, by way of its predictor.
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

/// The logarithm of the energy that a predictor leaves.
#[inline(always)]
fn log_of_error<S: Simd>(s: S, error: S::F32) -> S::F32 {
    // Kaldi's floor of the logarithm is the one of a number.
    s.max(s.splat(f32::MIN_POSITIVE), ln(s, error))
}

impl EnergyColumn {
    /// The least energy of Kaldi's PLP, which differs.
    fn least_of_plp(&self) -> f32 {
        if self.of == EnergyOf::RawFrame { f32::EPSILON } else { f32::MIN_POSITIVE }
    }
}

/// The linear predictor: a\[1\] .. a\[p\] such that x\[t\] + Σ a\[k\] x\[t-k\] is smallest, and how large that is for who asks for the
/// `error`.
///
/// Levinson and Durbin's recursion adds up Σ a\[k\] r\[n-k\] for the next coefficient when it knows the last one. Schur's keeps this sum
/// for all n to come, and what it is with the coefficients backwards, so that nothing has to wait for a sum. Both have the same
/// coefficients; the autocorrelation is used up.
#[doc(alias("ComputeLpc", "Durbin"))]
#[inline(always)]
fn linear_predictor<S: Simd>(
    s: S,
    autocorrelation: &mut [S::F32],
    a: &mut [S::F32],
    backward: &mut [S::F32],
    mut error: Option<&mut S::F32>,
) {
    let order = a.len();
    let first = autocorrelation[0];
    if let Some(error) = &mut error {
        **error = first;
    }
    let power = power_to_one(s, first);
    let mut e = s.mul(first, power);
    for x in &mut *autocorrelation {
        *x = s.mul(*x, power);
    }
    backward.copy_from_slice(&autocorrelation[..order]);
    // Number n of both belongs to the lags n + 1 and n.
    let forward = &mut autocorrelation[1..];
    for i in 0..order {
        let (mut last_forward, mut last_backward) = (forward[i], backward[i]);
        let reflection = s.div(last_forward, e);
        let step = SchurStep::new(s, i, e, last_forward);
        let before = s.mul(step.kept, e);
        e = s.max(s.mul(s.splat(LEAST_ERROR), before), s.neg_mul_add(step.taken, last_forward, before));
        for (f, b) in forward[i + 1..].iter_mut().zip(&mut backward[i + 1..]) {
            let (this_forward, this_backward) = (*f, *b);
            *f = step.of(s, this_forward, this_backward);
            *b = step.of(s, last_backward, last_forward);
            (last_forward, last_backward) = (this_forward, this_backward);
        }
        if let Some(error) = &mut error {
            **error = s.mul(**error, left_by(s, reflection));
        }
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
}

/// What a reflection leaves of the error, as a part of it.
#[inline(always)]
fn left_by<S: Simd>(s: S, reflection: S::F32) -> S::F32 {
    s.max(s.splat(LEAST_ERROR), s.neg_mul_add(reflection, reflection, s.splat(1.0)))
}

/// A step of Schur's recursion: x becomes x - f / e y, where e is the error and f the next number forward. None of the numbers waits for a
/// quotient: with e = m 2^n and m from 1 to 2, they become m x - f 2^-n y, which is m times that. So they grow a little where nothing is
/// reflected, and become as small as e where most is; every fourth step, all are multiplied with 2^-n.
struct SchurStep<S: Simd> {
    /// The factor of x.
    kept: S::F32,
    /// The factor of y.
    taken: S::F32,
}

/// The bits of 1, and of the exponent.
const ONE: u32 = 127 << 23;
const EXPONENT: u32 = 0xFF << 23;

/// The power of 2 that brings x between 1 and 2, if x is a normal number below 2^127.
#[inline(always)]
fn power_to_one<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let exponent = s.and_u32(s.bits_of(x), s.splat_u32(EXPONENT));
    s.of_bits(s.sub_u32(s.splat_u32(2 * ONE), exponent))
}

impl<S: Simd> SchurStep<S> {
    /// Step `i`, from 0.
    #[inline(always)]
    fn new(s: S, i: usize, e: S::F32, f: S::F32) -> Self {
        let power = power_to_one(s, e);
        let mantissa = s.and_u32(s.bits_of(e), s.splat_u32(!EXPONENT));
        let (kept, taken) = (s.of_bits(s.or_u32(mantissa, s.splat_u32(ONE))), s.mul(power, f));
        if i % 4 == 3 {
            return Self { kept: s.mul(power, kept), taken: s.mul(power, taken) };
        }
        Self { kept, taken }
    }

    /// x - f / e y, times what all numbers are multiplied with.
    #[inline(always)]
    fn of(&self, s: S, x: S::F32, y: S::F32) -> S::F32 {
        s.neg_mul_add(self.taken, y, s.mul(self.kept, x))
    }
}

/// n c\[n\] of the cepstrum of 1 / (1 + Σ a\[k\] z^-k): -n a\[n\] - Σ over k below n of k c\[k\] a\[n-k\]. The largest k comes last: only
/// that has to wait for it.
#[doc(alias = "Lpc2Cepstrum")]
#[inline(always)]
fn predictor_cepstrum<S: Simd>(s: S, a: &[S::F32], c: &mut [S::F32]) {
    for i in 0..a.len() {
        let mut sum = s.mul(a[i], s.splat(-((i + 1) as f32)));
        for (&c, &a) in c[..i].iter().zip(a[..i].iter().rev()) {
            sum = s.neg_mul_add(a, c, sum);
        }
        c[i] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predictor solves the normal equations.
    #[test]
    fn what_is_left_is_orthogonal_to_the_past() {
        let r = [5.0, 3.0, -1.0, 0.5];
        let (_, a) = compute_lpc(&r);
        for lag in 1..4_usize {
            let sum: f32 = r[lag] + (1..4).map(|k: usize| a[k - 1] * r[lag.abs_diff(k)]).sum::<f32>();
            assert!(sum.abs() < 1e-5, "{sum} at {lag}");
        }
        assert_eq!(compute_lpc(&[]), (0.0, vec![]));
        assert!(compute_lpc(&[0.0, 0.0]).1[0].is_nan());
    }

    /// Levinson and Durbin's recursion as it stands in books, in double precision.
    fn durbin(r: &[f64]) -> (f64, Vec<f64>) {
        let (mut error, mut a) = (r[0], Vec::new());
        for i in 0..r.len() - 1 {
            let sum: f64 = r[i + 1] + a.iter().zip(r[1..=i].iter().rev()).map(|(a, r)| a * r).sum::<f64>();
            let reflection = sum / error;
            let before = a.clone();
            for (a, other) in a.iter_mut().zip(before.iter().rev()) {
                *a -= reflection * other;
            }
            a.push(-reflection);
            error *= (1.0 - reflection * reflection).max(f64::from(LEAST_ERROR));
        }
        (error, a)
    }

    /// Autocorrelations of a hum that fades, as those of speech do.
    fn fading(order: i32) -> Vec<f32> {
        (0..=order).map(|k| 0.9_f32.powi(k) * (0.3 * k as f32).cos()).collect()
    }

    fn scaled(numbers: &[f32], factor: f32) -> Vec<f32> {
        numbers.iter().map(|x| x * factor).collect()
    }

    fn assert_is_durbins(r: &[f32], tolerance: f64) {
        let (log_error, a) = compute_lpc(r);
        let (expected_error, expected) = durbin(&r.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let off = (f64::from(log_error) - expected_error.ln()).abs();
        assert!(off < tolerance * expected_error.ln().abs().max(1.0), "{log_error} for {}", expected_error.ln());
        for (x, y) in a.iter().zip(expected) {
            assert!((f64::from(*x) - y).abs() < tolerance, "{x} for {y}");
        }
    }

    #[test]
    fn the_predictor_is_durbins_as_far_as_numbers_are_normal() {
        for power in [-120, -60, 0, 60, 126] {
            let scale = 2.0_f32.powi(power);
            assert_is_durbins(&scaled(&fading(12), scale), 1e-5);
            // A constant signal is known from its last sample: what is left is the least that a reflection leaves.
            assert_is_durbins(&[scale; 13], 1e-5);
        }
        // All that the first sample tells of the others is nothing.
        assert_is_durbins(&[1.0, 0.0, 0.0, 0.0], 1e-6);
    }

    #[test]
    fn the_predictor_of_extreme_numbers_has_limits() {
        // Subnormal numbers have few bits, from which no others come.
        assert_is_durbins(&scaled(&fading(12), 1e-39), 1e-3);
        // Silence, numbers from 2^127 on, and what is no autocorrelation.
        let huge = 2.0_f32.powi(127);
        for r in [[0.0; 3], [huge, huge / 2.0, 0.0], [f32::INFINITY, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::NAN; 3]] {
            let (_, a) = compute_lpc(&r);
            assert!(a.iter().any(|a| !a.is_finite()), "{a:?} of {r:?}");
        }
    }

    /// One pole at p has the cepstrum p^n / n.
    #[test]
    fn the_cepstrum_of_a_pole_is_known() {
        for (n, c) in (1..).zip(lpc_to_cepstrum(&[-0.5, 0.0, 0.0, 0.0])) {
            assert!((c - 0.5_f32.powi(n) / n as f32).abs() < 1e-6, "{c} at {n}");
        }
        assert!(lpc_to_cepstrum(&[]).is_empty());
    }

    #[test]
    fn copies_at_the_ends_are_folded_in() {
        let (whole, folded) = (idft_bases(4, 7), cosines(4, 5));
        for (row, folded) in whole.rows().zip(folded) {
            let expected = [row[0] + row[1], row[2], row[3], row[4], row[5] + row[6]];
            for (x, y) in folded.iter().zip(expected) {
                assert!((x - y).abs() < 1e-6, "{x} for {y}");
            }
        }
    }
}
