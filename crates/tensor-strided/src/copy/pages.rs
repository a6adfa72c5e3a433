//! Fresh memory for large outputs.
//!
//! What a program has never touched, the system hands out in pages when it is first written to, one interruption for each page. With
//! pages of 4 KiB, that takes ten times as long as to write the elements; Linux has pages of 2 MiB for those who ask.

/// Bytes from which on large pages are asked for.
#[cfg(target_os = "linux")]
const FROM: usize = 4 << 20;

/// An empty vector with room for `len` elements.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let vec = Vec::<T>::with_capacity(len);
    #[cfg(target_os = "linux")]
    advise(vec.as_ptr().addr(), vec.capacity().saturating_mul(size_of::<T>()));
    vec
}

/// Asks for large pages in memory that belongs to the caller.
#[cfg(target_os = "linux")]
fn advise(begin: usize, bytes: usize) {
    const PAGE: usize = 1 << 12;
    if bytes >= FROM {
        let (first, end) = (begin.next_multiple_of(PAGE), (begin + bytes) / PAGE * PAGE);
        let at = std::ptr::with_exposed_provenance_mut(first);
        // SAFETY: the pages are within memory of ours, whose contents the advice does not change. Where the system knows no large
        // pages, or its pages are longer than 4 KiB, the call fails and that is all.
        unsafe {
            libc::madvise(at, end - first, libc::MADV_HUGEPAGE);
        }
    }
}
