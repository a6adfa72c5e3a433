//! The face for people: `features`, `merge`, `info` and `plot`.

pub(crate) mod features;
mod heat_map;
pub(crate) mod info;
mod lettering;
pub(crate) mod merge;
pub(crate) mod plot;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::log::{one_line, say};
use crate::parse_options::OptionsError;

/// What keeps a tool from its work, told on one line.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// Anything else: exit status 1.
    Failed(String),
}

impl Trouble {
    pub(crate) fn failed(error: &dyn Error) -> Self {
        Self::Failed(one_line(error))
    }
}

impl From<OptionsError> for Trouble {
    fn from(error: OptionsError) -> Self {
        Self::Usage(one_line(&error))
    }
}

/// Tells the trouble, if there is any, and gives the exit status.
pub(crate) fn end(tool: &str, outcome: Result<ExitCode, Trouble>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(Trouble::Usage(text)) => {
            say(format_args!("kaldera {tool}: {text} (kaldera {tool} --help tells more)"));
            ExitCode::from(2)
        }
        Err(Trouble::Failed(text)) => {
            say(format_args!("kaldera {tool}: {text}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes to stdout. A reader that stopped listening is no trouble.
pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::Failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
