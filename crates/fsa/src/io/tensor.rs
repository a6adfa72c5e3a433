//! FSAs as plain arrays, which k2 uses in files.

use std::collections::BTreeMap;

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::{Arc, FINAL};
use crate::core::attributes::Attribute;
use crate::core::fsa::{Fsa, FsaOrVec, FsaVec, Fsas};
use crate::core::graph::Graph;
use crate::error::{AttributeProblem, Error, Quantity, TensorProblem};
use crate::support::ids::index;

/// Key of the arcs in a [`Dict`].
pub const ARCS: &str = "arcs";

/// Number of states that is plausible for any array.
const FEW_STATES: usize = 1 << 16;

/// Returns an FSA as an array of the shape `[arcs, 4]`: source, destination, label, and the bits of
/// the score.
///
/// States above the highest one that an arc refers to are lost.
#[doc(alias = "FsaToTensor")]
pub fn fsa_to_tensor(fsa: &Fsa) -> Vec<[i32; 4]> {
    fsa.arcs().iter().map(row).collect()
}

/// Returns the FSA of an array that [`fsa_to_tensor`] or k2 made. The final state is the one that
/// arcs with label -1 enter; if there are none, the one after the highest that an arc refers to. No
/// arcs are the FSA without states.
///
/// Errors of [`Error`] about single arcs and states; [`Error::Tensor`] for impossible states.
#[doc(alias = "FsaFromTensor")]
pub fn fsa_from_tensor(rows: &[[i32; 4]]) -> Result<Fsa, Error> {
    let arcs: Vec<Arc> = rows.iter().map(arc).collect();
    let last = match arcs.iter().find(|arc| arc.label == FINAL) {
        Some(arc) => arc.dest_state,
        None => match arcs.iter().map(|arc| arc.src_state.max(arc.dest_state)).max() {
            None => return Ok(Fsa::empty()),
            Some(highest) => highest.saturating_add(1),
        },
    };
    let num_states = usize::try_from(last).map_err(|_| Error::Tensor { problem: TensorProblem::NegativeState })? + 1;
    believe(num_states, 4 * rows.len())?;
    Fsa::from_arcs(num_states, arcs)
}

/// Returns FSAs as an array of one axis: their number, 0, the row splits of the states of each FSA,
/// the row splits of the arcs of each FSA, and the arcs as in [`fsa_to_tensor`].
///
/// ```
/// use fsa::io::{fsa_vec_from_tensor, fsa_vec_to_tensor};
///
/// let fsas = fsa::k2::linear_fsa(&[7])?.into_vec();
/// let tensor = fsa_vec_to_tensor(&fsas)?;
/// assert_eq!(tensor, [1, 0, 0, 3, 0, 2, 0, 1, 7, 0, 1, 2, -1, 0]);
/// assert_eq!(fsa_vec_from_tensor(&tensor)?, fsas);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "FsaVecToTensor")]
pub fn fsa_vec_to_tensor(fsas: &FsaVec) -> Result<Vec<i32>, Error> {
    let states: &[i32] = fsas.shape().row_splits(1).as_ref();
    let arc_splits: &[i32] = fsas.shape().row_splits(2).as_ref();
    let mut tensor = Vec::with_capacity(2 + 2 * states.len() + 4 * fsas.num_arcs());
    tensor.extend([Error::fit(Quantity::Fsas, fsas.num_fsas())?, 0]);
    tensor.extend_from_slice(states);
    tensor.extend(states.iter().map(|&state| arc_splits[index(state)]));
    tensor.extend(fsas.arcs().iter().flat_map(row));
    Ok(tensor)
}

/// Returns the FSAs of an array that [`fsa_vec_to_tensor`] or k2 made.
///
/// # Errors
/// [`Error::Tensor`] if the array is not valid, and errors of [`Error`] about single arcs and
/// states.
#[doc(alias = "FsaVecFromTensor")]
pub fn fsa_vec_from_tensor(tensor: &[i32]) -> Result<FsaVec, Error> {
    let short = Error::Tensor { problem: TensorProblem::TooShort };
    let &[num_fsas, _, ref rest @ ..] = tensor else { return Err(short) };
    let len = usize::try_from(num_fsas).ok().and_then(|n| n.checked_add(1)).ok_or_else(|| short.clone())?;
    if rest.len() / 2 < len {
        return Err(short);
    }
    let (states, rest) = rest.split_at(len);
    let (ends, rest) = rest.split_at(len);
    let (states, ends) = (RowSplits::new(states.to_vec())?, RowSplits::new(ends.to_vec())?);
    let (rows, odd) = rest.as_chunks::<4>();
    if !odd.is_empty() || rows.len() != ends.num_elements() {
        return Err(Error::Tensor { problem: TensorProblem::ArcCount });
    }
    believe(states.num_elements(), tensor.len())?;
    let arcs: Vec<Arc> = rows.iter().map(arc).collect();
    let mut row_ids = Vec::with_capacity(arcs.len());
    for (fsa, (states, range)) in states.rows().zip(ends.rows()).enumerate() {
        for (arc, it) in arcs[range].iter().enumerate() {
            let source = usize::try_from(it.src_state).ok().filter(|&state| state < states.len());
            let num_states = states.len();
            let source = source.ok_or(Error::DestState { fsa, arc, found: it.src_state, num_states })?;
            row_ids.push(Error::fit(Quantity::States, states.start + source)?);
        }
    }
    let arc_splits = RowSplits::from_row_ids(&row_ids, states.num_elements())?;
    FsaVec::new(Ragged::new(RaggedShape::new([states, arc_splits])?, arcs)?)
}

