//! Attributes of arcs besides labels and scores. They follow the arcs through every algorithm by
//! its arc map.

use std::collections::BTreeMap;
use std::collections::btree_map;

use kaldera_base::buffer::Buffer;
use ragged_core::{Ragged, RaggedShape, RowSplits, index_and_sum, index_select, index_tensor_ragged};

use crate::core::graph_labels::GraphLabels;
use crate::error::{AttributeProblem, Error};

/// One entry for each arc.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Attribute {
    /// Labels or other integers; an arc without a source gets `filler`, 0 unless set.
    Ints {
        /// One value for each arc.
        values: Buffer<i32>,
        /// Value of arcs without a source.
        filler: i32,
    },
    /// Scores and similar values; an arc without a source gets `filler`, 0 unless set.
    Floats {
        /// One value for each arc.
        values: Buffer<f32>,
        /// Value of arcs without a source.
        filler: f32,
    },
    /// A list for each arc; an arc without a source gets an empty one.
    Lists(Ragged<i32>),
}

impl Attribute {
    /// Returns the number of arcs that the attribute has entries for.
    pub fn num_arcs(&self) -> usize {
        match self {
            Self::Ints { values, .. } => values.len(),
            Self::Floats { values, .. } => values.len(),
            Self::Lists(lists) => lists.num_rows(),
        }
    }

    /// Returns the attribute of arcs that come from the arcs given in `arc_map`, where -1 is no
    /// arc. O(arcs).
    ///
    /// # Errors
    /// If the map names an arc that is not there.
    pub fn carry(&self, arc_map: &[i32]) -> Result<Self, Error> {
        Ok(match self {
            Self::Ints { values, filler } => {
                Self::Ints { values: index_select(values, arc_map, *filler)?.into(), filler: *filler }
            }
            Self::Floats { values, filler } => {
                Self::Floats { values: index_select(values, arc_map, *filler)?.into(), filler: *filler }
            }
            Self::Lists(lists) => Self::Lists(lists.select(0, arc_map)?),
        })
    }

    /// Returns the attribute of arcs that each come from several arcs: integers become lists,
    /// without fillers, lists are concatenated, and floating-point numbers are added. O(arcs +
    /// entries).
    ///
    /// # Errors
    /// If the map names an arc that is not there.
    pub fn carry_ragged(&self, arc_map: &Ragged<i32>) -> Result<Self, Error> {
        Ok(match self {
            Self::Ints { values, filler } => {
                Self::Lists(index_tensor_ragged(values, arc_map, *filler)?.remove_values_eq(*filler))
            }
            Self::Floats { values, filler } => {
                Self::Floats { values: index_and_sum(values, arc_map)?.into(), filler: *filler }
            }
            Self::Lists(lists) => Self::Lists(lists.index_ragged(arc_map)?.remove_axis(1)?),
        })
    }

    /// Returns the concatenated attribute, `None` unless all are of one kind. The filler of the
    /// first attribute is used. O(entries).
    fn cat(attributes: &[&Self]) -> Result<Option<Self>, Error> {
        let ints = attributes.iter().map(|attribute| match attribute {
            Self::Ints { values, .. } => Some(&values[..]),
            _ => None,
        });
        let floats = attributes.iter().map(|attribute| match attribute {
            Self::Floats { values, .. } => Some(&values[..]),
            _ => None,
        });
        let lists = attributes.iter().map(|attribute| match attribute {
            Self::Lists(lists) => Some(lists),
            _ => None,
        });
        Ok(match attributes.first() {
            None => None,
            Some(Self::Ints { filler, .. }) => ints
                .collect::<Option<Vec<_>>>()
                .map(|values| Self::Ints { values: values.concat().into(), filler: *filler }),
            Some(Self::Floats { filler, .. }) => floats
                .collect::<Option<Vec<_>>>()
                .map(|values| Self::Floats { values: values.concat().into(), filler: *filler }),
            Some(Self::Lists(_)) => match lists.collect::<Option<Vec<_>>>() {
                None => None,
                Some(lists) => Some(Self::Lists(Ragged::cat(0, &lists)?)),
            },
        })
    }

    /// Returns lists of one label each, without the labels that equal the filler; lists stay as
    /// they are.
    #[doc(alias = "convert_attr_to_ragged_")]
    pub fn to_lists(&self) -> Result<Ragged<i32>, Error> {
        match self {
            Self::Lists(lists) => Ok(lists.clone()),
            Self::Ints { values, filler } => {
                let ones = RaggedShape::new([RowSplits::regular(values.len(), 1)?])?;
                Ok(Ragged::new(ones, values.clone())?.remove_values_eq(*filler))
            }
            Self::Floats { .. } => Err(Error::Attribute { problem: AttributeProblem::FloatsAsLists }),
        }
    }
}

impl From<Vec<i32>> for Attribute {
    fn from(values: Vec<i32>) -> Self {
        Self::Ints { values: values.into(), filler: 0 }
    }
}

impl From<Vec<f32>> for Attribute {
    fn from(values: Vec<f32>) -> Self {
        Self::Floats { values: values.into(), filler: 0.0 }
    }
}

impl From<Ragged<i32>> for Attribute {
    fn from(lists: Ragged<i32>) -> Self {
        Self::Lists(lists)
    }
}

/// Attributes by name, in alphabetical order, and how the labels of the arcs are to be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes {
    by_name: BTreeMap<String, Attribute>,
    graph_labels: GraphLabels,
}

