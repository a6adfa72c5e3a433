//! Operations on rows in place.

use kaldera_base::kernel;
use kaldera_base::math::{exp_in_place, log_softmax, sigmoid_in_place, tanh_in_place};
use kaldera_base::simd::dispatch;

/// The least mean square, which Kaldi puts under a row that is normalised: 2^-66.
pub(crate) const SQUARE_FLOOR: f32 = 1.355_252_7e-20;

/// The least value of a softmax in Kaldi.
const SOFTMAX_FLOOR: f32 = 1e-20;

/// An operation on a row in place.
#[derive(Clone, Debug)]
pub(crate) enum Pointwise {
    /// max(x, 0)
    Relu,
    Sigmoid,
    Tanh,
    Softmax,
    LogSoftmax,
    /// x a + b, column by column, in each block of as many columns as there are values.
    Affine {
        scale: Vec<f32>,
        offset: Vec<f32>,
    },
    /// x a
    Multiply(f32),
    /// Each block of columns, scaled to a root mean square.
    Normalize {
        block: usize,
        target_rms: f32,
    },
}

impl Pointwise {
    pub(crate) fn apply(&self, row: &mut [f32]) {
        match self {
            Self::Relu => row.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 }),
            Self::Sigmoid => sigmoid_in_place(row),
            Self::Tanh => tanh_in_place(row),
            Self::Softmax => {
                softmax(row);
                row.iter_mut().for_each(|x| *x = x.max(SOFTMAX_FLOOR));
            }
            Self::LogSoftmax => {
                log_softmax(row);
            }
            Self::Affine { scale, offset } => dispatch(kernel!(<'a>(
                s: S, scale: &'a [f32], offset: &'a [f32], row: &'a mut [f32],
            ) {
                let zero = s.splat(0.0);
                for block in row.chunks_exact_mut(scale.len()) {
                    let parts = block.chunks_mut(S::LANES).zip(scale.chunks(S::LANES)).zip(offset.chunks(S::LANES));
                    for ((x, scale), offset) in parts {
                        let (scale, offset) = (s.load_partial(scale, zero), s.load_partial(offset, zero));
                        s.store_partial(s.mul_add(s.load_partial(x, zero), scale, offset), x);
                    }
                }
            })),
            Self::Multiply(scale) => row.iter_mut().for_each(|x| *x *= scale),
            Self::Normalize { block, target_rms } => {
                for block in row.chunks_mut((*block).max(1)) {
                    let scale = inverse_rms(block, *target_rms);
                    block.iter_mut().for_each(|x| *x *= scale);
                }
            }
        }
    }
}

/// Returns the factor by which a row has a root mean square of `target_rms`.
pub(crate) fn inverse_rms(row: &[f32], target_rms: f32) -> f32 {
    let sum: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let square = sum / (row.len() as f64 * f64::from(target_rms) * f64::from(target_rms));
    (square as f32).max(SQUARE_FLOOR).sqrt().recip()
}

/// x = e^x / Σ e^x
pub(crate) fn softmax(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x -= max);
    exp_in_place(row);
    let scale = row.iter().sum::<f32>().recip();
    row.iter_mut().for_each(|x| *x *= scale);
}
