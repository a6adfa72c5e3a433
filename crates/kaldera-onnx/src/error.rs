//! What can be wrong with an ONNX file.

use std::path::PathBuf;

use crate::session::Runtime;

/// Why a file is no network that can be used here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime cannot load it.
    #[error("{}: {reason}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What the runtime says.
        reason: String,
    },
    /// A name that no runtime has.
    #[error("'{name}' is not one of {}", Runtime::ALL.map(Runtime::name).join(", "))]
    UnknownRuntime {
        /// What was given.
        name: String,
    },
    /// This build has RTen alone.
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
        /// What the system says.
        reason: String,
    },
    /// An input that is neither features, nor samples, nor lengths.
    #[error(
        "input {input}: neither features [N, T, F], nor samples [N, T], nor lengths [N], nor a state, which has an output of its name after new_ or next_, or with _next in it"
    )]
    Input {
        /// Its name and shape.
        input: String,
    },
    /// A state that cannot be carried from one chunk to the next.
    #[error("input {input}, a state: {reason}")]
    State {
        /// Its name and shape.
        input: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A network with states whose metadata do not say how long chunks are.
    #[error(
        "input {input} is a state, and the metadata do not say how long chunks are: T and decode_chunk_len (icefall), or window_size and chunk_shift (NeMo)"
    )]
    NoChunk {
        /// The name and shape of the first state.
        input: String,
    },
    /// What comes after an utterance's rows is no rows.
    #[error(
        "{found} values come after the rows of an utterance, of which {finite} are finite: rows of {width} finite values are needed, one at least"
    )]
    Tail {
        /// How many values a row has.
        width: usize,
        /// How many values there are.
        found: usize,
        /// How many of them are finite.
        finite: usize,
    },
    /// Chunks of no length, or of too many rows.
    #[error(
        "a chunk of {rows} rows and a shift of {shift}: a chunk has from 1 to {most} rows, and the shift is from 1 to as many"
    )]
    Chunk {
        /// How many rows a chunk has.
        rows: usize,
        /// From the first row of one to that of the next.
        shift: usize,
        /// How many rows it may have.
        most: usize,
    },
    /// A file that is not the part of a transducer that it should be.
    #[error("{}: as the {part} of a transducer: {reason}", path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// The predictor or the joiner.
        part: &'static str,
        /// What is wrong with it.
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
    /// Rows of features of another width than those that there are.
    #[error("input {input}: rows of {found} values, and the features have {expected}")]
    Width {
        /// Its name and shape.
        input: String,
        /// How many values a row of features has.
        expected: usize,
        /// How many the network takes.
        found: usize,
    },
    /// A file that does not say how many values a row has.
    #[error("input {input}: the file does not say how many values a row of features has: set `inputs`")]
    UnknownWidth {
        /// Its name and shape.
        input: String,
    },
    /// Rows of more values than any features have.
    #[error("input {input}: rows of {found} values, and at most {most} are read")]
    TooWide {
        /// Its name and shape.
        input: String,
        /// How many values a row has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A subsampling of 0 was asked for.
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
        /// How many rows the trial had.
        rows: usize,
        /// What went wrong.
        reason: String,
    },
}
