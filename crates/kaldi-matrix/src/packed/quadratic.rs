//! Maxima of quadratic functions whose matrices may be nearly singular: the solution moves only in
//! directions that the matrix determines.
//!
//! Each solver starts from a given point and returns the gain of the function, which is never
//! negative. All compute in double precision.
//!
//! The formulas are from D. Povey, *A Tutorial-style Introduction to Subspace Gaussian Mixture
//! Models for Speech Recognition*, Microsoft Research technical report MSR-TR-2009-111.

use kaldera_base::{Real, setters};

use crate::check::check_dim;
use crate::check::check_shape;
use crate::decompositions::SymmetricEig;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::packed::sp_eig::SEMI_DEFINITE;
use crate::packed::{SpMatrix, TpMatrix, trace_mat_sp_mat_sp, vec_sp_vec};
use crate::storage::{Storage, StorageMut};
use crate::vector::{Vector, VectorBase};

/// Options of the solvers for nearly singular matrices; Kaldi's `SolverOptions`, with its defaults.
///
/// ```
/// # use kaldi_matrix::packed::SolverOptions;
/// let options = SolverOptions::default().with_k(1e3);
/// assert!(options.optimize_delta);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct SolverOptions {
    /// Largest allowed condition: eigenvalues below the largest one divided by this are raised to
    /// it; above 10.
    pub k: f64,
    /// Lower bound to which eigenvalues are raised; below 1e-10.
    pub eps: f64,
    /// `true` to solve for the change from the start: in directions that the matrix does not
    /// determine, the start stays. `false` to solve for the point: in these directions it goes
    /// towards zero.
    pub optimize_delta: bool,
    /// `true` to scale the axes first, so that the matrix has ones on its diagonal; for
    /// [`solve_quadratic_problem`].
    pub diagonal_precondition: bool,
}

setters! {
    SolverOptions:
    k, with_k: f64 = 1e4, "With this largest condition.";
    eps, with_eps: f64 = 1e-40, "With this lower bound of eigenvalues.";
    optimize_delta, with_optimize_delta: bool = true, "With the change from the start solved for, or the point.";
    diagonal_precondition, with_diagonal_precondition: bool = false, "With or without scaled axes.";
}

impl SolverOptions {
    /// Checks that the numbers are in the ranges of their fields.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`].
    #[doc(alias = "Check")]
    pub fn check(&self) -> Result<(), Error> {
        let outside = |parameter, value, expected| {
            Err(Error::OutOfDomain { operation: "SolverOptions::check", parameter, value, expected })
        };
        if self.k <= 10.0 || self.k.is_nan() {
            return outside("k", self.k, "a number above 10");
        }
        if !(0.0..1e-10).contains(&self.eps) {
            return outside("eps", self.eps, "a number below 1e-10, not negative");
        }
        Ok(())
    }

    /// Returns the matrix with eigenvalues that are too small raised.
    fn trusted(&self, operation: &'static str, h: &SpMatrix<f64>) -> Result<SymmetricEig<f64>, Error> {
        let mut eig = h.eig()?;
        eig.floor_at_zero(operation, SEMI_DEFINITE)?;
        // If there are no eigenvalues, the largest is minus infinity.
        let floor = self.eps.max(eig.values.max() / self.k);
        eig.values.apply_floor(floor);
        Ok(eig)
    }
}

