//! The products of an extractor from which i-vectors are computed.

use kaldera_base::gemm::{Operand, gemm};
use kaldera_base::kernel;
use kaldera_base::par;
use kaldera_base::simd::dispatch;
use kaldi_matrix::{Matrix, SpMatrix, Trans, Vector};

use crate::error::{Error, check_size};
use crate::extractor::IvectorExtractor;
use crate::utterance::UtteranceStats;

/// The most elements that quadratic terms may have: 2 GiB of memory, and while they are made twice
/// the share of a Gaussian for each thread. 2,048 Gaussians and i-vectors of 400 elements take 164
/// million.
const MOST_ELEMENTS: usize = 1 << 28;

/// Rounds of the estimate with weights that depend on the i-vector, and the change that ends them:
/// Kaldi's.
const WEIGHT_ROUNDS: usize = 4;
const SMALL_CHANGE: f64 = 0.1;

/// The products of an extractor from which i-vectors are computed, for each Gaussian with the
/// matrix M and the inverse covariance S:
///
/// ```text
/// linear:     S M       features x i-vector
/// quadratic:  M' S M    a packed triangle
/// ```
///
/// An i-vector v maximises `v' l - 1/2 v' Q v`, where the statistics have summed
/// `l = prior + Σ weight (S M)' x` and `Q = 1 + Σ weight M' S M` over Gaussians and frames x.
///
/// The extractor itself is not needed any more, and may be dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct IvectorTerms {
    feature_dim: usize,
    ivector_dim: usize,
    prior_offset: f64,
    weight_projections: Matrix<f64>,
    terms: Vec<Terms>,
}

#[derive(Debug, Clone, PartialEq)]
struct Terms {
    linear: Matrix<f64>,
    quadratic: Vec<f64>,
}

impl IvectorTerms {
    /// Computes the products, on several threads with the feature `rayon`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they would have more than 2²⁸ elements.
    #[doc(alias = "ComputeDerivedVars")]
    pub fn new(extractor: &IvectorExtractor) -> Result<Self, Error> {
        let (gaussians, dim) = (extractor.num_gaussians(), extractor.ivector_dim());
        let elements = dim.checked_mul(dim).and_then(|square| square.checked_mul(gaussians));
        if elements.is_none_or(|elements| elements / 2 > MOST_ELEMENTS) {
            return Err(Error::TooLarge { gaussians, dim });
        }
        let parts = extractor.projections().iter().zip(extractor.inv_covars()).collect();
        Ok(Self {
            feature_dim: extractor.feature_dim(),
            ivector_dim: dim,
            prior_offset: extractor.prior_offset(),
            weight_projections: extractor.weight_projections().clone(),
            terms: par::map(parts, |(projection, inv_covar)| Terms::new(projection, inv_covar)),
        })
    }

    /// Returns the number of Gaussians.
    pub fn num_gaussians(&self) -> usize {
        self.terms.len()
    }

    /// Returns the number of columns of the features.
    pub fn feature_dim(&self) -> usize {
        self.feature_dim
    }

    /// Returns the number of elements of an i-vector.
    pub fn ivector_dim(&self) -> usize {
        self.ivector_dim
    }

    /// Returns the mean of the first element of i-vectors.
    pub fn prior_offset(&self) -> f64 {
        self.prior_offset
    }

    /// Returns `true` if the weights depend on the i-vector.
    pub fn has_dependent_weights(&self) -> bool {
        !self.weight_projections.is_empty()
    }

    /// Adds (S M)' `sum` to `linear`, and `weight` M' S M to `quadratic`, for one Gaussian.
    pub(crate) fn add(&self, gaussian: usize, weight: f64, sum: &[f64], linear: &mut [f64], quadratic: &mut [f64]) {
        let terms = &self.terms[gaussian];
        for (&x, row) in sum.iter().zip(terms.linear.rows()) {
            axpy(x, row, linear);
        }
        axpy(weight, &terms.quadratic, quadratic);
    }

    /// Returns l and Q of the statistics and the prior.
    fn sums(&self, stats: &UtteranceStats) -> Result<(Vector<f64>, SpMatrix<f64>), Error> {
        check_size("Gaussians of statistics", self.num_gaussians(), stats.counts().len())?;
        check_size("columns of statistics", self.feature_dim, stats.sums().num_cols())?;
        let (mut linear, mut quadratic) = (Vector::zeros(self.ivector_dim), SpMatrix::zeros(self.ivector_dim));
        for (gaussian, (&count, sum)) in stats.counts().iter().zip(stats.sums().rows()).enumerate() {
            if count != 0.0 {
                self.add(gaussian, count, sum, linear.data_mut(), quadratic.data_mut());
            }
        }
        linear[0] += self.prior_offset;
        quadratic.add_to_diag(1.0);
        Ok((linear, quadratic))
    }

