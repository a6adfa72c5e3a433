//! What can go wrong between files and features.

use std::io;
use std::path::PathBuf;

/// An error of the pipeline: each says in one line which file is concerned and what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No path was given.
    #[error("no recordings: name audio files, folders or a wav.scp")]
    NoInputs,
    /// A folder without recordings, or a script without lines.
    #[error("{}: no recordings in it (a folder needs *.wav files, a script lines 'KEY FILE')", path.display())]
    EmptyInput {
        /// The folder or script.
        path: PathBuf,
    },
    /// A line of a script that is not a key and a file.
    #[error("{}:{line}: '{text}' is not 'KEY FILE' or 'KEY COMMAND |'", path.display())]
    ScriptLine {
        /// The script.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Two recordings would have the same name in the output.
    #[error("'{key}' is the key of both {first} and {second}: rename one, or give keys of your own in a wav.scp")]
    DuplicateKey {
        /// The name.
        key: String,
        /// The first recording.
        first: String,
        /// The second recording.
        second: String,
    },
    /// The ending of an output's name does not tell its format.
    #[error("{}: the ending must tell the format: {}", path.display(), crate::pipeline::ENDINGS)]
    UnknownFormat {
        /// The output.
        path: PathBuf,
    },
    /// A recording that cannot be opened.
    #[error("cannot open it: {source}; check the name and that it may be read")]
    Open {
        /// Why.
        source: io::Error,
    },
    /// A folder or script that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The folder or script.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An output that cannot be written.
    #[error("cannot write {}: {source}: it needs a folder that exists, may be written to and has space", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// More recordings than the header of a safetensors file can name.
    #[error("{}: its header would have {bytes} bytes, and safetensors readers stop at 100 MB: write an .ark or an .npz", path.display())]
    HeaderTooLarge {
        /// The output.
        path: PathBuf,
        /// Length of the header.
        bytes: usize,
    },
    /// A channel that a recording does not have.
    #[error("there is no channel {channel} among its {channels} (counted from 0): see --channel")]
    NoSuchChannel {
        /// What was asked for.
        channel: usize,
        /// How many there are.
        channels: usize,
    },
    /// A recording below the duration that was asked for.
    #[error("{seconds} s long, which is below the {min_seconds} s of --min-duration")]
    TooShort {
        /// Its duration.
        seconds: f32,
        /// The least duration.
        min_seconds: f32,
    },
    /// A recording that is shorter than a frame.
    #[error("{samples} samples at {samp_freq} Hz are too few for one frame: see --frame-length and --snip-edges")]
    NoFrames {
        /// Samples per channel.
        samples: usize,
        /// Samples per second.
        samp_freq: f32,
    },
    /// A recording that cannot be read.
    #[error(transparent)]
    Wave(#[from] kaldi_io::wave::WaveError),
    /// A line of a script whose recording cannot be opened.
    #[error(transparent)]
    Io(#[from] kaldi_io::Error),
    /// A recording that features cannot be computed from.
    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),
    /// A matrix whose parts do not fit each other.
    #[error(transparent)]
    Matrix(#[from] kaldi_matrix::Error),
}
