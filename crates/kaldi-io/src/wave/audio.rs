//! WAV files of every width that is found, not only those that Kaldi reads.

use std::io::Read;

use tracing::warn;

use crate::wave::error::WaveError;
use crate::wave::header::{A_LAW, FLOAT, Format, Header, MU_LAW, PCM};

/// A recording from a WAV file of any width, as it is found in the field.
///
/// It is what [`WaveData`](super::WaveData) is for files as Kaldi reads them. This reader takes
/// more:
///
/// - PCM of 8, 16, 24 and 32 bits, floating point of 32 and 64 bits, A-law and mu-law, also behind an extensible header;
/// - RIFF, RIFX, RF64 and BW64 files;
/// - sizes that ffmpeg, sox, arecord and others leave in the header of a stream: samples end with it then;
/// - chunks of odd length, with their pad byte or without it;
/// - headers whose bytes per second or per frame are wrong, with a warning.
///
/// ```
/// use kaldi_io::wave::{WaveAudio, WaveSamples};
///
/// // One second of mu-law at 8 kHz, as telephones have it.
/// let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x07\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\xff\xff\xff\xff".to_vec();
/// file.extend([0x80; 8000]);
/// let audio = WaveAudio::read(&file[..])?;
/// assert_eq!((audio.samp_freq, audio.num_channels, audio.num_samples()), (8000.0, 1, 8000));
/// let WaveSamples::I16(samples) = audio.samples else { panic!("all of them are whole numbers") };
/// assert_eq!(samples[0], 32_124);
/// # Ok::<(), kaldi_io::wave::WaveError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaveAudio {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels.
    pub num_channels: usize,
    /// Frame by frame, the channels of a frame side by side.
    pub samples: WaveSamples,
}

/// Samples on the scale of 16-bit integers, -32768 to 32767, whatever the width in the file is.
#[derive(Debug, Clone, PartialEq)]
pub enum WaveSamples {
    /// Of 8 and 16 bits, A-law and mu-law.
    I16(Vec<i16>),
    /// Of 24 bits, exactly; of 32 bits and floating point, rounded to single precision. What is
    /// beyond full scale stays so.
    F32(Vec<f32>),
}

impl WaveSamples {
    /// How many samples there are, of all channels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl WaveAudio {
    /// Reads a WAV file. One that ends early gives what is there and a warning.
    ///
    /// The header is read in small pieces and the samples in large ones: a small buffer in front is
    /// all that is needed.
    ///
    /// # Errors
    /// [`WaveError`], with what was wrong in the header: [`WaveError::NotPcm`] and
    /// [`WaveError::BitsPerSample`] for other kinds of samples; [`WaveError::Empty`] if there is
    /// not a single sample in each channel; [`WaveError::TooLong`].
    pub fn read(mut reader: impl Read) -> Result<Self, WaveError> {
        let (audio, truncated) = Self::read_available(&mut reader)?;
        if let Some((expected, found)) = truncated {
            warn!(
                "the recording is truncated: {found} bytes of samples where its header promises {expected}; going on with them"
            );
        }
        Ok(audio)
    }

    /// As [`read`](Self::read), for those who would rather have no recording than a part of one.
    ///
    /// # Errors
    /// Also [`WaveError::Truncated`], for a file that ends early.
    pub fn read_whole(mut reader: impl Read) -> Result<Self, WaveError> {
        match Self::read_available(&mut reader)? {
            (audio, None) => Ok(audio),
            (_, Some((expected, found))) => Err(WaveError::Truncated { expected, found }),
        }
    }

    /// Samples per channel.
    #[must_use]
    pub fn num_samples(&self) -> usize {
        self.samples.len().checked_div(self.num_channels).unwrap_or(0)
    }

