//! Change of features over time: deltas of any order, and shifted deltas.

use kaldera_base::simd::{Kernel, Simd, dispatch};
use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::error::Error;
use crate::rows::window::RowWindow;
use crate::sealed::Sealed;

/// Options of deltas. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct DeltaFeaturesOptions {
    /// Number of differences: 1 adds deltas, 2 deltas of deltas too.
    pub order: i32,
    /// Number of frames on each side of a difference.
    pub window: i32,
}

/// The limit of orders and windows, which Kaldi requires to be below it.
const TOO_MANY: i32 = 1000;

fn in_range(option: &'static str, value: i32, least: i32, most: i32) -> Result<usize, Error> {
    match usize::try_from(value) {
        Ok(found) if (least..=most).contains(&value) => Ok(found),
        _ => Err(Error::bad_option(option, value, format!("from {least} to {most}"))),
    }
}

/// Features, their deltas, the deltas of the deltas, and so on, next to each other.
///
/// A delta is the slope of the line that fits the `window` frames on both sides best: Σ j x\[t+j\]
/// / Σ j². A delta of order n is one weighted sum of the features themselves, with the window
/// convolved with itself n times. So the features are repeated at the ends, not their deltas.
///
/// ```
/// use kaldi_feat::{DeltaFeatures, DeltaFeaturesOptions, RowWindow};
/// use kaldi_matrix::Matrix;
///
/// let ramp = Matrix::from_fn(9, 1, |t, _| 2.0 * t as f32);
/// let deltas = DeltaFeatures::new(DeltaFeaturesOptions::default())?.compute(ramp.view())?;
/// for (found, expected) in deltas.row_data(4).iter().zip([8.0, 2.0, 0.0]) {
///     assert!((found - expected).abs() < 1e-5); // the value, its slope, and how that changes
/// }
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeltaFeatures {
    /// For each order, the weights of the rows from `-reach` to `reach`, where `reach` is half of
    /// their number.
    weights: Vec<Vec<f32>>,
}

impl DeltaFeatures {
    /// Computes the weights.
    ///
    /// # Errors
    /// For an order outside of 0 to 999, or a window outside of 1 to 999.
    pub fn new(options: DeltaFeaturesOptions) -> Result<Self, Error> {
        let order = in_range("order", options.order, 0, TOO_MANY - 1)?;
        let window = in_range("window", options.window, 1, TOO_MANY - 1)?;
        let mut weights = vec![vec![1.0]];
        for before in 0..order {
            let next = slope_of(&weights[before], window);
            weights.push(next);
        }
        Ok(Self { weights })
    }

    fn reach(&self) -> usize {
        self.weights.last().map_or(0, |weights| weights.len() / 2)
    }
}

/// Returns the weights j / Σ j² for j from -`window` to `window`, of rows that are weighted sums
/// themselves.
///
/// In single precision and in this order, as Kaldi computes them: its output bytes depend on it.
fn slope_of(weights: &[f32], window: usize) -> Vec<f32> {
    let mut out = vec![0.0; weights.len() + 2 * window];
    let mut norm = 0.0_f32;
    for at in 0..=2 * window {
        let j = at as f32 - window as f32;
        norm += j * j;
        for (to, &weight) in out[at..].iter_mut().zip(weights) {
            *to += j * weight;
        }
    }
    let scale = 1.0 / norm;
    out.iter_mut().for_each(|x| *x *= scale);
    out
}

/// Computes out = Σ weight · row, of the rows around `centre`.
fn add_weighted<'a>(weights: &[f32], centre: isize, row: &impl Fn(isize) -> &'a [f32], out: &mut [f32]) {
    dispatch(WeightedRows { weights, first: centre - (weights.len() / 2).cast_signed(), row, out });
}

struct WeightedRows<'w, R> {
    weights: &'w [f32],
    first: isize,
    row: &'w R,
    out: &'w mut [f32],
}

impl<'a, R: Fn(isize) -> &'a [f32]> Kernel for WeightedRows<'_, R> {
    type Output = ();

    /// The products are rounded before they are added, in the same way on every processor.
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { weights, first, row, out } = self;
        let zero = s.splat(0.0);
        let mut column = 0;
        let mut vectors = out.chunks_exact_mut(S::LANES);
        for to in &mut vectors {
            let mut sum = zero;
            for (at, &weight) in (first..).zip(weights) {
                if weight != 0.0 {
                    sum = s.add(sum, s.mul(s.splat(weight), s.load(&row(at)[column..])));
                }
            }
            s.store(sum, to);
            column += S::LANES;
        }
        let rest = vectors.into_remainder();
        if !rest.is_empty() {
            let mut sum = zero;
            for (at, &weight) in (first..).zip(weights) {
                if weight != 0.0 {
                    sum = s.add(sum, s.mul(s.splat(weight), s.load_partial(&row(at)[column..], zero)));
                }
            }
            s.store_partial(sum, rest);
        }
    }
}

impl Sealed for DeltaFeatures {}

