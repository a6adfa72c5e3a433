//! Composition: the output labels of one transducer are the input labels of the next.

use kaldera_base::setters;

use crate::core::arc::Arc;
use crate::core::attributes::{Attribute, Attributes};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::limits::Limits;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::k2::first_labels::FirstLabels;
use crate::k2::intersect::{IntersectOptions, intersect_by, intersect_pair};
use crate::k2::meeting::Epsilons;
use crate::k2::{fix_final_labels, invert};
use crate::support::ids::id;

/// Options of [`compose`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ComposeOptions {
    /// The meaning of label 0 in the composition.
    pub epsilons: Epsilons,
    /// Name of an attribute for the matched labels; `None` drops them.
    pub inner_labels: Option<String>,
    /// Leave out a state if none of the labels that can come next in the first graph is one of the
    /// second, or 0, after which any label may come. That leaves out most states that lead nowhere
    /// if the first graph outputs its labels late, as a determinized lexicon does. The limits
    /// include the data for it.
    #[doc(alias = "LookAheadComposeFilter")]
    pub look_ahead: bool,
    /// The largest size of one FSA of the result with its arc maps; by default there is none.
    pub limits: Limits,
}

setters! {
    ComposeOptions:
    epsilons, with_epsilons: Epsilons, "With this meaning of label 0.";
    inner_labels, with_inner_labels: Option<String>, "With the matched labels as this attribute.";
    look_ahead, with_look_ahead: bool, "With look-ahead, or without.";
    limits, with_limits: Limits, "With these limits.";
}

/// Returns the transducer that reads with `a` and writes with `b`: the output labels of `a` match
/// the input labels of `b`, scores are added.
///
/// The result has the input labels of `a` and the output labels of `b`; if `b` is an acceptor, the
/// output labels are the matched labels. If `a` is an acceptor, its labels are its output labels.
/// Attributes of one side follow by its arc map; floating-point attributes with the same name on
/// both sides are added, others of the same name are left out. As for
/// [`intersect`](crate::k2::intersect()), states may lead nowhere, sorted arcs save work, and a
/// single FSA is composed with each of several.
///
/// # Errors
/// [`Error::Attribute`] if `a` outputs lists ([`invert`] makes single labels of them),
/// [`Error::Limit`], and as [`invert`] and [`intersect`](crate::k2::intersect()).
#[doc(alias = "Compose")]
pub fn compose<A: Fsas, B: Fsas>(
    a: &Graph<A>,
    b: &Graph<B>,
    options: &ComposeOptions,
) -> Result<Graph<A::With<B>>, Error> {
    let &ComposeOptions { epsilons, look_ahead, limits, .. } = options;
    let (met, map_a, map_b) = intersect_by(&output_acceptor(a)?, b.fsas(), |a, b| {
        if !look_ahead {
            return intersect_pair(a, b, IntersectOptions { epsilons, limits }, |_| true);
        }
        let ahead = FirstLabels::new(a, b, epsilons, limits)?;
        let limits = limits.with_max_bytes(limits.bytes().saturating_sub(ahead.bytes()));
        intersect_pair(a, b, IntersectOptions { epsilons, limits }, |pair| ahead.may_meet(pair, b, epsilons))
    })?;
    composed(a, b, met, &map_a, &map_b, options.inner_labels.as_deref())
}

/// Returns the acceptors of the output labels.
fn output_acceptor<F: Fsas>(graph: &Graph<F>) -> Result<F, Error> {
    match graph.attributes().get(AUX_LABELS) {
        None => Ok(graph.fsas().clone()),
        Some(Attribute::Ints { .. }) => Ok(invert(graph)?.0.into_parts().0),
        _ => Err(Error::Attribute { problem: AttributeProblem::FirstAuxLabels }),
    }
}

