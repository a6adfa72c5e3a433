//! Operations that build graphs from other files: language models, lexicons.

use std::time::Instant;

use kaldera::fsa::graphs::{
    ArpaOptions, GrammarLabels, HlgOptions, HlgStep, NgramModel, OutOfVocabulary, Progress, Silence, Step,
    WordBoundary, make_hlg,
};
use kaldera::fsa::io::SymbolTable;

use super::files::{Format, read_symbols};
use super::operations::failed;
use super::options::Options;
use super::{CliError, FstOutput, Inputs, Operation, Runner, output_format};
use crate::memory::{megabytes, peak_memory};
use crate::native::files::{is_standard, open, shown, write_bytes};

/// Warns about entries that were left out, with count and names. It is a macro so that each call
/// site is a separate warning: the log shows the first of each kind.
macro_rules! tell {
    ($entries:literal, $left_out:expr, $why:expr) => {
        if !$left_out.is_empty() {
            tracing::warn!("{} {}: {}", $entries, $why, $left_out);
        }
    };
}

/// `kaldera fst arpa2fst`.
pub(super) const ARPA2FST: Operation = Operation {
    name: "arpa2fst",
    usage: "Convert an n-gram model in the ARPA format to an FST\n\
        Usage: kaldera fst arpa2fst [OPTIONS] [ARPA [OUT]]\n\
        With --disambig-symbol=#0 backoff arcs have this input symbol and no output, as needed for decoding graphs. \
        Without it, sentences begin with <s> and end with </s>.",
    examples: &["--disambig-symbol=#0 --write-symbol-table=words lm.arpa G.fst"],
    inputs: Inputs::Files(1),
    options: &[
        "format",
        "bos-symbol",
        "eos-symbol",
        "disambig-symbol",
        "read-symbol-table",
        "write-symbol-table",
        "keep-symbols",
        "max-mem",
    ],
    run: Runner::Files(arpa2fst),
};

fn arpa2fst(options: &Options) -> Result<FstOutput, CliError> {
    let [input] = &options.arguments[..] else { return Err(CliError::Usage("one model is read".to_owned())) };
    let given = read_symbols(&options.read_symbol_table)?;
    let mut how = ArpaOptions::default();
    how.start.clone_from(&options.bos_symbol);
    how.end.clone_from(&options.eos_symbol);
    how.limits = options.limits();
    how.out_of_vocabulary = if given.is_some() { OutOfVocabulary::Skip } else { OutOfVocabulary::Add };
    let is_given = given.is_some();
    let mut words = given.unwrap_or_default();
    // Kaldi numbers these first. A given table must contain the symbols.
    let mut number = |symbol: &str| match words.find(symbol) {
        Some(label) => Ok(label),
        None if !is_given => words.find_or_add(symbol).map_err(failed),
        None => Err(CliError::Failed(format!("{} has no symbol '{symbol}'", shown(&options.read_symbol_table)))),
    };
    let labels = if options.disambig_symbol.is_empty() {
        GrammarLabels::Plain { start: number(&options.bos_symbol)?, end: number(&options.eos_symbol)? }
    } else {
        let backoff = number(&options.disambig_symbol)?;
        if !is_given {
            number(&options.bos_symbol)?;
            number(&options.eos_symbol)?;
        }
        GrammarLabels::Disambiguated { backoff }
    };
    let model = NgramModel::read(open(input)?, &mut words, &how, &mut |_| {}).map_err(failed)?;
    if is_given {
        // The special symbols are no words.
        let own = [&options.bos_symbol, &options.eos_symbol, &options.disambig_symbol];
        let wanted = words.iter().filter(|(word, label)| *label > 0 && own.iter().all(|symbol| word != symbol));
        model.count_words(wanted.map(|(word, _)| word)).map_err(failed)?;
    }
    let graph = model.to_graph(labels).map_err(failed)?;
    tell!("n-grams", model.left_out(), "left out: words that the table lacks, or ends of sentences within them");
    tell_missing(model.num_missing());
    if !options.write_symbol_table.is_empty() {
        write_bytes(&options.write_symbol_table, words.to_string().as_bytes())?;
    }
    let table = Some(words).filter(|_| options.keep_symbols);
    Ok(FstOutput::Labelled { graph, input_symbols: table.clone(), output_symbols: table })
}

