//! Pitch, as separate features or as additional columns.

use kaldi_feat::{
    Audio, LinearResample, OnlineProcessPitch, PitchExtractionOptions, PitchExtractor, PitchProcessor, PitchWorkspace,
    ProcessPitchOptions, ResampleStream, paste_columns,
};
use kaldi_matrix::{Matrix, SubMatrix};

use crate::Error;
use crate::pipeline::FeatureExtractor;

/// Kaldi's pitch, made into features for a recogniser: voicing, normalised log pitch, its change.
///
/// Audio of another sample rate is resampled, which Kaldi's programs do not do for pitch.
#[derive(Debug)]
pub struct PitchFeatures {
    extractor: PitchExtractor,
    processor: PitchProcessor,
}

/// Number of frames by which pitch may differ from the other features, which treat the ends of a
/// recording in their own way; Kaldi's recipes allow the same.
const LENGTH_TOLERANCE: usize = 2;

impl PitchFeatures {
    /// Plans the extraction.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn new(options: PitchExtractionOptions, process: ProcessPitchOptions) -> Result<Self, kaldi_feat::Error> {
        let processor = PitchProcessor::new(process)?;
        Ok(Self { extractor: PitchExtractor::new(options)?, processor })
    }

    /// Creates a stream of audio with this sample rate, in Hz. The key decides the noise.
    ///
    /// # Errors
    /// For a rate that cannot be resampled to the rate of the options.
    pub fn stream(&self, samp_freq: f32, key: &str) -> Result<PitchStream, kaldi_feat::Error> {
        let expected = self.extractor.options().samp_freq;
        let resampling = match samp_freq == expected {
            true => None,
            false => Some(ResampleStream::new(LinearResample::for_stream(samp_freq, expected)?)),
        };
        let pitch = self.processor.online(self.extractor.stream(), key);
        Ok(PitchStream { resampling, samples: Vec::new(), pitch })
    }

    /// NCCF and pitch in Hz, frame by frame, before they are made into features.
    ///
    /// # Errors
    /// When the audio cannot be used.
    pub fn pitch(&self, audio: &Audio<'_>) -> Result<Matrix<f32>, kaldi_feat::Error> {
        self.at_rate(audio, |audio| self.extractor.compute(audio))
    }

    /// `f` of `audio` at the sample rate of the options.
    fn at_rate<R>(
        &self,
        audio: &Audio<'_>,
        f: impl FnOnce(&Audio<'_>) -> Result<R, kaldi_feat::Error>,
    ) -> Result<R, kaldi_feat::Error> {
        let expected = self.extractor.options().samp_freq;
        if audio.samp_freq == expected {
            return f(audio);
        }
        let mut samples = Vec::new();
        LinearResample::for_waveform(audio.samp_freq, expected)?.try_resample_into(audio.samples, &mut samples)?;
        f(&Audio::new(&samples, expected).with_key(audio.key))
    }

    fn compute(&self, workspace: &mut PitchWorkspace, audio: &Audio<'_>) -> Result<Matrix<f32>, kaldi_feat::Error> {
        let pitch = self.at_rate(audio, |audio| self.extractor.compute_with(workspace, audio))?;
        self.processor.process(&pitch, audio.key)
    }

    /// Appends the pitch of `audio` to its `frames` rows of `features` as columns; returns the
    /// new number of rows.
    pub(super) fn paste(
        &self,
        workspace: &mut PitchWorkspace,
        audio: &Audio<'_>,
        frames: usize,
        features: &mut Vec<f32>,
    ) -> Result<usize, Error> {
        let dim = features.len() / frames.max(1);
        let pitch = self.compute(workspace, audio)?;
        let pasted = paste_columns(&[SubMatrix::new(features, frames, dim, dim)?, pitch.view()], LENGTH_TOLERANCE)?;
        let frames = pasted.num_rows();
        *features = pasted.into_vec();
        Ok(frames)
    }
}

/// The audio's `vtln_warp` has no effect: it does not change how high a voice is.
impl FeatureExtractor for PitchFeatures {
    type Workspace = PitchWorkspace;

    fn dim(&self) -> usize {
        self.processor.dim()
    }

    fn compute_into(
        &self,
        workspace: &mut PitchWorkspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error> {
        let features = self.compute(workspace, audio)?;
        let frames = features.num_rows();
        *out = features.into_vec();
        Ok(frames)
    }
}

/// Features of the pitch of audio that arrives in chunks; [`PitchFeatures::stream`] makes it.
#[derive(Debug, Clone)]
pub struct PitchStream {
    resampling: Option<ResampleStream>,
    /// The output of the resampler.
    samples: Vec<f32>,
    pitch: OnlineProcessPitch,
}

impl PitchStream {
    /// Returns the number of features in a frame.
    pub fn dim(&self) -> usize {
        self.pitch.dim()
    }

    /// Takes the next samples, on the scale of 16-bit integers.
    ///
    /// # Errors
    /// For a sample that is not finite, and after [`finish`](Self::finish).
    pub fn accept(&mut self, samples: &[f32]) -> Result<(), kaldi_feat::Error> {
        let Some(resampling) = &mut self.resampling else { return self.pitch.accept(samples) };
        self.samples.clear();
        resampling.accept(samples, &mut self.samples);
        self.pitch.accept(&self.samples)
    }

    /// Marks the end of the samples: the last frames become ready.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn finish(&mut self) -> Result<(), kaldi_feat::Error> {
        if let Some(resampling) = &mut self.resampling {
            self.samples.clear();
            resampling.finish(&mut self.samples);
            self.pitch.accept(&self.samples)?;
        }
        self.pitch.finish();
        Ok(())
    }

    /// Returns the number of frames that are ready, from the stream's start. With
    /// `max-frames-latency` it may fall again.
    pub fn num_frames_ready(&self) -> usize {
        self.pitch.num_frames_ready()
    }

    /// Returns the features of a frame as its pitch is now; `None` if it is not ready or was
    /// [discarded](Self::discard_frames).
    pub fn frame(&mut self, frame: usize) -> Option<&[f32]> {
        self.pitch.frame(frame)
    }

    /// Forgets the frames before this one, so that memory does not grow with the stream.
    pub fn discard_frames(&mut self, before: usize) {
        self.pitch.discard_frames(before);
    }
}

/// The pitch itself: NCCF and pitch in Hz, two columns.
#[derive(Debug)]
pub struct NccfAndPitch(pub PitchFeatures);

impl FeatureExtractor for NccfAndPitch {
    type Workspace = PitchWorkspace;

    fn dim(&self) -> usize {
        2
    }

    fn compute_into(
        &self,
        workspace: &mut PitchWorkspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error> {
        self.0.at_rate(audio, |audio| self.0.extractor.compute_into(workspace, audio, out))
    }
}
