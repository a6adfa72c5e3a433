//! Packed matrices against loops over whole ones that a reader believes at sight, in both
//! precisions.
//!
//! With `KALDERA_BACKEND=openblas` and `=pure` the same tests try the libraries.

use kaldera_base::Real;
use kaldi_matrix::packed::{
    trace_mat_sp_mat, trace_mat_sp_mat_sp, trace_sp_mat, trace_sp_sp, trace_sp_sp_lower, vec_sp_vec,
};
use kaldi_matrix::{Error, Matrix, SpMatrix, TpMatrix, Trans, Vector};
use proptest::prelude::*;

/// Sizes, scales and the numbers that matrices are made of: quarters, so that f32 rounds little.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    k: usize,
    trans: (Trans, Trans),
    alpha: f64,
    beta: f64,
    numbers: Vec<i8>,
}

fn case() -> impl Strategy<Value = Case> {
    let trans = || prop_oneof![Just(Trans::No), Just(Trans::Yes)];
    let scale = || prop_oneof![Just(0.0), Just(1.0), Just(-0.5), Just(2.0)];
    let numbers = proptest::collection::vec(prop_oneof![Just(0_i8), -8_i8..8], 1024);
    (0_usize..20, 0_usize..20, (trans(), trans()), scale(), scale(), numbers)
        .prop_map(|(n, k, trans, alpha, beta, numbers)| Case { n, k, trans, alpha, beta, numbers })
}

impl Case {
    /// Number `i` of those that belong to `seed`.
    fn number<T: Real>(&self, seed: usize, i: usize) -> T {
        T::from_f64(f64::from(self.numbers[(seed * 131 + i) % self.numbers.len()]) / 4.0)
    }

    fn vector<T: Real>(&self, seed: usize, dim: usize) -> Vector<T> {
        (0..dim).map(|i| self.number(seed, i)).collect()
    }

    fn matrix<T: Real>(&self, seed: usize, rows: usize, cols: usize) -> Matrix<T> {
        Matrix::from_fn(rows, cols, |r, c| self.number(seed, r * cols + c))
    }

    /// The matrix that is `rows` x `cols` as an operand.
    fn operand<T: Real>(&self, seed: usize, rows: usize, cols: usize, trans: Trans) -> Matrix<T> {
        let (rows, cols) = if trans == Trans::Yes { (cols, rows) } else { (rows, cols) };
        self.matrix(seed, rows, cols)
    }

    fn sp<T: Real>(&self, seed: usize, dim: usize) -> SpMatrix<T> {
        SpMatrix::from_fn(dim, |r, c| self.number(seed, r * (r + 1) / 2 + c))
    }

    fn tp<T: Real>(&self, seed: usize, dim: usize) -> TpMatrix<T> {
        TpMatrix::from_fn(dim, |r, c| self.number(seed, r * (r + 1) / 2 + c))
    }

    /// The target; with `beta` 0 it is full of NaN, which must not come through.
    fn target<T: Real>(&self, seed: usize, i: usize) -> T {
        if self.beta == 0.0 { T::from_f64(f64::NAN) } else { self.number(seed, i) }
    }

    fn scales<T: Real>(&self) -> (T, T) {
        (T::from_f64(self.alpha), T::from_f64(self.beta))
    }

    /// Is `found` = alpha * sum + beta * old, as near as some hundred roundings of these sizes
    /// allow?
    fn near<T: Real>(&self, found: T, sum: f64, old: T) -> bool {
        let old = if self.beta == 0.0 { 0.0 } else { self.beta * old.to_f64() };
        (found.to_f64() - self.alpha * sum - old).abs() <= 4000.0 * T::EPSILON.to_f64()
    }
}

/// A whole matrix in double precision.
#[derive(Clone)]
struct Whole(Matrix<f64>);

impl Whole {
    fn new<T: Real>(m: &Matrix<T>, trans: Trans) -> Self {
        match trans {
            Trans::No => Self(Matrix::from_fn(m.num_rows(), m.num_cols(), |r, c| m[(r, c)].to_f64())),
            Trans::Yes => Self(Matrix::from_fn(m.num_cols(), m.num_rows(), |r, c| m[(c, r)].to_f64())),
        }
    }

