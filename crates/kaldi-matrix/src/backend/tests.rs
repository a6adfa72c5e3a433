//! Each library of the build against simple loops in double precision.

use kaldera_base::Real;
use proptest::prelude::*;

use super::*;
use crate::backend::choice::{Element, Library};
use crate::error::Shape;
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;

const LIBRARIES: &[Library] = &[
    Library::Plain,
    #[cfg(feature = "openblas")]
    Library::OpenBlas,
    #[cfg(feature = "pure")]
    Library::Pure,
];

/// Value of the elements between the rows of a matrix, which must not change.
const GAP: f64 = 777.0;

/// Converts the number to the precision under test. For the types of ndarray-linalg, `T::from_f64`
/// is ambiguous.
fn real<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

/// Returns a number between -1 and 1 that depends on `seed` and the index.
fn random<T: Real>(seed: u64, i: usize) -> T {
    let mut x = seed ^ (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for _ in 0..2 {
        x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    T::from_f64((x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
}

fn random_vector<T: Real>(seed: u64, dim: usize) -> Vec<T> {
    (0..dim).map(|i| random(seed, i)).collect()
}

/// A random matrix with `gap` elements between its rows.
struct Strided<T> {
    data: Vec<T>,
    shape: Shape,
    stride: usize,
}

impl<T: Real> Strided<T> {
    fn new(seed: u64, shape: Shape, gap: usize) -> Self {
        let stride = shape.cols + gap;
        let element = |i| if i % stride < shape.cols { random(seed, i) } else { T::from_f64(GAP) };
        Self { data: (0..shape.rows * stride).map(element).collect(), shape, stride }
    }

    fn view(&self) -> SubMatrix<'_, T> {
        SubMatrix::new(&self.data, self.shape.rows, self.shape.cols, self.stride).unwrap()
    }

    fn view_mut(&mut self) -> SubMatrixMut<'_, T> {
        SubMatrixMut::new(&mut self.data, self.shape.rows, self.shape.cols, self.stride).unwrap()
    }

    fn gaps_are_whole(&self) -> bool {
        let gaps = self.data.chunks(self.stride.max(1)).flat_map(|row| &row[self.shape.cols..]);
        gaps.into_iter().all(|x| x.to_f64() == GAP)
    }
}

/// Returns element (r, c) of the matrix as an operand.
fn at<T: Real>(m: &MatrixBase<impl Storage<Elem = T>>, trans: Trans, r: usize, c: usize) -> f64 {
    match trans {
        Trans::No => m[(r, c)].to_f64(),
        Trans::Yes => m[(c, r)].to_f64(),
    }
}

/// Returns `true` if `found` = alpha * (sum of the terms) + beta * old, up to the rounding of sums
/// in this precision.
fn near<T: Real>(found: T, terms: impl Iterator<Item = f64> + Clone, alpha: T, beta: T, old: T) -> bool {
    let old = if beta == T::ZERO { 0.0 } else { beta.to_f64() * old.to_f64() };
    let right = alpha.to_f64() * terms.clone().sum::<f64>() + old;
    let size = alpha.to_f64().abs() * terms.clone().map(f64::abs).sum::<f64>() + old.abs();
    (found.to_f64() - right).abs() <= T::EPSILON.to_f64() * (terms.count() + 4) as f64 * size
}

fn trans() -> impl Strategy<Value = Trans> {
    prop_oneof![Just(Trans::No), Just(Trans::Yes)]
}

fn scale() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(-1.0), -2.0..2.0]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1_usize), 1_usize..20, 1_usize..150]
}

fn seen(rows: usize, cols: usize, trans: Trans) -> Shape {
    Shape { rows, cols }.seen(trans)
}

/// Input of a property test.
#[derive(Clone, Copy, Debug)]
struct Case {
    sizes: (usize, usize, usize),
    trans: (Trans, Trans),
    alpha: f64,
    beta: f64,
    gap: usize,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let sizes = (size(), size(), size());
    (sizes, (trans(), trans()), scale(), scale(), 0_usize..4, any::<u64>())
        .prop_map(|(sizes, trans, alpha, beta, gap, seed)| Case { sizes, trans, alpha, beta, gap, seed })
}

/// Returns the target: with `beta` 0 it is full of NaN, which must not reach the result.
fn target<T: Real>(case: Case, shape: Shape) -> Strided<T> {
    let mut c = Strided::new(case.seed ^ 3, shape, case.gap);
    if case.beta == 0.0 {
        c.view_mut().set(real(f64::NAN));
    }
    c
}

