//! Tools that are tables of operations, such as `kaldera fst compose`: help, names and arguments.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::io::overwrite::ExistingFiles;

use crate::layout::columns;
use crate::native::files::is_standard;
use crate::native::{CliError, arguments, end, print};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, HELP, USAGE, VERSION, log};
use kaldera::similar::did_you_mean;

/// A tool whose first argument names an operation.
pub(super) struct OperationTool<R: 'static> {
    pub(super) name: &'static str,
    /// Optional prefix of the names of operations: OpenFst's `fstcompose` is also `compose`.
    pub(super) prefix: &'static str,
    /// Returns the text of `--help` with these rows of operations.
    pub(super) overview: fn(&str) -> String,
    /// The operations in the order of help.
    pub(super) operations: &'static [Operation<R>],
}

/// One of the operations of a tool. `R` is the function that carries it out.
pub(super) struct Operation<R: 'static> {
    pub(super) name: &'static str,
    /// A one-line description, the usage, and optional further text.
    pub(super) usage: &'static str,
    /// The arguments of example calls.
    pub(super) examples: &'static [&'static str],
    pub(super) inputs: Inputs,
    /// The names of its options.
    pub(super) options: &'static [&'static str],
    pub(super) run: R,
}

/// The plain arguments of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    /// This number of input files, followed by the output; a single input may be standard input.
    Files(usize),
    /// One or more files, all of which are input.
    Any,
}

/// The options of all operations of a tool; each operation has some of them.
pub(super) trait OperationOptions: Default {
    /// Adds the options with these names.
    fn register<'a>(&'a mut self, names: &[&str], parser: &mut ParseOptions<'a>);
}

/// Adds the options in `$names`. Each is a field of `$options` with its name and its help.
macro_rules! add_named {
    ($parser:ident, $options:ident, $names:ident: $($field:ident, $name:literal, $doc:literal;)*) => {$(
        if $names.contains(&$name) {
            $parser.add($name, &mut $options.$field, $doc);
        }
    )*};
}
pub(super) use add_named;

/// The plain arguments of a call.
pub(super) struct Arguments {
    pub(super) inputs: Vec<String>,
    /// The output, empty for standard output.
    pub(super) output: String,
    /// `true` if the call asks for no progress.
    pub(super) quiet: bool,
}

impl<R> Operation<R> {
    fn about(&self) -> &'static str {
        self.usage.lines().next().unwrap_or_default()
    }

    fn parser<'a>(&self, tool: &str, options: &'a mut impl OperationOptions) -> ParseOptions<'a> {
        let Self { name, examples, .. } = self;
        let usage = self.usage.replacen("\nUsage:", "\n\nUsage:", 1);
        let s = if examples.len() == 1 { "" } else { "s" };
        let examples: String = examples.iter().map(|example| format!("\n  kaldera {tool} {name} {example}")).collect();
        let mut parser = ParseOptions::new(Syntax::Native, format!("{usage}\n\nExample{s}:{examples}"));
        options.register(self.options, &mut parser);
        parser
    }
}

impl<R> OperationTool<R> {
    /// Answers a call of the tool: with help, or by calling `run` for the operation in the
    /// arguments.
    pub(super) fn answer<O: OperationOptions>(
        &self,
        call: Call<'_>,
        run: impl FnOnce(&Operation<R>, O, Arguments) -> Result<ExitCode, CliError>,
    ) -> ExitCode {
        match call {
            Call::Complete(words, found) => {
                match words {
                    [name, words @ ..] if !words.is_empty() => {
                        if let Ok(operation) = self.operation(name) {
                            operation.parser(self.name, &mut O::default()).complete(words, found);
                        }
                    }
                    _ => found.extend(self.operations.iter().map(|it| (it.name.to_owned(), it.about()))),
                }
                ExitCode::SUCCESS
            }
            Call::Run(args) => end(self.name, self.operate(args, run)),
        }
    }

    fn operate<O: OperationOptions>(
        &self,
        mut args: Vec<OsString>,
        run: impl FnOnce(&Operation<R>, O, Arguments) -> Result<ExitCode, CliError>,
    ) -> Result<ExitCode, CliError> {
        if args.is_empty() {
            log::say(self.overview());
            return Ok(ExitCode::from(USAGE));
        }
        let name = args.remove(0).to_string_lossy().into_owned();
        match &*name {
            "--help" | "-h" => return print(&self.overview()).map(|()| ExitCode::SUCCESS),
            "--version" | "-V" => return print(VERSION).map(|()| ExitCode::SUCCESS),
            HELP => {
                args.push("--help".into());
                return self.operate(args, run);
            }
            _ => {}
        }
        let operation = self.operation(&name)?;
        let mut options = O::default();
        let mut parser = operation.parser(self.name, &mut options);
        let Some(plain) = arguments(self.name, &mut parser, Call::Run(args))? else { return Ok(ExitCode::SUCCESS) };
        let quiet = parser.quiet();
        drop(parser);
        let inputs: Option<Vec<String>> = plain.into_iter().map(|argument| argument.into_string().ok()).collect();
        let mut inputs = inputs.ok_or_else(|| CliError::Usage("the names of files must be UTF-8".to_owned()))?;
        let output = take_output(operation.inputs, &mut inputs)?;
        run(operation, options, Arguments { inputs, output, quiet })
    }

    /// Returns the operation with this name.
    fn operation(&self, name: &str) -> Result<&Operation<R>, CliError> {
        let name = name.strip_prefix(self.prefix).unwrap_or(name);
        self.operations.iter().find(|operation| operation.name == name).ok_or_else(|| {
            let hint = did_you_mean(name, self.operations.iter().map(|operation| operation.name));
            CliError::Usage(format!("there is no operation '{name}'{hint}"))
        })
    }

    fn overview(&self) -> String {
        let rows = self.operations.iter().map(|operation| (operation.name.to_owned(), operation.about().to_owned()));
        (self.overview)(&columns(rows))
    }
}

/// Removes the output from the arguments, and checks the number of inputs. A missing single input
/// becomes standard input.
fn take_output(inputs: Inputs, arguments: &mut Vec<String>) -> Result<String, CliError> {
    let mut output = None;
    match inputs {
        Inputs::Any if arguments.is_empty() => return Err(CliError::Usage("no files are named".to_owned())),
        Inputs::Any => {}
        Inputs::Files(number) => {
            if arguments.len() == number + 1 {
                output = arguments.pop();
            }
            if arguments.is_empty() && number == 1 {
                arguments.push(String::new());
            }
            if arguments.len() != number {
                let (found, s) = (arguments.len(), if number == 1 { "" } else { "s" });
                return Err(CliError::Usage(format!(
                    "expected {number} input{s} and at most one output, found {found} arguments"
                )));
            }
        }
    }
    if arguments.iter().filter(|name| is_standard(name)).count() > 1 {
        return Err(CliError::Usage("only one input can be standard input".to_owned()));
    }
    Ok(output.unwrap_or_default())
}

/// Returns an error if an output would replace one of the inputs.
pub(super) fn refuse_overwriting<'a>(
    inputs: impl Iterator<Item = &'a String>,
    outputs: impl Iterator<Item = &'a String>,
) -> Result<(), CliError> {
    let existing = ExistingFiles::new(outputs.filter(|name| !is_standard(name)));
    for input in inputs {
        let input = if is_standard(input) { "/dev/stdin" } else { input };
        if let Some(output) = existing.find(input) {
            let output = output.display();
            return Err(CliError::Usage(format!(
                "'{output}' would overwrite the input '{input}': write to another file"
            )));
        }
    }
    Ok(())
}
