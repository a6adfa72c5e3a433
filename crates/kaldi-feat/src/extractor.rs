//! The driver that all feature kinds share: waveform in, rows of features out.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, RwLock};

use kaldera_base::random::Philox;
use kaldera_base::simd::{Kernel, MAX_LANES, Simd};
use kaldi_matrix::Matrix;

use crate::audio::Audio;
use crate::audio::MAX_SAMPLE_RATE;
use crate::audio::samples::Samples;
use crate::error::Error;
use crate::resample::LinearResample;
use crate::resample::limit::check_resampled;
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, BandsOf, ComputeBands, Filters, StoreRows};
use crate::spectrum::frames::{EnergySource, Framing, Signal};
use crate::spectrum::power_spectrum::{PowerSpectrum, SpectrumOf};
use crate::spectrum::window::FrameExtractionOptions;
use crate::spectrum::workspace::Workspace;

/// A kind of features: the method that turns spectra into a row of values. The kinds are
/// [`FbankKind`](crate::FbankKind), [`MfccKind`](crate::MfccKind), [`PlpKind`](crate::PlpKind),
/// [`SpectrogramKind`](crate::SpectrogramKind) and [`LogMelKind`](crate::LogMelKind).
pub trait Kind: Sealed + Debug + Send + Sync + 'static {
    /// Its options.
    type Options: Clone + Debug + Send + Sync;
    /// Data that depends on the VTLN warp factor.
    #[doc(hidden)]
    type Warped: Debug + Send + Sync;

    #[doc(hidden)]
    fn framing(options: &Self::Options) -> Result<Framing, Error>;
    #[doc(hidden)]
    fn new(options: &Self::Options, unwarped: &Self::Warped) -> Result<Self, Error>
    where
        Self: Sized;
    #[doc(hidden)]
    fn warped(options: &Self::Options, vtln_warp: f32) -> Result<Self::Warped, Error>;
    #[doc(hidden)]
    fn dim(&self) -> usize;
    /// Returns the filters that the power spectrum passes before the kind gets it.
    #[doc(hidden)]
    fn filters<'a>(&self, warped: &'a Self::Warped) -> Option<Filters<'a>>;
    #[doc(hidden)]
    fn scratch_rows(&self) -> usize;
    #[doc(hidden)]
    fn energy_source(&self) -> EnergySource;
    #[doc(hidden)]
    fn spectrum_of(&self) -> SpectrumOf {
        SpectrumOf::Power
    }
    /// Writes row d = feature d of all lanes to `features[d]`.
    #[doc(hidden)]
    fn features<S: Simd>(&self, s: S, warped: &Self::Warped, frames: Bands<'_, S::F32>, features: &mut [S::F32]);
    /// Calls `dispatch`. It is a method of each kind so that its kernels are compiled in this crate
    /// once, rather than in every crate that has an extractor.
    #[doc(hidden)]
    fn run(kernel: ExtractKernel<'_, '_, Self>)
    where
        Self: Sized;
    /// Returns `true` if [`finish`](Self::finish) does something.
    #[doc(hidden)]
    fn needs_utterance(&self) -> bool {
        false
    }
    /// Applies the step that needs all rows of a waveform.
    #[doc(hidden)]
    fn finish(&self, _rows: &mut [f32]) {}
}

/// Extracts one kind of features. It is planned once and used for any number of waveforms, from any
/// number of threads.
///
/// ```
/// use kaldi_feat::{Audio, Fbank, FbankOptions};
///
/// let fbank = Fbank::new(FbankOptions::default().with_num_mel_bins(80))?;
///
/// let second: Vec<i16> = (0..16000).map(|i| (1000.0 * (i as f32 * 0.2).sin()) as i16).collect();
/// let features = fbank.compute(&Audio::new(&second, 16000.0))?;
/// assert_eq!((features.num_rows(), features.num_cols()), (98, 80));
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "OfflineFeatureTpl")]
pub struct Extractor<K: Kind> {
    options: K::Options,
    kind: K,
    pub(crate) framing: Framing,
    spectrum: PowerSpectrum,
    unwarped: Arc<K::Warped>,
    /// Data for warp factors other than 1, by the factor's bits.
    warped: RwLock<HashMap<u32, Arc<K::Warped>>>,
    resamplers: RwLock<HashMap<u32, Arc<LinearResample>>>,
}

