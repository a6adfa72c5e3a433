//! Mapping from the labels of a decoding graph to the classes of a network.

use crate::core::arc::EPSILON;

/// Reading of the labels of a decoding graph, which each [`Graph`](crate::Graph) stores
/// ([`Graph::graph_labels`](crate::Graph::graph_labels)). In both ways -1 ends an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GraphLabels {
    /// k2's: a label is a class, 0 (blank) among them, and there are no epsilons.
    #[default]
    Class,
    /// OpenFst's and Kaldi's: 0 is epsilon, a label above 0 is a class + 1. Graphs of OpenFst's
    /// files are read so.
    ClassPlusOne,
}

impl GraphLabels {
    /// Returns the class that a label takes; `None` for epsilon and for the label of final arcs.
    ///
    /// ```
    /// use fsa::GraphLabels::{Class, ClassPlusOne};
    ///
    /// assert_eq!((Class.class(0), Class.class(7), Class.class(-1)), (Some(0), Some(7), None));
    /// assert_eq!((ClassPlusOne.class(0), ClassPlusOne.class(7)), (None, Some(6)));
    /// ```
    #[inline]
    pub fn class(self, label: i32) -> Option<usize> {
        usize::try_from(label.saturating_sub(self.label_of(0))).ok()
    }

    /// Returns `true` if an arc with this label takes no frame.
    #[inline]
    pub fn is_epsilon(self, label: i32) -> bool {
        self == Self::ClassPlusOne && label == EPSILON
    }

    /// Returns the label that takes a class.
    #[inline]
    pub fn label_of(self, class: i32) -> i32 {
        match self {
            Self::Class => class,
            Self::ClassPlusOne => class + 1,
        }
    }
}
