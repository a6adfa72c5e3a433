//! `kaldera fst`: FSAs in files, with the names and options of OpenFst's programs.

pub(crate) mod files;
mod graphs;
mod graphviz;
mod operations;
mod options;
mod tables;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use files::{Format, FstFile, is_standard, write_bytes};
use kaldera::fsa::io::SymbolTable;
use kaldera::fsa::{Fsa, Graph};
use kaldera::io::overwrite::ExistingFiles;
use operations::OPERATIONS;
use options::Options;
use tables::Tables;

use crate::layout::{columns, wrap};
use crate::native::{Trouble, arguments, end, print};
use crate::parse_options::{ParseOptions, Syntax};
use crate::similar::did_you_mean;
use crate::{Call, HELP, USAGE, VERSION, log, threads};

const TOOL: &str = "fst";
/// The operation whose output is a drawing.
const DRAW: &str = "draw";

/// What an operation makes.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Made {
    /// An FST, to be written with the tables that the operation gives it.
    Fst(Graph<Fsa>),
    /// An FST, to be written with tables of its own.
    Labelled { graph: Graph<Fsa>, input_symbols: Option<SymbolTable>, output_symbols: Option<SymbolTable> },
    /// A text, to be written.
    Text(String),
    /// An answer: whether it is yes.
    Answer(bool),
    /// All is done.
    Nothing,
}

/// One of the operations.
struct Operation {
    name: &'static str,
    usage: &'static str,
    /// The arguments of a call that somebody might make.
    example: &'static str,
    inputs: Inputs,
    tables: Tables,
    options: &'static [&'static str],
    run: fn(&Options, Vec<FstFile>) -> Result<Made, Trouble>,
}

/// What the plain arguments of an operation are, but for the last one, the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    /// So many FSTs; if there is but one, it may be standard input.
    Fsts(usize),
    /// Any number of FSTs, one or more, all of which are input.
    Any,
    /// So many files, which the operation reads itself.
    Other(usize),
}

/// Answers a call of `kaldera fst`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    match call {
        Call::Describe(command) => {
            *command = std::mem::take(command).subcommands(OPERATIONS.iter().map(described));
            ExitCode::SUCCESS
        }
        Call::Run(args) => end(TOOL, operate(args)),
    }
}

/// An operation for completions.
fn described(operation: &Operation) -> Command {
    let mut options = Options::default();
    let mut command = Command::new(operation.name).about(operation.about());
    operation.parser(&mut options).describe(&mut command);
    command
}

impl Operation {
    fn about(&self) -> &'static str {
        self.usage.lines().next().unwrap_or_default()
    }

    fn parser<'a>(&self, options: &'a mut Options) -> ParseOptions<'a> {
        let Self { name, usage, example, .. } = self;
        let usage = usage.replacen("\nUsage:", "\n\nUsage:", 1);
        let usage = format!("{usage}\n\nExample:\n  kaldera fst {name} {example}");
        let mut parser = ParseOptions::new(Syntax::Native, usage);
        options.register(self.options, &mut parser);
        parser
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
    // OpenFst's programs have their names with and without what all have in common.
    let name = name.strip_prefix("fst").unwrap_or(&name);
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else {
        let hint = did_you_mean(name, OPERATIONS.iter().map(|operation| operation.name));
        return Err(Trouble::Usage(format!("there is no operation '{name}'{hint}")));
    };
    let mut options = Options::default();
    let mut parser = operation.parser(&mut options);
    let Some(arguments) = arguments(TOOL, &mut parser, Call::Run(args))? else { return Ok(ExitCode::SUCCESS) };
    drop(parser);
    let arguments: Option<Vec<String>> = arguments.into_iter().map(|argument| argument.into_string().ok()).collect();
    let mut arguments = arguments.ok_or_else(|| Trouble::Usage("the names of files must be UTF-8".to_owned()))?;
    let output = take_output(operation.inputs, &mut arguments)?;
    let others = graphs::other_outputs(operation, &options, &output);
    refuse_overwriting(arguments.iter().chain(options.inputs()), others.iter().chain([&output]))?;
    options.arguments.clone_from(&arguments);
    options.output.clone_from(&output);
    threads::with_pool(|| carry_out(operation, options, &arguments, &output))
}

