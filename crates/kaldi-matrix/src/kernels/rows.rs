//! A matrix and a vector with a number for each of its columns or rows.
//!
//! Small matrices and narrow ones are done by plain loops on the spot: a call through [`dispatch`] costs as much as they do.

use kaldera_base::real::{Real, Vector};
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use super::elementwise::{add_scaled, convert, multiply};
use super::reduce::sum_f64_lanes;
use crate::matrix::{SubMatrix, SubMatrixMut};

/// Up to this many elements, a plain loop is the faster.
const SMALL: usize = 256;
/// Rows of fewer elements than this gain nothing from wide vectors.
const NARROW: usize = 16;

/// Every row of m += alpha v, computed in the wider of the two types.
pub(crate) fn add_to_rows<T: Real, U: Real>(alpha: T, v: &[U], mut m: SubMatrixMut<'_, T>) {
    match T::cast_slice(v) {
        Some(v) => with_each_row(v, m, move |y, x| y + alpha * x, AddScaled(alpha)),
        None => m.rows_mut().for_each(|row| add_scaled(alpha, v, row)),
    }
}

/// Column j of m *= v(j), computed in the wider of the two types.
pub(crate) fn multiply_cols<T: Real, U: Real>(v: &[U], mut m: SubMatrixMut<'_, T>) {
    match T::cast_slice(v) {
        Some(v) => with_each_row(v, m, |y, x| y * x, Multiply),
        None => m.rows_mut().for_each(|row| multiply(row, v)),
    }
}

/// Every column of m += alpha v.
pub(crate) fn add_to_cols<T: Real, U: Real>(alpha: T, v: &[U], m: SubMatrixMut<'_, T>) {
    with_each_col(v, m, move |x| T::from_f64(alpha.to_f64() * x.to_f64()), |y, x| y + x, Add);
}

/// Row i of m *= v(i).
pub(crate) fn multiply_rows<T: Real, U: Real>(v: &[U], m: SubMatrixMut<'_, T>) {
    with_each_col(v, m, convert, |y, x| y * x, Multiply);
}

/// y = f(y, x) on lanes: a closure cannot be generic over the instruction set.
trait Binary<T: Real> {
    fn lanes<S: Simd>(&self, s: T::Lanes<S>, y: Vector<T, S>, x: Vector<T, S>) -> Vector<T, S>;
}

struct Add;
impl<T: Real> Binary<T> for Add {
    #[inline(always)]
    fn lanes<S: Simd>(&self, s: T::Lanes<S>, y: Vector<T, S>, x: Vector<T, S>) -> Vector<T, S> {
        s.add(y, x)
    }
}

/// y + alpha x, not fused, so that the result is the same with each instruction set.
struct AddScaled<T>(T);
impl<T: Real> Binary<T> for AddScaled<T> {
    #[inline(always)]
    fn lanes<S: Simd>(&self, s: T::Lanes<S>, y: Vector<T, S>, x: Vector<T, S>) -> Vector<T, S> {
        s.add(y, s.mul(s.splat(self.0), x))
    }
}

struct Multiply;
impl<T: Real> Binary<T> for Multiply {
    #[inline(always)]
    fn lanes<S: Simd>(&self, s: T::Lanes<S>, y: Vector<T, S>, x: Vector<T, S>) -> Vector<T, S> {
        s.mul(y, x)
    }
}

/// Numbers of a row behind its whole vectors that are done at once. (A store through a mask would take all of them, but the
/// load of the next row, which it may overlap, waits for it.)
const FEW: usize = 4;

/// x = f(x) for what is left of a row.
#[inline(always)]
fn map_rest<T: Real>(x: &mut [T], f: impl Fn(T) -> T) {
    let (few, rest) = x.as_chunks_mut::<FEW>();
    few.iter_mut().for_each(|x| *x = x.map(&f));
    rest.iter_mut().for_each(|x| *x = f(*x));
}

