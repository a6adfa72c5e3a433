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
    pub(super) max_mem: Option<u64>,
    pub(super) delta: f32,
    pub(super) det_type: String,
    pub(super) remove_epsilons: bool,
    pub(super) eps_norm_output: bool,
    pub(super) weight: Option<f32>,
    pub(super) nstate: Option<i32>,
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
    pub(super) max_token: Option<i32>,
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
            max_mem: None,
            delta: 1.0 / 1024.0,
            det_type: "functional".to_owned(),
            remove_epsilons: false,
            eps_norm_output: false,
            weight: None,
            nstate: None,
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
            max_token: None,
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
            format, "format", "Output format: k2, text (OpenFst's) or binary; dot or svg for a drawing";
            acceptor, "acceptor", "The text has one label on each line";
            isymbols, "isymbols", "Symbol table of labels";
            osymbols, "osymbols", "Symbol table of output labels";
            ssymbols, "ssymbols", "Symbol table of states";
            keep_isymbols, "keep-isymbols", "Include the symbol table of labels in the binary file";
            keep_osymbols, "keep-osymbols", "Include the symbol table of output labels in the binary file";
            arc_type, "arc-type", "Arc type of the binary file: standard or log";
            fst_type, "fst-type", "Type of the binary file: vector, or const, which supports memory mapping";
            title, "title", "Title above the drawing";
            sort_type, "sort-type", "Sort key of arcs: ilabel or olabel";
            closure_plus, "closure-plus", "One or more repetitions instead of zero or more";
            project_output, "project-output", "Keep the output labels instead of the input labels";
            project_type, "project-type", "Labels to keep: input or output";
            connect, "connect", "Remove states that are not on a path";
            compose_filter, "compose-filter", "Treatment of epsilons: auto, sequence, alt_sequence or match for one path per pair of paths; trivial for one path per order of epsilons; null for epsilons as ordinary symbols";
            look_ahead, "look-ahead", "Drop states during composition if no possible next label is in the second FST";
            max_mem, "max-mem", "Memory limit of a step in bytes; a step that needs more fails; default: half of the memory";
            delta, "delta", "Tolerance for the comparison of weights";
            det_type, "det-type", "functional, or disambiguate to keep only the best of several outputs";
            remove_epsilons, "remove-epsilons", "Remove epsilon arcs during determinization";
            eps_norm_output, "eps-norm-output", "Move arcs without an output label instead of arcs without an input label";
            weight, "weight", "Pruning threshold: maximum cost difference to the best path; default: no pruning";
            nstate, "nstate", "Maximum number of states; more is an error; default: no limit";
            allow_nondet, "allow-nondet", "Accept FSTs that are not deterministic";
            to_final, "to-final", "Push to the final states instead of the start state";
            nshortest, "nshortest", "Number of paths";
            unique, "unique", "Only paths with different labels";
            npath, "npath", "Number of paths";
            seed, "seed", "Seed of the random number generator";
            weighted, "weighted", "Keep the weights of the paths";
            bos_symbol, "bos-symbol", "Symbol for the beginning of a sentence";
            eos_symbol, "eos-symbol", "Symbol for the end of a sentence";
            disambig_symbol, "disambig-symbol", "Symbol of backoff arcs, such as #0; default: epsilon";
            read_symbol_table, "read-symbol-table", "Symbol table of words; n-grams with other words are skipped and reported";
            write_symbol_table, "write-symbol-table", "Output file for the symbol table of words";
            tokens, "tokens", "Symbol table of all tokens, with 0 as blank; default: tokens are numbered alphabetically";
            words, "words", "Symbol table of all words of the lexicon, unless --unk is given; default: words are numbered alphabetically";
            write_tokens, "write-tokens", "Output file for the symbol table of labels; default: OUT.tokens.txt if OUT is a file";
            write_words, "write-words", "Output file for the symbol table of words; default: OUT.words.txt if OUT is a file";
            unk, "unk", "Word in --words that replaces words not in the table";
            keep_symbols, "keep-symbols", "Include the symbol table of words in the binary file";
            max_token, "max-token", "Highest token of the network; default: the highest of the lexicon";
            modified, "modified", "CTC topology that needs no blank between equal tokens";
            lg, "lg", "Make L o G, for decoders with their own topology";
            sil_token, "sil-token", "Optional token between words, such as SIL";
            sil_prob, "sil-prob", "Probability of --sil-token";
            word_boundary, "word-boundary", "Mandatory token between words, such as <wb>";
            boundary_at_start, "boundary-at-start", "Allow --word-boundary before the first word";
            boundary_at_end, "boundary-at-end", "Allow --word-boundary after the last word";
            remove_epsilon, "remove-epsilon", "Remove epsilons, as required by k2's decoders";
        }
    }
}
