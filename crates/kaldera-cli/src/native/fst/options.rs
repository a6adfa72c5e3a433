//! The options of all operations. Each operation has some of them, with the same names and
//! meanings.

use kaldera::feat::options::Registry as _;
use kaldera::fsa::Limits;

use crate::memory::limits;
use crate::native::operation::{OperationOptions, add_named};
use crate::parse_options::ParseOptions;

/// Values of all options.
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command line")]
pub(super) struct Options {
    /// The plain arguments that are inputs.
    pub(super) arguments: Vec<String>,
    /// The output, empty for standard output.
    pub(super) output: String,
    pub(super) format: String,
    pub(super) acceptor: bool,
    pub(super) isymbols: String,
    pub(super) osymbols: String,
    pub(super) ssymbols: String,
    pub(super) keep_isymbols: bool,
    pub(super) keep_osymbols: bool,
    pub(super) arc_type: String,
    pub(super) fst_type: String,
    pub(super) title: String,
    pub(super) sort_type: String,
    pub(super) closure_plus: bool,
    pub(super) project_output: bool,
    pub(super) project_type: String,
    pub(super) connect: bool,
    pub(super) compose_filter: String,
    pub(super) look_ahead: bool,
    pub(super) max_mem: u64,
    pub(super) delta: f32,
    pub(super) det_type: String,
    pub(super) remove_epsilons: bool,
    pub(super) eps_norm_output: bool,
    pub(super) weight: f32,
    pub(super) nstate: i32,
    pub(super) allow_nondet: bool,
    pub(super) to_final: bool,
    pub(super) nshortest: i32,
    pub(super) unique: bool,
    pub(super) npath: i32,
    pub(super) seed: u64,
    pub(super) weighted: bool,
    pub(super) bos_symbol: String,
    pub(super) eos_symbol: String,
    pub(super) disambig_symbol: String,
    pub(super) read_symbol_table: String,
    pub(super) write_symbol_table: String,
    pub(super) tokens: String,
    pub(super) words: String,
    pub(super) write_tokens: String,
    pub(super) write_words: String,
    pub(super) unk: String,
    pub(super) keep_symbols: bool,
    pub(super) max_token: i32,
    pub(super) modified: bool,
    pub(super) lg: bool,
    pub(super) sil_token: String,
    pub(super) sil_prob: f32,
    pub(super) word_boundary: String,
    pub(super) boundary_at_start: bool,
    pub(super) boundary_at_end: bool,
    pub(super) remove_epsilon: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arguments: vec![],
            output: String::new(),
            format: String::new(),
            acceptor: false,
            isymbols: String::new(),
            osymbols: String::new(),
            ssymbols: String::new(),
            keep_isymbols: false,
            keep_osymbols: false,
            arc_type: "standard".to_owned(),
            fst_type: "vector".to_owned(),
            title: String::new(),
            sort_type: "ilabel".to_owned(),
            closure_plus: false,
            project_output: false,
            project_type: "input".to_owned(),
            connect: true,
            compose_filter: "auto".to_owned(),
            look_ahead: false,
            max_mem: 0,
            delta: 1.0 / 1024.0,
            det_type: "functional".to_owned(),
            remove_epsilons: false,
            eps_norm_output: false,
            weight: f32::INFINITY,
            nstate: -1,
            allow_nondet: false,
            to_final: false,
            nshortest: 1,
            unique: false,
            npath: 1,
            seed: 0,
            weighted: false,
            bos_symbol: "<s>".to_owned(),
            eos_symbol: "</s>".to_owned(),
            disambig_symbol: String::new(),
            read_symbol_table: String::new(),
            write_symbol_table: String::new(),
            tokens: String::new(),
            words: String::new(),
            write_tokens: String::new(),
            write_words: String::new(),
            unk: String::new(),
            keep_symbols: true,
            max_token: -1,
            modified: false,
            lg: false,
            sil_token: String::new(),
            sil_prob: 0.5,
            word_boundary: String::new(),
            boundary_at_start: true,
            boundary_at_end: true,
            remove_epsilon: false,
        }
    }
}

impl Options {
    /// Returns the memory limit.
    pub(super) fn limits(&self) -> Limits {
        limits(self.max_mem)
    }

