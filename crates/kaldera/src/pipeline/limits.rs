//! Limits on the size of decompressed data.

use std::io::{self, Read};

/// Number of bytes that any compressed file or member may become.
const FREE: u64 = 1 << 28;

/// Bytes that each of its bytes may become beyond that. Texts and features become 20.
const SWELLING: u64 = 200;

/// The most bytes that so many compressed ones may become.
pub(super) fn most_bytes(compressed: u64) -> u64 {
    compressed.saturating_mul(SWELLING).max(FREE)
}

/// The error for a member above the limit.
pub(super) fn swells(limit: u64) -> io::Error {
    io::Error::other(format!("it decompresses to more than {limit} bytes, which is the limit for its size"))
}

/// A reader that refuses to give more than a limit.
pub(crate) struct Limited<R> {
    reader: R,
    limit: u64,
    left: u64,
}

impl<R> Limited<R> {
    /// Limits the data decompressed from `compressed` bytes.
    pub(crate) fn new(reader: R, compressed: u64) -> Self {
        let limit = most_bytes(compressed);
        Self { reader, limit, left: limit }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| swells(self.limit))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_swells_is_refused_with_the_limit() {
        let mut reader = Limited::new(io::repeat(b'x'), 1);
        let error = io::copy(&mut reader, &mut io::sink()).unwrap_err().to_string();
        assert!(error.contains("268435456 bytes"), "{error}");
        let exactly = Limited::new(io::repeat(b'x').take(FREE), 1);
        assert_eq!(io::copy(&mut { exactly }, &mut io::sink()).unwrap(), FREE);
        assert_eq!(most_bytes(FREE), FREE * SWELLING);
    }
}
