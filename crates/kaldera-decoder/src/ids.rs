//! Numbers in fewer bits.

/// A count, or an index, in 32 bits: what is counted does not fit into memory before there are
/// 2^32.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The nearest single-precision number.
#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
pub(crate) fn narrow(value: f64) -> f32 {
    value as f32
}
