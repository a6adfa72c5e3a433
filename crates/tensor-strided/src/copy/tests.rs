//! Compares every kernel, at every instruction set, with a loop over coordinates. The memory
//! around the targets must stay as it was.

use std::fmt::Debug;
use std::hint::black_box;

use kaldera_base::simd::{available, dispatch_at};
use proptest::prelude::*;

use super::*;

/// An element type that a test copies.
trait Sample: Element + PartialEq + Debug {
    fn number(i: usize) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => { $(impl Sample for $t {
        fn number(i: usize) -> Self {
            (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) as $t
        }
    })* };
}
numbers!(u8, i16, u32, f32, u64, f64, u128);

/// 8 bytes, of which three are nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Padded(u8, u32);

impl Sample for Padded {
    fn number(i: usize) -> Self {
        Self(u8::number(i), u32::number(i))
    }
}

/// 6 bytes.
impl Sample for [u16; 3] {
    fn number(i: usize) -> Self {
        [i as u16, !(i as u16), (i >> 16) as u16]
    }
}

/// One side of one axis: its place among the others, the number of elements that each of its
/// entries takes, and whether it runs backwards.
type Side = (u8, usize, bool);

/// An axis: its length, the source's side, whether the source repeats, the target's side.
type AxisPlan = (usize, Side, bool, Side);

fn side() -> impl Strategy<Value = Side> {
    (0..4_u8, prop_oneof![6 => Just(1_usize), 2 => Just(2), 1 => 3..6_usize], prop::bool::weighted(0.25))
}

fn axis(len: impl Strategy<Value = usize>) -> impl Strategy<Value = AxisPlan> {
    (len, side(), prop::bool::weighted(0.1), side())
}

/// Few axes, some of them long; or many short ones.
fn plans() -> impl Strategy<Value = Vec<AxisPlan>> {
    let long = prop_oneof![8 => 1..6_usize, 2 => Just(16_usize), 3 => 17..70_usize, 1 => 70..300_usize];
    prop_oneof![
        3 => prop::collection::vec(axis(long), 0..4),
        1 => prop::collection::vec(axis(1..4_usize), 4..7),
        1 => prop::collection::vec(axis(1..3_usize), 8..12),
    ]
    .prop_filter("not too large", |axes| axes.iter().map(|axis| axis.0).product::<usize>() < 60_000)
}

/// Strides, offset and buffer length of a nested layout, with `guard` elements before and behind.
fn lay_out(sides: &[(usize, Side)], guard: usize) -> (Vec<isize>, usize, usize) {
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.sort_by_key(|&at| (sides[at].1.0, std::cmp::Reverse(at)));
    let (mut strides, mut offset, mut size) = (vec![0; sides.len()], guard, 1);
    for at in order {
        let (len, (_, gap, backwards)) = sides[at];
        let step = size * gap;
        strides[at] = if backwards { -step.cast_signed() } else { step.cast_signed() };
        offset += if backwards { step * (len - 1) } else { 0 };
        size = step * len;
    }
    (strides, offset, size + 2 * guard)
}

struct Case {
    shape: Vec<usize>,
    src: (Vec<isize>, usize, usize),
    dst: (Vec<isize>, usize, usize),
}

impl Case {
    fn new(plan: &[AxisPlan], guard: usize) -> Self {
        let mut src = lay_out(&plan.iter().map(|axis| (axis.0, axis.1)).collect::<Vec<_>>(), 3);
        for (stride, axis) in src.0.iter_mut().zip(plan) {
            if axis.2 {
                src.1 -= stride.min(&mut 0).unsigned_abs() * (axis.0 - 1);
                *stride = 0;
            }
        }
        let dst = lay_out(&plan.iter().map(|axis| (axis.0, axis.3)).collect::<Vec<_>>(), guard);
        Self { shape: plan.iter().map(|axis| axis.0).collect(), src, dst }
    }

    fn source<T: Sample>(&self) -> Vec<T> {
        (0..self.src.2).map(T::number).collect()
    }

