//! Features of audio that arrives in chunks.

use std::fmt;
use std::sync::Arc;

use kaldera_base::random::Philox;
use kaldera_base::simd::MAX_LANES;

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::extractor::{Extractor, FrameJob, Kind};
use crate::resample::{LinearResample, ResampleStream};
use crate::rows::queue::RowQueue;
use crate::spectrum::frames::Signal;
use crate::spectrum::workspace::Workspace;
use crate::state::{StateReader, StateWriter};

/// Features of one utterance whose audio arrives in chunks of any size. The rows equal
/// the rows of [`Extractor::compute`] for the whole audio bit for bit.
///
/// ```text
///  accept ──> samples held ──> frames ready ──> rows held ──> frame, take_rows
///             from the first sample of the      until they are taken, discarded,
///             next frame on                     or more than `max_feature_vectors`
/// ```
///
/// A row is *ready* as soon as its frame's samples are there. It is computed together with its
/// neighbours, as many as a vector of the processor has lanes, or earlier when it is taken.
/// [`take_computed_rows`](Self::take_computed_rows) costs little more than a whole signal and gives
/// rows up to 15 frames late. Taking each row at once costs as much as 8 or 16 rows, a frame in
/// each lane (2.5 µs for fbank). Many streams can be
/// [computed together](Self::compute_together) instead.
///
/// ```
/// use std::sync::Arc;
/// use kaldi_feat::{Audio, FeatureStream, Mfcc, MfccOptions};
///
/// let mfcc = Arc::new(Mfcc::new(MfccOptions::default())?); // one plan for any number of streams
/// let samples: Vec<i16> = (0..8000).map(|i| ((i * i) % 2000) as i16 - 1000).collect();
/// let mut stream = FeatureStream::new(Arc::clone(&mfcc)).with_key("utterance");
/// let mut rows = Vec::new();
/// for chunk in samples.chunks(160) {
///     stream.accept(chunk)?;
///     stream.take_rows(&mut rows);
/// }
/// stream.finish();
/// stream.take_rows(&mut rows);
/// assert_eq!(rows, mfcc.compute(&Audio::new(&samples, 16000.0).with_key("utterance"))?.data());
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[doc(alias("OnlineGenericBaseFeature", "OnlineMfcc", "OnlineFbank", "OnlinePlp"))]
pub struct FeatureStream<K: Kind> {
    extractor: Arc<Extractor<K>>,
    warped: Arc<K::Warped>,
    /// As in [`Audio`](crate::Audio): rows depend only on these, the options and the samples.
    samp_freq: f32,
    key: String,
    vtln_warp: f32,
    dither: Philox,
    resampling: Option<ResampleStream>,
    /// Resampling as in Kaldi's streams, not as of its whole waveforms.
    as_stream: bool,
    /// The samples that later frames need, after resampling.
    samples: RowQueue,
    /// The rows that were computed and not discarded.
    rows: RowQueue,
    /// Number of rows that are ready since the start of the stream.
    ready: u64,
    finished: bool,
    workspace: Workspace,
    /// The output of the resampler.
    resampled: Vec<f32>,
}

impl<K: Kind> fmt::Debug for FeatureStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { samples, rows, finished, .. } = self;
        f.debug_struct("FeatureStream")
            .field("extractor", &self.extractor)
            .field("samp_freq", &self.samp_freq)
            .field("key", &self.key)
            .field("vtln_warp", &self.vtln_warp)
            .field("num_samples", &samples.end())
            .field("num_frames_computed", &rows.end())
            .field("finished", finished)
            .finish_non_exhaustive()
    }
}

impl<K: Kind> FeatureStream<K> {
    /// Creates a stream for audio that has the sample rate of the options, without a key and
    /// without warping. `extractor` is an [`Extractor`] or an `Arc` of one, which any number of
    /// streams share.
    pub fn new(extractor: impl Into<Arc<Extractor<K>>>) -> Self {
        let extractor = extractor.into();
        Self {
            samp_freq: extractor.frame_options().samp_freq,
            key: String::new(),
            vtln_warp: 1.0,
            warped: extractor.unwarped(),
            dither: extractor.dither(""),
            resampling: None,
            as_stream: false,
            samples: RowQueue::new(1),
            rows: RowQueue::new(extractor.dim()),
            ready: 0,
            finished: false,
            workspace: Workspace::default(),
            resampled: Vec::new(),
            extractor,
        }
    }

