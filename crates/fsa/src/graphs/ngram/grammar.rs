//! Models as acceptors and grammars.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::graphs::ngram::NgramModel;
use crate::graphs::ngram::layout::{ROOT, View};
use crate::support::adjacency::Adjacency;
use crate::support::ids::narrow;

impl NgramModel {
    /// Returns the model as an acceptor of sentences: a state for each beginning of n-grams, which
    /// the words that may follow leave, and an arc with `label` ([`EPSILON`], or a symbol of its
    /// own) that backs off by dropping the first word. State 0 is the beginning of a sentence. Arcs
    /// are sorted. O(n-grams).
    ///
    /// Arcs for backing off can also be taken if they need not: the best path of a sentence then
    /// has a score above [`score`](Self::score), if its words are likelier so. A symbol that each
    /// such arc must take distinguishes both.
    ///
    /// States that can only be left by backing off are left out; their weights go to the arcs that
    /// would have entered them.
    ///
    /// # Errors
    /// [`Error::NoSentence`] if the model has no end of sentences, [`Error::Symbol`] if `label` is
    /// a word of the model, and [`Error::TooLarge`].
    #[doc(alias = "arpa2fst")]
    #[doc(alias = "kaldilm")]
    pub fn to_fsa(&self, label: i32) -> Result<Fsa, Error> {
        let (view, start) = (self.view(), self.start_node());
        // The root is always a state; the start is the first one.
        let is_state = |node: u32| node == ROOT || node == start || extended(view, node);
        let num_nodes = self.layout.num_nodes();
        let mut states = vec![0; num_nodes as usize];
        let mut num_states = 1;
        for node in 0..num_nodes {
            if node != start && is_state(node) {
                states[node as usize] = Error::fit(Quantity::States, num_states)?;
                num_states += 1;
            }
        }
        let last = Error::fit(Quantity::States, num_states)?;
        // The state of as many of the words as matter for the following words, and the cost of
        // forgetting the others.
        let resolve = |mut node: u32, mut log10: f64| {
            while !is_state(node) {
                log10 += f64::from(view.inner(node).0);
                node = view.entry(node).1;
            }
            (states[node as usize], natural(log10))
        };
        let mut arcs = Vec::with_capacity(num_nodes as usize * 2);
        let mut ends = false;
        for context in 0..num_nodes {
            for node in view.inner(context).1 {
                let (from, word) = (states[context as usize], view.last_word(node));
                let (log10, suffix) = view.entry(node);
                if word == self.layout.special.end {
                    arcs.push(Arc::new(from, last, FINAL, natural(log10.into())));
                    ends = true;
                } else if let Some(it) = self.labels.label(word).filter(|_| !self.is_end(word)) {
                    if it == label {
                        return Err(Error::Symbol { position: node as usize, symbol: it, least: 1 });
                    }
                    // No sentence can have the others.
                    if log10 > f32::NEG_INFINITY || context != ROOT {
                        let (dest, score) = resolve(node, log10.into());
                        arcs.push(Arc::new(from, dest, it, score));
                    }
                }
                if is_state(node) {
                    let (dest, score) = resolve(suffix, view.inner(node).0.into());
                    arcs.push(Arc::new(states[node as usize], dest, label, score));
                }
            }
        }
        if !ends {
            return Err(Error::NoSentence);
        }
        Error::fit(Quantity::Arcs, arcs.len())?;
        sort(&mut arcs, num_states);
        Fsa::from_arcs(num_states + 1, arcs)
    }
}

/// Labels of a grammar that are not words, as in Kaldi's `arpa2fst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrammarLabels {
    /// With `--disambig-symbol`: arcs that back off take this label and output nothing; sentences
    /// are their words.
    Disambiguated {
        /// Number of `#0`.
        backoff: i32,
    },
    /// Without: arcs that back off are epsilons; sentences are their words between the symbols of
    /// their beginning and end.
    Plain {
        /// Number of `<s>`.
        start: i32,
        /// Number of `</s>`.
        end: i32,
    },
}

impl NgramModel {
    /// Returns the grammar that Kaldi's `arpa2fst` makes; otherwise as [`to_fsa`](Self::to_fsa).
    /// O(n-grams).
    ///
    /// # Errors
    /// As [`to_fsa`](Self::to_fsa); [`Error::Symbol`] too if a label of `labels` is below 1 or a
    /// word of the model.
    #[doc(alias = "arpa2fst")]
    pub fn to_graph(&self, labels: GrammarLabels) -> Result<Graph<Fsa>, Error> {
        match labels {
            GrammarLabels::Disambiguated { backoff } => {
                self.check_label(backoff)?;
                let fsa = self.to_fsa(backoff)?;
                let output = |arc: &Arc| if arc.label == backoff { EPSILON } else { arc.label };
                let aux_labels: Vec<_> = fsa.arcs().iter().map(output).collect();
                Graph::new(fsa).with_aux_labels(aux_labels)
            }
            GrammarLabels::Plain { start, end } => {
                self.check_label(start)?;
                self.check_label(end)?;
                let fsa = self.to_fsa(EPSILON)?;
                // State 0 takes the beginning, all others are shifted by one; the last but one
                // takes nothing.
                let before_last = Error::fit(Quantity::States, fsa.num_states())?;
                let mut arcs = Vec::with_capacity(fsa.num_arcs() + 2);
                arcs.push(Arc::new(0, 1, start, 0.0));
                arcs.extend(fsa.arcs().iter().map(|&Arc { src_state, dest_state, label, score }| {
                    Arc::new(src_state + 1, dest_state + 1, if label == FINAL { end } else { label }, score)
                }));
                arcs.push(Arc::new(before_last, before_last + 1, FINAL, 0.0));
                Error::fit(Quantity::States, fsa.num_states() + 2)?;
                sort(&mut arcs, fsa.num_states() + 1);
                Ok(Graph::new(Fsa::from_arcs(fsa.num_states() + 2, arcs)?))
            }
        }
    }

    fn check_label(&self, label: i32) -> Result<(), Error> {
        if label <= EPSILON || self.has_word(label) {
            return Err(Error::Symbol { position: 0, symbol: label, least: 1 });
        }
        Ok(())
    }
}

/// Sorts arcs by the states that they leave, then by [`Arc::sort_key`].
fn sort(arcs: &mut Vec<Arc>, num_states: usize) {
    let by_source = Adjacency::new(num_states, arcs.iter().map(|arc| arc.states().0));
    let mut sorted: Vec<_> = by_source.order().iter().map(|&arc| arcs[arc as usize]).collect();
    (0..num_states).for_each(|state| sorted[by_source.range(state)].sort_by_key(Arc::sort_key));
    *arcs = sorted;
}

/// Returns `true` if there are n-grams of the words of a node and one more.
fn extended(view: View<'_>, node: u32) -> bool {
    !view.inner(node).1.is_empty()
}

/// Returns the natural logarithm, as arcs have it.
fn natural(log10: f64) -> f32 {
    narrow(log10 * std::f64::consts::LN_10)
}
