//! Errors between files and features, and the errors of all crates in one type.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::pipeline::Shard;

/// An error of the pipeline, or of any crate: `?` converts other errors into this one. Errors of
/// the pipeline say in one line which file is concerned and how to proceed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No path was given.
    #[error("no recordings: name audio files, folders or a wav.scp")]
    NoInputs,
    /// A folder without recordings, or a script without lines.
    #[error("{}: no recordings in it (a folder needs audio files or a wav.scp, a script lines 'KEY FILE')", path.display())]
    EmptyInput {
        /// The folder or script.
        path: PathBuf,
    },
    /// A command of a list that was found in a folder, and not named.
    #[error(
        "the command '{command}' is not run, as nobody named the wav.scp that has it: name the wav.scp itself, or say --pipes (Pipes::Always) if you trust the folder"
    )]
    FoundPipe {
        /// The command.
        command: String,
    },
    /// A line of a script that is not a key and a file.
    #[error("{}:{line}: '{text}' is not a line of that kind, such as 'KEY FILE', 'KEY COMMAND |' or 'KEY RECORDING START END'", path.display())]
    ScriptLine {
        /// The script.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Text of the line, or the beginning of it.
        text: String,
    },
    /// A line of a list that is too long, or no text.
    #[error("{}:{line}: {source}", path.display())]
    Line {
        /// The list.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The problem.
        source: kaldi_io::lines::LineError,
    },
    /// A line of a list with the key of an earlier line.
    #[error("{}:{line}: the key '{key}' stands in line {first} already: remove one of the two", path.display())]
    RepeatedLine {
        /// The list.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The key.
        key: String,
        /// The line that has it first.
        first: u64,
    },
    /// A line of a manifest that cannot be used.
    #[error("{}:{line}: {reason}", path.display())]
    ManifestLine {
        /// The manifest.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The problem.
        reason: String,
    },
    /// A line of NeMo's manifest that cannot be read, or a recording that has none.
    #[error("NeMo's manifest: {reason}")]
    NemoLine {
        /// The problem.
        reason: String,
    },
    /// Hot words for a decoding graph.
    #[error("a decoding graph has no hot words: decode without it")]
    GraphHotWords,
    /// More shards than recordings.
    #[error("shard {shard}: there are only {recordings} recordings, and none is left for it")]
    EmptyShard {
        /// The shard.
        shard: Shard,
        /// Number of recordings.
        recordings: usize,
    },
    /// There is nothing to merge.
    #[error("{}: there are no shards of it, such as {}", path.display(), Shard::new(1, 8).map_or_else(PathBuf::new, |shard| shard.path(path)).display())]
    NoShards {
        /// The file that should be made of the shards.
        path: PathBuf,
    },
    /// Shards of different runs are in one folder.
    #[error("{}: there are shards of {fewer} and of {more}; remove those of the run that is not meant, or name the files to merge", path.display())]
    MixedShards {
        /// The file that should be made of the shards.
        path: PathBuf,
        /// Number of shards of one run.
        fewer: usize,
        /// Number of shards of another run.
        more: usize,
    },
    /// A job has not ended, or has written nothing.
    #[error("{}: this shard is missing; name the files to merge to go without it", part.display())]
    MissingShard {
        /// File of the shard.
        part: PathBuf,
    },
    /// Two recordings would have the same name in the output.
    #[error("{second}: its key '{key}' is that of {first}: rename one, or give keys of your own in a wav.scp")]
    DuplicateKey {
        /// The name.
        key: String,
        /// The first recording.
        first: String,
        /// The second recording.
        second: String,
    },
    /// An output with an unknown file extension.
    #[error("{}: the file extension must select the format: {}", path.display(), crate::pipeline::ENDINGS)]
    UnknownFormat {
        /// The output.
        path: PathBuf,
    },
    /// A file in a folder that is audio by its contents and not by its name.
    #[error("{}: audio by its contents, but not by its name: rename it, or list it in a wav.scp", path.display())]
    UnlistedFile {
        /// The file.
        path: PathBuf,
    },
    /// A recording of segments that cannot be read; it is tried only once, not for each segment.
    #[error(transparent)]
    OfSegments(Arc<Error>),
    /// A folder or script that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The folder or script.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An output is a recording or a list of recordings, by its name or by a link.
    #[error("{} would overwrite the input {input}: write to another file", output.display())]
    Overwrite {
        /// The output, or a file next to it: an archive has its index in a separate file.
        output: PathBuf,
        /// The input, as it is named in its list.
        input: String,
    },
    /// A key that the format of an output cannot hold, or that is already in it.
    #[error("{}: '{}' cannot be a key there: {reason}", path.display(), key.escape_debug())]
    Key {
        /// The output.
        path: PathBuf,
        /// The key.
        key: String,
        /// The reason.
        reason: &'static str,
    },
    /// An output that cannot be written.
    #[error("cannot write {}: {source}: it needs a folder that exists, may be written to and has space", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The cause.
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
    /// A part of a recording that does not exist, or is too short.
    #[error("there is no segment from {start} s to {} in its {seconds} s, of 0.1 s or more", end.map_or_else(|| "its end".to_owned(), |end| format!("{end} s")))]
    Segment {
        /// Start of the part in seconds.
        start: f64,
        /// End of the part in seconds; `None` for the end of the recording.
        end: Option<f64>,
        /// Duration of the recording, in seconds.
        seconds: f32,
    },
    /// A segment of a recording that `wav.scp` does not have.
    #[error("wav.scp has no recording '{recording}', of which it should be a segment")]
    NoRecording {
        /// Key of the recording.
        recording: String,
    },
    /// Normalisation by speaker if the speaker is unknown.
    #[error("nothing tells who speaks: utt2spk or the manifest must, or normalise over each utterance")]
    NoSpeaker,
    /// Normalisation over all utterances, or over speakers, if only some utterances are known.
    #[error("normalisation over {over} needs all recordings: {instead}")]
    NeedsAll {
        /// The unit of normalisation.
        over: &'static str,
        /// The remedy.
        instead: &'static str,
    },
    /// An utterance without a voiced frame.
    #[error("none of its {frames} frames is voiced: lower `vad_energy_threshold` of the VAD's options")]
    NotVoiced {
        /// Number of frames of the utterance.
        frames: usize,
    },
    /// The run was asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
    /// A recording below the requested duration.
    #[error("{seconds} s long, which is below `min_seconds`, {min_seconds}")]
    TooShort {
        /// Its duration.
        seconds: f32,
        /// Minimum duration.
        min_seconds: f32,
    },
    /// A recording of a sample rate other than the rate of the features, if resampling is not
    /// allowed.
    #[error(
        "waveform and config sample frequency mismatch: {found} .vs {expected} (use `samp_freq`={found}, or `resample` \
         for recordings of any rate, or `allow_{direction}sample`=true to resample the waveform as Kaldi does)"
    )]
    SampleRate {
        /// The sample rate of the recording, Hz.
        found: f32,
        /// The sample rate of the features, Hz.
        expected: f32,
        /// Direction of the necessary resampling: `up` or `down`.
        direction: &'static str,
    },
    /// A recording that is shorter than a frame.
    #[error("{samples} samples at {samp_freq} Hz are too few for one frame")]
    NoFrames {
        /// Samples per channel.
        samples: usize,
        /// Samples per second.
        samp_freq: f32,
    },
    /// Features with NaN or infinite values.
    #[error(
        "{rows} of its {frames} rows have values that are not finite, the first is row {first} (counted from 0): samples far beyond full scale, or an option, cause that"
    )]
    NotFinite {
        /// Number of rows with such a value.
        rows: usize,
        /// Number of all rows.
        frames: usize,
        /// Index of the first such row.
        first: usize,
    },
    /// A recording that cannot be read, or has no such channel or rate.
    #[error(transparent)]
    Audio(#[from] kaldera_audio::Error),
    /// A WAV file that cannot be read or written.
    #[error(transparent)]
    Wave(#[from] kaldi_io::wave::WaveError),
    /// A table or another Kaldi file that cannot be opened, read or written.
    #[error(transparent)]
    Io(#[from] kaldi_io::Error),
    /// Invalid options of features, or audio from which features cannot be computed.
    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),
    /// A text that is no value of an option of features.
    #[error(transparent)]
    Option(#[from] kaldi_feat::options::OptionError),
    /// Vectors and matrices that do not fit each other.
    #[error(transparent)]
    Matrix(#[from] kaldi_matrix::Error),
    /// Bytes that are no Kaldi vector or matrix.
    #[error(transparent)]
    Codec(#[from] kaldi_matrix::codec::CodecError),
    /// An error of `recurrent`.
    #[error(transparent)]
    Recurrent(#[from] recurrent::Error),
    /// An error of the losses.
    #[error(transparent)]
    Losses(#[from] kaldera_losses::Error),
    /// An error of `lod`.
    #[error(transparent)]
    Lod(#[from] lod::Error),
    /// An error of `ragged-core`, such as a text that is no ragged tensor.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
    /// An error of `tensor-strided`, such as a text that is no index.
    #[error(transparent)]
    Tensor(#[from] tensor_strided::Error),
    /// A `.npy` file that cannot be read or written.
    #[error(transparent)]
    Npy(#[from] tensor_strided::npy::NpyError),
    /// An invalid FSA, or an invalid operation on an FSA.
    #[error(transparent)]
    Fsa(#[from] fsa::Error),
    /// An error of a speech decoder, an alignment or a scoring.
    #[error(transparent)]
    Recognition(#[from] kaldera_decoder::Error),
    /// An error of an acoustic network.
    #[error(transparent)]
    Network(#[from] kaldera_network::Error),
    /// An error of i-vectors.
    #[error(transparent)]
    Ivector(#[from] kaldi_ivector::Error),
    /// An error of one of Kaldi's networks.
    #[error(transparent)]
    Nnet3(#[from] kaldi_nnet3::Error),
    /// A line of one of Kaldi's configuration files that cannot be used.
    #[error("{file}:{line}: {reason}")]
    ConfigLine {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The problem.
        reason: String,
    },
    /// An option that must name a file, and does not.
    #[error("no file is given for --{option}; the file of --ivector-extractor-config may have to name it")]
    NoFile {
        /// The option.
        option: &'static str,
    },
    /// A recording with an unknown transcript.
    #[error("there is no transcript of {utterance}")]
    NoTranscript {
        /// The utterance.
        utterance: String,
    },
    /// An utterance without log-probabilities in an archive.
    #[error("there are no log-probabilities of utterance {utterance}")]
    NoLogProbs {
        /// The utterance.
        utterance: String,
    },
    /// A model without a network.
    #[error(
        "{}: key network.file: {}: 'kaldera decode', AnyDecoder::open in Rust and Decoder in Python decode \
         log-probabilities without a network",
        path.display(),
        match archive {
            Some(archive) => format!("{} holds log-probabilities and is no network", archive.display()),
            None => "it is missing".to_owned(),
        }
    )]
    NoNetwork {
        /// The description.
        path: PathBuf,
        /// The archive of log-probabilities in place of the network.
        archive: Option<PathBuf>,
    },
    /// A key of a model's description that cannot be used.
    #[error("{}: key {key}: {reason}", path.display())]
    ModelKey {
        /// The description.
        path: PathBuf,
        /// The key, with a dot after the name of its table.
        key: String,
        /// The problem.
        reason: String,
    },
    /// A model whose description cannot be read.
    #[error("{}: {reason}", path.display())]
    ModelFile {
        /// The description.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A text that is no FSA.
    #[error(transparent)]
    FsaText(#[from] fsa::io::ParseError),
    /// FSAs in an `.npz` file that cannot be read or written.
    #[error(transparent)]
    FsaNpz(#[from] fsa::io::NpzError),
}

impl From<ragged_core::ParseError> for Error {
    fn from(error: ragged_core::ParseError) -> Self {
        Self::Ragged(error.into())
    }
}

impl From<tensor_strided::ParseError> for Error {
    fn from(error: tensor_strided::ParseError) -> Self {
        Self::Tensor(error.into())
    }
}

/// Converts an error of the system, such as a missing file.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error.into())
    }
}
