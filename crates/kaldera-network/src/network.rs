//! Traits of a network and of its streams.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

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

    /// Creates a stream for one utterance, which keeps the network alive.
    ///
    /// # Errors
    /// [`Error::NoStream`] for a network that needs whole utterances.
    fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, Error> {
        Err(Error::NoStream { because: "it has no streams" })
    }

    /// Returns the maximum number of its streams that it runs over in one pass.
    fn max_streams(&self) -> usize {
        1
    }

    /// Takes more rows of each of these streams of the network, in passes over up to
    /// [`max_streams`](Self::max_streams) of them. There is a result for each stream, in their
    /// order; the other streams change it at most by rounding.
    ///
    /// # Errors
    /// For each stream as [`NetworkStream::accept`]; [`Error::OtherNetwork`] from a network with
    /// passes.
    fn accept_all(&self, streams: &mut [(&mut dyn NetworkStream, &[f32])]) -> Vec<Result<Vec<f32>, Error>> {
        streams.iter_mut().map(|(stream, rows)| stream.accept(rows)).collect()
    }
}

/// Returns streams, with their rows, as the type that [`Network::accept_all`] of a network expects.
///
/// # Errors
/// [`Error::OtherNetwork`] if one is of another type.
pub fn streams_of<'s, 'r, S: NetworkStream>(
    streams: &'s mut [(&mut dyn NetworkStream, &'r [f32])],
) -> Result<Vec<(&'s mut S, &'r [f32])>, Error> {
    let own = |stream: &'s mut dyn NetworkStream| (stream as &mut dyn Any).downcast_mut().ok_or(Error::OtherNetwork);
    streams.iter_mut().map(|(stream, rows)| Ok((own(&mut **stream)?, *rows))).collect()
}

/// An utterance whose rows come in chunks, and the state of a network within it.
pub trait NetworkStream: Any + fmt::Debug + Send {
    /// Takes more rows, and returns the rows of the result that are complete, row by row; perhaps
    /// none. After an error of the network the stream lacks rows.
    ///
    /// # Errors
    /// [`Error::Rows`] for values that are not whole rows, and the errors of the network.
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;

    /// Returns the number of rows, at least 1, that must come before [`accept`](Self::accept) has
    /// more of the result.
    fn rows_before_result(&self) -> usize {
        1
    }

    /// Takes the last rows, and returns the remaining rows of the result. It resets the stream to
    /// its start.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;
}