    /// Length in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.num_samples() as f32 / self.samp_freq
    }

    /// Also gives how many bytes the header promises and how many there are, where these are fewer.
    fn read_available(reader: &mut dyn Read) -> Result<(Self, Option<(u64, u64)>), WaveError> {
        let header = Header::read_any(&mut *reader, |format| Encoding::of(format).map(drop))?;
        let Header { big_endian, format, .. } = header;
        let encoding = Encoding::of(&format)?;
        let num_channels = usize::from(format.channels);
        let frame = encoding.bytes() * num_channels;
        format.warn_of_contradictions(frame);

        let promised = header.data_bytes(frame);
        let (samples, found) = if encoding == Encoding::I16 {
            let (mut samples, bytes) = super::read_samples(reader, promised)?;
            let bytes = header.without_chunks(promised, bytemuck::cast_slice(&samples), bytes);
            samples.truncate(bytes / 2);
            if big_endian != cfg!(target_endian = "big") {
                samples.iter_mut().for_each(|sample| *sample = sample.swap_bytes());
            }
            (WaveSamples::I16(samples), bytes)
        } else {
            let bytes = super::read_bytes(reader, promised)?;
            let found = header.without_chunks(promised, &bytes, bytes.len());
            (encoding.decode(&bytes[..found], big_endian)?, found)
        };
        let whole = found - found % frame;
        if whole == 0 {
            return Err(WaveError::Empty);
        }
        let samples = samples.truncated(whole / encoding.bytes());
        let truncated = promised.filter(|&promised| (found as u64) < promised).map(|promised| (promised, found as u64));
        // Behind a stream of an odd number of bytes sox writes a pad byte.
        let is_pad_byte = whole % 2 == 1 && found - whole == 1;
        if truncated.is_none() && whole < found && !is_pad_byte {
            warn!("the last frame of the recording has {} bytes of {frame}: leaving it out", found - whole);
        }
        Ok((Self { samp_freq: format.sample_rate as f32, num_channels, samples }, truncated))
    }
}

impl WaveSamples {
    fn truncated(mut self, len: usize) -> Self {
        match &mut self {
            Self::I16(samples) => samples.truncate(len),
            Self::F32(samples) => samples.truncate(len),
        }
        self
    }
}

impl Format {
    /// Warns of bytes per second or per frame that are not those of the samples; `frame` is how
    /// many bytes a frame has.
    fn warn_of_contradictions(&self, frame: usize) {
        let Self { channels, sample_rate, byte_rate, block_align, bits, .. } = *self;
        if u64::from(byte_rate) != u64::from(sample_rate) * frame as u64 {
            warn!(
                "the WAV header contradicts itself: {byte_rate} bytes a second for {channels} channels of {bits} bits at {sample_rate} Hz; \
                 going by the latter"
            );
        }
        if usize::from(block_align) != frame {
            warn!(
                "the WAV header contradicts itself: {block_align} bytes a frame for {channels} channels of {bits} bits; going by the latter"
            );
        }
    }
}

/// What is not trusted as a size of samples: it stands in headers of streams, whose length was not
/// known when they began. Whole frames and bytes of the header may have been taken off.
///
/// | writer | size of the samples |
/// |---|---|
/// | ffmpeg | 0xffffffff |
/// | sox | 0x7ffff000, less what is no whole frame |
/// | arecord | 0x80000000, or 0x7fffff00 |
/// | others | 0, 0x7fffffff, 0xffffffff, less the header |
fn is_of_a_stream(size: u32, frame: usize) -> bool {
    /// Headers are no longer.
    const HEADER: u64 = 0x1000;
    let less = HEADER + frame as u64;
    let is_below = |marker: u64| (marker - less..=marker).contains(&u64::from(size));
    size == 0 || [0x7FFF_F000, 0x8000_0000, 0xFFFF_FFFF].into_iter().any(is_below)
}

impl Header {
    /// Bytes of samples that the header promises, in whole frames; `None` if the end of the stream
    /// is theirs.
    fn data_bytes(&self, frame: usize) -> Option<u64> {
        let size = match self.long_data_size {
            // 0 and negative numbers are those of streams.
            Some(size) if self.data_size == u32::MAX => Some(size).filter(|&size| (1..1 << 63).contains(&size))?,
            _ if is_of_a_stream(self.data_size, frame) => return None,
            _ => u64::from(self.data_size),
        };
        Some(size - size % frame as u64)
    }

    /// How many of `len` bytes that were read to the end of a stream are samples: all, unless
    /// chunks follow those that the header counts. Files that were complete, and no stream, may
    /// have sizes that are those of streams, 0 above all.
    fn without_chunks(&self, promised: Option<u64>, bytes: &[u8], len: usize) -> usize {
        let size = usize::try_from(self.data_size).unwrap_or(usize::MAX);
        let is_possible = promised.is_none() && self.data_size != u32::MAX && size < len;
        let rest = || &bytes[(size + size % 2).min(len)..len];
        if is_possible && is_chunks(rest(), self.big_endian) { size } else { len }
    }
}