/// The largest number of entries in a cache. Warp factors and sample rates are few; if there are
/// more, old plans are dropped.
const MAX_CACHED: usize = 256;

/// Number of frames whose samples are gathered at once: a quarter of a megabyte at 16 kHz, which
/// stays in the second-level cache.
const CHUNK: usize = 16 * MAX_LANES;

impl<K: Kind> Extractor<K> {
    /// Plans an extraction.
    ///
    /// # Errors
    /// Names the first field of the options that has a bad value.
    pub fn new(options: K::Options) -> Result<Self, Error> {
        let framing = K::framing(&options)?;
        let unwarped = K::warped(&options, 1.0)?;
        Ok(Self {
            kind: K::new(&options, &unwarped)?,
            spectrum: PowerSpectrum::new(framing.padded, false),
            unwarped: Arc::new(unwarped),
            warped: RwLock::default(),
            resamplers: RwLock::default(),
            framing,
            options,
        })
    }

    /// Rounds the spectrum as Kaldi does, if the frame's padded size is a power of 2: cepstra of
    /// quiet bands are then within 1e-4 of Kaldi's, and not within 3e-3. A frame takes three times
    /// as long, 0.95 µs in place of 0.3.
    ///
    /// ```
    /// use kaldi_feat::{Audio, Mfcc, MfccOptions};
    ///
    /// let second: Vec<i16> = (0..16000).map(|i| (i * i % 2000) as i16 - 1000).collect();
    /// let audio = Audio::new(&second, 16000.0);
    /// let mfcc = Mfcc::new(MfccOptions::default())?;
    /// let rounded = Mfcc::new(MfccOptions::default())?.rounded_as_kaldi();
    /// let (a, b) = (mfcc.compute(&audio)?, rounded.compute(&audio)?);
    /// assert!(a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 0.1));
    /// # Ok::<(), kaldi_feat::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "SplitRadixRealFft")]
    pub fn rounded_as_kaldi(mut self) -> Self {
        self.spectrum = PowerSpectrum::new(self.framing.padded, true);
        self
    }

    /// Returns the options.
    pub fn options(&self) -> &K::Options {
        &self.options
    }

    /// Returns the distance from one frame to the next, in samples.
    pub fn frame_shift_samples(&self) -> usize {
        self.framing.shift
    }

    /// Returns `true` if a stream's rows differ from the rows of the whole waveform: they then lack
    /// the [step](crate::LogMel::finish_rows) that depends on all rows.
    pub fn needs_utterance(&self) -> bool {
        self.kind.needs_utterance()
    }

    /// Returns the options of the frames.
    pub fn frame_options(&self) -> &FrameExtractionOptions {
        &self.framing.options
    }

    #[inline(always)]
    fn bands_of<'a>(&'a self, warped: &'a K::Warped) -> BandsOf<'a> {
        BandsOf {
            framing: &self.framing,
            plan: &self.spectrum,
            spectrum_of: self.kind.spectrum_of(),
            energy_source: self.kind.energy_source(),
            filters: self.kind.filters(warped),
        }
    }

    pub(crate) fn kind(&self) -> &K {
        &self.kind
    }

    /// Returns the number of values in a row of features.
    #[doc(alias = "Dim")]
    pub fn dim(&self) -> usize {
        self.kind.dim()
    }

    /// Returns the number of rows of features that `audio` gives.
    ///
    /// # Errors
    /// If the sample rate differs from the options' rate and resampling is not allowed.
    pub fn num_frames(&self, audio: &Audio<'_>) -> Result<usize, Error> {
        let resampler = self.resampler(audio.samp_freq)?;
        let num_samples = num_resampled(audio, resampler.as_deref())?;
        Ok(self.framing.num_frames(num_samples as u64) as usize)
    }

