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

/// Number of samples that any file of compressed audio may become: 1 GiB, four and a half hours
/// at 16 kHz.
#[cfg(any(feature = "symphonia", feature = "opus"))]
const FREE_SAMPLES: u64 = 1 << 28;

/// Samples that each of its bytes may become beyond that. Speech at 8 kbit/s becomes 16, silence in
/// FLAC 600 in two channels and 960 in eight, and silence in Opus, whose 20 ms are 1920 samples of
/// two channels and 2 to 4 bytes, 960.
#[cfg(any(feature = "symphonia", feature = "opus"))]
const SAMPLES_PER_BYTE: u64 = 1024;

/// The most samples, of all channels, that an audio file of so many bytes may become.
#[cfg(any(feature = "symphonia", feature = "opus"))]
pub(super) fn most_samples(bytes: u64) -> u64 {
    FREE_SAMPLES.max(SAMPLES_PER_BYTE.saturating_mul(bytes))
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

    #[cfg(feature = "symphonia")]
    #[test]
    fn silence_in_flac_is_below_the_limit() {
        // 50 minutes of two channels at 48 kHz, as ffmpeg writes them.
        assert!(most_samples(506_000) >= 2 * 50 * 60 * 48_000);
        assert_eq!(most_samples(0), FREE_SAMPLES);
    }
}
