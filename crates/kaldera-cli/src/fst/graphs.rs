//! Operations that build graphs of other files: language models.

use kaldera::fsa::EPSILON;
use kaldera::fsa::Graph;
use kaldera::fsa::graphs::{ArpaOptions, NgramModel, OutOfVocabulary};

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
    inputs: Inputs::Other,
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
