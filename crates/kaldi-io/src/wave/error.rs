//! What can be wrong with a WAV file.

use std::io;

/// Why a WAV file could not be read or written. The file's name is added by whoever opened it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaveError {
    /// The first four bytes are not those of a WAV file.
    #[error(
        "WaveData: expected RIFF or RIFX, got '{found}': not a WAV file; convert it, e.g. with 'sox IN -b 16 OUT.wav'"
    )]
    NotRiff {
        /// What stood there.
        found: String,
    },
    /// A RIFF file of another kind.
    #[error("WaveData: expected WAVE, got '{found}': not a WAV file")]
    NotWave {
        /// What stood there.
        found: String,
    },
    /// The file ends inside its header.
    #[error("WaveData: unexpected end of file or read error in the header, before {wanted}")]
    UnexpectedEnd {
        /// What was to be read.
        wanted: &'static str,
    },
    /// A `fmt ` chunk too short for its format.
    #[error("WaveData: expect PCM format data to have fmt chunk of at least size 16, found {size}")]
    ShortFormat {
        /// Its size in bytes.
        size: u32,
    },
    /// A WAVE_FORMAT_EXTENSIBLE header with impossible sizes.
    #[error("WaveData: malformed WAVE_FORMAT_EXTENSIBLE format data (chunk of {size} bytes, extension of {extra})")]
    MalformedExtensible {
        /// Size of the `fmt ` chunk in bytes.
        size: u32,
        /// Size that it states for its extension.
        extra: u16,
    },
    /// A WAVE_FORMAT_EXTENSIBLE file whose samples are not PCM.
    #[error(
        "WaveData: unsupported WAVE_FORMAT_EXTENSIBLE format; convert to 16-bit PCM, e.g. with 'sox IN -b 16 OUT.wav'"
    )]
    ExtensibleNotPcm,
    /// Float, A-law, mu-law or compressed samples.
    #[error(
        "WaveData: can read only PCM data, format id in file is: {format}; convert it, e.g. with 'sox IN -b 16 -e signed OUT.wav'"
    )]
    NotPcm {
        /// The format tag.
        format: u16,
    },
    /// Zero channels.
    #[error("WaveData: no channels present")]
    NoChannels,
    /// 8, 24 or 32 bits.
    #[error("WaveData: unsupported bits_per_sample = {bits}; convert to 16 bits, e.g. with 'sox IN -b 16 OUT.wav'")]
    BitsPerSample {
        /// Bits per sample in the header.
        bits: u16,
    },
    /// The header contradicts itself.
    #[error("Unexpected byte rate {found} vs. {sample_rate} * 2 * {channels}")]
    ByteRate {
        /// Bytes per second in the header.
        found: u32,
        /// Samples per second in the header.
        sample_rate: u32,
        /// Channels in the header.
        channels: u16,
    },
    /// The header contradicts itself.
    #[error("Unexpected block_align: {found} vs. {channels} * 2")]
    BlockAlign {
        /// Bytes per frame in the header.
        found: u16,
        /// Channels in the header.
        channels: u16,
    },
    /// A header without a single sample.
    #[error("WaveData: empty file (no data)")]
    Empty,
    /// Fewer samples than the header promises.
    #[error(
        "truncated: its header promises {expected} bytes of samples, but there are {found}; copy or record it again"
    )]
    Truncated {
        /// Bytes of samples by the header.
        expected: u64,
        /// Bytes of samples in the file.
        found: u64,
    },
    /// What is to be written does not fit a WAV file.
    #[error("cannot write {samples} samples in {channels} channels at {samp_freq} Hz as WAV: {reason}")]
    Unwritable {
        /// All samples, of all channels.
        samples: usize,
        /// Number of channels.
        channels: usize,
        /// Samples per second.
        samp_freq: f32,
        /// What is wrong.
        reason: &'static str,
    },
    /// The stream failed.
    #[error("WaveData: file read error: {0}")]
    Read(io::Error),
    /// The stream failed.
    #[error("Error writing wave data to stream: {0}")]
    Write(io::Error),
}
