//! The command `kaldera`: options in, a call of the library, tables out.
//!
//! Kaldi's programs (`kaldi`) take the command lines of the originals argument for argument and end
//! with the same status, so that a recipe changes one word (`kaldera compute-mfcc-feats ...`). A
//! link to the binary with the name of a program is that program, so that a recipe need not change
//! at all. The native commands (`transcribe`, `features`, `fst`, ...) take the same options and
//! more forgiving arguments.
//!
//! [`run`] parses options, calls the library and writes results. Kaldi's programs stop, continue
//! and exit as the originals do, which the known answers record. The native commands accept more
//! kinds of input and name each recording that failed. One parser of options serves both. Ctrl-C
//! and SIGTERM set a flag that workers check; a thread ends the process where workers wait for a
//! pipe.
//!
//! | exit status | Kaldi's programs | native command |
//! |---|---|---|
//! | 0 | any utterance succeeded | all succeeded |
//! | 1 | none did, or the number of arguments is wrong | some or all failed |
//! | 2 | | the command line is invalid |
//! | 130 | | stopped by Ctrl-C |
//! | 141 | the reader of the output is gone | |
//! | 143 | | stopped by SIGTERM |
//! | 255 | Kaldi would throw: unknown option, unusable file, damaged table | |

#![forbid(unsafe_code)]

mod completions;
mod elsewhere;
mod interrupt;
mod kaldi;
mod layout;
mod log;
mod memory;
mod native;
mod parse_options;
mod subjects;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use kaldera::similar::did_you_mean;
use layout::{columns, wrap};
use parse_options::Candidate;

/// A subcommand: its name, one line for `kaldera --help`, and the function that answers a call.
///
/// The tables of tools are the only source for help, completions, suggestions and dispatch.
struct Tool {
    name: &'static str,
    about: &'static str,
    run: fn(Call<'_>) -> ExitCode,
}

/// A call of a tool.
enum Call<'c> {
    /// A run with the arguments after the tool's name.
    Run(Vec<OsString>),
    /// A request to add the candidates for the last one of these words after the tool's name.
    Complete(&'c [String], &'c mut Vec<Candidate>),
}

const NATIVE: &[Tool] = &[
    Tool {
        name: "transcribe",
        about: "Turn recordings into words: text, JSON lines, CTM, subtitles, TextGrid",
        run: native::transcribe::run,
    },
    Tool { name: "decode", about: "Turn log-probabilities of another program into words", run: native::decode::run },
    Tool { name: "stream", about: "Recognise speech from standard input as it arrives", run: native::stream::run },
    #[cfg(feature = "serve")]
    Tool { name: "serve", about: "Serve OpenAI's, Vosk's and Wyoming's protocols", run: native::serve::run },
    Tool { name: "align", about: "Find the times of the words of transcripts", run: native::align::run },
    Tool { name: "score", about: "Count the word errors of transcripts", run: native::score::run },
    Tool { name: "model", about: "Check a model folder, or import a model", run: native::model::run },
    Tool {
        name: "features",
        about: "Turn recordings into features: .ark with .scp, .npz or .safetensors",
        run: native::features::run,
    },
    Tool { name: "fst", about: "Finite-state transducers: OpenFst's programs in one", run: native::fst::run },
    Tool {
        name: "lm",
        about: "N-gram models: convert, restrict, prune, normalize, mix, measure",
        run: native::lm::run,
    },
    Tool {
        name: "plot",
        about: "Show a feature matrix or a recording, in the terminal or as an image",
        run: native::plot::run,
    },
    Tool { name: "merge", about: "Merge the feature files of several jobs into one", run: native::merge::run },
    Tool { name: "info", about: "Show the features of this build and machine", run: native::info::run },
    Tool { name: "completions", about: "Print completions for a shell", run: completions::run },
    Tool { name: HELP, about: "Show this help, or the help of a command", run: help },
];

/// The Kaldi programs that [`run`] replaces, by Kaldi's names for them.
#[must_use]
pub fn kaldi_tools() -> &'static [&'static str] {
    &kaldi::NAMES
}

