//! Errors, with the values that were wrong.

use kaldi_matrix::codec::CodecError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes or text that are not the expected object.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A step of the computation that has no result.
    #[error(transparent)]
    Matrix(#[from] kaldi_matrix::Error),
    /// Two sizes that must be equal.
    #[error("{what}: expected {expected}, found {found}")]
    Size {
        /// The thing with the wrong size, and its unit.
        what: &'static str,
        /// The right size.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A model without Gaussians or without dimensions.
    #[error("{what} has no elements")]
    Empty {
        /// The part of the model.
        what: &'static str,
    },
    /// A Gaussian whose parameters are not a distribution.
    #[error("Gaussian {gaussian}: {reason}")]
    Gaussian {
        /// The Gaussian, counted from 0.
        gaussian: usize,
        /// The problem.
        reason: &'static str,
    },
    /// A value that an option cannot have.
    #[error("option `{option}` is {value}: expected {expected}")]
    Option {
        /// The field.
        option: &'static str,
        /// The value found.
        value: String,
        /// The values that are accepted, in words.
        expected: &'static str,
    },
    /// Terms of an extractor that would take too much memory.
    #[error("the terms of {gaussians} Gaussians for i-vectors of {dim} elements take too much memory")]
    TooLarge {
        /// Number of Gaussians.
        gaussians: usize,
        /// Number of elements of an i-vector.
        dim: usize,
    },
    /// Log-likelihoods without a largest one: there are none, or one is NaN or infinite.
    #[error("the log-likelihoods of a frame have no finite maximum: its features or the Gaussians are out of range")]
    NoMaximum,
    /// Posteriors that name a Gaussian outside of the model.
    #[error("frame {frame} has a posterior of Gaussian {gaussian}, and the model has {gaussians}")]
    NoGaussian {
        /// The frame.
        frame: usize,
        /// The Gaussian that it names.
        gaussian: i32,
        /// Number of Gaussians of the model.
        gaussians: usize,
    },
    /// The i-vector of a frame that has not arrived.
    #[error("frame {frame} is not there yet: {ready} frames are")]
    NotReady {
        /// The frame.
        frame: usize,
        /// Number of frames so far.
        ready: usize,
    },
    /// A weight of a frame whose rows are no longer held.
    #[error("the weight of frame {frame} comes too late: rows before frame {first} are no longer held")]
    Forgotten {
        /// The frame.
        frame: usize,
        /// The first frame that is held.
        first: usize,
    },
    /// The i-vector of a frame for which no weight was given, in a stream with weights.
    #[error("frame {frame} has no weight yet: weights of this stream must be given before its i-vector is asked for")]
    NoWeight {
        /// The frame.
        frame: usize,
    },
    /// A weight that is not a finite number.
    #[error("the weight of frame {frame} is {weight}: expected a finite number")]
    BadWeight {
        /// The frame.
        frame: usize,
        /// The weight.
        weight: f32,
    },
    /// Weights after i-vectors that were computed without weights.
    #[error("weights come after an i-vector without weights: give the first weights before the first i-vector")]
    WeightsTooLate,
    /// A decoder's path with fewer frames than before.
    #[error("the best path has {found} frames, and had {before} before: start again for each utterance")]
    PathShrank {
        /// Number of frames of the earlier path.
        before: usize,
        /// Number of frames of this path.
        found: usize,
    },
}

/// Checks that two sizes are equal.
pub(crate) fn check_size(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Size { what, expected, found }) }
}
