//! Single elements in any order.

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Simd, dispatch};

/// Whether each index is below `size`, and none below -1.
pub(crate) fn all_within(index: &[i32], size: usize) -> bool {
    dispatch(Beyond(index)) as usize <= size
}

/// One more than the highest of some indexes, of which only -1 may be negative: any other is beyond all that there can be.
struct Beyond<'a>(&'a [i32]);

impl Kernel for Beyond<'_> {
    type Output = u32;

    /// With the instruction set as it is: the compiler makes vectors of it, as there is no branch.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u32 {
        self.0.iter().fold(0, |beyond, &i| beyond.max(i.wrapping_add(1).cast_unsigned()))
    }
}

/// The element that each index names, if it names one.
#[inline(always)]
pub(crate) fn picked<'a, T>(src: &'a [T], index: &'a [i32]) -> impl ExactSizeIterator<Item = Option<&'a T>> {
    let soon = soon(src, index);
    index.iter().enumerate().map(move |(k, &i)| {
        ask(src, soon, k);
        src.get(usize::try_from(i).ok()?)
    })
}

/// The indexes of the elements to [`ask`] for when the first, second .. is used: none where all elements stay in a cache.
pub(crate) fn soon<'a, T>(elements: &[T], index: &'a [i32]) -> &'a [i32] {
    /// Indexes after which an element that was asked for has come; as many lines take little of the second cache.
    const SOON: usize = 256;
    /// Bytes that stay in a cache, where there is nothing to ask for.
    const NEAR: usize = 1 << 20;
    if size_of_val(elements) > NEAR { index.get(SOON..).unwrap_or_default() } else { &[] }
}

/// Asks for the element that the `k`th index of [`soon`] names.
#[inline(always)]
pub(crate) fn ask<T>(elements: &[T], soon: &[i32], k: usize) {
    if let Some(&i) = soon.get(k) {
        // -1 is beyond the end, where nothing is asked for.
        memory::prefetch_l2(elements, i as usize);
    }
}
