//! Conversions of numbers to fewer bits.

/// Returns a count, or an index, in 32 bits. 2^32 counted items do not fit into memory.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the nearest single-precision number.
#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
pub(crate) fn narrow(value: f64) -> f32 {
    value as f32
}
