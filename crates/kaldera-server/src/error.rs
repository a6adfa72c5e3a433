//! Errors of starting a server.

use std::io;
use std::path::PathBuf;

/// An error that prevents a server from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no model.
    #[error("there is no model to serve")]
    NoModel,
    /// Two models have one name.
    #[error("two models have the name '{name}': give one another name, NAME=FOLDER")]
    RepeatedModel {
        /// The name.
        name: String,
    },
    /// An address that is not free, or is none.
    #[error("option --{option}: cannot listen on {address}: {source}")]
    Listen {
        /// The option.
        option: &'static str,
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file of keys that cannot be read.
    #[error("{}: {source}", path.display())]
    Keys {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of keys without a usable key.
    #[error("{}:{line}: {reason}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        reason: &'static str,
    },
    /// An option with a value that cannot be used.
    #[error("option --{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// The problem.
        reason: String,
    },
    /// Threads or sockets that the system does not give.
    #[error("cannot start: {source}")]
    Start {
        /// The system's error.
        source: io::Error,
    },
}
