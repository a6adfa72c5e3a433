//! Inputs for `fsa`, the same in every run: batches of FSAs shaped as those of k2's figures, and a
//! language (a lexicon and an n-gram model) as large as that of OpenFst's.

mod batches;
mod cases;
mod language;

pub use batches::{lattice, symbols, top_sorted, unsorted, with_epsilons, word_trie};
pub use cases::{Case, case, fresh, write_inputs};
pub use language::{Language, LanguageFiles};
