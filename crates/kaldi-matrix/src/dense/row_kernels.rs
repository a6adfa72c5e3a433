//! Kernels of a matrix and a vector with a number for each of its columns or rows.
//!
//! Most loops are plain; [`dispatch`] compiles them for each instruction set. Small and narrow
//! matrices do not use it: a call through [`dispatch`] would cost as much as the loop.

use kaldera_base::kernel;
use kaldera_base::real::{Real, Vector};
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::kernels::{add_scaled, convert, multiply, sum_f64_lanes};
use crate::matrix::{SubMatrix, SubMatrixMut};

/// Largest number of elements that are computed without [`dispatch`].
const SMALL: usize = 256;
/// Rows of fewer elements than this gain nothing from wide vectors.
const NARROW: usize = 16;

/// Adds alpha v to every row of m, computed in the wider of the two types.
#[inline]
pub(crate) fn add_to_rows<T: Real, U: Real>(alpha: T, v: &[U], mut m: SubMatrixMut<'_, T>) {
    match T::cast_slice(v) {
        Some(v) => with_each_row(v, m.stride(), m.data_mut(), move |y, x| y + alpha * x),
        None => m.rows_mut().for_each(|row| add_scaled(alpha, v, row)),
    }
}

/// Multiplies column j of m by v(j), computed in the wider of the two types.
pub(crate) fn multiply_cols<T: Real, U: Real>(v: &[U], mut m: SubMatrixMut<'_, T>) {
    match T::cast_slice(v) {
        Some(v) => with_each_row(v, m.stride(), m.data_mut(), |y, x| y * x),
        None => m.rows_mut().for_each(|row| multiply(row, v)),
    }
}

/// Adds alpha v to every column of m.
pub(crate) fn add_to_cols<T: Real, U: Real>(alpha: T, v: &[U], m: SubMatrixMut<'_, T>) {
    with_each_col(v, m, move |x| T::from_f64(alpha.to_f64() * x.to_f64()), |y, x| y + x);
}

/// Multiplies row i of m by v(i).
pub(crate) fn multiply_rows<T: Real, U: Real>(v: &[U], m: SubMatrixMut<'_, T>) {
    with_each_col(v, m, convert, |y, x| y * x);
}

/// Calls [`dispatch`] in a separate function, so that the small case next to it need not save
/// registers for the large one.
#[inline(never)]
fn dispatch_apart<K: Kernel>(kernel: K) -> K::Output {
    dispatch(kernel)
}

/// `y = f(y, v)` for each row y of `m`, whose rows have the length of v.
#[inline]
fn with_each_row<T: Real>(v: &[T], stride: usize, m: &mut [T], f: impl Fn(T, T) -> T) {
    struct Rows<'a, T, F>(&'a [T], usize, &'a mut [T], F);
    impl<T: Real, F: Fn(T, T) -> T> Kernel for Rows<'_, T, F> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            row_by_row(self.0, self.1, self.2, self.3);
        }
    }
    #[inline(always)]
    fn row_by_row<T: Real>(v: &[T], stride: usize, m: &mut [T], f: impl Fn(T, T) -> T) {
        for row in m.chunks_mut(stride.max(1)) {
            row[..v.len()].iter_mut().zip(v).for_each(|(y, &x)| *y = f(*y, x));
        }
    }
    if v.len() < NARROW || m.len() <= SMALL {
        row_by_row(v, stride, m, f);
    } else {
        dispatch_apart(Rows(v, stride, m, f))
    }
}

/// `y = f(y, of(v(i)))` for each number y of row i.
#[inline]
fn with_each_col<T: Real, U: Real>(v: &[U], m: SubMatrixMut<'_, T>, of: impl Fn(U) -> T, f: impl Fn(T, T) -> T) {
    struct Cols<'a, T, U, G, F>(&'a [U], SubMatrixMut<'a, T>, G, F);
    impl<T: Real, U: Real, G: Fn(U) -> T, F: Fn(T, T) -> T> Cols<'_, T, U, G, F> {
        #[inline(always)]
        fn go(self) {
            let Self(v, mut m, of, f) = self;
            each_row(&mut m, |i, row| {
                let x = of(v[i]);
                row.iter_mut().for_each(|y| *y = f(*y, x));
            });
        }
    }
    impl<T: Real, U: Real, G: Fn(U) -> T, F: Fn(T, T) -> T> Kernel for Cols<'_, T, U, G, F> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            self.go();
        }
    }
    let cols = m.num_cols();
    if cols < NARROW || cols * v.len() <= SMALL { Cols(v, m, of, f).go() } else { dispatch_apart(Cols(v, m, of, f)) }
}

