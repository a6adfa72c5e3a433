//! Linear systems by conjugate gradients.

use kaldera_base::{Real, setters};

use crate::check::check_dim;
use crate::error::Error;
use crate::kernels::{axpy, dot};
use crate::packed::SpMatrix;
use crate::storage::{Storage, StorageMut};
use crate::vector::{Vector, VectorBase};

/// Stopping criteria and accuracy of [`linear_cgd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LinearCgdOptions {
    /// Largest number of iterations. It is limited to the number of rows plus 5, after which only
    /// rounding would need more; none is that limit. Default none.
    pub max_iters: Option<usize>,
    /// Length of the residual `A x - b` that is small enough to stop. Default 0.
    pub max_error: f64,
    /// The residual is recomputed, and not only updated, when its length has shrunk by this factor,
    /// or has grown by its inverse. Default 0.01.
    pub recompute_residual_factor: f64,
}

setters! {
    LinearCgdOptions:
    max_iters, with_max_iters: Option<usize> = None, "With this largest number of iterations.";
    max_error, with_max_error: f64 = 0.0, "With this length of the residual as the goal.";
    recompute_residual_factor, with_recompute_residual_factor: f64 = 0.01,
        "With this factor from which the residual is recomputed.";
}

/// Solves `a x = b` for a positive definite `a`, starting from the given `x`. Returns the number of
/// iterations.
///
/// ```
/// use kaldi_matrix::{SpMatrix, Vector};
/// use kaldi_matrix::optimization::{LinearCgdOptions, linear_cgd};
/// let a = SpMatrix::from_vec(2, vec![2.0_f64, 1.0, 3.0])?;
/// let b = Vector::from(vec![4.0, 7.0]);
/// let mut x = Vector::zeros(2);
/// linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x)?;
/// assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// If the residual is longer at the end than at the start, because of rounding, because `a` is not
/// positive definite or because of too few iterations, then `x` is computed directly, as in Kaldi:
/// by eigenvalues, which also work for singular matrices, or, without the features `openblas` and
/// `pure`, by the Cholesky factor. An `x` that already is the solution does not change, while in
/// Kaldi it becomes NaN.
///
/// # Errors
/// [`Error::DimMismatch`] unless `b` and `x` have as many elements as `a` rows. If the residual has
/// grown: the errors of `solve_quadratic_problem`, or, without either feature, of
/// [`SpMatrix::cholesky`]; `x` is then unchanged.
#[doc(alias = "LinearCgd")]
pub fn linear_cgd<T: Real>(
    options: &LinearCgdOptions,
    a: &SpMatrix<T>,
    b: &VectorBase<impl Storage<Elem = T>>,
    x: &mut VectorBase<impl StorageMut<Elem = T>>,
) -> Result<usize, Error> {
    let dim = a.dim();
    check_dim("linear_cgd", dim, b.dim())?;
    check_dim("linear_cgd", dim, x.dim())?;
    let original = x.to_owned();

    // Nocedal and Wright's names: r = A x - b is the residual, and p the direction of the step.
    let residual = |x: &VectorBase<_>, r: &mut Vector<T>| {
        r.copy_from_vec(b)?;
        r.add_sp_vec(T::ONE, a, x, -T::ONE)?;
        Ok::<T, Error>(dot(r.data(), r.data()))
    };
    let (mut r, mut a_p) = (Vector::zeros(dim), Vector::zeros(dim));
    let initial = residual(x, &mut r)?;
    let enough = T::from_f64(options.max_error * options.max_error);
    let enough = if enough < T::MIN_POSITIVE { T::MIN_POSITIVE } else { enough };
    if initial <= enough {
        return Ok(0);
    }
    let mut p: Vector<T> = r.iter().map(|&r| -r).collect();
    let (mut now, mut computed) = (initial, initial);
    let shrunk = T::from_f64(options.recompute_residual_factor * options.recompute_residual_factor);
    let most = options.max_iters.unwrap_or(usize::MAX).min(dim + 5);
    let mut iteration = 0;
    let mut lost = false;
    while iteration < most {
        a_p.add_sp_vec(T::ONE, a, &p, T::ZERO)?;
        let alpha = -dot(p.data(), r.data()) / dot(p.data(), a_p.data());
        if !alpha.is_finite() {
            lost = true;
            break;
        }
        axpy(alpha, p.data(), x.data_mut());
        axpy(alpha, a_p.data(), r.data_mut());
        let mut next = dot(r.data(), r.data());
        if next < shrunk * computed || next > computed / shrunk {
            next = residual(x, &mut r)?;
            computed = next;
        }
        if next <= enough {
            return Ok(iteration);
        }
        let beta = next / now;
        p.iter_mut().zip(r.iter()).for_each(|(p, &r)| *p = beta * *p - r);
        now = next;
        iteration += 1;
    }
    if lost || now.is_nan() || now > initial + T::from_f64(1e-10) * dot(b.data(), b.data()) {
        x.copy_from_vec(&original)?;
        solve_exactly(a, b, x)?;
    }
    Ok(iteration)
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn solve_exactly<T: Real>(
    a: &SpMatrix<T>,
    b: &VectorBase<impl Storage<Elem = T>>,
    x: &mut VectorBase<impl StorageMut<Elem = T>>,
) -> Result<(), Error> {
    crate::packed::solve_quadratic_problem(a, b, &crate::packed::SolverOptions::default(), x).map(|_| ())
}

/// Solves by the Cholesky factor, which needs no library, but only works for definite matrices.
#[cfg(not(any(feature = "openblas", feature = "pure")))]
fn solve_exactly<T: Real>(
    a: &SpMatrix<T>,
    b: &VectorBase<impl Storage<Elem = T>>,
    x: &mut VectorBase<impl StorageMut<Elem = T>>,
) -> Result<(), Error> {
    use crate::matrix::Trans;

    let factor = a.cholesky()?;
    let mut solution = b.to_owned();
    solution.solve(&factor, Trans::No)?;
    solution.solve(&factor, Trans::Yes)?;
    x.copy_from_vec(&solution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Matrix, RandomState, Trans};

    fn positive_definite(dim: usize, seed: u64) -> (SpMatrix<f64>, Vector<f64>) {
        let mut random = RandomState::new(seed);
        let (mut m, mut x) = (Matrix::<f64>::zeros(dim, dim + 3), Vector::zeros(dim));
        m.set_randn(&mut random);
        x.set_randn(&mut random);
        let mut a = SpMatrix::zeros(dim);
        a.add_mat2(1.0, &m, Trans::No, 0.0).unwrap();
        a.add_to_diag(0.5);
        (a, x)
    }

    proptest! {
        #[test]
        fn solution_satisfies_the_system(dim in 1_usize..12, seed in any::<u64>()) {
            let (a, expected) = positive_definite(dim, seed);
            let mut b = Vector::zeros(dim);
            b.add_sp_vec(1.0, &a, &expected, 0.0).unwrap();
            let mut x = Vector::zeros(dim);
            linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x).unwrap();
            for (x, expected) in x.iter().zip(expected.iter()) {
                prop_assert!((x - expected).abs() < 1e-6, "{x} {expected}");
            }
        }
    }

    #[test]
    fn exact_start_is_kept() {
        let a = SpMatrix::from_vec(2, vec![2.0_f64, 1.0, 3.0]).unwrap();
        let (b, mut x) = (Vector::from(vec![4.0, 7.0]), Vector::from(vec![1.0, 2.0]));
        assert_eq!(linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x).unwrap(), 0);
        assert_eq!(x.data(), [1.0, 2.0]);
        let nothing = SpMatrix::<f32>::zeros(0);
        assert_eq!(linear_cgd(&LinearCgdOptions::default(), &nothing, &Vector::zeros(0), &mut Vector::zeros(0)), Ok(0));
    }

    #[test]
    fn iteration_limit_holds() {
        let (a, b) = positive_definite(8, 2);
        let count = |options| linear_cgd(&options, &a, &b, &mut Vector::zeros(8)).unwrap();
        assert_eq!(count(LinearCgdOptions { max_iters: Some(3), ..Default::default() }), 3);
        assert!(count(LinearCgdOptions { max_error: 1e-3, ..Default::default() }) < count(LinearCgdOptions::default()));
        assert!(count(LinearCgdOptions::default()) <= 13);
    }

    #[test]
    fn indefinite_systems_are_solved_or_refused() {
        let a = SpMatrix::from_vec(2, vec![0.0_f64, 0.0, 1.0]).unwrap();
        let (b, mut x) = (Vector::from(vec![1.0, 0.0]), Vector::from(vec![0.0, 1.0]));
        let came = linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x);
        assert_eq!(came.is_ok(), cfg!(any(feature = "openblas", feature = "pure")), "{came:?}");
        assert!(x.iter().all(|x| x.is_finite()));
        assert!(linear_cgd(&LinearCgdOptions::default(), &a, &Vector::zeros(3), &mut x).is_err());
    }
}
