//! The i-vector extractor, as its file has it.

use std::io::{self, BufRead, Write};

use kaldi_matrix::codec::{CodecError, FieldReader, FieldWriter, KaldiRead, KaldiWrite};
use kaldi_matrix::{Matrix, SpMatrix, Vector};

use crate::error::{Error, check_size};

/// An i-vector extractor: Gaussians whose means are linear functions of the i-vector.
///
/// ```text
/// mean(g) = M(g) ivector      M(g): features x i-vector
/// covariance(g)               its inverse is stored
/// ivector ~ N(prior, 1)       prior = (prior_offset, 0, 0, ...)
/// ```
///
/// So the first element carries the mean of the speakers. Weights are fixed, or logarithms of them
/// are linear functions of the i-vector, too.
///
/// This type is the file (`final.ie`). [`IvectorTerms`](crate::IvectorTerms) holds the products
/// from which i-vectors are computed.
#[derive(Debug, Clone, PartialEq)]
pub struct IvectorExtractor {
    weight_projections: Matrix<f64>,
    weights: Vector<f64>,
    projections: Vec<Matrix<f64>>,
    inv_covars: Vec<SpMatrix<f64>>,
    prior_offset: f64,
}

impl IvectorExtractor {
    /// Creates an extractor with fixed weights, of a matrix (features x i-vector) and an inverse
    /// covariance for each Gaussian.
    ///
    /// # Errors
    /// [`Error::Empty`] without Gaussians or dimensions, [`Error::Size`] for sizes that differ.
    pub fn new(
        weights: Vector<f64>,
        projections: Vec<Matrix<f64>>,
        inv_covars: Vec<SpMatrix<f64>>,
        prior_offset: f64,
    ) -> Result<Self, Error> {
        Self { weight_projections: Matrix::default(), weights, projections, inv_covars, prior_offset }.checked()
    }

    fn checked(self) -> Result<Self, Error> {
        let gaussians = self.projections.len();
        let Some(first) = self.projections.first().filter(|first| !first.is_empty()) else {
            return Err(Error::Empty { what: "an i-vector extractor" });
        };
        let shape = first.shape();
        check_size("inverse covariances of an extractor", gaussians, self.inv_covars.len())?;
        for (projection, inv_covar) in self.projections.iter().zip(&self.inv_covars) {
            check_size("rows of a matrix of an extractor", shape.rows, projection.num_rows())?;
            check_size("columns of a matrix of an extractor", shape.cols, projection.num_cols())?;
            check_size("rows of an inverse covariance of an extractor", shape.rows, inv_covar.dim())?;
        }
        if self.weight_projections.is_empty() {
            check_size("weights of an extractor", gaussians, self.weights.dim())?;
        } else {
            check_size("rows of the weights of an extractor", gaussians, self.weight_projections.num_rows())?;
            check_size("columns of the weights of an extractor", shape.cols, self.weight_projections.num_cols())?;
        }
        Ok(self)
    }

    /// Returns the number of Gaussians.
    #[doc(alias = "NumGauss")]
    pub fn num_gaussians(&self) -> usize {
        self.projections.len()
    }

    /// Returns the number of columns of the features.
    #[doc(alias = "FeatDim")]
    pub fn feature_dim(&self) -> usize {
        self.projections.first().map_or(0, |first| first.num_rows())
    }

    /// Returns the number of elements of an i-vector.
    #[doc(alias = "IvectorDim")]
    pub fn ivector_dim(&self) -> usize {
        self.projections.first().map_or(0, |first| first.num_cols())
    }

    /// Returns the mean of the first element of i-vectors.
    #[doc(alias = "PriorOffset")]
    pub fn prior_offset(&self) -> f64 {
        self.prior_offset
    }

    /// Returns the fixed weight of each Gaussian; without elements if weights depend on the
    /// i-vector.
    pub fn weights(&self) -> &Vector<f64> {
        &self.weights
    }

    /// Returns the factors (Gaussians x i-vector) of logarithms of weights that depend on the
    /// i-vector; without elements if weights are fixed.
    pub fn weight_projections(&self) -> &Matrix<f64> {
        &self.weight_projections
    }

    /// Returns the matrix of each Gaussian, features x i-vector.
    pub fn projections(&self) -> &[Matrix<f64>] {
        &self.projections
    }

    /// Returns the inverse covariance of each Gaussian.
    pub fn inv_covars(&self) -> &[SpMatrix<f64>] {
        &self.inv_covars
    }

    /// Returns `true` if the weights depend on the i-vector.
    #[doc(alias = "IvectorDependentWeights")]
    pub fn has_dependent_weights(&self) -> bool {
        !self.weight_projections.is_empty()
    }
}

/// Reads either form.
impl KaldiRead for IvectorExtractor {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut fields = FieldReader::new(r, binary);
        fields.expect("<IvectorExtractor>")?;
        fields.expect("<w>")?;
        let weight_projections = fields.object()?;
        fields.expect("<w_vec>")?;
        let weights = fields.object()?;
        fields.expect("<M>")?;
        let gaussians = fields.size("a number of Gaussians")?;
        // The number may be wrong, so nothing is reserved for it.
        let mut projections = Vec::new();
        for _ in 0..gaussians {
            projections.push(fields.object()?);
        }
        fields.expect("<SigmaInv>")?;
        let mut inv_covars = Vec::new();
        for _ in 0..gaussians {
            inv_covars.push(fields.object()?);
        }
        fields.expect("<IvectorOffset>")?;
        let prior_offset = fields.real("the offset of the prior")?;
        fields.expect("</IvectorExtractor>")?;
        let made = Self { weight_projections, weights, projections, inv_covars, prior_offset }.checked();
        made.map_err(|error| CodecError::unexpected(fields.offset(), "an i-vector extractor", error))
    }
}

impl KaldiWrite for IvectorExtractor {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let mut fields = FieldWriter::new(w, binary);
        fields.token("<IvectorExtractor>")?;
        fields.token("<w>")?;
        fields.object(&self.weight_projections)?;
        fields.token("<w_vec>")?;
        fields.object(&self.weights)?;
        fields.token("<M>")?;
        fields.size(self.num_gaussians())?;
        for projection in &self.projections {
            fields.object(projection)?;
        }
        fields.token("<SigmaInv>")?;
        for inv_covar in &self.inv_covars {
            fields.object(inv_covar)?;
        }
        fields.token("<IvectorOffset>")?;
        fields.double(self.prior_offset)?;
        fields.token("</IvectorExtractor>")
    }
}