    /// Element by element, by coordinates.
    fn expected<T: Sample>(&self, source: &[T], mut target: Vec<T>) -> Vec<T> {
        let len = self.shape.iter().product();
        for i in 0..len {
            let (mut rest, mut from, mut to) = (i, self.src.1.cast_signed(), self.dst.1.cast_signed());
            for at in (0..self.shape.len()).rev() {
                let entry = (rest % self.shape[at]).cast_signed();
                rest /= self.shape[at];
                from += entry * self.src.0[at];
                to += entry * self.dst.0[at];
            }
            target[to.cast_unsigned()] = source[from.cast_unsigned()];
        }
        target
    }

    /// The loops, if a nest has room for them.
    fn nest<T>(&self, src: *const T, dst: *mut T) -> Option<Nest<T>> {
        let mut axes: Vec<_> = (0..self.shape.len())
            .map(|at| Axis { len: self.shape[at], src: self.src.0[at], dst: self.dst.0[at] })
            .collect();
        let (rank, src_move, dst_move) = simplify(&mut axes);
        (rank <= MAX_RANK).then(|| {
            let (src, dst) = (src.wrapping_add(self.src.1), dst.wrapping_add(self.dst.1));
            Nest::new(&axes[..rank], src.wrapping_offset(src_move), dst.wrapping_offset(dst_move))
        })
    }
}

/// The ways a nest of numbers may go that are chosen by size elsewhere.
struct AllWays<B>(Nest<B>);

impl<B: Bits> Kernel for AllWays<B> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let last = self.0.axes().len();
        // SAFETY: the tests below copy between buffers that the loops stay in.
        unsafe {
            match crossing(&self.0) {
                Some(at) => tiles::copy_bits(s, self.0, at, true),
                None if last > 0 && self.0.axes()[last - 1].dst == 1 => writer::copy(self.0),
                None => rows::copy(self.0),
            }
        }
    }
}

fn check<T: Sample>(plan: &[AxisPlan]) {
    let case = Case::new(plan, 70);
    let source = case.source::<T>();
    let blank: Vec<T> = (0..case.dst.2).map(|i| T::number(i + 777)).collect();
    let expected = case.expected(&source, blank.clone());

    let mut target = blank.clone();
    // SAFETY: the layouts are within the buffers, and the target's layout is nested.
    unsafe {
        let (src, dst) = (source.as_ptr().add(case.src.1), target.as_mut_ptr().add(case.dst.1));
        copy(&case.shape, src, &case.src.0, dst, &case.dst.0);
    }
    assert!(target == expected, "{plan:?}");

    let dense = Case { dst: lay_out(&plan.iter().map(|axis| (axis.0, (0, 1, false))).collect::<Vec<_>>(), 0), ..case };
    // SAFETY: the layout is within the buffer.
    let collected = unsafe { collect(&dense.shape, source.as_ptr().add(dense.src.1), &dense.src.0) };
    assert!(collected == dense.expected(&source, vec![T::number(0); dense.dst.2]), "{plan:?}");
}

