//! Encodings of samples, independent of the file format.

use crate::error::Error;
use crate::samples::WaveSamples;
use crate::uncompressed::adpcm::Adpcm;

/// Encoding of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    U8,
    I8,
    I16,
    I24,
    I32,
    I64,
    F32,
    F64,
    ALaw,
    MuLaw,
    Adpcm(Adpcm),
}

impl Encoding {
    /// Returns the encoding of signed integers of `bits` bits, in the upper bits of whole bytes.
    pub(super) fn of_bits(bits: u64) -> Option<Self> {
        match bits {
            1..=8 => Some(Self::I8),
            9..=16 => Some(Self::I16),
            17..=24 => Some(Self::I24),
            25..=32 => Some(Self::I32),
            33..=64 => Some(Self::I64),
            _ => None,
        }
    }

    /// Returns the bytes of a frame, one sample of each channel; `None` for encodings in blocks.
    pub(super) fn frame_bytes(self, num_channels: usize) -> Option<usize> {
        let bytes = match self {
            Self::U8 | Self::I8 | Self::ALaw | Self::MuLaw => 1,
            Self::I16 => 2,
            Self::I24 => 3,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::Adpcm(_) => return None,
        };
        Some(bytes * num_channels)
    }

    /// Returns the minimum number of bytes that can be decoded on their own and have at least
    /// `num_samples` samples per channel.
    pub(super) fn bytes_of(self, num_samples: usize, num_channels: usize) -> usize {
        match (self, self.frame_bytes(num_channels)) {
            (Self::Adpcm(adpcm), _) => adpcm.bytes_of(num_samples, num_channels),
            (_, frame) => num_samples.saturating_mul(frame.unwrap_or(1)),
        }
    }

    /// Decodes samples; leaves out an incomplete one at the end.
    pub(super) fn decode(self, bytes: &[u8], big_endian: bool, num_channels: usize) -> Result<WaveSamples, Error> {
        /// Full scale is 1 in floating-point files.
        const FULL_SCALE: f64 = crate::recording::FULL_SCALE as f64;
        let integers = |of: fn(u8) -> i16| collect(bytes.iter().map(|&byte| of(byte))).map(WaveSamples::I16);
        match self {
            Self::U8 => integers(|byte| (i16::from(byte) - 128) << 8),
            Self::I8 => integers(|byte| i16::from(byte.cast_signed()) << 8),
            Self::Adpcm(adpcm) => adpcm.decode(bytes, num_channels).map(WaveSamples::I16),
            Self::ALaw => integers(of_a_law),
            Self::MuLaw => integers(of_mu_law),
            Self::I16 => {
                let of = |bytes| if big_endian { i16::from_be_bytes(bytes) } else { i16::from_le_bytes(bytes) };
                collect(bytes.as_chunks().0.iter().map(|&bytes| of(bytes))).map(WaveSamples::I16)
            }
            Self::I24 => {
                // The upper three bytes of 32 bits.
                let of = |&[a, b, c]: &[u8; 3]| {
                    if big_endian { i32::from_be_bytes([a, b, c, 0]) } else { i32::from_le_bytes([0, a, b, c]) }
                };
                collect(bytes.as_chunks().0.iter().map(|bytes| of(bytes) as f32 / 65_536.0)).map(WaveSamples::F32)
            }
            Self::I32 => {
                let of = |bytes| if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) };
                collect(bytes.as_chunks().0.iter().map(|&bytes| of(bytes) as f32 / 65_536.0)).map(WaveSamples::F32)
            }
            Self::I64 => {
                let of = |bytes| if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                let scaled = |bytes| of(bytes) as f32 / (1_u64 << 48) as f32;
                collect(bytes.as_chunks().0.iter().map(|&bytes| scaled(bytes))).map(WaveSamples::F32)
            }
            Self::F32 => {
                let of = |bytes| if big_endian { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) };
                let scaled = |bytes| of(bytes) * FULL_SCALE as f32;
                collect(bytes.as_chunks().0.iter().map(|&bytes| scaled(bytes))).map(WaveSamples::F32)
            }
            Self::F64 => {
                let of = |bytes| if big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
                let scaled = |bytes| (of(bytes) * FULL_SCALE) as f32;
                collect(bytes.as_chunks().0.iter().map(|&bytes| scaled(bytes))).map(WaveSamples::F32)
            }
        }
    }
}

/// Collects samples, or returns an error if there is not enough memory.
fn collect<T>(samples: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut collected = Vec::new();
    collected.try_reserve_exact(samples.len()).map_err(|_| Error::NoMemory { samples: samples.len() })?;
    collected.extend(samples);
    Ok(collected)
}

/// Decodes G.711 A-law: sign, three bits of exponent, four of mantissa, every second bit inverted.
fn of_a_law(byte: u8) -> i16 {
    let byte = byte ^ 0x55;
    let mantissa = i16::from(byte & 0x0F) << 4;
    let magnitude = match (byte & 0x70) >> 4 {
        0 => mantissa + 0x8,
        exponent => (mantissa + 0x108) << (exponent - 1),
    };
    if byte & 0x80 == 0 { -magnitude } else { magnitude }
}

/// Decodes G.711 mu-law: all bits inverted, sign, three bits of exponent, four of mantissa.
fn of_mu_law(byte: u8) -> i16 {
    const BIAS: i16 = 0x84;
    let byte = !byte;
    let magnitude = (((i16::from(byte & 0x0F) << 3) + BIAS) << ((byte & 0x70) >> 4)) - BIAS;
    if byte & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g711_has_the_values_of_its_tables() {
        // Ends and middles of the tables of ITU-T G.711, scaled to 16 bits.
        let a_law = [(0xD5, 8), (0x55, -8), (0xAA, 32_256), (0x2A, -32_256), (0x80, 5_504), (0xD4, 24)];
        let mu_law = [(0xFF, 0), (0x7F, 0), (0x80, 32_124), (0x00, -32_124), (0xFE, 8), (0x7E, -8), (0xC0, 1884)];
        for (byte, expected) in a_law {
            assert_eq!(of_a_law(byte), expected, "A-law {byte:#x}");
        }
        for (byte, expected) in mu_law {
            assert_eq!(of_mu_law(byte), expected, "mu-law {byte:#x}");
        }
    }
}
