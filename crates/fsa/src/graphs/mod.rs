//! Decoding graphs: lexicon, n-gram language model, HLG, hot words.

mod arpa;
mod context;
mod hlg;
mod implicit_ctc;
mod lexicon;
mod lines;
mod progress;

pub use arpa::{ArpaOptions, NgramModel};
pub use context::{ContextGraph, ContextMatch, ContextState};
pub use hlg::{Hlg, HlgOptions, HlgStep, compile_hlg, make_hlg};
pub use implicit_ctc::CtcTopology;
pub use lexicon::{BACKOFF_SYMBOL, Lexicon, LexiconOptions, Silence};
pub use progress::{OutOfVocabulary, Progress};
