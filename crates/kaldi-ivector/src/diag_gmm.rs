//! Mixtures of Gaussians with diagonal covariances.

use std::io::{self, BufRead, Write};

use kaldera_base::gemm::{Operand, gemm};
use kaldi_matrix::codec::{CodecError, FieldReader, FieldWriter, KaldiRead, KaldiWrite};
use kaldi_matrix::{Matrix, MatrixBase, Storage, Vector};

use crate::error::{Error, check_size};

/// ln 2π.
pub(crate) const LOG_2_PI: f64 = 1.837_877_066_409_345_5;

/// A mixture of Gaussians with diagonal covariances, such as the universal background model of an
/// i-vector extractor.
///
/// The parameters are Kaldi's: weights, inverse variances, and means times inverse variances. So
/// log-likelihoods are a product of matrices:
///
/// ```text
/// log p(x, g) = gconst(g) + Σ_d x(d) means_invvars(g, d) - 1/2 Σ_d x(d)² inv_vars(g, d)
/// gconst(g)   = ln weight(g)
///               - 1/2 Σ_d [ln 2π - ln inv_vars(g, d) + means_invvars(g, d)² / inv_vars(g, d)]
/// ```
///
/// ```
/// use kaldi_ivector::DiagGmm;
/// use kaldi_matrix::{Matrix, Vector};
///
/// // Two Gaussians with means -1 and 3, and variances 1 and 0.5.
/// let inv_vars = Matrix::from_vec(2, 1, vec![1.0, 2.0])?;
/// let means_invvars = Matrix::from_vec(2, 1, vec![-1.0, 6.0])?;
/// let gmm = DiagGmm::new(Vector::from(vec![0.5, 0.5]), means_invvars, inv_vars)?;
/// let log_likes = gmm.log_likelihoods(&Matrix::from_vec(1, 1, vec![-1.0])?)?;
/// let expected = (0.5 / (2.0 * std::f32::consts::PI).sqrt()).ln();
/// assert!((log_likes[(0, 0)] - expected).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiagGmm {
    weights: Vector<f32>,
    gconsts: Vector<f32>,
    means_invvars: Matrix<f32>,
    inv_vars: Matrix<f32>,
    /// A row for each Gaussian: its factors of x, then of x².
    factors: Vec<f32>,
}

impl DiagGmm {
    /// Creates a mixture of weights, and of a row for each Gaussian of means times inverse
    /// variances, and of inverse variances.
    ///
    /// # Errors
    /// [`Error::Empty`] without Gaussians or dimensions, [`Error::Size`] for sizes that differ,
    /// [`Error::Gaussian`] for a negative weight, for a variance that is not positive, and for
    /// numbers that are NaN.
    pub fn new(weights: Vector<f32>, means_invvars: Matrix<f32>, inv_vars: Matrix<f32>) -> Result<Self, Error> {
        let (gaussians, dim) = (means_invvars.num_rows(), means_invvars.num_cols());
        if means_invvars.is_empty() {
            return Err(Error::Empty { what: "a mixture of Gaussians" });
        }
        check_size("weights of a mixture", gaussians, weights.dim())?;
        check_size("rows of inverse variances", gaussians, inv_vars.num_rows())?;
        check_size("columns of inverse variances", dim, inv_vars.num_cols())?;
        let gconsts: Vec<f32> = (0..gaussians)
            .map(|gaussian| {
                let (means, vars) = (means_invvars.row_data(gaussian), inv_vars.row_data(gaussian));
                gconst(weights[gaussian], means, vars).map_err(|reason| Error::Gaussian { gaussian, reason })
            })
            .collect::<Result<_, _>>()?;
        let mut factors = Vec::with_capacity(2 * gaussians * dim);
        for (means, vars) in means_invvars.rows().zip(inv_vars.rows()) {
            factors.extend_from_slice(means);
            factors.extend(vars.iter().map(|x| -0.5 * x));
        }
        Ok(Self { weights, gconsts: gconsts.into(), means_invvars, inv_vars, factors })
    }

    /// Returns the number of Gaussians.
    #[doc(alias = "NumGauss")]
    pub fn num_gaussians(&self) -> usize {
        self.weights.dim()
    }

    /// Returns the number of columns of the features.
    pub fn dim(&self) -> usize {
        self.inv_vars.num_cols()
    }

    /// Returns the weight of each Gaussian.
    pub fn weights(&self) -> &Vector<f32> {
        &self.weights
    }

    /// Returns the log-likelihood of each Gaussian at the origin, with its weight.
    pub fn gconsts(&self) -> &Vector<f32> {
        &self.gconsts
    }

    /// Returns means times inverse variances, Gaussians x dimensions.
    pub fn means_invvars(&self) -> &Matrix<f32> {
        &self.means_invvars
    }

