//! The command: see the library's documentation.

use std::process::ExitCode;

fn main() -> ExitCode {
    conformance::main(std::env::args_os().collect())
}
