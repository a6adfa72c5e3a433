//! Liftering of cepstra.

use std::f64::consts::PI;

/// Returns the factors of cepstra that make the higher ones as large as the lower ones: 1 + Q/2
/// sin(π k/Q) for k from 0, or 1 for a Q of 0.
#[doc(alias = "ComputeLifterCoeffs")]
pub fn lifter_coefficients(q: f32, num_ceps: usize) -> Vec<f32> {
    (0..num_ceps).map(|k| lifter(f64::from(q), k) as f32).collect()
}

pub(crate) fn lifter(q: f64, k: usize) -> f64 {
    if q == 0.0 { 1.0 } else { 1.0 + 0.5 * q * (PI * k as f64 / q).sin() }
}