    /// Computes the features of a whole waveform: a row for each frame.
    ///
    /// # Errors
    /// If the sample rate differs from the options' rate and resampling is not allowed, or the
    /// audio's warp factor is not usable; [`Error::BadSample`] if a sample is not finite.
    #[doc(alias = "ComputeFeatures")]
    pub fn compute(&self, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
        let mut values = Vec::new();
        let rows = self.compute_into(&mut Workspace::default(), audio, &mut values)?;
        let cols = if rows == 0 { 0 } else { self.dim() };
        Ok(Matrix::from_vec(rows, cols, values).expect("as many values as rows and columns say"))
    }

    /// Same as [`compute`](Self::compute), but reuses memory: it overwrites `out` with the rows,
    /// one after the other, and returns their number.
    ///
    /// # Errors
    /// As `compute`.
    pub fn compute_into(
        &self,
        workspace: &mut Workspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, Error> {
        let rows = self.num_frames(audio)?;
        let len = rows * self.dim();
        if out.capacity() < len {
            // Its pages are touched first when their rows are written.
            *out = kaldera_base::memory::zeros(len);
        }
        out.resize(len, 0.0);
        self.extract_utterance(workspace, audio, out)?;
        Ok(rows)
    }

    /// Same as [`compute`](Self::compute), but writes to rows that exist: `out` has exactly
    /// `num_frames(audio) * dim()` elements.
    pub(crate) fn extract_utterance(
        &self,
        workspace: &mut Workspace,
        audio: &Audio<'_>,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let resampler = self.resampler(audio.samp_freq)?;
        let warped = self.warped(audio.vtln_warp)?;
        // The resampled waveform is a buffer of the workspace, and is put back at the end.
        let mut resampled = std::mem::take(&mut workspace.resampled);
        let samples = match resampler {
            Some(resampler) => {
                resampler.try_resample_into(audio.samples, &mut resampled)?;
                Samples::F32(&resampled)
            }
            None => audio.samples,
        };
        let signal = Signal { samples, first: 0 };
        workspace.has_not_finite = false;
        self.frames_of_signal(workspace, &warped, signal, &self.dither(audio.key), 0, out);
        // A separate pass over all samples would cost a tenth of the features.
        let frames = (out.len() / self.dim()) as u64;
        let rest = samples.range(self.framing.first_not_gathered(frames, samples.len())..samples.len());
        if workspace.has_not_finite || rest.first_not_finite().is_some() {
            audio.samples.check_finite()?;
        }
        self.kind.finish(out);
        workspace.resampled = resampled;
        Ok(())
    }

    /// Returns the noise generator of the utterance `key`.
    pub(crate) fn dither(&self, key: &str) -> Philox {
        Philox::for_name(self.framing.options.dither_seed, key)
    }

    /// Computes the frames from `first_frame` on, as many as `out` has rows.
    pub(crate) fn frames_of_signal(
        &self,
        workspace: &mut Workspace,
        warped: &K::Warped,
        signal: Signal<'_>,
        dither: &Philox,
        first_frame: u64,
        out: &mut [f32],
    ) {
        let job = UtteranceJob::Signal(FrameJob { signal, dither, first_frame, out });
        K::run(ExtractKernel { extractor: self, warped, job, workspace });
    }

    /// Computes frames of several signals.
    pub(crate) fn frames_of_signals(&self, workspace: &mut Workspace, warped: &K::Warped, jobs: &mut [FrameJob<'_>]) {
        K::run(ExtractKernel { extractor: self, warped, job: UtteranceJob::Signals(jobs), workspace });
    }

    pub(crate) fn unwarped(&self) -> Arc<K::Warped> {
        Arc::clone(&self.unwarped)
    }

    pub(crate) fn warped(&self, factor: f32) -> Result<Arc<K::Warped>, Error> {
        if factor == 1.0 {
            return Ok(Arc::clone(&self.unwarped));
        }
        cached(&self.warped, factor, || K::warped(&self.options, factor))
    }

    /// Returns the resampler for audio of this rate, or `None` if none is needed.
    pub(crate) fn resampler(&self, found: f32) -> Result<Option<Arc<LinearResample>>, Error> {
        let options = &self.framing.options;
        let expected = options.samp_freq;
        if !must_resample(found, expected, options.allow_downsample, options.allow_upsample)? {
            return Ok(None);
        }
        cached(&self.resamplers, found, || LinearResample::for_waveform(found, expected)).map(Some)
    }
}

/// Returns the number of samples of `audio` after the resampler, if there is one.
pub(crate) fn num_resampled(audio: &Audio<'_>, resampler: Option<&LinearResample>) -> Result<usize, Error> {
    let samples = audio.samples.len();
    let Some(resampler) = resampler else { return Ok(samples) };
    let resampled = resampler.num_output_samples(samples, true);
    check_resampled(samples, resampled).map(|()| resampled)
}

/// Returns `true` if audio of `found` Hz must be resampled to `expected` Hz.
pub(crate) fn must_resample(
    found: f32,
    expected: f32,
    allow_downsample: bool,
    allow_upsample: bool,
) -> Result<bool, Error> {
    if found == expected {
        return Ok(false);
    }
    if !(1.0..=MAX_SAMPLE_RATE).contains(&found) {
        return Err(Error::BadSampleRate { found });
    }
    let (direction, allowed) = if found > expected { ("down", allow_downsample) } else { ("up", allow_upsample) };
    if allowed { Ok(true) } else { Err(Error::SampleRateMismatch { found, expected, direction }) }
}

/// Returns the cached value for `key`, or makes it with `make` if the cache has none.
fn cached<T>(
    cache: &RwLock<HashMap<u32, Arc<T>>>,
    key: f32,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<Arc<T>, Error> {
    let key = key.to_bits();
    if let Some(found) = cache.read().expect("nothing panics under this lock").get(&key) {
        return Ok(Arc::clone(found));
    }
    let made = Arc::new(make()?);
    let mut cache = cache.write().expect("nothing panics under this lock");
    if cache.len() >= MAX_CACHED {
        cache.clear();
    }
    cache.insert(key, Arc::clone(&made));
    Ok(made)
}

/// Frames to compute.
#[derive(Debug)]
pub(crate) enum UtteranceJob<'a, 'b> {
    /// Frames of one signal, from a frame on: as many as there are rows.
    Signal(FrameJob<'b>),
    /// Frames of several signals: a vector's lanes are filled with frames of any of them.
    Signals(&'a mut [FrameJob<'b>]),
}

/// Frames of a signal: as many as `out` has rows.
#[derive(Debug)]
pub(crate) struct FrameJob<'a> {
    pub(crate) signal: Signal<'a>,
    pub(crate) dither: &'a Philox,
    pub(crate) first_frame: u64,
    pub(crate) out: &'a mut [f32],
}

/// The kernel of a kind of features.
#[derive(Debug)]
#[doc(hidden)]
pub struct ExtractKernel<'a, 'b, K: Kind> {
    extractor: &'a Extractor<K>,
    warped: &'a K::Warped,
    job: UtteranceJob<'a, 'b>,
    workspace: &'a mut Workspace,
}

impl<K: Kind> Kernel for ExtractKernel<'_, '_, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { extractor, warped, job, workspace } = self;
        match job {
            UtteranceJob::Signal(job) => frames_of_one(s, extractor, warped, job, workspace),
            UtteranceJob::Signals(jobs) => frames_of_many(s, extractor, warped, jobs, workspace),
        }
    }
}

