//! The smallest deterministic form of a lexicon, without a grammar.

use crate::core::arc::{Arc, EPSILON};
use crate::core::attributes::Attribute;
use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::limits::Limits;
use crate::error::{AttributeProblem, Error};
use crate::graphs::lexicon::Lexicon;
use crate::openfst::determinize::DeterminizeOptions;
use crate::openfst::minimize::MinimizeOptions;

impl Lexicon {
    /// Returns L, determinized and minimized with its disambiguation symbols, which then become
    /// epsilons: pronunciations share their beginnings and endings, and words are output as soon as
    /// the tokens distinguish them. `#0` does not go through.
    ///
    /// A [`LookAheadGraph`](crate::dense::LookAheadGraph) composes it with a grammar.
    ///
    /// # Errors
    /// [`Error::DeterminizeLimit`] and [`Error::Limit`] if the limit is reached;
    /// [`Error::TooLarge`].
    pub fn to_minimal_graph(&self, limits: Limits) -> Result<Graph<Fsa>, Error> {
        let graph = self.to_disambiguated_graph()?;
        let words = words_of(&graph)?;
        let stays = |arc: &usize| words[*arc] != self.backoff_word();
        let (arcs, words): (Vec<_>, Vec<_>) =
            (0..words.len()).filter(stays).map(|arc| (graph.fsas().arcs()[arc], words[arc])).unzip();
        let graph = Graph::new(Fsa::from_arcs(graph.fsas().num_states(), arcs)?).with_aux_labels(words)?;
        let graph = graph.determinize_openfst(&DeterminizeOptions::default().with_limits(limits))?.connect()?;
        let graph = graph.minimize(&MinimizeOptions::default().with_limits(limits))?.connect()?;
        let first = self.first_disambiguation();
        let plain = |label: i32| if label >= first { EPSILON } else { label };
        let arcs: Vec<_> = graph.fsas().arcs().iter().map(|&arc| Arc { label: plain(arc.label), ..arc }).collect();
        let words = Attribute::from(words_of(&graph)?.to_vec());
        Graph::new(Fsa::from_arcs(graph.fsas().num_states(), arcs)?).with_aux_labels(words)
    }
}

fn words_of(graph: &Graph<Fsa>) -> Result<&[i32], Error> {
    graph.attributes().ints(AUX_LABELS).ok_or(Error::Attribute { problem: AttributeProblem::WordLists })
}
