//! I-vectors of features that arrive in chunks.

use std::collections::BTreeMap;
use std::sync::Arc;

use kaldi_matrix::Vector;

use crate::diag_gmm::DiagGmm;
use crate::error::{Error, check_size};
use crate::options::IvectorOptions;
use crate::posteriors::{select_posteriors, weighted_threshold};
use crate::rows::HeldRows;
use crate::stats::OnlineStats;
use crate::terms::IvectorTerms;

/// Frames whose likelihoods are computed at once.
const BLOCK: usize = 256;

/// Frames that a stream with weights holds after they have counted, as their weights may change:
/// [`SilenceWeighting`](crate::SilenceWeighting) goes back by 100 frames of the decoder, of which
/// each has up to four frames of features in the models that are known.
const HELD: usize = 1024;

/// The parts that all streams of a model share: Gaussians that choose, terms of the extractor, and
/// options.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "OnlineIvectorExtractionInfo")]
pub struct IvectorModel {
    ubm: DiagGmm,
    terms: IvectorTerms,
    options: IvectorOptions,
}

impl IvectorModel {
    /// Creates the shared parts of a universal background model and the terms of an extractor.
    ///
    /// # Errors
    /// [`Error::Size`] if the two have other numbers of Gaussians or other features;
    /// [`Error::Option`] for a value out of range, and for weights that depend on the i-vector,
    /// which streams do not support.
    pub fn new(ubm: DiagGmm, terms: IvectorTerms, options: IvectorOptions) -> Result<Self, Error> {
        options.check()?;
        check_size("Gaussians of the background model", terms.num_gaussians(), ubm.num_gaussians())?;
        check_size("columns of the background model", terms.feature_dim(), ubm.dim())?;
        if terms.has_dependent_weights() {
            let expected = "weights that do not depend on the i-vector";
            return Err(Error::Option { option: "extractor", value: "one with <w>".into(), expected });
        }
        Ok(Self { ubm, terms, options })
    }

    /// Returns the Gaussians that choose.
    pub fn ubm(&self) -> &DiagGmm {
        &self.ubm
    }

    /// Returns the terms of the extractor.
    pub fn terms(&self) -> &IvectorTerms {
        &self.terms
    }

    /// Returns the options.
    pub fn options(&self) -> &IvectorOptions {
        &self.options
    }
}

/// The i-vector of one stream: features come in, in both forms, and i-vectors are asked for.
///
/// ```text
/// rows, normalised ──> log-likelihoods ──> best Gaussians, posteriors ─.
/// rows, not normalised ────────────────────────────────────────────────┴─> statistics ──> i-vector
///                       weights of frames, and changes of them ────────'
/// ```
///
/// Frames count when an i-vector is asked for ([`ivector`](Self::ivector)): up to its frame, or all
/// that are there with `greedy_ivector_extractor`. With weights
/// ([`update_weights`](Self::update_weights)), a frame counts by the sum of its weights, and later
/// changes count as soon as the next i-vector needs new frames.
///
/// Results depend on the calls of `ivector` and `update_weights`, and not on the chunks of rows
/// between them, except with `greedy_ivector_extractor`. Without weights and without
/// `use_most_recent_ivector`, they do not depend on earlier calls either: bit for bit.
///
/// ```
/// use std::sync::Arc;
/// use kaldi_ivector::{DiagGmm, IvectorExtractor, IvectorTerms};
/// use kaldi_ivector::{IvectorModel, IvectorOptions, OnlineIvector};
/// use kaldi_matrix::{Matrix, SpMatrix, Vector};
///
/// let one = Matrix::from_vec(1, 1, vec![1.0])?;
/// let ubm = DiagGmm::new(Vector::from(vec![1.0]), Matrix::zeros(1, 1), one)?;
/// let (weights, projection) = (Vector::from(vec![1.0]), Matrix::from_vec(1, 1, vec![1.0])?);
/// let unit = SpMatrix::unit(1);
/// let extractor = IvectorExtractor::new(weights, vec![projection], vec![unit], 5.0)?;
/// let options = IvectorOptions::default().with_posterior_scale(1.0);
/// let model = IvectorModel::new(ubm, IvectorTerms::new(&extractor)?, options)?;
///
/// let mut stream = OnlineIvector::new(Arc::new(model));
/// stream.accept(&[0.0, 0.0], &[8.0, 8.0])?; // two frames, 3 above the mean
/// let mut ivector = [0.0];
/// stream.ivector(1, &mut ivector)?;
/// assert!((ivector[0] - 2.0).abs() < 1e-6); // two of three parts, as the prior counts as a frame
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "OnlineIvectorFeature")]
pub struct OnlineIvector {
    model: Arc<IvectorModel>,
    stats: OnlineStats,
    /// Rows of both forms, one after the other for each frame.
    rows: HeldRows,
    /// Frames that were reached: they have counted, or their weight is in `waiting`.
    reached: usize,
    /// Weights that have not counted.
    waiting: BTreeMap<usize, f32>,
    /// `true` once weights were given.
    weighted: bool,
    last_with_weight: Option<usize>,
    current: Vector<f64>,
    /// The i-vector at the start of each period.
    history: Vec<Vec<f32>>,
    /// The last frame that an i-vector was asked for, or was looked at for it.
    asked: Option<usize>,
    log_likelihood: f64,
}

