//! The operations on dense vectors and matrices against loops that a reader believes at sight, in
//! double precision, on views with gaps between their rows.

use kaldi_matrix::dense::{same_dim, vec_mat_vec};
use kaldi_matrix::traces::{trace_mat, trace_mat_mat, trace_mat_mat_mat, trace_mat_mat_mat_mat};
use kaldi_matrix::{
    Error, Matrix, MatrixBase, RandomState, Shape, Storage, SubMatrix, SubMatrixMut, Trans, Vector, vec_vec,
};
use proptest::prelude::*;

/// Rounding of some hundred operations on numbers of size 1 to some hundreds; of larger results, a
/// share.
const NEAR: f64 = 1e-11;

/// `prop_assert!` for expressions with braces in them, which that takes for a format.
macro_rules! holds {
    ($condition:expr) => {
        let holds: bool = $condition;
        prop_assert!(holds, "line {}", line!());
    };
}

fn number() -> impl Strategy<Value = f64> {
    // Zeros and equal numbers are what some operations are about.
    prop_oneof![3 => -4.0..4.0, 1 => Just(0.0), 1 => Just(1.5)]
}

fn vector(dim: usize) -> impl Strategy<Value = Vector<f64>> {
    proptest::collection::vec(number(), dim).prop_map(Vector::from)
}

/// A buffer that a matrix with gaps between its rows lies in.
#[derive(Clone, Debug)]
struct Wide(Matrix<f64>);

impl Wide {
    fn view(&self) -> SubMatrix<'_, f64> {
        self.0.col_range(1, self.0.num_cols() - 3).unwrap()
    }

    fn view_mut(&mut self) -> SubMatrixMut<'_, f64> {
        let cols = self.0.num_cols() - 3;
        self.0.col_range_mut(1, cols).unwrap()
    }

    /// What lies outside of the view.
    fn outside(&self) -> Vec<f64> {
        self.0.rows().flat_map(|row| [row[0], row[row.len() - 2], row[row.len() - 1]]).collect()
    }
}

fn wide(rows: usize, cols: usize) -> impl Strategy<Value = Wide> {
    let data = proptest::collection::vec(number(), rows * (cols + 3));
    data.prop_map(move |data| Wide(Matrix::from_vec(rows, cols + 3, data).unwrap()))
}

fn shape() -> impl Strategy<Value = (usize, usize)> {
    (1_usize..12, 1_usize..40)
}

fn near(found: f64, right: f64) -> bool {
    found == right || (found - right).abs() <= NEAR * right.abs().max(1.0) || (found.is_nan() && right.is_nan())
}

/// Does every element equal the function of its index, to within rounding?
fn all(found: &MatrixBase<impl Storage<Elem = f64>>, right: impl Fn(usize, usize) -> f64) -> bool {
    (0..found.num_rows()).all(|r| (0..found.num_cols()).all(|c| near(found[(r, c)], right(r, c))))
}

fn each(found: &Vector<f64>, right: impl Fn(usize) -> f64) -> bool {
    (0..found.dim()).all(|i| near(found[i], right(i)))
}

/// op(m)(r, c).
fn at(m: &MatrixBase<impl Storage<Elem = f64>>, trans: Trans, r: usize, c: usize) -> f64 {
    if trans == Trans::No { m[(r, c)] } else { m[(c, r)] }
}

/// The matrix whose op is `rows` by `cols`.
fn op(trans: Trans, rows: usize, cols: usize) -> impl Strategy<Value = Matrix<f64>> {
    let (rows, cols) = if trans == Trans::No { (rows, cols) } else { (cols, rows) };
    wide(rows, cols).prop_map(|wide| wide.view().to_owned())
}

fn trans() -> impl Strategy<Value = Trans> {
    prop_oneof![Just(Trans::No), Just(Trans::Yes)]
}