/// Moves `x` to the maximum of `x' g - x' h x / 2`, and returns the gain; `h` must be positive
/// semi-definite.
///
/// With h = U diag(l) U' and l' the eigenvalues raised according to `options`, `x += U diag(l')^-1
/// U' (g - h x)`. If that gains nothing, or h is zero, x does not change and the gain is 0.
///
/// ```
/// # use kaldi_matrix::{SpMatrix, Vector};
/// # use kaldi_matrix::packed::{SolverOptions, solve_quadratic_problem};
/// let h = SpMatrix::from_vec(2, vec![2.0_f64, 0.0, 4.0])?;
/// let g = Vector::from(vec![2.0, 2.0]);
/// let mut x = Vector::zeros(2);
/// let gain = solve_quadratic_problem(&h, &g, &SolverOptions::default(), &mut x)?;
/// assert_eq!((x.data(), gain), (&[1.0, 0.5][..], 1.5));
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::DimMismatch`] unless `g` and `x` have as many elements as `h` rows;
/// [`Error::OutOfDomain`] as [`SolverOptions::check`]; as [`SpMatrix::sym_pos_semi_def_eig`] with a
/// tolerance of 0.001. x is then unchanged.
#[doc(alias = "SolveQuadraticProblem")]
pub fn solve_quadratic_problem<T: Real>(
    h: &SpMatrix<T>,
    g: &VectorBase<impl Storage<Elem = T>>,
    options: &SolverOptions,
    x: &mut VectorBase<impl StorageMut<Elem = T>>,
) -> Result<T, Error> {
    check_dim("solve_quadratic_problem", h.dim(), g.dim())?;
    check_dim("solve_quadratic_problem", h.dim(), x.dim())?;
    options.check()?;
    let mut wide = double_vector(x);
    let gain = solve(&h.converted(), &double_vector(g), options, &mut wide)?;
    if gain > 0.0 {
        x.copy_from_vec(&wide)?;
    }
    Ok(T::from_f64(gain))
}

fn solve(h: &SpMatrix<f64>, g: &Vector<f64>, options: &SolverOptions, x: &mut Vector<f64>) -> Result<f64, Error> {
    if h.is_zero(0.0) {
        return Ok(0.0);
    }
    if options.diagonal_precondition {
        return solve_scaled(h, g, options, x);
    }
    let mut gradient = g.clone();
    if options.optimize_delta {
        gradient.add_sp_vec(-1.0, h, x, 1.0)?;
    }
    let eig = options.trusted("solve_quadratic_problem", h)?;
    let mut along = Vector::zeros(x.dim());
    along.add_mat_vec(1.0, &eig.vectors, Trans::Yes, &gradient, 0.0)?;
    along.iter_mut().zip(eig.values.iter()).for_each(|(x, l)| *x /= l);
    let mut candidate = if options.optimize_delta { x.clone() } else { Vector::zeros(x.dim()) };
    candidate.add_mat_vec(1.0, &eig.vectors, Trans::No, &along, 1.0)?;
    let value = |x: &Vector<f64>| Ok::<f64, Error>(kernels::dot(g.data(), x.data()) - 0.5 * vec_sp_vec(x, h, x)?);
    let gain = value(&candidate)? - value(x)?;
    if gain > 0.0 {
        *x = candidate;
        return Ok(gain);
    }
    Ok(0.0)
}

/// Solves the problem in axes in which `h` has ones on its diagonal.
fn solve_scaled(
    h: &SpMatrix<f64>,
    g: &Vector<f64>,
    options: &SolverOptions,
    x: &mut Vector<f64>,
) -> Result<f64, Error> {
    /// Lower bound of the diagonal; an axis below it hardly changes.
    const LEAST: f64 = 1e3 * f64::MIN_POSITIVE;
    let scales: Vector<f64> = h.diag().map(|d| d.max(LEAST).sqrt()).collect();
    let inverse: Vector<f64> = scales.iter().map(|s| 1.0 / s).collect();
    let mut scaled_h = SpMatrix::zeros(h.dim());
    scaled_h.add_vec2_sp(1.0, &inverse, h, 0.0)?;
    let (mut scaled_g, mut scaled_x) = (g.clone(), x.clone());
    scaled_g.mul_elements(&inverse)?;
    scaled_x.mul_elements(&scales)?;
    let gain = solve(&scaled_h, &scaled_g, &SolverOptions { diagonal_precondition: false, ..*options }, &mut scaled_x)?;
    if gain > 0.0 {
        x.copy_from_vec(&scaled_x)?;
        x.mul_elements(&inverse)?;
    }
    Ok(gain)
}

/// Moves `m` to the maximum of `tr(m' p y) - tr(p m q m') / 2`, and returns the gain; `q` and `p`
/// must be positive semi-definite, `p` is Kaldi's `SigmaInv`, and `m` has the shape of `y`.
///
/// The best m solves m q = y for any p; p only determines the gain. As in
/// [`solve_quadratic_problem`], with U and l' from q, `m += (y - m q) U diag(l')^-1 U'`;
/// `options.diagonal_precondition` is ignored.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `m` has as many rows as `p` and columns as `q`, and `y` its
/// shape; [`Error::OutOfDomain`] as [`SolverOptions::check`]; as [`SpMatrix::sym_pos_semi_def_eig`]
/// with a tolerance of 0.001. m is then unchanged.
#[doc(alias = "SolveQuadraticMatrixProblem")]
pub fn solve_quadratic_matrix_problem<T: Real>(
    q: &SpMatrix<T>,
    y: &MatrixBase<impl Storage<Elem = T>>,
    p: &SpMatrix<T>,
    options: &SolverOptions,
    m: &mut MatrixBase<impl StorageMut<Elem = T>>,
) -> Result<T, Error> {
    let shape = Shape { rows: p.dim(), cols: q.dim() };
    check_shape("solve_quadratic_matrix_problem", shape, m.shape())?;
    check_shape("solve_quadratic_matrix_problem", shape, y.shape())?;
    options.check()?;
    let (q, p, y, start) = (q.converted::<f64>(), p.converted::<f64>(), double_matrix(y), double_matrix(m));
    if q.is_zero(0.0) {
        return Ok(T::ZERO);
    }
    let mut gradient = y.clone();
    if options.optimize_delta {
        gradient.add_mat_sp(-1.0, &start, Trans::No, &q, 1.0)?;
    }
    let eig = options.trusted("solve_quadratic_matrix_problem", &q)?;
    let mut along = Matrix::zeros(shape.rows, shape.cols);
    along.add_mat_mat(1.0, &gradient, Trans::No, &eig.vectors, Trans::No, 0.0)?;
    along.rows_mut().for_each(|row| row.iter_mut().zip(eig.values.iter()).for_each(|(x, l)| *x /= l));
    let mut candidate = if options.optimize_delta { start.clone() } else { Matrix::zeros(shape.rows, shape.cols) };
    candidate.add_mat_mat(1.0, &along, Trans::No, &eig.vectors, Trans::Yes, 1.0)?;
    let mut weighted = Matrix::zeros(shape.rows, shape.cols);
    weighted.add_sp_mat(1.0, &p, &y, Trans::No, 0.0)?;
    let value = |m: &Matrix<f64>| {
        Ok::<f64, Error>(inner(m, &weighted) - 0.5 * trace_mat_sp_mat_sp(m, Trans::No, &q, m, Trans::Yes, &p)?)
    };
    let gain = value(&candidate)? - value(&start)?;
    if gain > 0.0 {
        m.copy_from_mat(&candidate, Trans::No)?;
    }
    Ok(T::from_f64(gain.max(0.0)))
}

/// Moves `m` to the maximum of `tr(m' g) - tr(p1 m q1 m') / 2 - tr(p2 m q2 m') / 2`, and returns
/// the gain; `p1` must be positive definite, the others positive semi-definite.
///
/// The inverse of the Cholesky factor of p1 makes p1 the unit matrix, and a rotation to the
/// eigenvectors of the transformed p2 makes p2 diagonal. In these axes each row of m is a problem
/// for [`solve_quadratic_problem`], with `q1 + d q2`.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `m` and `g` have as many rows as `p1` and columns as `q1`,
/// [`Error::DimMismatch`] unless `p2` and `q2` have the sizes of `p1` and `q1`;
/// [`Error::NotPositiveDefinite`] for `p1`; [`Error::OutOfDomain`] as [`SolverOptions::check`]; as
/// [`SpMatrix::sym_pos_semi_def_eig`] with a tolerance of 0.001. m is then unchanged.
#[doc(alias = "SolveDoubleQuadraticMatrixProblem")]
pub fn solve_double_quadratic_matrix_problem<T: Real>(
    g: &MatrixBase<impl Storage<Elem = T>>,
    p1: &SpMatrix<T>,
    p2: &SpMatrix<T>,
    q1: &SpMatrix<T>,
    q2: &SpMatrix<T>,
    options: &SolverOptions,
    m: &mut MatrixBase<impl StorageMut<Elem = T>>,
) -> Result<T, Error> {
    let operation = "solve_double_quadratic_matrix_problem";
    let shape = Shape { rows: p1.dim(), cols: q1.dim() };
    check_shape(operation, shape, m.shape())?;
    check_shape(operation, shape, g.shape())?;
    check_dim(operation, p1.dim(), p2.dim())?;
    check_dim(operation, q1.dim(), q2.dim())?;
    options.check()?;
    let (g, start) = (double_matrix(g), double_matrix(m));
    let (p1, p2, q1, q2) = (p1.converted(), p2.converted(), q1.converted(), q2.converted());
    let axes = Axes::new(operation, &p1, &p2)?;

    // M' = T'^-1 M and G' = T G, with T P1 T' = 1 and T P2 T' = diag(d).
    let mut turned = Matrix::zeros(shape.rows, shape.cols);
    turned.add_mat_mat(1.0, &axes.back, Trans::Yes, &start, Trans::No, 0.0)?;
    let mut linear = Matrix::zeros(shape.rows, shape.cols);
    linear.add_mat_mat(1.0, &axes.there, Trans::No, &g, Trans::No, 0.0)?;
    for (r, &d) in axes.weights.iter().enumerate() {
        let mut quadratic = q1.clone();
        quadratic.add_sp(d, &q2)?;
        let mut row = turned.row(r).to_owned();
        solve(&quadratic, &linear.row(r).to_owned(), options, &mut row)?;
        turned.copy_row_from_vec(&row, r)?;
    }
    let mut candidate = Matrix::zeros(shape.rows, shape.cols);
    candidate.add_mat_mat(1.0, &axes.there, Trans::Yes, &turned, Trans::No, 0.0)?;

    let value = |m: &Matrix<f64>| {
        let first = trace_mat_sp_mat_sp(m, Trans::No, &q1, m, Trans::Yes, &p1)?;
        let second = trace_mat_sp_mat_sp(m, Trans::No, &q2, m, Trans::Yes, &p2)?;
        Ok::<f64, Error>(inner(m, &g) - 0.5 * (first + second))
    };
    let gain = value(&candidate)? - value(&start)?;
    if gain > 0.0 {
        m.copy_from_mat(&candidate, Trans::No)?;
    }
    Ok(T::from_f64(gain.max(0.0)))
}

/// Axes in which one quadratic form is the unit matrix and another one diagonal.
struct Axes {
    /// T, with T p1 T' = 1 and T p2 T' = diag(weights).
    there: Matrix<f64>,
    /// T^-1.
    back: Matrix<f64>,
    weights: Vector<f64>,
}

impl Axes {
    fn new(operation: &'static str, p1: &SpMatrix<f64>, p2: &SpMatrix<f64>) -> Result<Self, Error> {
        let l = p1.cholesky()?;
        let mut inverse: TpMatrix<f64> = l.clone();
        inverse.invert()?;
        let mut seen = SpMatrix::zeros(p1.dim());
        seen.add_tp2_sp(1.0, &inverse, Trans::No, p2, 0.0)?;
        let mut eig = seen.eig()?;
        eig.floor_at_zero(operation, SEMI_DEFINITE)?;
        let (mut there, mut back) = (Matrix::zeros(p1.dim(), p1.dim()), Matrix::zeros(p1.dim(), p1.dim()));
        there.add_mat_tp(1.0, &eig.vectors, Trans::Yes, &inverse, Trans::No, 0.0)?;
        back.add_tp_mat(1.0, &l, Trans::No, &eig.vectors, Trans::No, 0.0)?;
        Ok(Self { there, back, weights: eig.values })
    }
}

/// Computes tr(a' b).
fn inner(a: &Matrix<f64>, b: &Matrix<f64>) -> f64 {
    kernels::dot(a.data(), b.data())
}

fn double_vector<T: Real>(v: &VectorBase<impl Storage<Elem = T>>) -> Vector<f64> {
    v.iter().map(|x| x.to_f64()).collect()
}

fn double_matrix<T: Real>(m: &MatrixBase<impl Storage<Elem = T>>) -> Matrix<f64> {
    Matrix::from_fn(m.num_rows(), m.num_cols(), |r, c| m[(r, c)].to_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definite(dim: usize, seed: usize) -> SpMatrix<f64> {
        let m = Matrix::from_fn(dim, dim + 1, |r, c| ((r * 7 + c * 5 + seed * (r + 3 * c)) % 11) as f64 / 4.0 - 1.0);
        let mut s = SpMatrix::unit(dim);
        s.add_mat2(1.0, &m, Trans::No, 1.0).unwrap();
        s
    }

    fn matrix(rows: usize, cols: usize, seed: usize) -> Matrix<f64> {
        Matrix::from_fn(rows, cols, |r, c| ((r * 3 + c * 8 + seed * (r + c)) % 13) as f64 / 4.0 - 1.5)
    }

    #[test]
    fn at_the_maximum_the_gradient_is_zero() {
        let h = definite(5, 1);
        let g = matrix(1, 5, 1).row(0).to_owned();
        for (optimize_delta, diagonal_precondition) in [(true, false), (false, false), (true, true), (false, true)] {
            let options = SolverOptions { optimize_delta, diagonal_precondition, ..Default::default() };
            let mut x = matrix(1, 5, 2).row(0).to_owned();
            let gain = solve_quadratic_problem(&h, &g, &options, &mut x).unwrap();
            assert!(gain > 0.0);
            let mut gradient = g.clone();
            gradient.add_sp_vec(-1.0, &h, &x, 1.0).unwrap();
            assert!(gradient.iter().all(|x| x.abs() < 1e-12), "{gradient}");
            // From this point, the only gain is rounding.
            assert!(solve_quadratic_problem(&h, &g, &options, &mut x).unwrap() < 1e-12);
        }
    }

    #[test]
    fn null_space_components_are_kept() {
        let h = SpMatrix::from_vec(2, vec![1.0_f32, 0.0, 0.0]).unwrap();
        let g = Vector::from(vec![2.0_f32, 0.0]);
        let mut x = Vector::from(vec![0.0_f32, 5.0]);
        solve_quadratic_problem(&h, &g, &SolverOptions::default(), &mut x).unwrap();
        assert_eq!(x.data(), [2.0, 5.0]);
        let zero = SpMatrix::zeros(2);
        assert_eq!(solve_quadratic_problem(&zero, &g, &SolverOptions::default(), &mut x).unwrap(), 0.0);
        let negative = SpMatrix::from_vec(2, vec![-1.0_f32, 0.0, -1.0]).unwrap();
        assert!(solve_quadratic_problem(&negative, &g, &SolverOptions::default(), &mut x).is_err());
        assert_eq!(x.data(), [2.0, 5.0]);
    }

    #[test]
    fn matrices_end_at_their_maximum() {
        let (q, p, y) = (definite(4, 1), definite(3, 2), matrix(3, 4, 3));
        for optimize_delta in [true, false] {
            let options = SolverOptions { optimize_delta, ..Default::default() };
            let mut m = matrix(3, 4, 5);
            assert!(solve_quadratic_matrix_problem(&q, &y, &p, &options, &mut m).unwrap() > 0.0);
            let mut gradient = y.clone();
            gradient.add_mat_sp(-1.0, &m, Trans::No, &q, 1.0).unwrap();
            assert!(gradient.data().iter().all(|x| x.abs() < 1e-12), "{gradient}");
        }
    }

    #[test]
    fn two_quadratic_terms_end_at_their_maximum() {
        let (p1, p2, q1, q2) = (definite(3, 1), definite(3, 2), definite(4, 3), definite(4, 4));
        let g = matrix(3, 4, 3);
        let mut m = matrix(3, 4, 5);
        let gain =
            solve_double_quadratic_matrix_problem(&g, &p1, &p2, &q1, &q2, &SolverOptions::default(), &mut m).unwrap();
        assert!(gain > 0.0);
        // G - P1 M Q1 - P2 M Q2.
        let mut gradient = g.clone();
        for (p, q) in [(&p1, &q1), (&p2, &q2)] {
            let mut term = Matrix::zeros(3, 4);
            term.add_sp_mat_sp(1.0, p, &m, Trans::No, q, 0.0).unwrap();
            gradient.add_mat(-1.0, &term, Trans::No).unwrap();
        }
        assert!(gradient.data().iter().all(|x| x.abs() < 1e-11), "{gradient}");
        let singular = SpMatrix::zeros(3);
        let options = SolverOptions::default();
        assert!(solve_double_quadratic_matrix_problem(&g, &singular, &p2, &q1, &q2, &options, &mut m).is_err());
    }

    #[test]
    fn options_are_checked() {
        let (h, g, mut x) = (definite(2, 1), Vector::from(vec![1.0, 1.0]), Vector::zeros(2));
        for options in [
            SolverOptions { k: 10.0, ..Default::default() },
            SolverOptions { k: f64::NAN, ..Default::default() },
            SolverOptions { eps: 1.0, ..Default::default() },
        ] {
            let error = solve_quadratic_problem(&h, &g, &options, &mut x).err().unwrap();
            assert!(matches!(error, Error::OutOfDomain { .. }), "{error}");
        }
    }
}
