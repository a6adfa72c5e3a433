//! Integers and tags of headers.

use std::io::{self, Read};

use crate::wave::error::WaveError;

/// Reads the integers and tags of a header.
///
/// `wanted` in its methods is the part of the header that is read, for
/// [`WaveError::UnexpectedEnd`]. Reading fails also with [`WaveError::Read`].
pub struct HeaderReader<'a> {
    /// The file.
    pub reader: &'a mut dyn Read,
    /// The format of the file, for errors.
    container: &'static str,
    /// Byte order of the integers that are read next.
    pub big_endian: bool,
    /// Number of bytes read or skipped, by the sizes of the chunks.
    pub read: u64,
}

impl std::fmt::Debug for HeaderReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { container, big_endian, read, .. } = self;
        write!(f, "HeaderReader({container}, big_endian: {big_endian}, {read} bytes read)")
    }
}

impl<'a> HeaderReader<'a> {
    /// Reads little-endian integers; `container` is the format of the file, for errors.
    pub fn new(reader: &'a mut dyn Read, container: &'static str) -> Self {
        Self { reader, container, big_endian: false, read: 0 }
    }

    /// Returns the error of a header that contradicts itself.
    #[must_use]
    pub fn contradiction(&self, what: String) -> WaveError {
        WaveError::Contradiction { container: self.container, what }
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// [`WaveError::UnexpectedEnd`], [`WaveError::Read`].
    pub fn bytes<const N: usize>(&mut self, wanted: &'static str) -> Result<[u8; N], WaveError> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => WaveError::UnexpectedEnd { container: self.container, wanted },
            _ => WaveError::Read(error),
        })?;
        self.read += N as u64;
        Ok(bytes)
    }

    /// Reads a tag of four bytes.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes).
    pub fn tag(&mut self, wanted: &'static str) -> Result<[u8; 4], WaveError> {
        self.bytes(wanted)
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes).
    pub fn u16(&mut self, wanted: &'static str) -> Result<u16, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes).
    pub fn u32(&mut self, wanted: &'static str) -> Result<u32, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes).
    pub fn u64(&mut self, wanted: &'static str) -> Result<u64, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Skips bytes; the end of the file is no error.
    ///
    /// # Errors
    /// [`WaveError::Read`].
    pub fn skip(&mut self, bytes: u64) -> Result<(), WaveError> {
        io::copy(&mut Read::take(&mut *self.reader, bytes), &mut io::sink()).map_err(WaveError::Read)?;
        self.read = self.read.saturating_add(bytes);
        Ok(())
    }

    /// Skips to the end of a chunk of `size` bytes, `read` bytes of which have been read.
    ///
    /// # Errors
    /// [`WaveError::Read`].
    pub fn skip_rest(&mut self, size: u64, read: u64) -> Result<(), WaveError> {
        self.skip(size.saturating_sub(read))
    }

    /// Reads the tag of the chunk that follows one of `size` bytes. A chunk of odd length has a pad
    /// byte behind it, which is not in its size, and which some writers forget.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes).
    pub fn tag_after(&mut self, size: u32, wanted: &'static str) -> Result<[u8; 4], WaveError> {
        let tag = self.tag(wanted)?;
        if size.is_multiple_of(2) || !begins_with_pad_byte(tag) {
            return Ok(tag);
        }
        let [_, a, b, c] = tag;
        let [d] = self.bytes(wanted)?;
        Ok([a, b, c, d])
    }
}

/// Returns `true` if the first of four bytes in the place of a tag is a pad byte, which should be 0
/// but need not be.
fn begins_with_pad_byte(bytes: [u8; 4]) -> bool {
    const KNOWN: [&[u8; 4]; 10] =
        [b"fmt ", b"data", b"fact", b"LIST", b"JUNK", b"junk", b"bext", b"PEAK", b"cue ", b"id3 "];
    let is_known = |tag: &[u8]| KNOWN.iter().any(|known| known.starts_with(tag));
    !bytes[0].is_ascii_graphic() || (!is_known(&bytes) && is_known(&bytes[1..]))
}

/// A tag for an error message, with escapes for bytes that are not printable.
#[must_use]
pub fn printable(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}
