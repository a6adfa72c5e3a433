//! Buffers that start at a cache line, so that no vector in them is split between two lines.

use kaldera_base::Real;

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// A buffer of numbers that starts at a cache line.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    /// Allocates `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let slack = LINE / size_of::<T>();
        let data: Vec<T> = kaldera_base::memory::zeros(len + slack);
        // If the platform cannot align at run time, only speed suffers.
        let start = data.as_ptr().align_offset(LINE).min(slack);
        Self { data, start, len }
    }

    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }

    #[inline(always)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