/// Calls `f` with each row and its number. (The iterator over rows divides to compute its length,
/// which is slow for small matrices.)
#[inline(always)]
fn each_row<T: Real>(m: &mut SubMatrixMut<'_, T>, mut f: impl FnMut(usize, &mut [T])) {
    let (cols, stride) = (m.num_cols(), m.stride());
    for (i, row) in m.data_mut().chunks_mut(stride.max(1)).enumerate() {
        f(i, &mut row[..cols]);
    }
}

/// Returns row i.
#[inline(always)]
fn row<'a, T: Real>(m: &'a SubMatrix<'_, T>, i: usize) -> &'a [T] {
    &m.data()[i * m.stride()..][..m.num_cols()]
}

/// Adds alpha times the sum of the rows of m to y: one by one in a small matrix. Otherwise [`ROWS`]
/// rows are added in a tree, then to y, and the remaining rows one by one.
pub(crate) fn add_row_sum<T: Real>(alpha: T, m: SubMatrix<'_, T>, y: &mut [T]) {
    struct RowSum<'a, T>(T, SubMatrix<'a, T>, &'a mut [T]);
    impl<T: Real> Kernel for RowSum<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(alpha, m, y) = self;
            let s = T::lanes(s);
            let lanes = T::Lanes::<S>::LANES;
            let (a, zero) = (s.splat(alpha), s.splat(T::ZERO));
            let whole = m.num_rows() / ROWS * ROWS;
            let (y_lanes, y_rest) = y.split_at_mut(y.len() / lanes * lanes);
            // The end of y stays in a register: loading it right after a masked store would be
            // slow.
            let mut rest = s.load_partial(y_rest, zero);
            for first in (0..whole).step_by(ROWS) {
                let rows: [&[T]; ROWS] = std::array::from_fn(|i| row(&m, first + i));
                for (i, y) in y_lanes.chunks_exact_mut(lanes).enumerate() {
                    let sum = sum_of_rows::<T, S>(s, rows.map(|row| &row[i * lanes..]));
                    s.store(s.add(s.load(y), s.mul(a, sum)), y);
                }
                if !y_rest.is_empty() {
                    let sum = sum_of_rests::<T, S>(s, rows.map(|row| &row[y_lanes.len()..]));
                    rest = s.add(rest, s.mul(a, sum));
                }
            }
            s.store_partial(rest, y_rest);
            add_rows_one_by_one(alpha, &m, whole, y);
        }
    }
    if m.num_rows() * y.len() <= SMALL {
        add_rows_one_by_one(alpha, &m, 0, y);
    } else {
        dispatch(RowSum(alpha, m, y));
    }
}

/// Number of rows that are added before they go to the total.
const ROWS: usize = 8;

/// Adds the first vector of each row, in a tree.
#[inline(always)]
fn sum_of_rows<T: Real, S: Simd>(s: T::Lanes<S>, [a, b, c, d, e, f, g, h]: [&[T]; ROWS]) -> Vector<T, S> {
    let ab_cd = s.add(s.add(s.load(a), s.load(b)), s.add(s.load(c), s.load(d)));
    s.add(ab_cd, s.add(s.add(s.load(e), s.load(f)), s.add(s.load(g), s.load(h))))
}

/// Adds the end of each row, less than a vector, in the same tree.
#[inline(always)]
fn sum_of_rests<T: Real, S: Simd>(s: T::Lanes<S>, rows: [&[T]; ROWS]) -> Vector<T, S> {
    let mut terms = [s.splat(T::ZERO); ROWS];
    for (term, row) in terms.iter_mut().zip(rows) {
        *term = s.load_partial(row, *term);
    }
    let [a, b, c, d, e, f, g, h] = terms;
    s.add(s.add(s.add(a, b), s.add(c, d)), s.add(s.add(e, f), s.add(g, h)))
}

/// Adds alpha times each row from `first` on to y.
#[inline(always)]
fn add_rows_one_by_one<T: Real>(alpha: T, m: &SubMatrix<'_, T>, first: usize, y: &mut [T]) {
    for i in first..m.num_rows() {
        for (y, &x) in y.iter_mut().zip(row(m, i)) {
            *y += alpha * x;
        }
    }
}

/// Adds alpha times the sum of row i of m to y(i). The sum is in double precision.
pub(crate) fn add_col_sum<T: Real>(alpha: T, m: SubMatrix<'_, T>, y: &mut [T]) {
    // Up to this width, four partial sums are faster, and no other instructions are needed.
    const NARROW: usize = 20;
    if m.num_cols() > NARROW {
        return dispatch(kernel!(<'a, T: Real>(s: S, alpha: T, m: SubMatrix<'a, T>, y: &'a mut [T]) {
            for (i, y) in y.iter_mut().enumerate() {
                *y += alpha * T::from_f64(sum_f64_lanes(s, row(&m, i)));
            }
        }));
    }
    // And up to this width, one sum is.
    const NARROWEST: usize = 7;
    if m.num_cols() <= NARROWEST {
        for (i, y) in y.iter_mut().enumerate() {
            *y += alpha * T::from_f64(row(&m, i).iter().map(|x| x.to_f64()).sum());
        }
        return;
    }
    for (i, y) in y.iter_mut().enumerate() {
        *y += alpha * T::from_f64(sum_of_narrow(row(&m, i)));
    }
}