    fn sp<T: Real>(s: &SpMatrix<T>) -> Self {
        Self(Matrix::from_fn(s.dim(), s.dim(), |r, c| s[(r, c)].to_f64()))
    }

    fn tp<T: Real>(t: &TpMatrix<T>, trans: Trans) -> Self {
        Self::new(&Matrix::from_fn(t.dim(), t.dim(), |r, c| t[(r, c)]), trans)
    }

    fn diag<T: Real>(v: &Vector<T>) -> Self {
        Self(Matrix::from_fn(v.dim(), v.dim(), |r, c| if r == c { v[r].to_f64() } else { 0.0 }))
    }

    fn times(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        assert_eq!(a.num_cols(), b.num_rows());
        Self(Matrix::from_fn(a.num_rows(), b.num_cols(), |r, c| (0..a.num_cols()).map(|k| a[(r, k)] * b[(k, c)]).sum()))
    }

    fn transposed(&self) -> Self {
        Self(self.0.transposed())
    }

    fn trace(&self) -> f64 {
        (0..self.0.num_rows()).map(|i| self.0[(i, i)]).sum()
    }
}

/// Does `change` make `alpha * right + beta * old` of a symmetric target?
fn sp_becomes<T: Real>(case: &Case, right: &Whole, change: impl Fn(&mut SpMatrix<T>) -> Result<(), Error>) -> bool {
    let old = SpMatrix::from_fn(case.n, |r, c| case.target(9, r * (r + 1) / 2 + c));
    let mut new = old.clone();
    change(&mut new).unwrap();
    (0..case.n).all(|r| (0..=r).all(|c| case.near(new[(r, c)], right.0[(r, c)], old[(r, c)])))
}

/// Does `change` make `alpha * right + beta * old` of a target of the shape of `right`?
fn matrix_becomes<T: Real>(case: &Case, right: &Whole, change: impl Fn(&mut Matrix<T>) -> Result<(), Error>) -> bool {
    let (rows, cols) = (right.0.num_rows(), right.0.num_cols());
    let old = Matrix::from_fn(rows, cols, |r, c| case.target(9, r * cols + c));
    let mut new = old.clone();
    change(&mut new).unwrap();
    (0..rows).all(|r| (0..cols).all(|c| case.near(new[(r, c)], right.0[(r, c)], old[(r, c)])))
}

fn additions_to_symmetric_matrices<T: Real>(case: &Case) {
    let Case { n, k, trans: (trans, _), .. } = *case;
    let (alpha, beta) = case.scales::<T>();
    let m = case.operand::<T>(1, n, k, trans);
    let (s, t, inner) = (case.sp::<T>(2, n), case.tp::<T>(3, n), case.sp::<T>(4, k));
    let (v, w, x) = (case.vector::<T>(5, n), case.vector::<T>(6, n), case.vector::<T>(7, k));
    let whole = Whole::new(&m, trans);
    let product = whole.times(&whole.transposed());
    assert!(sp_becomes(case, &product, |to| to.add_mat2(alpha, &m, trans, beta)));
    let product = whole.times(&Whole::sp(&inner)).times(&whole.transposed());
    assert!(sp_becomes(case, &product, |to| to.add_mat2_sp(alpha, &m, trans, &inner, beta)));
    assert!(sp_becomes(case, &product, |to| to.add_smat2_sp(alpha, &m, trans, &inner, beta)));
    let product = whole.times(&Whole::diag(&x)).times(&whole.transposed());
    assert!(sp_becomes(case, &product, |to| to.add_mat2_vec(alpha, &m, trans, &x, beta)));
    let whole = Whole::tp(&t, trans);
    assert!(sp_becomes(case, &whole.times(&whole.transposed()), |to| to.add_tp2(alpha, &t, trans, beta)));
    let product = whole.times(&Whole::sp(&s)).times(&whole.transposed());
    assert!(sp_becomes(case, &product, |to| to.add_tp2_sp(alpha, &t, trans, &s, beta)));
    let product = Whole::diag(&v).times(&Whole::sp(&s)).times(&Whole::diag(&v));
    assert!(sp_becomes(case, &product, |to| to.add_vec2_sp(alpha, &v, &s, beta)));

    let case = &Case { beta: 1.0, ..case.clone() };
    assert!(sp_becomes(case, &Whole::sp(&s), |to| to.add_sp(alpha, &s)));
    assert!(sp_becomes(case, &Whole::diag(&v), |to| to.add_diag_vec(alpha, &v)));
    let outer = |a: &Vector<T>, b: &Vector<T>| Matrix::from_fn(n, n, |r, c| a[r].to_f64() * b[c].to_f64());
    assert!(sp_becomes(case, &Whole(outer(&v, &v)), |to| to.add_vec2(alpha, &v)));
    let both = Matrix::from_fn(n, n, |r, c| outer(&v, &w)[(r, c)] + outer(&w, &v)[(r, c)]);
    assert!(sp_becomes(case, &Whole(both), |to| to.add_vec_vec(alpha, &v, &w)));
    let double: Vector<f64> = v.iter().map(|x| x.to_f64()).collect();
    assert!(sp_becomes(case, &Whole::diag(&v), |to| to.add_diag_vec(alpha, &double)));
    assert!(sp_becomes(case, &Whole(outer(&v, &v)), |to| to.add_vec2(alpha, &double)));
}