    /// Sets the sample rate to `samp_freq` Hz. The stream restarts.
    ///
    /// # Errors
    /// As [`Extractor::compute`], if that is not the sample rate of the options and resampling is
    /// not allowed.
    pub fn with_sample_rate(mut self, samp_freq: f32) -> Result<Self, Error> {
        self.resampling = self.extractor.resampler(samp_freq)?.map(ResampleStream::new);
        (self.samp_freq, self.as_stream) = (samp_freq, false);
        Ok(self.restarted())
    }

    /// Sets the sample rate to `samp_freq` Hz, with the resampler of Kaldi's streams
    /// ([`LinearResample::for_stream`]): rows then differ from the rows of [`Extractor::compute`]
    /// as they do in Kaldi. The stream restarts.
    ///
    /// # Errors
    /// As [`with_sample_rate`](Self::with_sample_rate).
    pub fn with_stream_sample_rate(mut self, samp_freq: f32) -> Result<Self, Error> {
        let expected = self.extractor.frame_options().samp_freq;
        // It says whether resampling is allowed, and needed.
        self.resampling = match self.extractor.resampler(samp_freq)? {
            Some(_) => Some(ResampleStream::new(LinearResample::for_stream(samp_freq, expected)?)),
            None => None,
        };
        (self.samp_freq, self.as_stream) = (samp_freq, true);
        Ok(self.restarted())
    }

