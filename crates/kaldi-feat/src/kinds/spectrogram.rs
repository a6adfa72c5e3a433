//! Log power spectra.

use kaldera_base::simd::{Simd, dispatch};

use crate::error::Error;
use crate::extractor::{ExtractKernel, Extractor, Kind};
use crate::kinds::energy::EnergyColumn;
use crate::kinds::energy::floored_ln;
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, Filters};
use crate::spectrum::frames::{EnergySource, Framing};
use crate::spectrum::power_spectrum::SpectrumOf;
use crate::spectrum::window::FrameExtractionOptions;

/// Options of spectrograms. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct SpectrogramOptions {
    /// The frames.
    pub frame: FrameExtractionOptions,
    /// The least energy in column 0, before the logarithm; 0 = no such bound.
    pub energy_floor: f32,
    /// Takes the energy in column 0 before preemphasis and window.
    pub raw_energy: bool,
    /// Gives the Fourier transform itself rather than the logarithm of its power.
    pub return_raw_fft: bool,
}

/// Kaldi's spectrograms.
///
/// For each frame of a padded size of N: the log energy of the frame, then ln |X\[k\]|² for k = 1
/// .. N/2. With `return_raw_fft` N numbers: X\[0\], X\[N/2\], then the real and the imaginary part
/// of X\[1\], of X\[2\] and so on, and no energy. A VTLN warp factor has no effect. See
/// [`Extractor`] for its use.
#[doc(alias = "SpectrogramComputer")]
pub type Spectrogram = Extractor<SpectrogramKind>;

/// The spectrogram kind of features.
#[derive(Debug)]
pub struct SpectrogramKind {
    dim: usize,
    /// `None` if the transform itself is asked for.
    energy: Option<EnergyColumn>,
}

impl Sealed for SpectrogramKind {}

impl Kind for SpectrogramKind {
    type Options = SpectrogramOptions;
    type Warped = ();

    fn framing(options: &SpectrogramOptions) -> Result<Framing, Error> {
        Framing::new(&options.frame)
    }

    fn new(options: &SpectrogramOptions, (): &()) -> Result<Self, Error> {
        let energy = EnergyColumn::new(options.raw_energy, options.energy_floor, false)?;
        let of = if options.return_raw_fft { SpectrumOf::Packed } else { SpectrumOf::Power };
        Ok(Self {
            dim: of.rows(options.frame.padded_window_size()),
            energy: (!options.return_raw_fft).then_some(energy),
        })
    }

    fn warped(_: &SpectrogramOptions, _: f32) -> Result<(), Error> {
        Ok(())
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn filters<'a>(&self, (): &'a ()) -> Option<Filters<'a>> {
        None
    }

    fn scratch_rows(&self) -> usize {
        0
    }

    fn energy_source(&self) -> EnergySource {
        self.energy.map_or(EnergySource::None, |energy| energy.source)
    }

    fn spectrum_of(&self) -> SpectrumOf {
        if self.energy.is_some() { SpectrumOf::Power } else { SpectrumOf::Packed }
    }

    fn run(kernel: ExtractKernel<'_, '_, Self>) {
        dispatch(kernel);
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, (): &(), frames: Bands<'_, S::F32>, features: &mut [S::F32]) {
        let Some(energy) = self.energy else {
            features.copy_from_slice(frames.bands);
            return;
        };
        features[0] = energy.ln(s, frames.energy, f32::EPSILON);
        for (to, &power) in features.iter_mut().zip(&*frames.bands).skip(1) {
            *to = floored_ln(s, power);
        }
    }
}
