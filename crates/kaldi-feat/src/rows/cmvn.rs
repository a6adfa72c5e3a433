//! Mean and variance normalisation with statistics of an utterance, a speaker or a corpus.

use kaldi_matrix::{Matrix, MatrixBase, Storage, StorageMut};

use crate::error::Error;

/// Statistics from which mean and variance are computed: Kaldi's matrix of 2 rows and one column
/// more than the features.
///
/// ```text
///   Σ x[0]   Σ x[1]   ...  | number of frames
///   Σ x[0]²  Σ x[1]²  ...  | 0
/// ```
///
/// ```
/// use kaldi_feat::{CmvnStats, apply_cmvn};
/// use kaldi_matrix::Matrix;
///
/// let mut features = Matrix::from_vec(2, 1, vec![1.0, 3.0])?;
/// let mut stats = CmvnStats::new(1);
/// stats.accumulate(&features)?;
/// apply_cmvn(&stats, false, &mut features)?;
/// assert_eq!(features.data(), [-1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias("InitCmvnStats", "AccCmvnStats"))]
pub struct CmvnStats {
    stats: Matrix<f64>,
}

/// The variance floor: lower variances are raised to it.
const VARIANCE_FLOOR: f64 = 1e-20;

impl CmvnStats {
    /// Creates statistics of no frames yet, for features of `dim` columns.
    pub fn new(dim: usize) -> Self {
        Self { stats: Matrix::zeros(2, dim + 1) }
    }

    /// Wraps statistics as they are stored in a file. With a single row there are no variances.
    ///
    /// # Errors
    /// [`Error::BadStats`] unless there are 1 or 2 rows, and at least 2 columns.
    pub fn from_matrix(stats: Matrix<f64>) -> Result<Self, Error> {
        let (rows, cols) = (stats.num_rows(), stats.num_cols());
        if (1..=2).contains(&rows) && cols >= 2 { Ok(Self { stats }) } else { Err(Error::BadStats { rows, cols }) }
    }

    /// Returns the statistics as they are stored in a file.
    pub fn matrix(&self) -> &Matrix<f64> {
        &self.stats
    }

    /// Same as [`matrix`](Self::matrix), without copying.
    pub fn into_matrix(self) -> Matrix<f64> {
        self.stats
    }

    /// Returns the number of columns of the features.
    pub fn dim(&self) -> usize {
        self.stats.num_cols() - 1
    }

    /// Returns the number of frames, or the sum of their weights.
    pub fn count(&self) -> f64 {
        self.stats[(0, self.dim())]
    }

    fn check_dim(&self, found: usize) -> Result<(), Error> {
        let expected = self.dim();
        if found == expected {
            return Ok(());
        }
        Err(Error::DimMismatch {
            what: "features to be normalised, or statistics of another kind of them,",
            expected,
            found,
        })
    }

    /// Adds all rows of `features`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the columns differ from the columns of the statistics.
    pub fn accumulate(&mut self, features: &MatrixBase<impl Storage<Elem = f32>>) -> Result<(), Error> {
        if !features.is_empty() {
            self.check_dim(features.num_cols())?;
        }
        for row in features.rows() {
            self.add_row(row, 1.0);
        }
        Ok(())
    }

    /// Adds each row of `features` times its weight.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the columns differ from the columns of the statistics,
    /// [`Error::LengthMismatch`] unless there is a weight for each row.
    pub fn accumulate_weighted(
        &mut self,
        features: &MatrixBase<impl Storage<Elem = f32>>,
        weights: &[f32],
    ) -> Result<(), Error> {
        let (rows, numbers) = (features.num_rows(), weights.len());
        if rows != numbers {
            let (shortest, longest) = (rows.min(numbers), rows.max(numbers));
            return Err(Error::LengthMismatch { shortest, longest, tolerance: 0 });
        }
        if !features.is_empty() {
            self.check_dim(features.num_cols())?;
        }
        for (row, &weight) in features.rows().zip(weights) {
            if weight != 0.0 {
                self.add_row(row, weight);
            }
        }
        Ok(())
    }

    /// The products are of single precision, as in Kaldi, the sums of double precision.
    fn add_row(&mut self, row: &[f32], weight: f32) {
        let dim = self.dim();
        let mut sums = self.stats.rows_mut();
        if let Some(to) = sums.next() {
            for (to, &x) in to.iter_mut().zip(row) {
                *to += f64::from(x * weight);
            }
            to[dim] += f64::from(weight);
        }
        if let Some(to) = sums.next() {
            for (to, &x) in to.iter_mut().zip(row) {
                *to += f64::from(x * x * weight);
            }
        }
    }

