//! The command `kaldera`: options in, a call of the library, tables out.
//!
//! It has two faces. Kaldi's face takes the command lines of Kaldi's programs argument for argument, so that a recipe
//! changes one word (`kaldera compute-mfcc-feats ...`), and ends as they end: 0 when any utterance succeeded, 1 when none
//! did or the usage was wrong, 255 where Kaldi would throw. The people's face (`features`, `info`, `plot`) takes the same options and
//! more forgiving arguments.

#![forbid(unsafe_code)]

mod kaldi;
mod log;
mod parse_options;
mod people;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, value_parser};

/// A subcommand: its name, one line for `kaldera --help`, and what runs it with the arguments after its name.
struct Tool {
    name: &'static str,
    about: &'static str,
    run: fn(Vec<OsString>) -> ExitCode,
}

const PEOPLE: &[Tool] = &[
    Tool {
        name: "features",
        about: "Turn recordings into features: ark,scp, npz or safetensors",
        run: people::features::run,
    },
    Tool { name: "info", about: "Show what this build and machine compute with", run: people::info::run },
    Tool { name: "plot", about: "Draw a feature matrix as an image", run: people::plot::run },
];

/// The Kaldi programs that [`run`] stands in for, by the names that Kaldi gives them.
#[must_use]
pub fn kaldi_tools() -> &'static [&'static str] {
    &kaldi::NAMES
}

/// Runs the command with `args`, the first of which is the program's own name, and returns its exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            // Nothing is left to tell a person whose terminal is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let Some((name, sub)) = matches.subcommand() else { return ExitCode::from(2) };
    let Some(tool) = tools().find(|tool| tool.name == name) else { return ExitCode::from(2) };
    (tool.run)(sub.get_many("args").into_iter().flatten().cloned().collect())
}

fn tools() -> impl Iterator<Item = &'static Tool> {
    PEOPLE.iter().chain(kaldi::TOOLS)
}

/// Every tool parses its own arguments, so clap hands them on untouched.
fn command() -> Command {
    let raw = Arg::new("args")
        .action(ArgAction::Append)
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(value_parser!(OsString));
    tools().fold(
        Command::new("kaldera")
            .about("Kaldi's speech features, without Kaldi")
            .version(env!("CARGO_PKG_VERSION"))
            .subcommand_required(true)
            .arg_required_else_help(true),
        |command, tool| {
            command.subcommand(Command::new(tool.name).about(tool.about).disable_help_flag(true).arg(raw.clone()))
        },
    )
}