impl OnlineIvector {
    /// Creates a stream of a speaker who was not heard before.
    pub fn new(model: Arc<IvectorModel>) -> Self {
        let stats = OnlineStats::new(&model.terms, model.options.max_count.into());
        Self::continuing(model, stats)
    }

    /// Creates a stream that starts with the statistics of the speaker's earlier utterances.
    ///
    /// # Errors
    /// [`Error::Size`] for statistics of another extractor.
    #[doc(alias = "SetAdaptationState")]
    pub fn with_stats(model: Arc<IvectorModel>, stats: OnlineStats) -> Result<Self, Error> {
        check_size("elements of an i-vector", model.terms.ivector_dim(), stats.ivector_dim())?;
        Ok(Self::continuing(model, stats))
    }

    fn continuing(model: Arc<IvectorModel>, stats: OnlineStats) -> Self {
        let mut current = Vector::zeros(model.terms.ivector_dim());
        current[0] = model.terms.prior_offset();
        Self {
            rows: HeldRows::new(2 * model.ubm.dim()),
            model,
            stats,
            reached: 0,
            waiting: BTreeMap::new(),
            weighted: false,
            last_with_weight: None,
            current,
            history: Vec::new(),
            asked: None,
            log_likelihood: 0.0,
        }
    }

    /// Returns the shared parts.
    pub fn model(&self) -> &Arc<IvectorModel> {
        &self.model
    }

    /// Returns the number of elements of an i-vector.
    pub fn dim(&self) -> usize {
        self.current.dim()
    }

    /// Returns the number of frames that have arrived.
    pub fn num_frames_ready(&self) -> usize {
        self.rows.end()
    }

    /// Takes rows of features, one after the other: spliced and transformed, `normalized` by online
    /// CMVN before that, and `raw`, without it.
    ///
    /// # Errors
    /// [`Error::Size`] if the two differ in length, or are not whole rows.
    pub fn accept(&mut self, normalized: &[f32], raw: &[f32]) -> Result<(), Error> {
        let dim = self.model.ubm.dim();
        check_size("elements of rows without normalisation, for the normalised ones", normalized.len(), raw.len())?;
        check_size("elements after the last whole row of features", 0, normalized.len() % dim)?;
        for (normalized, raw) in normalized.chunks_exact(dim).zip(raw.chunks_exact(dim)) {
            self.rows.push([normalized, raw]);
        }
        Ok(())
    }

