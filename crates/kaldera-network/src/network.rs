//! Traits of a network and of its streams.

use std::fmt;

use lod::LodTensor;

use crate::error::Error;

/// Names of utterances and their rows: features of frames, or samples.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    names: &'a [&'a str],
    rows: &'a LodTensor<f32>,
}

impl<'a> Batch<'a> {
    /// Creates a batch of utterances with these names. The last level of the rows has the
    /// utterances.
    ///
    /// # Errors
    /// [`Error::Names`] if the number of names differs from the number of utterances.
    pub fn new(names: &'a [&'a str], rows: &'a LodTensor<f32>) -> Result<Self, Error> {
        if names.len() != rows.num_sequences() || rows.lod().is_none() {
            return Err(Error::Names { names: names.len(), utterances: rows.num_sequences() });
        }
        Ok(Self { names, rows })
    }

    /// Returns the names of the utterances.
    pub fn names(&self) -> &'a [&'a str] {
        self.names
    }

    /// Returns the rows of all utterances.
    pub fn rows(&self) -> &'a LodTensor<f32> {
        self.rows
    }
}

/// A network that gives log-probabilities of tokens, or the encoder of a transducer, which gives
/// rows for a [`Predictor`](crate::Predictor) instead.
///
/// Implement it for another runtime; `Recognizer::new` of the facade takes it.
///
/// ```
/// use kaldera_network::{Batch, Error, LodTensor, Network};
///
/// /// Says that all of three tokens are equally probable.
/// #[derive(Debug)]
/// struct Undecided;
///
/// impl Network for Undecided {
///     fn num_inputs(&self) -> usize {
///         40
///     }
///     fn num_outputs(&self) -> usize {
///         3
///     }
///     fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
///         let rows = batch.rows().num_rows();
///         Ok(LodTensor::from_vec(
///             [rows, 3],
///             vec![-3.0_f32.ln(); 3 * rows],
///             batch.rows().lod().clone()
///         )?)
///     }
/// }
/// ```
pub trait Network: fmt::Debug + Send + Sync {
    /// Returns the number of values of an input row: 1 for samples.
    fn num_inputs(&self) -> usize;

    /// Returns the number of tokens; for an encoder, the number of values of a row.
    fn num_outputs(&self) -> usize;

    /// Returns the number of input rows per output row.
    fn subsampling(&self) -> usize {
        1
    }

    /// Returns the number of output rows per input row, of a network with more of them.
    fn upsampling(&self) -> usize {
        1
    }

    /// Computes the log-probabilities, or the encoder's rows, of each utterance: `[rows,
    /// num_outputs]`, with as many sequences as the batch has.
    ///
    /// # Errors
    /// [`Error::Rows`] for rows of another width, and the errors of the network.
    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error>;

    /// Creates a stream for one utterance.
    ///
    /// # Errors
    /// [`Error::NoStream`] for a network that needs whole utterances.
    fn stream(&self) -> Result<Box<dyn NetworkStream + '_>, Error> {
        Err(Error::NoStream { because: "it has no streams" })
    }
}

/// An utterance whose rows come in chunks, and the state of a network within it.
pub trait NetworkStream: fmt::Debug + Send {
    /// Takes more rows, and returns the rows of the result that are complete, row by row; perhaps
    /// none.
    ///
    /// # Errors
    /// [`Error::Rows`] for values that are not whole rows, and the errors of the network.
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;

    /// Takes the last rows, and returns the remaining rows of the result. It resets the stream to
    /// its start.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;
}