/// Returns the sum of a short row in double precision: four partial sums.
#[inline(always)]
fn sum_of_narrow<T: Real>(row: &[T]) -> f64 {
    let mut sums = [0.0; 4];
    let (blocks, rest) = row.as_chunks::<4>();
    for block in blocks {
        for (sum, x) in sums.iter_mut().zip(block) {
            *sum += x.to_f64();
        }
    }
    let [a, b, c, d] = sums;
    match *rest {
        [x] => ((a + x.to_f64()) + c) + (b + d),
        [x, y] => ((a + x.to_f64()) + c) + ((b + y.to_f64()) + d),
        [x, y, z] => ((a + x.to_f64()) + (c + z.to_f64())) + ((b + y.to_f64()) + d),
        _ => (a + c) + (b + d),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matrix::{Matrix, MatrixBase};

    /// Returns a matrix of integers, whose sums are exact in any order, with other values in the
    /// gaps between the rows.
    fn matrix<T: Real>(rows: usize, cols: usize, gap: usize) -> Matrix<T> {
        Matrix::from_fn(
            rows,
            cols + gap,
            |r, c| T::from_f64(if c < cols { (r * 13 + c * 7) % 23 } else { 1000 } as f64),
        )
    }

    fn check<T: Real>(rows: usize, cols: usize, gap: usize) {
        let all = matrix::<T>(rows, cols, gap);
        let m = all.range(0, rows, 0, cols).unwrap();
        let alpha = T::from_f64(3.0);
        let of = |len: usize| (0..len).map(|i| T::from_f64((i % 17) as f64 - 5.0)).collect::<Vec<T>>();
        let at = |r: usize, c: usize| m[(r, c)];

        let mut y = of(cols);
        add_row_sum(alpha, m, &mut y);
        let sum = |c: usize| (0..rows).map(|r| at(r, c)).sum::<T>();
        assert!((0..cols).all(|c| y[c] == of(cols)[c] + alpha * sum(c)), "add_row_sum {rows} x {cols}");

        let mut y = of(rows);
        add_col_sum(alpha, m, &mut y);
        let sum = |r: usize| (0..cols).map(|c| at(r, c)).sum::<T>();
        assert!((0..rows).all(|r| y[r] == of(rows)[r] + alpha * sum(r)), "add_col_sum {rows} x {cols}");

        let by_col = |f: fn(T, T) -> T| move |y: T, _: usize, c: usize| f(y, of(cols)[c]);
        let by_row = |f: fn(T, T) -> T| move |y: T, r: usize, _: usize| f(y, of(rows)[r]);
        let try_out =
            |name: &str, change: &dyn Fn(SubMatrixMut<'_, T>), expected: &dyn Fn(T, usize, usize) -> T| {
                let mut changed = all.clone();
                change(changed.range_mut(0, rows, 0, cols).unwrap());
                let right = MatrixBase::from_fn(rows, cols + gap, |r, c| {
                    if c < cols { expected(all[(r, c)], r, c) } else { all[(r, c)] }
                });
                assert!(changed.data() == right.data(), "{name} {rows} x {cols}");
            };
        let add = |y, x| y + T::from_f64(3.0) * x;
        try_out("add_to_rows", &|m| add_to_rows(alpha, &of(cols), m), &by_col(add));
        try_out("add_to_cols", &|m| add_to_cols(alpha, &of(rows), m), &by_row(add));
        try_out("multiply_cols", &|m| multiply_cols(&of(cols), m), &by_col(|y, x| y * x));
        try_out("multiply_rows", &|m| multiply_rows(&of(rows), m), &by_row(|y, x| y * x));
        // And with a vector of doubles.
        let wide = |len| of(len).iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        try_out("add_to_rows, doubles", &|m| add_to_rows(alpha, &wide(cols), m), &by_col(add));
        try_out("multiply_rows, doubles", &|m| multiply_rows(&wide(rows), m), &by_row(|y, x| y * x));
    }

    proptest! {
        #[test]
        fn any_shape_and_stride_equals_a_plain_loop(
            (rows, cols) in (1_usize..40, 1_usize..150), gap in prop_oneof![Just(0_usize), 1_usize..20],
        ) {
            check::<f32>(rows, cols, gap);
            check::<f64>(rows, cols, gap);
        }

        #[test]
        fn small_matrices_equal_a_plain_loop(rows in 1_usize..9, cols in 1_usize..9) {
            check::<f32>(rows, cols, 3);
            check::<f64>(rows, cols, 0);
        }
    }
}