fn tell_missing(number: u64) {
    if number > 0 {
        tracing::warn!("the model has {number} n-grams fewer than its header counts");
    }
}

/// `kaldera fst make-hlg`.
pub(super) const MAKE_HLG: Operation = Operation {
    name: "make-hlg",
    usage: "Make a decoding graph from a lexicon and an n-gram model\n\
        Usage: kaldera fst make-hlg [OPTIONS] LEXICON ARPA [OUT]\n\
        LEXICON has lines 'word token token ...', optionally with a probability after the word. The result accepts \
        tokens of frames and outputs words. In OpenFst's formats label 0 is epsilon, and tokens are their numbers + \
        1, so that blank is 1. Backoff arcs are epsilons, which k2's decoders do not support: k2's text, in which 0 \
        is blank and words are lists, always implies --remove-epsilon. The cost, often several times the arcs, is reported before the step. \
        OUT.tokens.txt and OUT.words.txt are the symbol tables of OUT. Each step reports its size, the elapsed time \
        and the peak memory.",
    examples: &["--write-tokens=tokens --write-words=words lexicon lm.arpa HLG.fst"],
    inputs: Inputs::Files(2),
    options: &[
        "format",
        "tokens",
        "words",
        "unk",
        "write-tokens",
        "write-words",
        "max-token",
        "modified",
        "lg",
        "sil-token",
        "sil-prob",
        "word-boundary",
        "boundary-at-start",
        "boundary-at-end",
        "remove-epsilon",
        "max-mem",
    ],
    run: Runner::Files(hlg),
};

fn hlg(options: &Options) -> Result<FstOutput, CliError> {
    let [lexicon, arpa] = &options.arguments[..] else {
        return Err(CliError::Usage("a lexicon and a model are read".to_owned()));
    };
    let format = output_format(&options.output, &options.format, Format::Binary)?;
    // In this format label 0 is blank.
    let of_k2 = format == Format::K2 && !options.lg;
    let (tokens, words) = (read_symbols(&options.tokens)?, read_symbols(&options.words)?);
    let mut how = HlgOptions::default();
    how.max_token = options.max_token.and_then(|token| usize::try_from(token).ok());
    how.modified = options.modified;
    how.topology = !options.lg;
    how.remove_epsilon = options.remove_epsilon || of_k2;
    if of_k2 && !options.remove_epsilon {
        tracing::info!("k2's decoders know no epsilons: they are removed, as with --remove-epsilon");
    }
    how.limits = options.limits();
    how.arpa.limits = how.limits;
    let of_table = |given: bool| if given { OutOfVocabulary::Refuse } else { OutOfVocabulary::Add };
    how.lexicon.tokens = of_table(tokens.is_some());
    how.lexicon.words = of_table(words.is_some());
    if !options.unk.is_empty() {
        if words.is_none() {
            return Err(CliError::Usage("--unk is a word of the table that --words names".to_owned()));
        }
        how.lexicon.unknown_word = Some(options.unk.clone());
    }
    if !options.sil_token.is_empty() {
        let (token, probability) = (options.sil_token.clone(), options.sil_prob);
        how.lexicon.silence = Some(Silence { token, probability });
    }
    if !options.word_boundary.is_empty() {
        let mut boundary = WordBoundary::new(&options.word_boundary);
        (boundary.at_start, boundary.at_end) = (options.boundary_at_start, options.boundary_at_end);
        how.lexicon.word_boundary = Some(boundary);
    }
    let mut steps = Steps::new();
    let mut progress = |now: Progress| steps.tell(now);
    let given_words = words.clone();
    let (tokens, words) = (tokens.unwrap_or_default(), words.unwrap_or_default());
    let made = make_hlg(tokens, words, open(lexicon)?, open(arpa)?, &how, &mut progress);
    let mut made = made.map_err(|error| match steps.step {
        Some(Step::ReadLexicon) => CliError::Failed(format!("{lexicon}: {error}")),
        _ => failed(error),
    })?;
    // `#0` does not occur in the graph, and is not added to a given table.
    if let Some(words) = given_words {
        made.words = words;
    }
    tell!("pronunciations", made.pronunciations_left_out, "left out");
    tell!("pronunciations", made.unknown_words, format!("of words that --words lacks, which are '{}'", options.unk));
    tell!("n-grams", made.ngrams_left_out, "left out, as words have no pronunciation");
    tell!("words", made.words_left_out, "of the lexicon left out, as the model has no n-gram of them");
    tell_missing(made.num_missing_ngrams);
    if format == Format::K2 {
        write_tables(options, &made.labels().map_err(failed)?, &made.words)?;
        return Ok(FstOutput::Labelled { graph: made.graph, input_symbols: None, output_symbols: None });
    }
    let file = made.to_openfst().map_err(failed)?;
    if let (Some(tokens), Some(words)) = (&file.input_symbols, &file.output_symbols) {
        write_tables(options, tokens, words)?;
    }
    Ok(FstOutput::Labelled {
        graph: file.graph,
        input_symbols: file.input_symbols,
        output_symbols: file.output_symbols,
    })
}