proptest! {
    #[test]
    fn functions_of_elements((v, w) in (0_usize..70).prop_flat_map(|dim| (vector(dim), vector(dim))), p in -3.0..3.0_f64) {
        let change = |f: &dyn Fn(&mut Vector<f64>)| { let mut y = v.clone(); f(&mut y); y };
        holds!(each(&change(&|y| y.apply_abs()), |i| v[i].abs()));
        holds!(each(&change(&|y| y.invert_elements()), |i| 1.0 / v[i]));
        holds!(each(&change(&|y| y.apply_tanh()), |i| v[i].tanh()));
        holds!(each(&change(&|y| y.apply_sigmoid()), |i| 1.0 / (1.0 + (-v[i]).exp())));
        holds!(each(&change(&|y| y.div_elements(&w).unwrap()), |i| v[i] / w[i]));
        holds!(each(&change(&|y| y.replace_value(1.5, 7.0)), |i| if v[i] == 1.5 { 7.0 } else { v[i] }));
        holds!(each(&change(&|y| y.add_vec_div_vec(2.0, &v, &w, 0.5).unwrap()), |i| 2.0 * v[i] / w[i] + 0.5 * v[i]));
        let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
        for include_sign in [false, true] {
            let y = change(&|y| y.apply_pow_abs(p, include_sign));
            let right = |i: usize| {
                let power = if v[i] == 0.0 { 0.0 } else { v[i].abs().powf(p) };
                if include_sign { sign(v[i]) * power } else { power }
            };
            holds!((0..v.dim()).all(|i| (y[i] - right(i)).abs() <= NEAR * right(i).abs()));
        }
        for power in [0.5, 1.0, 2.0, 3.0] {
            holds!(each(&change(&|y| y.pow(&w, power).unwrap()), |i| w[i].powf(power)));
        }
        let floored = change(&|y| { y.apply_floor_vec(&w).unwrap(); });
        holds!(each(&floored, |i| v[i].max(w[i])));
        let mut y = v.clone();
        prop_assert_eq!(y.apply_floor_vec(&w).unwrap(), (0..v.dim()).filter(|&i| v[i] < w[i]).count());
        prop_assert_eq!(y.floor(&w, 1.5).unwrap(), w.iter().filter(|&&x| x < 1.5).count());
        holds!(each(&y, |i| w[i].max(1.5)));
        prop_assert_eq!(y.ceiling(&w, 1.5).unwrap(), w.iter().filter(|&&x| x > 1.5).count());
        holds!(each(&y, |i| w[i].min(1.5)));
        y.apply_log_and_copy(&w).unwrap();
        holds!(each(&y, |i| w[i].ln()));
    }

    #[test]
    fn soft_max_and_its_logarithm(v in (1_usize..70).prop_flat_map(vector), far in -1e4..1e4_f64) {
        let mut moved = v.clone();
        moved.add(far);
        let sum: f64 = moved.iter().map(|&x| (x - far).exp()).sum();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-11;
        holds!(close(moved.log_sum_exp(None), far + sum.ln()));
        let mut y = moved.clone();
        holds!(close(y.apply_soft_max(), far + sum.ln()));
        holds!((0..v.dim()).all(|i| close(y[i], (moved[i] - far).exp() / sum)));
        let mut y = moved.clone();
        y.apply_log_soft_max();
        holds!((0..v.dim()).all(|i| close(y[i], moved[i] - far - sum.ln())));
        let highest = moved.max();
        let kept: f64 = moved.iter().filter(|&&x| x >= highest - 1.0).map(|&x| (x - highest).exp()).sum();
        holds!(close(moved.log_sum_exp(Some(1.0)), highest + kept.ln()));
    }

    #[test]
    fn vectors_reduced(v in (0_usize..70).prop_flat_map(vector), p in 0.3..5.0_f64) {
        let sum = |f: &dyn Fn(f64) -> f64| v.iter().map(|&x| f(x.abs())).sum::<f64>();
        prop_assert_eq!(v.norm(0.0).unwrap(), v.iter().filter(|&&x| x != 0.0).count() as f64);
        holds!(near(v.norm(1.0).unwrap(), sum(&|x| x)));
        holds!(near(v.norm(2.0).unwrap(), sum(&|x| x * x).sqrt()));
        let general = sum(&|x| x.powf(p)).powf(1.0 / p);
        holds!((v.norm(p).unwrap() - general).abs() <= 1e-12 * general);
        prop_assert_eq!(v.norm(f64::INFINITY).unwrap(), v.iter().fold(0.0, |a: f64, x| a.max(x.abs())));
        let mut positive = v.clone();
        positive.apply_floor(0.01);
        holds!(near(positive.sum_log(), positive.iter().map(|x| x.ln()).sum()));
        holds!(v.approx_equal(&v, 0.0).unwrap());
        let mut other = v.clone();
        other.scale(1.001);
        holds!(v.approx_equal(&other, 0.0011).unwrap());
        prop_assert_eq!(v.approx_equal(&other, 0.0009).unwrap(), v.norm(2.0).unwrap() == 0.0);
        holds!(v.is_zero(v.norm(f64::INFINITY).unwrap()));
        let narrow = Vector::<f32>::from(&v);
        let mixed = v.iter().zip(narrow.iter()).map(|(&x, &y)| x * f64::from(y)).sum();
        holds!(near(vec_vec(&v, &narrow).unwrap(), mixed));
        prop_assert_eq!(vec_vec(&narrow, &v).unwrap(), vec_vec(&v, &narrow).unwrap() as f32);
        prop_assert_eq!(Vector::<f32>::from(&Vector::<f64>::from(&narrow)), narrow);
    }

    #[test]
    fn diagonals_of_products(
        ((tm, tn), m, n, y) in (trans(), trans(), 1_usize..8, 1_usize..40).prop_flat_map(|(tm, tn, rows, inner)| {
            (Just((tm, tn)), op(tm, rows, inner), op(tn, inner, rows), vector(rows))
        }),
    ) {
        let inner = if tm == Trans::No { m.num_cols() } else { m.num_rows() };
        let product = |i: usize, j: usize| (0..inner).map(|k| at(&m, tm, i, k) * at(&n, tn, k, j)).sum::<f64>();
        let mut found = y.clone();
        found.add_diag_mat_mat(2.0, &m, tm, &n, tn, -0.5).unwrap();
        holds!(each(&found, |i| 2.0 * product(i, i) - 0.5 * y[i]));
        let trace: f64 = (0..y.dim()).map(|i| product(i, i)).sum();
        let m = if tm == Trans::No { m.clone() } else { m.transposed() };
        holds!(near(trace_mat_mat(&m, &n, tn).unwrap(), trace));
        let mut found = y.clone();
        found.add_diag_mat2(2.0, &m, Trans::No, -0.5).unwrap();
        let square = |i: usize| m.row(i).iter().map(|x| x * x).sum::<f64>();
        holds!(each(&found, |i| 2.0 * square(i) - 0.5 * y[i]));
    }

    #[test]
    fn matrices_and_vectors(
        ((rows, cols), y, v, w, t, sparse) in shape().prop_flat_map(|(rows, cols)| {
            (Just((rows, cols)), wide(rows, cols), vector(rows), vector(cols), trans(), vector(cols))
        }),
        alpha in number(),
    ) {
        let a = y.view().to_owned();
        let bilinear: f64 = (0..rows).map(|r| (0..cols).map(|c| v[r] * a[(r, c)] * w[c]).sum::<f64>()).sum();
        holds!(near(vec_mat_vec(&v, &a, &w).unwrap(), bilinear));
        let m = if t == Trans::No { a.clone() } else { a.transposed() };
        let mut z = y.clone();
        z.view_mut().add_diag_vec_mat(alpha, &v, &m, t, 0.5).unwrap();
        holds!(all(&z.view(), |r, c| alpha * v[r] * a[(r, c)] + 0.5 * a[(r, c)]));
        let mut z = y.clone();
        z.view_mut().add_mat_diag_vec(alpha, &m, t, &w, 0.5).unwrap();
        holds!(all(&z.view(), |r, c| alpha * w[c] * a[(r, c)] + 0.5 * a[(r, c)]));
        let mut found = v.clone();
        found.add_mat_svec(alpha, &m, t, &sparse, 0.5).unwrap();
        holds!(each(&found, |r| 0.5 * v[r] + alpha * (0..cols).map(|c| a[(r, c)] * sparse[c]).sum::<f64>()));
        prop_assert_eq!(z.outside(), y.outside());

        let mut diag = Vector::zeros(rows.min(cols));
        diag.copy_diag_from_mat(&y.view()).unwrap();
        holds!(each(&diag, |i| a[(i, i)]));
        holds!(near(a.trace(false).unwrap(), diag.sum()));
        let mut z = y.clone();
        diag.set(9.0);
        z.view_mut().copy_diag_from_vec(&diag).unwrap();
        holds!(all(&z.view(), |r, c| if r == c { 9.0 } else { a[(r, c)] }));
        z.view_mut().copy_cols_from_vec(&v).unwrap();
        holds!(rows == 1 || cols == 1 || all(&z.view(), |r, _| v[r]));
        let mut stacked = Vector::<f64>::zeros(rows * cols);
        stacked.copy_cols_from_mat(&a).unwrap();
        z.view_mut().copy_cols_from_vec(&stacked).unwrap();
        prop_assert_eq!(z.view(), a.view());
        prop_assert_eq!(z.outside(), y.outside());
    }

    #[test]
    fn functions_of_the_elements_of_matrices(
        (y, src) in shape().prop_flat_map(|(rows, cols)| (wide(rows, cols), wide(rows, cols))),
    ) {
        let (a, s) = (y.view().to_owned(), src.view());
        let change = |f: &dyn Fn(&mut SubMatrixMut<'_, f64>)| { let mut y = y.clone(); f(&mut y.view_mut()); y.view().to_owned() };
        holds!(all(&change(&|y| y.exp(&s).unwrap()), |r, c| s[(r, c)].exp()));
        holds!(all(&change(&|y| y.log(&s).unwrap()), |r, c| s[(r, c)].ln()));
        holds!(all(&change(&|y| y.tanh(&s).unwrap()), |r, c| s[(r, c)].tanh()));
        holds!(all(&change(&|y| y.sigmoid(&s).unwrap()), |r, c| 1.0 / (1.0 + (-s[(r, c)]).exp())));
        holds!(all(&change(&|y| y.soft_hinge(&s).unwrap()), |r, c| s[(r, c)].exp().ln_1p()));
        holds!(all(&change(&|y| y.heaviside(&s).unwrap()), |r, c| f64::from(s[(r, c)] > 0.0)));
        holds!(all(&change(&|y| y.pow(&s, 3.0).unwrap()), |r, c| s[(r, c)].powi(3)));
        holds!(all(&change(&|y| y.pow_abs(&s, 0.5, false).unwrap()), |r, c| s[(r, c)].abs().sqrt()));
        holds!(all(&change(&|y| { y.floor(&s, 1.5).unwrap(); }), |r, c| s[(r, c)].max(1.5)));
        holds!(all(&change(&|y| { y.ceiling(&s, 1.5).unwrap(); }), |r, c| s[(r, c)].min(1.5)));
        let special = |x: f64| if x < 0.0 { x.exp() } else { x + 1.0 };
        holds!(all(&change(&|y| y.exp_special(&s).unwrap()), |r, c| special(s[(r, c)])));
        holds!(all(&change(&|y| y.exp_limited(&s, -1.0, 2.0).unwrap()), |r, c| s[(r, c)].clamp(-1.0, 2.0).exp()));
        holds!(all(&change(&|y| y.apply_exp_special()), |r, c| special(a[(r, c)])));
        holds!(all(&change(&|y| y.apply_exp_limited(-1.0, 2.0).unwrap()), |r, c| a[(r, c)].clamp(-1.0, 2.0).exp()));
        holds!(all(&change(&|y| y.apply_heaviside()), |r, c| f64::from(a[(r, c)] > 0.0)));
        holds!(all(&change(&|y| y.apply_soft_hinge()), |r, c| a[(r, c)].exp().ln_1p()));
        holds!(all(&change(&|y| y.apply_tanh()), |r, c| a[(r, c)].tanh()));
        holds!(all(&change(&|y| y.apply_sigmoid()), |r, c| 1.0 / (1.0 + (-a[(r, c)]).exp())));
        holds!(all(&change(&|y| { y.apply_ceiling(1.0); }), |r, c| a[(r, c)].min(1.0)));
        holds!(all(&change(&|y| y.invert_elements()), |r, c| 1.0 / a[(r, c)]));
        holds!(all(&change(&|y| y.div_elements(&s).unwrap()), |r, c| a[(r, c)] / s[(r, c)]));
        holds!(all(&change(&|y| y.max_elements(&s).unwrap()), |r, c| a[(r, c)].max(s[(r, c)])));
        holds!(all(&change(&|y| y.min_elements(&s).unwrap()), |r, c| a[(r, c)].min(s[(r, c)])));
        holds!(all(&change(&|y| y.diff_tanh(&s, &a).unwrap()), |r, c| a[(r, c)] * (1.0 - s[(r, c)] * s[(r, c)])));
        holds!(all(&change(&|y| y.diff_sigmoid(&s, &a).unwrap()), |r, c| a[(r, c)] * s[(r, c)] * (1.0 - s[(r, c)])));
        holds!(all(&change(&|y| y.add_mat_mat_elements(2.0, &s, &s, 0.5).unwrap()), |r, c| 2.0 * s[(r, c)].powi(2) + 0.5 * a[(r, c)]));
        let quotient = |x: f64, y: f64| if y == 0.0 { x } else { x * x / y };
        holds!(all(&change(&|y| y.set_mat_mat_div_mat(&a, &a, &s).unwrap()), |r, c| quotient(a[(r, c)], s[(r, c)])));
        holds!(all(&change(&|y| y.set_unit()), |r, c| f64::from(u8::from(r == c))));
        let mut outside = y.clone();
        outside.view_mut().set_unit();
        outside.view_mut().apply_soft_max_per_row();
        prop_assert_eq!(outside.outside(), y.outside());

        let whole: f64 = a.rows().flatten().map(|x| x.exp()).sum();
        holds!(near(a.log_sum_exp(None), whole.ln()));
        holds!(all(&change(&|y| { y.apply_soft_max(); }), |r, c| a[(r, c)].exp() / whole));
        let of_row = |r: usize| a.row(r).iter().map(|x| x.exp()).sum::<f64>();
        holds!(all(&change(&|y| y.apply_soft_max_per_row()), |r, c| a[(r, c)].exp() / of_row(r)));
        holds!(all(&change(&|y| y.apply_log_soft_max_per_row()), |r, c| a[(r, c)] - of_row(r).ln()));
    }

    #[test]
    fn groups_of_columns(
        (size, a, groups) in (1_usize..6, 1_usize..5, 1_usize..6).prop_flat_map(|(size, rows, groups)| {
            (Just(size), wide(rows, size * groups), wide(rows, groups))
        }),
        p in prop_oneof![Just(1.0), Just(2.0), Just(f64::INFINITY), 0.5..4.0_f64],
    ) {
        let a = a.view();
        let group = |r: usize, g: usize| a.row_data(r)[g * size..][..size].to_vec();
        let mut norm = groups.clone();
        norm.view_mut().group_pnorm(&a, p).unwrap();
        let right = |r, g| Vector::from(group(r, g)).norm(p).unwrap();
        holds!(all(&norm.view(), right));
        let mut deriv = a.to_owned();
        deriv.group_pnorm_deriv(&a, &norm.view(), p).unwrap();
        holds!(all(&deriv, |r, c| {
            let (x, norm) = (a[(r, c)], norm.view()[(r, c / size)]);
            let sign = if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 };
            if norm == 0.0 || x == 0.0 { 0.0 }
            else if p.is_infinite() { if x.abs() == norm { sign } else { 0.0 } }
            else { sign * x.abs().powf(p - 1.0) * norm.powf(1.0 - p) }
        }));
        let mut max = groups.clone();
        max.view_mut().group_max(&a).unwrap();
        holds!(all(&max.view(), |r, g| group(r, g).into_iter().fold(f64::MIN, f64::max)));
        deriv.group_max_deriv(&a, &max.view()).unwrap();
        holds!(all(&deriv, |r, c| f64::from(u8::from(a[(r, c)] == max.view()[(r, c / size)]))));
        let mut product = a.to_owned();
        product.mul_rows_group_mat(&groups.view()).unwrap();
        holds!(all(&product, |r, c| a[(r, c)] * groups.view()[(r, c / size)]));
    }

    #[test]
    fn rows_and_columns_by_lists(
        (y, src, rows, cols) in (shape(), shape()).prop_flat_map(|((rows, cols), (from_rows, from_cols))| {
            let list = |size: usize, len| proptest::collection::vec(-1..i32::try_from(size).unwrap(), len);
            (wide(rows, cols), wide(from_rows, from_cols), list(from_rows, rows), list(from_cols, cols))
        }),
    ) {
        let (a, s) = (y.view().to_owned(), src.view());
        let chosen = |m: &SubMatrix<'_, f64>, r: Option<usize>, c: Option<usize>| match (r, c) {
            (Some(r), Some(c)) => m[(r, c)],
            _ => 0.0,
        };
        let index = |i: i32| usize::try_from(i).ok();
        let shared = s.col_range(0, 1).unwrap();
        let mut one = a.col_range(0, 1).unwrap().to_owned();
        one.copy_rows(&shared, &rows).unwrap();
        holds!(all(&one, |r, _| chosen(&shared, index(rows[r]), Some(0))));
        let mut one = a.col_range(0, 1).unwrap().to_owned();
        one.add_rows(2.0, &shared, &rows).unwrap();
        holds!(all(&one, |r, _| a[(r, 0)] + 2.0 * chosen(&shared, index(rows[r]), Some(0))));
        let mut to = shared.to_owned();
        a.col_range(0, 1).unwrap().add_to_rows(2.0, &rows, &mut to).unwrap();
        let given = |r: usize| (0..rows.len()).filter(|&i| index(rows[i]) == Some(r)).map(|i| a[(i, 0)]).sum::<f64>();
        holds!(all(&to, |r, _| shared[(r, 0)] + 2.0 * given(r)));
        let slices: Vec<Option<&[f64]>> = rows.iter().map(|&r| index(r).map(|r| shared.row_data(r))).collect();
        let mut by_slices = one.clone();
        by_slices.copy_rows_from_slices(&slices).unwrap();
        by_slices.add_rows_from_slices(-1.0, &slices).unwrap();
        holds!(by_slices.is_zero(0.0));

        let shared = s.row_range(0, 1).unwrap();
        let mut one = a.row_range(0, 1).unwrap().to_owned();
        one.copy_cols(&shared, &cols).unwrap();
        holds!(all(&one, |_, c| chosen(&shared, Some(0), index(cols[c]))));
        let mut one = a.row_range(0, 1).unwrap().to_owned();
        one.add_cols(&shared, &cols).unwrap();
        holds!(all(&one, |_, c| a[(0, c)] + chosen(&shared, Some(0), index(cols[c]))));

        let mut buffers: Vec<Option<Vec<f64>>> = rows.iter().map(|&r| index(r).map(|_| vec![1.0; a.num_cols()])).collect();
        let mut targets: Vec<Option<&mut [f64]>> = buffers.iter_mut().map(|b| b.as_deref_mut()).collect();
        a.copy_to_rows(&mut targets).unwrap();
        a.add_to_row_slices(1.0, &mut targets).unwrap();
        for (r, buffer) in buffers.iter().enumerate() {
            if let Some(buffer) = buffer {
                holds!(buffer.iter().zip(a.row_data(r)).all(|(&y, &x)| y == 2.0 * x));
            }
        }
    }

    #[test]
    fn products_that_skip_zeros_and_products_of_three(
        ((ta, tb), tc, a, b, c, y) in (trans(), trans(), trans(), 1_usize..7, 1_usize..7, 1_usize..7, 1_usize..7).prop_flat_map(
            |(ta, tb, tc, i, j, k, l)| (Just((ta, tb)), Just(tc), op(ta, i, j), op(tb, j, k), op(tc, k, l), wide(i, l)),
        ),
        beta in number(),
    ) {
        let mut ab = Matrix::zeros(y.view().num_rows(), if tb == Trans::No { b.num_cols() } else { b.num_rows() });
        let inner = if ta == Trans::No { a.num_cols() } else { a.num_rows() };
        let product = |r: usize, c: usize| (0..inner).map(|i| at(&a, ta, r, i) * at(&b, tb, i, c)).sum::<f64>();
        ab.set(0.25);
        let mut found = ab.clone();
        found.add_smat_mat_dense(1.5, &a, ta, &b, tb, beta).unwrap();
        holds!(all(&found, |r, c| 1.5 * product(r, c) + 0.25 * beta));
        let mut found = ab.clone();
        found.add_mat_smat_dense(1.5, &a, ta, &b, tb, beta).unwrap();
        holds!(all(&found, |r, c| 1.5 * product(r, c) + 0.25 * beta));
        ab.add_mat_mat(1.0, &a, ta, &b, tb, 0.0).unwrap();
        let of_three = |r: usize, s: usize| (0..ab.num_cols()).map(|i| ab[(r, i)] * at(&c, tc, i, s)).sum::<f64>();
        let mut found = y.clone();
        found.view_mut().add_mat_mat_mat(1.5, &a, ta, &b, tb, &c, tc, beta).unwrap();
        holds!(all(&found.view(), |r, s| 1.5 * of_three(r, s) + beta * y.view()[(r, s)]));
        let d = y.view().transposed();
        let trace: f64 = (0..d.num_cols()).map(|r| (0..d.num_rows()).map(|s| of_three(r, s) * d[(s, r)]).sum::<f64>()).sum();
        holds!(near(trace_mat_mat_mat_mat(&a, ta, &b, tb, &c, tc, &y.view(), Trans::Yes).unwrap(), trace));
        holds!(near(trace_mat_mat_mat(&ab, Trans::No, &c, tc, &d, Trans::No).unwrap(), trace));
        holds!(near(trace_mat_mat_mat(&d, Trans::No, &ab, Trans::No, &c, tc).unwrap(), trace));
    }

    #[test]
    fn matrices_reduced((rows, y) in (1_usize..8).prop_flat_map(|rows| (Just(rows), wide(rows, rows)))) {
        let a = y.view();
        let squares: f64 = a.rows().flatten().map(|x| x * x).sum();
        holds!(near(a.frobenius_norm(), squares.sqrt()));
        prop_assert_eq!(a.largest_abs_elem(), a.rows().flatten().fold(0.0, |m: f64, x| m.max(x.abs())));
        holds!(near(trace_mat(&a).unwrap(), (0..rows).map(|i| a[(i, i)]).sum()));
        holds!(a.is_zero(a.largest_abs_elem()));
        holds!(a.equal(&a.to_owned()) && same_dim(&a, &a.to_owned()));
        let mut symmetric = a.to_owned();
        symmetric.copy_lower_to_upper().unwrap();
        holds!(symmetric.is_symmetric(0.0));
        holds!(all(&symmetric, |r, c| a[(r.max(c), r.min(c))]));
        let mut symmetric = a.to_owned();
        symmetric.copy_upper_to_lower().unwrap();
        holds!(symmetric.is_symmetric(0.0));
        holds!(all(&symmetric, |r, c| a[(r.min(c), r.max(c))]));
        let mut turned = y.clone();
        turned.view_mut().transpose_square().unwrap();
        holds!(all(&turned.view(), |r, c| a[(c, r)]));
        prop_assert_eq!(turned.outside(), y.outside());
        let mut other = a.to_owned();
        other.scale(1.001);
        holds!(a.approx_equal(&other, 0.0011).unwrap());
        prop_assert_eq!(a.approx_equal(&other, 0.0009).unwrap(), a.frobenius_norm() == 0.0);
        let mut unit = a.to_owned();
        unit.set_unit();
        holds!(unit.is_unit(0.0) && unit.is_diagonal(0.0));
        unit.add_to_diag(0.5);
        holds!(!unit.is_unit(0.4) && unit.is_unit(0.5));
        let mut shorter = a.to_owned();
        shorter.remove_row(rows / 2).unwrap();
        holds!(all(&shorter, |r, c| a[(if r < rows / 2 { r } else { r + 1 }, c)]));
    }
}

