//! Logarithms of energies, with Kaldi's floors.

use kaldera_base::math::ln_of_large;
use kaldera_base::simd::Simd;

use crate::error::Error;
use crate::spectrum::frames::EnergyOf;

/// ln max(x, ε), ε the precision of `f32`: what Kaldi puts before its logarithms.
#[inline(always)]
pub(crate) fn floored_ln<S: Simd>(s: S, x: S::F32) -> S::F32 {
    ln_of_large(s, s.max(s.splat(f32::EPSILON), x))
}

/// Where the log energy goes, and what it is at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnergyColumn {
    pub(crate) of: EnergyOf,
    pub(crate) last: bool,
    /// ln of the option `energy_floor`, or -∞ without it.
    log_floor: f32,
}

impl EnergyColumn {
    pub(crate) fn new(raw_energy: bool, energy_floor: f32, last: bool) -> Result<Self, Error> {
        if !energy_floor.is_finite() {
            return Err(Error::bad_option("energy_floor", energy_floor, "a finite number"));
        }
        let of = if raw_energy { EnergyOf::RawFrame } else { EnergyOf::WindowedFrame };
        Ok(Self { of, last, log_floor: if energy_floor > 0.0 { energy_floor.ln() } else { f32::NEG_INFINITY } })
    }

    /// The logarithm of an energy, of `least` at least whatever the option: a normal number.
    #[inline(always)]
    pub(crate) fn ln<S: Simd>(&self, s: S, energy: S::F32, least: f32) -> S::F32 {
        s.max(s.splat(self.log_floor), ln_of_large(s, s.max(s.splat(least), energy)))
    }

    /// The least energy of Kaldi's PLP, which differs.
    pub(crate) fn least_of_plp(&self) -> f32 {
        if self.of == EnergyOf::RawFrame { f32::EPSILON } else { f32::MIN_POSITIVE }
    }
}
