//! Errors that keep the runner from judging at all.

use std::io;
use std::path::PathBuf;

/// A reason to stop before every selected case has a verdict. The command exits with 2.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is neither a filter nor an option.
    #[error("'{argument}' is neither a FILTER nor an option: try --help")]
    Usage {
        /// The argument.
        argument: String,
    },
    /// The folder of known answers is missing.
    #[error("{}: no such folder: name one that holds sets of known answers in KNOWN_ANSWERS (relative to the workspace root)", folder.display())]
    NoFolder {
        /// The folder in which it was expected.
        folder: PathBuf,
    },
    /// The root of the workspace, to which `KNOWN_ANSWERS` is relative, is not here.
    #[error("no Cargo.toml with a [workspace] above this folder: run from within the project")]
    NoWorkspace,
    /// A filter matches no case, or the folder has none.
    #[error("nothing selected by '{filter}' in {}", folder.display())]
    NothingSelected {
        /// The filter; empty where everything was asked for.
        filter: String,
        /// The folder of known answers.
        folder: PathBuf,
    },
    /// A companion of the case files is damaged.
    #[error("{}: damaged: {source}", path.display())]
    Companion {
        /// The file.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// The runner's own reading, writing or starting of a program failed.
    #[error("the runner itself failed: {0}")]
    Io(#[from] io::Error),
}
