//! Layout of the samples by the header of an audio file, and their reader.

use std::io::Read;

use kaldi_io::WaveError;
use kaldi_io::wave::{read_bytes, read_samples};
use tracing::warn;

use crate::error::Error;
use crate::samples::WaveSamples;
use crate::uncompressed::encoding::Encoding;

/// Contents of a header of any file format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) container: &'static str,
    pub(super) encoding: Encoding,
    pub(super) big_endian: bool,
    pub(super) num_channels: usize,
    pub(super) samp_freq: f32,
    /// Bytes of samples; `None` if they extend to the end of the stream.
    pub(super) data_bytes: Option<u64>,
    /// Size of the samples in the header, if it is not trusted. Chunks may follow after it.
    pub(super) untrusted_size: Option<u32>,
}

/// Maximum number of channels; a header with more is damaged.
const MOST_CHANNELS: u64 = 256;
/// Valid sample rates, from vibrations to ultrasound; a header with another rate is damaged.
const SAMP_FREQS: std::ops::RangeInclusive<f64> = 100.0..=2.0e6;

impl Layout {
    /// Creates the layout of samples that extend to the end of the file.
    ///
    /// # Errors
    /// [`Error::Layout`], for numbers that no recording has.
    pub(super) fn new(
        container: &'static str,
        encoding: Encoding,
        big_endian: bool,
        num_channels: u64,
        samp_freq: f64,
    ) -> Result<Self, Error> {
        check_layout(container, num_channels, samp_freq)?;
        Ok(Self {
            container,
            encoding,
            big_endian,
            num_channels: usize::try_from(num_channels).expect("few channels"),
            samp_freq: samp_freq as f32,
            data_bytes: None,
            untrusted_size: None,
        })
    }

    /// Sets the size of the samples to the value in a header of 32 bits.
    pub(super) fn with_size(self, size: u32) -> Self {
        let frame = self.frame_bytes().unwrap_or(0);
        if is_of_a_stream(size, frame) {
            Self { untrusted_size: Some(size), ..self }
        } else {
            Self { data_bytes: Some(u64::from(size)), ..self }
        }
    }

    /// Returns the bytes of a frame, one sample of each channel; `None` for encodings in blocks.
    pub(super) fn frame_bytes(&self) -> Option<usize> {
        self.encoding.frame_bytes(self.num_channels)
    }

    /// Reads the samples; also returns both sizes if there are fewer than the header promises.
    pub(super) fn read(&self, reader: &mut dyn Read, allow_truncated: bool) -> Result<WaveSamples, Error> {
        let Self { container, num_channels, .. } = *self;
        let frame = self.frame_bytes();
        let promised = self.data_bytes.map(|size| size - size % frame.unwrap_or(1) as u64);
        let (samples, found) = if self.encoding == Encoding::I16 {
            let (mut samples, bytes) = read_samples(reader, promised)?;
            let bytes = self.without_chunks(bytemuck::cast_slice(&samples), bytes);
            samples.truncate(bytes / 2);
            if self.big_endian != cfg!(target_endian = "big") {
                samples.iter_mut().for_each(|sample| *sample = sample.swap_bytes());
            }
            (WaveSamples::I16(samples), bytes)
        } else {
            let bytes = read_bytes(reader, promised)?;
            let found = self.without_chunks(&bytes, bytes.len());
            (self.encoding.decode(&bytes[..found], self.big_endian, num_channels)?, found)
        };
        let frames = samples.len() / num_channels;
        if frames == 0 {
            return Err(WaveError::Empty { container }.into());
        }
        match promised.filter(|&promised| (found as u64) < promised) {
            Some(expected) if allow_truncated => warn!(
                "the recording is truncated: {found} bytes of samples where its header promises {expected}; going on with them"
            ),
            Some(expected) => {
                let found = found as u64;
                return Err(Error::Truncated { format: container, expected, found, unit: "bytes of samples" });
            }
            None => {
                if let Some(frame) = frame {
                    warn_of_rest(found, frame);
                }
            }
        }
        Ok(samples.truncated(frames * num_channels))
    }

