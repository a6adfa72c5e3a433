//! From features to the rows of i-vector extraction: online normalisation, splicing, transform.

use std::sync::Arc;

use kaldera_base::gemm::{Operand, gemm};
use kaldi_feat::{CmvnStats, OnlineCmvn, OnlineCmvnOptions, RowStream, RowWindow, Splice, WindowStream};
use kaldi_ivector::{IvectorModel, OnlineIvector, OnlineStats};
use kaldi_matrix::Matrix;

use crate::error::Error;

/// The parts of i-vector extraction that all streams of a model share.
///
/// ```text
/// features ─┬─> online CMVN ─> splice ─> transform ─> normalised ─.
///           '────────────────> splice ─> transform ─> raw ────────┴─> OnlineIvector
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "OnlineIvectorExtractionInfo")]
pub struct IvectorFrontEnd {
    model: Arc<IvectorModel>,
    cmvn: OnlineCmvn,
    splice: Splice,
    transform: LinearTransform,
}

impl IvectorFrontEnd {
    /// Creates the parts of a model, of global statistics and options of the normalisation, of a
    /// splicing, and of a matrix (model's columns x spliced features, perhaps with a column of
    /// offsets).
    ///
    /// # Errors
    /// [`Error::Feat`] for statistics that cannot be used and for a matrix of another shape.
    pub fn new(
        model: Arc<IvectorModel>,
        global: CmvnStats,
        cmvn: OnlineCmvnOptions,
        splice: Splice,
        transform: &Matrix<f32>,
    ) -> Result<Self, Error> {
        let cmvn = OnlineCmvn::new(cmvn, global)?;
        let transform = LinearTransform::new(transform, splice.output_dim(cmvn.input_dim()), model.ubm().dim())?;
        Ok(Self { model, cmvn, splice, transform })
    }

    /// Returns the number of columns of the features.
    #[doc(alias = "ExpectedFeatureDim")]
    pub fn feature_dim(&self) -> usize {
        self.cmvn.input_dim()
    }

    /// Returns the number of elements of an i-vector.
    pub fn ivector_dim(&self) -> usize {
        self.model.terms().ivector_dim()
    }

    /// Returns the Gaussians, terms and options.
    pub fn model(&self) -> &Arc<IvectorModel> {
        &self.model
    }

    /// Returns the rows of an utterance of a speaker who was not heard before: normalised features;
    /// transformed rows of these, and of the features as they are. `features` are frames x
    /// dimensions.
    ///
    /// # Errors
    /// [`Error::Feat`] for features of another dimension.
    pub fn rows(&self, features: &Matrix<f32>) -> Result<[Matrix<f32>; 3], Error> {
        let (mut cmvn, mut normalized) = (self.cmvn.clone(), Vec::new());
        for row in features.rows() {
            cmvn.accept(row, &mut normalized)?;
        }
        let normalized = Matrix::from_vec(features.num_rows(), features.num_cols(), normalized)?;
        let transformed = |features: &Matrix<f32>| -> Result<Matrix<f32>, Error> {
            let mut out = Vec::new();
            self.transform.apply(self.splice.compute(features.view())?.data(), &mut out);
            Ok(Matrix::from_vec(features.num_rows(), self.model.ubm().dim(), out)?)
        };
        let of_normalized = transformed(&normalized)?;
        Ok([normalized, of_normalized, transformed(features)?])
    }

    /// Returns all i-vectors of one utterance: one for each period of frames, or with `repeat` one
    /// for each frame; and the state for the speaker's next utterance. `features` are frames x
    /// dimensions, without normalisation. `weights` are of frames, 1 without them.
    ///
    /// # Errors
    /// [`Error::Feat`] for features of another dimension; the errors of [`OnlineIvector::ivector`].
    pub fn extract(
        self: &Arc<Self>,
        features: &Matrix<f32>,
        speaker: Option<IvectorSpeaker>,
        weights: Option<&[f32]>,
        repeat: bool,
    ) -> Result<(Matrix<f32>, IvectorStream), Error> {
        let mut stream = IvectorStream::new(Arc::clone(self), speaker)?;
        for row in features.rows() {
            stream.accept(row)?;
        }
        stream.finish()?;
        if let Some(weights) = weights {
            let weight = |frame| weights.get(frame).copied().unwrap_or(0.0);
            let all: Vec<_> = (0..features.num_rows()).map(|frame| (frame, weight(frame))).collect();
            stream.update_weights(&all)?;
        }
        let step = if repeat { 1 } else { self.model.options().ivector_period };
        let mut out = Matrix::zeros(features.num_rows().div_ceil(step), self.ivector_dim());
        for (i, row) in out.rows_mut().enumerate() {
            stream.ivector(i * step, row)?;
        }
        Ok((out, stream))
    }
}

