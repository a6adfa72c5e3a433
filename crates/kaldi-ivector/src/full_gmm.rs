//! Mixtures of Gaussians with full covariances.

use std::io::{self, BufRead, Write};

use kaldi_matrix::codec::{CodecError, FieldReader, FieldWriter, KaldiRead, KaldiWrite};
use kaldi_matrix::{Matrix, MatrixBase, SpMatrix, Storage, Trans, Vector};

use crate::diag_gmm::{DiagGmm, LOG_2_PI};
use crate::error::{Error, check_size};

/// A mixture of Gaussians with full covariances, from which i-vector extractors are trained.
///
/// The parameters are Kaldi's: weights, inverse covariances, and means times inverse covariances.
///
/// ```text
/// log p(x, g) = gconst(g) + x' means_invcovars(g) - 1/2 x' inv_covars(g) x
/// ```
///
/// ```
/// use kaldi_ivector::FullGmm;
/// use kaldi_matrix::{Matrix, SpMatrix, Vector};
///
/// let inv_covar = SpMatrix::from_vec(2, vec![2.0, 0.5, 1.0])?;
/// let gmm = FullGmm::new(Vector::from(vec![1.0]), Matrix::zeros(1, 2), vec![inv_covar])?;
/// let log_likes = gmm.log_likelihoods(&Matrix::from_vec(2, 2, vec![0.0, 0.0, 1.0, 1.0])?)?;
/// assert!((log_likes[(0, 0)] - log_likes[(1, 0)] - 2.0).abs() < 1e-6); // 1/2 (2 + 2 * 0.5 + 1)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FullGmm {
    weights: Vector<f32>,
    gconsts: Vector<f32>,
    means_invcovars: Matrix<f32>,
    inv_covars: Vec<SpMatrix<f32>>,
}

impl FullGmm {
    /// Creates a mixture of weights, of a row for each Gaussian of means times inverse covariances,
    /// and of inverse covariances.
    ///
    /// # Errors
    /// [`Error::Empty`] without Gaussians or dimensions, [`Error::Size`] for sizes that differ,
    /// [`Error::Gaussian`] for a negative weight, and for a covariance that is not positive
    /// definite.
    pub fn new(
        weights: Vector<f32>,
        means_invcovars: Matrix<f32>,
        inv_covars: Vec<SpMatrix<f32>>,
    ) -> Result<Self, Error> {
        if means_invcovars.is_empty() {
            return Err(Error::Empty { what: "a mixture of Gaussians" });
        }
        let gaussians = means_invcovars.num_rows();
        check_size("weights of a mixture", gaussians, weights.dim())?;
        check_size("inverse covariances", gaussians, inv_covars.len())?;
        let mut gconsts = Vec::with_capacity(gaussians);
        for (gaussian, inv_covar) in inv_covars.iter().enumerate() {
            check_size("rows of an inverse covariance", means_invcovars.num_cols(), inv_covar.dim())?;
            let gconst = gconst(weights[gaussian], means_invcovars.row_data(gaussian), inv_covar);
            gconsts.push(gconst.map_err(|reason| Error::Gaussian { gaussian, reason })?);
        }
        Ok(Self { weights, gconsts: gconsts.into(), means_invcovars, inv_covars })
    }

    /// Returns the number of Gaussians.
    #[doc(alias = "NumGauss")]
    pub fn num_gaussians(&self) -> usize {
        self.weights.dim()
    }

    /// Returns the number of columns of the features.
    pub fn dim(&self) -> usize {
        self.means_invcovars.num_cols()
    }

    /// Returns the weight of each Gaussian.
    pub fn weights(&self) -> &Vector<f32> {
        &self.weights
    }

    /// Returns means times inverse covariances, Gaussians x dimensions.
    pub fn means_invcovars(&self) -> &Matrix<f32> {
        &self.means_invcovars
    }

    /// Returns the inverse covariance of each Gaussian.
    pub fn inv_covars(&self) -> &[SpMatrix<f32>] {
        &self.inv_covars
    }

    /// Returns the log-likelihoods of each row of `features` (frames x dimensions): frames x
    /// Gaussians, with the weights.
    ///
    /// # Errors
    /// [`Error::Size`] for rows of another dimension.
    #[doc(alias = "LogLikelihoods")]
    pub fn log_likelihoods(&self, features: &MatrixBase<impl Storage<Elem = f32>>) -> Result<Matrix<f32>, Error> {
        if features.is_empty() {
            return Ok(Matrix::default());
        }
        check_size("columns of features for a mixture", self.dim(), features.num_cols())?;
        let mut out = Matrix::zeros(features.num_rows(), self.num_gaussians());
        for (row, log_likes) in features.rows().zip(out.rows_mut()) {
            let squares = Squares::new(row);
            for (gaussian, log_like) in log_likes.iter_mut().enumerate() {
                *log_like = self.log_likelihood(row, &squares, gaussian);
            }
        }
        Ok(out)
    }

    /// Returns the log-likelihoods of a row for some Gaussians, in their order.
    ///
    /// # Errors
    /// [`Error::Size`] for a row of another dimension, [`Error::NoGaussian`] for a Gaussian that
    /// the mixture does not have, named with frame 0.
    #[doc(alias = "LogLikelihoodsPreselect")]
    pub fn log_likelihoods_of(&self, row: &[f32], gaussians: &[i32]) -> Result<Vec<f32>, Error> {
        check_size("columns of features for a mixture", self.dim(), row.len())?;
        let squares = Squares::new(row);
        let each = |&gaussian: &i32| {
            let place = usize::try_from(gaussian).ok().filter(|&place| place < self.num_gaussians());
            let place = place.ok_or(Error::NoGaussian { frame: 0, gaussian, gaussians: self.num_gaussians() })?;
            Ok(self.log_likelihood(row, &squares, place))
        };
        gaussians.iter().map(each).collect()
    }

