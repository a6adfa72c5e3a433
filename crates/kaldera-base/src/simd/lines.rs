//! Memory that can hold vectors of any instruction set.

use crate::simd::Simd;

/// One cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; Lines::LINE]);

/// A growing run of `f32` aligned to 64 bytes, accessed as numbers or as vectors: scratch memory
/// of a kernel.
///
/// It is not generic over a type of vector, so that one scratch serves every instruction set that
/// [`dispatch`](super::dispatch) may choose.
#[derive(Debug, Clone, Default)]
pub struct Lines(Vec<Line>);

impl Lines {
    const LINE: usize = 16;

    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The first `count` vectors of `S`: the old contents, then zeros if it has to grow.
    #[inline]
    pub fn vectors<S: Simd>(&mut self, _: S, count: usize) -> &mut [S::F32] {
        let lines = (count * S::LANES).div_ceil(Self::LINE);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0.0; Self::LINE]));
        }
        let all = Self::LINE / S::LANES * self.0.len();
        debug_assert!(size_of::<S::F32>() == S::LANES * 4 && align_of::<S::F32>() <= align_of::<Line>());
        // SAFETY: each `S::F32` is `LANES` floats (all instruction sets are in this module, and so
        // are checked by its tests) of alignment 64 or less, so `all` of them are just the memory
        // of the lines; any bits are a valid float. The borrow of `self` lasts as long as the
        // slice.
        let vectors = unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast::<S::F32>(), all) };
        &mut vectors[..count]
    }

    /// All vectors; the last one may end with zeros beyond the requested count.
    #[inline]
    pub fn as_vectors<S: Simd>(&self, _: S) -> &[S::F32] {
        let all = Self::LINE / S::LANES * self.0.len();
        // SAFETY: as in `vectors`, and nothing is written while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<S::F32>(), all) }
    }

    /// The first `count` numbers: the old contents, then zeros if it has to grow.
    #[inline]
    pub fn floats(&mut self, count: usize) -> &mut [f32] {
        let lines = count.div_ceil(Self::LINE);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0.0; Self::LINE]));
        }
        // SAFETY: the lines are `16 * len` floats in a row.
        let floats =
            unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast::<f32>(), self.0.len() * Self::LINE) };
        &mut floats[..count]
    }

    /// All numbers; the last ones may be zeros beyond the requested count.
    #[inline]
    pub fn as_floats(&self) -> &[f32] {
        // SAFETY: as in `floats`, and nothing is written while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<f32>(), self.0.len() * Self::LINE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd, available, dispatch_at};

    struct Fill;
    impl Kernel for Fill {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            assert_eq!(size_of::<S::F32>(), S::LANES * 4);
            assert!(align_of::<S::F32>() <= 64);
            let mut lines = Lines::new();
            for (i, v) in lines.vectors(s, 5).iter_mut().enumerate() {
                *v = s.splat(i as f32);
            }
            let floats = lines.floats(5 * S::LANES);
            assert!(floats.iter().enumerate().all(|(i, &x)| x == (i / S::LANES) as f32));
            assert_eq!(lines.as_floats()[S::LANES..2 * S::LANES], vec![1.0; S::LANES]);
            assert!(lines.vectors(s, 0).is_empty());
            let vectors = lines.as_vectors(s);
            assert!(vectors.len() >= 5 && vectors[..5].iter().zip(0_u8..).all(|(&v, i)| s.max_lane(v) == f32::from(i)));
        }
    }

    #[test]
    fn vectors_and_floats_are_the_same_memory() {
        for level in available() {
            dispatch_at(level, Fill);
        }
    }
}
