//! Graphs for CTC: the topology over all tokens, the graph of one transcript, and the identity.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::{Fsa, FsaVec};
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::k2::flat::{Flat, check_lists, check_symbols};
use crate::support::ids::{id, index};

/// Returns the topology of CTC over the tokens `1..=max_token`: it takes a token or blank (0) for
/// each frame, and outputs each token once.
///
/// State `i` is "the last frame had token `i`", state 0 "it had a blank". In the standard topology
/// all are connected, so that it has `(max_token + 1) * (max_token + 2)` arcs; the `modified` one
/// has `4 * max_token + 2`, and does not require a blank between two equal tokens. O(arcs).
///
/// ```
/// let topology = fsa::graphs::ctc_topo(3, false)?;
/// assert_eq!((topology.fsas().num_states(), topology.fsas().num_arcs()), (5, 20));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Limit`] if it needs more than half of the memory; [`Error::TooLarge`], which the
/// standard topology is from 46,340 tokens.
pub fn ctc_topo(max_token: usize, modified: bool) -> Result<Graph<Fsa>, Error> {
    let tokens = tokens(max_token)?;
    let (num_states, num_arcs) =
        (max_token + 2, if modified { 4 * max_token + 2 } else { (max_token + 1).saturating_mul(max_token + 2) });
    Error::fit(Quantity::Arcs, num_arcs)?;
    let bytes = num_arcs.saturating_mul(size_of::<Arc>() + size_of::<i32>());
    Limits::default().check(Operation::CtcTopology, bytes, num_states, num_arcs)?;
    let mut flat = Flat::with_capacity(1, num_states, num_arcs)?.transducers();
    if modified {
        modified_topo(&mut flat, tokens);
    } else {
        let mut aux_labels: Vec<i32> = (0..=tokens).chain([FINAL]).collect();
        for state in 0..=tokens {
            let arc_to = move |dest, label| Arc::new(state, dest, label, 0.0);
            let arcs = (0..=tokens).map(move |token| arc_to(token, token)).chain([arc_to(tokens + 1, FINAL)]);
            // A repeated token outputs nothing.
            aux_labels[index(state)] = EPSILON;
            flat.arcs_with(arcs, aux_labels.iter().copied());
            aux_labels[index(state)] = state;
            flat.end_state();
        }
    }
    flat.end_fsa();
    single(flat)
}

/// Writes a topology with a state for each token, which only that token leaves.
fn modified_topo(flat: &mut Flat, tokens: i32) {
    let arc = |src, dest, label| Arc::new(src, dest, label, 0.0);
    flat.arc_with(arc(0, 0, EPSILON), EPSILON);
    flat.arcs_with((1..=tokens).map(|token| arc(0, 0, token)), 1..=tokens);
    flat.arcs_with((1..=tokens).map(|token| arc(0, token, token)), 1..=tokens);
    flat.arc_with(arc(0, tokens + 1, FINAL), FINAL);
    flat.end_state();
    for token in 1..=tokens {
        flat.arc_with(arc(token, token, token), EPSILON);
        flat.arc_with(arc(token, 0, token), EPSILON);
        flat.end_state();
    }
}