    /// Same as [`add_row`](Self::add_row) with products in double precision: a row that is
    /// subtracted again leaves next to nothing.
    pub(crate) fn add_row_exactly(&mut self, row: &[f32], sign: f64) {
        let dim = self.dim();
        let (sums, squares) = self.stats.data_mut().split_at_mut(dim + 1);
        for ((sum, square), &x) in sums.iter_mut().zip(squares).zip(row) {
            let x = f64::from(x);
            *sum += sign * x;
            *square += sign * x * x;
        }
        sums[dim] += sign;
    }

    /// Adds statistics of the same shape, times `factor`.
    pub(crate) fn add_scaled(&mut self, other: &Self, factor: f64) {
        for (to, from) in self.stats.data_mut().iter_mut().zip(other.stats.data()) {
            *to += factor * from;
        }
    }

    /// Reads two rows of `dim` + 1 numbers from the state of a stream; only two numbers stand for
    /// none.
    pub(crate) fn from_slice(dim: usize, numbers: &[f64]) -> Result<Option<Self>, Error> {
        if numbers.len() == 2 && dim > 0 {
            return Ok(None);
        }
        match Matrix::from_vec(2, dim + 1, numbers.to_vec()) {
            Ok(stats) => Ok(Some(Self { stats })),
            Err(_) => Err(Error::BadState { reason: "its statistics are of another size" }),
        }
    }

    /// Adds the frames of `other`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if they are of other features, [`Error::NoVarianceStats`] if only one
    /// of both has variances.
    #[doc(alias = "AddMat")]
    pub fn add(&mut self, other: &Self) -> Result<(), Error> {
        self.check_dim(other.dim())?;
        if self.stats.num_rows() != other.stats.num_rows() {
            return Err(Error::NoVarianceStats);
        }
        for (to, from) in self.stats.data_mut().iter_mut().zip(other.stats.data()) {
            *to += from;
        }
        Ok(())
    }