fn products_of_matrices<T: Real>(case: &Case) {
    let Case { n, k, trans: (trans, other), .. } = *case;
    let (alpha, beta) = case.scales::<T>();
    let (a, b) = (case.sp::<T>(1, n), case.sp::<T>(2, n));
    let (t, u) = (case.tp::<T>(3, n), case.tp::<T>(4, n));
    let (left, right) = (case.operand::<T>(5, k, n, trans), case.operand::<T>(6, n, k, other));
    let (wa, wb) = (Whole::sp(&a), Whole::sp(&b));
    let (wl, wr) = (Whole::new(&left, trans), Whole::new(&right, other));
    let product = wa.times(&wr);
    assert!(matrix_becomes(case, &product, |to| to.add_sp_mat(alpha, &a, &right, other, beta)));
    let product = wl.times(&wb);
    assert!(matrix_becomes(case, &product, |to| to.add_mat_sp(alpha, &left, trans, &b, beta)));
    let product = wa.times(&wb);
    assert!(matrix_becomes(case, &product, |to| to.add_sp_sp(alpha, &a, &b, beta)));
    let small = case.sp::<T>(7, k);
    let product = Whole::sp(&small).times(&wl).times(&wb);
    assert!(matrix_becomes(case, &product, |to| to.add_sp_mat_sp(alpha, &small, &left, trans, &b, beta)));
    let product = Whole::tp(&t, trans).times(&wr);
    assert!(matrix_becomes(case, &product, |to| to.add_tp_mat(alpha, &t, trans, &right, other, beta)));
    let product = wl.times(&Whole::tp(&t, other));
    assert!(matrix_becomes(case, &product, |to| to.add_mat_tp(alpha, &left, trans, &t, other, beta)));
    let product = Whole::tp(&t, trans).times(&Whole::tp(&u, other));
    assert!(matrix_becomes(case, &product, |to| to.add_tp_tp(alpha, &t, trans, &u, other, beta)));

    let case = &Case { beta: 1.0, ..case.clone() };
    assert!(matrix_becomes(case, &wa, |to| to.add_sp(alpha, &a)));
    let case = &Case { alpha: 1.0, beta: 0.0, ..case.clone() };
    assert!(matrix_becomes(case, &wa, |to: &mut Matrix<T>| to.copy_from_sp(&a)));
    assert!(matrix_becomes(case, &Whole::tp(&t, trans), |to: &mut Matrix<T>| to.copy_from_tp(&t, trans)));

    let near = |found: T, right: f64| (found.to_f64() - right).abs() <= 1e4 * T::EPSILON.to_f64();
    assert!(near(trace_sp_sp(&a, &b).unwrap(), wa.times(&wb).trace()));
    let lower: f64 = (0..n).flat_map(|r| (0..=r).map(move |c| (r, c))).map(|i| wa.0[i] * wb.0[i]).sum();
    assert!(near(trace_sp_sp_lower(&a, &b).unwrap(), lower));
    let square = case.matrix::<T>(8, n, n);
    assert!(near(trace_sp_mat(&a, &square).unwrap(), wa.times(&Whole::new(&square, Trans::No)).trace()));
    let product = wl.times(&wb).times(&wr);
    assert!(near(trace_mat_sp_mat(&left, trans, &b, &right, other).unwrap(), product.trace()));
    let product = product.times(&Whole::sp(&small));
    assert!(near(trace_mat_sp_mat_sp(&left, trans, &b, &right, other, &small).unwrap(), product.trace()));
}

