//! Each operation against a loop in double precision, on matrices and views of any stride.

use kaldi_matrix::dense::compute_dct_matrix;
use kaldi_matrix::{Error, Matrix, MatrixBase, Shape, Storage, SubMatrixMut, Trans, Vector, vec_vec};
use proptest::prelude::*;

/// Rounding of a sum of `terms` products in `f32`, relative to the sum of their sizes.
fn tolerance(terms: usize, size: f64) -> f64 {
    f64::from(f32::EPSILON) * (terms + 4) as f64 * size
}

fn near(found: f32, right: f64, terms: usize, size: f64) -> bool {
    (f64::from(found) - right).abs() <= tolerance(terms, size)
}

fn number() -> impl Strategy<Value = f32> {
    -4.0_f32..4.0
}

fn vectors(count: usize) -> impl Strategy<Value = Vec<Vector<f32>>> {
    (0_usize..40).prop_flat_map(move |dim| {
        proptest::collection::vec(proptest::collection::vec(number(), dim).prop_map(Vector::from), count)
    })
}

/// A buffer that a matrix with gaps lies in, so that operations meet strides.
#[derive(Clone, Debug)]
struct Wide {
    buffer: Matrix<f32>,
    cols: usize,
}

impl Wide {
    fn view(&self) -> kaldi_matrix::SubMatrix<'_, f32> {
        self.buffer.col_range(1, self.cols).unwrap()
    }

    fn view_mut(&mut self) -> SubMatrixMut<'_, f32> {
        self.buffer.col_range_mut(1, self.cols).unwrap()
    }
}

/// `count` matrices of one shape with gaps between their rows.
fn matrices(count: usize) -> impl Strategy<Value = Vec<Wide>> {
    (1_usize..20, 1_usize..40).prop_flat_map(move |(rows, cols)| {
        let data = proptest::collection::vec(number(), rows * (cols + 3));
        let wide = data.prop_map(move |data| Wide { buffer: Matrix::from_vec(rows, cols + 3, data).unwrap(), cols });
        proptest::collection::vec(wide, count)
    })
}

/// Does every element of `found` equal the function of its index, to within rounding?
fn all(found: &MatrixBase<impl Storage<Elem = f32>>, right: impl Fn(usize, usize) -> f64) -> bool {
    (0..found.num_rows()).all(|r| (0..found.num_cols()).all(|c| near(found[(r, c)], right(r, c), 4, 64.0)))
}

fn f(x: f32) -> f64 {
    f64::from(x)
}