    /// Sets mean 0 and variance 1 in the given dimensions, so that normalising leaves them
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::BadColumn`] for a dimension that does not exist, [`Error::NoVarianceStats`] if
    /// there are no variances.
    #[doc(alias = "FakeStatsForSomeDims")]
    pub fn fake_dims(&mut self, dims: &[i32]) -> Result<(), Error> {
        let (dim, count) = (self.dim(), self.count());
        if self.stats.num_rows() < 2 {
            return Err(Error::NoVarianceStats);
        }
        for &d in dims {
            let column = usize::try_from(d).unwrap_or(usize::MAX);
            if column >= dim {
                return Err(Error::BadColumn { column, dim });
            }
            self.stats[(0, column)] = 0.0;
            self.stats[(1, column)] = count;
        }
        Ok(())
    }

    /// Sets the variance of dimensions that have next to none, such as constant ones, to 1, and
    /// keeps their means: normalising then makes them 0. Otherwise the least variance, 1e-20, makes
    /// numbers of any size of their rounding errors.
    ///
    /// # Errors
    /// [`Error::NoVarianceStats`] if there are no variances.
    pub fn fake_constant_dims(&mut self) -> Result<(), Error> {
        let (dim, count) = (self.dim(), self.count());
        if self.stats.num_rows() < 2 {
            return Err(Error::NoVarianceStats);
        }
        for d in 0..dim {
            let mean = self.stats[(0, d)] / count;
            if self.stats[(1, d)] / count - mean * mean <= VARIANCE_FLOOR {
                self.stats[(1, d)] = count * (1.0 + mean * mean);
            }
        }
        Ok(())
    }

    /// Returns the means in the first row and the variances in the second, without a column for the
    /// count.
    ///
    /// # Errors
    /// [`Error::NoVarianceStats`] if there are no variances, [`Error::TooFewFrames`] if there is
    /// nothing to divide by.
    pub fn mean_and_variance(&self) -> Result<Matrix<f64>, Error> {
        let (dim, count) = (self.dim(), self.count());
        if self.stats.num_rows() < 2 {
            return Err(Error::NoVarianceStats);
        }
        if count.is_nan() || count <= 0.0 {
            return Err(Error::TooFewFrames { count });
        }
        let mut out = Matrix::zeros(2, dim);
        for d in 0..dim {
            let mean = self.stats[(0, d)] / count;
            out[(0, d)] = mean;
            out[(1, d)] = self.stats[(1, d)] / count - mean * mean;
        }
        Ok(out)
    }

    /// Returns the factor of dimension `d` and the offset to add after it. Without variances the
    /// factor is 1.
    pub(crate) fn scale_and_offset(&self, d: usize, norm_vars: bool, reverse: bool) -> (f32, f32) {
        let (count, sum) = (self.count(), self.stats[(0, d)]);
        if !norm_vars {
            // Kaldi multiplies by the inverse of the count, in single precision; in reverse it
            // divides.
            let offset = if reverse { sum / count } else { f64::from((-1.0 / count) as f32) * sum };
            return (1.0, offset as f32);
        }
        let mean = sum / count;
        let variance = self.stats[(1, d)] / count - mean * mean;
        let deviation = if variance < VARIANCE_FLOOR { VARIANCE_FLOOR } else { variance }.sqrt();
        if reverse {
            return (deviation as f32, mean as f32);
        }
        let scale = 1.0 / deviation;
        (scale as f32, -(mean * scale) as f32)
    }

    /// Returns [`scale_and_offset`](Self::scale_and_offset) of each dimension, if they are numbers.
    fn scales_and_offsets(&self, norm_vars: bool, reverse: bool) -> Result<Vec<(f32, f32)>, Error> {
        let count = self.count();
        if count.is_nan() || count < 1.0 {
            return Err(Error::TooFewFrames { count });
        }
        if norm_vars && self.stats.num_rows() < 2 {
            return Err(Error::NoVarianceStats);
        }
        let pair = |dim| {
            let (scale, offset) = self.scale_and_offset(dim, norm_vars, reverse);
            if !scale.is_finite() || scale == 0.0 {
                let variance = self.stats[(1, dim)] / count - (self.stats[(0, dim)] / count).powi(2);
                return Err(Error::BadVariance { dim, variance });
            }
            Ok((scale, offset))
        };
        (0..self.dim()).map(pair).collect()
    }
}

/// Normalises features: their mean by `stats` becomes 0 and, with `norm_vars`, their variance 1.
///
/// # Errors
/// [`Error::TooFewFrames`] for statistics of less than a frame, [`Error::NoVarianceStats`] and
/// [`Error::BadVariance`] if there is no variance to divide by, [`Error::DimMismatch`] for features
/// with other columns. The features are then unchanged.
#[doc(alias = "ApplyCmvn")]
pub fn apply_cmvn(
    stats: &CmvnStats,
    norm_vars: bool,
    features: &mut MatrixBase<impl StorageMut<Elem = f32>>,
) -> Result<(), Error> {
    scale_and_add(stats, norm_vars, false, features)
}

/// The reverse of [`apply_cmvn`]: features of mean 0 (and variance 1) get the mean (and variance)
/// of `stats`.
///
/// # Errors
/// As `apply_cmvn`.
#[doc(alias = "ApplyCmvnReverse")]
pub fn apply_cmvn_reverse(
    stats: &CmvnStats,
    norm_vars: bool,
    features: &mut MatrixBase<impl StorageMut<Elem = f32>>,
) -> Result<(), Error> {
    scale_and_add(stats, norm_vars, true, features)
}

fn scale_and_add(
    stats: &CmvnStats,
    norm_vars: bool,
    reverse: bool,
    features: &mut MatrixBase<impl StorageMut<Elem = f32>>,
) -> Result<(), Error> {
    if !features.is_empty() {
        stats.check_dim(features.num_cols())?;
    }
    let pairs = stats.scales_and_offsets(norm_vars, reverse)?;
    for row in features.rows_mut() {
        for (x, &(scale, offset)) in row.iter_mut().zip(&pairs) {
            // Two roundings, as in Kaldi.
            *x = *x * scale + offset;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> Matrix<f32> {
        Matrix::from_fn(50, 3, |t, d| ((t * (d + 2) * 7) % 23) as f32 - 4.0 * d as f32)
    }

    fn stats(features: &Matrix<f32>) -> CmvnStats {
        let mut stats = CmvnStats::new(3);
        stats.accumulate(features).unwrap();
        stats
    }

    #[test]
    fn normalised_features_have_mean_0_and_variance_1_and_come_back() {
        let original = features();
        for norm_vars in [false, true] {
            let mut features = original.clone();
            let before = stats(&features);
            apply_cmvn(&before, norm_vars, &mut features).unwrap();
            let after = stats(&features).mean_and_variance().unwrap();
            for d in 0..3 {
                assert!(after[(0, d)].abs() < 1e-5, "{after:?}");
                assert!(!norm_vars || (after[(1, d)] - 1.0).abs() < 1e-5, "{after:?}");
            }
            apply_cmvn_reverse(&before, norm_vars, &mut features).unwrap();
            for (x, y) in features.data().iter().zip(original.data()) {
                assert!((x - y).abs() < 1e-4);
            }
        }
    }

    /// The inverse of 49 differs between single and double precision.
    #[test]
    fn offsets_are_rounded_as_kaldis() {
        let sums = [5.0, -123.456, 1e6 / 3.0];
        let stats = Matrix::from_vec(1, 4, sums.iter().copied().chain([49.0]).collect()).unwrap();
        let stats = CmvnStats::from_matrix(stats).unwrap();
        let mut offsets = Matrix::zeros(1, 3);
        apply_cmvn(&stats, false, &mut offsets).unwrap();
        let expected = sums.map(|sum| (f64::from(-1.0_f32 / 49.0) * sum) as f32);
        assert_eq!(offsets.data(), expected);
        assert_ne!(offsets.data(), sums.map(|sum| (-sum / 49.0) as f32));
        let mut means = Matrix::zeros(1, 3);
        apply_cmvn_reverse(&stats, false, &mut means).unwrap();
        assert_eq!(means.data(), sums.map(|sum| (sum / 49.0) as f32));
    }

    #[test]
    fn weights_count_rows_and_halves_add_up() {
        let features = features();
        let (first, second) = (features.row_range(0, 20).unwrap(), features.row_range(20, 30).unwrap());
        let mut sum = CmvnStats::new(3);
        sum.accumulate(&first).unwrap();
        let mut rest = CmvnStats::new(3);
        rest.accumulate(&second).unwrap();
        sum.add(&rest).unwrap();
        assert_eq!(sum, stats(&features));
        let mut weighted = CmvnStats::new(3);
        let weights: Vec<f32> = (0..50).map(|t| if t < 20 { 1.0 } else { 0.0 }).collect();
        weighted.accumulate_weighted(&features, &weights).unwrap();
        assert_eq!(weighted.count(), 20.0);
        assert!(weighted.accumulate_weighted(&features, &weights[1..]).is_err());
    }

    #[test]
    fn faked_dimensions_stay_as_they_are() {
        let mut normalised = features();
        let mut stats = stats(&normalised);
        stats.fake_dims(&[1]).unwrap();
        apply_cmvn(&stats, true, &mut normalised).unwrap();
        for (x, y) in normalised.rows().zip(features().rows()) {
            assert_eq!(x[1], y[1]);
            assert_ne!(x[0], y[0]);
        }
        assert_eq!(stats.fake_dims(&[3]), Err(Error::BadColumn { column: 3, dim: 3 }));
        assert!(stats.fake_dims(&[-1]).is_err());
    }

    #[test]
    fn constant_dimensions_become_0() {
        for frames in [1, 7] {
            let mut features = Matrix::from_fn(frames, 2, |t, d| if d == 0 { 15.7 } else { t as f32 });
            let mut stats = CmvnStats::new(2);
            stats.accumulate(&features).unwrap();
            let mut plain = features.clone();
            apply_cmvn(&stats, true, &mut plain).unwrap();
            stats.fake_constant_dims().unwrap();
            apply_cmvn(&stats, true, &mut features).unwrap();
            for (row, plain) in features.rows().zip(plain.rows()) {
                assert!(row[0].abs() < 1e-4, "{row:?}");
                assert_eq!(row[1], if frames == 1 { 0.0 } else { plain[1] });
            }
        }
        let means = Matrix::from_vec(1, 2, vec![1.0, 1.0]).unwrap();
        let mut means = CmvnStats::from_matrix(means).unwrap();
        assert_eq!(means.fake_constant_dims(), Err(Error::NoVarianceStats));
    }

    #[test]
    fn statistics_that_normalise_nothing_are_refused() {
        let mut features = features();
        assert_eq!(apply_cmvn(&CmvnStats::new(3), false, &mut features), Err(Error::TooFewFrames { count: 0.0 }));
        let means = CmvnStats::from_matrix(Matrix::from_vec(1, 4, vec![1.0, 2.0, 3.0, 1.0]).unwrap()).unwrap();
        assert_eq!(apply_cmvn(&means, true, &mut features), Err(Error::NoVarianceStats));
        apply_cmvn(&means, false, &mut features).unwrap();
        let infinite = Matrix::from_vec(2, 2, vec![0.0, 1.0, f64::INFINITY, 0.0]).unwrap();
        let infinite = CmvnStats::from_matrix(infinite).unwrap();
        let mut column = Matrix::zeros(1, 1);
        assert!(matches!(apply_cmvn(&infinite, true, &mut column), Err(Error::BadVariance { dim: 0, .. })));
        assert!(CmvnStats::from_matrix(Matrix::zeros(3, 4)).is_err());
        assert!(CmvnStats::from_matrix(Matrix::zeros(2, 1)).is_err());
    }
}
