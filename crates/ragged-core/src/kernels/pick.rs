//! Single elements in any order.

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::error::Error;

/// Checks that indexes name entries of `axis`, which has `size` of them; -1 names nothing, which
/// only axis 0 allows.
pub(crate) fn check_indexes(axis: usize, indexes: &[i32], size: usize) -> Result<(), Error> {
    let least = if axis == 0 { -1 } else { 0 };
    if indexes.is_empty() || (dispatch(Highest { indexes, least }) as usize) < size + usize::from(axis == 0) {
        return Ok(());
    }
    let wrong = |&i: &i32| i < least || usize::try_from(i).is_ok_and(|i| i >= size);
    match indexes.iter().position(wrong) {
        Some(position) => Err(Error::Index { axis, position, found: indexes[position].into(), size }),
        None => Ok(()),
    }
}

/// Computes the distance of the highest index above `least`, the lowest index allowed. Lower
/// indexes wrap around to distances beyond any index.
struct Highest<'a> {
    indexes: &'a [i32],
    least: i32,
}

impl Kernel for Highest<'_> {
    type Output = u32;

    /// Keeps the instruction set as it is: the compiler vectorizes it, as there is no branch.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u32 {
        self.indexes.iter().fold(0, |highest, &i| highest.max(i.wrapping_sub(self.least).cast_unsigned()))
    }
}

/// Returns the element that each index names, if it names one.
#[inline(always)]
pub(crate) fn picked<'a, T>(src: &'a [T], index: &'a [i32]) -> impl ExactSizeIterator<Item = Option<&'a T>> {
    let upcoming = upcoming(src, index);
    index.iter().enumerate().map(move |(k, &i)| {
        prefetch_upcoming(src, upcoming, k);
        src.get(usize::try_from(i).ok()?)
    })
}

/// Returns the indexes of the elements to [prefetch](prefetch_upcoming) when the first, second ..
/// is used; none if all elements stay in a cache.
pub(crate) fn upcoming<'a, T>(elements: &[T], index: &'a [i32]) -> &'a [i32] {
    /// Number of indexes between the prefetch of an element and its use; as many lines take little
    /// of the second-level cache.
    const DISTANCE: usize = 256;
    /// Number of bytes that stay in a cache.
    const NEAR: usize = 1 << 20;
    if size_of_val(elements) > NEAR { index.get(DISTANCE..).unwrap_or_default() } else { &[] }
}

/// Prefetches the element that the `k`th index of [`upcoming`] names.
#[inline(always)]
pub(crate) fn prefetch_upcoming<T>(elements: &[T], upcoming: &[i32], k: usize) {
    if let Some(&i) = upcoming.get(k) {
        // -1 is beyond the end, where nothing is prefetched.
        memory::prefetch_l2(elements, i as usize);
    }
}
