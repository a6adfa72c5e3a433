//! Streams: features come in, and rows of the output go out as soon as a chunk is complete.

use std::sync::{Arc, PoisonError};

use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::buffers::Buffers;
use crate::error::Error;
use crate::execute::execute;
use crate::looped::LoopedNetwork;

/// Most buffers that are kept for the next chunks.
const MAX_POOL: usize = 64;

/// A stream of features through a network.
///
/// The rows of the output do not depend on how the features are divided, as long as each chunk sees
/// the same i-vector.
#[derive(Clone, Debug)]
pub struct Stream {
    network: Arc<LoopedNetwork>,
    /// Rows of earlier chunks that the next chunk needs, by node.
    kept: Vec<Vec<f32>>,
    /// Rows of chunks that are not computed, after values that are not needed any more.
    pending: Vec<f32>,
    /// Number of these values.
    spent: usize,
    /// Number of frames that came in.
    frames: usize,
    /// Number of chunks that are computed.
    chunks: usize,
    /// Output rows that nobody has taken.
    output: Vec<f32>,
    /// Number of output rows so far.
    rows: usize,
    finished: bool,
    /// The last frame.
    last: Vec<f32>,
}

impl LoopedNetwork {
    /// Starts a stream.
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream {
            network: Arc::clone(self),
            kept: vec![Vec::new(); self.network.graph.entries.len()],
            pending: Vec::new(),
            spent: 0,
            frames: 0,
            chunks: 0,
            output: Vec::new(),
            rows: 0,
            finished: false,
            last: Vec::new(),
        }
    }

    /// Computes a chunk of each stream that has one, all in one pass. `ivectors` has the i-vector
    /// of each stream's chunk; empty ones, or none at all, for a network without. Returns the
    /// number of streams that had a chunk.
    ///
    /// ```text
    /// while LoopedNetwork::advance(&mut streams, &ivectors)? > 0 {}
    /// ```
    ///
    /// # Errors
    /// [`Error`] for an i-vector of another dimension, and streams of another network; then nothing
    /// is computed.
    pub fn advance(self: &Arc<Self>, streams: &mut [&mut Stream], ivectors: &[&[f32]]) -> Result<usize, Error> {
        if streams.iter().any(|stream| !Arc::ptr_eq(self, &stream.network)) {
            return Err(Error::Unsupported { problem: "a stream is of another network".into() });
        }
        let ivector = |stream: usize| ivectors.get(stream).copied().unwrap_or_default();
        for (number, stream) in streams.iter().enumerate() {
            if stream.ready() {
                self.network.check_ivector(ivector(number).len())?;
            }
        }
        let mut ready: Vec<(&mut Stream, &[f32])> = Vec::new();
        for (number, stream) in streams.iter_mut().enumerate() {
            if stream.ready() {
                ready.push((&mut **stream, ivector(number)));
            }
        }
        let count = ready.len();
        let last = self.plans.len() - 1;
        ready.sort_by_key(|(stream, _)| stream.chunks.min(last));
        for group in ready.chunk_by_mut(|a, b| a.0.chunks.min(last) == b.0.chunks.min(last)) {
            self.compute(group);
        }
        Ok(count)
    }

    /// Computes a chunk of streams that have the same plan.
    fn compute(&self, streams: &mut [(&mut Stream, &[f32])]) {
        let graph = &self.network.graph;
        let Some((first, _)) = streams.first() else { return };
        let (plan, next) = (self.plan_of(first.chunks), self.plan_of(first.chunks + 1));
        let mut work = self.take_buffers(streams.len());
        let (input, width) = self.network.input;
        for ((stream, ivector), work) in streams.iter_mut().zip(&mut work) {
            std::mem::swap(&mut work.kept, &mut stream.kept);
            work.begin(graph, plan);
            let values = self.frames_of(stream.chunks) * width;
            work.new_rows(graph, plan, input).copy_from_slice(&stream.pending[stream.spent..][..values]);
            stream.spend(values);
            if let Some((node, width)) = self.network.ivector {
                let rows = work.new_rows(graph, plan, node).chunks_exact_mut(width);
                rows.for_each(|row| row.copy_from_slice(ivector));
            }
        }
        execute(graph, plan, Some(next), &mut work.iter_mut().collect::<Vec<_>>());
        for ((stream, _), work) in streams.iter_mut().zip(&mut work) {
            stream.chunks += 1;
            let before = stream.output.len();
            self.network.take_outputs(plan, work, &mut stream.output);
            let width = self.output_dim();
            let rows = (stream.output.len() - before) / width;
            // Rows after the last frame are of copies of it.
            let most = if stream.finished { stream.total_rows() - stream.rows } else { rows };
            stream.rows += rows.min(most);
            stream.output.truncate(before + rows.min(most) * width);
            work.end(graph, Some(next));
            std::mem::swap(&mut work.kept, &mut stream.kept);
        }
        self.give_buffers(work);
    }

    /// Takes buffers that were used before, or new ones.
    fn take_buffers(&self, count: usize) -> Vec<Buffers> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let from = pool.len().saturating_sub(count);
        let mut taken = pool.split_off(from);
        drop(pool);
        taken.resize_with(count, || Buffers::new(&self.network.graph));
        taken
    }

    fn give_buffers(&self, buffers: Vec<Buffers>) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.extend(buffers);
        pool.truncate(MAX_POOL);
    }
}

