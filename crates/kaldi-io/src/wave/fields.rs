//! Reader for the integers and tags of headers.

use std::io::{self, Read};

use crate::wave::error::WaveError;

/// Reads the integers and tags of a header.
pub(super) struct HeaderReader<'a> {
    pub(super) reader: &'a mut dyn Read,
    /// The format of the file, for errors.
    pub(super) container: &'static str,
    pub(super) big_endian: bool,
    /// Bytes read and skipped so far, by the sizes of the chunks.
    pub(super) read: u64,
}

impl<'a> HeaderReader<'a> {
    pub(super) fn new(reader: &'a mut dyn Read, container: &'static str) -> Self {
        Self { reader, container, big_endian: false, read: 0 }
    }

    /// Creates the error of a header that contradicts itself.
    pub(super) fn contradiction(&self, what: String) -> WaveError {
        WaveError::Contradiction { container: self.container, what }
    }

    pub(super) fn bytes<const N: usize>(&mut self, wanted: &'static str) -> Result<[u8; N], WaveError> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => WaveError::UnexpectedEnd { container: self.container, wanted },
            _ => WaveError::Read(error),
        })?;
        self.read += N as u64;
        Ok(bytes)
    }

    pub(super) fn tag(&mut self, wanted: &'static str) -> Result<[u8; 4], WaveError> {
        self.bytes(wanted)
    }

    pub(super) fn u16(&mut self, wanted: &'static str) -> Result<u16, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(super) fn u32(&mut self, wanted: &'static str) -> Result<u32, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(super) fn u64(&mut self, wanted: &'static str) -> Result<u64, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<(), WaveError> {
        io::copy(&mut Read::take(&mut *self.reader, bytes), &mut io::sink()).map_err(WaveError::Read)?;
        self.read = self.read.saturating_add(bytes);
        Ok(())
    }

    /// Skips to the end of a chunk of `size` bytes of which `read` have been read.
    pub(super) fn skip_rest(&mut self, size: u64, read: u64) -> Result<(), WaveError> {
        self.skip(size.saturating_sub(read))
    }

    /// Returns the tag of the chunk after one of `size` bytes. A chunk of odd length has a pad byte
    /// after it, which its size does not include, and which some writers forget.
    pub(super) fn tag_after(&mut self, size: u32, wanted: &'static str) -> Result<[u8; 4], WaveError> {
        let tag = self.tag(wanted)?;
        if size.is_multiple_of(2) || !begins_with_pad_byte(tag) {
            return Ok(tag);
        }
        let [_, a, b, c] = tag;
        let [d] = self.bytes(wanted)?;
        Ok([a, b, c, d])
    }
}

/// Returns `true` if the first of four bytes in place of a tag is a pad byte, which should be 0 but
/// may be another value.
fn begins_with_pad_byte(bytes: [u8; 4]) -> bool {
    const KNOWN: [&[u8; 4]; 10] =
        [b"fmt ", b"data", b"fact", b"LIST", b"JUNK", b"junk", b"bext", b"PEAK", b"cue ", b"id3 "];
    let is_known = |tag: &[u8]| KNOWN.iter().any(|known| known.starts_with(tag));
    !bytes[0].is_ascii_graphic() || (!is_known(&bytes) && is_known(&bytes[1..]))
}

pub(super) fn printable(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}