#[test]
fn how_far_from_symmetric_and_diagonal() {
    let m = Matrix::from_vec(2, 2, vec![10.0_f64, 1.0, 1.2, 10.0]).unwrap();
    // |1.0 - 1.2| / 2 beside 10 + 10 + |1.0 + 1.2| / 2.
    assert!(m.is_symmetric(0.00475) && !m.is_symmetric(0.0047));
    assert!(m.is_diagonal(0.1101) && !m.is_diagonal(0.1099));
    assert!(!Matrix::<f64>::zeros(2, 3).is_symmetric(1.0));
    assert!(!Matrix::from_vec(1, 1, vec![f64::NAN]).unwrap().is_zero(1.0));
}

#[test]
fn mismatched_shapes_are_errors_and_change_nothing() {
    let src = Matrix::from_fn(2, 3, |r, c| (r + c) as f32);
    let mut m = Matrix::from_fn(2, 3, |_, _| 7.0_f32);
    let before = m.clone();
    let bad = |error| matches!(error, Err(Error::BadIndex { position: 1, index: 3, size: 3, .. }));
    assert!(bad(m.copy_cols(&src, &[0, 3, 0])));
    assert!(bad(m.add_cols(&src, &[0, 3, 0])));
    assert!(matches!(m.copy_rows(&src, &[0, -2]), Err(Error::BadIndex { position: 1, index: -2, size: 2, .. })));
    assert!(matches!(m.copy_rows(&src, &[0]), Err(Error::DimMismatch { expected: 2, found: 1, .. })));
    let too_short: [Option<&[f32]>; 2] = [None, Some(&[1.0])];
    assert!(matches!(m.copy_rows_from_slices(&too_short), Err(Error::DimMismatch { expected: 3, found: 1, .. })));
    assert!(matches!(m.mul_rows_group_mat(&Matrix::zeros(2, 2)), Err(Error::Groups { cols: 3, groups: 2, .. })));
    assert!(matches!(m.mul_rows_group_mat(&Matrix::zeros(1, 1)), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(m.transpose_square(), Err(Error::NotSquare { found: Shape { rows: 2, cols: 3 }, .. })));
    assert!(matches!(m.trace(true), Err(Error::NotSquare { .. })));
    assert!(matches!(m.remove_row(2), Err(Error::OutOfRange { start: 2, size: 2, .. })));
    assert!(matches!(m.apply_exp_limited(1.0, 1.0), Err(Error::OutOfDomain { parameter: "upper", .. })));
    assert!(matches!(Matrix::zeros(2, 1).group_pnorm(&src, -1.0), Err(Error::OutOfDomain { .. })));
    assert!(matches!(Vector::from(vec![1.0_f32]).norm(f32::NAN), Err(Error::OutOfDomain { parameter: "p", .. })));
    let mut v = Vector::from(vec![1.0_f32, 2.0]);
    assert!(matches!(v.remove_element(2), Err(Error::OutOfRange { .. })));
    assert!(matches!(
        v.add_diag_mat_mat(1.0, &src, Trans::No, &src, Trans::No, 1.0),
        Err(Error::ProductMismatch { .. })
    ));
    assert_eq!(v.data(), [1.0, 2.0]);
    assert_eq!(m, before);
}

#[test]
fn matrices_without_elements() {
    let (no_cols, mut random) = (Matrix::<f64>::zeros(2, 0), RandomState::new(0));
    let mut m = no_cols.clone();
    m.set_randn(&mut random);
    m.apply_soft_max_per_row();
    m.group_max(&no_cols).unwrap();
    m.copy_rows(&no_cols, &[1, -1]).unwrap();
    assert_eq!(m.apply_soft_max(), f64::NEG_INFINITY);
    assert_eq!((m.frobenius_norm(), m.largest_abs_elem(), m.trace(false).unwrap()), (0.0, 0.0, 0.0));
    assert_eq!(trace_mat_mat(&no_cols, &no_cols, Trans::Yes).unwrap(), 0.0);
    let mut zeros = Matrix::from_fn(2, 1, |_, _| 1.0);
    zeros.copy_cols(&no_cols, &[-1]).unwrap();
    assert!(zeros.is_zero(0.0));
    let mut none = Vector::<f32>::zeros(0);
    assert_eq!((none.apply_soft_max(), none.norm(2.0).unwrap(), none.sum_log()), (f32::NEG_INFINITY, 0.0, 0.0));
}

#[test]
fn softmax_keeps_its_digits_far_from_zero() {
    let mut v = Vector::from(vec![1000.0_f32, 1001.0]);
    v.apply_soft_max();
    let right = 1.0 / (1.0 + 1_f64.exp());
    assert!((f64::from(v[0]) / right - 1.0).abs() < 3e-7);
}