#[inline(always)]
fn frames_of_one<S: Simd, K: Kind>(
    s: S,
    extractor: &Extractor<K>,
    warped: &K::Warped,
    job: FrameJob<'_>,
    workspace: &mut Workspace,
) {
    let FrameJob { signal, dither, mut first_frame, out } = job;
    let (framing, dim) = (&extractor.framing, extractor.kind.dim());
    for chunk in out.chunks_mut(CHUNK * dim) {
        let end = first_frame + (chunk.len() / dim) as u64;
        let (_, are_finite) = framing.gather(s, signal, dither, [first_frame, end - 1], &mut workspace.wave, 0);
        workspace.has_not_finite |= !are_finite;
        for (rows, first) in chunk.chunks_mut(S::LANES * dim).zip((0..).step_by(S::LANES)) {
            let starts: [usize; MAX_LANES] = std::array::from_fn(|lane| (first + lane) * framing.shift);
            extract_block(s, extractor, warped, &starts[..rows.len() / dim], workspace, rows);
        }
        first_frame = end;
    }
}

#[inline(always)]
fn frames_of_many<S: Simd, K: Kind>(
    s: S,
    extractor: &Extractor<K>,
    warped: &K::Warped,
    jobs: &mut [FrameJob<'_>],
    workspace: &mut Workspace,
) {
    let (framing, dim) = (&extractor.framing, extractor.kind.dim());
    let (mut all_starts, mut end) = (Vec::new(), 0);
    for job in &*jobs {
        let frames = job.out.len() / dim;
        if frames > 0 {
            all_starts.extend((0..frames).map(|i| end + i * framing.shift));
            let range = [job.first_frame, job.first_frame + frames as u64 - 1];
            // Streams accept only finite samples.
            (end, _) = framing.gather(s, job.signal, job.dither, range, &mut workspace.wave, end);
        }
    }
    let mut block = std::mem::take(&mut workspace.block);
    let mut out = jobs.iter_mut().flat_map(|job| job.out.chunks_exact_mut(dim));
    for starts in all_starts.chunks(S::LANES) {
        block.resize(starts.len() * dim, 0.0);
        extract_block(s, extractor, warped, starts, workspace, &mut block);
        for (from, to) in block.chunks_exact(dim).zip(&mut out) {
            to.copy_from_slice(from);
        }
    }
    workspace.block = block;
}

/// Computes the rows of the frames that begin at `starts` of the workspace's waveform: at most as
/// many as there are lanes.
#[inline(always)]
fn extract_block<S: Simd, K: Kind>(
    s: S,
    extractor: &Extractor<K>,
    warped: &K::Warped,
    starts: &[usize],
    workspace: &mut Workspace,
    rows: &mut [f32],
) {
    // Lanes past the last frame compute the first one once more.
    let mut all = [starts[0]; MAX_LANES];
    all[..starts.len()].copy_from_slice(starts);
    s.vectorize(FrameBlock { extractor, warped, starts: &all[..S::LANES], workspace, rows });
}

/// The rows of the frames that begin at `starts` of the workspace's waveform, one for each lane.
/// Only as many rows are written as `rows` holds.
struct FrameBlock<'a, K: Kind> {
    extractor: &'a Extractor<K>,
    warped: &'a K::Warped,
    starts: &'a [usize],
    workspace: &'a mut Workspace,
    rows: &'a mut [f32],
}

impl<K: Kind> Kernel for FrameBlock<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { extractor, warped, starts, workspace, rows } = self;
        let (kind, of, dim) = (&extractor.kind, extractor.bands_of(warped), extractor.kind.dim());
        let energy = s.load(&s.apart(ComputeBands { of, starts, workspace }));
        let Workspace { frames, spectrum, features, scratch, .. } = workspace;
        let (bands, num_bands) = of.place(frames, spectrum);
        let (bands, scratch) = (bands.vectors(s, num_bands), scratch.vectors(s, kind.scratch_rows()));
        kind.features(
            s,
            warped,
            Bands { bands, energy, scratch },
            &mut features.vectors(s, dim.next_multiple_of(S::LANES))[..dim],
        );
        s.apart(StoreRows { features, dim, rows });
    }
}
