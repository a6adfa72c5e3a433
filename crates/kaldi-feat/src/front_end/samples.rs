//! Samples as rows, for networks that have their front end inside, and preemphasis of a signal.

use std::sync::Arc;

use crate::audio::MAX_SAMPLE_RATE;
use crate::audio::samples::Samples;
use crate::error::Error;
use crate::extractor::must_resample;
use crate::resample::{LinearResample, ResampleStream};

/// The sample value that becomes 1.
const FULL_SCALE: f32 = 32_768.0;

/// The largest number of samples in a row: more than 4 minutes at 16 kHz.
const MAX_SAMPLES: i32 = 4_194_304;

/// Options of rows of samples, which are scaled to [-1, 1].
///
/// Row i has the `frame_samples` samples from sample i · `frame_samples` on, after the
/// `context_samples` samples before them. Samples before the start and after the end of the signal
/// are 0. Without context, the rows are the signal itself, cut into rows.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct SampleOptions {
    /// Samples per second, Hz.
    pub samp_freq: f32,
    /// Number of new samples in a row, and from one row to the next.
    pub frame_samples: i32,
    /// Number of earlier samples that a row also has.
    pub context_samples: i32,
    /// Audio of a higher sample rate is resampled (as Kaldi does it) rather than refused.
    pub allow_downsample: bool,
    /// Audio of a lower sample rate is resampled (as Kaldi does it) rather than refused.
    pub allow_upsample: bool,
}

/// Rows of samples.
#[derive(Debug, Clone)]
pub(crate) struct SampleRows {
    pub(crate) options: SampleOptions,
    pub(crate) frame: usize,
    context: usize,
}

impl SampleRows {
    pub(crate) fn new(options: SampleOptions) -> Result<Self, Error> {
        if !(1.0..=MAX_SAMPLE_RATE).contains(&options.samp_freq) {
            return Err(Error::bad_option("samp_freq", options.samp_freq, "a number of Hz from 1 to 10000000"));
        }
        let samples = |field, value: i32, least: i32| match usize::try_from(value) {
            Ok(samples) if (least..=MAX_SAMPLES).contains(&value) => Ok(samples),
            _ => Err(Error::bad_option(field, value, format!("from {least} to {MAX_SAMPLES}"))),
        };
        Ok(Self {
            frame: samples("frame_samples", options.frame_samples, 1)?,
            context: samples("context_samples", options.context_samples, 0)?,
            options,
        })
    }

    pub(crate) fn dim(&self) -> usize {
        self.context + self.frame
    }

    pub(crate) fn resampler(&self, samp_freq: f32) -> Result<Option<LinearResample>, Error> {
        let SampleOptions { samp_freq: own, allow_downsample, allow_upsample, .. } = self.options;
        let resampled = must_resample(samp_freq, own, allow_downsample, allow_upsample)?;
        resampled.then(|| LinearResample::for_waveform(samp_freq, own)).transpose()
    }

    pub(crate) fn stream(&self, samp_freq: f32) -> Result<SampleRowStream, Error> {
        Ok(SampleRowStream {
            samples: SampleStream::new(self.resampler(samp_freq)?.map(Arc::new)).scaled(1.0 / FULL_SCALE),
            // The context of the first row.
            held: vec![0.0; self.context],
            frame: self.frame,
            context: self.context,
        })
    }
}

/// Rows of samples that arrive in chunks.
#[derive(Debug)]
pub(crate) struct SampleRowStream {
    samples: SampleStream,
    /// The samples that no row has had as its new samples, after the context before them.
    held: Vec<f32>,
    frame: usize,
    context: usize,
}

impl SampleRowStream {
    /// Takes more samples.
    pub(crate) fn accept(&mut self, samples: Samples<'_>) {
        self.samples.accept(samples, &mut self.held);
    }

    /// Takes the last samples, and fills up the last row.
    pub(crate) fn finish(&mut self) {
        self.samples.finish(&mut self.held);
        let own = self.held.len() - self.context;
        self.held.resize(self.context + own.next_multiple_of(self.frame), 0.0);
    }

    /// Returns the number of rows that are ready.
    pub(crate) fn num_ready(&self) -> usize {
        (self.held.len() - self.context) / self.frame
    }

