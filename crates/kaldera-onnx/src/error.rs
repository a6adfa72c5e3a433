//! Errors of ONNX files.

use std::path::PathBuf;

use crate::session::Runtime;

/// The reason why a file cannot be used as a network.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime cannot load it.
    #[error("{}: {reason}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The runtime's message.
        reason: String,
    },
    /// A name that no runtime has.
    #[error("'{name}' is not one of {}", Runtime::ALL.map(Runtime::name).join(", "))]
    UnknownRuntime {
        /// The given name.
        name: String,
    },
    /// This build has only RTen.
    #[error(
        "this build has no ONNX Runtime: build with the feature `ort`, as in 'cargo install --path crates/kaldera-cli --features ort'"
    )]
    NoRuntime,
    /// The library of ONNX Runtime cannot be loaded.
    #[error(
        "{}: {reason}; set ORT_DYLIB_PATH to the library of ONNX Runtime 1.17 or newer, such as that of 'pip install onnxruntime', site-packages/onnxruntime/capi/libonnxruntime.so.1.*",
        library.display()
    )]
    Library {
        /// The file or name that was tried.
        library: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// An input that is neither features, nor samples, nor lengths.
    #[error(
        "input {input}: neither features [N, T, F], nor samples [N, T], nor lengths [N], nor a mask [N, T], nor a state, which has an output of its name after new_ or next_, or with _next in it; an integer that is the same for all utterances is given by `constants`"
    )]
    Input {
        /// Its name and shape.
        input: String,
    },
    /// A constant that is no input of the file.
    #[error("there is no input {name} for a constant: there are {inputs}")]
    Constant {
        /// The name of the constant.
        name: String,
        /// Names and shapes of the inputs.
        inputs: String,
    },
    /// A state that cannot be carried from one chunk to the next.
    #[error("input {input}, a state: {reason}")]
    State {
        /// Its name and shape.
        input: String,
        /// The defect.
        reason: String,
    },
    /// A prompt before the utterance in a network with states.
    #[error("only networks without states can have prompt rows, and {input} is a state: leave them out")]
    Prompt {
        /// The name and shape of the first state.
        input: String,
    },
    /// A cache of attention of no length, or of too many frames.
    #[error("chunk_size {chunk} and left_chunks {left} of the metadata: a cache has from 1 to {most} frames")]
    AttentionCache {
        /// Number of frames of a chunk.
        chunk: usize,
        /// Number of chunks in the cache.
        left: usize,
        /// Largest number of frames of a cache.
        most: usize,
    },
    /// A network with a token for the end of utterances, but without the times of tokens.
    #[error("no output us_cif_peak [N, 3 T] has the frames of tokens: there are {outputs}; export it with time stamps")]
    NoPeaks {
        /// Names and shapes of the outputs.
        outputs: String,
    },
    /// A network with states whose metadata do not give the length of a chunk.
    #[error(
        "input {input} is a state, and the metadata do not say how long chunks are: T and decode_chunk_len (icefall), window_size and chunk_shift (NeMo), or chunk_size, left_chunks, right_context and subsampling_factor (WeNet)"
    )]
    NoChunk {
        /// The name and shape of the first state.
        input: String,
    },
    /// The values after an utterance's rows are not rows.
    #[error(
        "{found} values come after the rows of an utterance, of which {finite} are finite: rows of {width} finite values are needed, one at least"
    )]
    Tail {
        /// Number of values per row.
        width: usize,
        /// Number of values.
        found: usize,
        /// Number of finite values.
        finite: usize,
    },
    /// Chunks of no length, or of too many rows.
    #[error(
        "a chunk of {rows} rows and a shift of {shift}: a chunk has from 1 to {most} rows, and the shift is from 1 to as many"
    )]
    Chunk {
        /// Number of rows of a chunk.
        rows: usize,
        /// Number of rows from the start of a chunk to the start of the next one.
        shift: usize,
        /// Largest number of rows of a chunk.
        most: usize,
    },
    /// A file that is not the part of a transducer that it should be.
    #[error("{}: as the {part} of a transducer: {reason}", path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// The predictor or the joiner.
        part: &'static str,
        /// The defect.
        reason: String,
    },
    /// No input has features or samples.
    #[error("no input has features [N, T, F] or samples [N, T] of floating point")]
    NoInput,
    /// An axis that must be symbolic has a fixed size.
    #[error("input {input}: its axis {axis} has the fixed size {size}: export it with a dynamic axis")]
    Fixed {
        /// Its name and shape.
        input: String,
        /// The axis, counted from 0.
        axis: usize,
        /// The size.
        size: usize,
    },
    /// Rows whose width differs from the width of the features.
    #[error("input {input}: rows of {found} values, and the features have {expected}")]
    Width {
        /// Its name and shape.
        input: String,
        /// Number of values of a row of features.
        expected: usize,
        /// Number of values that the network takes.
        found: usize,
    },
    /// A file that does not give the number of values per row.
    #[error("input {input}: the file does not say how many values a row of features has: set `inputs`")]
    UnknownWidth {
        /// Its name and shape.
        input: String,
    },
    /// Rows of more values than features can have.
    #[error("input {input}: rows of {found} values, and at most {most} are read")]
    TooWide {
        /// Its name and shape.
        input: String,
        /// Number of values per row.
        found: usize,
        /// Largest number of values per row.
        most: usize,
    },
    /// A given subsampling of 0.
    #[error("a subsampling of 0: rows of the input for a row of the output are 1 or more")]
    NoSubsampling,
    /// No output has scores of tokens.
    #[error("no output has scores of tokens [N, T, V] of floating point: there are {outputs}")]
    NoOutput {
        /// Names and shapes of the outputs.
        outputs: String,
    },
    /// The network could not be run.
    #[error("a trial run over {rows} rows: {reason}")]
    Trial {
        /// Number of rows of the trial.
        rows: usize,
        /// The runtime's error, or the defect of the result.
        reason: String,
    },
}
