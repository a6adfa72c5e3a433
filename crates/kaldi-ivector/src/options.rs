//! Options of the estimation of i-vectors in streams.

use crate::error::Error;
use crate::posteriors::check_selection;

/// Options of the estimation of i-vectors in streams. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(alias = "OnlineIvectorExtractionConfig")]
pub struct IvectorOptions {
    /// Number of frames from one i-vector to the next, without
    /// [`use_most_recent_ivector`](Self::use_most_recent_ivector).
    pub ivector_period: usize,
    /// The largest number of Gaussians for a frame.
    pub num_gselect: usize,
    /// Posteriors below it are left out.
    pub min_post: f32,
    /// Factor of posteriors: neighbouring frames are not independent.
    pub posterior_scale: f32,
    /// The count of frames (times `posterior_scale`) from which the prior becomes stronger; 0 = it
    /// never does. Vosk's recognisers have 100.
    pub max_count: f32,
    /// Steps of conjugate gradients, each time from the last i-vector.
    pub num_cg_iters: usize,
    /// Give the newest i-vector for each frame, instead of one for each period.
    pub use_most_recent_ivector: bool,
    /// Look at all frames that are there, also at those after the frame that is asked for. It
    /// implies `use_most_recent_ivector`.
    pub greedy_ivector_extractor: bool,
    /// The most frames of a speaker's earlier utterances that count for the next one.
    pub max_remembered_frames: f32,
    /// Accumulate normalised features, not only choose Gaussians by them.
    pub online_cmvn_iextractor: bool,
}

kaldera_base::setters! {
    IvectorOptions:
    ivector_period, with_ivector_period: usize = 10, "With this number of frames from one i-vector to the next.";
    num_gselect, with_num_gselect: usize = 5, "With this largest number of Gaussians for a frame.";
    min_post, with_min_post: f32 = 0.025, "With this smallest posterior.";
    posterior_scale, with_posterior_scale: f32 = 0.1, "With this factor of posteriors.";
    max_count, with_max_count: f32 = 0.0, "With this count from which the prior becomes stronger; 0 = none.";
    num_cg_iters, with_num_cg_iters: usize = 15, "With this number of steps of conjugate gradients.";
    use_most_recent_ivector, with_use_most_recent_ivector: bool = true, "With the newest i-vector for each frame.";
    greedy_ivector_extractor, with_greedy_ivector_extractor: bool = false, "With all frames that are there.";
    max_remembered_frames, with_max_remembered_frames: f32 = 1000.0,
        "With this largest number of frames of earlier utterances.";
    online_cmvn_iextractor, with_online_cmvn_iextractor: bool = false, "With normalised features in the statistics.";
}

impl IvectorOptions {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Option`] for a value out of its range.
    #[doc(alias = "Check")]
    pub fn check(&self) -> Result<(), Error> {
        check_selection(self.num_gselect, self.min_post)?;
        let wrong = |option, value: String, expected| Err(Error::Option { option, value, expected });
        if self.ivector_period == 0 {
            return wrong("ivector_period", self.ivector_period.to_string(), "1 or more");
        }
        if self.min_post >= 0.5 {
            return wrong("min_post", self.min_post.to_string(), "a number from 0 to below 0.5");
        }
        if !(self.posterior_scale > 0.0 && self.posterior_scale <= 1.0) {
            return wrong("posterior_scale", self.posterior_scale.to_string(), "a number above 0, and 1 at most");
        }
        for (option, value) in [("max_count", self.max_count), ("max_remembered_frames", self.max_remembered_frames)] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(option, value.to_string(), "0 or more");
            }
        }
        Ok(())
    }

    /// Returns `true` if the newest i-vector is given for each frame.
    pub(crate) fn gives_newest(&self) -> bool {
        self.use_most_recent_ivector || self.greedy_ivector_extractor
    }
}