impl RowWindow for DeltaFeatures {
    fn left_context(&self) -> usize {
        self.reach()
    }

    fn right_context(&self) -> usize {
        self.reach()
    }

    fn output_dim(&self, dim: usize) -> usize {
        dim.saturating_mul(self.weights.len())
    }

    fn write_row<'a>(&self, row: impl Fn(isize) -> &'a [f32], out: &mut [f32]) {
        for (weights, out) in self.weights.iter().zip(out.chunks_exact_mut(row(0).len().max(1))) {
            add_weighted(weights, 0, &row, out);
        }
    }
}

/// Computes features with their deltas after them, each row of (order + 1) times as many columns:
/// [`DeltaFeatures`] in one call.
///
/// # Errors
/// If the options are not usable, see [`DeltaFeatures::new`], and if the result is more than memory
/// can hold.
#[doc(alias = "ComputeDeltas")]
pub fn compute_deltas(
    options: &DeltaFeaturesOptions,
    features: &MatrixBase<impl Storage<Elem = f32>>,
) -> Result<Matrix<f32>, Error> {
    DeltaFeatures::new(options.clone())?.compute(features.view())
}

/// Options of shifted deltas. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ShiftedDeltaFeaturesOptions {
    /// Number of frames on each side of a difference.
    pub window: i32,
    /// Number of deltas after the features.
    pub num_blocks: i32,
    /// Number of frames from one of these deltas to the next.
    pub block_shift: i32,
}

/// Shifted delta cepstra, used in language recognition: features, then their deltas at this frame,
/// at the frame `block_shift` later, and so on, `num_blocks` of them.
#[derive(Debug, Clone)]
pub struct ShiftedDeltaFeatures {
    weights: Vec<f32>,
    num_blocks: usize,
    block_shift: usize,
}

impl ShiftedDeltaFeatures {
    /// Computes the weights.
    ///
    /// # Errors
    /// For a window outside of 1 to 999, or blocks or a shift outside of 1 to 999.
    pub fn new(options: ShiftedDeltaFeaturesOptions) -> Result<Self, Error> {
        let window = in_range("window", options.window, 1, TOO_MANY - 1)?;
        Ok(Self {
            weights: slope_of(&[1.0], window),
            num_blocks: in_range("num_blocks", options.num_blocks, 1, TOO_MANY - 1)?,
            block_shift: in_range("block_shift", options.block_shift, 1, TOO_MANY - 1)?,
        })
    }
}

impl Sealed for ShiftedDeltaFeatures {}

impl RowWindow for ShiftedDeltaFeatures {
    fn left_context(&self) -> usize {
        self.weights.len() / 2
    }

    fn right_context(&self) -> usize {
        self.weights.len() / 2 + (self.num_blocks - 1) * self.block_shift
    }

    fn output_dim(&self, dim: usize) -> usize {
        dim.saturating_mul(self.num_blocks + 1)
    }

    fn write_row<'a>(&self, row: impl Fn(isize) -> &'a [f32], out: &mut [f32]) {
        let (first, blocks) = out.split_at_mut(row(0).len());
        first.copy_from_slice(row(0));
        for (block, out) in blocks.chunks_exact_mut(first.len().max(1)).enumerate() {
            add_weighted(&self.weights, (block * self.block_shift).cast_signed(), &row, out);
        }
    }
}

/// Computes features with shifted deltas after them: [`ShiftedDeltaFeatures`] in one call.
///
/// # Errors
/// If the options are not usable, see [`ShiftedDeltaFeatures::new`], and if the result is more than
/// memory can hold.
#[doc(alias("ComputeShiftedDeltas", "SDC"))]
pub fn compute_shifted_deltas(
    options: &ShiftedDeltaFeaturesOptions,
    features: &MatrixBase<impl Storage<Elem = f32>>,
) -> Result<Matrix<f32>, Error> {
    ShiftedDeltaFeatures::new(options.clone())?.compute(features.view())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 / 28 and 2 (1 / 28) / 28 differ from the results of single precision step by step.
    #[test]
    fn weights_are_rounded_as_kaldis() {
        let options = DeltaFeaturesOptions { order: 2, window: 3 };
        let deltas = DeltaFeatures::new(options).unwrap();
        let scale = 1.0_f32 / 28.0;
        let first = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].map(|j: f32| j * scale);
        assert_eq!(deltas.weights[1], first);
        let mut second = [0.0_f32; 13];
        for (i, j) in [-3.0_f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
            for (k, weight) in first.into_iter().enumerate() {
                second[i + k] += j * weight;
            }
        }
        assert_eq!(deltas.weights[2], second.map(|x| x * scale));
        let exact =
            [9.0, 12.0, 10.0, 4.0, -5.0, -16.0, -28.0, -16.0, -5.0, 4.0, 10.0, 12.0, 9.0].map(|x: f64| x / 784.0);
        assert!(deltas.weights[2].iter().zip(exact).all(|(&w, exact)| (f64::from(w) - exact).abs() < 1e-8));
        assert_ne!(deltas.weights[2], exact.map(|x| x as f32));
    }
}
