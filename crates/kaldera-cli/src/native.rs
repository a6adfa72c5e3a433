//! The native command: `transcribe`, `decode`, `stream`, `serve`, `align`, `score`, `model`,
//! `features`, `fst`, `lm`, `merge`, `info` and `plot`.

pub(crate) mod align;
mod archives;
mod corpus;
pub(crate) mod decode;
mod decoding;
pub(crate) mod features;
mod files;
pub(crate) mod fst;
mod heat_map;
pub(crate) mod info;
mod lettering;
mod live_line;
pub(crate) mod lm;
pub(crate) mod merge;
pub(crate) mod model;
mod operation;
pub(crate) mod plot;
pub(crate) mod score;
#[cfg(feature = "serve")]
pub(crate) mod serve;
mod spoken;
pub(crate) mod stream;
mod svg_paths;
mod text_picture;
pub(crate) mod transcribe;
mod transcript_options;
mod transcripts;
mod word_band;
mod word_lines;
mod words;

use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::kaldi::KILLED_BY_SIGPIPE;
use crate::log::{self, one_line, say};
use crate::parse_options::{CommandLine, OptionsError, ParseOptions, Request, Syntax};
use crate::{Call, USAGE};

/// An error that ends a tool, with a message of one line.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// Any other error: exit status 1.
    Failed(String),
    /// The reader of the results is gone: the exit status that shells report for SIGPIPE, and no
    /// message.
    Closed,
}

impl CliError {
    pub(crate) fn failed(error: &dyn Error) -> Self {
        Self::Failed(one_line(error))
    }
}

impl From<OptionsError> for CliError {
    fn from(error: OptionsError) -> Self {
        Self::Usage(one_line(&error))
    }
}

/// Reports the error, if there is one, and returns the exit status.
pub(crate) fn end(tool: &str, outcome: Result<ExitCode, CliError>) -> ExitCode {
    log::end(tool);
    match outcome {
        Ok(code) => code,
        Err(CliError::Usage(text)) => {
            say(format_args!("kaldera {tool}: {text} (see kaldera {tool} --help)"));
            ExitCode::from(USAGE)
        }
        Err(CliError::Failed(text)) => {
            say(format_args!("kaldera {tool}: {text}"));
            ExitCode::FAILURE
        }
        Err(CliError::Closed) => ExitCode::from(KILLED_BY_SIGPIPE),
    }
}

/// Reads the options of a call and returns the plain arguments. Returns `None` if nothing is left
/// to do: the call was for the help, the version or completions.
pub(crate) fn arguments(
    tool: &'static str,
    parser: &mut ParseOptions<'_>,
    call: Call<'_>,
) -> Result<Option<Vec<OsString>>, CliError> {
    match call {
        Call::Run(args) => {
            let line = parser.split(&args)?;
            apply(tool, parser, line)
        }
        Call::Complete(words, found) => {
            parser.complete(words, found);
            Ok(None)
        }
    }
}

/// Sets the options of a command line and returns the plain arguments, as [`arguments`] does.
pub(crate) fn apply(
    tool: &'static str,
    parser: &mut ParseOptions<'_>,
    line: CommandLine,
) -> Result<Option<Vec<OsString>>, CliError> {
    match parser.apply(line)? {
        Request::Tell(text) => print(&text).map(|()| None),
        Request::Run(plain) => {
            log::init(tool, Syntax::Native, parser.verbosity());
            Ok(Some(plain))
        }
    }
}

/// Writes to stdout. A reader that has closed the pipe is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    log::print(text).map_err(|error| CliError::Failed(format!("cannot write to standard output: {error}")))
}

/// Writes results to stdout. If the reader has closed the pipe, returns an error that ends the
/// work.
pub(crate) fn print_results(text: &str) -> Result<(), CliError> {
    match log::print_strictly(text) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(CliError::Closed),
        Err(error) => Err(CliError::Failed(format!("cannot write to standard output: {error}"))),
    }
}

/// Writes a requested text to stdout and returns the exit status.
pub(crate) fn tell(text: &str) -> ExitCode {
    match log::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("kaldera: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
    }
}
