//! `kaldera fst`: FSAs in files, with the names and options of OpenFst's programs.

mod files;
mod graphs;
mod graphviz;
mod operations;
mod options;
mod tables;

use std::path::Path;
use std::process::ExitCode;

use kaldera::fsa::io::SymbolTable;
use kaldera::fsa::{Fsa, Graph};

use self::files::{Format, FstFile, format_named};
use self::operations::OPERATIONS;
use self::options::Options;
use self::tables::Tables;
use crate::Call;
use crate::layout::wrap;
use crate::native::CliError;
use crate::native::files::{refuse_terminal, write_bytes};
use crate::native::operation::{Inputs, OperationTool, refuse_overwriting};

/// The operation with a drawing as its output.
const DRAW: &str = "draw";

/// The result of an operation.
enum FstOutput {
    /// An FST, to be written with the tables of the operation.
    Fst(Graph<Fsa>),
    /// An FST, to be written with its own tables.
    Labelled { graph: Graph<Fsa>, input_symbols: Option<SymbolTable>, output_symbols: Option<SymbolTable> },
    /// A text to write.
    Text(String),
    /// An answer: `true` for yes.
    Answer(bool),
    /// Nothing is left to do.
    Nothing,
}

/// One of the operations.
type Operation = super::operation::Operation<Runner>;

/// The function that carries out an operation, by its inputs.
enum Runner {
    /// Takes FSTs that have been read; the first field gives the tables of the result.
    Fsts(Tables, fn(&Options, Vec<FstFile>) -> Result<FstOutput, CliError>),
    /// Reads its files itself.
    Files(fn(&Options) -> Result<FstOutput, CliError>),
}

static FST: OperationTool<Runner> = OperationTool { name: "fst", prefix: "fst", overview, operations: OPERATIONS };

/// Returns the operation for its name or the name of OpenFst's program.
pub(crate) fn operation_named(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix(FST.prefix).unwrap_or(name);
    FST.operations.iter().map(|operation| operation.name).find(|operation| *operation == name)
}

/// Answers a call of `kaldera fst`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    FST.answer(call, |operation, mut options: Options, arguments| {
        let others = graphs::other_outputs(operation, &options, &arguments.output);
        refuse_overwriting(arguments.inputs.iter().chain(options.inputs()), others.iter().chain([&arguments.output]))?;
        (options.arguments, options.output) = (arguments.inputs, arguments.output);
        for (name, value) in
            [("delta", options.delta), ("weight", options.weight.unwrap_or_default()), ("sil-prob", options.sil_prob)]
        {
            if value.is_nan() {
                return Err(CliError::Usage(format!("option --{name}: NaN is not a valid number")));
            }
        }
        carry_out(operation, options)
    })
}

/// Reads the inputs, carries out the operation and writes the result.
fn carry_out(operation: &Operation, mut options: Options) -> Result<ExitCode, CliError> {
    let inputs = match operation.run {
        Runner::Files(_) => vec![],
        Runner::Fsts(..) => options.arguments.iter().map(|name| FstFile::read(name)).collect::<Result<Vec<_>, _>>()?,
    };
    // Properties that the result takes from its inputs, in addition to arcs.
    let mut file = FstFile::new(Graph::new(Fsa::empty()), Format::Binary);
    if let (Runner::Fsts(tables, _), [first, ..]) = (&operation.run, &inputs[..]) {
        file.format = first.format;
        (file.input_symbols, file.output_symbols) = tables.result_tables(&inputs, &options)?;
        if *tables != Tables::Own {
            file.semiring = tables::semiring(&inputs, &options)?;
        }
    }
    // Errors in the output options are reported before the work.
    if operation.name == DRAW {
        options.format = drawing_format(&options.output, &options.format)?.to_owned();
    } else if operation.options.contains(&"format") {
        file.format = output_format(&options.output, &options.format, file.format)?;
        file.set_fst_type(&options.fst_type)?;
        if file.format == Format::Binary {
            refuse_terminal(&options.output, "--format=text")?;
        }
    }
    let made = match &operation.run {
        Runner::Fsts(_, run) => run(&options, inputs),
        Runner::Files(run) => run(&options),
    };
    match made? {
        FstOutput::Fst(graph) => {
            file.graph = graph;
            file.write(&options.output)?;
        }
        FstOutput::Labelled { graph, input_symbols, output_symbols } => {
            (file.graph, file.input_symbols, file.output_symbols) = (graph, input_symbols, output_symbols);
            file.write(&options.output)?;
        }
        FstOutput::Text(text) => write_bytes(&options.output, text.as_bytes())?,
        FstOutput::Answer(yes) => return Ok(ExitCode::from(if yes { 0 } else { 2 })),
        FstOutput::Nothing => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the output format: by `--format`, by the file extension, or as the first input.
fn output_format(output: &str, format: &str, input: Format) -> Result<Format, CliError> {
    if !format.is_empty() {
        return format_named(format);
    }
    match ending(output) {
        None => Ok(input),
        Some("fst") => Ok(Format::Binary),
        Some("txt") if input != Format::Binary => Ok(input),
        Some("txt") => Err(CliError::Usage(format!(
            "'{output}': .txt may be k2's text or OpenFst's: add --format=k2 or --format=text"
        ))),
        Some(_) => Err(CliError::Usage(format!(
            "'{output}': the file extension must select the format: .fst (OpenFst's binary files) or .txt (text, as \
             the input); or add --format=k2, --format=text or --format=binary"
        ))),
    }
}

/// Returns the format of a drawing: by `--format`, or by the file extension.
fn drawing_format(output: &str, format: &str) -> Result<&'static str, CliError> {
    match (format, ending(output)) {
        ("dot", _) | ("", Some("dot")) => Ok("dot"),
        ("svg", _) | ("", Some("svg") | None) => Ok("svg"),
        ("", Some(_)) => Err(CliError::Usage(format!(
            "'{output}': the file extension must select the format: .svg, or .dot (text for Graphviz); or add --format=svg or \
             --format=dot"
        ))),
        (other, _) => Err(CliError::Usage(format!("option --format: '{other}' is neither svg nor dot"))),
    }
}

fn ending(output: &str) -> Option<&str> {
    Path::new(output).extension().and_then(|ending| ending.to_str())
}

/// Returns the text of `kaldera fst --help`.
fn overview(operations: &str) -> String {
    wrap(&format!(
        "Finite-state transducers in files: OpenFst's programs in one.\n\n\
         Usage: kaldera fst OPERATION [OPTIONS] [IN...] [OUT]\n       kaldera fst OPERATION --help\n\n\
         Files are k2's text, OpenFst's text or OpenFst's binary files, recognised by content; - or no name is \
         standard input or output. Inputs may be compressed with gzip, or be the output of a command ('gunzip -c \
         L.gz |'). The result has the format of the first input, unless it ends in .fst or --format is \
         given.\n\nOperations:\n{operations}\n\
         Examples:\n  \
         kaldera fst compile --isymbols=tokens --osymbols=words L.txt L.fst\n  \
         kaldera fst compose L.fst G.fst LG.fst\n  \
         kaldera fst draw LG.fst LG.dot\n\n\
         Exit status: 0 success, or equivalent; 1 failure; 2 wrong usage, or not equivalent.\n"
    ))
}