fn check_number<T: Sample>(plan: &[AxisPlan]) {
    check::<T>(plan);
    // The position of the target within a line matters here.
    for guard in [64, 67] {
        let case = Case::new(plan, guard);
        let source = case.source::<T>();
        let blank: Vec<T> = (0..case.dst.2).map(|i| T::number(i + 777)).collect();
        let expected = case.expected(&source, blank.clone());
        let filled = case.expected(&source, vec![T::number(5); case.dst.2]);
        for level in available() {
            let mut target = blank.clone();
            if let Some(nest) = case.nest(source.as_ptr(), target.as_mut_ptr()) {
                as_bits!(T, |B| dispatch_at(level, AllWays(nest.cast::<B>())));
                assert!(target == expected, "{level} {plan:?}");
                let range = target.as_mut_ptr()..target.as_mut_ptr().wrapping_add(target.len());
                // SAFETY: the layouts are within the buffers, and the target's layout is nested.
                unsafe { embed_nest_at(level, nest, range, T::number(5)) };
                assert!(target == filled, "embed, {level} {plan:?}");
            }
            let mut target = blank.clone();
            if let Some(nest) = case.nest(source.as_ptr(), target.as_mut_ptr()) {
                // SAFETY: the layouts are within the buffers, and the target's layout is nested.
                unsafe { copy_nest_at(level, nest, false) };
                assert!(target == expected, "{level} {plan:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 300 }) })]

    #[test]
    fn copies_of_bytes_equal_a_loop(plan in plans()) {
        check_number::<u8>(&plan);
    }

    #[test]
    fn copies_of_two_bytes_equal_a_loop(plan in plans()) {
        check_number::<i16>(&plan);
    }

    #[test]
    fn copies_of_four_bytes_equal_a_loop(plan in plans()) {
        check_number::<u32>(&plan);
        check::<f32>(&plan);
    }

    #[test]
    fn copies_of_eight_bytes_equal_a_loop(plan in plans()) {
        check_number::<u64>(&plan);
        check::<f64>(&plan);
    }

    #[test]
    fn copies_of_sixteen_bytes_equal_a_loop(plan in plans()) {
        check_number::<u128>(&plan);
    }

    #[test]
    fn copies_of_other_types_equal_a_loop(plan in plans()) {
        check::<Padded>(&plan);
        check::<[u16; 3]>(&plan);
    }
}

/// Four squares and a bit each way: tiles, overlapping squares, planes in planes.
#[test]
fn transposes_of_all_alignments() {
    for (rows, cols) in
        [(16, 16), (64, 64), (65, 130), (128, 31), (15, 200), (9, 200), (3, 3000), (3000, 3), (2, 2100), (4, 1500)]
    {
        for gap in [1, 2] {
            let plan = [
                (2, (2, 1, false), false, (2, 1, false)),
                (rows, (1, 1, false), false, (0, 1, false)),
                (cols, (0, 1, false), false, (1, gap, true)),
            ];
            check_number::<u8>(&plan);
            check_number::<u32>(&plan);
            check_number::<u64>(&plan);
            check_number::<u128>(&plan);
            check::<Padded>(&plan);
        }
    }
}

#[test]
fn empty_copies_touch_no_memory() {
    let nowhere = std::ptr::dangling_mut::<f32>();
    // SAFETY: there is nothing to read or write.
    unsafe {
        copy(&[3, 0, 5], nowhere, &[isize::MAX, 1, isize::MIN], nowhere, &[7, 7, 7]);
        assert_eq!(collect(&[usize::MAX, 0, 2], nowhere, &[1, 1, 1]), []);
    }
    let mut all = [1.5_f32; 3];
    // SAFETY: as above, but for the buffer.
    unsafe { embed(&[0], (nowhere, &[1]), (all.as_mut_ptr(), 3), (3, &[1]), 2.5) };
    assert_eq!(all, [2.5; 3]);
}

#[test]
fn elements_without_bytes_are_counted() {
    let units = [(); 4];
    // SAFETY: there is nothing to read.
    assert_eq!(unsafe { collect(&[2, 3], units.as_ptr(), &[1, 1]) }.len(), 6);
}

/// Large enough for threads, for large pages and for non-temporal stores of whole lines.
#[test]
#[cfg_attr(miri, ignore = "millions of elements")]
fn large_copies_are_the_same() {
    let (rows, cols) = (2111, 2050);
    let source: Vec<f32> = (0..rows * cols).map(f32::number).collect();
    let work = || {
        // SAFETY: the layouts are within the buffers.
        unsafe {
            let (rows_step, src) = (cols.cast_signed(), source.as_ptr());
            let transposed = collect(&[cols, rows], src, &[1, rows_step]);
            assert!((0..rows * cols).all(|i| transposed[i] == source[i % rows * cols + i / rows]));
            let reversed = collect(&[rows, cols], src.add(rows * cols - 1), &[-rows_step, -1]);
            assert!(reversed.iter().eq(source.iter().rev()));
            let mut spread = vec![1.0; 2 * rows * cols];
            embed(
                &[rows, cols],
                (src, &[rows_step, 1]),
                (spread.as_mut_ptr(), spread.len()),
                (1, &[2 * rows_step, 2]),
                0.5,
            );
            assert!((0..rows * cols).all(|i| spread[2 * i] == 0.5 && spread[2 * i + 1] == source[i]));
        }
    };
    work();
    rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(work);
    black_box(&source);
}
