//! Sizes in Kaldi's files.

use std::io;

/// Bytes moved at a time, and the most that is allocated before the data have shown that they are
/// there.
pub(super) const CHUNK: usize = 1 << 16;

/// A size as Kaldi's files have it.
pub(super) fn i32_of_size(size: usize) -> io::Result<i32> {
    i32::try_from(size).map_err(|_| {
        let message = format!("Kaldi's files hold at most {} rows, columns or elements, not {size}", i32::MAX);
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}
