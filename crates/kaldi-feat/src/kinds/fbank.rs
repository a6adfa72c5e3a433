//! Log energies in mel filters.

use kaldera_base::simd::{Simd, dispatch};

use crate::error::Error;
use crate::extractor::{ExtractKernel, Extractor, Kind};
use crate::kinds::energy::{EnergyColumn, floored_ln};
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, Filters};
use crate::spectrum::frames::{EnergySource, Framing};
use crate::spectrum::mel::{MelBanks, MelBanksOptions};
use crate::spectrum::window::FrameExtractionOptions;

/// Options of filterbank features. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct FbankOptions {
    /// The frames.
    pub frame: FrameExtractionOptions,
    /// The filters.
    pub mel: MelBanksOptions,
    /// Adds the log energy of the frame as one more dimension: the first, or with `htk_compat` the
    /// last.
    pub use_energy: bool,
    /// The least energy, before the logarithm; 0 = no such bound.
    pub energy_floor: f32,
    /// Takes the energy before preemphasis and window.
    pub raw_energy: bool,
    /// Puts the energy last.
    pub htk_compat: bool,
    /// Takes the logarithm of each filter's energy, rather than the energy.
    pub use_log_fbank: bool,
    /// Filters the power spectrum, rather than its square root.
    pub use_power: bool,
}

/// Kaldi's filterbank features.
///
/// For each frame: Σ over frequencies of filter weight · |X|² (or |X|), at least ε, and its
/// logarithm. See [`Extractor`] for its use.
#[doc(alias = "FbankComputer")]
pub type Fbank = Extractor<FbankKind>;

/// The filterbank kind of features.
#[derive(Debug)]
pub struct FbankKind {
    num_bins: usize,
    energy: Option<EnergyColumn>,
    use_log_fbank: bool,
    use_power: bool,
}

impl Sealed for FbankKind {}

impl Kind for FbankKind {
    type Options = FbankOptions;
    type Warped = MelBanks;

    fn framing(options: &FbankOptions) -> Result<Framing, Error> {
        Framing::new(&options.frame)
    }

    fn new(options: &FbankOptions, unwarped: &MelBanks) -> Result<Self, Error> {
        let column = EnergyColumn::new(options.raw_energy, options.energy_floor, options.htk_compat)?;
        Ok(Self {
            num_bins: unwarped.bins().len(),
            energy: options.use_energy.then_some(column),
            use_log_fbank: options.use_log_fbank,
            use_power: options.use_power,
        })
    }

    fn warped(options: &FbankOptions, vtln_warp: f32) -> Result<MelBanks, Error> {
        MelBanks::new(&options.mel, &options.frame, vtln_warp)
    }

    fn dim(&self) -> usize {
        self.num_bins + usize::from(self.energy.is_some())
    }

    fn filters<'a>(&self, banks: &'a MelBanks) -> Option<Filters<'a>> {
        Some(Filters { banks, magnitudes: !self.use_power })
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
        let filters = match self.energy {
            None => features,
            Some(energy) => {
                let place = if energy.last { self.num_bins } else { 0 };
                features[place] = energy.ln(s, frames.energy, f32::EPSILON);
                let first = usize::from(!energy.last);
                &mut features[first..first + self.num_bins]
            }
        };
        if self.use_log_fbank {
            for (to, &x) in filters.iter_mut().zip(&*frames.bands) {
                *to = floored_ln(s, x);
            }
        } else {
            filters.copy_from_slice(frames.bands);
        }
    }
}
