//! FSAs that accept one string.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{self, SortedFsaBuilder};
use crate::core::fsa::{Fsa, FsaVec, Fsas};
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::k2::flat::{Flat, check_lists, check_symbols};
use crate::support::ids::id;

/// Returns the FSA that accepts `labels`: one state more than labels, and the final one; all scores
/// are 0.
///
/// ```
/// let fsa = fsa::k2::linear_fsa(&[7, 8])?;
/// assert_eq!((fsa.num_states(), fsa.labels()), (4, vec![7, 8, -1]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Symbol`] for a label below 0; [`Error::TooLarge`].
pub fn linear_fsa(labels: &[i32]) -> Result<Fsa, Error> {
    Ok(Fsa::single(linear([labels].into_iter(), labels)?))
}

/// Calls [`linear_fsa`] for each list. O(labels).
///
/// # Errors
/// [`Error::Symbol`] for a label below 0; [`Error::Axes`] if there are not two axes;
/// [`Error::TooLarge`].
#[doc(alias = "linear_fsa")]
pub fn linear_fsas(labels: &Ragged<i32>) -> Result<FsaVec, Error> {
    check_lists(labels)?;
    linear(labels.rows(), labels.values())
}

/// Returns the transducer that accepts `labels` and outputs for each the label at the same index of
/// `aux_labels`.
///
/// # Errors
/// [`Error::Symbol`] for a label below 0; [`Error::Size`] if the numbers of labels differ;
/// [`Error::TooLarge`].
pub fn linear_fst(labels: &[i32], aux_labels: &[i32]) -> Result<Graph<Fsa>, Error> {
    Error::same_size(Quantity::AuxLabels, labels.len(), aux_labels.len())?;
    let mut aux_labels = aux_labels.to_vec();
    aux_labels.push(FINAL);
    Graph::new(linear_fsa(labels)?).with_aux_labels(aux_labels)
}

/// Calls [`linear_fst`] for each pair of lists. O(labels).
///
/// # Errors
/// As [`linear_fst`]; [`Error::Axes`] if there are not two axes.
#[doc(alias = "linear_fst")]
pub fn linear_fsts(labels: &Ragged<i32>, aux_labels: &Ragged<i32>) -> Result<Graph<FsaVec>, Error> {
    check_lists(aux_labels)?;
    let fsas = linear_fsas(labels)?;
    Error::same_size(Quantity::AuxLabelLists, labels.num_rows(), aux_labels.num_rows())?;
    let mut all = Vec::with_capacity(fsas.num_arcs());
    for (labels, aux_labels) in labels.rows().zip(aux_labels.rows()) {
        Error::same_size(Quantity::AuxLabels, labels.len(), aux_labels.len())?;
        all.extend_from_slice(aux_labels);
        all.push(FINAL);
    }
    Graph::new(fsas).with_aux_labels(all)
}

fn linear<'a>(lists: impl ExactSizeIterator<Item = &'a [i32]>, all: &[i32]) -> Result<FsaVec, Error> {
    check_symbols(all, 0)?;
    let num_arcs = all.len() + lists.len();
    let mut flat = Flat::with_capacity(lists.len(), num_arcs + lists.len(), num_arcs)?;
    for labels in lists {
        for (state, label) in (0..).zip(labels.iter().copied().chain([FINAL])) {
            flat.arc(Arc::new(state, state + 1, label, 0.0));
            flat.end_state();
        }
        flat.end_fsa();
    }
    Ok(flat.finish()?.0)
}