    /// Sets the utterance `key`, which decides the dither. The stream restarts.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.dither = self.extractor.dither(key);
        key.clone_into(&mut self.key);
        self.restarted()
    }

    /// Sets the VTLN warp factor of the speaker; 1 = no warping. The stream restarts.
    ///
    /// # Errors
    /// As [`Extractor::compute`], for a warp factor that is not usable.
    pub fn with_vtln_warp(mut self, vtln_warp: f32) -> Result<Self, Error> {
        self.warped = self.extractor.warped(vtln_warp)?;
        self.vtln_warp = vtln_warp;
        Ok(self.restarted())
    }

    /// Returns the same stream before its first sample.
    fn restarted(mut self) -> Self {
        if let Some(stream) = &mut self.resampling {
            stream.restart();
        }
        (self.samples, self.rows) = (RowQueue::new(1), RowQueue::new(self.extractor.dim()));
        (self.ready, self.finished) = (0, false);
        self
    }

    /// Names everything that the rows depend on except the samples.
    fn identity(&self) -> String {
        let Self { extractor, samp_freq, key, vtln_warp, .. } = self;
        let resampling = if self.as_stream { " as stream" } else { "" };
        format!("{:?} {samp_freq} {key:?} {vtln_warp}{resampling}", extractor.options())
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.extractor.dim()
    }

    /// Takes the next samples, in any number.
    ///
    /// # Errors
    /// [`Error::BadSample`] if a sample is not finite, and [`Error::AfterEnd`] after
    /// [`finish`](Self::finish). No samples are taken then.
    #[doc(alias = "AcceptWaveform")]
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<(), Error> {
        if self.finished {
            return Err(Error::AfterEnd);
        }
        let samples = samples.into();
        samples.check_finite()?;
        match &mut self.resampling {
            None => hold(&mut self.samples, samples, &self.extractor),
            Some(stream) => {
                self.resampled.clear();
                stream.accept(samples, &mut self.resampled);
                hold(&mut self.samples, Samples::F32(&self.resampled), &self.extractor);
            }
        }
        self.ready = self.extractor.framing.num_frames_ready(self.samples.end());
        let lanes = MAX_LANES as u64;
        let pending = self.ready - self.rows.end();
        if pending >= lanes {
            self.compute(pending / lanes * lanes);
        }
        Ok(())
    }

    /// Marks the end of the samples: the last frames become ready, and are computed.
    #[doc(alias = "InputFinished")]
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if let Some(stream) = &mut self.resampling {
            self.resampled.clear();
            stream.finish(&mut self.resampled);
            hold(&mut self.samples, Samples::F32(&self.resampled), &self.extractor);
        }
        self.finished = true;
        self.ready = self.extractor.framing.num_frames(self.samples.end());
        self.compute_all_ready();
    }

    /// Returns the number of rows that are ready since the start of the stream, taken and discarded
    /// ones included.
    #[doc(alias = "NumFramesReady")]
    pub fn num_frames_ready(&self) -> usize {
        self.ready as usize
    }

    /// Returns `true` if the input is finished.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns `true` if the input is finished and row `i` is the last one.
    #[doc(alias = "IsLastFrame")]
    pub fn is_last_frame(&self, i: usize) -> bool {
        self.finished && self.ready == i as u64 + 1
    }

    /// Computes the next `frames` rows, which are ready.
    fn compute(&mut self, frames: u64) {
        let Self { extractor, warped, dither, samples, rows, workspace, .. } = self;
        let first_frame = rows.end();
        let signal = Signal { samples: Samples::F32(samples.values()), first: samples.first() };
        let out = rows.push_rows(frames as usize);
        extractor.frames_of_signal(workspace, warped, signal, dither, first_frame, out);
        self.discard_unneeded();
    }

    /// Same as [`compute`](Self::compute), but to `out` rather than to the rows held, of which
    /// there are none.
    fn compute_to(&mut self, out: &mut [f32], frames: u64) {
        let Self { extractor, warped, dither, samples, rows, workspace, .. } = self;
        let signal = Signal { samples: Samples::F32(samples.values()), first: samples.first() };
        extractor.frames_of_signal(workspace, warped, signal, dither, rows.end(), out);
        rows.skip(frames);
        self.discard_unneeded();
    }

    /// Computes all rows that are ready in any of the streams. Streams with the same extractor and
    /// warp factor share the lanes of vectors: a server of 16 streams or more has each row at once,
    /// for 1.3 to 1.7 times the cost of whole signals.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use kaldi_feat::{FeatureStream, Mfcc, MfccOptions};
    /// let mfcc = Arc::new(Mfcc::new(MfccOptions::default())?);
    /// let mut streams = ["a", "b"].map(|key| FeatureStream::new(Arc::clone(&mfcc)).with_key(key));
    /// for stream in &mut streams {
    ///     stream.accept(&[0_i16; 400])?;
    /// }
    /// FeatureStream::compute_together(streams.iter_mut());
    /// assert_eq!(streams[0].take_computed_rows(&mut Vec::new()), 1);
    /// # Ok::<(), kaldi_feat::Error>(())
    /// ```
    pub fn compute_together<'a>(streams: impl IntoIterator<Item = &'a mut Self>) {
        let mut waiting: Vec<&mut Self> =
            streams.into_iter().filter(|stream| stream.ready > stream.rows.end()).collect();
        while let Some(first) = waiting.first() {
            let (extractor, warped) = (Arc::clone(&first.extractor), Arc::clone(&first.warped));
            let (mut group, others): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|stream| Arc::ptr_eq(&stream.extractor, &extractor) && Arc::ptr_eq(&stream.warped, &warped));
            waiting = others;
            let mut workspace = std::mem::take(&mut group[0].workspace);
            let mut jobs: Vec<FrameJob<'_>> = group
                .iter_mut()
                .map(|stream| {
                    let first_frame = stream.rows.end();
                    let pending = stream.ready - first_frame;
                    let Self { samples, rows, dither, .. } = &mut **stream;
                    let signal = Signal { samples: Samples::F32(samples.values()), first: samples.first() };
                    FrameJob { signal, dither, first_frame, out: rows.push_rows(pending as usize) }
                })
                .collect();
            extractor.frames_of_signals(&mut workspace, &warped, &mut jobs);
            group[0].workspace = workspace;
            group.into_iter().for_each(Self::discard_unneeded);
        }
    }

    /// Discards the samples that only computed rows needed, and the rows beyond
    /// `max_feature_vectors`.
    fn discard_unneeded(&mut self) {
        let next = self.rows.end();
        self.samples.discard(self.extractor.framing.first_needed(next));
        self.rows.discard(next.saturating_sub(self.most_rows()));
    }

    /// Returns the largest number of rows that are held.
    fn most_rows(&self) -> u64 {
        let most = u64::try_from(self.extractor.frame_options().max_feature_vectors);
        most.ok().filter(|&most| most > 0).unwrap_or(u64::MAX)
    }

    fn compute_all_ready(&mut self) {
        let pending = self.ready - self.rows.end();
        if pending > 0 {
            self.compute(pending);
        }
    }

    /// Returns row `i` since the start of the stream; `None` if it is not ready, or was discarded.
    #[doc(alias = "GetFrame")]
    pub fn frame(&mut self, i: usize) -> Option<&[f32]> {
        let i = i as u64;
        if i >= self.rows.end() && i < self.ready {
            self.compute_all_ready();
        }
        self.rows.get(i)
    }

    /// Discards the rows before row `i`, as far as they have been computed.
    pub fn discard_frames(&mut self, before: usize) {
        self.rows.discard(before as u64);
    }

    /// Appends all rows that are ready and not discarded to `out`, discards them, and returns their
    /// number.
    pub fn take_rows(&mut self, out: &mut Vec<f32>) -> usize {
        let pending = self.ready - self.rows.end();
        if self.rows.is_empty() && pending <= self.most_rows() {
            let begin = out.len();
            out.resize(begin + pending as usize * self.dim(), 0.0);
            if pending > 0 {
                self.compute_to(&mut out[begin..], pending);
            }
            return pending as usize;
        }
        self.compute_all_ready();
        self.take_computed_rows(out)
    }

    /// Same as [`take_rows`](Self::take_rows), without the rows that are ready but wait to be
    /// computed together with others: up to 15 rows come later, and all cost as little as in a
    /// whole signal.
    pub fn take_computed_rows(&mut self, out: &mut Vec<f32>) -> usize {
        let values = self.rows.values();
        out.extend_from_slice(values);
        let rows = values.len() / self.dim();
        self.rows.discard(self.rows.end());
        rows
    }

    /// Returns the state for continuing from here, in this process or another.
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"features", &self.identity());
        state.u64(self.finished.into());
        if let Some(stream) = &self.resampling {
            stream.save(&mut state);
        }
        self.samples.save(&mut state);
        self.rows.save(&mut state);
        state.finish()
    }

    /// Continues from the point where `state` was saved, by a stream of the same options, sample
    /// rate, key and warp factor.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not such a state; the stream is then unchanged.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let identity = self.identity();
        let mut state = StateReader::new(state, *b"features", &identity)?;
        let finished = state.bool()?;
        let resampling = match &self.resampling {
            None => None,
            Some(stream) => Some(stream.restored(&mut state)?),
        };
        let samples = RowQueue::restore(1, &mut state)?;
        let rows = RowQueue::restore(self.dim(), &mut state)?;
        state.finish()?;
        let framing = &self.extractor.framing;
        let ready = if finished { framing.num_frames(samples.end()) } else { framing.num_frames_ready(samples.end()) };
        if rows.end() > ready || samples.first() > framing.first_needed(rows.end()) {
            return Err(Error::BadState { reason: "its numbers contradict each other" });
        }
        (self.finished, self.ready, self.resampling, self.samples, self.rows) =
            (finished, ready, resampling, samples, rows);
        Ok(())
    }
}

/// Keeps samples for the frames that need them.
fn hold<K: Kind>(held: &mut RowQueue, samples: Samples<'_>, extractor: &Extractor<K>) {
    let room = extractor.framing.room_behind(held.end());
    let len = usize::try_from(room).map_or(samples.len(), |room| samples.len().min(room));
    samples.copy_first(held.push_rows(len));
}
