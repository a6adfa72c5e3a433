//! From samples to energies in bands of frequencies: the first step of all kinds of features. It is
//! compiled once rather than into each of them.

use kaldera_base::simd::{Kernel, Lines, MAX_LANES, Simd};

use crate::spectrum::frames::{EnergySource, Framing};
use crate::spectrum::mel::MelBanks;
use crate::spectrum::power_spectrum::{PowerSpectrum, SpectrumOf};
use crate::spectrum::workspace::Workspace;

/// The steps from frames to bands, before a kind of features makes rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandsOf<'a> {
    pub(crate) framing: &'a Framing,
    pub(crate) plan: &'a PowerSpectrum,
    pub(crate) spectrum_of: SpectrumOf,
    pub(crate) energy_source: EnergySource,
    pub(crate) filters: Option<Filters<'a>>,
}

/// The filters that a spectrum passes.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Filters<'a> {
    pub(crate) banks: &'a MelBanks,
    /// Filters |X\[k\]| rather than |X\[k\]|².
    pub(crate) magnitudes: bool,
}

/// The bands of as many frames as there are lanes.
#[derive(Debug)]
#[doc(hidden)]
pub struct Bands<'a, V> {
    /// The energy in each filter; for a kind without filters, the spectrum that it asked for.
    pub(crate) bands: &'a mut [V],
    /// Σ x² of the frames that the kind asked for.
    pub(crate) energy: V,
    /// Scratch, as many rows as the kind asked for.
    pub(crate) scratch: &'a mut [V],
}

/// Computes the frames that begin at `starts` of the workspace's waveform, one in each lane. Writes
/// their bands to the workspace, and returns their Σ x².
pub(crate) struct ComputeBands<'a> {
    pub(crate) of: BandsOf<'a>,
    pub(crate) starts: &'a [usize],
    pub(crate) workspace: &'a mut Workspace,
}

impl Kernel for ComputeBands<'_> {
    type Output = [f32; MAX_LANES];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { of: BandsOf { framing, plan, spectrum_of, energy_source, filters }, starts, workspace } = self;
        let Workspace { wave, frames, spectrum, .. } = workspace;
        let energy = framing.window(s, wave, starts, energy_source, frames);
        plan.compute(s, spectrum_of, frames, spectrum);
        if let Some(Filters { banks, magnitudes }) = filters {
            let spectrum = spectrum.vectors(s, spectrum_of.rows(framing.padded));
            if magnitudes {
                for x in &mut *spectrum {
                    *x = s.sqrt(*x);
                }
            }
            banks.compute(s, spectrum, frames.vectors(s, banks.bins().len()));
        }
        let mut energies = [0.0; MAX_LANES];
        s.store(energy, &mut energies);
        energies
    }
}

impl BandsOf<'_> {
    /// Returns the workspace's lines of bands, and their number of rows.
    pub(crate) fn place<'a>(&self, frames: &'a mut Lines, spectrum: &'a mut Lines) -> (&'a mut Lines, usize) {
        match self.filters {
            Some(filters) => (frames, filters.banks.bins().len()),
            None => (spectrum, self.spectrum_of.rows(self.framing.padded)),
        }
    }
}

/// Turns features in lanes into rows of `dim` values, as many as `rows` holds.
///
/// The last columns come first: a vector that is wider than the rest of its row spills into the
/// next row, whose values are written later.
pub(crate) struct StoreRows<'a> {
    pub(crate) features: &'a mut Lines,
    pub(crate) dim: usize,
    pub(crate) rows: &'a mut [f32],
}

impl Kernel for StoreRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { features, dim, rows } = self;
        let features = features.vectors(s, dim.next_multiple_of(S::LANES));
        for (square, features) in features.chunks_exact_mut(S::LANES).enumerate().rev() {
            s.transpose(features);
            let first = square * S::LANES;
            for (&v, at) in features.iter().zip((first..rows.len()).step_by(dim)) {
                let to = &mut rows[at..];
                if to.len() >= S::LANES {
                    s.store(v, to);
                } else {
                    s.store_partial(v, to);
                }
            }
        }
    }
}
