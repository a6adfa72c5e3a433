//! Utterances in chunks, for networks with states.

use std::sync::Arc;

use kaldera_network::{Error as NetworkError, Network as _, NetworkStream};

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
#[derive(Debug, Clone)]
pub(crate) struct Carried {
    /// By state.
    pub(crate) values: Vec<Tensor>,
    /// Number of frames of the result so far.
    pub(crate) frames: usize,
}

/// The chunks of an utterance.
#[derive(Debug)]
pub(crate) struct Chunks {
    chunk: Chunk,
    /// Rows whose chunks have not run, after `done` values of chunks that have run.
    rows: Vec<f32>,
    done: usize,
    /// Number of the first row of the next chunk.
    first: usize,
    carried: Carried,
}

impl Chunks {
    pub(crate) fn new(network: &OnnxNetwork, chunk: Chunk) -> Self {
        Self { chunk, rows: vec![], done: 0, first: 0, carried: network.first_carried() }
    }

    /// Takes more rows.
    fn push(&mut self, width: usize, rows: &[f32]) -> Result<(), NetworkError> {
        if !rows.len().is_multiple_of(width) {
            return Err(NetworkError::Rows { expected: width, found: rows.len() });
        }
        if let Some(at) = rows.iter().position(|value| !value.is_finite()) {
            let row = self.first + (self.rows.len() - self.done + at) / width;
            return Err(refused(format!("row {row}: {} is not finite", rows[at])));
        }
        self.rows.drain(..std::mem::take(&mut self.done));
        self.rows.extend_from_slice(rows);
        Ok(())
    }

    /// Takes the last rows, and the rows after them that complete the last chunk.
    fn push_last(&mut self, network: &OnnxNetwork, rows: &[f32]) -> Result<(), NetworkError> {
        let (width, tail) = (network.width(), network.tail());
        self.push(width, rows)?;
        if self.first > 0 || !self.rows.is_empty() {
            self.rows.extend_from_slice(tail);
            // Run chunks until one contains the last of these rows.
            let left = self.rows.len() / width;
            let chunks = left.div_ceil(self.chunk.shift);
            let rows = (chunks - 1) * self.chunk.shift + self.chunk.rows;
            let silence = &tail[tail.len() - width..];
            self.rows.extend(silence.iter().cycle().take((rows - left) * width));
        }
        Ok(())
    }

    /// Returns the rows of the next chunk, if it is complete.
    fn next(&mut self, width: usize) -> Option<Vec<f32>> {
        let chunk = self.rows[self.done..].get(..self.chunk.rows * width)?.to_vec();
        self.done += self.chunk.shift * width;
        Some(chunk)
    }

    /// Returns the result of an utterance that is complete.
    pub(crate) fn whole(mut self, network: &OnnxNetwork, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
        self.push_last(network, rows)?;
        self.run(network)
    }

    fn run(&mut self, network: &OnnxNetwork) -> Result<Vec<f32>, NetworkError> {
        run(network, &mut [self]).pop().unwrap_or_else(|| Ok(vec![]))
    }
}

/// Runs all complete chunks, of several utterances at once if the network can. An error is of one
/// utterance.
fn run(network: &OnnxNetwork, all: &mut [&mut Chunks]) -> Vec<Result<Vec<f32>, NetworkError>> {
    let mut results: Vec<_> = all.iter().map(|_| Ok(vec![])).collect();
    loop {
        let mut complete = vec![];
        for (chunks, result) in all.iter_mut().zip(&mut results).filter(|(_, result)| result.is_ok()) {
            complete.extend(chunks.next(network.width()).map(|rows| (rows, chunks, result)));
        }
        if complete.is_empty() {
            return results;
        }
        for group in complete.chunks_mut(network.max_streams()) {
            let runs = group.iter_mut().map(|(rows, chunks, _)| (std::mem::take(rows), &mut chunks.carried));
            let found = network.rows_of_chunks(runs.collect());
            for ((_, chunks, result), found) in group.iter_mut().zip(found) {
                let found = found.map_err(|reason| refused(format!("the chunk at row {}: {reason}", chunks.first)));
                match (found, &mut **result) {
                    (Ok(mut rows), Ok(all)) => all.append(&mut rows),
                    (found, result) => *result = found,
                }
                chunks.first += chunks.chunk.shift;
            }
        }
    }
}

/// Returns an error without the name of the utterance, which a stream does not know.
fn refused(reason: String) -> NetworkError {
    NetworkError::Runtime { utterance: String::new(), reason }
}

/// An utterance whose rows come in chunks.
#[derive(Debug)]
pub(crate) struct ChunkStream {
    network: Arc<OnnxNetwork>,
    chunks: Chunks,
}

impl ChunkStream {
    pub(crate) fn new(network: Arc<OnnxNetwork>, chunk: Chunk) -> Self {
        Self { chunks: Chunks::new(&network, chunk), network }
    }

    /// Takes more rows of each stream of a network, and returns their results.
    pub(crate) fn accept_all(
        network: &OnnxNetwork,
        streams: Vec<(&mut Self, &[f32])>,
    ) -> Vec<Result<Vec<f32>, NetworkError>> {
        let mut all = vec![];
        let mut results = vec![];
        for (stream, rows) in streams {
            let pushed = match std::ptr::eq(&raw const *stream.network, network) {
                true => stream.chunks.push(network.width(), rows),
                false => Err(NetworkError::OtherNetwork),
            };
            results.push(pushed.map(|()| all.push(&mut stream.chunks)));
        }
        let mut found = run(network, &mut all).into_iter();
        results.into_iter().map(|pushed| pushed.and_then(|()| found.next().unwrap_or_else(|| Ok(vec![])))).collect()
    }
}

impl NetworkStream for ChunkStream {
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
        self.chunks.push(self.network.width(), rows)?;
        self.chunks.run(&self.network)
    }

    fn rows_before_result(&self) -> usize {
        let Chunks { chunk, rows, done, .. } = &self.chunks;
        chunk.rows.saturating_sub((rows.len() - done) / self.network.width()).max(1)
    }

    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
        let next = Chunks::new(&self.network, self.chunks.chunk);
        std::mem::replace(&mut self.chunks, next).whole(&self.network, rows)
    }
}