proptest! {
    #[test]
    fn vectors_element_by_element(v in vectors(3), alpha in number(), beta in number()) {
        let dim = v[0].dim();
        let each = |found: &Vector<f32>, right: &dyn Fn(usize) -> f64| {
            (0..dim).all(|i| near(found[i], right(i), 4, 256.0))
        };
        let (a, b, c) = (&v[0], &v[1], &v[2]);
        let mut y = a.clone();
        y.add_vec(alpha, b).unwrap();
        prop_assert!(each(&y, &|i| f(a[i]) + f(alpha) * f(b[i])));
        let mut y = a.clone();
        y.add_vec2(alpha, b).unwrap();
        prop_assert!(each(&y, &|i| f(a[i]) + f(alpha) * f(b[i]) * f(b[i])));
        let mut y = a.clone();
        y.add_vec_vec(alpha, b, c, beta).unwrap();
        prop_assert!(each(&y, &|i| f(alpha) * f(b[i]) * f(c[i]) + f(beta) * f(a[i])));
        let mut y = a.clone();
        y.mul_elements(b).unwrap();
        prop_assert!(each(&y, &|i| f(a[i]) * f(b[i])));
        let mut y = a.clone();
        y.scale(alpha);
        y.add(beta);
        prop_assert!(each(&y, &|i| f(a[i]) * f(alpha) + f(beta)));
        let mut y = a.clone();
        let count = y.apply_floor(alpha);
        prop_assert_eq!(count, a.iter().filter(|&&x| x < alpha).count());
        prop_assert!(each(&y, &|i| f(a[i].max(alpha))));
        y.apply_exp();
        prop_assert!(each(&y, &|i| f(a[i].max(alpha)).exp()));
        y.apply_log().unwrap();
        prop_assert!(each(&y, &|i| f(a[i].max(alpha))));
        y.apply_pow(2.0);
        prop_assert!(each(&y, &|i| f(a[i].max(alpha)).powi(2)));
        y.copy_from_vec(b).unwrap();
        prop_assert_eq!(&y, b);
    }

    #[test]
    fn vectors_reduced(v in vectors(2)) {
        let (a, b) = (&v[0], &v[1]);
        let sum: f64 = a.iter().map(|&x| f(x)).sum();
        prop_assert!(near(a.sum(), sum, a.dim(), a.iter().map(|x| f(x.abs())).sum()));
        let products = a.iter().zip(b.iter()).map(|(&x, &y)| f(x) * f(y));
        let size = products.clone().map(f64::abs).sum();
        prop_assert!(near(vec_vec(a, b).unwrap(), products.sum(), a.dim(), size));
        let least = a.iter().copied().fold(f32::INFINITY, f32::min);
        prop_assert_eq!((a.min(), a.min_index().map(|(_, x)| x)), (least, (a.dim() > 0).then_some(least)));
        if let Some((i, most)) = a.max_index() {
            prop_assert!(a.iter().all(|&x| x <= most) && a.iter().take(i).all(|&x| x < most));
        }
    }

    #[test]
    fn precisions_mix_in_the_wider_one(v in vectors(2), alpha in number()) {
        let (a, b) = (&v[0], &v[1]);
        // Far below what f32 could tell from its neighbour: so a sum in f32 would differ from the
        // one in f64.
        let wide: Vector<f64> = b.iter().map(|&x| f(x) * (1.0 + 1e-9)).collect();
        let mut y = a.clone();
        y.add_vec(alpha, &wide).unwrap();
        let right: Vec<f32> = a.iter().zip(wide.iter()).map(|(&y, &x)| (f(y) + f(alpha) * x) as f32).collect();
        prop_assert_eq!(y.data(), &right[..]);
        let mut y: Vector<f64> = wide.clone();
        y.add_vec(2.0, a).unwrap();
        let right: Vec<f64> = wide.iter().zip(a.iter()).map(|(&y, &x)| y + 2.0 * f(x)).collect();
        prop_assert_eq!(y.data(), &right[..]);
        let mut narrow = Vector::<f32>::zeros(wide.dim());
        narrow.copy_from_vec(&wide).unwrap();
        prop_assert!(narrow.iter().zip(wide.iter()).all(|(&n, &w)| n == w as f32));
    }

    #[test]
    fn matrices_element_by_element(m in matrices(2), alpha in number(), beta in number()) {
        let (a, b) = (m[0].view(), m[1].view());
        let outside = |w: &Wide| {
            let wide = &w.buffer;
            (0..wide.num_rows()).map(|r| (wide[(r, 0)], wide[(r, w.cols + 1)], wide[(r, w.cols + 2)])).collect::<Vec<_>>()
        };
        let mut y = m[0].clone();
        y.view_mut().add_mat(alpha, &b, Trans::No).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) + f(alpha) * f(b[(r, c)])));
        y.view_mut().copy_from_mat(&b, Trans::No).unwrap();
        prop_assert_eq!(y.view(), b);
        y.view_mut().scale(alpha);
        y.view_mut().add(beta);
        prop_assert!(all(&y.view(), |r, c| f(b[(r, c)]) * f(alpha) + f(beta)));
        let count = y.view_mut().apply_floor(0.0);
        prop_assert_eq!(count, a.rows().zip(b.rows()).flat_map(|(_, b)| b).filter(|&&b| b * alpha + beta < 0.0).count());
        y.view_mut().copy_from_mat(&a, Trans::No).unwrap();
        y.view_mut().mul_elements(&b).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) * f(b[(r, c)])));
        y.view_mut().set_zero();
        prop_assert!(all(&y.view(), |_, _| 0.0));
        prop_assert_eq!(outside(&y), outside(&m[0]));
    }

    #[test]
    fn transposed_operands(m in matrices(1), alpha in number()) {
        let a = m[0].view();
        let t = a.transposed();
        prop_assert_eq!((t.num_rows(), t.num_cols()), (a.num_cols(), a.num_rows()));
        prop_assert!(all(&t, |r, c| f(a[(c, r)])));
        let mut y = t.clone();
        y.add_mat(alpha, &a, Trans::Yes).unwrap();
        prop_assert!(all(&y, |r, c| f(a[(c, r)]) * (1.0 + f(alpha))));
        let mut y = Matrix::<f64>::zeros(t.num_rows(), t.num_cols());
        y.copy_from_mat(&a, Trans::Yes).unwrap();
        prop_assert!((0..y.num_rows()).all(|r| (0..y.num_cols()).all(|c| y[(r, c)] == f(a[(c, r)]))));
        let mut y = t;
        y.transpose();
        prop_assert_eq!(y, a);
    }

    #[test]
    fn matrices_and_vectors(m in matrices(1), alpha in number(), beta in number()) {
        let a = m[0].view();
        let (rows, cols) = (a.num_rows(), a.num_cols());
        let row: Vector<f32> = (0..cols).map(|c| c as f32 / 16.0 - 1.0).collect();
        let col: Vector<f64> = (0..rows).map(|r| r as f64 / 8.0 - 1.0).collect();
        let mut y = m[0].clone();
        y.view_mut().add_vec_to_rows(alpha, &row).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) + f(alpha) * f(row[c])));
        let mut y = m[0].clone();
        y.view_mut().add_vec_to_cols(alpha, &col).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) + f(alpha) * col[r]));
        let mut y = m[0].clone();
        y.view_mut().mul_cols_vec(&row).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) * f(row[c])));
        let mut y = m[0].clone();
        y.view_mut().mul_rows_vec(&col).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) * col[r]));
        let mut y = m[0].clone();
        y.view_mut().copy_col_from_vec(&col, cols - 1).unwrap();
        y.view_mut().copy_row_from_vec(&row, rows - 1).unwrap();
        let replaced = |r, c| if r == rows - 1 { f(row[c]) } else if c == cols - 1 { col[r] } else { f(a[(r, c)]) };
        prop_assert!(all(&y.view(), replaced));

        let mut y = Vector::<f32>::zeros(rows);
        y.copy_col_from_mat(&a, cols / 2).unwrap();
        prop_assert!((0..rows).all(|r| y[r] == a[(r, cols / 2)]));
        y.set(0.5);
        y.add_col_sum_mat(alpha, &a, beta).unwrap();
        let sum = |r| a.row(r).iter().map(|&x| f(x)).sum::<f64>();
        prop_assert!((0..rows).all(|r| near(y[r], f(alpha) * sum(r) + f(beta) * 0.5, cols, 640.0)));
        y.add_diag_mat2(1.0, &a, Trans::No, 0.0).unwrap();
        let squares = |r| a.row(r).iter().map(|&x| f(x) * f(x)).sum::<f64>();
        prop_assert!((0..rows).all(|r| near(y[r], squares(r), cols, squares(r))));

        let mut y = Vector::<f32>::zeros(cols);
        y.copy_row_from_mat(&a, rows / 2).unwrap();
        prop_assert_eq!(&y, &a.row(rows / 2));
        y.set(0.5);
        y.add_row_sum_mat(alpha, &a, beta).unwrap();
        let sum = |c| (0..rows).map(|r| f(a[(r, c)])).sum::<f64>();
        prop_assert!((0..cols).all(|c| near(y[c], f(alpha) * sum(c) + f(beta) * 0.5, rows, 320.0)));
        y.add_diag_mat2(1.0, &a, Trans::Yes, 0.0).unwrap();
        let squares = |c| (0..rows).map(|r| f(a[(r, c)]).powi(2)).sum::<f64>();
        prop_assert!((0..cols).all(|c| near(y[c], squares(c), rows, squares(c))));

        let mut stacked = Vector::<f32>::zeros(rows * cols);
        stacked.copy_rows_from_mat(&a).unwrap();
        prop_assert!((0..rows * cols).all(|i| stacked[i] == a[(i / cols, i % cols)]));
        let mut back = Matrix::zeros(rows, cols);
        back.copy_rows_from_vec(&stacked).unwrap();
        prop_assert_eq!(&back, &a);
        stacked.copy_cols_from_mat(&a).unwrap();
        prop_assert!((0..rows * cols).all(|i| stacked[i] == a[(i % rows, i / rows)]));
    }

    #[test]
    fn matrices_reduced(m in matrices(1)) {
        let a = m[0].view();
        let values: Vec<f32> = a.rows().flatten().copied().collect();
        let sum: f64 = values.iter().map(|&x| f(x)).sum();
        prop_assert!(near(a.sum(), sum, 1, values.iter().map(|x| f(x.abs())).sum()));
        prop_assert_eq!(a.min(), values.iter().copied().fold(f32::INFINITY, f32::min));
        prop_assert_eq!(a.max(), values.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    }

    #[test]
    fn products(m in matrices(2), alpha in number(), beta in number()) {
        let (a, b) = (m[0].view(), m[1].view());
        let (rows, cols) = (a.num_rows(), a.num_cols());
        let size = 64.0 * (rows + cols) as f64;
        let product = |r: usize, c: usize| (0..cols).map(|k| f(a[(r, k)]) * f(b[(c, k)])).sum::<f64>();
        let mut y = Matrix::from_fn(rows, rows, |r, c| (r + c) as f32 / 16.0);
        let old = y.clone();
        y.add_mat_mat(alpha, &a, Trans::No, &b, Trans::Yes, beta).unwrap();
        for r in 0..rows {
            for c in 0..rows {
                let right = f(alpha) * product(r, c) + f(beta) * f(old[(r, c)]);
                prop_assert!(near(y[(r, c)], right, cols, size));
            }
        }
        let mut y = Vector::from(vec![0.25_f32; cols]);
        let x: Vector<f32> = (0..rows).map(|r| r as f32 / 4.0 - 2.0).collect();
        y.add_mat_vec(alpha, &a, Trans::Yes, &x, beta).unwrap();
        for c in 0..cols {
            let dot: f64 = (0..rows).map(|r| f(a[(r, c)]) * f(x[r])).sum();
            prop_assert!(near(y[c], f(alpha) * dot + f(beta) * 0.25, rows, size));
        }
        let mut y = m[0].clone();
        y.view_mut().add_vec_vec(alpha, &x, &b.row(0)).unwrap();
        prop_assert!(all(&y.view(), |r, c| f(a[(r, c)]) + f(alpha) * f(x[r]) * f(b[(0, c)])));
        let mut y = Matrix::from_fn(rows, rows, |_, _| -1.0);
        y.sym_add_mat2(1.0, &a, Trans::No, 0.0).unwrap();
        for r in 0..rows {
            for c in 0..rows {
                let right = (0..cols).map(|k| f(a[(r, k)]) * f(a[(c, k)])).sum::<f64>();
                let as_it_should = if c > r { y[(r, c)] == -1.0 } else { near(y[(r, c)], right, cols, size) };
                prop_assert!(as_it_should);
            }
        }
    }
}

