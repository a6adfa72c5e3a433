//! The columns and phones of transition identifiers.

/// For each transition identifier its column of the network's output, and the phone that it begins.
///
/// A transition model has both: `kaldi_io::transition_model`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransitionLabels {
    /// For each identifier, from 1 on.
    transitions: Vec<(u32, i32)>,
}

impl TransitionLabels {
    /// Creates labels from the column and the phone of the identifiers 1, 2 and so on. The phone is
    /// 0 unless the identifier leaves the first state of a phone and is no self-loop, so that it
    /// comes once in each phone.
    pub fn new(transitions: impl IntoIterator<Item = (u32, i32)>) -> Self {
        Self { transitions: transitions.into_iter().collect() }
    }

    /// Returns the column of an identifier; for unknown ones an index behind all of them.
    #[inline]
    pub(super) fn column(&self, label: i32) -> usize {
        let place = label.wrapping_sub(1).cast_unsigned() as usize;
        self.transitions.get(place).map_or(usize::MAX, |&(column, _)| column as usize)
    }

    /// Returns the phone that an identifier begins, or 0.
    pub(super) fn phone(&self, label: i32) -> i32 {
        let place = label.wrapping_sub(1).cast_unsigned() as usize;
        self.transitions.get(place).map_or(0, |&(_, phone)| phone.max(0))
    }
}
