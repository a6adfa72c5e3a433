//! Copies rows by an index, which is the core of sorting, segmenting and concatenating.

use kaldera_base::{memory, par};
use tensor_strided::Element;

/// Number of bytes of a result that is worth a separate task.
const TASK: usize = 1 << 20;

/// Distance in bytes by which rows are prefetched: rows of many sequences are more streams than
/// the processor follows by itself.
const AHEAD: usize = 4096;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The rows of `src`, of `width` values each, that `index` names. All indexes name a row.
pub(crate) fn gather<T: Element + Default>(src: &[T], width: usize, index: &[i32]) -> Vec<T> {
    let mut out = memory::zeros(index.len() * width);
    gather_into(src, width, index, &mut out);
    out
}

/// As [`gather`], into memory of the right size.
pub(crate) fn gather_into<T: Element>(src: &[T], width: usize, index: &[i32], out: &mut [T]) {
    assert_eq!(out.len(), index.len() * width, "room for each row");
    if width == 0 {
        return;
    }
    if par::num_parts(size_of_val(out), TASK) == 1 {
        return gather_serially(src, width, index, out);
    }
    let rows = (TASK / (width * size_of::<T>().max(1))).max(1);
    let parts = out.chunks_mut(rows * width).zip(index.chunks(rows)).collect();
    par::for_each(parts, |(out, index)| gather_serially(src, width, index, out));
}

fn gather_serially<T: Element>(src: &[T], width: usize, index: &[i32], out: &mut [T]) {
    match width {
        1 => gather_arrays::<T, 1>(src, index, out),
        2 => gather_arrays::<T, 2>(src, index, out),
        3 => gather_arrays::<T, 3>(src, index, out),
        4 => gather_arrays::<T, 4>(src, index, out),
        8 => gather_arrays::<T, 8>(src, index, out),
        _ => {
            let bytes = width * size_of::<T>();
            let ahead = (AHEAD / bytes.max(1)).max(1);
            let line = (LINE / size_of::<T>().max(1)).max(1);
            for (i, (to, &row)) in out.chunks_exact_mut(width).zip(index).enumerate() {
                if let Some(&next) = index.get(i + ahead) {
                    let next = next as usize * width;
                    (next..next + width).step_by(line).for_each(|element| memory::prefetch(src, element));
                }
                to.copy_from_slice(&src[row as usize * width..][..width]);
            }
        }
    }
}

/// Rows of a width that the compiler knows.
fn gather_arrays<T: Element, const WIDTH: usize>(src: &[T], index: &[i32], out: &mut [T]) {
    let (src, _) = src.as_chunks::<WIDTH>();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    for (to, &row) in out.iter_mut().zip(index) {
        *to = src[row as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_width_come_in_the_order_of_the_index() {
        let index: Vec<i32> = (0..40_000).map(|i| i * 7 % 1000).collect();
        for width in [0, 1, 2, 3, 4, 5, 8, 16, 80] {
            let src: Vec<i32> = (0..1000 * width as i32).collect();
            let expected: Vec<i32> =
                index.iter().flat_map(|&row| &src[row as usize * width..][..width]).copied().collect();
            assert_eq!(gather(&src, width, &index), expected, "width {width}");
        }
    }
}
