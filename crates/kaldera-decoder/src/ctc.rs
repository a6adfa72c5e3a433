//! CTC without a graph: the best token of each frame, and prefix beam search.
//!
//! ```text
//!   log-probabilities --greedy--> the best alignment's tokens
//!           |
//!           '--CtcDecoder--> n best: any tokens | any words that tokens spell | words of a lexicon
//!                                    with a language model, hot words, scores for words
//! ```
//!
//! With a decoding graph (HLG) use [`crate::graph`].

mod decoder;
mod greedy;
mod hot_tokens;
mod lexicon;
mod options;
mod search;
mod tokens;
mod tree;
mod words;

pub use decoder::{CtcDecoder, CtcStream, NoModel};
pub use greedy::greedy;
pub use lexicon::SpellingTree;
pub use options::CtcDecoderOptions;
pub use words::WordModel;

pub(crate) use decoder::graph as phrase_graph;
pub(crate) use greedy::best_of_row;
pub(crate) use search::Placed;