fn gemm_is_right<T: Element>(library: Library, case: Case) -> bool {
    let ((m, n, k), (ta, tb)) = (case.sizes, case.trans);
    let (alpha, beta) = (real(case.alpha), real(case.beta));
    let a = Strided::<T>::new(case.seed ^ 1, seen(m, k, ta), case.gap);
    let b = Strided::<T>::new(case.seed ^ 2, seen(k, n, tb), case.gap);
    let mut c = target::<T>(case, Shape { rows: m, cols: n });
    let old = c.view().to_owned();
    library.backend::<T>().gemm(alpha, (a.view(), ta), (b.view(), tb), beta, c.view_mut());
    let element = |r, j| {
        let terms = (0..k).map(|p| at(&a.view(), ta, r, p) * at(&b.view(), tb, p, j));
        near(c.view()[(r, j)], terms, alpha, beta, old[(r, j)])
    };
    c.gaps_are_whole() && (0..m).all(|r| (0..n).all(|j| element(r, j)))
}

fn gemv_is_right<T: Element>(library: Library, case: Case) -> bool {
    let ((m, n, _), (trans, _)) = (case.sizes, case.trans);
    let (alpha, beta) = (real(case.alpha), real(case.beta));
    let a = Strided::<T>::new(case.seed ^ 1, seen(m, n, trans), case.gap);
    let x = random_vector::<T>(case.seed ^ 2, n);
    let old = if beta == real(0.0) { vec![real(f64::NAN); m] } else { random_vector(case.seed ^ 3, m) };
    let mut y = old.clone();
    library.backend::<T>().gemv(alpha, a.view(), trans, &x, beta, &mut y);
    (0..m).all(|r| {
        let terms = (0..n).map(|c| at(&a.view(), trans, r, c) * x[c].to_f64());
        near(y[r], terms, alpha, beta, old[r])
    })
}

fn ger_is_right<T: Element>(library: Library, case: Case) -> bool {
    let (m, n, _) = case.sizes;
    let alpha = real(case.alpha);
    let (x, y) = (random_vector::<T>(case.seed ^ 1, m), random_vector::<T>(case.seed ^ 2, n));
    let mut a = Strided::<T>::new(case.seed ^ 3, Shape { rows: m, cols: n }, case.gap);
    let old = a.view().to_owned();
    library.backend::<T>().ger(alpha, &x, &y, a.view_mut());
    let element = |r: usize, c: usize| {
        let term = std::iter::once(x[r].to_f64() * y[c].to_f64());
        near(a.view()[(r, c)], term, alpha, real(1.0), old[(r, c)])
    };
    a.gaps_are_whole() && (0..m).all(|r| (0..n).all(|c| element(r, c)))
}

