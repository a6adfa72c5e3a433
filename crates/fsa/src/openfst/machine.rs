//! Inputs and outputs of the algorithms: an acceptor or a transducer, one at a time.

use crate::core::arc::{EPSILON, FINAL};
use crate::core::attributes::Attribute;
use crate::core::builder::{self, SortedFsaBuilder};
use crate::core::fsa::Fsas;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::view::FsaView;
use crate::error::{AttributeProblem, Error};

/// One FSA with the labels that its arcs output, if it is a transducer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine<'a> {
    pub fsa: FsaView<'a>,
    /// Output label of each arc of `fsa`.
    pub aux: Option<&'a [i32]>,
}

impl<'a> Machine<'a> {
    fn new(fsa: FsaView<'a>, all_aux: Option<&'a [i32]>) -> Self {
        let first = fsa.first_arc();
        Self { fsa, aux: all_aux.map(|aux| &aux[first..first + fsa.arcs().len()]) }
    }

    /// Returns the output label of an arc; 0 if there is none.
    #[inline]
    pub(super) fn output(&self, arc: usize) -> i32 {
        self.aux.map_or(EPSILON, |aux| aux[arc].max(EPSILON))
    }

    /// Returns `true` if the output label of every arc is its input label, which makes it an
    /// acceptor.
    fn repeats_itself(&self) -> bool {
        self.aux.is_some_and(|aux| {
            self.fsa
                .arcs()
                .iter()
                .zip(aux)
                .all(|(arc, &aux)| aux == arc.label || (arc.label == FINAL && aux <= EPSILON))
        })
    }
}

/// An FSA that was built: its arcs and their output labels.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub builder: SortedFsaBuilder,
    /// Output label of each arc, if it is a transducer.
    pub aux: Option<Vec<i32>>,
}

/// Applies `run` to each FSA and its output labels.
///
/// # Errors
/// [`Error::LostAttribute`] if there are other attributes; [`Error::Attribute`] if the output
/// labels are lists; errors of `run`.
pub(super) fn map_each<F: Fsas>(
    graph: &Graph<F>,
    run: impl Fn(usize, Machine<'_>) -> Result<Built, Error> + Sync,
) -> Result<Graph<F>, Error> {
    let all_aux = only_aux_labels(graph)?;
    let vec = graph.fsas().as_fsa_vec();
    let (made, aux) = builder::map_fsas(vec, |i, fsa| {
        let mut machine = Machine::new(fsa, all_aux);
        let repeats_itself = machine.repeats_itself();
        if repeats_itself {
            machine.aux = None;
        }
        let mut made = run(i, machine)?;
        if repeats_itself {
            made.aux = Some(made.builder.arcs.iter().map(|arc| arc.label).collect());
        }
        debug_assert!(made.aux.as_ref().is_none_or(|aux| aux.len() == made.builder.arcs.len()));
        Ok((made.builder, made.aux.unwrap_or_default()))
    })?;
    let graph = Graph::new(graph.fsas().same_kind(made)).with_graph_labels(graph.graph_labels());
    if all_aux.is_some() { graph.with_aux_labels(builder::flatten(aux)) } else { Ok(graph) }
}

/// Returns the output labels, if there are any; other attributes are not allowed.
///
/// # Errors
/// [`Error::LostAttribute`]; [`Error::Attribute`] if they are lists.
pub(super) fn only_aux_labels<F: Fsas>(graph: &Graph<F>) -> Result<Option<&[i32]>, Error> {
    match graph.attributes().iter().find(|(name, _)| *name != AUX_LABELS) {
        Some((name, _)) => Err(Error::LostAttribute { name: name.clone() }),
        None => aux_labels(graph),
    }
}

/// Returns the output labels, if there are any.
///
/// # Errors
/// [`Error::Attribute`] if they are lists.
pub(super) fn aux_labels<F: Fsas>(graph: &Graph<F>) -> Result<Option<&[i32]>, Error> {
    match graph.attributes().get(AUX_LABELS) {
        None => Ok(None),
        Some(Attribute::Ints { values, .. }) => Ok(Some(values)),
        Some(_) => Err(Error::Attribute { problem: AttributeProblem::AuxLabelLists }),
    }
}
