//! Streams that take rows one by one, and return rows.

use std::fmt::Debug;

use crate::error::Error;
use crate::state::{StateReader, StateWriter};

/// Makes rows of features from rows of features as they arrive: deltas, spliced frames, normalised
/// ones.
///
/// The output equals the output of the function for whole matrices bit for bit, whenever it is
/// returned. Memory is bounded by the options, not by the length of the stream, unless a type says
/// otherwise.
///
/// ```
/// use kaldi_feat::{DeltaFeatures, DeltaFeaturesOptions, RowStream, RowWindow};
///
/// let deltas = DeltaFeatures::new(DeltaFeaturesOptions::default().with_delta_order(1))?;
/// let mut stream = deltas.stream(1);
/// let mut out = Vec::new();
/// for x in [0.0, 1.0, 2.0] {
///     stream.accept(&[x], &mut out)?; // a row comes out as soon as the two after it are there
/// }
/// assert_eq!(out, [0.0, 0.5]);
/// stream.finish(&mut out);
/// assert_eq!(out.len(), 6);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
pub trait RowStream: Debug + Send {
    /// Returns the number of columns of input rows.
    fn input_dim(&self) -> usize;
    /// Returns the number of columns of output rows.
    fn output_dim(&self) -> usize;

    /// Takes a row, and appends to `out` the rows that are ready now, one after the other.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] for a row of another length; there is no other error.
    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error>;

    /// Marks the end of the rows: appends all remaining rows to `out`. The stream is then as new,
    /// for the next utterance.
    fn finish(&mut self, out: &mut Vec<f32>);

    /// Returns the state for continuing from here, in this process or another.
    fn save_state(&self) -> Vec<u8>;

    /// Continues from the point where `state` was saved, by a stream with the same options.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not such a state; the stream is then unchanged.
    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error>;
}

pub(crate) fn check_row(row: &[f32], dim: usize) -> Result<(), Error> {
    if row.len() == dim {
        return Ok(());
    }
    Err(Error::DimMismatch { what: "a row", expected: dim, found: row.len() })
}

/// A chain of row streams.
///
/// ```
/// use kaldi_feat::{DeltaFeatures, RowChain, RowStream, RowWindow, SlidingWindowCmn};
///
/// let cmn = SlidingWindowCmn::new(Default::default())?;
/// let mut chain = RowChain::new(13);
/// chain.push(cmn.stream(13))?;
/// chain.push(DeltaFeatures::new(Default::default())?.stream(13))?;
/// assert_eq!(chain.output_dim(), 39);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug)]
pub struct RowChain {
    dim: usize,
    links: Vec<Box<dyn RowStream>>,
    /// Rows between two links.
    between: [Vec<f32>; 2],
}

impl RowChain {
    /// Creates a chain without a link: it returns rows of `dim` columns unchanged.
    pub fn new(dim: usize) -> Self {
        Self { dim, links: Vec::new(), between: Default::default() }
    }

    /// Adds a link at the end.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if its input rows have another length than the chain's output rows.
    pub fn push(&mut self, link: impl RowStream + 'static) -> Result<(), Error> {
        let (expected, found) = (self.output_dim(), link.input_dim());
        if expected != found {
            return Err(Error::DimMismatch { what: "the input of the next link", expected, found });
        }
        self.links.push(Box::new(link));
        Ok(())
    }

    /// Passes the rows in `between[0]` through the links from `first` on.
    fn hand_on(&mut self, first: usize, out: &mut Vec<f32>) -> Result<(), Error> {
        for link in &mut self.links[first..] {
            let [from, to] = &mut self.between;
            to.clear();
            for row in from.chunks_exact(link.input_dim().max(1)) {
                link.accept(row, to)?;
            }
            self.between.swap(0, 1);
        }
        out.extend_from_slice(&self.between[0]);
        Ok(())
    }
}

impl RowStream for RowChain {
    fn input_dim(&self) -> usize {
        self.dim
    }

    fn output_dim(&self) -> usize {
        self.links.last().map_or(self.dim, |link| link.output_dim())
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.dim)?;
        self.between[0].clear();
        self.between[0].extend_from_slice(row);
        self.hand_on(0, out)
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        for first in 0..self.links.len() {
            self.between[0].clear();
            self.links[first].finish(&mut self.between[0]);
            self.hand_on(first + 1, out).expect("the links fit each other");
        }
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"chain   ", &format!("{} {}", self.dim, self.links.len()));
        for link in &self.links {
            state.bytes(&link.save_state());
        }
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"chain   ", &format!("{} {}", self.dim, self.links.len()))?;
        let states: Vec<&[u8]> = self.links.iter().map(|_| state.bytes()).collect::<Result<_, _>>()?;
        state.finish()?;
        let before: Vec<Vec<u8>> = self.links.iter().map(|link| link.save_state()).collect();
        for (i, state) in states.iter().enumerate() {
            if let Err(error) = self.links[i].restore_state(state) {
                for (link, before) in self.links.iter_mut().zip(&before) {
                    link.restore_state(before).expect("a state that the link itself has saved");
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