/// The known answers `Vector.Max/Min(index)`, `Vector.ApplyFloor` and `Vector.ApplyLog`.
#[test]
fn kaldis_answers() {
    let v = Vector::from(vec![0.296875_f32, -9.0, 7.0, 3.96875, 2.671875, 2.59375, 7.0, -9.0, 0.78125]);
    assert_eq!((v.max_index(), v.min_index()), (Some((2, 7.0)), Some((1, -9.0))));
    let mut v = Vector::from(vec![0.5_f32, 2.25, -3.71875, 0.375]);
    assert_eq!(v.apply_floor(0.5), 2);
    assert_eq!(v.data(), [0.5, 2.25, 0.5, 0.5]);
    let mut v = Vector::from(vec![0.0_f64, 1.0, 2.5]);
    v.apply_log().unwrap();
    assert_eq!(v.data(), [f64::NEG_INFINITY, 0.0, 0.916_290_731_874_155_1]);
    let mut dct = Matrix::<f64>::zeros(2, 2);
    compute_dct_matrix(&mut dct);
    let half = 0.5_f64.sqrt();
    approx::assert_abs_diff_eq!(dct, Matrix::from_vec(2, 2, vec![half, half, half, -half]).unwrap(), epsilon = 1e-15);
}

#[test]
fn nothing_at_all() {
    let v = Vector::<f32>::zeros(0);
    assert_eq!((v.sum(), v.min(), v.max()), (0.0, f32::INFINITY, f32::NEG_INFINITY));
    assert_eq!((v.min_index(), v.max_index()), (None, None));
    assert_eq!(Vector::from(vec![f32::NAN]).max_index(), None);
    let m = Matrix::<f32>::zeros(0, 3);
    assert_eq!((m.sum(), m.min(), m.max()), (0.0, f32::INFINITY, f32::NEG_INFINITY));
}