impl Attributes {
    /// Returns the attribute of that name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.by_name.get(name)
    }

    /// Returns the attribute of that name, if it holds one integer for each arc.
    pub fn ints(&self, name: &str) -> Option<&[i32]> {
        match self.by_name.get(name) {
            Some(Attribute::Ints { values, .. }) => Some(values),
            _ => None,
        }
    }

    /// Returns the attribute of that name, if it holds a list for each arc.
    pub fn lists(&self, name: &str) -> Option<&Ragged<i32>> {
        match self.by_name.get(name) {
            Some(Attribute::Lists(lists)) => Some(lists),
            _ => None,
        }
    }

    /// Returns an iterator over all attributes.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Attribute> {
        self.by_name.iter()
    }

    /// Returns how [decoding](crate::dense) reads the labels of the arcs.
    #[inline]
    pub fn graph_labels(&self) -> GraphLabels {
        self.graph_labels
    }

    /// Sets how labels are read.
    pub(crate) fn with_graph_labels(self, graph_labels: GraphLabels) -> Self {
        Self { graph_labels, ..self }
    }

    /// Returns `true` if an arc adds nothing to the attributes of an arc that comes from several,
    /// including this one: [`Attribute::carry_ragged`] gives the same result without it.
    pub(crate) fn is_neutral(&self, arc: usize) -> bool {
        self.by_name.values().all(|attribute| match attribute {
            Attribute::Ints { values, filler } => values[arc] == *filler,
            Attribute::Floats { values, .. } => values[arc] == 0.0,
            Attribute::Lists(lists) => lists.row(arc).is_empty(),
        })
    }

    /// Returns `true` if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Inserts an attribute; one of the same name is replaced.
    pub(crate) fn insert(&mut self, name: &str, attribute: Attribute) {
        self.by_name.insert(name.to_owned(), attribute);
    }

    /// Removes an attribute.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Attribute> {
        self.by_name.remove(name)
    }

    /// Applies [`Attribute::carry`] to all attributes.
    ///
    /// # Errors
    /// If the map names an arc that is not there.
    pub fn carry(&self, arc_map: &[i32]) -> Result<Self, Error> {
        self.each(|attribute| attribute.carry(arc_map))
    }

    /// Applies [`Attribute::carry_ragged`] to all attributes.
    ///
    /// # Errors
    /// If the map names an arc that is not there.
    pub fn carry_ragged(&self, arc_map: &Ragged<i32>) -> Result<Self, Error> {
        self.each(|attribute| attribute.carry_ragged(arc_map))
    }

    /// Returns the concatenated attributes: the ones that all have, and of one kind. O(entries).
    ///
    /// # Errors
    /// [`Error::Attribute`] if labels are read in both ways.
    pub(crate) fn cat(all: &[&Self]) -> Result<Self, Error> {
        let graph_labels = all.first().map_or_else(GraphLabels::default, |first| first.graph_labels);
        if all.iter().any(|attributes| attributes.graph_labels != graph_labels) {
            return Err(Error::Attribute { problem: AttributeProblem::GraphLabels });
        }
        let mut made = Self::default().with_graph_labels(graph_labels);
        for name in all.first().into_iter().flat_map(|first| first.by_name.keys()) {
            let common: Option<Vec<_>> = all.iter().map(|attributes| attributes.get(name)).collect();
            if let Some(attribute) = common.map_or(Ok(None), |common| Attribute::cat(&common))? {
                made.insert(name, attribute);
            }
        }
        Ok(made)
    }

    fn each(&self, carry: impl Fn(&Attribute) -> Result<Attribute, Error>) -> Result<Self, Error> {
        let carried = self.by_name.iter().map(|(name, attribute)| Ok((name.clone(), carry(attribute)?)));
        Ok(Self { by_name: carried.collect::<Result<_, Error>>()?, graph_labels: self.graph_labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_follow_plain_maps() {
        let ints = Attribute::Ints { values: vec![5, 6].into(), filler: -7 };
        let Ok(Attribute::Ints { values, .. }) = ints.carry(&[1, -1, 1]) else { panic!() };
        assert_eq!(*values, [6, -7, 6]);
        let lists = Attribute::from(Ragged::from_lists(&[vec![1, 2], vec![3]]).unwrap());
        let Ok(Attribute::Lists(lists)) = lists.carry(&[1, -1, 0]) else { panic!() };
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[3][..], &[], &[1, 2]]);
        assert!(ints.carry(&[2]).is_err());
    }

    #[test]
    fn attributes_follow_ragged_maps() {
        let map = Ragged::from_lists(&[vec![0, 1], vec![], vec![2]]).unwrap();
        let Ok(Attribute::Lists(lists)) = Attribute::from(vec![5, 0, 6]).carry_ragged(&map) else { panic!() };
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[5][..], &[], &[6]]);
        let Ok(Attribute::Floats { values, .. }) = Attribute::from(vec![0.5, 2.0, 1.0]).carry_ragged(&map) else {
            panic!()
        };
        assert_eq!(*values, [2.5, 0.0, 1.0]);
        let lists = Attribute::from(Ragged::from_lists(&[vec![1, 2], vec![3], vec![]]).unwrap());
        let Ok(Attribute::Lists(lists)) = lists.carry_ragged(&map) else { panic!() };
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[1, 2, 3][..], &[], &[]]);
    }
}
