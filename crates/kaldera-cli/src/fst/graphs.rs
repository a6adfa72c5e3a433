//! Operations that build graphs of other files: language models, lexicons.

use std::fs::File;
use std::io::BufReader;

use kaldera::fsa::graphs::{ArpaOptions, HlgOptions, NgramModel, OutOfVocabulary, Silence, make_hlg};
use kaldera::fsa::{EPSILON, Graph, Limits};

use super::files::{FstFile, read_bytes, read_symbols, write_bytes};
use super::operations::failed;
use super::options::Options;
use super::{Inputs, Made, Operation, Trouble};

/// `kaldera fst arpa2fst`.
pub(super) const ARPA2FST: Operation = Operation {
    name: "arpa2fst",
    usage: "Make an FST of an n-gram model in the ARPA format\n\
        Usage: kaldera fst arpa2fst [OPTIONS] [ARPA [OUT]]\n\
        With --disambig-symbol=#0 arcs that back off take that symbol, as is needed to build decoding graphs.",
    example: "--disambig-symbol=#0 --write-symbol-table=words lm.arpa G.fst",
    inputs: Inputs::Other(1),
    options: &["format", "bos-symbol", "eos-symbol", "disambig-symbol", "read-symbol-table", "write-symbol-table"],
    run: arpa2fst,
};

fn arpa2fst(options: &Options, _: Vec<FstFile>) -> Result<Made, Trouble> {
    let [input] = &options.arguments[..] else { return Err(Trouble::Usage("one model is read".to_owned())) };
    let words = read_symbols(&options.read_symbol_table)?;
    let mut how = ArpaOptions::default();
    how.start.clone_from(&options.bos_symbol);
    how.end.clone_from(&options.eos_symbol);
    how.out_of_vocabulary = if words.is_some() { OutOfVocabulary::Skip } else { OutOfVocabulary::Add };
    let mut words = words.unwrap_or_default();
    let text = read_bytes(input)?;
    let model = NgramModel::read(&text[..], &mut words, &how, &mut |_| {}).map_err(failed)?;
    let label = if options.disambig_symbol.is_empty() {
        EPSILON
    } else {
        words.find_or_add(&options.disambig_symbol).map_err(failed)?
    };
    let fsa = model.to_fsa(label).map_err(failed)?;
    if !options.write_symbol_table.is_empty() {
        write_bytes(&options.write_symbol_table, words.to_string().as_bytes())?;
    }
    if model.num_skipped() > 0 {
        tracing::warn!("{} n-grams were skipped", model.num_skipped());
    }
    Ok(Made::Fst(Graph::new(fsa)))
}

/// `kaldera fst make-hlg`.
pub(super) const MAKE_HLG: Operation = Operation {
    name: "make-hlg",
    usage: "Make a decoding graph of a lexicon and an n-gram model\n\
        Usage: kaldera fst make-hlg [OPTIONS] LEXICON ARPA [OUT]\n\
        LEXICON has lines 'word token token ...', or with a probability behind the word. The result takes tokens of frames\n\
        (0 is blank) and puts out words.",
    example: "--write-tokens=tokens --write-words=words lexicon lm.arpa HLG.fst",
    inputs: Inputs::Other(2),
    options: &[
        "format",
        "tokens",
        "words",
        "write-tokens",
        "write-words",
        "max-token",
        "modified",
        "lg",
        "sil-token",
        "sil-prob",
        "max-mem",
    ],
    run: hlg,
};

fn hlg(options: &Options, _: Vec<FstFile>) -> Result<Made, Trouble> {
    let [lexicon, arpa] = &options.arguments[..] else {
        return Err(Trouble::Usage("a lexicon and a model are read".to_owned()));
    };
    let (tokens, words) = (read_symbols(&options.tokens)?, read_symbols(&options.words)?);
    let mut how = HlgOptions::default();
    how.max_token = usize::try_from(options.max_token).ok();
    how.modified = options.modified;
    how.topology = !options.lg;
    how.limits = Limits::default().with_max_bytes(options.max_bytes());
    if !options.sil_token.is_empty() {
        let (token, probability) = (options.sil_token.clone(), options.sil_prob);
        how.lexicon.silence = Some(Silence { token, probability });
    }
    let open = |name: &String| {
        let file = File::open(name).map_err(|error| Trouble::Failed(format!("cannot read '{name}': {error}")));
        file.map(BufReader::new)
    };
    let (lexicon, arpa) = (open(lexicon)?, open(arpa)?);
    let mut step = None;
    let mut progress = |now: kaldera::fsa::graphs::Progress| {
        if step.replace(now.step) != Some(now.step) {
            tracing::info!("{}", now.step);
        }
    };
    let made = make_hlg(tokens.unwrap_or_default(), words.unwrap_or_default(), lexicon, arpa, &how, &mut progress);
    let made = made.map_err(failed)?;
    for size in &made.steps {
        tracing::info!("{}: {} states, {} arcs", size.graph, size.num_states, size.num_arcs);
    }
    for (name, table) in [(&options.write_tokens, &made.tokens), (&options.write_words, &made.words)] {
        if !name.is_empty() {
            write_bytes(name, table.to_string().as_bytes())?;
        }
    }
    // Files have one word on an arc: lists become chains of arcs.
    let graph = made.graph.expand_aux_labels().map_err(failed)?;
    Ok(Made::Fst(graph))
}
