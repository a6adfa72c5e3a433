//! What a network is.

use std::fmt;

use lod::LodTensor;

use crate::error::Error;

/// Utterances by their names, with their rows: features of frames, or samples.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    names: &'a [&'a str],
    rows: &'a LodTensor<f32>,
}

impl<'a> Batch<'a> {
    /// Utterances of these names; the last level of the rows are the utterances.
    ///
    /// # Errors
    /// [`Error::Names`] if there is not a name for each utterance.
    pub fn new(names: &'a [&'a str], rows: &'a LodTensor<f32>) -> Result<Self, Error> {
        if names.len() != rows.num_sequences() || rows.lod().is_none() {
            return Err(Error::Names { names: names.len(), utterances: rows.num_sequences() });
        }
        Ok(Self { names, rows })
    }

    /// The names of the utterances.
    pub fn names(&self) -> &'a [&'a str] {
        self.names
    }

    /// The rows of all utterances.
    pub fn rows(&self) -> &'a LodTensor<f32> {
        self.rows
    }
}

/// A network that gives log-probabilities of tokens; or the encoder of a transducer, which gives rows
/// for a [`Predictor`](crate::Predictor) in their place.
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
///     fn num_inputs(&self) -> Option<usize> {
///         Some(40)
///     }
///     fn num_outputs(&self) -> usize {
///         3
///     }
///     fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
///         let rows = batch.rows().num_rows();
///         Ok(LodTensor::from_vec([rows, 3], vec![-3.0_f32.ln(); 3 * rows], batch.rows().lod().clone())?)
///     }
/// }
/// ```
pub trait Network: fmt::Debug + Send + Sync {
    /// How many values a row of the input has: 1 for samples; `None` for a network that looks at
    /// the names alone, as [`Recorded`](crate::Recorded) does.
    fn num_inputs(&self) -> Option<usize>;

    /// How many tokens there are; of an encoder, values of a row.
    fn num_outputs(&self) -> usize;

    /// The names of all utterances that there are, in order, of a network that looks at names alone.
    fn utterances(&self) -> &[String] {
        &[]
    }

    /// How many rows of the input there are for a row of the output.
    fn subsampling(&self) -> usize {
        1
    }

    /// The log-probabilities, or the encoder's rows, of each utterance: `[rows, num_outputs]`, with as
    /// many sequences as the batch has.
    ///
    /// # Errors
    /// [`Error::Rows`] for rows of another width, and what the network refuses.
    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error>;

    /// A stream for one utterance.
    ///
    /// # Errors
    /// [`Error::NoStream`] for a network that needs whole utterances.
    fn stream(&self) -> Result<Box<dyn NetworkStream + '_>, Error> {
        Err(Error::NoStream { because: "it has no streams" })
    }
}

/// An utterance whose rows come in chunks, and the state of a network in it.
pub trait NetworkStream: fmt::Debug + Send {
    /// The rows of the result that more rows allow to compute, row by row; perhaps none.
    ///
    /// # Errors
    /// [`Error::Rows`] for values that are no whole rows, and what the network refuses.
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;

    /// The rows of the result for the last rows and for what is left. The stream is then before its
    /// first row again.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error>;
}