    /// Returns the input files that options name.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &String> {
        let all = [&self.isymbols, &self.osymbols, &self.ssymbols, &self.read_symbol_table, &self.tokens, &self.words];
        all.into_iter().filter(|name| !name.is_empty())
    }
}

impl OperationOptions for Options {
    fn register<'a>(&'a mut self, names: &[&str], parser: &mut ParseOptions<'a>) {
        add_named! { parser, self, names:
            format, "format", "How to write: k2, text (OpenFst's) or binary; dot or svg for a drawing";
            acceptor, "acceptor", "The text has one label on each line";
            isymbols, "isymbols", "Table of what labels stand for";
            osymbols, "osymbols", "Table of what output labels stand for";
            ssymbols, "ssymbols", "Table of what states stand for";
            keep_isymbols, "keep-isymbols", "Write the table of labels into the binary file";
            keep_osymbols, "keep-osymbols", "Write the table of output labels into the binary file";
            arc_type, "arc-type", "Semiring of the binary file: standard or log";
            fst_type, "fst-type", "Type of the binary file: vector, or const, which can be mapped into memory";
            title, "title", "A line above the drawing";
            sort_type, "sort-type", "What arcs are sorted by: ilabel or olabel";
            closure_plus, "closure-plus", "One time or more, and not none";
            project_output, "project-output", "Keep the output labels, not the input labels";
            project_type, "project-type", "Which labels to keep: input or output";
            connect, "connect", "Leave out states that lie on no path";
            compose_filter, "compose-filter", "Epsilons between the two: auto, sequence, alt_sequence or match: one path for each pair of paths; trivial: one for each order; null: symbols like others";
            look_ahead, "look-ahead", "Leave out states at once where no label that can come next is in the second FST";
            max_mem, "max-mem", "Most bytes for a step; refuse what needs more; 0 for half of the memory there is";
            delta, "delta", "Weights this close are equal";
            det_type, "det-type", "functional, or disambiguate: keep the best of several outputs";
            remove_epsilons, "remove-epsilons", "Remove arcs that take nothing while determinizing";
            eps_norm_output, "eps-norm-output", "Arcs without output label, not those without input label";
            weight, "weight", "Leave out what costs more than the best path by more than this";
            nstate, "nstate", "Most states; refuse what needs more; -1 for any number";
            allow_nondet, "allow-nondet", "Take FSTs that are not deterministic";
            to_final, "to-final", "Push to the final states, not to the start";
            nshortest, "nshortest", "How many paths";
            unique, "unique", "Paths with different labels only";
            npath, "npath", "How many paths";
            seed, "seed", "Of the random numbers";
            weighted, "weighted", "Keep the weights of the paths";
            bos_symbol, "bos-symbol", "The beginning of a sentence";
            eos_symbol, "eos-symbol", "The end of a sentence";
            disambig_symbol, "disambig-symbol", "Symbol on arcs that back off, such as #0; nothing for epsilon";
            read_symbol_table, "read-symbol-table", "Table of words; n-grams with others are left out, counted and named";
            write_symbol_table, "write-symbol-table", "File for the table of words";
            tokens, "tokens", "Table of tokens, of which 0 is blank, which must have all; without it they are numbered by the alphabet";
            words, "words", "Table of words, which must have all of the lexicon, unless --unk; without it they are numbered by the alphabet";
            write_tokens, "write-tokens", "File for the table of the labels; OUT.tokens.txt if OUT is a file";
            write_words, "write-words", "File for the table of words; OUT.words.txt if OUT is a file";
            unk, "unk", "Word of --words that stands for those that it lacks";
            keep_symbols, "keep-symbols", "Write the table of words into the binary file";
            max_token, "max-token", "Highest token of the network; -1 for the highest of the lexicon";
            modified, "modified", "The topology of CTC that asks for no blank between equal tokens";
            lg, "lg", "Make L o G, for decoders that know their topology";
            sil_token, "sil-token", "Token that may stand between words, such as SIL";
            sil_prob, "sil-prob", "How probable it is";
            word_boundary, "word-boundary", "Token that stands exactly once between two words, such as <wb>";
            boundary_at_start, "boundary-at-start", "One more may stand before the first word";
            boundary_at_end, "boundary-at-end", "One more may stand after the last word";
            remove_epsilon, "remove-epsilon", "Remove epsilons, as k2's decoders need it";
        }
    }
}