    /// Returns how many of `len` bytes, read to the end of a stream, are samples: all, unless only
    /// chunks follow after the size in the header. The size in a complete file may look like the
    /// size of a stream, most often 0.
    fn without_chunks(&self, bytes: &[u8], len: usize) -> usize {
        let size = self.untrusted_size.filter(|&size| size != u32::MAX && self.data_bytes.is_none());
        let Some(size) = size.and_then(|size| usize::try_from(size).ok()).filter(|&size| size < len) else {
            return len;
        };
        if is_chunks(&bytes[(size + size % 2).min(len)..len], self.big_endian) { size } else { len }
    }
}

/// Refuses numbers of channels and rates that no recording has: 0 or more than 256 channels, less
/// than 100 Hz or more than 2 MHz. `container` is the format of the file.
///
/// # Errors
/// [`Error::Layout`].
pub(crate) fn check_layout(container: &'static str, channels: u64, samp_freq: f64) -> Result<(), Error> {
    if (1..=MOST_CHANNELS).contains(&channels) && SAMP_FREQS.contains(&samp_freq) {
        return Ok(());
    }
    Err(Error::Layout { container, channels, samp_freq })
}

/// Warns of an incomplete frame at the end.
fn warn_of_rest(found: usize, frame: usize) {
    let rest = found % frame;
    // sox writes a pad byte after a stream of an odd number of bytes.
    let is_pad_byte = (found - rest) % 2 == 1 && rest == 1;
    if rest > 0 && !is_pad_byte {
        warn!("the last frame of the recording has {rest} bytes of {frame}: leaving it out");
    }
}

/// Returns `true` for sizes of samples that are not trusted: headers of streams, whose length was
/// unknown at the beginning, have them. They may be reduced to whole frames or by the bytes of the
/// header.
///
/// | writer | size of the samples |
/// |---|---|
/// | ffmpeg | 0xffffffff |
/// | sox | 0x7ffff000, in AIFF 0x7f000000, reduced to whole frames |
/// | arecord | 0x80000000, or 0x7fffff00 |
/// | others | 0, 0x7fffffff, 0xffffffff, less the header |
pub(super) fn is_of_a_stream(size: u32, frame: usize) -> bool {
    /// Maximum length of headers.
    const HEADER: u64 = 0x1000;
    let less = HEADER + frame as u64;
    let is_below = |marker: u64| (marker - less..=marker).contains(&u64::from(size));
    size == 0 || [0x7F00_0000, 0x7FFF_F000, 0x8000_0000, 0xFFFF_FFFF].into_iter().any(is_below)
}

/// Returns `true` if the bytes are a sequence of chunks, at least one.
fn is_chunks(mut bytes: &[u8], big_endian: bool) -> bool {
    let mut any = false;
    while let Some((&[a, b, c, d, size @ ..], rest)) = bytes.split_first_chunk::<8>() {
        let size = if big_endian { u32::from_be_bytes(size) } else { u32::from_le_bytes(size) };
        let is_tag = [a, b, c, d].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-'));
        let Some(size) = usize::try_from(size).ok().filter(|&size| is_tag && size <= rest.len()) else { return false };
        any = true;
        bytes = &rest[(size + size % 2).min(rest.len())..];
    }
    any && bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_told_from_samples() {
        assert!(is_chunks(b"LIST\x03\0\0\0abc\0id3 \0\0\0\0", false));
        assert!(is_chunks(b"LIST\x03\0\0\0abc", false), "the last pad byte may be missing");
        for no in [&b""[..], b"LIST", b"LIST\x04\0\0\0abc", b"\0\0\0\0\0\0\0\0", b"LIST\0\0\0\0a"] {
            assert!(!is_chunks(no, false), "{no:?}");
        }
    }

    #[test]
    fn sizes_of_streams_are_not_believed() {
        let of_streams = [0, u32::MAX, u32::MAX - 36, 0x7FFF_F000, 0x7FFF_EFFE, 0x7FFF_FFFF, 0x7FFF_FFDB, 0x8000_0000];
        for size in of_streams {
            assert!(is_of_a_stream(size, 6), "{size:#x}");
        }
        for size in [1, 2, 44, 1 << 20, 0x7000_0000, 0x9000_0000, 0xFFF0_0000] {
            assert!(!is_of_a_stream(size, 6), "{size:#x}");
        }
    }
}