/// y = f(y, x) for what is left of two rows.
#[inline(always)]
fn zip_rest<T: Real>(y: &mut [T], x: &[T], f: impl Fn(T, T) -> T) {
    let ((few_y, y), (few_x, x)) = (y.as_chunks_mut::<FEW>(), x.as_chunks::<FEW>());
    few_y.iter_mut().zip(few_x).for_each(|(y, x)| *y = std::array::from_fn(|i| f(y[i], x[i])));
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(*y, x));
}

/// y = f(y, v) for each row y: `one` for a number, `f` for lanes.
#[inline]
fn with_each_row<T: Real>(v: &[T], mut m: SubMatrixMut<'_, T>, one: impl Fn(T, T) -> T, f: impl Binary<T>) {
    struct Rows<'a, T, G, F>(&'a [T], SubMatrixMut<'a, T>, G, F);
    impl<T: Real, G: Fn(T, T) -> T, F: Binary<T>> Kernel for Rows<'_, T, G, F> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(v, mut m, one, f) = self;
            let s = T::lanes(s);
            let lanes = T::Lanes::<S>::LANES;
            let (v, v_rest) = v.split_at(v.len() / lanes * lanes);
            each_row(&mut m, |_, row| {
                let (row, rest) = row.split_at_mut(v.len());
                for (y, x) in row.chunks_exact_mut(lanes).zip(v.chunks_exact(lanes)) {
                    s.store(f.lanes::<S>(s, s.load(y), s.load(x)), y);
                }
                zip_rest(rest, v_rest, &one);
            });
        }
    }
    if v.len() >= NARROW && m.num_rows() * v.len() > SMALL {
        return dispatch(Rows(v, m, one, f));
    }
    each_row(&mut m, |_, row| row.iter_mut().zip(v).for_each(|(y, &x)| *y = one(*y, x)));
}

/// y = f(y, of(v(i))) for each number y of row i: `one` for a number, `f` for lanes.
#[inline]
fn with_each_col<T: Real, U: Real>(
    v: &[U],
    mut m: SubMatrixMut<'_, T>,
    of: impl Fn(U) -> T,
    one: impl Fn(T, T) -> T,
    f: impl Binary<T>,
) {
    struct Cols<'a, T, U, H, G, F>(&'a [U], SubMatrixMut<'a, T>, H, G, F);
    impl<T: Real, U: Real, H: Fn(U) -> T, G: Fn(T, T) -> T, F: Binary<T>> Kernel for Cols<'_, T, U, H, G, F> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(v, mut m, of, one, f) = self;
            let s = T::lanes(s);
            each_row(&mut m, |i, row| {
                let number = of(v[i]);
                let x = s.splat(number);
                let mut whole = row.chunks_exact_mut(T::Lanes::<S>::LANES);
                for y in &mut whole {
                    s.store(f.lanes::<S>(s, s.load(y), x), y);
                }
                map_rest(whole.into_remainder(), |y| one(y, number));
            });
        }
    }
    if m.num_cols() >= NARROW && m.num_cols() * v.len() > SMALL {
        return dispatch(Cols(v, m, of, one, f));
    }
    each_row(&mut m, |i, row| {
        let x = of(v[i]);
        row.iter_mut().for_each(|y| *y = one(*y, x));
    });
}

/// `f` of each row and its number. (The iterator over rows divides to know its length, which small matrices feel.)
#[inline(always)]
fn each_row<T: Real>(m: &mut SubMatrixMut<'_, T>, mut f: impl FnMut(usize, &mut [T])) {
    let (cols, stride) = (m.num_cols(), m.stride());
    for (i, row) in m.data_mut().chunks_mut(stride.max(1)).enumerate() {
        f(i, &mut row[..cols]);
    }
}

/// Row i.
#[inline(always)]
fn row<'a, T: Real>(m: &'a SubMatrix<'_, T>, i: usize) -> &'a [T] {
    &m.data()[i * m.stride()..][..m.num_cols()]
}

/// Rows that are added up before they go to the sum of all.
const ROWS: usize = 8;

