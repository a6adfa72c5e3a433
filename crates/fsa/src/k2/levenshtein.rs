//! Graphs whose intersection gives edit distances.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::FsaVec;
use crate::core::graph::Graph;
use crate::error::Error;
use crate::k2::flat::{Flat, check_lists, check_symbols};

/// Name of the attribute of [`levenshtein_graph`] that holds the difference of the score of each
/// arc from the score of an edit distance.
#[doc(alias = "__ins_del_score_offset_internal_attr_")]
pub const INS_DEL_SCORE_OFFSET: &str = "__ins_del_score_offset_internal_attr_";

/// Returns for each list the graph of all strings and their edits: the best path of the
/// intersection with another such graph, in which epsilons are ordinary symbols, has minus the edit
/// distance of the two lists as its score. O(symbols).
///
/// Substitution has the score -0.5 on either side; insertion and deletion are a self-loop with
/// `ins_del_score` on one side (k2 takes -0.501) against the substitution's arc on the other, so
/// that alignments prefer substitutions. The attribute [`INS_DEL_SCORE_OFFSET`] holds the resulting
/// difference from the distance, `ins_del_score + 0.5` on each self-loop.
///
/// ```
/// use ragged_core::Ragged;
///
/// let graph = fsa::k2::levenshtein_graph(&Ragged::from_lists(&[vec![5]])?, -0.501)?;
/// assert_eq!(
///     (graph.fsas().labels(), graph.aux_labels().unwrap()),
///     (vec![0, 0, 5, 0, -1], &[0, 5, 5, 0, -1][..])
/// );
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Symbol`] for a symbol below 0; [`Error::Axes`] if there are not two axes;
/// [`Error::Score`] for a score that is not a number; [`Error::TooLarge`].
pub fn levenshtein_graph(symbols: &Ragged<i32>, ins_del_score: f32) -> Result<Graph<FsaVec>, Error> {
    check_lists(symbols)?;
    check_symbols(symbols.values(), 0)?;
    if !ins_del_score.is_finite() {
        return Err(Error::Score { arc: 0, score: ins_del_score });
    }
    let (elements, rows) = (symbols.num_elements(), symbols.num_rows());
    let mut flat = Flat::with_capacity(rows, elements + 2 * rows, 3 * elements + 2 * rows)?.transducers();
    for symbols in symbols.rows() {
        let mut state = 0;
        for &symbol in symbols {
            flat.arc_with(Arc::new(state, state, EPSILON, ins_del_score), EPSILON);
            flat.arc_with(Arc::new(state, state + 1, EPSILON, -0.5), symbol);
            flat.arc_with(Arc::new(state, state + 1, symbol, 0.0), symbol);
            flat.end_state();
            state += 1;
        }
        flat.arc_with(Arc::new(state, state, EPSILON, ins_del_score), EPSILON);
        flat.arc_with(Arc::new(state, state + 1, FINAL, 0.0), FINAL);
        flat.end_state();
        flat.end_fsa();
    }
    let (fsas, aux_labels) = flat.finish()?;
    let offset = |arc: &Arc| if arc.src_state == arc.dest_state { ins_del_score + 0.5 } else { 0.0 };
    let offsets: Vec<f32> = fsas.arcs().iter().map(offset).collect();
    Graph::new(fsas).with_aux_labels(aux_labels)?.with(INS_DEL_SCORE_OFFSET, offsets)
}