    /// Appends the rows that are ready.
    pub(crate) fn take_rows(&mut self, out: &mut Vec<f32>) {
        let taken = self.num_ready() * self.frame;
        if self.context == 0 {
            out.extend_from_slice(&self.held[..taken]);
        } else {
            let rows = (0..taken).step_by(self.frame);
            rows.for_each(|first| out.extend_from_slice(&self.held[first..][..self.context + self.frame]));
        }
        self.held.drain(..taken);
    }
}

/// Samples that arrive in chunks, and are resampled, scaled and filtered.
#[derive(Debug)]
pub(crate) struct SampleStream {
    resampling: Option<ResampleStream>,
    scale: f32,
    preemphasis: f32,
    /// The last sample before the filter.
    previous: f32,
}

impl SampleStream {
    pub(crate) fn new(resampler: Option<Arc<LinearResample>>) -> Self {
        Self { resampling: resampler.map(ResampleStream::new), scale: 1.0, preemphasis: 0.0, previous: 0.0 }
    }

    fn scaled(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// `x[t]` becomes `x[t] - preemphasis x[t-1]`, with 0 before the first sample.
    pub(crate) fn with_preemphasis(self, preemphasis: f32) -> Self {
        Self { preemphasis, ..self }
    }

    fn change(&mut self, samples: &mut [f32]) {
        for sample in samples {
            let own = *sample * self.scale;
            *sample = own - self.preemphasis * self.previous;
            self.previous = own;
        }
    }

    /// Takes more samples, and appends the output.
    pub(crate) fn accept(&mut self, samples: Samples<'_>, out: &mut Vec<f32>) {
        let begin = out.len();
        match &mut self.resampling {
            Some(stream) => stream.accept(samples, out),
            None => {
                out.resize(begin + samples.len(), 0.0);
                samples.copy_first(&mut out[begin..]);
            }
        }
        self.change(&mut out[begin..]);
    }

    /// Appends the output after the last sample.
    pub(crate) fn finish(&mut self, out: &mut Vec<f32>) {
        let begin = out.len();
        if let Some(stream) = &mut self.resampling {
            stream.finish(out);
        }
        self.change(&mut out[begin..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(options: SampleOptions, samples: &[f32], chunk: usize) -> Vec<f32> {
        let mut stream = SampleRows::new(options).unwrap().stream(16_000.0).unwrap();
        let mut out = vec![];
        for samples in samples.chunks(chunk) {
            stream.accept(Samples::F32(samples));
            stream.take_rows(&mut out);
        }
        stream.finish();
        stream.take_rows(&mut out);
        out
    }

    #[test]
    fn rows_have_the_samples_before_them_and_zeros_at_the_ends() {
        let samples: Vec<f32> = [1_u8, 2, 3, 4, 5].map(|x| FULL_SCALE * f32::from(x)).to_vec();
        let options = SampleOptions { frame_samples: 3, context_samples: 2, ..Default::default() };
        for chunk in 1..=5 {
            let expected = [0.0, 0.0, 1.0, 2.0, 3.0, /**/ 2.0, 3.0, 4.0, 5.0, 0.0];
            assert_eq!(rows(options.clone(), &samples, chunk), expected);
            assert_eq!(rows(SampleOptions::default(), &samples, chunk), [1.0, 2.0, 3.0, 4.0, 5.0]);
        }
        assert_eq!(rows(options, &[], 1), []);
    }

    #[test]
    fn preemphasis_leaves_the_first_sample() {
        let mut stream = SampleStream::new(None).with_preemphasis(0.5);
        let mut out = vec![];
        stream.accept(Samples::I16(&[4, 2]), &mut out);
        stream.accept(Samples::F32(&[-4.0]), &mut out);
        stream.finish(&mut out);
        assert_eq!(out, [4.0, 0.0, -5.0]);
    }

    #[test]
    fn bad_numbers_are_named() {
        for (name, options) in [
            ("samp_freq", SampleOptions { samp_freq: f32::NAN, ..Default::default() }),
            ("frame_samples", SampleOptions { frame_samples: 0, ..Default::default() }),
            ("context_samples", SampleOptions { context_samples: -1, ..Default::default() }),
        ] {
            let Err(Error::BadOption { field, .. }) = SampleRows::new(options) else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
    }
}
