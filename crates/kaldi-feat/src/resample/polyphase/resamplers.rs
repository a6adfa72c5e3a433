//! Resamplers that are made once.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::resample::polyphase::PolyphaseResample;

/// So many rates are kept: recordings have few.
const MAX_KEPT: usize = 8;

/// The resamplers to one rate, each made when the first signal of its rate comes.
///
/// ```
/// use kaldi_feat::Resamplers;
///
/// let to_16_khz = Resamplers::new(16_000.0);
/// assert!(to_16_khz.get(16_000.0)?.is_none()); // nothing to do
/// let resampler = to_16_khz.get(48_000.0)?.expect("another rate");
/// assert_eq!(resampler.resample(&[0.0; 480]).len(), 160);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug)]
pub struct Resamplers {
    samp_rate_out: f32,
    kept: Mutex<Vec<(f32, Arc<PolyphaseResample>)>>,
}

impl Resamplers {
    /// To `samp_rate_out` Hz.
    pub fn new(samp_rate_out: f32) -> Self {
        Self { samp_rate_out, kept: Mutex::default() }
    }

    /// The rate of what comes out, Hz.
    pub fn samp_rate_out(&self) -> f32 {
        self.samp_rate_out
    }

    /// The one from `samp_rate_in` Hz; none where that is the rate already.
    ///
    /// # Errors
    /// Those of [`PolyphaseResample::new`].
    pub fn get(&self, samp_rate_in: f32) -> Result<Option<Arc<PolyphaseResample>>, Error> {
        if samp_rate_in == self.samp_rate_out {
            return Ok(None);
        }
        // No call leaves the list half changed.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept.iter().find(|(rate, _)| *rate == samp_rate_in) {
            return Ok(Some(Arc::clone(found)));
        }
        let made = Arc::new(PolyphaseResample::new(samp_rate_in, self.samp_rate_out)?);
        kept.truncate(MAX_KEPT - 1);
        kept.insert(0, (samp_rate_in, Arc::clone(&made)));
        Ok(Some(made))
    }
}
