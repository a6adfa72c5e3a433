//! FSAs together with attributes of their arcs: transducers, lattices with words, and others.

use ragged_core::Ragged;

use crate::core::attributes::{Attribute, Attributes};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::graph_labels::GraphLabels;
use crate::error::{Error, Quantity};

/// The name of the attribute with the output labels of a transducer.
pub const AUX_LABELS: &str = "aux_labels";

/// FSAs and attributes of their arcs, as k2's Python class `Fsa` holds them: it is a transducer if
/// it has [`AUX_LABELS`].
///
/// The algorithms of this crate take and return FSAs with arc maps; [`carry`](Graph::carry) applies
/// the arc map to the attributes.
///
/// ```
/// use fsa::{Arc, Fsa, Graph};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// let transducer = Graph::new(fsa).with_aux_labels(vec![70, -1])?;
/// assert_eq!(transducer.aux_labels(), Some(&[70, -1][..]));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Graph<F> {
    fsas: F,
    attributes: Attributes,
}

impl<F: Fsas> Graph<F> {
    /// Creates a graph of FSAs without attributes.
    pub fn new(fsas: F) -> Self {
        Self { fsas, attributes: Attributes::default() }
    }

    /// Creates a graph of FSAs and attributes of as many arcs.
    ///
    /// # Errors
    /// [`Error::Size`] if the numbers of arcs differ.
    pub fn from_parts(fsas: F, attributes: Attributes) -> Result<Self, Error> {
        for (_, attribute) in attributes.iter() {
            Error::same_size(Quantity::AttributeEntries, fsas.as_fsa_vec().num_arcs(), attribute.num_arcs())?;
        }
        Ok(Self { fsas, attributes })
    }

    /// Adds an attribute, or replaces the one of that name.
    ///
    /// # Errors
    /// [`Error::Size`] if it does not have one entry for each arc.
    pub fn with(mut self, name: &str, attribute: impl Into<Attribute>) -> Result<Self, Error> {
        let attribute = attribute.into();
        Error::same_size(Quantity::AttributeEntries, self.fsas.as_fsa_vec().num_arcs(), attribute.num_arcs())?;
        self.attributes.insert(name, attribute);
        Ok(self)
    }

    /// Sets the output labels: a list of numbers, or of lists, with one entry for each arc.
    ///
    /// # Errors
    /// [`Error::Size`] if it does not have one entry for each arc.
    pub fn with_aux_labels(self, aux_labels: impl Into<Attribute>) -> Result<Self, Error> {
        self.with(AUX_LABELS, aux_labels)
    }

    /// Removes an attribute.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.attributes.remove(name);
        self
    }

    /// Returns the FSAs.
    #[inline]
    pub fn fsas(&self) -> &F {
        &self.fsas
    }

    /// Returns the attributes of the arcs.
    #[inline]
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Returns the output labels, if there is one for each arc.
    pub fn aux_labels(&self) -> Option<&[i32]> {
        self.attributes.ints(AUX_LABELS)
    }

    /// Returns how [decoding](crate::dense) reads the labels: [`GraphLabels::Class`] unless the
    /// graph comes from one of OpenFst's files, in which 0 is epsilon, or was made otherwise.
    /// Results that are made of a graph read labels as the graph does.
    #[inline]
    pub fn graph_labels(&self) -> GraphLabels {
        self.attributes.graph_labels()
    }

    /// Sets how labels are read; the labels stay as they are.
    #[must_use]
    pub fn with_graph_labels(mut self, graph_labels: GraphLabels) -> Self {
        self.attributes = self.attributes.with_graph_labels(graph_labels);
        self
    }

    /// Concatenates the FSAs of all graphs, single ones or vectors, with the attributes that all
    /// have, and of one kind. O(states + arcs).
    ///
    /// ```
    /// use fsa::Graph;
    /// use fsa::k2::linear_fst;
    ///
    /// let both = Graph::cat(&[&linear_fst(&[1], &[5])?, &linear_fst(&[2, 3], &[6, 0])?])?;
    /// assert_eq!((both.fsas().num_fsas(), both.aux_labels()), (2, Some(&[5, -1, 6, 0, -1][..])));
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::Attribute`] if the labels of two graphs are read differently.
    #[doc(alias = "create_fsa_vec")]
    pub fn cat(graphs: &[&Self]) -> Result<Graph<FsaVec>, Error> {
        let fsas: Vec<_> = graphs.iter().map(|graph| graph.fsas.as_fsa_vec()).collect();
        let attributes: Vec<_> = graphs.iter().map(|graph| &graph.attributes).collect();
        Graph::from_parts(FsaVec::cat(&fsas)?, Attributes::cat(&attributes)?)
    }

    /// Returns both parts.
    pub fn into_parts(self) -> (F, Attributes) {
        (self.fsas, self.attributes)
    }

    /// Returns the result of an algorithm on these FSAs, with the attributes that its arc map
    /// brings along.
    ///
    /// # Errors
    /// If the map does not fit.
    pub fn carry<G: Fsas>(&self, (fsas, arc_map): (G, Vec<i32>)) -> Result<Graph<G>, Error> {
        Graph::from_parts(fsas, self.attributes.carry(&arc_map)?)
    }

    /// Returns the same for algorithms whose arcs each come from several.
    ///
    /// # Errors
    /// If the map does not fit.
    pub fn carry_ragged<G: Fsas>(&self, (fsas, arc_map): (G, Ragged<i32>)) -> Result<Graph<G>, Error> {
        Graph::from_parts(fsas, self.attributes.carry_ragged(&arc_map)?)
    }
}
