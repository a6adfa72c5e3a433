//! Statistics of a stream, from which its i-vector is computed again and again.

use std::io::{self, BufRead, Write};

use kaldi_matrix::codec::{CodecError, FieldReader, FieldWriter, KaldiRead, KaldiWrite};
use kaldi_matrix::optimization::{LinearCgdOptions, linear_cgd};
use kaldi_matrix::{MatrixBase, SpMatrix, Storage, Vector};

use crate::error::{Error, check_size};
use crate::posteriors::FramePosteriors;
use crate::terms::{IvectorTerms, objective};
use crate::utterance::out_of_range;

/// Statistics of a stream: the linear and the quadratic term of the log-likelihood as a function of
/// the i-vector.
///
/// Weights may be negative, so frames can be taken out again.
///
/// With a `max_count` the prior becomes stronger once the frames (times posterior scale) are more,
/// as if the statistics were scaled down to this count: i-vectors of long utterances look like
/// i-vectors of shorter ones.
///
/// ```
/// use kaldi_ivector::{IvectorExtractor, IvectorTerms, OnlineStats};
/// use kaldi_matrix::{Matrix, SpMatrix, Vector};
///
/// // One Gaussian of variance 1 in one dimension, with the mean v(0) + v(1), and v(0) near 10.
/// let projections = vec![Matrix::from_vec(1, 2, vec![1.0, 1.0])?];
/// let weights = Vector::from(vec![1.0]);
/// let extractor = IvectorExtractor::new(weights, projections, vec![SpMatrix::unit(1)], 10.0)?;
/// let terms = IvectorTerms::new(&extractor)?;
/// let mut stats = OnlineStats::new(&terms, 0.0);
/// stats.accumulate(&terms, &Matrix::from_vec(1, 1, vec![13.0])?, &[vec![(0, 1.0)]])?;
/// let mut ivector = Vector::zeros(2);
/// stats.ivector(15, &mut ivector)?;
/// // 13 is 3 above the mean, and each of the two elements and the noise take a third of that.
/// assert!((ivector[0] - 11.0).abs() < 1e-9 && (ivector[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "OnlineIvectorEstimationStats")]
pub struct OnlineStats {
    prior_offset: f64,
    max_count: f64,
    num_frames: f64,
    quadratic: SpMatrix<f64>,
    linear: Vector<f64>,
}

impl OnlineStats {
    /// Creates statistics of no frames: the prior. A `max_count` of 0 is none.
    pub fn new(terms: &IvectorTerms, max_count: f64) -> Self {
        let dim = terms.ivector_dim();
        let mut linear = Vector::zeros(dim);
        linear[0] = terms.prior_offset();
        Self { prior_offset: terms.prior_offset(), max_count, num_frames: 0.0, quadratic: SpMatrix::unit(dim), linear }
    }

    /// Returns the number of frames: the sum of all weights.
    #[doc(alias = "Count")]
    pub fn num_frames(&self) -> f64 {
        self.num_frames
    }

    /// Returns the number of elements of an i-vector.
    pub fn ivector_dim(&self) -> usize {
        self.linear.dim()
    }

    /// Adds features (frames x dimensions), with the weights of some Gaussians for each frame:
    /// posteriors times weight of the frame times posterior scale.
    ///
    /// # Errors
    /// [`Error::Size`] for features of another dimension, for another number of frames, and for
    /// statistics of another extractor; [`Error::NoGaussian`] for a posterior of a Gaussian that
    /// does not exist. The statistics are then unchanged.
    #[doc(alias = "AccStats")]
    pub fn accumulate(
        &mut self,
        terms: &IvectorTerms,
        features: &MatrixBase<impl Storage<Elem = f32>>,
        posteriors: &[FramePosteriors],
    ) -> Result<(), Error> {
        check_size("elements of an i-vector", self.ivector_dim(), terms.ivector_dim())?;
        check_size("frames of posteriors", features.num_rows(), posteriors.len())?;
        if !features.is_empty() {
            check_size("columns of features for an extractor", terms.feature_dim(), features.num_cols())?;
        }
        let mut weights = Vec::new();
        for (frame, pairs) in posteriors.iter().enumerate() {
            weights.extend(pairs.iter().map(|&(gaussian, weight)| (gaussian, frame, weight)));
        }
        let gaussians = terms.num_gaussians();
        let named = weights.iter().map(|&(gaussian, frame, _)| (frame, gaussian));
        if let Some((frame, gaussian)) = out_of_range(named, gaussians) {
            return Err(Error::NoGaussian { frame, gaussian, gaussians });
        }
        self.add(terms, &mut weights, |frame| features.row_data(frame));
        Ok(())
    }

