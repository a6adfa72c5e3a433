//! Decoding graphs: CTC topologies, lexicon, n-gram language model, HLG, hot words.

pub(crate) mod context;
pub(crate) mod ctc;
pub(crate) mod ctc_states;
pub(crate) mod ctc_topology;
pub(crate) mod hlg;
pub(crate) mod left_out;
pub(crate) mod lexicon;
pub(crate) mod lines;
pub(crate) mod minimal_lexicon;
pub(crate) mod ngram;
pub(crate) mod progress;

pub use context::{ContextGraph, ContextMatch, ContextNode, ContextState};
pub use ctc::{ctc_graph, ctc_topo, trivial_graph};
pub use ctc_topology::CtcTopology;
pub use hlg::{Hlg, HlgOptions, compile_hlg, make_hlg};
pub use left_out::LeftOut;
pub use lexicon::{BACKOFF_SYMBOL, Lexicon, LexiconOptions, Silence, WordBoundary};
pub use ngram::{
    ArpaOptions, ConstArpa, ConstArpaForm, ConstArpaOptions, ConstArpaState, GrammarLabels, NgramModel, NgramState,
    Perplexity,
};
pub use progress::{HlgGraph, HlgStep, OutOfVocabulary, Progress, Step};