fn products_with_vectors<T: Real>(case: &Case) {
    let Case { n, trans: (trans, _), .. } = *case;
    let (alpha, beta) = case.scales::<T>();
    let (s, t) = (case.sp::<T>(1, n), case.tp::<T>(2, n));
    let (v, w) = (case.vector::<T>(3, n), case.vector::<T>(4, n));
    let column = |v: &Vector<T>| Whole(Matrix::from_fn(n, 1, |r, _| v[r].to_f64()));
    let becomes = |case: &Case, right: Whole, change: &dyn Fn(&mut Vector<T>) -> Result<(), Error>| {
        let old: Vector<T> = (0..n).map(|i| case.target(9, i)).collect();
        let mut new = old.clone();
        change(&mut new).unwrap();
        (0..n).all(|i| case.near(new[i], right.0[(i, 0)], old[i]))
    };
    assert!(becomes(case, Whole::sp(&s).times(&column(&v)), &|y| y.add_sp_vec(alpha, &s, &v, beta)));
    let product = Whole::tp(&t, trans).times(&column(&v));
    assert!(becomes(case, product.clone(), &|y| y.add_tp_vec(alpha, &t, trans, &v, beta)));
    let case = &Case { alpha: 1.0, beta: 0.0, ..case.clone() };
    assert!(becomes(case, product, &|y| {
        y.copy_from_vec(&v)?;
        y.mul_tp(&t, trans)
    }));
    // A triangle that is easy to solve: a diagonal of 16 beside numbers up to 2.
    let mut easy = t.clone();
    easy.set_diag(T::from_f64(16.0));
    assert!(becomes(case, column(&v), &|y| {
        y.copy_from_vec(&v)?;
        y.mul_tp(&easy, trans)?;
        y.solve(&easy, trans)
    }));
    let form = vec_sp_vec(&v, &s, &w).unwrap().to_f64();
    let right = column(&v).transposed().times(&Whole::sp(&s)).times(&column(&w)).trace();
    assert!((form - right).abs() <= 1e4 * T::EPSILON.to_f64());

    let mut packed = Vector::<f64>::zeros(n * (n + 1) / 2);
    packed.copy_from_packed(&s).unwrap();
    assert!(packed.iter().zip(s.data()).all(|(a, b)| *a == b.to_f64()));
    let mut diag = Vector::<T>::zeros(n);
    for which in 0..3 {
        match which {
            0 => diag.copy_diag_from_sp(&s),
            1 => diag.copy_diag_from_tp(&t),
            _ => diag.copy_diag_from_packed(&s),
        }
        .unwrap();
        assert!((0..n).all(|i| diag[i] == if which == 1 { t[(i, i)] } else { s[(i, i)] }));
    }
    for r in 0..n {
        diag.copy_row_from_sp(&s, r).unwrap();
        assert!((0..n).all(|c| diag[c] == s[(r, c)]));
    }
    assert!(matches!(diag.copy_row_from_sp(&s, n), Err(Error::OutOfRange { .. })));
}

proptest! {
    #[test]
    fn symmetric_matrices_grow_as_the_formulas_say(case in case()) {
        additions_to_symmetric_matrices::<f32>(&case);
        additions_to_symmetric_matrices::<f64>(&case);
    }

    #[test]
    fn products_are_those_of_the_whole_matrices(case in case()) {
        products_of_matrices::<f32>(&case);
        products_of_matrices::<f64>(&case);
    }

    #[test]
    fn vectors_are_multiplied_as_by_the_whole_matrices(case in case()) {
        products_with_vectors::<f32>(&case);
        products_with_vectors::<f64>(&case);
    }
}

