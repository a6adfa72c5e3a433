//! Indexes in 32 bits, and ordered numbers.

/// Returns a state, an arc or a label, which must not be negative, as an index.
#[inline]
pub(crate) fn index(x: i32) -> usize {
    debug_assert!(x >= 0, "{x} is no index");
    x.cast_unsigned() as usize
}

/// Returns an index, which must fit, as the number of a state or an arc.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it fits")]
pub(crate) fn id(i: usize) -> i32 {
    debug_assert!(i32::try_from(i).is_ok(), "{i} is no state or arc");
    i as i32
}

/// Returns the nearest f32; infinite if the score is too large for one.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
pub(crate) fn narrow(score: f64) -> f32 {
    score as f32
}

/// Returns a state or an arc as 32 bits; FSAs have fewer than 2^31 of either.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "indexes of FSAs fit, as is checked")]
pub(crate) fn number(index: usize) -> u32 {
    debug_assert!(u32::try_from(index).is_ok());
    index as u32
}

/// No state, arc or other index.
pub(crate) const NONE: u32 = u32::MAX;

/// A number with its total order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ordered(pub(crate) f32);

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