#[test]
fn a_logarithm_that_fails_changes_nothing() {
    let mut m = Matrix::from_vec(2, 2, vec![1.0_f32, 2.0, -3.0, 4.0]).unwrap();
    let before = m.clone();
    let error = m.apply_log().unwrap_err();
    assert_eq!(error, Error::Negative { operation: "apply_log", index: 2, value: -3.0 });
    assert_eq!(error.to_string(), "apply_log: element 2 is -3, which is negative; floor the values first");
    assert_eq!(m, before);
    assert!(m.row_mut(1).apply_log().is_err());
    assert_eq!(m, before);
}

#[test]
fn with_beta_zero_nan_does_not_come_through() {
    let nan = f32::NAN;
    let ones = Matrix::from_fn(2, 2, |_, _| 1.0_f32);
    let mut y = Vector::from(vec![nan; 2]);
    y.add_vec_vec(1.0, &ones.row(0), &ones.row(1), 0.0).unwrap();
    assert_eq!(y.data(), [1.0, 1.0]);
    for trans in [Trans::No, Trans::Yes] {
        y.set(nan);
        y.add_mat_vec(1.0, &ones, trans, &ones.row(0), 0.0).unwrap();
        assert_eq!(y.data(), [2.0, 2.0]);
        y.set(nan);
        y.add_diag_mat2(1.0, &ones, trans, 0.0).unwrap();
        assert_eq!(y.data(), [2.0, 2.0]);
    }
    y.set(nan);
    y.add_row_sum_mat(1.0, &ones, 0.0).unwrap();
    assert_eq!(y.data(), [2.0, 2.0]);
    y.set(nan);
    y.add_col_sum_mat(1.0, &ones, 0.0).unwrap();
    assert_eq!(y.data(), [2.0, 2.0]);
}