/// The speaker of earlier utterances: sums for the normalisation, and statistics for the i-vector.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "OnlineIvectorExtractorAdaptationState")]
pub struct IvectorSpeaker {
    /// Sums of the features; of no frames for a speaker who was not heard.
    pub cmvn: CmvnStats,
    /// Statistics for the i-vector.
    pub stats: OnlineStats,
}

/// The i-vector of a stream of features.
///
/// A frame is ready as soon as the frames of its right context are there, or the stream has ended.
#[derive(Debug, Clone)]
#[doc(alias = "OnlineIvectorFeature")]
pub struct IvectorStream {
    front_end: Arc<IvectorFrontEnd>,
    cmvn: OnlineCmvn,
    splice_normalized: WindowStream<Splice>,
    splice_raw: WindowStream<Splice>,
    ivector: OnlineIvector,
    /// Sums of the speaker's frames, with earlier utterances: count, sums, squares.
    sums: Matrix<f64>,
    buffers: Buffers,
}

/// Rows between the steps.
#[derive(Debug, Clone, Default)]
struct Buffers {
    normalized: Vec<f32>,
    spliced: Vec<f32>,
    spliced_raw: Vec<f32>,
    rows: Vec<f32>,
    raw: Vec<f32>,
}

impl IvectorStream {
    /// Creates a stream of a new speaker, or of one who was heard before.
    ///
    /// # Errors
    /// [`Error::Feat`], [`Error::Ivector`] for a state of another model.
    pub fn new(front_end: Arc<IvectorFrontEnd>, speaker: Option<IvectorSpeaker>) -> Result<Self, Error> {
        let dim = front_end.feature_dim();
        let mut cmvn = front_end.cmvn.clone();
        let (sums, ivector) = match speaker {
            Some(IvectorSpeaker { cmvn: earlier, stats }) => {
                if earlier.count() > 0.0 {
                    cmvn.set_speaker(Some(earlier.clone()))?;
                }
                (earlier.into_matrix(), OnlineIvector::with_stats(Arc::clone(&front_end.model), stats)?)
            }
            None => (Matrix::zeros(2, dim + 1), OnlineIvector::new(Arc::clone(&front_end.model))),
        };
        let (splice_normalized, splice_raw) = (front_end.splice.stream(dim), front_end.splice.stream(dim));
        Ok(Self { front_end, cmvn, splice_normalized, splice_raw, ivector, sums, buffers: Buffers::default() })
    }

    /// Takes rows of features, one after the other, without normalisation.
    ///
    /// # Errors
    /// [`Error::Feat`] if they are not whole rows.
    pub fn accept(&mut self, features: &[f32]) -> Result<(), Error> {
        let dim = self.front_end.feature_dim();
        let Buffers { normalized, spliced, spliced_raw, .. } = &mut self.buffers;
        for row in features.chunks(dim) {
            normalized.clear();
            self.cmvn.accept(row, normalized)?;
            self.splice_normalized.accept(normalized, spliced)?;
            self.splice_raw.accept(row, spliced_raw)?;
            let (sums, squares) = self.sums.data_mut().split_at_mut(dim + 1);
            for ((sum, square), &x) in sums.iter_mut().zip(squares).zip(row) {
                let x = f64::from(x);
                *sum += x;
                *square += x * x;
            }
            sums[dim] += 1.0;
        }
        self.transform()
    }

