//! What can be wrong with an audio file.

use std::io;

/// Why an audio file could not be read, or a WAV file not be written. The file's name is added by whoever opened it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaveError {
    /// The first four bytes are not those of a WAV file.
    #[error(
        "not a WAV file: it begins with '{found}' instead of RIFF or RIFX; convert it, e.g. with 'sox IN -b 16 OUT.wav'"
    )]
    NotRiff {
        /// What stood there.
        found: String,
    },
    /// A RIFF file of another kind.
    #[error(
        "not a WAV file: a RIFF file of the kind '{found}' instead of WAVE; convert it, e.g. with 'ffmpeg -i IN OUT.wav'"
    )]
    NotWave {
        /// What stood there.
        found: String,
    },
    /// The file ends inside its header.
    #[error("the file ends within the {container} header, before {wanted}; copy or record it again")]
    UnexpectedEnd {
        /// The format of the file.
        container: &'static str,
        /// What was to be read.
        wanted: &'static str,
    },
    /// A `fmt ` chunk too short for its format.
    #[error("the fmt chunk has {size} bytes, and PCM needs 16; convert the file, e.g. with 'sox IN -b 16 OUT.wav'")]
    ShortFormat {
        /// Its size in bytes.
        size: u32,
    },
    /// A WAVE_FORMAT_EXTENSIBLE header with impossible sizes.
    #[error(
        "impossible sizes in the WAVE_FORMAT_EXTENSIBLE header: a fmt chunk of {size} bytes, an extension of {extra}; copy or record it again"
    )]
    MalformedExtensible {
        /// Size of the `fmt ` chunk in bytes.
        size: u32,
        /// Size that it states for its extension.
        extra: u16,
    },
    /// A WAVE_FORMAT_EXTENSIBLE file whose samples are not PCM.
    #[error(
        "WAVE_FORMAT_EXTENSIBLE samples that are not PCM; convert to 16-bit PCM, e.g. with 'sox IN -b 16 -e signed OUT.wav'"
    )]
    ExtensibleNotPcm,
    /// Float, A-law, mu-law or compressed samples.
    #[error(
        "samples of WAV format {format}, where only 1 (PCM) can be read; convert it, e.g. with 'sox IN -b 16 -e signed OUT.wav'"
    )]
    NotPcm {
        /// The format tag.
        format: u16,
    },
    /// Zero channels.
    #[error("a WAV header with no channels; copy or record it again")]
    NoChannels,
    /// A header whose parts cannot all be right.
    #[error("the {container} header contradicts itself: {what}; copy or record it again")]
    Contradiction {
        /// The format of the file.
        container: &'static str,
        /// The parts.
        what: String,
    },
    /// 8, 24 or 32 bits, which Kaldi's reader refuses.
    #[error("samples of {bits} bits, where only 16 can be read; convert it, e.g. with 'sox IN -b 16 OUT.wav'")]
    BitsPerSample {
        /// Bits per sample in the header.
        bits: u16,
    },
    /// The header contradicts itself.
    #[error(
        "the WAV header contradicts itself: {found} bytes a second for {channels} channels at {sample_rate} Hz; \
         copy or record it again"
    )]
    ByteRate {
        /// Bytes per second in the header.
        found: u32,
        /// Samples per second in the header.
        sample_rate: u32,
        /// Channels in the header.
        channels: u16,
    },
    /// The header contradicts itself.
    #[error(
        "the WAV header contradicts itself: {found} bytes a frame for {channels} channels of 16 bits; copy or record it again"
    )]
    BlockAlign {
        /// Bytes per frame in the header.
        found: u16,
        /// Channels in the header.
        channels: u16,
    },
    /// A header without a single sample.
    #[error("not a single sample behind the {container} header; copy or record it again")]
    Empty {
        /// The format of the file.
        container: &'static str,
    },
    /// Fewer samples than the header promises.
    #[error(
        "truncated: its {container} header promises {expected} bytes of samples, but there are {found}; copy or record it again"
    )]
    Truncated {
        /// The format of the file.
        container: &'static str,
        /// Bytes of samples by the header.
        expected: u64,
        /// Bytes of samples in the file.
        found: u64,
    },
    /// More samples than a recording may have, or a header that says so.
    #[error(
        "more than {limit} bytes of samples, which is the limit: cut it into parts, or copy it again if it is shorter"
    )]
    TooLong {
        /// The most bytes.
        limit: u64,
    },
    /// The system has no memory for the samples.
    #[error("there is no memory for {bytes} bytes of samples")]
    NoMemory {
        /// How many bytes were asked for.
        bytes: usize,
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
    #[error("reading samples failed: {0}")]
    Read(io::Error),
    /// The stream failed.
    #[error("writing samples failed: {0}")]
    Write(io::Error),
}