/// Reads the inputs, and writes what an operation makes of them.
fn carry_out(
    operation: &Operation,
    mut options: Options,
    arguments: &[String],
    output: &str,
) -> Result<ExitCode, Trouble> {
    let inputs = match operation.inputs {
        Inputs::Other(_) => vec![],
        _ => arguments.iter().map(|name| FstFile::read(name)).collect::<Result<Vec<_>, _>>()?,
    };
    // What the result has of its inputs besides arcs.
    let mut file = FstFile::new(Graph::new(Fsa::empty()), Format::Binary);
    if let [first, ..] = &inputs[..] {
        file.format = first.format;
        (file.input_symbols, file.output_symbols) = operation.tables.of(&inputs, &options)?;
        if operation.tables != Tables::Own {
            file.semiring = tables::semiring(&inputs, &options)?;
        }
    }
    // What is wrong with the output is told before the work.
    if operation.name == DRAW {
        options.format = drawing_format(output, &options.format)?.to_owned();
    } else if operation.options.contains(&"format") {
        file.format = output_format(output, &options.format, file.format)?;
        file.set_fst_type(&options.fst_type)?;
        if file.format == Format::Binary {
            refuse_terminal(output)?;
        }
    }
    match (operation.run)(&options, inputs)? {
        Made::Fst(graph) => {
            file.graph = graph;
            file.write(output)?;
        }
        Made::Labelled { graph, input_symbols, output_symbols } => {
            (file.graph, file.input_symbols, file.output_symbols) = (graph, input_symbols, output_symbols);
            file.write(output)?;
        }
        Made::Text(text) => write_bytes(output, text.as_bytes())?,
        Made::Answer(yes) => return Ok(ExitCode::from(if yes { 0 } else { 2 })),
        Made::Nothing => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a call whose output would replace one of its inputs.
pub(crate) fn refuse_overwriting<'a>(
    inputs: impl Iterator<Item = &'a String>,
    outputs: impl Iterator<Item = &'a String>,
) -> Result<(), Trouble> {
    let existing = ExistingFiles::of(outputs.filter(|name| !is_standard(name)));
    for input in inputs {
        let input = if is_standard(input) { "/dev/stdin" } else { input };
        if let Some(output) = existing.find(input) {
            let output = output.display();
            return Err(Trouble::Usage(format!(
                "'{output}' would overwrite the input '{input}': write to another file"
            )));
        }
    }
    Ok(())
}

/// Takes the output from the arguments, and makes the inputs as many as there must be.
fn take_output(inputs: Inputs, arguments: &mut Vec<String>) -> Result<String, Trouble> {
    let number = match inputs {
        Inputs::Fsts(number) | Inputs::Other(number) => number,
        Inputs::Any if arguments.is_empty() => return Err(Trouble::Usage("no files are named".to_owned())),
        Inputs::Any => return Ok(String::new()),
    };
    let output = if arguments.len() == number + 1 { arguments.pop() } else { None };
    if arguments.is_empty() && number == 1 {
        arguments.push(String::new());
    }
    if arguments.len() != number {
        let found = arguments.len();
        return Err(Trouble::Usage(format!(
            "expected {number} inputs and at most one output, found {found} arguments"
        )));
    }
    if arguments.iter().filter(|name| is_standard(name)).count() > 1 {
        return Err(Trouble::Usage("only one input can be standard input".to_owned()));
    }
    Ok(output.unwrap_or_default())
}

/// How an FST is written: as `--format` says, as the ending says, or as the first input was.
fn output_format(output: &str, format: &str, input: Format) -> Result<Format, Trouble> {
    if !format.is_empty() {
        return Format::named(format);
    }
    match ending(output) {
        None => Ok(input),
        Some("fst") => Ok(Format::Binary),
        Some("txt") if input != Format::Binary => Ok(input),
        Some("txt") => Err(Trouble::Usage(format!(
            "'{output}': .txt may be k2's text or OpenFst's: add --format=k2 or --format=text"
        ))),
        Some(_) => Err(Trouble::Usage(format!(
            "'{output}': the ending must tell the format: .fst (OpenFst's binary files) or .txt (text, as the input is); \
             or add --format=k2, --format=text or --format=binary"
        ))),
    }
}

/// How a drawing is written: as `--format` says, or as the ending says.
fn drawing_format(output: &str, format: &str) -> Result<&'static str, Trouble> {
    match (format, ending(output)) {
        ("dot", _) | ("", Some("dot")) => Ok("dot"),
        ("svg", _) | ("", Some("svg") | None) => Ok("svg"),
        ("", Some(_)) => Err(Trouble::Usage(format!(
            "'{output}': the ending must tell the format: .svg, or .dot (text for Graphviz); or add --format=svg or \
             --format=dot"
        ))),
        (other, _) => Err(Trouble::Usage(format!("option --format: '{other}' is neither svg nor dot"))),
    }
}

fn ending(output: &str) -> Option<&str> {
    Path::new(output).extension().and_then(|ending| ending.to_str())
}

/// Binary files are not for eyes, and may change the state of a terminal.
fn refuse_terminal(output: &str) -> Result<(), Trouble> {
    if is_standard(output) && io::stdout().is_terminal() {
        return Err(Trouble::Usage(
            "the result is binary, and standard output is a terminal: name a file, or add --format=text".to_owned(),
        ));
    }
    Ok(())
}

/// What `kaldera fst --help` shows.
fn overview() -> String {
    let operations = OPERATIONS.iter().map(|operation| (operation.name.to_owned(), operation.about().to_owned()));
    wrap(&format!(
        "Finite-state transducers in files: OpenFst's programs, in one.\n\n\
         Usage: kaldera fst OPERATION [OPTIONS] [IN...] [OUT]\n       kaldera fst OPERATION --help\n\n\
         Files are k2's text, OpenFst's text or OpenFst's binary files, told by what is in them; - or none is standard \
         input or output. Inputs may be compressed with gzip, or be what a command writes ('gunzip -c L.gz |'). The result is written as the first input was, unless it ends in .fst or --format tells \
         another.\n\nOperations:\n{}\n\
         Examples:\n  \
         kaldera fst compile --isymbols=tokens --osymbols=words L.txt L.fst\n  \
         kaldera fst compose L.fst G.fst LG.fst\n  \
         kaldera fst draw LG.fst LG.svg\n\n\
         Exit status: 0 done, or equivalent; 1 not done; 2 wrong usage, or not equivalent.\n",
        columns(operations)
    ))
}
