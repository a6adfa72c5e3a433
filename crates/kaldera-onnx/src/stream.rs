//! Utterances in chunks, for networks with states.

use kaldera_network::{Error as NetworkError, NetworkStream};

use crate::layout::Layout;
use crate::network::OnnxNetwork;
use crate::session::Tensor;
use crate::states::Chunk;

/// 0.3 s: rows each 10 ms, or samples of 16 kHz.
const TAIL_ROWS: usize = 30;
const TAIL_SAMPLES: usize = 4800;

/// The value of features of digital silence: the logarithm of the smallest energy of Kaldi's
/// filterbank, 2^-23.
const SILENCE: f32 = -15.942_385;

/// Returns the default rows after an utterance. Networks with little right context emit a token
/// late, and icefall's `onnx_pretrained-streaming.py` adds 0.3 s of silence.
pub(crate) fn usual_tail(layout: Layout, width: usize) -> Vec<f32> {
    match layout.takes_samples() {
        true => vec![0.0; TAIL_SAMPLES],
        false => vec![SILENCE; TAIL_ROWS * width],
    }
}

/// The state that a network carries from one chunk to the next.
#[derive(Debug)]
pub(crate) struct Carried {
    /// By state.
    pub(crate) values: Vec<Tensor>,
    /// Number of frames of the result so far.
    pub(crate) frames: usize,
}

/// An utterance whose rows come in chunks.
#[derive(Debug)]
pub(crate) struct ChunkStream<'n> {
    network: &'n OnnxNetwork,
    chunk: Chunk,
    /// The rows from the start of the next chunk on.
    rows: Vec<f32>,
    /// The number of the first of these rows.
    first: usize,
    carried: Carried,
}

impl<'n> ChunkStream<'n> {
    pub(crate) fn new(network: &'n OnnxNetwork, chunk: Chunk) -> Self {
        Self { network, chunk, rows: vec![], first: 0, carried: network.first_carried() }
    }

    /// Runs all complete chunks.
    fn run(&mut self) -> Result<Vec<f32>, String> {
        let width = self.network.width();
        let (size, shift) = (self.chunk.rows * width, self.chunk.shift * width);
        let (mut results, mut start) = (vec![], 0);
        while self.rows.len() - start >= size {
            let chunk = self.rows[start..start + size].to_vec();
            let result = self.network.rows_of(chunk, self.chunk.rows, Some(&mut self.carried));
            results.append(&mut result.map_err(|reason| format!("the chunk at row {}: {reason}", self.first))?);
            start += shift;
            self.first += self.chunk.shift;
        }
        self.rows.drain(..start);
        Ok(results)
    }

    fn push(&mut self, rows: &[f32]) -> Result<(), NetworkError> {
        let width = self.network.width();
        if !rows.len().is_multiple_of(width) {
            return Err(NetworkError::Rows { expected: width, found: rows.len() });
        }
        if let Some(at) = rows.iter().position(|value| !value.is_finite()) {
            let row = self.first + (self.rows.len() + at) / width;
            return Err(refused(format!("row {row}: {} is not finite", rows[at])));
        }
        self.rows.extend_from_slice(rows);
        Ok(())
    }
}

/// Returns an error without the name of the utterance, which a stream does not know.
fn refused(reason: String) -> NetworkError {
    NetworkError::Runtime { utterance: String::new(), reason }
}

impl NetworkStream for ChunkStream<'_> {
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
        self.push(rows)?;
        self.run().map_err(refused)
    }

    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
        self.push(rows)?;
        let mut results = self.run().map_err(refused)?;
        if self.first > 0 || !self.rows.is_empty() {
            let (width, tail) = (self.network.width(), self.network.tail());
            self.rows.extend_from_slice(tail);
            // The next chunk starts with the remaining rows and the tail: run chunks until one
            // contains the last of these rows.
            let left = self.rows.len() / width;
            let chunks = left.div_ceil(self.chunk.shift);
            let rows = (chunks - 1) * self.chunk.shift + self.chunk.rows;
            let silence = &tail[tail.len() - width..];
            self.rows.extend(silence.iter().cycle().take((rows - left) * width));
            results.append(&mut self.run().map_err(refused)?);
        }
        *self = Self::new(self.network, self.chunk);
        Ok(results)
    }
}
