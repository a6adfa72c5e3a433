//! A cache of resamplers.

use std::sync::{Arc, Mutex};

use crate::error::Error;
use crate::resample::polyphase::PolyphaseResample;

/// Number of pairs of rates that are kept, of at most 1 MiB each: recordings have few.
const MAX_KEPT: usize = 8;

/// The input and output rate of each resampler, and the resampler, as the weights take
/// milliseconds.
///
/// No thread waits for the lock, nor designs a filter under it: if a process forks while another
/// thread holds the lock, it stays locked in the child for ever. The child then designs its own
/// filters.
static KEPT: Mutex<Vec<([f32; 2], Arc<PolyphaseResample>)>> = Mutex::new(Vec::new());

/// The resamplers to one rate, each made when the first signal of its rate arrives. The process
/// shares them, so that a new list costs nothing.
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
#[derive(Debug, Clone)]
pub struct Resamplers {
    samp_rate_out: f32,
}

impl Resamplers {
    /// Creates the resamplers to `samp_rate_out` Hz.
    pub fn new(samp_rate_out: f32) -> Self {
        Self { samp_rate_out }
    }

    /// Returns the sample rate of the output, Hz.
    pub fn samp_rate_out(&self) -> f32 {
        self.samp_rate_out
    }

    /// Returns the resampler from `samp_rate_in` Hz; `None` if that is the rate already.
    ///
    /// # Errors
    /// As [`PolyphaseResample::new`].
    pub fn get(&self, samp_rate_in: f32) -> Result<Option<Arc<PolyphaseResample>>, Error> {
        if samp_rate_in == self.samp_rate_out {
            return Ok(None);
        }
        let rates = [samp_rate_in, self.samp_rate_out];
        if let Ok(kept) = KEPT.try_lock()
            && let Some((_, found)) = kept.iter().find(|(of, _)| *of == rates)
        {
            return Ok(Some(Arc::clone(found)));
        }
        let made = Arc::new(PolyphaseResample::new(samp_rate_in, self.samp_rate_out)?);
        if let Ok(mut kept) = KEPT.try_lock() {
            // Another thread may have designed the same filter.
            kept.retain(|(of, _)| *of != rates);
            kept.truncate(MAX_KEPT - 1);
            kept.insert(0, (rates, Arc::clone(&made)));
        }
        Ok(Some(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list belongs to the process, so all of this is one test.
    #[test]
    fn lists_to_one_rate_share_their_resamplers() {
        let get = |from, to| Resamplers::new(to).get(from).unwrap().unwrap();
        let first = get(48_000.0, 16_000.0);
        assert!(Arc::ptr_eq(&first, &get(48_000.0, 16_000.0)));
        let other = get(48_000.0, 8000.0);
        assert_eq!((other.samp_rate_in(), other.samp_rate_out()), (48_000, 8000));
        for from in 1..=2 * MAX_KEPT {
            get(from as f32 * 1000.0 + 500.0, 16_000.0);
        }
        assert!(KEPT.lock().unwrap().len() <= MAX_KEPT);
        assert_eq!(get(48_000.0, 16_000.0), first);
        // A child of a fork finds the lock held by a thread that it does not have.
        let held = KEPT.lock().unwrap();
        assert_eq!(get(48_000.0, 16_000.0), first);
        drop(held);
        assert!(Resamplers::new(16_000.0).get(f32::NAN).is_err());
    }
}