#[test]
fn sizes_that_disagree_are_errors_with_both() {
    let (m, v) = (Matrix::<f32>::zeros(2, 3), Vector::<f32>::zeros(4));
    let dim = |operation, expected, found| Err(Error::DimMismatch { operation, expected, found });
    let mut y = Vector::<f32>::zeros(2);
    assert_eq!(vec_vec(&y, &v), Err(Error::DimMismatch { operation: "vec_vec", expected: 2, found: 4 }));
    assert_eq!(y.add_vec(1.0, &v), dim("add_vec", 2, 4));
    assert_eq!(y.add_mat_vec(1.0, &m, Trans::No, &v, 0.0), dim("add_mat_vec", 3, 4));
    assert_eq!(y.add_row_sum_mat(1.0, &m, 0.0), dim("add_row_sum_mat", 3, 2));
    assert!(y.add_vec2(1.0, &v).is_err() && y.mul_elements(&v).is_err() && y.copy_from_vec(&v).is_err());
    assert!(y.add_vec_vec(1.0, &v, &y.clone(), 0.0).is_err() && y.add_vec_vec(1.0, &y.clone(), &v, 0.0).is_err());
    assert!(y.copy_col_from_mat(&m, 3).is_err() && y.copy_row_from_mat(&m, 0).is_err());
    assert!(y.copy_rows_from_mat(&m).is_err() && y.copy_cols_from_mat(&m).is_err());

    let mut c = Matrix::<f32>::zeros(2, 2);
    let (left, right) = (Shape { rows: 2, cols: 3 }, Shape { rows: 2, cols: 3 });
    let error = c.add_mat_mat(1.0, &m, Trans::No, &m, Trans::No, 0.0);
    assert_eq!(error, Err(Error::ProductMismatch { operation: "add_mat_mat", left, right }));
    let (expected, found) = (Shape { rows: 3, cols: 3 }, Shape { rows: 2, cols: 2 });
    let error = c.add_mat_mat(1.0, &m, Trans::Yes, &m, Trans::No, 0.0);
    assert_eq!(error, Err(Error::ShapeMismatch { operation: "add_mat_mat", expected, found }));
    assert!(c.add_mat(1.0, &m, Trans::No).is_err() && c.copy_from_mat(&m, Trans::Yes).is_err());
    assert!(c.add_vec_vec(1.0, &v, &v).is_err() && c.sym_add_mat2(1.0, &m, Trans::Yes, 0.0).is_err());
    assert!(c.add_vec_to_rows(1.0, &v).is_err() && c.add_vec_to_cols(1.0, &v).is_err());
    assert!(c.mul_cols_vec(&v).is_err() && c.mul_rows_vec(&v).is_err() && c.mul_elements(&m).is_err());
    assert!(c.copy_col_from_vec(&v, 0).is_err() && c.copy_row_from_vec(&v, 0).is_err());
    assert!(c.copy_row_from_vec(&Vector::<f32>::zeros(2), 2).is_err());
    assert!(c.copy_rows_from_vec(&Vector::<f32>::zeros(3)).is_err());
}