    /// Returns the i-vector of statistics, with the offset of the prior in its first element.
    ///
    /// Weights that depend on the i-vector are expanded to second order around the last estimate,
    /// for four rounds at most, as in Kaldi.
    ///
    /// # Errors
    /// [`Error::Size`] for statistics of another extractor; [`Error::Matrix`] if no i-vector fits
    /// statistics with negative weights.
    #[doc(alias = "GetIvectorDistribution")]
    pub fn ivector(&self, stats: &UtteranceStats) -> Result<Vector<f64>, Error> {
        let (linear, quadratic) = self.sums(stats)?;
        let mut mean = solved(&linear, &quadratic)?;
        if !self.has_dependent_weights() {
            return Ok(mean);
        }
        for _ in 0..WEIGHT_ROUNDS {
            let (mut linear, mut quadratic) = (linear.clone(), quadratic.clone());
            self.add_weight_terms(stats, &mean, &mut linear, &mut quadratic)?;
            let last = std::mem::replace(&mut mean, solved(&linear, &quadratic)?);
            let change: f64 = mean.iter().zip(last.iter()).map(|(a, b)| (a - b) * (a - b)).sum();
            if change.sqrt() < SMALL_CHANGE {
                break;
            }
        }
        Ok(mean)
    }

    /// Adds the expansion of the weights' part of the log-likelihood around `mean`: equation 58 of
    /// Povey et al., "The subspace Gaussian mixture model" (2011).
    fn add_weight_terms(
        &self,
        stats: &UtteranceStats,
        mean: &Vector<f64>,
        linear: &mut Vector<f64>,
        quadratic: &mut SpMatrix<f64>,
    ) -> Result<(), Error> {
        let logs = self.unnormalized_log_weights(mean);
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        let count: f64 = stats.counts().iter().sum();
        let mut factors = Vector::zeros(logs.len());
        for (gaussian, (&log, &own)) in logs.iter().zip(stats.counts()).enumerate() {
            let expected = count * (log - largest).exp() / total;
            let most = own.max(expected);
            axpy(own - expected + most * log, self.weight_projections.row_data(gaussian), linear.data_mut());
            factors[gaussian] = most;
        }
        quadratic.add_mat2_vec(1.0, &self.weight_projections, Trans::Yes, &factors, 1.0)?;
        Ok(())
    }

    fn unnormalized_log_weights(&self, mean: &Vector<f64>) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(mean.iter()).map(|(a, b)| a * b).sum();
        self.weight_projections.rows().map(dot).collect()
    }

    /// Returns the difference of the log-likelihood of statistics, prior included, from the mean of
    /// the prior to `ivector`.
    ///
    /// # Errors
    /// [`Error::Size`] for statistics of another extractor or an i-vector of another length.
    #[doc(alias = "GetAuxf")]
    pub fn improvement(&self, stats: &UtteranceStats, ivector: &Vector<f64>) -> Result<f64, Error> {
        check_size("elements of an i-vector", self.ivector_dim, ivector.dim())?;
        let (linear, quadratic) = self.sums(stats)?;
        let mut prior = Vector::zeros(self.ivector_dim);
        prior[0] = self.prior_offset;
        let value = |v: &Vector<f64>| -> Result<f64, Error> {
            let weights: f64 = if self.has_dependent_weights() {
                let logs = self.unnormalized_log_weights(v);
                let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total = largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln();
                logs.iter().zip(stats.counts()).map(|(log, count)| count * (log - total)).sum()
            } else {
                0.0
            };
            Ok(objective(&linear, &quadratic, v)? + weights)
        };
        Ok(value(ivector)? - value(&prior)?)
    }
}

impl Terms {
    fn new(projection: &Matrix<f64>, inv_covar: &SpMatrix<f64>) -> Self {
        let (features, dim) = (projection.num_rows(), projection.num_cols());
        let whole = inv_covar.to_matrix();
        let mut linear = Matrix::zeros(features, dim);
        let rows = |m: &'_ Matrix<f64>| m.num_cols();
        let left = Operand { data: whole.data(), row_step: rows(&whole), col_step: 1 };
        let right = Operand { data: projection.data(), row_step: dim, col_step: 1 };
        gemm(features, dim, features, 1.0, left, right, 0.0, linear.data_mut(), dim);
        let mut square = vec![0.0; dim * dim];
        let left = Operand { data: projection.data(), row_step: 1, col_step: dim };
        let right = Operand { data: linear.data(), row_step: dim, col_step: 1 };
        gemm(dim, dim, features, 1.0, left, right, 0.0, &mut square, dim);
        let quadratic = square.chunks_exact(dim).enumerate().flat_map(|(r, row)| &row[..=r]).copied().collect();
        Self { linear, quadratic }
    }
}

/// y += alpha x.
pub(crate) fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    dispatch(kernel!(<'a>(_s: S, alpha: f64, x: &'a [f64], y: &'a mut [f64]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y += alpha * x;
        }
    }));
}

/// Returns `v' l - 1/2 v' Q v`.
pub(crate) fn objective(linear: &Vector<f64>, quadratic: &SpMatrix<f64>, v: &Vector<f64>) -> Result<f64, Error> {
    let mut product = Vector::zeros(v.dim());
    product.add_sp_vec(1.0, quadratic, v, 0.0)?;
    Ok(v.iter().zip(linear.iter().zip(product.iter())).map(|(v, (l, q))| v * (l - 0.5 * q)).sum())
}

/// Returns the v with `Q v = l`. Q is the unit matrix and a sum of squares, so its Cholesky factor
/// exists.
fn solved(linear: &Vector<f64>, quadratic: &SpMatrix<f64>) -> Result<Vector<f64>, Error> {
    let factor = quadratic.cholesky()?;
    let mut v = linear.clone();
    v.solve(&factor, Trans::No)?;
    v.solve(&factor, Trans::Yes)?;
    Ok(v)
}