fn syrk_is_right<T: Element>(library: Library, case: Case) -> bool {
    let ((n, _, k), (trans, _)) = (case.sizes, case.trans);
    let (alpha, beta) = (real(case.alpha), real(case.beta));
    let a = Strided::<T>::new(case.seed ^ 1, seen(n, k, trans), case.gap);
    let mut c = target::<T>(case, Shape { rows: n, cols: n });
    let old = c.view().to_owned();
    library.backend::<T>().syrk(alpha, a.view(), trans, beta, c.view_mut());
    let element = |r, j| {
        let found: T = c.view()[(r, j)];
        if j > r {
            return found.to_f64().to_bits() == old[(r, j)].to_f64().to_bits();
        }
        let terms = (0..k).map(|p| at(&a.view(), trans, r, p) * at(&a.view(), trans, j, p));
        near(found, terms, alpha, beta, old[(r, j)])
    };
    c.gaps_are_whole() && (0..n).all(|r| (0..n).all(|j| element(r, j)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn gemm_is_the_sum_of_products(case in case()) {
        for &library in LIBRARIES {
            prop_assert!(gemm_is_right::<f32>(library, case), "{library:?} f32");
            prop_assert!(gemm_is_right::<f64>(library, case), "{library:?} f64");
        }
    }

    #[test]
    fn gemv_is_the_sum_of_products(case in case()) {
        for &library in LIBRARIES {
            prop_assert!(gemv_is_right::<f32>(library, case), "{library:?} f32");
            prop_assert!(gemv_is_right::<f64>(library, case), "{library:?} f64");
        }
    }

    #[test]
    fn ger_is_the_outer_product(case in case()) {
        for &library in LIBRARIES {
            prop_assert!(ger_is_right::<f32>(library, case), "{library:?} f32");
            prop_assert!(ger_is_right::<f64>(library, case), "{library:?} f64");
        }
    }

    #[test]
    fn syrk_is_the_lower_triangle_of_the_product(case in case()) {
        for &library in LIBRARIES {
            prop_assert!(syrk_is_right::<f32>(library, case), "{library:?} f32");
            prop_assert!(syrk_is_right::<f64>(library, case), "{library:?} f64");
        }
    }
}

#[test]
fn beta_scales_without_a_product() {
    let nan = f32::NAN;
    for (rows, cols) in [(0, 0), (0, 2), (2, 0), (2, 2)] {
        let empty = Matrix::<f32>::zeros(rows, 0);
        let other = Matrix::<f32>::zeros(0, cols);
        let mut c = Matrix::from_fn(rows, cols, |_, _| 3.0);
        gemm(1.0, (empty.view(), Trans::No), (other.view(), Trans::No), 2.0, c.view_mut());
        assert_eq!(c, Matrix::from_fn(rows, cols, |_, _| 6.0));
        c.set(nan);
        gemm(1.0, (empty.view(), Trans::No), (other.view(), Trans::No), 0.0, c.view_mut());
        assert_eq!(c, Matrix::zeros(rows, cols));
    }
    let nans = Matrix::from_fn(2, 2, |_, _| nan);
    let mut c = Matrix::from_fn(2, 2, |_, _| 3.0);
    gemm(0.0, (nans.view(), Trans::No), (nans.view(), Trans::No), 2.0, c.view_mut());
    ger(0.0, &[nan; 2], &[nan; 2], c.view_mut());
    assert_eq!(c.data(), [6.0; 4]);
    syrk(0.0, nans.view(), Trans::No, 0.5, c.view_mut());
    assert_eq!(c.data(), [3.0, 6.0, 3.0, 3.0]);
    let mut y = [nan; 2];
    gemv(1.0, Matrix::zeros(2, 0).view(), Trans::No, &[], 0.0, &mut y);
    assert_eq!(y, [0.0; 2]);
}

#[cfg(any(feature = "openblas", feature = "pure"))]
mod decompositions {
    use super::*;

    fn libraries() -> impl Iterator<Item = Library> {
        LIBRARIES.iter().copied().filter(|&library| library != Library::Plain)
    }

    /// Returns the largest entry of A - L diag(s) R, where column i of L belongs to value i and to
    /// row i of R.
    fn residual<T: Real>(a: SubMatrix<'_, T>, l: &Matrix<T>, s: &[T], r: impl Fn(usize, usize) -> T) -> f64 {
        let mut largest = 0.0_f64;
        for i in 0..a.num_rows() {
            for j in 0..a.num_cols() {
                let product = |p: usize| l[(i, p)].to_f64() * s[p].to_f64() * r(p, j).to_f64();
                let sum: f64 = (0..s.len()).map(product).sum();
                largest = largest.max((a[(i, j)].to_f64() - sum).abs());
            }
        }
        largest
    }

    /// Returns the largest entry of M' M - 1.
    fn skewness<T: Real>(m: &Matrix<T>) -> f64 {
        let mut largest = 0.0_f64;
        for i in 0..m.num_cols() {
            for j in 0..m.num_cols() {
                let dot: f64 = (0..m.num_rows()).map(|r| m[(r, i)].to_f64() * m[(r, j)].to_f64()).sum();
                let unit = if i == j { 1.0 } else { 0.0 };
                largest = largest.max((dot - unit).abs());
            }
        }
        largest
    }

    /// Returns a bound that grows like the rounding errors of orthogonal transformations; the
    /// constant has room for both libraries.
    fn tolerance<T: Real>(size: usize) -> f64 {
        T::EPSILON.to_f64() * 10.0 * (size + 4) as f64
    }

    fn eigh_is_right<T: Element>(library: Library, n: usize, seed: u64) {
        let half = Strided::<T>::new(seed, Shape { rows: n, cols: n }, 0);
        let half = half.view();
        let a = Matrix::from_fn(n, n, |r, c| half[(r.max(c), r.min(c))]);
        let (mut s, mut v) = (vec![real(0.0); n], Matrix::zeros(n, n));
        library.backend::<T>().eigh(a.view(), &mut s, v.view_mut()).unwrap();
        let error = residual(a.view(), &v, &s, |p, c| v[(c, p)]);
        assert!(error <= tolerance::<T>(n), "{library:?}, {n}: {error}");
        assert!(skewness(&v) <= tolerance::<T>(n), "{library:?}, {n}");
    }

    fn svd_is_right<T: Element>(library: Library, rows: usize, cols: usize, gap: usize, seed: u64) {
        let a = Strided::<T>::new(seed, Shape { rows, cols }, gap);
        let k = rows.min(cols);
        let (mut u, mut s, mut vt) = (Matrix::zeros(rows, k), vec![real(0.0); k], Matrix::zeros(k, cols));
        library.backend::<T>().svd(a.view(), u.view_mut(), &mut s, vt.view_mut()).unwrap();
        let error = residual(a.view(), &u, &s, |p, c| vt[(p, c)]);
        let tolerance = tolerance::<T>(rows.max(cols));
        assert!(error <= tolerance, "{library:?}, {rows} x {cols}: {error}");
        assert!(skewness(&u) <= tolerance && skewness(&vt.transposed()) <= tolerance, "{library:?}, {rows} x {cols}");
        assert!(s.iter().all(|&x| x >= real(0.0)));
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        for library in libraries() {
            for n in (1..12).chain([31, 32, 33, 64, 100]) {
                eigh_is_right::<f32>(library, n, n as u64);
                eigh_is_right::<f64>(library, n, n as u64);
            }
        }
    }

    #[test]
    fn singular_vectors_rebuild_the_matrix() {
        for library in libraries() {
            for rows in [1, 2, 3, 5, 16, 40, 70] {
                for cols in [1, 2, 3, 4, 17, 40, 90] {
                    svd_is_right::<f32>(library, rows, cols, rows % 3, (rows * 100 + cols) as u64);
                    svd_is_right::<f64>(library, rows, cols, cols % 2, (rows * 100 + cols) as u64);
                }
            }
        }
    }

    #[test]
    fn singular_values_alone_are_those_of_the_decomposition() {
        for library in libraries() {
            for (rows, cols) in [(1, 1), (3, 7), (7, 3), (40, 40), (70, 9)] {
                let a = Strided::<f64>::new(5, Shape { rows, cols }, 2);
                let k = rows.min(cols);
                let (mut u, mut vt) = (Matrix::zeros(rows, k), Matrix::zeros(k, cols));
                let (mut whole, mut alone) = (vec![0.0; k], vec![0.0; k]);
                library.backend::<f64>().svd(a.view(), u.view_mut(), &mut whole, vt.view_mut()).unwrap();
                library.backend::<f64>().singular_values(a.view(), &mut alone).unwrap();
                whole.sort_by(f64::total_cmp);
                alone.sort_by(f64::total_cmp);
                assert!(whole.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-13 * rows.max(cols) as f64));
            }
        }
    }

    /// Computes the determinant of a small matrix, by the definition.
    fn determinant(m: &Matrix<f64>) -> f64 {
        let n = m.num_rows();
        if n == 0 {
            return 1.0;
        }
        let minor = |c: usize| Matrix::from_fn(n - 1, n - 1, |r, j| m[(r + 1, if j < c { j } else { j + 1 })]);
        (0..n).map(|c| if c % 2 == 0 { m[(0, c)] } else { -m[(0, c)] } * determinant(&minor(c))).sum()
    }

    /// Returns `true` if `det` is the determinant up to rounding. The bound on its cancellation is
    /// the product of the rows' sizes.
    fn is_determinant(det: LogDet<f64>, a: &Matrix<f64>, epsilon: f64) -> bool {
        let right = determinant(a);
        let size: f64 = a.rows().map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).product();
        (det.sign * det.log.exp() - right).abs() <= 100.0 * epsilon * size
    }

    /// Returns the largest entry of A X - 1 divided by the size of its rounding errors.
    fn inverse_error<T: Real>(a: SubMatrix<'_, T>, x: impl Fn(usize, usize) -> T) -> f64 {
        let n = a.num_rows();
        let mut largest = 0.0_f64;
        for r in 0..n {
            for c in 0..n {
                let terms = || (0..n).map(|k| a[(r, k)].to_f64() * x(k, c).to_f64());
                let unit = if r == c { 1.0 } else { 0.0 };
                let size: f64 = terms().map(f64::abs).sum();
                largest = largest.max((terms().sum::<f64>() - unit).abs() / size.max(1.0));
            }
        }
        largest
    }

    fn double<T: Real>(m: SubMatrix<'_, T>) -> Matrix<f64> {
        Matrix::from_fn(m.num_rows(), m.num_cols(), |r, c| m[(r, c)].to_f64())
    }

    fn inverses_are_right<T: Element>(library: Library, n: usize, seed: u64) {
        let epsilon = <T as kaldera_base::Real>::EPSILON.to_f64();
        let a = Strided::<T>::new(seed, Shape { rows: n, cols: n }, n % 3);
        let mut x = Strided::<T>::new(0, Shape { rows: n, cols: n }, 2);
        let det = library.backend::<T>().invert(a.view(), Some(x.view_mut())).unwrap();
        // With pivoting the errors of each row are small compared with the condition, which is
        // about n for random matrices.
        let bound = 1000.0 * epsilon * (n * n) as f64;
        let error = inverse_error(a.view(), |r, c| x.view()[(r, c)]);
        assert!(x.gaps_are_whole() && error <= bound, "{library:?} {n} {seed}: {error}");
        assert!(n > 6 || is_determinant(det, &double(a.view()), epsilon), "{library:?} {n} {seed}: {det:?}");
        assert_eq!(library.backend::<T>().invert(a.view(), None).unwrap(), det);

        // The lower triangle on both sides: symmetric, with eigenvalues of both signs. Zeros on the
        // diagonal make blocks of two rows.
        let zeros = !n.is_multiple_of(3);
        let half = a.view();
        let element = |r: usize, c: usize| if r == c && zeros { real(0.0) } else { half[(r.max(c), r.min(c))] };
        let s = Matrix::from_fn(n, n, element);
        if n == 1 && zeros {
            return;
        }
        let det = library.backend::<T>().invert_symmetric(s.view(), Some(x.view_mut())).unwrap();
        let error = inverse_error(s.view(), |r, c| x.view()[(r.max(c), r.min(c))]);
        assert!(x.gaps_are_whole() && error <= bound, "symmetric, {library:?} {n} {seed}: {error}");
        assert!(n > 6 || is_determinant(det, &double(s.view()), epsilon), "symmetric, {library:?} {n} {seed}: {det:?}");
        let general = library.backend::<T>().invert(s.view(), None).unwrap();
        assert!((general.log - det.log).abs() < bound && general.sign == det.sign, "{general:?} {det:?}");
    }

    #[test]
    fn inverses_times_the_matrix_are_the_unit_matrix() {
        for library in libraries() {
            for n in (1..12).chain([31, 64, 65, 130]) {
                inverses_are_right::<f32>(library, n, n as u64);
                inverses_are_right::<f64>(library, n, n as u64);
            }
            for seed in 100..150 {
                inverses_are_right::<f64>(library, 5, seed);
                inverses_are_right::<f64>(library, 6, seed);
            }
        }
    }

    #[test]
    fn singular_matrices_have_no_inverse() {
        for library in libraries() {
            for (n, zero) in [(1, 0), (2, 0), (2, 1), (5, 3), (70, 40)] {
                let half = Strided::<f64>::new(1, Shape { rows: n, cols: n }, 0);
                let element =
                    |r: usize, c: usize| if r == zero || c == zero { 0.0 } else { half.view()[(r.max(c), r.min(c))] };
                let s = Matrix::from_fn(n, n, element);
                let mut x = Matrix::zeros(n, n);
                assert_eq!(
                    library.backend::<f64>().invert(s.view(), Some(x.view_mut())),
                    Some(LogDet::SINGULAR),
                    "{library:?} {n}"
                );
                let det = library.backend::<f64>().invert_symmetric(s.view(), Some(x.view_mut()));
                assert_eq!(det, Some(LogDet::SINGULAR), "symmetric, {library:?} {n}");
            }
        }
    }

    #[test]
    fn eigenvectors_of_general_matrices_are_turned_by_their_values() {
        for library in libraries() {
            for n in (1..12).chain([31, 64, 100]) {
                let a = Strided::<f64>::new(n as u64, Shape { rows: n, cols: n }, n % 3);
                let (mut re, mut im, mut p) = (vec![0.0; n], vec![0.0; n], Matrix::zeros(n, n));
                library.backend::<f64>().eig(a.view(), &mut re, &mut im, p.view_mut()).unwrap();
                for c in 0..n {
                    let product = |r: usize, c: usize| (0..n).map(|k| a.view()[(r, k)] * p[(k, c)]).sum::<f64>();
                    let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * n as f64;
                    if im[c] > 0.0 {
                        assert!(re[c] == re[c + 1] && im[c] == -im[c + 1], "{library:?} {n}");
                    }
                    // A (x + iy) = (re + i im) (x + iy)
                    let (x, y, sign) =
                        if im[c] < 0.0 { (c - 1, c, -1.0) } else { (c, c + usize::from(im[c] > 0.0), 1.0) };
                    let im = sign * im[c];
                    for r in 0..n {
                        let y_entry = if im == 0.0 { 0.0 } else { p[(r, y)] };
                        assert!(near(product(r, x), re[c] * p[(r, x)] - im * y_entry), "{library:?} {n}");
                        assert!(near(product(r, y), re[c] * p[(r, y)] + im * p[(r, x)]), "{library:?} {n}");
                    }
                }
            }
        }
    }
}