#[cfg(any(feature = "openblas", feature = "pure"))]
mod decompositions {
    use super::*;

    #[test]
    fn order_and_signs_are_fixed() {
        let m = Matrix::from_vec(3, 3, vec![-3.0_f64, 9.0, 9.0, 0.0, 2.0, 9.0, 0.0, 0.0, 1.0]).unwrap();
        let eig = m.symmetric_eig().unwrap();
        approx::assert_abs_diff_eq!(eig.values, Vector::from(vec![2.0, 1.0, -3.0]), epsilon = 1e-14);
        let expected = Matrix::from_vec(3, 3, vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
        approx::assert_abs_diff_eq!(eig.vectors, expected, epsilon = 1e-14);

        let m = Matrix::from_vec(2, 3, vec![0.0_f64, -2.0, 0.0, 0.0, 0.0, -5.0]).unwrap();
        let svd = m.svd().unwrap();
        approx::assert_abs_diff_eq!(svd.s, Vector::from(vec![5.0, 2.0]), epsilon = 1e-14);
        let u = Matrix::from_vec(2, 2, vec![0.0, 1.0, 1.0, 0.0]).unwrap();
        approx::assert_abs_diff_eq!(svd.u, u, epsilon = 1e-14);
        let vt = Matrix::from_vec(2, 3, vec![0.0, 0.0, -1.0, 0.0, -1.0, 0.0]).unwrap();
        approx::assert_abs_diff_eq!(svd.vt, vt, epsilon = 1e-14);
    }

    #[test]
    fn matrices_without_decomposition_are_errors() {
        let mut m = Matrix::<f32>::zeros(2, 3);
        assert!(matches!(m.symmetric_eig(), Err(Error::NotSquare { .. })));
        m[(1, 2)] = f32::NAN;
        assert!(matches!(m.svd(), Err(Error::NoConvergence { operation: "svd", .. })));
        assert!(matches!(m.col_range(1, 2).unwrap().symmetric_eig(), Err(Error::NoConvergence { .. })));
        // Above the diagonal nothing is read.
        let mut square = Matrix::<f32>::zeros(2, 2);
        square[(0, 1)] = f32::NAN;
        assert_eq!(square.symmetric_eig().unwrap().values.data(), [0.0, 0.0]);
    }

    #[test]
    fn matrices_without_elements() {
        assert_eq!(Matrix::<f64>::zeros(0, 0).symmetric_eig().unwrap().values.dim(), 0);
        for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
            let svd = Matrix::<f64>::zeros(rows, cols).svd().unwrap();
            assert_eq!((svd.u.num_rows(), svd.s.dim(), svd.vt.num_cols()), (rows, 0, cols));
        }
    }
}
