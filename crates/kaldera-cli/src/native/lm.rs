//! `kaldera lm`: n-gram models in files, with the operations of SRILM's and KenLM's programs.

mod files;
mod operations;
mod steps;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use kaldera::feat::options::Registry as _;

use self::operations::OPERATIONS;
use super::{Trouble, arguments, end, print};
use crate::fst::files::is_standard;
use crate::fst::refuse_overwriting;
use crate::layout::{columns, wrap};
use crate::parse_options::{ParseOptions, Syntax};
use crate::similar::did_you_mean;
use crate::{Call, HELP, USAGE, VERSION, interrupt, log};

const TOOL: &str = "lm";

/// Values of the options of all operations.
struct Options {
    arguments: Vec<String>,
    output: String,
    quiet: bool,
    format: String,
    bos_symbol: String,
    eos_symbol: String,
    unk: String,
    vocab: String,
    threshold: f64,
    lambda: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            output: String::new(),
            quiet: false,
            format: String::new(),
            bos_symbol: "<s>".to_owned(),
            eos_symbol: "</s>".to_owned(),
            unk: "<unk>".to_owned(),
            vocab: String::new(),
            threshold: 1e-8,
            lambda: 0.5,
        }
    }
}

/// One of the operations.
struct Operation {
    name: &'static str,
    usage: &'static str,
    /// The arguments of example calls.
    examples: &'static [&'static str],
    inputs: Inputs,
    options: &'static [&'static str],
    run: fn(&Options) -> Result<(), Trouble>,
}

/// What the plain arguments are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    /// So many models, and then the output.
    Models(usize),
    /// One or more files; the result is text for standard output.
    Any,
}

impl Operation {
    fn about(&self) -> &'static str {
        self.usage.lines().next().unwrap_or_default()
    }

    fn parser<'a>(&self, options: &'a mut Options) -> ParseOptions<'a> {
        let usage = self.usage.replacen("\nUsage:", "\n\nUsage:", 1);
        let examples: String =
            self.examples.iter().map(|example| format!("\n  kaldera lm {} {example}", self.name)).collect();
        let mut parser = ParseOptions::new(Syntax::Native, format!("{usage}\n\nExamples:{examples}"));
        macro_rules! add {
            ($($field:ident, $name:literal, $doc:literal;)*) => {$(
                if self.options.contains(&$name) {
                    parser.add($name, &mut options.$field, $doc);
                }
            )*};
        }
        add! {
            format, "format", "How to write: arpa, or binary (which loads at once); else as the ending of OUT says";
            bos_symbol, "bos-symbol", "The beginning of a sentence";
            eos_symbol, "eos-symbol", "The end of a sentence";
            unk, "unk", "The word that stands for those that the model does not have";
            vocab, "vocab", "File of words, the first of each line: a list, or a table of symbols";
            threshold, "threshold", "Leave out n-grams whose absence raises the perplexity by less than this share";
            lambda, "lambda", "Weight of the first model; the second one has the rest of 1";
        }
        parser
    }
}

/// Answers a call of `kaldera lm`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    match call {
        Call::Describe(command) => {
            *command = std::mem::take(command).subcommands(OPERATIONS.iter().map(|operation| {
                let mut options = Options::default();
                let mut command = Command::new(operation.name).about(operation.about());
                operation.parser(&mut options).describe(&mut command);
                command
            }));
            ExitCode::SUCCESS
        }
        Call::Run(args) => end(TOOL, operate(args)),
    }
}

fn operate(mut args: Vec<OsString>) -> Result<ExitCode, Trouble> {
    let name = if args.is_empty() { None } else { Some(args.remove(0).to_string_lossy().into_owned()) };
    match name.as_deref() {
        None => {
            log::say(overview());
            return Ok(ExitCode::from(USAGE));
        }
        Some("--help" | "-h") => return print(&overview()).map(|()| ExitCode::SUCCESS),
        Some("--version" | "-V") => return print(VERSION).map(|()| ExitCode::SUCCESS),
        Some(HELP) => {
            args.push("--help".into());
            return operate(args);
        }
        _ => {}
    }
    let name = name.unwrap_or_default();
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else {
        let hint = did_you_mean(&name, OPERATIONS.iter().map(|operation| operation.name));
        return Err(Trouble::Usage(format!("there is no operation '{name}'{hint}")));
    };
    let mut options = Options::default();
    let mut parser = operation.parser(&mut options);
    let Some(plain) = arguments(TOOL, &mut parser, Call::Run(args))? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    drop(parser);
    options.quiet = quiet;
    let plain: Option<Vec<String>> = plain.into_iter().map(|argument| argument.into_string().ok()).collect();
    options.arguments = plain.ok_or_else(|| Trouble::Usage("the names of files must be UTF-8".to_owned()))?;
    take_output(operation.inputs, &mut options)?;
    let vocabulary = Some(&options.vocab).filter(|name| !name.is_empty());
    refuse_overwriting(options.arguments.iter().chain(vocabulary), [&options.output].into_iter())?;
    interrupt::watch(TOOL, "nothing was written");
    (operation.run)(&options).map(|()| ExitCode::SUCCESS)
}

/// Takes the output from the arguments, and checks how many inputs there are.
fn take_output(inputs: Inputs, options: &mut Options) -> Result<(), Trouble> {
    let arguments = &mut options.arguments;
    match inputs {
        Inputs::Any if arguments.is_empty() => return Err(Trouble::Usage("no files are named".to_owned())),
        Inputs::Any => {}
        Inputs::Models(number) => {
            if arguments.len() == number + 1 {
                options.output = arguments.pop().unwrap_or_default();
            }
            if arguments.is_empty() && number == 1 {
                arguments.push(String::new());
            }
            if arguments.len() != number {
                let (found, s) = (arguments.len(), if number == 1 { "" } else { "s" });
                return Err(Trouble::Usage(format!(
                    "expected {number} model{s} and at most one output, found {found} arguments"
                )));
            }
        }
    }
    if arguments.iter().filter(|name| is_standard(name)).count() > 1 {
        return Err(Trouble::Usage("only one input can be standard input".to_owned()));
    }
    Ok(())
}

/// What `kaldera lm --help` shows.
fn overview() -> String {
    let operations = OPERATIONS.iter().map(|operation| (operation.name.to_owned(), operation.about().to_owned()));
    wrap(&format!(
        "N-gram language models in files: the operations of SRILM, KenLM and OpenGrm.\n\n\
         Usage: kaldera lm OPERATION [OPTIONS] [IN...] [OUT]\n       kaldera lm OPERATION --help\n\n\
         Models are ARPA files, binary files of kaldera or binary files of pocketsphinx, told by what is in them; they may be \
         compressed with gzip, or be what a command writes ('xz -dc lm.arpa.xz |'); - or none is standard input or output. \
         The result is an ARPA file (.arpa, .lm, .txt; .gz is compressed) or a binary file of kaldera (.bin).\n\n\
         Operations:\n{}\n\
         Examples:\n  \
         kaldera lm convert lm.arpa.gz lm.bin\n  \
         kaldera lm prune --threshold=1e-7 lm.bin pruned.arpa.gz\n  \
         kaldera lm perplexity lm.bin test.txt\n\n\
         Exit status: 0 done; 1 not done; 2 wrong usage.\n",
        columns(operations)
    ))
}
