//! Usual sequence of operations to make an FSA as small as possible.

use crate::core::arc::FINAL;
use crate::core::each_fsa;
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::error::Error;
use crate::k2::{connect, remove_epsilon};
use crate::openfst::determinize::{DeterminizeOptions, determinize};
use crate::openfst::encode::encode;
use crate::openfst::machine::only_aux_labels;
use crate::openfst::minimize::{MinimizeOptions, minimize};
use crate::openfst::trim::trim;

/// Returns equivalent FSAs without epsilons, deterministic and minimal.
///
/// For a transducer, label and output label together count as one symbol, so every transducer is
/// accepted; it becomes deterministic in these pairs, and minimal except for labels that could be
/// earlier or later. For FSAs with cycles and scores that are not deterministic yet, the score
/// becomes part of the symbol as well, as determinization might not end otherwise: the result has
/// no two arcs of a state with the same label and score. Thrax and `fstoptimize` do the same.
///
/// # Errors
/// The errors of [`remove_epsilon`], [`determinize`] and [`minimize`].
#[doc(alias = "fstoptimize")]
pub fn optimize<F: Fsas>(graph: &Graph<F>) -> Result<Graph<F>, Error> {
    if only_aux_labels(graph)?.is_some() {
        let (pairs, encoder) = encode(graph, false)?;
        return encoder.decode(&optimize_acceptors(&pairs)?);
    }
    Ok(Graph::new(optimize_acceptors(graph.fsas())?).with_graph_labels(graph.graph_labels()))
}

fn optimize_acceptors<F: Fsas>(fsas: &F) -> Result<F, Error> {
    let fsas = connect(&remove_epsilon(&connect(fsas)?.0)?.0)?.0;
    let safe = each_fsa::for_each(fsas.as_fsa_vec(), |_, fsa| {
        Ok(is_deterministic(fsa) || trim(fsa).acyclic || !is_weighted(fsa))
    })?;
    if safe.into_iter().all(|safe| safe) {
        return minimal(&Graph::new(fsas));
    }
    let (symbols, encoder) = encode(&Graph::new(fsas), true)?;
    Ok(encoder.decode(&minimal(&Graph::new(symbols))?)?.into_parts().0)
}

fn minimal<F: Fsas>(graph: &Graph<F>) -> Result<F, Error> {
    let determinized = determinize(graph, &DeterminizeOptions::default())?;
    Ok(minimize(&determinized, &MinimizeOptions::default())?.into_parts().0)
}

fn is_weighted(fsa: crate::core::view::FsaView<'_>) -> bool {
    fsa.arcs().iter().any(|arc| arc.score != 0.0)
}

fn is_deterministic(fsa: crate::core::view::FsaView<'_>) -> bool {
    (0..fsa.num_states()).all(|state| {
        let mut labels: Vec<_> = fsa.arcs_of(state).iter().map(|arc| arc.label).collect();
        labels.sort_unstable();
        labels.windows(2).all(|pair| pair[0] != pair[1] || pair[0] == FINAL)
    })
}