/// Puts an epsilon self-loop of score 0 before the arc of each state of linear FSAs, so that they
/// can be intersected with FSAs whose epsilons are ordinary symbols. Returns the arc map too.
/// O(arcs).
///
/// ```
/// use fsa::Graph;
/// use fsa::k2::{linear_fst, with_self_loops};
///
/// let word = linear_fst(&[7], &[70])?;
/// let looped = word.carry(with_self_loops(word.fsas())?)?;
/// assert_eq!(
///     (looped.fsas().labels(), looped.aux_labels().unwrap()),
///     (vec![0, 7, 0, -1], &[0, 70, 0, -1][..])
/// );
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotLinear`] if a state does not have exactly one arc, to the next state;
/// [`Error::TooLarge`].
#[doc(alias = "linear_fsa_with_self_loops")]
#[doc(alias = "linear_fst_with_self_loops")]
#[doc(alias = "LinearFsaWithSelfLoops")]
pub fn with_self_loops<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = builder::map_arcs(fsas.as_fsa_vec(), |i, fsa| {
        let arcs = fsa.arcs();
        let next = |arc: &Arc| arc.dest_state == arc.src_state + 1;
        if let Some(state) = (1..fsa.num_states()).find(|&s| !matches!(fsa.arcs_of(s - 1), [arc] if next(arc))) {
            return Err(Error::NotLinear { fsa: i, state: state - 1 });
        }
        let mut builder =
            SortedFsaBuilder { ends: Vec::with_capacity(fsa.num_states()), arcs: Vec::with_capacity(2 * arcs.len()) };
        let mut map = Vec::with_capacity(2 * arcs.len());
        for (at, arc) in arcs.iter().enumerate() {
            builder.arcs.extend([Arc::new(arc.src_state, arc.src_state, EPSILON, 0.0), *arc]);
            builder.end_state();
            map.extend([-1, id(at)]);
        }
        if fsa.num_states() > 0 {
            builder.end_state();
        }
        Ok((builder, map))
    })?;
    Ok((fsas.same_kind(made), map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_fsas_of_any_length() {
        let labels = Ragged::from_lists(&[vec![3, 1], vec![], vec![0]]).unwrap();
        let fsas = linear_fsas(&labels).unwrap();
        assert_eq!(fsas.labels(), [3, 1, -1, -1, 0, -1]);
        assert_eq!(fsas.get(1).unwrap(), linear_fsa(&[]).unwrap());
        let none = Ragged::from_lists(&[] as &[Vec<i32>]).unwrap();
        assert_eq!(linear_fsas(&none).unwrap().num_fsas(), 0);
        let aux = Ragged::from_lists(&[vec![30, 10], vec![], vec![5]]).unwrap();
        assert_eq!(linear_fsts(&labels, &aux).unwrap().aux_labels().unwrap(), [30, 10, -1, -1, 5, -1]);
        assert!(linear_fsts(&labels, &labels.map(|_| 1)).is_ok());
        assert!(linear_fsts(&labels, &Ragged::from_lists(&[vec![1], vec![1], vec![1]]).unwrap()).is_err());
    }

    #[test]
    fn what_is_no_label_or_not_linear_is_refused() {
        assert_eq!(linear_fsa(&[1, -1]), Err(Error::Symbol { position: 1, symbol: -1, least: 0 }));
        assert!(matches!(linear_fst(&[1], &[]), Err(Error::Size { .. })));
        let loops = Fsa::from_arcs(2, vec![Arc::new(0, 0, 1, 0.0), Arc::new(0, 1, -1, 0.0)]).unwrap();
        assert_eq!(with_self_loops(&loops).unwrap_err(), Error::NotLinear { fsa: 0, state: 0 });
        let no_arcs = Fsa::from_arcs(2, vec![]).unwrap();
        assert_eq!(with_self_loops(&no_arcs).unwrap_err(), Error::NotLinear { fsa: 0, state: 0 });
        let empty = FsaVec::from_fsas(&[Fsa::empty(), linear_fsa(&[4]).unwrap()]).unwrap();
        let (looped, map) = with_self_loops(&empty).unwrap();
        assert_eq!((looped.labels(), map), (vec![0, 4, 0, -1], vec![-1, 0, -1, 1]));
    }
}