/// Returns the composition of `a` and `b`, given the result in which the output labels of `a` have
/// `met` the input labels of `b`.
fn composed<A: Fsas, B: Fsas, C: Fsas>(
    a: &Graph<A>,
    b: &Graph<B>,
    met: C,
    map_a: &[i32],
    map_b: &[i32],
    inner_labels: Option<&str>,
) -> Result<Graph<C>, Error> {
    let inner = met.as_fsa_vec().labels();
    let label_of_a = |&arc: &i32| usize::try_from(arc).map_or(0, |arc| a.fsas().as_fsa_vec().arcs()[arc].label);
    let labels = map_a.iter().map(label_of_a);
    let arcs: Vec<_> = met.as_fsa_vec().arcs().iter().zip(labels).map(|(&arc, label)| Arc { label, ..arc }).collect();
    let made = met.same_kind(FsaVec::trusted(met.as_fsa_vec().as_ragged().with_values(arcs)?));
    drop(met);

    let mut attributes = merge(&without(a, AUX_LABELS), map_a, &without(b, AUX_LABELS), map_b)?;
    if let Some(name) = inner_labels {
        attributes.insert(name, inner.clone().into());
    }
    let aux_labels = match b.attributes().get(AUX_LABELS) {
        None => inner.into(),
        Some(aux_labels) => aux_labels.carry(map_b)?,
    };
    // Inner labels of this very name take its place.
    if inner_labels != Some(AUX_LABELS) {
        attributes.insert(AUX_LABELS, aux_labels);
    }
    Graph::from_parts(made, attributes)
}

fn without<F: Fsas>(graph: &Graph<F>, name: &str) -> Attributes {
    graph.clone().without(name).into_parts().1
}

/// Returns the attributes of arcs that come from arcs of two sides.
pub(crate) fn merge(a: &Attributes, map_a: &[i32], b: &Attributes, map_b: &[i32]) -> Result<Attributes, Error> {
    let mut merged = Attributes::default().with_graph_labels(a.graph_labels());
    for (name, attribute) in a.iter() {
        let carried = attribute.carry(map_a)?;
        match b.get(name) {
            None => merged.insert(name, carried),
            Some(other) => {
                if let (Attribute::Floats { values: a, filler }, Attribute::Floats { values: b, .. }) =
                    (carried, other.carry(map_b)?)
                {
                    let values = a.iter().zip(b.iter()).map(|(a, b)| a + b).collect::<Vec<_>>().into();
                    merged.insert(name, Attribute::Floats { values, filler });
                }
            }
        }
    }
    for (name, attribute) in b.iter().filter(|(name, _)| a.get(name).is_none()) {
        merged.insert(name, attribute.carry(map_b)?);
    }
    Ok(merged)
}

/// Returns the attributes of arcs that each come from one side only, or from none. Attributes with
/// the same name and different kinds are left out.
pub(crate) fn either<A: Fsas, B: Fsas>(
    a: &Graph<A>,
    map_a: &[i32],
    b: &Graph<B>,
    map_b: &[i32],
) -> Result<Attributes, Error> {
    let num_a = a.fsas().as_fsa_vec().num_arcs();
    Error::fit(Quantity::Arcs, num_a + b.fsas().as_fsa_vec().num_arcs())?;
    let of_both = map_a.iter().zip(map_b).map(|(&a, &b)| if a < 0 && b >= 0 { id(num_a) + b } else { a });
    let (a, b) = (a.attributes(), b.attributes());
    let mut made = Attributes::cat(&[a, b])?.carry(&of_both.collect::<Vec<_>>())?;
    for (side, map, other) in [(a, map_a, b), (b, map_b, a)] {
        for (name, attribute) in side.iter().filter(|(name, _)| other.get(name).is_none()) {
            made.insert(name, attribute.carry(map)?);
        }
    }
    Ok(made)
}