    /// Returns inverse variances, Gaussians x dimensions.
    pub fn inv_vars(&self) -> &Matrix<f32> {
        &self.inv_vars
    }

    /// Returns the log-likelihoods of each row of `features` (frames x dimensions): frames x
    /// Gaussians, with the weights.
    ///
    /// A row has the same bits, whichever rows are computed with it.
    ///
    /// # Errors
    /// [`Error::Size`] for rows of another dimension.
    #[doc(alias = "LogLikelihoods")]
    pub fn log_likelihoods(&self, features: &MatrixBase<impl Storage<Elem = f32>>) -> Result<Matrix<f32>, Error> {
        if features.is_empty() {
            return Ok(Matrix::default());
        }
        check_size("columns of features for a mixture", self.dim(), features.num_cols())?;
        let mut out = Vec::new();
        let rows: Vec<f32> = features.rows().flatten().copied().collect();
        self.append_log_likelihoods(&rows, &mut out);
        Ok(Matrix::from_vec(features.num_rows(), self.num_gaussians(), out)?)
    }

    /// Same as [`log_likelihoods`](Self::log_likelihoods), for rows one after the other; appends to
    /// `out`.
    pub(crate) fn append_log_likelihoods(&self, rows: &[f32], out: &mut Vec<f32>) {
        let (gaussians, dim) = (self.num_gaussians(), self.dim());
        let frames = rows.len() / dim;
        let mut powers = Vec::with_capacity(2 * rows.len());
        for row in rows.chunks_exact(dim) {
            powers.extend_from_slice(row);
            powers.extend(row.iter().map(|x| x * x));
        }
        let begin = out.len();
        for _ in 0..frames {
            out.extend_from_slice(self.gconsts.data());
        }
        let powers = Operand { data: &powers, row_step: 2 * dim, col_step: 1 };
        let factors = Operand { data: &self.factors, row_step: 1, col_step: 2 * dim };
        gemm(frames, gaussians, 2 * dim, 1.0, powers, factors, 1.0, &mut out[begin..], gaussians);
    }
}

/// Returns the log-likelihood at the origin. The sum is rounded to single precision after each
/// dimension, as Kaldi does.
fn gconst(weight: f32, means_invvars: &[f32], inv_vars: &[f32]) -> Result<f32, &'static str> {
    if weight.is_nan() || weight < 0.0 {
        return Err("its weight is negative or NaN");
    }
    let offset = (-0.5 * LOG_2_PI * means_invvars.len() as f64) as f32;
    let mut sum = weight.ln() + offset;
    for (&mean, &var) in means_invvars.iter().zip(inv_vars) {
        if var.is_nan() || var <= 0.0 {
            return Err("an inverse variance is not positive");
        }
        let (mean, log) = (f64::from(mean), f64::from(var.ln()));
        sum = (f64::from(sum) + (0.5 * log - 0.5 * mean * mean / f64::from(var))) as f32;
    }
    if sum.is_nan() {
        return Err("its log-likelihood is not a number");
    }
    // An infinite one excludes the Gaussian, as in Kaldi.
    Ok(if sum == f32::INFINITY { f32::NEG_INFINITY } else { sum })
}

/// Reads either form. The stored `<GCONSTS>` are computed again, as in Kaldi.
impl KaldiRead for DiagGmm {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut fields = FieldReader::new(r, binary);
        fields.one_of(&["<DiagGMM>", "<DiagGMMBegin>"], "<DiagGMM>")?;
        if fields.one_of(&["<WEIGHTS>", "<GCONSTS>"], "<WEIGHTS> or <GCONSTS>")? == 1 {
            fields.object::<Vector<f32>>()?;
            fields.expect("<WEIGHTS>")?;
        }
        let weights = fields.object()?;
        fields.expect("<MEANS_INVVARS>")?;
        let means_invvars = fields.object()?;
        fields.expect("<INV_VARS>")?;
        let inv_vars = fields.object()?;
        fields.one_of(&["</DiagGMM>", "<DiagGMMEnd>"], "</DiagGMM>")?;
        let made = Self::new(weights, means_invvars, inv_vars);
        made.map_err(|error| CodecError::unexpected(fields.offset(), "a mixture of Gaussians", error))
    }
}

impl KaldiWrite for DiagGmm {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let mut fields = FieldWriter::new(w, binary);
        fields.token("<DiagGMM>")?;
        fields.line_end()?;
        fields.token("<GCONSTS>")?;
        fields.object(&self.gconsts)?;
        fields.token("<WEIGHTS>")?;
        fields.object(&self.weights)?;
        fields.token("<MEANS_INVVARS>")?;
        fields.object(&self.means_invvars)?;
        fields.token("<INV_VARS>")?;
        fields.object(&self.inv_vars)?;
        fields.token("</DiagGMM>")?;
        fields.line_end()
    }
}
