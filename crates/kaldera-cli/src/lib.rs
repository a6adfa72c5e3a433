//! The command `kaldera`: options in, a call of the library, tables out.
//!
//! It has two faces. Kaldi's face takes the command lines of Kaldi's programs argument for argument, so that a recipe
//! changes one word (`kaldera compute-mfcc-feats ...`), and ends as they end. A link to the binary that has the name of a
//! program is that program, so that a recipe need not change at all. The people's face (`features`, `fst`, `merge`, `info`,
//! `plot`) takes the same options and more forgiving arguments.
//!
//! | exit status | Kaldi's face | people's face |
//! |---|---|---|
//! | 0 | any utterance succeeded | all succeeded |
//! | 1 | none did, or the number of arguments is wrong | some or all failed |
//! | 2 | | the command line makes no sense |
//! | 130 | | stopped by Ctrl-C or SIGTERM |
//! | 141 | nobody reads the output any more | |
//! | 255 | Kaldi would throw: an unknown option, a file that cannot be read or written, a damaged table | |

#![forbid(unsafe_code)]

mod fst;
mod interrupt;
mod kaldi;
mod log;
mod parse_options;
mod people;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::Command;

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
    Tool { name: "fst", about: "Finite-state transducers: OpenFst's programs, in one", run: fst::run },
    Tool { name: "info", about: "Show what this build and machine compute with", run: people::info::run },
    Tool {
        name: "merge",
        about: "Make one file of the features that several jobs have written",
        run: people::merge::run,
    },
    Tool { name: "plot", about: "Draw a feature matrix as an image", run: people::plot::run },
];

/// The Kaldi programs that [`run`] stands in for, by the names that Kaldi gives them.
#[must_use]
pub fn kaldi_tools() -> &'static [&'static str] {
    &kaldi::NAMES
}

/// Runs the command with `args`, the first of which is the program's own name, and returns its exit status.
///
/// An error of the command line gives 2 on the people's face and what Kaldi gives on Kaldi's.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    kaldera::matrix::stop_idle_blas_threads();
    let mut args = args.into_iter().peekable();
    if let Some(tool) = args.peek().and_then(|name| called_by(Path::new(name))) {
        return (tool.run)(args.skip(1).collect());
    }
    // clap sees the name of the tool and nothing behind it: tools read their own arguments, to the letter.
    let named = command().try_get_matches_from(args.by_ref().take(2));
    let tool = match &named {
        Ok(matches) => matches.subcommand_name().unwrap_or_default(),
        Err(error) => {
            // Nothing is left to tell a person whose terminal is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    match tool {
        HELP => help(&args.collect::<Vec<_>>()),
        name => tool_named(OsStr::new(name)).map_or(ExitCode::from(USAGE), |tool| (tool.run)(args.collect())),
    }
}

/// The tool whose name a link to the binary has.
fn called_by(program: &Path) -> Option<&'static Tool> {
    let stem = if program.extension().is_some_and(|ending| ending == "exe") {
        program.file_stem()
    } else {
        program.file_name()
    };
    tool_named(stem?)
}

fn tool_named(name: &OsStr) -> Option<&'static Tool> {
    tools().find(|tool| name == tool.name)
}

const HELP: &str = "help";

/// `kaldera help` and `kaldera help TOOL`, which are `kaldera --help` and `kaldera TOOL --help`.
fn help(about: &[OsString]) -> ExitCode {
    match about {
        [] => {
            let _ = command().print_help();
            ExitCode::SUCCESS
        }
        [name] => match tool_named(name) {
            Some(tool) => (tool.run)(vec!["--help".into()]),
            None => {
                log::say(format_args!(
                    "kaldera help: there is no '{}'; 'kaldera help' lists what there is",
                    name.display()
                ));
                ExitCode::from(USAGE)
            }
        },
        _ => {
            log::say("usage: kaldera help [COMMAND]");
            ExitCode::from(USAGE)
        }
    }
}

/// Exit status for a command line that makes no sense.
const USAGE: u8 = 2;

fn tools() -> impl Iterator<Item = &'static Tool> {
    PEOPLE.iter().chain(kaldi::TOOLS)
}

fn command() -> Command {
    let kaldera = Command::new("kaldera")
        .about("Kaldi's speech features, without Kaldi")
        .after_help("'kaldera COMMAND --help' tells more of a command.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true);
    let help = Command::new(HELP).about("Tell of this command, or of one of those above").disable_help_flag(true);
    kaldera
        .subcommands(tools().map(|tool| Command::new(tool.name).about(tool.about).disable_help_flag(true)))
        .subcommand(help)
}
