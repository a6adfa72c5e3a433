//! The sequences of a mini-batch, longest first, each with its part of every buffer.
//!
//! Nothing is reordered in memory. All buffers hold their rows in the caller's order, sequence
//! after sequence, so that each sequence has one piece of each buffer. A step of the recurrence is
//! one row of the piece of each sequence that is long enough.

use std::ops::Range;

use kaldera_base::{Real, par};
use lod::RankTable;

/// Number of rows that are projected at once: enough for the full speed of a product, few enough to
/// stay in the cache afterwards.
const ROWS_OF_A_CHUNK: usize = 192;

/// A sequence, and its rows of all buffers; buffers that a pass does not use are empty.
#[derive(Debug)]
pub(crate) struct SequenceBuffers<'a, T> {
    pub(crate) len: usize,
    pub(crate) reverse: bool,
    /// The inputs.
    pub(crate) x: &'a [T],
    /// The initial states.
    pub(crate) h0: &'a [T],
    pub(crate) c0: &'a [T],
    /// The outputs: written in the forward pass, read in the backward pass.
    pub(crate) y: &'a mut [T],
    pub(crate) out: &'a [T],
    /// The gates, before or after their activation, or gradients by them: a row for each step, or
    /// for each step of a chunk.
    pub(crate) gates: &'a mut [T],
    /// The cell states: a row for each step, or a single one that each step overwrites.
    pub(crate) c: &'a mut [T],
    /// Values before the projection to outputs, or hidden states after the reset: likewise.
    pub(crate) m: &'a mut [T],
    /// Gradients by the outputs and by the cell states of all steps, if they are in the loss.
    pub(crate) grad_y: &'a [T],
    pub(crate) grad_cells: &'a [T],
    /// Gradients by the hidden and the cell state, one row each, passed from step to step.
    pub(crate) dh: &'a mut [T],
    pub(crate) dc: &'a mut [T],
    /// Gradients by the values before the projection, one row, and by their product with the
    /// weights, before the activation, a row for each step.
    pub(crate) dm: &'a mut [T],
    pub(crate) dr: &'a mut [T],
}

impl<'a, T> SequenceBuffers<'a, T> {
    /// Creates a sequence of this length, without buffers.
    pub(crate) fn new(len: usize, reverse: bool) -> Self {
        Self {
            len,
            reverse,
            x: &[],
            h0: &[],
            c0: &[],
            y: &mut [],
            out: &[],
            gates: &mut [],
            c: &mut [],
            m: &mut [],
            grad_y: &[],
            grad_cells: &[],
            dh: &mut [],
            dc: &mut [],
            dm: &mut [],
            dr: &mut [],
        }
    }

    /// Returns the row of step `step`.
    #[inline(always)]
    pub(crate) fn row(&self, step: usize) -> usize {
        if self.reverse { self.len - 1 - step } else { step }
    }

    /// Returns the input of step `step`.
    #[inline(always)]
    pub(crate) fn input(&self, step: usize, width: usize) -> &'a [T] {
        &self.x[self.row(step) * width..][..width]
    }

    /// Returns the offset of the row of step `step` in a buffer that has a row for each step, or
    /// fewer rows that are reused in turn.
    #[inline(always)]
    pub(crate) fn offset(&self, buffer: &[T], step: usize, width: usize) -> usize {
        let rows = buffer.len() / width;
        if rows == self.len { self.row(step) * width } else { step % rows * width }
    }

    /// Returns the hidden state before step `step`.
    #[inline(always)]
    pub(crate) fn hidden_before(&self, step: usize, width: usize) -> &[T] {
        match step.checked_sub(1) {
            Some(before) => &self.y[self.row(before) * width..][..width],
            None => self.h0,
        }
    }
}

/// Cuts a buffer of rows of `width` into the sequences of the table.
pub(crate) fn cut<'a, T>(mut data: &'a [T], table: &RankTable, width: usize) -> Vec<&'a [T]> {
    let pieces = table.splits().rows().map(|rows| {
        let piece;
        (piece, data) = data.split_at(rows.len() * width);
        piece
    });
    pieces.collect()
}

/// Cuts like [`cut`], for a mutable buffer.
pub(crate) fn cut_mut<'a, T>(mut data: &'a mut [T], table: &RankTable, width: usize) -> Vec<&'a mut [T]> {
    let pieces = table.splits().rows().map(|rows| {
        let piece;
        (piece, data) = std::mem::take(&mut data).split_at_mut(rows.len() * width);
        piece
    });
    pieces.collect()
}