    /// Adds frames with weights of (Gaussian, frame): one product for each Gaussian, in their
    /// order.
    pub(crate) fn add<'a>(
        &mut self,
        terms: &IvectorTerms,
        weights: &mut [(i32, usize, f32)],
        row: impl Fn(usize) -> &'a [f32],
    ) {
        weights.sort_unstable_by_key(|&(gaussian, frame, _)| (gaussian, frame));
        let mut sum = vec![0.0; terms.feature_dim()];
        let mut total = 0.0;
        for group in weights.chunk_by(|a, b| a.0 == b.0) {
            sum.fill(0.0);
            let mut count = 0.0;
            for &(_, frame, weight) in group {
                let weight = f64::from(weight);
                count += weight;
                sum.iter_mut().zip(row(frame)).for_each(|(sum, &x)| *sum += weight * f64::from(x));
            }
            let gaussian = usize::try_from(group[0].0).unwrap_or_default();
            terms.add(gaussian, count, &sum, self.linear.data_mut(), self.quadratic.data_mut());
            total += count;
        }
        let before = self.prior_scale();
        self.num_frames += total;
        self.strengthen_prior(self.prior_scale() - before);
    }

    /// Returns the factor of the prior in the terms.
    fn prior_scale(&self) -> f64 {
        if self.max_count > 0.0 { self.num_frames.max(self.max_count) / self.max_count } else { 1.0 }
    }

    fn strengthen_prior(&mut self, by: f64) {
        if by != 0.0 {
            self.linear[0] += self.prior_offset * by;
            self.quadratic.add_to_diag(by);
        }
    }

    /// Scales the frames down by `factor`, from 0 to 1. The prior keeps the strength for the new
    /// number of frames.
    ///
    /// # Errors
    /// [`Error::Option`] for another factor.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, factor: f64) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&factor) {
            let expected = "a number from 0 to 1";
            return Err(Error::Option { option: "factor", value: factor.to_string(), expected });
        }
        let before = factor * self.prior_scale();
        self.num_frames *= factor;
        self.quadratic.scale(factor);
        self.linear.scale(factor);
        self.strengthen_prior(self.prior_scale() - before);
        Ok(())
    }

    /// Sets `ivector` to the i-vector, with the offset of the prior in its first element. Its old
    /// value is the start of `num_cg_iters` steps of conjugate gradients; an old value of zeros
    /// starts from the prior.
    ///
    /// Many steps reach the solution. 15, Kaldi's number, may not for noisy speech; then the result
    /// depends on the last bits of the statistics (1e-2 was seen), there as here.
    ///
    /// # Errors
    /// [`Error::Size`] for a vector of another length, [`Error::Matrix`] if negative weights have
    /// left terms without a solution; it is then unchanged.
    #[doc(alias = "GetIvector")]
    pub fn ivector(&self, num_cg_iters: usize, ivector: &mut Vector<f64>) -> Result<(), Error> {
        check_size("elements of an i-vector", self.ivector_dim(), ivector.dim())?;
        if self.num_frames > 0.0 {
            if ivector[0] == 0.0 {
                ivector[0] = self.prior_offset;
            }
            let options = LinearCgdOptions::default().with_max_iters(Some(num_cg_iters));
            linear_cgd(&options, &self.quadratic, &self.linear, ivector)?;
        } else {
            *ivector = Vector::zeros(ivector.dim());
            ivector[0] = self.prior_offset;
        }
        Ok(())
    }

    /// Returns the difference of the log-likelihood per frame from the mean of the prior to
    /// `ivector`; 0 without frames.
    ///
    /// # Errors
    /// [`Error::Size`] for a vector of another length.
    #[doc(alias = "ObjfChange")]
    pub fn improvement(&self, ivector: &Vector<f64>) -> Result<f64, Error> {
        check_size("elements of an i-vector", self.ivector_dim(), ivector.dim())?;
        if self.num_frames == 0.0 {
            return Ok(0.0);
        }
        let mut prior = Vector::zeros(self.ivector_dim());
        prior[0] = self.prior_offset;
        let at = |v: &Vector<f64>| objective(&self.linear, &self.quadratic, v);
        Ok((at(ivector)? - at(&prior)?) / self.num_frames)
    }
}

/// Reads either form, also the older one without `<MaxCount>`.
impl KaldiRead for OnlineStats {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut fields = FieldReader::new(r, binary);
        fields.expect("<OnlineIvectorEstimationStats>")?;
        fields.expect("<PriorOffset>")?;
        let prior_offset = fields.real("the offset of the prior")?;
        let mut max_count = 0.0;
        if fields.one_of(&["<NumFrames>", "<MaxCount>"], "<MaxCount> or <NumFrames>")? == 1 {
            max_count = fields.real("the largest count")?;
            fields.expect("<NumFrames>")?;
        }
        let num_frames = fields.real("a number of frames")?;
        fields.expect("<QuadraticTerm>")?;
        let quadratic: SpMatrix<f64> = fields.object()?;
        fields.expect("<LinearTerm>")?;
        let linear: Vector<f64> = fields.object()?;
        fields.expect("</OnlineIvectorEstimationStats>")?;
        if linear.dim() == 0 || linear.dim() != quadratic.dim() {
            let found = format!("{} and {}", linear.dim(), quadratic.dim());
            return Err(CodecError::unexpected(fields.offset(), "terms of one dimension, 1 or more", found));
        }
        if let Some(found) = [prior_offset, max_count, num_frames].into_iter().find(|x: &f64| !x.is_finite()) {
            return Err(CodecError::unexpected(fields.offset(), "finite counts and a finite offset", found));
        }
        Ok(Self { prior_offset, max_count, num_frames, quadratic, linear })
    }
}

impl KaldiWrite for OnlineStats {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let mut fields = FieldWriter::new(w, binary);
        fields.token("<OnlineIvectorEstimationStats>")?;
        fields.token("<PriorOffset>")?;
        fields.double(self.prior_offset)?;
        fields.token("<MaxCount>")?;
        fields.double(self.max_count)?;
        fields.token("<NumFrames>")?;
        fields.double(self.num_frames)?;
        fields.token("<QuadraticTerm>")?;
        fields.object(&self.quadratic)?;
        fields.token("<LinearTerm>")?;
        fields.object(&self.linear)?;
        fields.token("</OnlineIvectorEstimationStats>")
    }
}