    /// Adds to the weights of frames: pairs of a frame and a change of its weight, which is 0 at
    /// first. The frames need not have arrived.
    ///
    /// Without any call, each frame has the weight 1.
    ///
    /// # Errors
    /// [`Error::WeightsTooLate`] if frames have counted without weights; [`Error::Forgotten`] for a
    /// frame long past: the last 1,024 frames that have counted are held; [`Error::BadWeight`] for
    /// infinities and NaN. Nothing has changed then.
    #[doc(alias = "UpdateFrameWeights")]
    pub fn update_weights(&mut self, changes: &[(usize, f32)]) -> Result<(), Error> {
        if !self.weighted && self.reached > 0 {
            return Err(Error::WeightsTooLate);
        }
        let first = self.rows.first();
        for &(frame, weight) in changes {
            if frame < first {
                return Err(Error::Forgotten { frame, first });
            }
            if !weight.is_finite() {
                return Err(Error::BadWeight { frame, weight });
            }
        }
        for &(frame, weight) in changes {
            *self.waiting.entry(frame).or_insert(0.0) += weight;
            self.last_with_weight = self.last_with_weight.max(Some(frame));
        }
        self.weighted = true;
        Ok(())
    }

    /// Sets `out` to the i-vector for a frame, without the offset of the prior in its first
    /// element.
    ///
    /// # Errors
    /// [`Error::Size`] for an `out` of another length; [`Error::NotReady`] for a frame that has not
    /// arrived; [`Error::NoWeight`] for a frame after the last weight, in a stream with weights;
    /// [`Error::NoMaximum`] for features out of range; [`Error::Matrix`] as
    /// [`OnlineStats::ivector`].
    #[doc(alias = "GetFrame")]
    pub fn ivector(&mut self, frame: usize, out: &mut [f32]) -> Result<(), Error> {
        check_size("elements of an i-vector", self.dim(), out.len())?;
        let ready = self.num_frames_ready();
        if frame >= ready {
            return Err(Error::NotReady { frame, ready });
        }
        let newest = self.model.options.gives_newest();
        let last = if self.model.options.greedy_ivector_extractor { ready - 1 } else { frame };
        if self.weighted && self.last_with_weight < Some(last) {
            return Err(Error::NoWeight { frame: last });
        }
        self.asked = self.asked.max(Some(last));
        if newest {
            if self.reached <= last {
                self.count_until(last)?;
                self.stats.ivector(self.model.options.num_cg_iters, &mut self.current)?;
            }
            self.write(&self.current, out);
        } else {
            self.fill_history(last)?;
            out.copy_from_slice(&self.history[frame / self.model.options.ivector_period]);
        }
        Ok(())
    }

    fn write(&self, ivector: &Vector<f64>, out: &mut [f32]) {
        out.iter_mut().zip(ivector.iter()).for_each(|(out, &x)| *out = x as f32);
        // In single precision, as Kaldi does.
        out[0] -= self.model.terms.prior_offset() as f32;
    }

    /// Computes the i-vectors at the starts of periods up to a frame.
    fn fill_history(&mut self, last: usize) -> Result<(), Error> {
        let period = self.model.options.ivector_period;
        while self.history.len() * period <= last {
            self.count_until(self.history.len() * period)?;
            self.stats.ivector(self.model.options.num_cg_iters, &mut self.current)?;
            let mut ivector = vec![0.0; self.dim()];
            self.write(&self.current, &mut ivector);
            self.history.push(ivector);
        }
        if self.weighted && self.reached <= last {
            // Frames after the start of a period count in this call, as the thresholds of their
            // Gaussians depend on the weights so far.
            self.count_until(last)?;
        }
        Ok(())
    }