/// Returns for each list of symbols the graph of all its CTC alignments: blanks between and around
/// symbols, symbols repeated. O(symbols).
///
/// Between two equal symbols there must be a blank, except in the `modified` graph. A list of n
/// symbols gives `2 n + 2` states.
///
/// ```
/// use ragged_core::Ragged;
///
/// let graph = fsa::graphs::ctc_graph(&Ragged::from_lists(&[vec![5], vec![]])?, false)?;
/// assert_eq!((graph.fsas().fsa(0).num_states(), graph.fsas().fsa(0).arcs().len()), (4, 7));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Symbol`] for a symbol below 0; [`Error::Axes`] if there are not two axes;
/// [`Error::TooLarge`].
pub fn ctc_graph(symbols: &Ragged<i32>, modified: bool) -> Result<Graph<FsaVec>, Error> {
    check_lists(symbols)?;
    check_symbols(symbols.values(), 0)?;
    let num_states = 2 * (symbols.num_elements() + symbols.num_rows());
    let most_arcs = 5 * symbols.num_elements() + 2 * symbols.num_rows();
    let mut flat = Flat::with_capacity(symbols.num_rows(), num_states, most_arcs)?.transducers();
    let arc = |src, dest, label| Arc::new(src, dest, label, 0.0);
    for symbols in symbols.rows() {
        let mut blank = 0;
        for (i, &symbol) in symbols.iter().enumerate() {
            flat.arc_with(arc(blank, blank, EPSILON), EPSILON);
            flat.arc_with(arc(blank, blank + 1, symbol), symbol);
            flat.end_state();
            flat.arc_with(arc(blank + 1, blank + 2, EPSILON), EPSILON);
            flat.arc_with(arc(blank + 1, blank + 1, symbol), EPSILON);
            let next = symbols.get(i + 1).copied().unwrap_or(FINAL);
            if modified || next != symbol {
                flat.arc_with(arc(blank + 1, blank + 3, next), next);
            }
            flat.end_state();
            blank += 2;
        }
        flat.arc_with(arc(blank, blank, EPSILON), EPSILON);
        flat.arc_with(arc(blank, blank + 1, FINAL), FINAL);
        flat.end_state();
        flat.end_fsa();
    }
    let (fsas, aux_labels) = flat.finish()?;
    Graph::new(fsas).with_aux_labels(aux_labels)
}

/// Returns the identity over all strings of the tokens `1..=max_token`: one state with a self-loop
/// for each, and the final one. O(`max_token`).
///
/// # Errors
/// [`Error::TooLarge`]; [`Error::Limit`] if it needs more than half of the memory.
pub fn trivial_graph(max_token: usize) -> Result<Graph<Fsa>, Error> {
    let tokens = tokens(max_token)?;
    let bytes = (max_token + 1).saturating_mul(size_of::<Arc>() + size_of::<i32>());
    Limits::default().check(Operation::TrivialGraph, bytes, 2, max_token + 1)?;
    let mut flat = Flat::with_capacity(1, 2, max_token + 1)?.transducers();
    flat.arcs_with((1..=tokens).map(|token| Arc::new(0, 0, token, 0.0)), 1..=tokens);
    flat.arc_with(Arc::new(0, 1, FINAL, 0.0), FINAL);
    flat.end_state();
    flat.end_fsa();
    single(flat)
}

/// Returns a number of tokens that is small enough for states and arcs to be counted.
fn tokens(max_token: usize) -> Result<i32, Error> {
    Error::fit(Quantity::Arcs, max_token.saturating_mul(4).saturating_add(2))?;
    Ok(id(max_token))
}

fn single(flat: Flat) -> Result<Graph<Fsa>, Error> {
    let (fsas, aux_labels) = flat.finish()?;
    Graph::new(Fsa::single(fsas)).with_aux_labels(aux_labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_k2() {
        for tokens in [0, 1, 2, 17] {
            let standard = ctc_topo(tokens, false).unwrap();
            assert_eq!(standard.fsas().num_arcs(), (tokens + 1) * (tokens + 2));
            assert_eq!(standard.fsas().properties().bits(), if tokens > 0 { 435 } else { 439 });
            let modified = ctc_topo(tokens, true).unwrap();
            assert_eq!((modified.fsas().num_states(), modified.fsas().num_arcs()), (tokens + 2, 4 * tokens + 2));
            assert_eq!(trivial_graph(tokens).unwrap().fsas().num_arcs(), tokens + 1);
        }
        assert!(matches!(ctc_topo(50_000, false), Err(Error::TooLarge { .. })));
        assert!(matches!(ctc_topo(usize::MAX, true), Err(Error::TooLarge { .. })));
        assert!(matches!(trivial_graph(usize::MAX), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_blank_stands_between_equal_symbols() {
        let symbols = Ragged::from_lists(&[vec![2, 2]]).unwrap();
        let count = |modified| ctc_graph(&symbols, modified).unwrap().fsas().num_arcs();
        assert_eq!((count(false), count(true)), (11, 12));
        assert!(ctc_graph(&symbols.map(|_| -1), false).is_err());
    }
}