    fn log_likelihood(&self, row: &[f32], squares: &Squares, gaussian: usize) -> f32 {
        let linear: f32 = self.means_invcovars.row_data(gaussian).iter().zip(row).map(|(a, b)| a * b).sum();
        let quadratic: f32 = self.inv_covars[gaussian].data().iter().zip(&squares.0).map(|(a, b)| a * b).sum();
        self.gconsts[gaussian] + linear - quadratic
    }

    /// Returns the mixture with the diagonals of the covariances.
    ///
    /// # Errors
    /// [`Error::Gaussian`] for a variance that single precision cannot hold.
    #[doc(alias = "CopyFromFullGmm")]
    pub fn to_diagonal(&self) -> Result<DiagGmm, Error> {
        let (gaussians, dim) = (self.num_gaussians(), self.dim());
        let (mut means_invvars, mut inv_vars) = (Matrix::zeros(gaussians, dim), Matrix::zeros(gaussians, dim));
        for (gaussian, inv_covar) in self.inv_covars.iter().enumerate() {
            // inv_covar = L L', so the covariance is K' K with K the inverse of L.
            let mut inverse = inv_covar.converted::<f64>().cholesky()?;
            inverse.invert()?;
            let mut variances = vec![0.0; dim];
            for row in inverse.rows() {
                variances.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
            }
            let mut mean: Vector<f64> = self.means_invcovars.row_data(gaussian).iter().map(|&x| x.into()).collect();
            mean.mul_tp(&inverse, Trans::No)?;
            mean.mul_tp(&inverse, Trans::Yes)?;
            for (d, variance) in variances.into_iter().enumerate() {
                inv_vars[(gaussian, d)] = (1.0 / variance) as f32;
                means_invvars[(gaussian, d)] = (mean[d] / variance) as f32;
            }
        }
        DiagGmm::new(self.weights.clone(), means_invvars, inv_vars)
    }
}

/// Products of the elements of a row, as a packed triangle with half the squares on the diagonal:
/// its dot product with a symmetric matrix is half the quadratic form.
struct Squares(Vec<f32>);

impl Squares {
    fn new(row: &[f32]) -> Self {
        let mut products = Vec::with_capacity(row.len() * (row.len() + 1) / 2);
        for (r, &x) in row.iter().enumerate() {
            products.extend(row[..r].iter().map(|&y| x * y));
            products.push(0.5 * x * x);
        }
        Self(products)
    }
}

/// Returns the log-likelihood at the origin.
fn gconst(weight: f32, means_invcovars: &[f32], inv_covar: &SpMatrix<f32>) -> Result<f32, &'static str> {
    const NOT_DEFINITE: &str = "its inverse covariance is not positive definite";
    if weight.is_nan() || weight < 0.0 {
        return Err("its weight is negative or NaN");
    }
    let factor = inv_covar.converted::<f64>().cholesky().map_err(|_| NOT_DEFINITE)?;
    let log_det: f64 = 2.0 * factor.diag().map(f64::ln).sum::<f64>();
    // With m = inv_covar mean, mean' inv_covar mean = |y|² for L y = m.
    let mut y: Vector<f64> = means_invcovars.iter().map(|&x| x.into()).collect();
    y.solve(&factor, Trans::No).map_err(|_| NOT_DEFINITE)?;
    let square: f64 = y.iter().map(|y| y * y).sum();
    let dim = means_invcovars.len() as f64;
    let sum = f64::from(weight).ln() + 0.5 * (log_det - dim * LOG_2_PI - square);
    if sum.is_nan() { Err("its log-likelihood is not a number") } else { Ok(sum as f32) }
}

/// Reads either form. The stored `<GCONSTS>` are computed again, as in Kaldi.
impl KaldiRead for FullGmm {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut fields = FieldReader::new(r, binary);
        fields.one_of(&["<FullGMM>", "<FullGMMBegin>"], "<FullGMM>")?;
        if fields.one_of(&["<WEIGHTS>", "<GCONSTS>"], "<WEIGHTS> or <GCONSTS>")? == 1 {
            fields.object::<Vector<f32>>()?;
            fields.expect("<WEIGHTS>")?;
        }
        let weights: Vector<f32> = fields.object()?;
        fields.expect("<MEANS_INVCOVARS>")?;
        let means_invcovars = fields.object()?;
        fields.expect("<INV_COVARS>")?;
        let mut inv_covars = Vec::new();
        for _ in 0..weights.dim() {
            inv_covars.push(fields.object()?);
        }
        fields.one_of(&["</FullGMM>", "<FullGMMEnd>"], "</FullGMM>")?;
        let made = Self::new(weights, means_invcovars, inv_covars);
        made.map_err(|error| CodecError::unexpected(fields.offset(), "a mixture of Gaussians", error))
    }
}

impl KaldiWrite for FullGmm {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let mut fields = FieldWriter::new(w, binary);
        fields.token("<FullGMM>")?;
        fields.line_end()?;
        fields.token("<GCONSTS>")?;
        fields.object(&self.gconsts)?;
        fields.token("<WEIGHTS>")?;
        fields.object(&self.weights)?;
        fields.token("<MEANS_INVCOVARS>")?;
        fields.object(&self.means_invcovars)?;
        fields.token("<INV_COVARS>")?;
        for inv_covar in &self.inv_covars {
            fields.object(inv_covar)?;
        }
        fields.token("</FullGMM>")?;
        fields.line_end()
    }
}
