//! Features of audio of other rates than theirs.

use std::sync::Arc;

use kaldi_feat::{Audio, Error, PolyphaseResample, PolyphaseStream, Resamplers};

use super::{Features, FrontEndStream};

/// Features of samples at their rate, to which audio of another one is resampled.
#[derive(Debug)]
pub(super) struct Resampled {
    features: Box<dyn Features>,
    resamplers: Resamplers,
    allowed: Allowed,
}

/// Which audio may be resampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    /// That of a higher rate.
    pub(super) down: bool,
    /// That of a lower rate.
    pub(super) up: bool,
}

impl Resampled {
    pub(super) fn new(features: Box<dyn Features>, allowed: Allowed) -> Self {
        Self { resamplers: Resamplers::new(features.samp_freq()), features, allowed }
    }

    /// What makes samples of the features' rate; none of those that are of it.
    fn resampler(&self, found: f32) -> Result<Option<Arc<PolyphaseResample>>, Error> {
        let expected = self.samp_freq();
        let (direction, allowed) = if found > expected { ("down", self.allowed.down) } else { ("up", self.allowed.up) };
        if found != expected && !allowed {
            return Err(Error::SampleRateMismatch { found, expected, direction });
        }
        self.resamplers.get(found)
    }
}

impl Features for Resampled {
    fn dim(&self) -> usize {
        self.features.dim()
    }

    fn samp_freq(&self) -> f32 {
        self.features.samp_freq()
    }

    fn frame_shift(&self) -> f64 {
        self.features.frame_shift()
    }

    fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, Error> {
        let Some(resampler) = self.resampler(audio.samp_freq)? else { return self.features.append_rows(audio, rows) };
        let samples = resampler.resample(audio.samples);
        let own = Audio::new(&samples, self.samp_freq()).with_key(audio.key).with_vtln_warp(audio.vtln_warp);
        self.features.append_rows(&own, rows)
    }

    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn FrontEndStream>, Error> {
        let features = self.features.stream(key, self.samp_freq())?;
        let Some(resampler) = self.resampler(samp_freq)? else { return Ok(features) };
        Ok(Box::new(ResampledStream { resampler, samples: PolyphaseStream::new(), own: vec![], features }))
    }
}

#[derive(Debug)]
struct ResampledStream {
    resampler: Arc<PolyphaseResample>,
    samples: PolyphaseStream,
    /// What has come of them.
    own: Vec<f32>,
    features: Box<dyn FrontEndStream>,
}

impl FrontEndStream for ResampledStream {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), Error> {
        self.own.clear();
        self.samples.resample(&self.resampler, samples, &mut self.own);
        self.features.accept(&self.own, rows)
    }

    fn finish(&mut self, rows: &mut Vec<f32>) -> Result<(), Error> {
        self.own.clear();
        self.samples.flush(&self.resampler, &mut self.own);
        self.features.accept(&self.own, rows)?;
        self.features.finish(rows)
    }
}
