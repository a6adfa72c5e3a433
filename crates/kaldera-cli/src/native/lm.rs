//! `kaldera lm`: n-gram models in files, with the operations of SRILM's and KenLM's programs.

mod files;
mod operations;
mod steps;

use std::process::ExitCode;

use kaldera::feat::options::Registry as _;
use kaldera::fsa::Limits;

use self::operations::OPERATIONS;
use super::operation::{Inputs, OperationOptions, OperationTool, add_named, refuse_overwriting};
use super::{CliError, print};
use crate::layout::wrap;
use crate::memory::limits;
use crate::parse_options::ParseOptions;
use crate::{Call, interrupt};

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
    max_mem: Option<u64>,
}

impl Options {
    /// Returns the memory limit.
    fn limits(&self) -> Limits {
        limits(self.max_mem)
    }
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
            max_mem: None,
        }
    }
}

/// The function that carries out an operation.
type Runner = fn(&Options) -> Result<(), CliError>;

/// One of the operations.
type Operation = super::operation::Operation<Runner>;

static LM: OperationTool<Runner> = OperationTool { name: "lm", prefix: "", overview, operations: OPERATIONS };

impl OperationOptions for Options {
    fn register<'a>(&'a mut self, names: &[&str], parser: &mut ParseOptions<'a>) {
        add_named! { parser, self, names:
            format, "format", "Output format: arpa, or binary (loads at once); default: by the extension of OUT";
            bos_symbol, "bos-symbol", "Symbol for the beginning of a sentence";
            eos_symbol, "eos-symbol", "Symbol for the end of a sentence";
            unk, "unk", "Symbol for words that are not in the model";
            vocab, "vocab", "File with a word at the start of each line: a list or a symbol table";
            threshold, "threshold", "Remove n-grams whose removal increases the perplexity by less than this fraction";
            lambda, "lambda", "Weight of the first model; the second has the weight 1 - lambda";
            max_mem, "max-mem", "Memory limit in bytes for reading or changing a model; a model that needs more fails; default: half of the memory";
        }
    }
}

/// Returns `true` if there is an operation with this name.
pub(crate) fn has_operation(name: &str) -> bool {
    LM.operations.iter().any(|operation| operation.name == name)
}

/// Answers a call of `kaldera lm`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    LM.answer(call, |operation, mut options: Options, arguments| {
        let vocabulary = Some(&options.vocab).filter(|name| !name.is_empty());
        refuse_overwriting(arguments.inputs.iter().chain(vocabulary), [&arguments.output].into_iter())?;
        (options.arguments, options.output, options.quiet) = (arguments.inputs, arguments.output, arguments.quiet);
        interrupt::watch(LM.name, "nothing was written");
        (operation.run)(&options).map(|()| ExitCode::SUCCESS)
    })
}

/// Returns the text of `kaldera lm --help`.
fn overview(operations: &str) -> String {
    wrap(&format!(
        "N-gram language models in files: the operations of SRILM, KenLM and OpenGrm.\n\n\
         Usage: kaldera lm OPERATION [OPTIONS] [IN...] [OUT]\n       kaldera lm OPERATION --help\n\n\
         Models are ARPA files, binary files of kaldera or binary files of pocketsphinx, recognised by content; they \
         may be compressed with gzip, or be the output of a command ('xz -dc lm.arpa.xz |'); - or no name is \
         standard input or output. \
         The result is an ARPA file (.arpa, .lm, .txt; .gz is compressed) or a binary file of kaldera (.bin).\n\n\
         Operations:\n{operations}\n\
         Examples:\n  \
         kaldera lm convert lm.arpa.gz lm.bin\n  \
         kaldera lm prune --threshold=1e-7 lm.bin pruned.arpa.gz\n  \
         kaldera lm perplexity lm.bin test.txt\n\n\
         Exit status: 0 success; 1 failure; 2 wrong usage.\n"
    ))
}
