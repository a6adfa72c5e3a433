//! One arc, and the two labels with a meaning.

use crate::support::ids::index;

/// The label of arcs that take no symbol, 0.
pub const EPSILON: i32 = 0;

/// The label of the arcs that enter the final state, and of no others, -1.
#[doc(alias = "kFinalSymbol")]
pub const FINAL: i32 = -1;

/// An arc from state to state that takes a symbol and adds a score; 16 bytes, as in k2.
///
/// A larger score is better: it is the logarithm of a probability, or a cost with its sign turned.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arc {
    /// The state that the arc leaves, counted within its FSA.
    pub src_state: i32,
    /// The state that the arc enters, counted within its FSA.
    pub dest_state: i32,
    /// The symbol: above 0, [`EPSILON`], or [`FINAL`] on arcs into the final state.
    pub label: i32,
    /// Amount that the arc adds to the score of a path.
    pub score: f32,
}

impl Arc {
    /// Creates an arc.
    #[inline]
    pub const fn new(src_state: i32, dest_state: i32, label: i32, score: f32) -> Self {
        Self { src_state, dest_state, label, score }
    }

    /// Key by which the arcs of a state are sorted: the label as an unsigned number, so that
    /// [`FINAL`] comes last, then the destination state.
    #[inline]
    pub const fn sort_key(&self) -> u64 {
        ((self.label.cast_unsigned() as u64) << 32) | self.dest_state.cast_unsigned() as u64
    }

    /// Returns both states as indexes.
    #[inline]
    pub(crate) fn states(&self) -> (usize, usize) {
        (index(self.src_state), index(self.dest_state))
    }
}

/// Tests write the source, the destination, the label, and the score if it matters.
#[cfg(test)]
impl From<(i32, i32, i32, f32)> for Arc {
    fn from((src_state, dest_state, label, score): (i32, i32, i32, f32)) -> Self {
        Self { src_state, dest_state, label, score }
    }
}

#[cfg(test)]
impl From<(i32, i32, i32)> for Arc {
    fn from((src_state, dest_state, label): (i32, i32, i32)) -> Self {
        Self { src_state, dest_state, label, score: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_has_16_bytes_and_final_ones_come_last() {
        assert_eq!(size_of::<Arc>(), 16);
        let key = |label, dest| Arc::new(0, dest, label, 0.0).sort_key();
        assert!(key(0, 9) < key(1, 2) && key(1, 2) < key(1, 3) && key(i32::MAX, 9) < key(FINAL, 0));
    }
}