/// y += alpha times the sum of the rows of m: one by one in a small matrix; else [`ROWS`] are added up in a tree, then to y,
/// and what is left over one by one.
pub(crate) fn add_row_sum<T: Real>(alpha: T, m: SubMatrix<'_, T>, y: &mut [T]) {
    struct RowSum<'a, T>(T, SubMatrix<'a, T>, &'a mut [T]);
    impl<T: Real> Kernel for RowSum<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(alpha, m, y) = self;
            let s = T::lanes(s);
            let lanes = T::Lanes::<S>::LANES;
            let (alpha, zero) = (s.splat(alpha), s.splat(T::ZERO));
            let (y, y_rest) = y.split_at_mut(y.len() / lanes * lanes);
            let rest_start = y.len();
            let mut rest = s.load_partial(y_rest, zero);
            let whole = m.num_rows() / ROWS * ROWS;
            for first in (0..whole).step_by(ROWS) {
                let rows: [&[T]; ROWS] = std::array::from_fn(|i| row(&m, first + i));
                for (i, y) in y.chunks_exact_mut(lanes).enumerate() {
                    let sum = tree::<T, S>(s, std::array::from_fn(|r| s.load(&rows[r][i * lanes..])));
                    s.store(s.add(s.load(y), s.mul(alpha, sum)), y);
                }
                if !y_rest.is_empty() {
                    let parts = std::array::from_fn(|r| s.load_partial(&rows[r][rest_start..], zero));
                    rest = s.add(rest, s.mul(alpha, tree::<T, S>(s, parts)));
                }
            }
            for r in whole..m.num_rows() {
                let row = row(&m, r);
                for (y, x) in y.chunks_exact_mut(lanes).zip(row.chunks_exact(lanes)) {
                    s.store(s.add(s.load(y), s.mul(alpha, s.load(x))), y);
                }
                if !y_rest.is_empty() {
                    rest = s.add(rest, s.mul(alpha, s.load_partial(&row[rest_start..], zero)));
                }
            }
            s.store_partial(rest, y_rest);
        }
    }
    if m.num_rows() * y.len() > SMALL {
        return dispatch(RowSum(alpha, m, y));
    }
    for i in 0..m.num_rows() {
        for (y, &x) in y.iter_mut().zip(row(&m, i)) {
            *y += alpha * x;
        }
    }
}

/// Neighbours, then neighbours of these.
#[inline(always)]
fn tree<T: Real, S: Simd>(s: T::Lanes<S>, [a, b, c, d, e, f, g, h]: [Vector<T, S>; ROWS]) -> Vector<T, S> {
    s.add(s.add(s.add(a, b), s.add(c, d)), s.add(s.add(e, f), s.add(g, h)))
}

/// y(i) += alpha times the sum of row i of m, which is taken in double precision.
pub(crate) fn add_col_sum<T: Real>(alpha: T, m: SubMatrix<'_, T>, y: &mut [T]) {
    struct ColSum<'a, T>(T, SubMatrix<'a, T>, &'a mut [T]);
    impl<T: Real> Kernel for ColSum<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(alpha, m, y) = self;
            for (i, y) in y.iter_mut().enumerate() {
                *y += alpha * T::from_f64(sum_f64_lanes(s, row(&m, i)));
            }
        }
    }
    // Up to here, four partial sums are the faster, and no other instructions are needed.
    const NARROW: usize = 20;
    if m.num_cols() > NARROW {
        return dispatch(ColSum(alpha, m, y));
    }
    for (i, y) in y.iter_mut().enumerate() {
        *y += alpha * T::from_f64(sum_of_narrow(row(&m, i)));
    }
}

/// The sum of a short row in double precision: four partial sums.
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

    /// Integers, of which sums are exact in any order; in the gaps between the rows is something else.
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
        fn any_shape_and_stride_is_done_as_a_plain_loop_does_it(
            (rows, cols) in (1_usize..40, 1_usize..150), gap in prop_oneof![Just(0_usize), 1_usize..20],
        ) {
            check::<f32>(rows, cols, gap);
            check::<f64>(rows, cols, gap);
        }

        #[test]
        fn few_elements_too(rows in 1_usize..9, cols in 1_usize..9) {
            check::<f32>(rows, cols, 3);
            check::<f64>(rows, cols, 0);
        }
    }
}
