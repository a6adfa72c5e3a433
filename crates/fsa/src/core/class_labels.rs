//! Which class of a network the label of a decoding graph stands for.

use crate::core::arc::EPSILON;

/// How the labels of a decoding graph are to be read, which each [`Graph`](crate::Graph) says
/// ([`Graph::graph_labels`](crate::Graph::graph_labels)). In both ways -1 ends an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GraphLabels {
    /// k2's: a label is a class, 0 (blank) among them, and there are no epsilons.
    #[default]
    Class,
    /// OpenFst's and Kaldi's: 0 is epsilon, a label above 0 is a class + 1. So read are graphs of
    /// OpenFst's files.
    ClassPlusOne,
}

impl GraphLabels {
    /// The class that a label takes; none for epsilon and for the label of final arcs.
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

    /// Whether an arc with this label takes no frame and goes on.
    #[inline]
    pub fn is_epsilon(self, label: i32) -> bool {
        self == Self::ClassPlusOne && label == EPSILON
    }

    /// The label that takes a class.
    #[inline]
    pub fn label_of(self, class: i32) -> i32 {
        match self {
            Self::Class => class,
            Self::ClassPlusOne => class + 1,
        }
    }
}
