//! Rows of a front end while samples come.

use std::fmt::Debug;

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::extractor::Kind;
use crate::front_end::samples::{SampleRowStream, SampleStream};
use crate::rows::global_cmvn::GlobalCmvn;
use crate::rows::low_frame_rate::{LowFrameRate, LowFrameRateStream};
use crate::rows::stream::RowStream as _;
use crate::stream::FeatureStream;

/// A stream of features of any kind.
pub(super) trait AnyStream: Debug + Send + Sync {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error>;
    fn finish(&mut self);
    fn take_rows(&mut self, out: &mut Vec<f32>);
}

impl<K: Kind> AnyStream for FeatureStream<K> {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error> {
        FeatureStream::accept(self, samples)
    }

    fn finish(&mut self) {
        FeatureStream::finish(self);
    }

    fn take_rows(&mut self, out: &mut Vec<f32>) {
        FeatureStream::take_rows(self, out);
    }
}

impl AnyStream for SampleRowStream {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error> {
        SampleRowStream::accept(self, samples);
        Ok(())
    }

    fn finish(&mut self) {
        SampleRowStream::finish(self);
    }

    fn take_rows(&mut self, out: &mut Vec<f32>) {
        SampleRowStream::take_rows(self, out);
    }
}

/// A stream of the rows of one utterance, whose samples arrive in chunks of any size. See
/// [`FrontEnd::stream`](crate::FrontEnd::stream).
#[derive(Debug)]
pub struct FrontEndStream {
    emphasized: Option<SampleStream>,
    features: Box<dyn AnyStream>,
    rate: LowFrameRateStream,
    cmvn: Option<GlobalCmvn>,
    dim: usize,
    /// Samples with preemphasis.
    samples: Vec<f32>,
    /// Rows before LFR.
    rows: Vec<f32>,
    finished: bool,
    /// `true` once the rows that only the end makes ready are taken.
    ended: bool,
}

impl FrontEndStream {
    pub(super) fn new(
        emphasized: Option<SampleStream>,
        features: Box<dyn AnyStream>,
        dim: usize,
        rate: LowFrameRate,
        cmvn: Option<GlobalCmvn>,
    ) -> Self {
        let rate = rate.stream(dim);
        Self { emphasized, features, rate, cmvn, dim, samples: vec![], rows: vec![], finished: false, ended: false }
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.rate.output_dim()
    }

    /// Takes the next samples, on the scale of 16-bit integers, in any number.
    ///
    /// # Errors
    /// [`Error::BadSample`] if a sample is not finite, and [`Error::AfterEnd`] after
    /// [`finish`](Self::finish). No samples are taken then.
    pub fn accept<'a>(&mut self, samples: impl Into<Samples<'a>>) -> Result<(), Error> {
        if self.finished {
            return Err(Error::AfterEnd);
        }
        let samples = samples.into();
        samples.check_finite()?;
        match &mut self.emphasized {
            None => self.features.accept(samples),
            Some(emphasized) => {
                self.samples.clear();
                emphasized.accept(samples, &mut self.samples);
                self.features.accept(Samples::F32(&self.samples))
            }
        }
    }

    /// Marks the end of the samples: the last rows become ready.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if let Some(emphasized) = &mut self.emphasized {
            self.samples.clear();
            emphasized.finish(&mut self.samples);
            self.features.accept(Samples::F32(&self.samples)).expect("the features are not finished");
        }
        self.features.finish();
        self.finished = true;
    }

    /// Returns `true` if the input is finished.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Appends the rows that are ready to `out`, and returns their number.
    pub fn take_rows(&mut self, out: &mut Vec<f32>) -> usize {
        let begin = out.len();
        self.rows.clear();
        self.features.take_rows(&mut self.rows);
        if self.rate.is_identity() {
            out.extend_from_slice(&self.rows);
        } else {
            for row in self.rows.chunks_exact(self.dim) {
                self.rate.accept(row, out).expect("rows of the features");
            }
            if self.finished && !self.ended {
                self.rate.finish(out);
                self.ended = true;
            }
        }
        if let Some(cmvn) = &self.cmvn {
            out[begin..].chunks_exact_mut(cmvn.dim()).for_each(|row| cmvn.apply_row(row));
        }
        (out.len() - begin) / self.dim()
    }
}
