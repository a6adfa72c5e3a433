//! Samples: as rows for networks that have their front end inside, and what is done to them before features.

use kaldi_feat::options::{OptionSet, Registry};
use kaldi_feat::{Audio, PolyphaseResample};

use super::{Features, FrontEndStream};

/// What becomes 1.
const FULL_SCALE: f32 = 32_768.0;

/// The options of the kind `samples`.
pub(super) struct SampleOptions {
    samp_freq: f32,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self { samp_freq: 16_000.0 }
    }
}

impl OptionSet for SampleOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("sample-frequency", &mut self.samp_freq, "Samples per second that the network takes");
    }
}

/// Rows of one sample each, from -1 to 1.
#[derive(Debug)]
pub(super) struct SampleRows {
    samp_freq: f32,
}

impl SampleRows {
    pub(super) fn new(options: &SampleOptions) -> Result<Self, String> {
        let samp_freq = options.samp_freq;
        // As the resampler checks rates.
        PolyphaseResample::new(samp_freq, samp_freq).map_err(|error| error.to_string())?;
        Ok(Self { samp_freq })
    }
}

impl Features for SampleRows {
    fn dim(&self) -> usize {
        1
    }

    fn samp_freq(&self) -> f32 {
        self.samp_freq
    }

    fn frame_shift(&self) -> f64 {
        1.0 / f64::from(self.samp_freq)
    }

    fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, kaldi_feat::Error> {
        let begin = rows.len();
        SampleStream::scaled().accept(&audio.samples.to_f32(), rows)?;
        Ok(rows.len() - begin)
    }

    fn stream(&self, _key: &str, _samp_freq: f32) -> Result<Box<dyn FrontEndStream>, kaldi_feat::Error> {
        Ok(Box::new(SampleStream::scaled()))
    }
}

/// Features of samples that a filter has gone over, at the features' rate: `x[t] - c x[t-1]`, of which
/// the first sample stays.
#[derive(Debug)]
pub(super) struct Emphasized {
    features: Box<dyn Features>,
    coefficient: f32,
}

impl Emphasized {
    pub(super) fn new(features: Box<dyn Features>, coefficient: f32) -> Self {
        Self { features, coefficient }
    }

    fn samples(&self) -> SampleStream {
        SampleStream { scale: 1.0, emphasis: self.coefficient, previous: 0.0 }
    }
}

impl Features for Emphasized {
    fn dim(&self) -> usize {
        self.features.dim()
    }

    fn samp_freq(&self) -> f32 {
        self.features.samp_freq()
    }

    fn frame_shift(&self) -> f64 {
        self.features.frame_shift()
    }

    fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, kaldi_feat::Error> {
        let mut samples = vec![];
        self.samples().accept(&audio.samples.to_f32(), &mut samples)?;
        let own = Audio::new(&samples, audio.samp_freq).with_key(audio.key).with_vtln_warp(audio.vtln_warp);
        self.features.append_rows(&own, rows)
    }

    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn FrontEndStream>, kaldi_feat::Error> {
        let features = self.features.stream(key, samp_freq)?;
        Ok(Box::new(EmphasizedStream { samples: self.samples(), features }))
    }
}

#[derive(Debug)]
struct EmphasizedStream {
    samples: SampleStream,
    features: Box<dyn FrontEndStream>,
}

impl FrontEndStream for EmphasizedStream {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        let mut own = vec![];
        self.samples.accept(samples, &mut own)?;
        self.features.accept(&own, rows)
    }

    fn finish(&mut self, rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        self.features.finish(rows)
    }
}

/// Samples that come in chunks, scaled and filtered.
#[derive(Debug)]
struct SampleStream {
    scale: f32,
    emphasis: f32,
    /// The last sample before the filter.
    previous: f32,
}

impl SampleStream {
    /// From -1 to 1.
    fn scaled() -> Self {
        Self { scale: 1.0 / FULL_SCALE, emphasis: 0.0, previous: 0.0 }
    }
}

impl FrontEndStream for SampleStream {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        rows.extend(samples.iter().map(|sample| {
            let own = sample * self.scale;
            own - self.emphasis * std::mem::replace(&mut self.previous, own)
        }));
        Ok(())
    }

    fn finish(&mut self, _rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        Ok(())
    }
}
