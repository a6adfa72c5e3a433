//! Errors of audio files.

use std::io;

/// An error of reading an audio file, or of writing a WAV file. The caller that opened the file
/// adds its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaveError {
    /// The first four bytes are not from a WAV file.
    #[error(
        "not a WAV file: it begins with '{found}' instead of RIFF or RIFX; convert it, e.g. with 'sox IN -b 16 OUT.wav'"
    )]
    NotRiff {
        /// The bytes found there.
        found: String,
    },
    /// A RIFF file of another kind.
    #[error(
        "not a WAV file: a RIFF file of the kind '{found}' instead of WAVE; convert it, e.g. with 'ffmpeg -i IN OUT.wav'"
    )]
    NotWave {
        /// The kind found there.
        found: String,
    },
    /// The file ends inside its header.
    #[error("the file ends within the {container} header, before {wanted}; copy or record it again")]
    UnexpectedEnd {
        /// The format of the file.
        container: &'static str,
        /// The part that was to be read.
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
    /// A header with zero channels.
    #[error("a WAV header with no channels; copy or record it again")]
    NoChannels,
    /// A header with contradictory parts.
    #[error("the {container} header contradicts itself: {what}; copy or record it again")]
    Contradiction {
        /// The format of the file.
        container: &'static str,
        /// The parts.
        what: String,
    },
    /// A sample width other than 16 bits, which Kaldi's reader refuses.
    #[error("samples of {bits} bits, where only 16 can be read; convert it, e.g. with 'sox IN -b 16 OUT.wav'")]
    BitsPerSample {
        /// Bits per sample in the header.
        bits: u16,
    },
    /// A header whose bytes per second contradict its rate and channels.
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
    /// A header whose bytes per frame contradict its channels.
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
    /// More samples than a recording may have, in the file or by its header.
    #[error(
        "more than {limit} bytes of samples, which is the limit: cut it into parts, or copy it again if it is shorter"
    )]
    TooLong {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// The system has no memory for the samples.
    #[error("there is no memory for {bytes} bytes of samples")]
    NoMemory {
        /// Number of bytes requested.
        bytes: usize,
    },
    /// A recording that does not fit a WAV file.
    #[error("cannot write {samples} samples in {channels} channels at {samp_freq} Hz as WAV: {reason}")]
    Unwritable {
        /// Number of samples of all channels.
        samples: usize,
        /// Number of channels.
        channels: usize,
        /// Samples per second.
        samp_freq: f32,
        /// Description of the problem.
        reason: &'static str,
    },
    /// Reading from the stream failed.
    #[error("reading samples failed: {0}")]
    Read(io::Error),
    /// Writing to the stream failed.
    #[error("writing samples failed: {0}")]
    Write(io::Error),
}
