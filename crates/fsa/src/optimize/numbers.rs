//! Indexes in 32 bits, and numbers in order.

/// A state or an arc as 32 bits; FSAs have fewer than 2^31 of either.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "indexes of FSAs fit, as is checked")]
pub(super) fn number(index: usize) -> u32 {
    debug_assert!(u32::try_from(index).is_ok());
    index as u32
}

/// Numbers in their total order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ordered(pub f32);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
