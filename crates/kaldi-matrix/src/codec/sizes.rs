//! Sizes in Kaldi's files.

use std::io;

/// Number of bytes per read or write, and the largest allocation before the data are known to
/// exist.
pub(super) const CHUNK: usize = 1 << 16;

/// Converts a size to the type in Kaldi's files.
pub(super) fn i32_of_size(size: usize) -> io::Result<i32> {
    i32::try_from(size).map_err(|_| {
        let message = format!("Kaldi's files hold at most {} rows, columns or elements, not {size}", i32::MAX);
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}
