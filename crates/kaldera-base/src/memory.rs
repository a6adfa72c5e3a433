//! Fresh memory for large results.
//!
//! The first touch of a page costs the operating system as much time as copying it several times
//! over: 10 million words into fresh memory take 20 ms, into memory that was used before 2.5.
//! Huge pages (2 MiB on x86-64 in place of 4 KiB) take most of that away, but Linux gives them
//! only on request. These functions request them if a result is large enough.
//!
//! A program that makes many results of 32 MiB or more should use functions that write into its own
//! memory (`select_into`, `cat_into`, `pad_into`, `row_ids_into`), or an allocator that keeps
//! memory, or `GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296`.

/// Bytes from which on huge pages are asked for.
#[cfg(any(target_os = "linux", test))]
const LARGE: usize = 4 << 20;

/// An empty vector with room for `capacity` elements.
///
/// ```
/// let mut values = kaldera_base::memory::with_capacity(3);
/// values.extend([1, 2, 3]);
/// assert_eq!(values, [1, 2, 3]);
/// ```
///
/// # Panics
/// As [`Vec::with_capacity`], if that is more than memory can hold.
pub fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let vec = Vec::with_capacity(capacity);
    advise(vec.as_ptr(), capacity);
    vec
}

/// Collects an iterator of known length.
///
/// ```
/// assert_eq!(kaldera_base::memory::collect([1, 2, 3].iter().map(|x| 2 * x)), [2, 4, 6]);
/// ```
///
/// # Panics
/// As [`with_capacity`].
pub fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut vec = with_capacity(items.len());
    vec.extend(items);
    vec
}

/// `len` times the default value of a number, which is zero: fresh memory is already zero and is
/// not touched.
///
/// # Panics
/// As `vec![T::default(); len]`, if that is more than memory can hold.
pub fn zeros<T: Clone + Default>(len: usize) -> Vec<T> {
    let vec = vec![T::default(); len];
    advise(vec.as_ptr(), len);
    vec
}

/// Prefetches the element at `index`; beyond the end, nothing happens.
///
/// For addresses that follow no pattern, which the processor does not prefetch by itself.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(element) = slice.get(index) {
        prefetch_at(element);
    }
}

/// [`prefetch`] of the memory at `address`, which may be any address.
#[inline(always)]
pub fn prefetch_at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction. It reads nothing that a program could see, and
        // an address that is not one does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// As [`prefetch`], into the second cache, and so for some hundred addresses at a time.
///
/// It has more fill buffers than the first: 5 million numbers at random addresses of 20 MB take
/// half the time on an AMD EPYC (Zen 4).
#[inline(always)]
pub fn prefetch_l2<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: as in `prefetch_at`.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Asks for huge pages behind the `len` elements from `start` on.
#[cfg(target_os = "linux")]
fn advise<T>(start: *const T, len: usize) {
    /// The alignment of a huge page. The advice applies only to whole pages; smaller pieces stay
    /// as they are.
    const HUGE_PAGE: usize = 2 << 20;
    let bytes = len * size_of::<T>();
    if bytes < LARGE {
        return;
    }
    let begin = start.addr().next_multiple_of(HUGE_PAGE);
    let end = (start.addr() + bytes) & !(HUGE_PAGE - 1);
    if begin < end {
        // SAFETY: the pages lie inside of one allocation; the advice changes how they are backed,
        // not their contents. It may be refused, which changes nothing.
        unsafe { libc::madvise(start.with_addr(begin).cast_mut().cast(), end - begin, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: *const T, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_size_are_zero() {
        for len in [0, 1, LARGE / 4 - 1, LARGE / 4, LARGE / 4 + 4097, 5 * LARGE] {
            let mut vec = with_capacity::<i32>(len);
            assert!(vec.is_empty() && vec.capacity() >= len);
            vec.extend((0..).take(len));
            assert!((0..).zip(&vec).all(|(i, &x): (i32, _)| i == x));
            assert!(zeros::<f32>(len).iter().all(|&x| x == 0.0));
        }
        assert_eq!(zeros::<()>(usize::MAX).len(), usize::MAX);
    }
}