/// Every operand of another size is refused, and the target stays.
#[test]
fn sizes_that_do_not_fit_are_refused() {
    let (s, t) = (SpMatrix::<f64>::unit(3), TpMatrix::<f64>::unit(3));
    let (m, v) = (Matrix::<f64>::zeros(2, 2), Vector::<f64>::zeros(2));
    let mut sp = SpMatrix::unit(2);
    let before = sp.clone();
    let wide = Matrix::<f64>::zeros(3, 2);
    for result in [
        sp.add_sp(1.0, &s),
        sp.add_vec2(1.0, &Vector::<f32>::zeros(3)),
        sp.add_vec_vec(1.0, &v, &Vector::zeros(3)),
        sp.add_vec2_sp(1.0, &v, &s, 0.0),
        sp.add_vec2_sp(1.0, &Vector::zeros(1), &sp.clone(), 0.0),
        sp.add_diag_vec(1.0, &Vector::<f64>::zeros(3)),
        sp.add_mat2(1.0, &wide, Trans::No, 0.0),
        sp.add_mat2_sp(1.0, &m, Trans::No, &s, 0.0),
        sp.add_mat2_sp(1.0, &wide, Trans::No, &SpMatrix::unit(2), 0.0),
        sp.add_smat2_sp(1.0, &m, Trans::No, &s, 0.0),
        sp.add_mat2_vec(1.0, &m, Trans::No, &Vector::zeros(3), 0.0),
        sp.add_tp2(1.0, &t, Trans::No, 0.0),
        sp.add_tp2_sp(1.0, &t, Trans::No, &s, 0.0),
        sp.add_tp2_sp(1.0, &TpMatrix::unit(2), Trans::No, &s, 0.0),
        sp.copy_from_sp(&s),
        TpMatrix::unit(2).add_tp(1.0, &t),
        TpMatrix::<f64>::unit(2).copy_from_tp(&t),
    ] {
        assert!(result.is_err());
    }
    assert_eq!(sp, before);

    let mut matrix = Matrix::<f64>::zeros(2, 2);
    for result in [
        matrix.copy_from_sp(&s),
        matrix.copy_from_tp(&t, Trans::No),
        matrix.add_sp(1.0, &s),
        matrix.add_sp_mat(1.0, &s, &m, Trans::No, 0.0),
        matrix.add_mat_sp(1.0, &m, Trans::No, &s, 0.0),
        matrix.add_sp_sp(1.0, &s, &s, 0.0),
        matrix.add_sp_mat_sp(1.0, &s, &m, Trans::No, &sp, 0.0),
        matrix.add_tp_mat(1.0, &t, Trans::No, &m, Trans::No, 0.0),
        matrix.add_mat_tp(1.0, &m, Trans::No, &t, Trans::No, 0.0),
        matrix.add_tp_tp(1.0, &t, Trans::No, &t, Trans::No, 0.0),
    ] {
        assert!(result.is_err());
    }

    let mut vector = Vector::<f64>::zeros(2);
    for result in [
        vector.add_sp_vec(1.0, &s, &v, 0.0),
        vector.add_tp_vec(1.0, &t, Trans::No, &v, 0.0),
        vector.mul_tp(&t, Trans::No),
        vector.solve(&t, Trans::No),
        vector.solve(&TpMatrix::zeros(2), Trans::No),
        vector.copy_from_packed(&s),
        vector.copy_diag_from_packed(&t),
        vector.copy_row_from_sp(&s, 0),
    ] {
        assert!(result.is_err());
    }
    assert!(trace_sp_sp(&s, &sp).is_err() && trace_sp_sp_lower(&s, &sp).is_err() && trace_sp_mat(&s, &m).is_err());
    assert!(trace_mat_sp_mat(&m, Trans::No, &s, &m, Trans::No).is_err());
    assert!(matches!(trace_mat_sp_mat(&wide, Trans::No, &sp, &m, Trans::No), Err(Error::NotSquare { .. })));
    assert!(trace_mat_sp_mat_sp(&m, Trans::No, &sp, &m, Trans::No, &s).is_err());
    assert!(vec_sp_vec(&v, &s, &v).is_err());
}
