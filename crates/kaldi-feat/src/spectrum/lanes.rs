//! Sums over lanes that several modules share.

use kaldera_base::simd::{MAX_LANES, Simd};

/// Number of partial sums of a filter's energy: sum i is of every sixteenth frequency from the i-th
/// on. Then they are added in halves, as [`Simd::sum`] adds lanes.
pub(crate) const FILTER_SUMS: usize = 16;

/// Returns the first lane.
#[inline(always)]
pub(crate) fn first_lane<S: Simd>(s: S, v: S::F32) -> f32 {
    let mut lanes = [0.0; MAX_LANES];
    s.store(v, &mut lanes);
    lanes[0]
}