/// Whether bytes are nothing but chunks, at least one.
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

/// How a sample is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    U8,
    I16,
    I24,
    I32,
    F32,
    F64,
    ALaw,
    MuLaw,
}

impl Encoding {
    fn of(format: &Format) -> Result<Self, WaveError> {
        let Format { tag, channels, sample_rate, byte_rate, block_align, bits, .. } = *format;
        if channels == 0 {
            return Err(WaveError::NoChannels);
        }
        if sample_rate == 0 {
            return Err(WaveError::NoRate);
        }
        let frames = |bytes: u16| u32::from(channels) * u32::from(bytes);
        // Samples of fewer bits lie in the upper ones of their bytes. Of 24 there are such with a
        // fourth byte.
        let in_four_bytes = u32::from(block_align) == frames(4)
            && u64::from(byte_rate) == u64::from(sample_rate) * u64::from(block_align);
        match (tag, bits) {
            (PCM, 1..=8) => Ok(Self::U8),
            (PCM, 9..=16) => Ok(Self::I16),
            (PCM, 17..=24) if in_four_bytes => Ok(Self::I32),
            (PCM, 17..=24) => Ok(Self::I24),
            (PCM, 25..=32) => Ok(Self::I32),
            (FLOAT, 32) => Ok(Self::F32),
            (FLOAT, 64) => Ok(Self::F64),
            (A_LAW, 8) => Ok(Self::ALaw),
            (MU_LAW, 8) => Ok(Self::MuLaw),
            (PCM | FLOAT | A_LAW | MU_LAW, bits) => Err(WaveError::BitsPerSample { bits }),
            (format, _) => Err(WaveError::NotPcm { format }),
        }
    }

    /// Bytes of a sample.
    fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::ALaw | Self::MuLaw => 1,
            Self::I16 => 2,
            Self::I24 => 3,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Samples from bytes; an incomplete one at the end is left out.
    fn decode(self, bytes: &[u8], big_endian: bool) -> Result<WaveSamples, WaveError> {
        /// Full scale is 1 in floating-point files.
        const FULL_SCALE: f64 = 32_768.0;
        let integers = |of: fn(u8) -> i16| collect(bytes.iter().map(|&byte| of(byte))).map(WaveSamples::I16);
        match self {
            Self::U8 => integers(|byte| (i16::from(byte) - 128) << 8),
            Self::ALaw => integers(of_a_law),
            Self::MuLaw => integers(of_mu_law),
            Self::I16 => {
                let of = |bytes| if big_endian { i16::from_be_bytes(bytes) } else { i16::from_le_bytes(bytes) };
                collect(bytes.as_chunks().0.iter().map(|&bytes| of(bytes))).map(WaveSamples::I16)
            }
            Self::I24 => {
                // In the upper three bytes of 32 bits.
                let of = |&[a, b, c]: &[u8; 3]| {
                    if big_endian { i32::from_be_bytes([a, b, c, 0]) } else { i32::from_le_bytes([0, a, b, c]) }
                };
                collect(bytes.as_chunks().0.iter().map(|bytes| of(bytes) as f32 / 65_536.0)).map(WaveSamples::F32)
            }
            Self::I32 => {
                let of = |bytes| if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) };
                collect(bytes.as_chunks().0.iter().map(|&bytes| of(bytes) as f32 / 65_536.0)).map(WaveSamples::F32)
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

/// Collects, and where there is no memory for that, says so.
fn collect<T>(samples: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, WaveError> {
    let mut collected = Vec::new();
    super::reserve(&mut collected, samples.len())?;
    collected.extend(samples);
    Ok(collected)
}

/// G.711: sign, three bits of exponent, four of mantissa, every second bit inverted.
fn of_a_law(byte: u8) -> i16 {
    let byte = byte ^ 0x55;
    let mantissa = i16::from(byte & 0x0F) << 4;
    let magnitude = match (byte & 0x70) >> 4 {
        0 => mantissa + 0x8,
        exponent => (mantissa + 0x108) << (exponent - 1),
    };
    if byte & 0x80 == 0 { -magnitude } else { magnitude }
}

/// G.711: all bits inverted, sign, three bits of exponent, four of mantissa.
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
