//! Streams of samples of WAV files.

use std::io::Read;

use crate::error::Error;
use crate::samples::WaveSamples;
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::Layout;
use crate::uncompressed::riff;

/// Format of a stream of samples, from a WAV header.
///
/// Accepts the same WAV files as [`read`](super::read).
///
/// ```
/// use kaldera_audio::{WaveFormat, WaveSamples};
///
/// // Mu-law at 8 kHz, as in telephones, from a program that does not know the length yet.
/// let mut file = &b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x07\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\
///     \x01\0\x08\0data\xff\xff\xff\xff\x80\xff"[..];
/// let format = WaveFormat::read(&mut file)?;
/// assert_eq!((format.samp_freq(), format.num_channels(), format.data_bytes()), (8000.0, 1, None));
/// assert_eq!(format.decode(file)?, WaveSamples::I16(vec![32_124, 0]));
/// # Ok::<(), kaldera_audio::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WaveFormat {
    layout: Layout,
}

impl WaveFormat {
    /// Reads a header, up to the first byte of the samples, in many small reads.
    ///
    /// # Errors
    /// [`Error::Wave`], [`Error::Layout`], [`Error::UnreadFormat`].
    pub fn read(mut reader: impl Read) -> Result<Self, Error> {
        Ok(Self { layout: riff::read(&mut reader)? })
    }

    /// Creates the format of samples without a header: 16 bits, little-endian.
    pub fn raw(num_channels: usize, samp_freq: f32) -> Self {
        Self::headless(Encoding::I16, num_channels, samp_freq)
    }

    /// Creates the format of samples of G.711 A-law without a header.
    pub fn raw_a_law(num_channels: usize, samp_freq: f32) -> Self {
        Self::headless(Encoding::ALaw, num_channels, samp_freq)
    }

    /// Creates the format of samples of G.711 mu-law without a header.
    pub fn raw_mu_law(num_channels: usize, samp_freq: f32) -> Self {
        Self::headless(Encoding::MuLaw, num_channels, samp_freq)
    }

    fn headless(encoding: Encoding, num_channels: usize, samp_freq: f32) -> Self {
        let layout = Layout {
            container: "raw",
            encoding,
            big_endian: false,
            num_channels,
            samp_freq,
            data_bytes: None,
            untrusted_size: None,
        };
        Self { layout }
    }

    /// Returns the number of samples per second.
    pub fn samp_freq(&self) -> f32 {
        self.layout.samp_freq
    }

    /// Returns the number of channels.
    pub fn num_channels(&self) -> usize {
        self.layout.num_channels
    }

    /// Returns the number of bytes of samples in the header; `None` for the header of a stream,
    /// whose length is known only at its end.
    pub fn data_bytes(&self) -> Option<u64> {
        let frame = self.layout.frame_bytes().unwrap_or(1) as u64;
        self.layout.data_bytes.map(|bytes| bytes - bytes % frame.max(1))
    }

    /// Returns the minimum number of bytes that can be decoded on their own and have at least
    /// `num_samples` samples per channel: whole frames, or whole blocks of ADPCM.
    pub fn bytes_of(&self, num_samples: usize) -> usize {
        self.layout.encoding.bytes_of(num_samples, self.layout.num_channels)
    }

    /// Decodes bytes that begin with a frame or a block. An incomplete frame at the end is dropped.
    ///
    /// # Errors
    /// [`Error::AdpcmBlock`], [`Error::NoMemory`].
    pub fn decode(&self, bytes: &[u8]) -> Result<WaveSamples, Error> {
        let Layout { encoding, big_endian, num_channels, .. } = self.layout;
        let samples = encoding.decode(bytes, big_endian, num_channels)?;
        let whole = samples.len() - samples.len() % num_channels.max(1);
        Ok(samples.truncated(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Recording};

    /// Returns a header with this format tag, two channels and 8 kHz.
    fn header(tag: u16, bits: u16, block: u16, more: &[u8]) -> Vec<u8> {
        let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt ".to_vec();
        bytes.extend((16 + more.len() as u32).to_le_bytes());
        for field in [tag, 2, 8000, 0, 0, 0, block, bits] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(more);
        bytes.extend(b"data\xff\xff\xff\xff");
        bytes
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let ima = [2, 0, 9, 0];
        let formats: [(u16, u16, u16, &[u8]); 8] = [
            (1, 8, 2, &[]),
            (1, 16, 4, &[]),
            (1, 24, 6, &[]),
            (1, 32, 8, &[]),
            (3, 32, 8, &[]),
            (6, 8, 2, &[]),
            (7, 8, 2, &[]),
            (0x11, 4, 16, &ima),
        ];
        for (tag, bits, block, more) in formats {
            let head = header(tag, bits, block, more);
            // Valid step indexes of IMA, and finite floats.
            let body: Vec<u8> = (0..1600_u32).map(|i| (i * 7 % 61) as u8).collect();
            let whole = Recording::read(&[&head[..], &body].concat()[..], &ReadOptions::default()).unwrap();
            let mut rest = &head[..];
            let format = WaveFormat::read(&mut rest).unwrap();
            assert!(rest.is_empty());
            for num_samples in [1, 7, 33] {
                let bytes = format.bytes_of(num_samples);
                let (mut found, mut first) = (vec![], None);
                for piece in body.chunks(bytes) {
                    let samples = format.decode(piece).unwrap();
                    first.get_or_insert(samples.len() / 2);
                    match samples {
                        WaveSamples::I16(samples) => found.extend(samples.into_iter().map(f32::from)),
                        WaveSamples::F32(samples) => found.extend(samples),
                    }
                }
                assert!(first >= Some(num_samples), "{tag} {num_samples} {first:?}");
                assert_eq!(found, *whole.samples(), "format {tag} of {bits} bits, pieces of {num_samples}");
            }
        }
    }
}