impl Stream {
    /// Adds frames, and computes all chunks that they complete with the i-vector, which is empty
    /// for a network without. Returns the new rows of the output.
    ///
    /// # Errors
    /// [`Error`] for features or an i-vector of another width, and after [`Self::finish`].
    pub fn accept<S: Storage<Elem = f32>>(
        &mut self,
        features: &MatrixBase<S>,
        ivector: &[f32],
    ) -> Result<Matrix<f32>, Error> {
        self.push(features)?;
        let network = Arc::clone(&self.network);
        while network.advance(&mut [&mut *self], &[ivector])? > 0 {}
        Ok(self.take_output())
    }

    /// Ends the stream: as many copies of the last frame as the last rows need follow. Returns the
    /// last rows of the output.
    ///
    /// # Errors
    /// [`Error`] for an i-vector of another width.
    pub fn finish(&mut self, ivector: &[f32]) -> Result<Matrix<f32>, Error> {
        self.end();
        let network = Arc::clone(&self.network);
        while network.advance(&mut [&mut *self], &[ivector])? > 0 {}
        Ok(self.take_output())
    }

    /// Adds frames without computing.
    ///
    /// # Errors
    /// [`Error`] for features of another width, and after [`Self::end`].
    pub fn push<S: Storage<Elem = f32>>(&mut self, features: &MatrixBase<S>) -> Result<(), Error> {
        if features.num_rows() > 0 {
            self.network.network.check_width(features.num_cols())?;
        }
        features.rows().try_for_each(|row| self.push_row(row))
    }

    /// Adds a frame without computing.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_row(&mut self, frame: &[f32]) -> Result<(), Error> {
        self.network.network.check_width(frame.len())?;
        if self.finished {
            return Err(Error::Unsupported { problem: "the stream has ended".into() });
        }
        if self.frames == 0 {
            self.pending = frame.repeat(self.network.left.unsigned_abs() as usize);
        }
        self.frames += 1;
        self.pending.extend_from_slice(frame);
        self.last.clear();
        self.last.extend_from_slice(frame);
        Ok(())
    }

    /// Says that no frames follow, without computing.
    pub fn end(&mut self) {
        if std::mem::replace(&mut self.finished, true) || self.frames == 0 {
            return;
        }
        // Rows of the chunks that are still to be computed.
        let chunk_rows = self.network.frames_per_chunk() / self.network.frame_subsampling_factor();
        let chunks = (self.total_rows() - self.rows).div_ceil(chunk_rows);
        let frames: usize = (self.chunks..self.chunks + chunks).map(|chunk| self.network.frames_of(chunk)).sum();
        let width = self.network.input_dim();
        let have = self.pending().len() / width;
        self.pending.extend(self.last.repeat(frames.saturating_sub(have)));
    }

    /// Returns `true` if there are frames for a chunk.
    pub fn ready(&self) -> bool {
        let done = self.finished && self.rows >= self.total_rows();
        !done
            && self.frames > 0
            && self.pending().len() >= self.network.frames_of(self.chunks) * self.network.input_dim()
    }

    /// Returns the number of frames that are missing for the next chunk.
    pub fn frames_to_chunk(&self) -> usize {
        let left = if self.frames == 0 { self.network.left.unsigned_abs() as usize } else { 0 };
        let have = self.pending().len() / self.network.input_dim() + left;
        self.network.frames_of(self.chunks).saturating_sub(have)
    }

    /// Returns the number of frames that came in.
    pub fn num_frames(&self) -> usize {
        self.frames
    }

    /// Returns the number of rows of the output that are computed.
    pub fn num_output_rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows of the output that nobody has taken.
    pub fn take_output(&mut self) -> Matrix<f32> {
        let width = self.network.output_dim();
        let values = std::mem::take(&mut self.output);
        let rows = values.len() / width;
        Matrix::from_vec(rows, if rows > 0 { width } else { 0 }, values).expect("whole rows were computed")
    }

    /// Returns the rows of chunks that are not computed.
    fn pending(&self) -> &[f32] {
        &self.pending[self.spent..]
    }

    /// Drops values, not each time from memory: the others would be moved as often.
    fn spend(&mut self, values: usize) {
        self.spent += values;
        if self.spent > self.pending.len() / 2 {
            self.pending.drain(..self.spent);
            self.spent = 0;
        }
    }

    /// Returns the number of output rows that the frames so far have.
    fn total_rows(&self) -> usize {
        self.frames.div_ceil(self.network.frame_subsampling_factor())
    }
}
