//! Prefetches and non-temporal stores of lines of the cache.

use kaldera_base::memory::prefetch_at;

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// Prefetches the lines of `n` elements that are `step` apart, if they are not many.
#[inline(always)]
pub(super) fn prefetch_row<T>(src: *const T, step: isize, n: usize) {
    const MOST: usize = 4096 / LINE;
    let bytes = step.unsigned_abs().saturating_mul(size_of::<T>());
    let lines = bytes.saturating_mul(n).div_ceil(LINE);
    if bytes <= LINE && lines <= MOST {
        let lowest = if step < 0 { src.wrapping_offset(step.wrapping_mul(n.cast_signed())) } else { src };
        for line in 0..=lines {
            prefetch_at(lowest.wrapping_byte_add(line * LINE));
        }
    }
}

/// Writes whole lines by non-temporal stores.
///
/// # Safety
/// The lines can be read at `src` and written at `dst`, where each begins at a multiple of its
/// length; both are initialised numbers. [`fence`](kaldera_base::simd::fence) is called before
/// anything else may read them.
#[inline(always)]
pub(super) unsafe fn stream(src: *const u8, dst: *mut u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..lines * LINE).step_by(16) {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
        // SAFETY: SSE2 is a part of x86-64; `at` is within the lines, and a multiple of 16.
        unsafe { _mm_stream_si128(dst.add(at).cast(), _mm_loadu_si128(src.add(at).cast())) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        src.copy_to_nonoverlapping(dst, lines * LINE);
    }
}
