//! Mel-frequency cepstral coefficients.

use std::f32::consts::SQRT_2;
use std::f64::consts::PI;

use kaldera_base::simd::{Simd, dispatch};

use crate::error::Error;
use crate::extractor::{ExtractKernel, Extractor, Kind};
use crate::kinds::energy::EnergyColumn;
use crate::kinds::energy::floored_ln;
use crate::kinds::lifter::lifter;
use crate::kinds::products::weighted_sum;
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, Filters};
use crate::spectrum::frames::{EnergySource, Framing};
use crate::spectrum::mel::{MelBanks, MelBanksOptions};
use crate::spectrum::window::FrameExtractionOptions;

/// Options of MFCC features. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct MfccOptions {
    /// The frames.
    pub frame: FrameExtractionOptions,
    /// The filters.
    pub mel: MelBanksOptions,
    /// Number of coefficients, C0 included.
    pub num_ceps: i32,
    /// Puts the log energy of the frame in place of C0.
    pub use_energy: bool,
    /// The least energy, before the logarithm; 0 = no such bound.
    pub energy_floor: f32,
    /// Takes the energy before preemphasis and window.
    pub raw_energy: bool,
    /// Q of the liftering, 1 + Q/2 sin(π i / Q); 0 = none.
    pub cepstral_lifter: f32,
    /// Puts energy or √2 C0 last, as in HTK.
    pub htk_compat: bool,
}

/// Kaldi's MFCCs.
///
/// For each frame: the orthonormal DCT-II of the log energies of [`Fbank`](crate::Fbank), liftered,
/// with the frame's log energy in the place of C0. See [`Extractor`] for its use.
#[doc(alias = "MfccComputer")]
pub type Mfcc = Extractor<MfccKind>;

/// The MFCC kind of features.
#[derive(Debug)]
pub struct MfccKind {
    /// For each cepstrum, its weight of each filter: DCT and liftering in one.
    rows: Vec<Vec<f32>>,
    energy: Option<EnergyColumn>,
    htk_compat: bool,
}

impl Sealed for MfccKind {}

impl Kind for MfccKind {
    type Options = MfccOptions;
    type Warped = MelBanks;

    fn framing(options: &MfccOptions) -> Result<Framing, Error> {
        Framing::new(&options.frame)
    }

    fn new(options: &MfccOptions, unwarped: &MelBanks) -> Result<Self, Error> {
        let num_bins = unwarped.bins().len();
        let num_ceps = usize::try_from(options.num_ceps).unwrap_or(0);
        if num_ceps == 0 || num_ceps > num_bins {
            let expected = format!("from 1 to {num_bins}, the number of mel filters");
            return Err(Error::bad_option("num_ceps", options.num_ceps, expected));
        }
        if !options.cepstral_lifter.is_finite() {
            return Err(Error::bad_option("cepstral_lifter", options.cepstral_lifter, "a finite number"));
        }
        let column = EnergyColumn::new(options.raw_energy, options.energy_floor, options.htk_compat)?;
        let rows = liftered_dct(num_ceps, num_bins, f64::from(options.cepstral_lifter));
        Ok(Self { rows, energy: options.use_energy.then_some(column), htk_compat: options.htk_compat })
    }

    fn warped(options: &MfccOptions, vtln_warp: f32) -> Result<MelBanks, Error> {
        MelBanks::new(&options.mel, &options.frame, vtln_warp)
    }

    fn dim(&self) -> usize {
        self.rows.len()
    }

    fn filters<'a>(&self, banks: &'a MelBanks) -> Option<Filters<'a>> {
        Some(Filters { banks, magnitudes: false })
    }

    fn scratch_rows(&self) -> usize {
        0
    }

    fn energy_source(&self) -> EnergySource {
        self.energy.map_or(EnergySource::None, |energy| energy.source)
    }

    fn run(kernel: ExtractKernel<'_, '_, Self>) {
        dispatch(kernel);
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, _: &MelBanks, frames: Bands<'_, S::F32>, features: &mut [S::F32]) {
        let Bands { bands: filters, energy: frame_energy, .. } = frames;
        for x in &mut *filters {
            *x = floored_ln(s, *x);
        }
        for (weights, cepstrum) in self.rows.iter().zip(&mut *features) {
            *cepstrum = weighted_sum(s, weights, filters);
        }
        if let Some(energy) = self.energy {
            features[0] = energy.ln(s, frame_energy, f32::EPSILON);
        }
        if self.htk_compat {
            if self.energy.is_none() {
                features[0] = s.mul(features[0], s.splat(SQRT_2));
            }
            features.rotate_left(1);
        }
    }
}

/// Returns the first rows of the orthonormal DCT-II matrix, each times its lifter coefficient.
fn liftered_dct(num_ceps: usize, num_bins: usize, q: f64) -> Vec<Vec<f32>> {
    let n = num_bins as f64;
    (0..num_ceps)
        .map(|k| {
            let lift = lifter(q, k);
            let norm = if k == 0 { (1.0 / n).sqrt() } else { (2.0 / n).sqrt() };
            let value = |i: usize| lift * norm * (PI / n * (i as f64 + 0.5) * k as f64).cos();
            (0..num_bins).map(|i| value(i) as f32).collect()
        })
        .collect()
}