impl<F: Fsas> Graph<F> {
    /// Sets the output label -1 on final arcs only, after an algorithm that moved them.
    pub(crate) fn with_final_aux_labels(self) -> Result<Self, Error> {
        match self.aux_labels() {
            None => Ok(self),
            Some(labels) => {
                let fixed = fix_final_labels(self.fsas(), labels)?;
                self.with_aux_labels(fixed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ragged_core::Ragged;

    use super::*;
    use crate::core::fsa::Fsa;

    fn pair(label: i32, aux: i32) -> Graph<Fsa> {
        let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, label, 0.5), Arc::new(1, 2, -1, 0.0)]).unwrap();
        Graph::new(fsa).with_aux_labels(vec![aux, -1]).unwrap()
    }

    #[test]
    fn the_inner_labels_meet() {
        let a = pair(3, 5).with("cost", vec![0.5, 0.0]).unwrap().with("word", vec![7, 8]).unwrap();
        let b = pair(5, 9).with("cost", vec![0.25, 4.0]).unwrap().with("tone", vec![1, 2]).unwrap();
        let options = ComposeOptions { inner_labels: Some("inner".into()), ..Default::default() };
        let made = compose(&a, &b, &options).unwrap();
        assert_eq!((made.fsas().labels(), made.aux_labels()), (vec![3, -1], Some(&[9, -1][..])));
        assert_eq!(made.fsas().scores(), [1.0, 0.0]);
        let attribute = |name| made.attributes().get(name).cloned();
        assert_eq!(attribute("inner"), Some(vec![5, -1].into()));
        assert_eq!(attribute("cost"), Some(vec![0.75, 4.0].into()));
        assert_eq!((attribute("word"), attribute("tone")), (Some(vec![7, 8].into()), Some(vec![1, 2].into())));
        let acceptor = Graph::new(pair(5, 9).into_parts().0);
        assert_eq!(compose(&a, &acceptor, &ComposeOptions::default()).unwrap().aux_labels(), Some(&[5, -1][..]));
        assert_eq!(compose(&pair(3, 4), &b, &ComposeOptions::default()).unwrap().fsas().num_arcs(), 0);
    }

    #[test]
    fn arcs_of_one_side_or_the_other_keep_what_they_put_out() {
        let a = pair(3, 5).with("cost", vec![0.5, 0.0]).unwrap().with("word", vec![7, 8]).unwrap();
        let b = pair(4, 9).with("cost", vec![0.25, 4.0]).unwrap().with("tone", vec![1, 2]).unwrap();
        let made = a.concat(&b).unwrap();
        assert_eq!((made.fsas().labels(), made.aux_labels()), (vec![3, 0, 4, -1], Some(&[5, 0, 9, -1][..])));
        let attribute = |name| made.attributes().get(name).cloned();
        assert_eq!(attribute("cost"), Some(vec![0.5, 0.0, 0.25, 4.0].into()));
        assert_eq!(
            (attribute("word"), attribute("tone")),
            (Some(vec![7, 8, 0, 0].into()), Some(vec![0, 0, 1, 2].into()))
        );
        let words = Ragged::from_lists(&[vec![1, 2], vec![]]).unwrap();
        let lists = a.clone().without("word").with("word", words).unwrap();
        assert!(lists.concat(&a).unwrap().attributes().get("word").is_none(), "lists and numbers");
        let twice = lists.concat(&lists).unwrap();
        let words = twice.attributes().lists("word").unwrap();
        assert_eq!(words.rows().collect::<Vec<_>>(), [&[1, 2][..], &[], &[1, 2], &[]]);
        let replaced = pair(3, 5).replace_fsa(&Graph::cat(&[&pair(4, 9)]).unwrap(), 3).unwrap();
        assert_eq!(replaced.fsas().labels(), [0, 4, 0, -1]);
        assert_eq!(replaced.aux_labels(), Some(&[5, 9, 0, -1][..]));
    }

    #[test]
    fn one_side_moves_alone() {
        let made = compose(&pair(3, 0), &pair(0, 9), &ComposeOptions::default()).unwrap();
        assert_eq!((made.fsas().labels(), made.aux_labels()), (vec![3, 0, 0, -1], Some(&[0, 9, 9, -1][..])));
    }
}