/// Cuts a buffer into one row for each sequence.
pub(crate) fn rows_mut<T>(data: &mut [T], sequences: usize, width: usize) -> Vec<&mut [T]> {
    if width == 0 {
        return (0..sequences).map(|_| Default::default()).collect();
    }
    data.chunks_exact_mut(width).collect()
}

/// Distributes `items`, one for each sequence, over `count` parts, by rank and back and forth.
/// Items of sequences of length 0 are dropped. Each part has its longest sequence first, and all
/// parts have about the same work.
pub(crate) fn distribute<U>(items: Vec<U>, table: &RankTable, count: usize) -> Vec<Vec<U>> {
    let mut items: Vec<Option<U>> = items.into_iter().map(Some).collect();
    let mut parts: Vec<Vec<U>> = (0..count).map(|_| Vec::new()).collect();
    for (rank, item) in table.items().enumerate().take_while(|(_, item)| item.length > 0) {
        let turn = rank % (2 * count);
        parts[turn.min(2 * count - 1 - turn)].extend(items[item.index].take());
    }
    parts
}

/// Consecutive steps whose inputs are projected at once.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) steps: Range<usize>,
    /// Sequence and step of each row, step after step.
    rows: Vec<(usize, usize)>,
    /// Offset of the rows of each step, and the end of the last ones.
    offsets: Vec<usize>,
}

impl Chunk {
    /// Returns the chunk that begins with step `begin`; `None` after the last step.
    pub(crate) fn next<T>(sequences: &[SequenceBuffers<'_, T>], begin: usize) -> Option<Self> {
        let (mut rows, mut offsets, mut end) = (Vec::new(), vec![0], begin);
        while rows.len() < ROWS_OF_A_CHUNK {
            let active = sequences.partition_point(|sequence| sequence.len > end);
            if active == 0 {
                break;
            }
            rows.extend((0..active).map(|sequence| (sequence, end)));
            offsets.push(rows.len());
            end += 1;
        }
        (!rows.is_empty()).then_some(Self { steps: begin..end, rows, offsets })
    }

    /// Returns the sequence and step of all rows.
    pub(crate) fn rows(&self) -> &[(usize, usize)] {
        &self.rows
    }

    /// Returns the sequence and step of the rows of a step.
    pub(crate) fn rows_of(&self, step: usize) -> &[(usize, usize)] {
        let i = step - self.steps.start;
        &self.rows[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Returns the maximum number of steps of a chunk for the sequence of rank `rank`: the
    /// sequences before it take part in each of these steps too.
    pub(crate) fn max_steps(rank: usize) -> usize {
        ROWS_OF_A_CHUNK.div_ceil(rank + 1)
    }
}

/// Returns the number of parts for the sequences: at most one for each thread, fewer for little
/// work.
pub(crate) fn parts(table: &RankTable, weights: usize) -> usize {
    /// Number of products of a pass that justifies a thread: some tenths of a millisecond.
    const WORTH: usize = 1 << 26;
    par::num_parts(table.num_entries().saturating_mul(weights), WORTH).min(table.num_sequences()).max(1)
}

/// Collects the sequence and step of the rows of a step.
pub(crate) fn rows_of_step<T>(sequences: &[SequenceBuffers<'_, T>], step: usize, rows: &mut Vec<(usize, usize)>) {
    rows.clear();
    rows.extend(sequences.iter().take_while(|sequence| sequence.len > step).enumerate().map(|(i, _)| (i, step)));
}

/// Gives each sequence its rows of a buffer.
pub(crate) fn give<'a, T, P>(
    sequences: &mut [SequenceBuffers<'a, T>],
    pieces: impl IntoIterator<Item = P>,
    buffer: impl for<'t> Fn(&'t mut SequenceBuffers<'a, T>) -> &'t mut P,
) {
    sequences.iter_mut().zip(pieces).for_each(|(sequence, piece)| *buffer(sequence) = piece);
}

/// Gives each sequence of a part, the longest first, memory for the gates of the steps of a chunk.
pub(crate) fn lend_gates<'a, T: Real>(sequences: &mut [SequenceBuffers<'a, T>], scratch: &'a mut Vec<T>, width: usize) {
    let rows = |rank: usize, len: usize| Chunk::max_steps(rank).min(len) * width;
    scratch.resize(sequences.iter().enumerate().map(|(rank, sequence)| rows(rank, sequence.len)).sum(), T::ZERO);
    let mut rest = &mut scratch[..];
    for (rank, sequence) in sequences.iter_mut().enumerate() {
        (sequence.gates, rest) = std::mem::take(&mut rest).split_at_mut(rows(rank, sequence.len));
    }
}
