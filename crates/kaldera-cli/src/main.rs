//! The command `kaldera`; see [`kaldera_cli::run`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    kaldera_cli::run(std::env::args_os())
}
