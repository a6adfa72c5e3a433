//! `lattice-oracle`: paths of lattices with the smallest edit distance to references.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::Limits;
use kaldera::fsa::io::SymbolTable;
use kaldera::fsa::k2::linear_fsa;
use kaldera::fsa::lattice::{BackoffModel, Lattice, Oracle};
use kaldera::io::lattice::CompactLattice;
use kaldera::io::table::{RandomAccessReader, SequentialReader};
use kaldera::ragged::TextValue;
use tracing::{info, warn};

use super::lattices::{
    read_text, read_words, register_word_symbol_table, register_write_lattices, say_words, to_kaldi, told,
};
use super::{Failure, colon_list};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "lattice-oracle", about: "Paths of lattices with the fewest errors", run };

const USAGE: &str = "Finds for each lattice the path with the minimum edit distance to a reference, and counts its errors.
Usage: lattice-oracle [options] <test-lattice-rspecifier> <reference-rspecifier> <transcriptions-wspecifier> [<edit-distance-wspecifier>]
For example: lattice-oracle ark:1.lats ark:ref.int ark,t:-";

#[derive(Default)]
struct Options {
    word_symbol_table: String,
    wildcard_symbols_list: String,
    wildcard_symbols: String,
    write_lattices: String,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_word_symbol_table(registry, &mut self.word_symbol_table);
        registry.add(
            "wildcard-symbols-list",
            &mut self.wildcard_symbols_list,
            "File of words that do not count as errors, one per line; needs --word-symbol-table",
        );
        registry.add(
            "wildcard-symbols",
            &mut self.wildcard_symbols,
            "Words that do not count as errors, separated by colons",
        );
        register_write_lattices(registry, &mut self.write_lattices);
    }
}

impl Options {
    /// Returns the words that do not count as errors.
    fn wildcards(&self, table: Option<&SymbolTable>) -> Result<Vec<i32>, Failure> {
        if self.wildcard_symbols_list.is_empty() {
            return colon_list(&self.wildcard_symbols).ok_or_else(|| Failure::Option {
                name: "wildcard-symbols",
                value: self.wildcard_symbols.clone(),
                expected: "numbers with colons between them",
            });
        }
        if !self.wildcard_symbols.is_empty() {
            return Err(Failure::Exclusive { first: "wildcard-symbols", second: "wildcard-symbols-list" });
        }
        let table = table.ok_or(Failure::Alone { name: "wildcard-symbols-list", needs: "word-symbol-table" })?;
        let find = |line: &str| {
            let expected = "a line with one word of the table";
            table.find(line.trim_ascii()).ok_or_else(|| Failure::Argument { value: line.to_owned(), expected })
        };
        read_text(&self.wildcard_symbols_list)?.lines().map(find).collect()
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(TOOL.name, USAGE, call, Options::default(), (3..=4, 2), |options, plain| {
        let table = read_words(&options.word_symbol_table)?;
        let wildcards = options.wildcards(table.as_ref())?;
        let reader = SequentialReader::<CompactLattice>::open(&plain[0])?;
        let mut references = RandomAccessReader::<Vec<i32>>::open(&plain[1])?;
        let mut transcriptions = super::open_if_given::<Vec<i32>>(&plain[2])?;
        let mut distances = super::open_if_given::<i32>(plain.get(3).map_or("", String::as_str))?;
        let mut lattices = super::open_if_given::<CompactLattice>(&options.write_lattices)?;
        let (mut done, mut failed, mut total, mut words) = (0_u64, 0_u64, Oracle::default(), 0_usize);
        for entry in reader {
            let (key, compact) = entry?;
            crate::log::say(crate::log::printable(&format!("Lattice {key} read.")));
            if !references.has_key(&key)? {
                warn!("leaving out {key}: it has no reference");
                failed += 1;
                continue;
            }
            let reference: Vec<_> = references
                .value(&key)?
                .iter()
                .copied()
                .filter(|word| *word != 0 && !wildcards.contains(word))
                .collect();
            let plain = without(&compact, &wildcards);
            let found = Lattice::try_from(&plain).and_then(|lattice| Ok((lattice.oracle(0, &reference)?, lattice)));
            let Some((Some(oracle), lattice)) = told(&key, found) else {
                warn!("{key} has no path");
                failed += 1;
                continue;
            };
            info!("{} sub ]", rate(&oracle, reference.len()));
            info!("For utterance {key}, best cost {}", oracle.errors());
            if let Some(writer) = &mut transcriptions {
                writer.write(&key, &oracle.words)?;
            }
            if let Some(writer) = &mut distances {
                writer.write(&key, &i32::try_from(oracle.errors())?)?;
            }
            say_words(&format!("{key} (oracle)"), &oracle.words, table.as_ref())?;
            say_words(&format!("{key} (reference)"), &reference, table.as_ref())?;
            if let Some(writer) = &mut lattices {
                let own = linear_fsa(&oracle.words)?;
                // No word has this label.
                let model = BackoffModel::new(&own, i32::MIN);
                if let Some(paths) = told(&key, lattice.rescore(&model, 0.0, Limits::default())) {
                    writer.write(&key, &to_kaldi(&paths))?;
                }
            }
            total.insertions += oracle.insertions;
            total.deletions += oracle.deletions;
            total.substitutions += oracle.substitutions;
            words += reference.len();
            done += 1;
        }
        super::close_if_given(transcriptions)?;
        super::close_if_given(distances)?;
        super::close_if_given(lattices)?;
        // Kaldi's steps/oracle_wer.sh reads the fields of this line by their positions.
        info!("Overall {} substitutions ]", rate(&total, words));
        info!("Scored {done} lattices, {failed} not present in ref.");
        // Like Kaldi's program, even if none was done.
        Ok(true)
    })
}

/// Formats errors as Kaldi does, up to the number of substitutions. The rate has six significant
/// digits; without words it is the C library's text for the quotient.
#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(oracle: &Oracle, words: usize) -> String {
    let (errors, mut percent) = (oracle.errors(), String::new());
    if words == 0 && errors == 0 {
        percent.push_str("-nan");
    } else {
        // Writing to a string does not fail.
        let _ = (100.0 * errors as f64 / words as f64).write_k2_text(&mut percent);
    }
    let Oracle { insertions, deletions, substitutions, .. } = oracle;
    format!("%WER {percent} [ {errors} / {words}, {insertions} insertions, {deletions} deletions, {substitutions}")
}

/// Replaces wildcard words by 0.
fn without(compact: &CompactLattice, wildcards: &[i32]) -> CompactLattice {
    if wildcards.is_empty() {
        return compact.clone();
    }
    let mut states = compact.states().to_vec();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        if wildcards.contains(&arc.olabel) {
            (arc.ilabel, arc.olabel) = (0, 0);
        }
    }
    // The states come from a valid lattice.
    CompactLattice::new(compact.start(), states).unwrap_or_default()
}
