//! One number of each row of integers, of any width.

use kaldera_base::memory;
use kaldera_base::simd::{Int, Integers, Kernel, Simd, dispatch};

use super::reduce::{RowKernels, SOON, rows_of};

macro_rules! integer_rows {
    ($t:ty) => {
        impl RowKernels for $t {
            fn sum_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(Sums { splits, values, initial, out });
            }
            fn max_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(Maxima { splits, values, initial, out });
            }
            fn min_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(Minima { splits, values, initial, out });
            }
            fn argmax_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                dispatch(Argmaxima { splits, values, initial, out });
            }
        }
    };
}
integer_rows!(u8);
integer_rows!(i32);
integer_rows!(i64);

/// The bits that `initial` and all of each row have.
pub(crate) fn and_rows<T: Int>(splits: &[i32], values: &[T], initial: T, out: &mut [T]) {
    dispatch(Ands { splits, values, initial, out });
}

/// The bits that `initial` or any of each row has.
pub(crate) fn or_rows<T: Int>(splits: &[i32], values: &[T], initial: T, out: &mut [T]) {
    dispatch(Ors { splits, values, initial, out });
}

macro_rules! row_kernel {
    ($name:ident, $out:ty, |$s:ident, $row:ident, $first:ident, $soon:ident, $initial:ident| $e:expr) => {
        struct $name<'a, T> {
            splits: &'a [i32],
            values: &'a [T],
            initial: T,
            out: &'a mut [$out],
        }

        impl<T: Int> Kernel for $name<'_, T> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                let Self { splits, values, initial: $initial, out } = self;
                let $s = T::lanes(s);
                for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                    let $first = row.start;
                    let $soon = values.get($first + SOON..).unwrap_or_default();
                    let $row = &values[row];
                    *out = $e;
                }
            }
        }
    };
}
// Only in a sum does it matter how often the initial value is there.
row_kernel!(Sums, T, |s, row, _first, soon, initial| {
    let sum = fold_row(s, row, soon, T::default(), |a, b| s.add(a, b));
    s.fold(s.add(sum, s.load_partial(&[initial], s.splat(T::default()))), |a, b| s.add(a, b))
});
row_kernel!(Maxima, T, |s, row, _first, soon, initial| max_of_row(s, row, soon, initial));
row_kernel!(Minima, T, |s, row, _first, soon, initial| {
    s.fold(fold_row(s, row, soon, initial, |a, b| s.min(a, b)), |a, b| s.min(a, b))
});
row_kernel!(Ands, T, |s, row, _first, soon, initial| {
    s.fold(fold_row(s, row, soon, initial, |a, b| s.and(a, b)), |a, b| s.and(a, b))
});
row_kernel!(Ors, T, |s, row, _first, soon, initial| {
    s.fold(fold_row(s, row, soon, initial, |a, b| s.or(a, b)), |a, b| s.or(a, b))
});
// In two goes over the row, which is in the first cache by then: the highest, and where it is. If the initial value is higher than
// all of the row, it is nowhere.
row_kernel!(Argmaxima, i32, |s, row, first, soon, initial| {
    let highest = max_of_row(s, row, soon, initial);
    last_of(s, row, highest).map_or(-1, |i| (first + i) as i32)
});

/// Vectors of a row that are read without a branch on its length.
const TOGETHER: usize = 4;

/// `op` of lanes and the values of a row that fall on them, from `neutral` on. Where `soon` begins, values are soon needed.
#[inline(always)]
fn fold_row<T: Int, L: Integers<T>>(
    s: L,
    row: &[T],
    soon: &[T],
    neutral: T,
    op: impl Fn(L::Vector, L::Vector) -> L::Vector,
) -> L::Vector {
    let neutral = s.splat(neutral);
    let mut rest = row;
    let [a, b, c, d] = std::array::from_fn::<_, TOGETHER, _>(|i| {
        memory::prefetch(soon, i * L::LANES);
        let (part, more) = rest.split_at(L::LANES.min(rest.len()));
        rest = more;
        s.load_partial(part, neutral)
    });
    let (mut a, mut b) = (op(a, b), op(c, d));
    if !rest.is_empty() {
        // One loop, whose end is guessed wrong once for each row, and a last vector without a branch of its own.
        let mut vectors = rest.chunks_exact(L::LANES);
        for (i, vector) in (TOGETHER..).zip(&mut vectors) {
            memory::prefetch(soon, i * L::LANES);
            (a, b) = (op(s.load_partial(vector, neutral), b), a);
        }
        a = op(s.load_partial(vectors.remainder(), neutral), a);
    }
    op(a, b)
}

#[inline(always)]
fn max_of_row<T: Int, L: Integers<T>>(s: L, row: &[T], soon: &[T], initial: T) -> T {
    s.fold(fold_row(s, row, soon, initial, |a, b| s.max(a, b)), |a, b| s.max(a, b))
}

/// Where `row` has `x` for the last time. It is gone over to the end, as where a search ends would be guessed wrong.
#[inline(always)]
fn last_of<T: Int, L: Integers<T>>(s: L, row: &[T], x: T) -> Option<usize> {
    let x = s.splat(x);
    let mut rest = row;
    // One more than its place.
    let mut last = 0;
    let mut look = |begin: usize, part: &[T]| {
        let same = s.equal_partial(part, x);
        last = if same == 0 { last } else { begin + same.ilog2() as usize + 1 };
    };
    for i in 0..TOGETHER {
        let (part, more) = rest.split_at(L::LANES.min(rest.len()));
        rest = more;
        look(i * L::LANES, part);
    }
    for (i, part) in (TOGETHER..).zip(rest.chunks(L::LANES)) {
        look(i * L::LANES, part);
    }
    last.checked_sub(1)
}