    /// Marks the end of the features: the last frames are ready.
    ///
    /// # Errors
    /// [`Error::Ivector`] does not occur for rows of a model that fits.
    #[doc(alias = "InputFinished")]
    pub fn finish(&mut self) -> Result<(), Error> {
        self.splice_normalized.finish(&mut self.buffers.spliced);
        self.splice_raw.finish(&mut self.buffers.spliced_raw);
        self.transform()
    }

    /// Passes spliced rows on.
    fn transform(&mut self) -> Result<(), Error> {
        let Buffers { spliced, spliced_raw, rows, raw, .. } = &mut self.buffers;
        for (from, to) in [(spliced, &mut *rows), (spliced_raw, &mut *raw)] {
            self.front_end.transform.apply(from, to);
            from.clear();
        }
        self.ivector.accept(rows, raw)?;
        rows.clear();
        raw.clear();
        Ok(())
    }

    /// Returns the number of frames whose i-vector may be asked for.
    #[doc(alias = "NumFramesReady")]
    pub fn num_frames_ready(&self) -> usize {
        self.ivector.num_frames_ready()
    }

    /// Adds to the weights of frames; see [`OnlineIvector::update_weights`].
    ///
    /// # Errors
    /// As there.
    pub fn update_weights(&mut self, changes: &[(usize, f32)]) -> Result<(), Error> {
        Ok(self.ivector.update_weights(changes)?)
    }

    /// Sets `out` to the i-vector for a frame; see [`OnlineIvector::ivector`].
    ///
    /// # Errors
    /// As there.
    pub fn ivector(&mut self, frame: usize, out: &mut [f32]) -> Result<(), Error> {
        Ok(self.ivector.ivector(frame, out)?)
    }

    /// Returns the i-vector's stream.
    pub fn online_ivector(&self) -> &OnlineIvector {
        &self.ivector
    }

    /// Returns the state for the speaker's next utterance.
    ///
    /// # Errors
    /// As [`OnlineIvector::adaptation`].
    #[doc(alias = "GetAdaptationState")]
    pub fn speaker(&mut self) -> Result<IvectorSpeaker, Error> {
        let most = f64::from(self.front_end.model.options().max_remembered_frames);
        let mut sums = self.sums.clone();
        let count = sums[(0, self.front_end.feature_dim())];
        if count > most {
            sums.data_mut().iter_mut().for_each(|x| *x *= most / count);
        }
        Ok(IvectorSpeaker { cmvn: CmvnStats::from_matrix(sums)?, stats: self.ivector.adaptation()? })
    }
}

/// A matrix that is applied to rows, and an offset.
#[derive(Debug, Clone)]
pub(crate) struct LinearTransform {
    input: usize,
    /// A row for each column of the input.
    factors: Vec<f32>,
    offsets: Vec<f32>,
}

impl LinearTransform {
    /// Takes a matrix of `output` rows, with `input` columns or a column of offsets more.
    pub(crate) fn new(matrix: &Matrix<f32>, input: usize, output: usize) -> Result<Self, Error> {
        let (rows, cols) = (matrix.num_rows(), matrix.num_cols());
        let wrong = |what, expected, found| Err(kaldi_feat::Error::DimMismatch { what, expected, found }.into());
        if rows != output {
            return wrong("rows of the matrix for spliced features", output, rows);
        }
        if cols != input && cols != input + 1 {
            return wrong("columns of the matrix for spliced features, without offsets,", input, cols);
        }
        let offset = |row: &[f32]| row.get(input).copied().unwrap_or(0.0);
        let factors = (0..input).flat_map(|c| (0..rows).map(move |r| (r, c))).map(|place| matrix[place]).collect();
        Ok(Self { input, factors, offsets: matrix.rows().map(offset).collect() })
    }

    /// Appends the rows for rows of the input.
    pub(crate) fn apply(&self, rows: &[f32], out: &mut Vec<f32>) {
        let (count, output) = (rows.len() / self.input.max(1), self.offsets.len());
        let begin = out.len();
        for _ in 0..count {
            out.extend_from_slice(&self.offsets);
        }
        let rows = Operand { data: rows, row_step: self.input, col_step: 1 };
        let factors = Operand { data: &self.factors, row_step: output, col_step: 1 };
        gemm(count, output, self.input, 1.0, rows, factors, 1.0, &mut out[begin..], output);
    }
}