/// Runs the command with `args` and returns its exit status. The first argument is the name of the
/// program itself.
///
/// For an error in the command line the status is 2 for the native command and Kaldi's own for
/// Kaldi's programs.
///
/// ```
/// use std::process::ExitCode;
///
/// let status = kaldera_cli::run(["kaldera", "info"].map(Into::into));
/// assert_eq!(status, ExitCode::SUCCESS);
/// ```
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    kaldera::matrix::stop_idle_blas_threads();
    if let Some(warning) = kaldera::base::simd::unknown_choice() {
        log::say(format_args!("kaldera: warning: {warning}"));
    }
    let mut args = args.into_iter();
    if let Some(tool) = args.next().and_then(|program| called_by(Path::new(&program))) {
        return (tool.run)(Call::Run(args.collect()));
    }
    let Some(name) = args.next() else {
        log::say(overview());
        return ExitCode::from(USAGE);
    };
    match name.to_str() {
        Some("--help" | "-h") => native::tell(&overview()),
        Some("--version" | "-V") => native::tell(VERSION),
        _ => dispatch(&name, args.collect()),
    }
}

/// Output of `--version`.
const VERSION: &str = concat!("kaldera ", env!("CARGO_PKG_VERSION"), "\n");

/// Exit status for an invalid command line.
const USAGE: u8 = 2;

const HELP: &str = "help";

fn dispatch(name: &OsStr, args: Vec<OsString>) -> ExitCode {
    if let Some(tool) = tool_named(name) {
        return (tool.run)(Call::Run(args));
    }
    let name = name.to_string_lossy();
    let what = if name.starts_with('-') { "option" } else { "command" };
    let similar = || did_you_mean(&name, tools().map(|tool| tool.name));
    let hint = elsewhere::hint(&name).unwrap_or_else(similar);
    log::say(format_args!("kaldera: there is no {what} '{name}'{hint} ('kaldera help' lists the commands)"));
    ExitCode::from(USAGE)
}

/// Returns the tool with the name of `program`, which is a link to the binary.
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

fn tools() -> impl Iterator<Item = &'static Tool> {
    NATIVE.iter().chain(kaldi::TOOLS)
}

/// Answers `kaldera help` and `kaldera help TOOL ...`, which are `kaldera --help` and
/// `kaldera TOOL ... --help`.
fn help(call: Call<'_>) -> ExitCode {
    match call {
        Call::Complete(words, found) => {
            found.extend(completions::candidates(words));
            ExitCode::SUCCESS
        }
        Call::Run(mut about) => match about.first().map(|name| name.to_string_lossy().into_owned()).as_deref() {
            None | Some(HELP | "--help" | "-h") => native::tell(&overview()),
            Some("--version" | "-V") => native::tell(VERSION),
            Some(_) => {
                let tool = about.remove(0);
                about.push("--help".into());
                dispatch(&tool, about)
            }
        },
    }
}

/// Returns the text of `kaldera --help`.
fn overview() -> String {
    let list = |tools: &[Tool]| columns(tools.iter().map(|tool| (tool.name.to_owned(), tool.about.to_owned())));
    wrap(&format!(
        "Speech recognition: recordings to words, features and graphs, with Kaldi's and OpenFst's programs.\n\n\
         Usage: kaldera COMMAND [ARGUMENTS]\n       kaldera COMMAND --help\n\n\
         Commands:\n{}\n\
         Kaldi's programs, with Kaldi's command lines and exit statuses:\n{}\n\
         Options:\n  -h, --help     Show this help; after a command, the help of the command\n  -V, --version  Show the version\n\n\
         Examples:\n  \
         kaldera transcribe model/ hello.wav\n  \
         kaldera features --kind fbank -o fbank.ark recordings/\n  \
         kaldera plot fbank.ark utt1\n  \
         kaldera help fst compose\n  \
         kaldera compute-mfcc-feats --config=mfcc.conf scp:wav.scp ark,scp:mfcc.ark,mfcc.scp\n",
        list(NATIVE),
        list(kaldi::TOOLS),
    ))
}

/// The code in the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
