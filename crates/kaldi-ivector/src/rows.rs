//! The rows of the last frames of a stream.

/// Rows of frames, counted from the start of the stream; old ones are discarded.
#[derive(Debug, Clone)]
pub(crate) struct HeldRows {
    dim: usize,
    /// The frame of the first row in `data`, and the first frame that is not discarded.
    begin: usize,
    first: usize,
    data: Vec<f32>,
}

impl HeldRows {
    /// Rows that are discarded, but still in memory, at the most while there are fewer others.
    const LAZY: usize = 256;

    pub(crate) fn new(dim: usize) -> Self {
        Self { dim, begin: 0, first: 0, data: Vec::new() }
    }

    /// Appends a row that consists of parts.
    pub(crate) fn push(&mut self, parts: [&[f32]; 2]) {
        parts.into_iter().for_each(|part| self.data.extend_from_slice(part));
    }

    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Returns the frame after the last one.
    pub(crate) fn end(&self) -> usize {
        self.begin + self.data.len() / self.dim
    }

    /// Returns the row of a frame that is held.
    pub(crate) fn get(&self, frame: usize) -> &[f32] {
        &self.data[(frame - self.begin) * self.dim..][..self.dim]
    }

    /// Discards the rows before `frame`.
    pub(crate) fn discard(&mut self, frame: usize) {
        self.first = self.first.max(frame.min(self.end()));
        let old = self.first - self.begin;
        // Rarely, and at least as many as are moved.
        if old >= Self::LAZY && 2 * old >= self.end() - self.begin {
            self.data.drain(..old * self.dim);
            self.begin = self.first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_frames_while_old_ones_go() {
        let mut rows = HeldRows::new(2);
        for frame in 0..5000 {
            rows.push([&[frame as f32], &[-(frame as f32)]]);
            rows.discard(rows.end().saturating_sub(100));
            assert_eq!(rows.first(), (frame + 1_usize).saturating_sub(100));
            for held in rows.first()..rows.end() {
                assert_eq!(rows.get(held)[0], held as f32);
            }
            assert!(rows.data.len() <= 2 * (100 + HeldRows::LAZY + 1));
        }
        rows.discard(10_000);
        assert_eq!((rows.first(), rows.end()), (5000, 5000));
    }
}