/// Reports the steps during the work.
struct Steps {
    began: Instant,
    step: Option<Step>,
}

impl Steps {
    fn new() -> Self {
        Self { began: Instant::now(), step: None }
    }

    fn tell(&mut self, now: Progress) {
        if let Some(made) = now.made {
            let peak = peak_memory().map_or(String::new(), |bytes| format!(", peak memory {}", megabytes(bytes)));
            tracing::info!("{} ({:.2} s{peak})", size(&made), self.began.elapsed().as_secs_f64());
        }
        if let Some(expected) = now.expected {
            tracing::info!("about to be made: {}", size(&expected));
        }
        if self.step.replace(now.step) != Some(now.step) && now.step != Step::Done {
            tracing::info!("{}", now.step);
        }
    }
}

fn size(graph: &HlgStep) -> String {
    let HlgStep { graph, num_states, num_arcs, num_bytes, .. } = graph;
    format!("{graph}: {num_states} states, {num_arcs} arcs, {}", megabytes(*num_bytes as u64))
}

/// Returns the files of the tables: named by options, or next to the output if the output is a
/// file.
fn table_files(options: &Options, output: &str) -> [Option<String>; 2] {
    [(&options.write_tokens, "tokens"), (&options.write_words, "words")].map(|(name, kind)| match &**name {
        "" if is_standard(output) => None,
        "" => Some(format!("{output}.{kind}.txt")),
        name => Some(name.to_owned()),
    })
}

/// Returns the files that an operation writes in addition to its output.
pub(super) fn other_outputs(operation: &Operation, options: &Options, output: &str) -> Vec<String> {
    let names_graph = operation.name == MAKE_HLG.name;
    let tables = table_files(options, output).into_iter().flatten().filter(|_| names_graph);
    tables.chain(Some(options.write_symbol_table.clone()).filter(|name| !name.is_empty())).collect()
}

/// Writes the tables of the labels of the graph.
fn write_tables(options: &Options, tokens: &SymbolTable, words: &SymbolTable) -> Result<(), CliError> {
    for (name, table) in table_files(options, &options.output).into_iter().zip([tokens, words]) {
        if let Some(name) = name {
            write_bytes(&name, table.to_string().as_bytes())?;
        }
    }
    Ok(())
}
