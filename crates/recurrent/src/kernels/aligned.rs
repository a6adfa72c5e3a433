//! Numbers whose first lies at the begin of a cache line, so that no vector of them is split
//! between two lines.

use kaldera_base::Real;

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// A run of numbers that begins with a cache line.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let slack = LINE / size_of::<T>();
        let data: Vec<T> = kaldera_base::memory::zeros(len + slack);
        // Where the platform cannot tell, alignment is a matter of speed alone.
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
