//! Pitch of whole signals.

use std::sync::Arc;

use kaldi_matrix::Matrix;

use crate::audio::Audio;
use crate::audio::samples::Samples;
use crate::error::Error;
use crate::pitch::options::PitchExtractionOptions;
use crate::pitch::plan::Plan;
use crate::pitch::stream::OnlinePitch;

/// Finds pitch and voicing of speech. It is planned once and used for any number of signals, from
/// any number of threads.
///
/// The method is from P. Ghahremani, B. BabaAli, D. Povey, K. Riedhammer, J. Trmal and S.
/// Khudanpur, *A pitch extraction algorithm tuned for automatic speech recognition*, ICASSP 2014:
/// every frame has a pitch, voiced or not, so that there are no gaps; its correlation tells if it
/// is voiced.
///
/// ```
/// use kaldi_feat::{Audio, PitchExtractionOptions, PitchExtractor};
///
/// let extractor = PitchExtractor::new(PitchExtractionOptions::default())?;
/// // A hum of 152.8 Hz.
/// let hum: Vec<i16> = (0..16000).map(|i| (5000.0 * (i as f32 * 0.06).sin()) as i16).collect();
/// let frames = extractor.compute(&Audio::new(&hum, 16000.0))?;
/// assert_eq!((frames.num_rows(), frames.num_cols()), (98, 2));
/// let (nccf, hz) = (frames[(50, 0)], frames[(50, 1)]);
/// assert!(nccf > 0.99 && (hz - 152.8).abs() < 1.0);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PitchExtractor {
    plan: Arc<Plan>,
}

impl PitchExtractor {
    /// Plans an extraction.
    ///
    /// # Errors
    /// Names the first field of the options that has a bad value.
    pub fn new(options: PitchExtractionOptions) -> Result<Self, Error> {
        Ok(Self { plan: Arc::new(Plan::new(options)?) })
    }

    /// Returns the options.
    pub fn options(&self) -> &PitchExtractionOptions {
        &self.plan.options
    }

    /// Returns the pitches that a frame can have, in Hz, from the highest down.
    pub fn pitches(&self) -> impl ExactSizeIterator<Item = f32> {
        self.plan.grid.lags.iter().map(|&lag| (1.0 / f64::from(lag)) as f32)
    }

    /// Creates a stream for audio that arrives in chunks.
    pub fn stream(&self) -> OnlinePitch {
        OnlinePitch::new(Arc::clone(&self.plan))
    }

    /// Computes NCCF and pitch in Hz of each frame of a whole signal: frames x 2, or 0 x 0 if it is
    /// too short for one.
    ///
    /// The audio's warp factor has no effect, as it does not change the pitch. The signal goes
    /// through a [`stream`](Self::stream) in one piece, or in chunks if the options ask for it.
    ///
    /// # Errors
    /// [`Error::WrongSampleRate`] if the sample rate differs from the options' rate,
    /// [`Error::BadSample`] if a sample is not finite.
    #[doc(alias = "ComputeKaldiPitch")]
    pub fn compute(&self, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
        self.compute_with(&mut PitchWorkspace::default(), audio)
    }

    /// Same as [`compute`](Self::compute), but reuses memory.
    ///
    /// # Errors
    /// As `compute`.
    pub fn compute_with(&self, workspace: &mut PitchWorkspace, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
        let mut values = Vec::new();
        let rows = self.compute_into(workspace, audio, &mut values)?;
        Ok(Matrix::from_vec(rows, if rows == 0 { 0 } else { 2 }, values).expect("two numbers for each frame"))
    }

    /// Same as [`compute`](Self::compute), but reuses memory: it overwrites `out` with the frames,
    /// one after the other, and returns their number.
    ///
    /// # Errors
    /// As `compute`.
    pub fn compute_into(
        &self,
        workspace: &mut PitchWorkspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, Error> {
        out.clear();
        // Checked before it is cut into chunks, so that the error counts from its start.
        audio.samples.check_finite()?;
        let mut stream = self.stream_in(workspace);
        for chunk in self.chunks(audio)? {
            // Frames of the last chunk are taken when its end is known to be the end of the audio.
            if self.plan.options.simulate_first_pass_online {
                take_frames(&stream, out);
            }
            stream.accept(chunk)?;
        }
        stream.finish();
        take_frames(&stream, out);
        workspace.keep(stream);
        Ok(out.len() / 2)
    }

    /// Returns a stream in the memory of the last one that the workspace was given to
    /// [keep](PitchWorkspace::keep), if it was a stream of this extractor.
    pub(super) fn stream_in(&self, workspace: &mut PitchWorkspace) -> OnlinePitch {
        match workspace.stream.take() {
            Some(mut stream) if stream.is_of(&self.plan) => {
                stream.restart();
                stream
            }
            _ => self.stream(),
        }
    }

    /// Splits a signal into the chunks that the options ask for.
    pub(super) fn chunks<'a>(&self, audio: &Audio<'a>) -> Result<impl Iterator<Item = Samples<'a>> + use<'a>, Error> {
        let options = &self.plan.options;
        if audio.samp_freq != options.samp_freq {
            return Err(Error::WrongSampleRate { found: audio.samp_freq, expected: options.samp_freq });
        }
        Ok(audio.samples.chunks(options.samples_per_chunk()))
    }
}

/// A workspace of a [`PitchExtractor`]. One for each thread, kept from signal to signal, saves
/// allocating it anew: two megabytes for ten seconds. It belongs to the extractor that used it
/// last.
#[derive(Debug, Default)]
pub struct PitchWorkspace {
    stream: Option<OnlinePitch>,
}

impl PitchWorkspace {
    pub(super) fn keep(&mut self, stream: OnlinePitch) {
        self.stream = Some(stream);
    }
}

/// Appends the frames that are ready and not among `values` yet.
fn take_frames(stream: &OnlinePitch, values: &mut Vec<f32>) {
    let frames = values.len() / 2..stream.num_frames_ready();
    for frame in frames.filter_map(|i| stream.frame(i)) {
        values.extend_from_slice(frame);
    }
}

/// Computes NCCF and pitch in Hz of each frame in one call: [`PitchExtractor::compute`] with a plan
/// that is used once.
///
/// # Errors
/// As [`PitchExtractor::new`] and [`PitchExtractor::compute`].
#[doc(alias = "ComputeKaldiPitch")]
pub fn compute_kaldi_pitch(options: &PitchExtractionOptions, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
    PitchExtractor::new(options.clone())?.compute(audio)
}