    /// Counts the frames up to one that has arrived, and changes of weights before it.
    fn count_until(&mut self, last: usize) -> Result<(), Error> {
        let mut counted: Vec<(usize, f32)> = if self.weighted {
            self.waiting.range(..=last).map(|(&frame, &weight)| (frame, weight)).collect()
        } else {
            (self.reached..=last).map(|frame| (frame, 1.0)).collect()
        };
        counted.retain(|&(_, weight)| weight != 0.0);
        let mut weights = Vec::new();
        let before = self.log_likelihood;
        for block in counted.chunks(BLOCK) {
            if let Err(error) = self.choose(block, &mut weights) {
                // Nothing was counted: the next call meets the same frames.
                self.log_likelihood = before;
                return Err(error);
            }
        }
        let IvectorModel { ubm, terms, options } = &*self.model;
        let (dim, rows) = (ubm.dim(), &self.rows);
        let row = |frame| match options.online_cmvn_iextractor {
            true => &rows.get(frame)[..dim],
            false => &rows.get(frame)[dim..],
        };
        self.stats.add(terms, &mut weights, row);
        self.waiting = self.waiting.split_off(&(last + 1));
        self.reached = self.reached.max(last + 1);
        self.rows.discard(if self.weighted { self.reached.saturating_sub(HELD) } else { self.reached });
        Ok(())
    }

    /// Appends the Gaussians of frames with their weights.
    fn choose(&mut self, frames: &[(usize, f32)], weights: &mut Vec<(i32, usize, f32)>) -> Result<(), Error> {
        let IvectorModel { ubm, options, .. } = &*self.model;
        let mut rows = Vec::with_capacity(frames.len() * ubm.dim());
        for &(frame, _) in frames {
            rows.extend_from_slice(&self.rows.get(frame)[..ubm.dim()]);
        }
        let mut log_likes = Vec::new();
        ubm.append_log_likelihoods(&rows, &mut log_likes);
        let mut posteriors = Vec::new();
        for (&(frame, weight), log_likes) in frames.iter().zip(log_likes.chunks_exact(ubm.num_gaussians())) {
            let least = weighted_threshold(options.min_post, weight);
            let log_like = select_posteriors(log_likes, options.num_gselect, least, &mut posteriors)?;
            self.log_likelihood += f64::from(weight * log_like);
            let scale = options.posterior_scale * weight;
            weights.extend(posteriors.iter().map(|&(gaussian, posterior)| (gaussian, frame, posterior * scale)));
        }
        Ok(())
    }

    /// Returns the statistics for the next utterance of the speaker, of
    /// [`max_remembered_frames`](IvectorOptions::max_remembered_frames) at most.
    ///
    /// # Errors
    /// [`Error::NoMaximum`] for features out of range.
    #[doc(alias = "GetAdaptationState")]
    pub fn adaptation(&mut self) -> Result<OnlineStats, Error> {
        // The last frames that were asked for may not have counted.
        if let Some(last) = self.asked.filter(|&last| !self.weighted && self.reached <= last) {
            self.count_until(last)?;
        }
        let mut stats = self.stats.clone();
        let options = &self.model.options;
        let most = f64::from(options.max_remembered_frames) * f64::from(options.posterior_scale);
        if stats.num_frames() > most {
            stats.scale(most / stats.num_frames())?;
        }
        Ok(stats)
    }

    /// Returns the number of frames that have counted, times their weights.
    #[doc(alias = "NumFrames")]
    pub fn num_frames_counted(&self) -> f64 {
        self.stats.num_frames() / f64::from(self.model.options.posterior_scale)
    }

    /// Returns the log-likelihood per frame of the chosen Gaussians of the background model; 0
    /// without frames.
    #[doc(alias = "UbmLogLikePerFrame")]
    pub fn log_likelihood_per_frame(&self) -> f64 {
        let frames = self.num_frames_counted();
        if frames == 0.0 { 0.0 } else { self.log_likelihood / frames }
    }

    /// Returns the difference of the log-likelihood per frame from the mean of the prior to the
    /// last i-vector.
    ///
    /// # Errors
    /// [`Error::Matrix`] does not occur for terms that fit the model.
    #[doc(alias = "ObjfImprPerFrame")]
    pub fn improvement_per_frame(&self) -> Result<f64, Error> {
        self.stats.improvement(&self.current)
    }
}