fn row(arc: &Arc) -> [i32; 4] {
    [arc.src_state, arc.dest_state, arc.label, arc.score.to_bits().cast_signed()]
}

fn arc(&[src_state, dest_state, label, score]: &[i32; 4]) -> Arc {
    Arc::new(src_state, dest_state, label, f32::from_bits(score.cast_unsigned()))
}

/// Checks that the number of states is plausible: an array has more numbers than states, if each
/// state can be reached.
fn believe(num_states: usize, len: usize) -> Result<(), Error> {
    if num_states <= len.max(FEW_STATES) {
        Ok(())
    } else {
        Err(Error::Tensor { problem: TensorProblem::MissingStates })
    }
}

/// One entry of a [`Dict`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// An array of the shape `[rows, 4]`.
    Rows(Vec<[i32; 4]>),
    /// An array of integers.
    Ints(Vec<i32>),
    /// An array of floating-point numbers.
    Floats(Vec<f32>),
    /// Lists.
    Lists(Ragged<i32>),
}

/// FSAs with their attributes as arrays by name, as k2's `as_dict` gives them to PyTorch: the arcs
/// under [`ARCS`], with two axes for an FSA and one for a vector, and each attribute under its
/// name, without fillers.
pub type Dict = BTreeMap<String, Entry>;

/// Returns the arrays of FSAs with their attributes. O(arcs + attributes).
///
/// # Errors
/// [`Error::TooLarge`]; [`Error::Attribute`] if an attribute is called `arcs`.
#[doc(alias = "as_dict")]
pub fn to_dict<F: Fsas>(graph: &Graph<F>) -> Result<Dict, Error> {
    let fsas = graph.fsas().as_fsa_vec();
    let arcs = if graph.fsas().is_single() {
        Entry::Rows(fsas.arcs().iter().map(row).collect())
    } else {
        Entry::Ints(fsa_vec_to_tensor(fsas)?)
    };
    let mut dict = Dict::new();
    for (name, attribute) in graph.attributes().iter() {
        let entry = match attribute {
            Attribute::Ints { values, .. } => Entry::Ints(values.to_vec()),
            Attribute::Floats { values, .. } => Entry::Floats(values.to_vec()),
            Attribute::Lists(lists) => Entry::Lists(lists.clone()),
        };
        dict.insert(name.clone(), entry);
    }
    match dict.insert(ARCS.to_owned(), arcs) {
        None => Ok(dict),
        Some(_) => Err(Error::Attribute { problem: AttributeProblem::NamedArcs }),
    }
}

/// Returns the FSAs of arrays that [`to_dict`] or k2 made.
///
/// # Errors
/// [`Error::Tensor`] if there are no arcs; errors of [`fsa_from_tensor`] and
/// [`fsa_vec_from_tensor`]; [`Error::Size`] if an attribute does not have one entry for each arc.
pub fn from_dict(mut dict: Dict) -> Result<Graph<FsaOrVec>, Error> {
    let fsas = match dict.remove(ARCS) {
        Some(Entry::Rows(rows)) => FsaOrVec::Fsa(fsa_from_tensor(&rows)?),
        Some(Entry::Ints(tensor)) => FsaOrVec::FsaVec(fsa_vec_from_tensor(&tensor)?),
        _ => return Err(Error::Tensor { problem: TensorProblem::NoArcs }),
    };
    let mut graph = Graph::new(fsas);
    for (name, entry) in dict {
        graph = match entry {
            Entry::Ints(values) => graph.with(&name, values)?,
            Entry::Floats(values) => graph.with(&name, values)?,
            Entry::Lists(lists) => graph.with(&name, lists)?,
            Entry::Rows(_) => return Err(Error::Tensor { problem: TensorProblem::AttributeAxes }),
        };
    }
    Ok(graph)
}
