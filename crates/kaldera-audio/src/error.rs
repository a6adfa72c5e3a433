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
        /// Why.
        source: Box<Error>,
    },
    /// Audio of a format that this build does not read.
    #[error("{format}, which is not read here: in a wav.scp, write '{command}' in the place of the file")]
    UnreadFormat {
        /// The format.
        format: String,
        /// What makes WAV of FILE.
        command: &'static str,
    },
    /// A file that is no audio, or of no format that is known.
    #[error("not audio: {found}; {remedy}")]
    NotAudio {
        /// Its format, or its first bytes.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file that ends early.
    #[error(
        "truncated or damaged: its {format} header promises {expected} {unit}, but there are {found}; copy it again, or set `allow_truncated` to take what is there"
    )]
    Truncated {
        /// The format of the file.
        format: &'static str,
        /// By the header.
        expected: u64,
        /// In the file.
        found: u64,
        /// Of what.
        unit: &'static str,
    },
    /// A file that ends early, where nothing tells how long it should be.
    #[error("truncated: the {format} file ends early; copy it again, or set `allow_truncated` to take what is there")]
    NoEnd {
        /// The format of the file.
        format: &'static str,
    },
    /// A recording with samples that are NaN or infinite, as damaged floating-point files have them.
    #[error("sample {sample} of channel {channel} (both counted from 0) is {value}: damaged; copy or record it again")]
    NotFiniteSample {
        /// Within its channel.
        sample: usize,
        /// Of which.
        channel: usize,
        /// What it is.
        value: f32,
    },
    /// A recording whose header, or caller, says what cannot be.
    #[error("it has {channels} channels at {samp_freq} Hz: damaged, or no audio")]
    NoRate {
        /// How many channels.
        channels: usize,
        /// Samples per second.
        samp_freq: f32,
    },
    /// A small file that becomes a very long recording.
    #[error(
        "it decodes to more than {limit} samples, which is the limit for a file of its size: read it as \
         'ffmpeg -i FILE -ar 16000 -f wav - |' in a wav.scp"
    )]
    TooManySamples {
        /// The most samples, of all channels.
        limit: u64,
    },
    /// The system has no memory for a recording.
    #[error("there is no memory for {samples} samples")]
    NoMemory {
        /// How many there were to be, at least.
        samples: usize,
    },
    /// A compressed file of which a part is damaged or missing.
    #[error(
        "damaged {format}: {message}; copy it again, set `allow_truncated` to take what comes before the damage, or \
         in a wav.scp write 'ffmpeg -i FILE -f wav - |' in its place"
    )]
    Decoder {
        /// The format of the file.
        format: &'static str,
        /// What is wrong, and where that is known.
        message: String,
    },
    /// A recording that cannot be opened.
    #[error("cannot open it: {source}; check the name and that it may be read")]
    Open {
        /// Why.
        source: io::Error,
    },
    /// A channel that a recording does not have.
    #[error("there is no channel {channel} among its {channels} (counted from 0)")]
    NoSuchChannel {
        /// What was asked for.
        channel: usize,
        /// How many there are.
        channels: usize,
    },
    /// A recording of several channels where one is needed.
    #[error("a recording of {channels} channels, where one is needed: take one by `channel` or their `mean`")]
    SeveralChannels {
        /// How many there are.
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
