//! Errors of reading recordings.

use std::io;
use std::path::PathBuf;

/// The error of a recording: which part of it is wrong, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An audio file that [`Recording::open`](crate::Recording::open) cannot read.
    #[error("{}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<Error>,
    },
    /// Audio of a format that this build does not read.
    #[error("{format}, which is not read here: in a wav.scp, write '{command}' in the place of the file")]
    UnreadFormat {
        /// The format.
        format: String,
        /// Command that makes WAV of FILE.
        command: &'static str,
    },
    /// A file that is no audio, or of an unknown format.
    #[error("not audio: {found}; {remedy}")]
    NotAudio {
        /// Its format, or its first bytes.
        found: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A file that ends early.
    #[error(
        "truncated or damaged: its {format} header promises {expected} {unit}, but there are {found}; copy it again, or set `allow_truncated` to take what is there"
    )]
    Truncated {
        /// The format of the file.
        format: &'static str,
        /// Expected number, by the header.
        expected: u64,
        /// Number in the file.
        found: u64,
        /// Unit of both numbers.
        unit: &'static str,
    },
    /// A file that ends early, if its length is unknown.
    #[error("truncated: the {format} file ends early; copy it again, or set `allow_truncated` to take what is there")]
    NoEnd {
        /// The format of the file.
        format: &'static str,
    },
    /// A recording with samples that are NaN or infinite, as in damaged floating-point files.
    #[error("sample {sample} of channel {channel} (both counted from 0) is {value}: damaged; copy or record it again")]
    NotFiniteSample {
        /// Index of the sample within its channel.
        sample: usize,
        /// Index of the channel.
        channel: usize,
        /// Value of the sample.
        value: f32,
    },
    /// A recording with an invalid number of channels or rate, in its header or from the caller.
    #[error("it has {channels} channels at {samp_freq} Hz: damaged, or no audio")]
    NoRate {
        /// Number of channels.
        channels: usize,
        /// Samples per second.
        samp_freq: f32,
    },
    /// A small file that becomes a very long recording.
    #[error(
        "it has more than {limit} samples, which is the limit that was set, or for a file of its size: read it as \
         'ffmpeg -i FILE -ar 16000 -f wav - |' in a wav.scp"
    )]
    TooManySamples {
        /// Maximum number of samples, of all channels.
        limit: u64,
    },
    /// The system has no memory for a recording.
    #[error("there is no memory for {samples} samples")]
    NoMemory {
        /// Minimum number of samples.
        samples: usize,
    },
    /// A compressed file with a damaged or missing part.
    #[error(
        "damaged {format}: {message}; copy it again, set `allow_truncated` to take what comes before the damage, or \
         in a wav.scp write 'ffmpeg -i FILE -f wav - |' in its place"
    )]
    Decoder {
        /// The format of the file.
        format: &'static str,
        /// The problem, and its place if it is known.
        message: String,
    },
    /// A recording that cannot be opened.
    #[error("cannot open it: {source}; check the name and that it may be read")]
    Open {
        /// The cause.
        source: io::Error,
    },
    /// A channel that a recording does not have.
    #[error("there is no channel {channel} among its {channels} (counted from 0)")]
    NoSuchChannel {
        /// The requested channel.
        channel: usize,
        /// Number of channels.
        channels: usize,
    },
    /// A recording of several channels if one is needed.
    #[error("a recording of {channels} channels, where one is needed: take one by `channel` or their `mean`")]
    SeveralChannels {
        /// Number of channels.
        channels: usize,
    },
    /// A header with numbers that no recording has.
    #[error(
        "the {container} header has {channels} channels at {samp_freq} Hz, and a recording has 1 to 256 at 100 Hz to 2 MHz: it is damaged; copy or record it again"
    )]
    Layout {
        /// The format of the file.
        container: &'static str,
        /// Channels in the header.
        channels: u64,
        /// Samples per second in the header.
        samp_freq: f64,
    },
    /// A block of ADPCM with a wrong beginning.
    #[error("damaged: block {block} of its ADPCM samples begins with {found}; copy it again")]
    AdpcmBlock {
        /// Index of the block, counted from 0.
        block: usize,
        /// The value there.
        found: String,
    },
    /// A header of uncompressed samples that is damaged, or of a kind that is not read.
    #[error(transparent)]
    Wave(#[from] kaldi_io::WaveError),
    /// A file or a command that cannot be opened or read.
    #[error(transparent)]
    Io(#[from] kaldi_io::Error),
    /// A rate to which a recording cannot be resampled.
    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),
}
