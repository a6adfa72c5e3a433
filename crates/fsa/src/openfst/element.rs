//! Elements of the subsets of determinization.

use crate::support::interner::{Key, mix};

/// A state of the input as a member of a subset: the output string and the cost that are pending
/// when the subset is reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub state: u32,
    pub string: u32,
    pub cost: f32,
}

impl Key for Element {
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self.state == other.state && self.string == other.string && self.cost.to_bits() == other.cost.to_bits()
    }

    #[inline]
    fn mix(&self, hash: u64) -> u64 {
        let both = (u64::from(self.state) << 32) | u64::from(self.cost.to_bits());
        mix(mix(hash, both), u64::from(self.string))
    }
}
