//! Copies between any two layouts.

use crate::Element;

/// Copies element by element from one layout to another.
///
/// # Safety
/// Both pointers are at element `[0, .., 0]`; with strides in elements, all elements of `shape` can be read at `src` and written at
/// `dst`, no two of `dst` are the same, and none of `dst` is one of `src`. An empty shape is fine with any pointer.
pub(crate) unsafe fn copy<T: Element>(
    shape: &[usize],
    src: *const T,
    src_strides: &[isize],
    dst: *mut T,
    dst_strides: &[isize],
) {
    match shape {
        // SAFETY: rank 0 has one element.
        [] => unsafe { dst.write(src.read()) },
        [n, shape @ ..] => {
            for i in 0..n.cast_signed() {
                let (src, dst) = (src.wrapping_offset(i * src_strides[0]), dst.wrapping_offset(i * dst_strides[0]));
                // SAFETY: the caller's promise, for the entry `i` of this axis.
                unsafe { copy(shape, src, &src_strides[1..], dst, &dst_strides[1..]) };
            }
        }
    }
}

/// All elements in C order, in fresh memory.
///
/// # Safety
/// The pointer is at element `[0, .., 0]`; with strides in elements, all elements of `shape` can be read. An empty shape is fine with
/// any pointer.
pub(crate) unsafe fn collect<T: Element>(shape: &[usize], src: *const T, src_strides: &[isize]) -> Vec<T> {
    let len = shape.iter().product();
    let mut out = Vec::with_capacity(len);
    let strides = crate::layout::dense_strides(shape, crate::Order::C);
    if len > 0 {
        // SAFETY: the caller's promise; the target has room for all elements, and afterwards holds them.
        unsafe {
            copy(shape, src, src_strides, out.as_mut_ptr(), &strides);
            out.set_len(len);
        }
    }
    out
}
