//! `kaldera fst`: FSAs in files, with the names and options of OpenFst's programs.

mod files;
mod graphs;
mod graphviz;
mod operations;
mod options;

use std::ffi::OsString;
use std::process::ExitCode;

use files::{Format, FstFile, is_standard, write_bytes};
use kaldera::fsa::{Fsa, Graph};
use operations::OPERATIONS;
use options::Options;

use crate::log;
use crate::parse_options::{ParseOptions, Request, Syntax};
use crate::people::{Trouble, end, print};

const TOOL: &str = "fst";

/// What an operation makes.
enum Made {
    /// An FST, to be written.
    Fst(Graph<Fsa>),
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
    inputs: Inputs,
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

/// Runs `kaldera fst` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    end(TOOL, operate(&args))
}

fn operate(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let Some(name) = args.first().map(|name| name.to_string_lossy()).filter(|name| !asks_help(name)) else {
        print(&overview())?;
        return Ok(ExitCode::from(if args.is_empty() { 2 } else { 0 }));
    };
    // OpenFst's programs have their names with and without what all have in common.
    let name = name.strip_prefix("fst").unwrap_or(&name).to_owned();
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else {
        return Err(Trouble::Usage(format!("there is no operation '{name}'")));
    };
    let mut options = Options::default();
    let mut parser = ParseOptions::new(Syntax::People, operation.usage);
    options.register(operation.options, &mut parser);
    let arguments = match parser.read(&args[1..])? {
        Request::Help => return print(&parser.help()).map(|()| ExitCode::SUCCESS),
        Request::Run(arguments) => arguments,
    };
    log::init(TOOL, parser.verbose());
    let arguments: Option<Vec<String>> = arguments.into_iter().map(|argument| argument.into_string().ok()).collect();
    let mut arguments = arguments.ok_or_else(|| Trouble::Usage("the names of files must be UTF-8".to_owned()))?;
    let output = take_output(operation.inputs, &mut arguments)?;
    options.arguments.clone_from(&arguments);
    options.output.clone_from(&output);
    let inputs = match operation.inputs {
        Inputs::Other(_) => vec![],
        _ => arguments.iter().map(|name| FstFile::read(name)).collect::<Result<Vec<_>, _>>()?,
    };
    // What the result has of its inputs besides arcs.
    let mut file = FstFile::new(Graph::new(Fsa::empty()), Format::Binary);
    if let [first, ..] = &inputs[..] {
        (file.format, file.semiring) = (first.format, first.semiring);
        file.input_symbols.clone_from(&first.input_symbols);
        file.output_symbols = inputs.last().and_then(|last| last.output_symbols.clone());
    }
    match (operation.run)(&options, inputs)? {
        Made::Fst(graph) => {
            file.graph = graph;
            file.set_fst_type(&options.fst_type)?;
            if !options.format.is_empty() {
                file.format = Format::named(&options.format)?;
            } else if output.ends_with(".fst") {
                file.format = Format::Binary;
            }
            file.write(&output)?;
        }
        Made::Text(text) => write_bytes(&output, text.as_bytes())?,
        Made::Answer(yes) => return Ok(ExitCode::from(if yes { 0 } else { 2 })),
        Made::Nothing => {}
    }
    Ok(ExitCode::SUCCESS)
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

fn asks_help(name: &str) -> bool {
    matches!(name, "--help" | "-h" | "help")
}

/// What `kaldera fst --help` shows.
fn overview() -> String {
    let mut text = "\nFinite-state transducers in files.\nUsage: kaldera fst OPERATION [OPTIONS] [IN...] [OUT]\n\n\
        Files are k2's text, OpenFst's text or OpenFst's binary files, told by what is in them; - or none is standard\n\
        input or output. The result is written as the first input was, unless it ends in .fst or --format tells another.\n\
        'kaldera fst OPERATION --help' tells more of an operation.\n\nOperations:\n"
        .to_owned();
    for operation in OPERATIONS {
        let about = operation.usage.lines().next().unwrap_or_default();
        text += &format!("  {:<14} {about}\n", operation.name);
    }
    text + "\nExit status: 0 done, or equivalent; 1 not done; 2 wrong usage, or not equivalent.\n"
}
