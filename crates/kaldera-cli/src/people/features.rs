//! `kaldera features`. Under construction.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `kaldera features` with the arguments after its name.
pub(crate) fn run(_args: Vec<OsString>) -> ExitCode {
    ExitCode::from(2)
}
