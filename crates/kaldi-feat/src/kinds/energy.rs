//! Logarithms of energies, with Kaldi's floors.

use kaldera_base::math::ln_of_large;
use kaldera_base::simd::Simd;

use crate::error::Error;
use crate::spectrum::frames::EnergySource;

/// Computes ln max(x, ε), Kaldi's floored logarithm; ε is the precision of `f32`.
#[inline(always)]
pub(crate) fn floored_ln<S: Simd>(s: S, x: S::F32) -> S::F32 {
    ln_of_large(s, s.max(s.splat(f32::EPSILON), x))
}

/// The column and the floor of the log energy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnergyColumn {
    pub(crate) source: EnergySource,
    pub(crate) last: bool,
    /// ln of the option `energy_floor`, or -∞ without it.
    log_floor: f32,
}

impl EnergyColumn {
    pub(crate) fn new(raw_energy: bool, energy_floor: f32, last: bool) -> Result<Self, Error> {
        if !energy_floor.is_finite() {
            return Err(Error::bad_option("energy_floor", energy_floor, "a finite number"));
        }
        let source = if raw_energy { EnergySource::RawFrame } else { EnergySource::WindowedFrame };
        Ok(Self { source, last, log_floor: if energy_floor > 0.0 { energy_floor.ln() } else { f32::NEG_INFINITY } })
    }

    /// Computes the logarithm of an energy, which is raised to at least `least` whatever the
    /// option. `least` is a normal number.
    #[inline(always)]
    pub(crate) fn ln<S: Simd>(&self, s: S, energy: S::F32, least: f32) -> S::F32 {
        s.max(s.splat(self.log_floor), ln_of_large(s, s.max(s.splat(least), energy)))
    }

    /// Returns the least energy of Kaldi's PLP, which differs.
    pub(crate) fn least_of_plp(&self) -> f32 {
        if self.source == EnergySource::RawFrame { f32::EPSILON } else { f32::MIN_POSITIVE }
    }
}
