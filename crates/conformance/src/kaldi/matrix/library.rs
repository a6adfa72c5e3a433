//! Operations that need a library of linear algebra: decompositions, inverses, powers.

use kaldera::base::Real;
use kaldera::matrix::decompositions::{attempt_complex_power, compute_pca, create_eigenvalue_matrix, sort_svd};
use kaldera::matrix::packed::{SolverOptions, solve_quadratic_problem};
use kaldera::matrix::traces::trace_mat_mat;
use kaldera::matrix::{Error, Matrix, SpMatrix, SubMatrix, SymmetricEig, TpMatrix, Trans, Vector};

use super::answer::Answer;
use super::packed::sp;
use super::record::{Record, tried};
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    match r.op {
        "Matrix.Invert" => {
            let mut a = r.matrix("A")?;
            let (alone, det) = (a.log_det()?, a.invert()?);
            Ok(Answer::new()
                .matrix("A", &a)
                .number("log_det", det.log)
                .number("det_sign", det.sign)
                .number("LogDet", alone.log)
                .number("LogDet_sign", alone.sign))
        }
        "Matrix.LogDet(singular)" => {
            let mut a = r.matrix("A")?;
            let det = a.log_det()?;
            let answer = Answer::new().number("log_det", det.log).number("det_sign", det.sign);
            Ok(answer.must("a singular matrix has no inverse", matches!(a.invert(), Err(Error::Singular { .. }))))
        }
        "Matrix.Svd" => svd(r),
        "SortSvd" => {
            const ABSOLUTE: &str = "sort_on_absolute_value";
            let (mut s, mut u) = (r.vector("s")?, r.matrix("U")?);
            let mut vt = if r.has("Vt") { Some(r.matrix("Vt")?) } else { None };
            let absolute = if r.has(ABSOLUTE) { r.plain(ABSOLUTE)? } else { true };
            sort_svd(&mut s, Some(u.view_mut()), vt.as_mut().map(Matrix::view_mut), absolute)?;
            let answer = Answer::new().vector("s", &s).matrix("U", &u);
            Ok(if let Some(vt) = vt { answer.matrix("Vt", &vt) } else { answer })
        }
        "Matrix.Eig" => eig(r),
        "Matrix.Power" => {
            let mut a = r.matrix("A")?;
            let ok = match a.power(r.number("power")?) {
                Ok(()) => true,
                Err(Error::NoRealPower { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            Ok(Answer::new().exact("ok", ok).matrix("A", &a))
        }
        "AttemptComplexPower" => {
            let (re, im) = (r.number("re")?, r.number("im")?);
            let power = attempt_complex_power(re, im, r.number("power")?);
            let (new_re, new_im) = power.unwrap_or((re, im));
            Ok(Answer::new().exact("ok", power.is_some()).number("re", new_re).number("im", new_im))
        }
        "Matrix.reductions" => {
            let (a, b) = (r.matrix("A")?, r.matrix("B")?);
            Ok(Answer::new()
                .number("Sum", a.sum())
                .number("Max", a.max())
                .number("Min", a.min())
                .number("FrobeniusNorm", a.frobenius_norm())
                .number("LargestAbsElem", a.largest_abs_elem())
                .number("Cond", a.cond()?)
                .number("MinSingularValue", a.min_singular_value()?)
                .number("Trace_nocheck", a.trace(false)?)
                .number("TraceMatMat_AB", trace_mat_mat(&a, &b, Trans::No)?)
                .number("TraceMatMat_AA_trans", trace_mat_mat(&a, &a, Trans::Yes)?))
        }
        "ComputePca" => pca(r),
        "Sp.Invert/Cholesky" => {
            let s = sp(r, "S")?;
            let mut inverse = s.clone();
            let det = inverse.invert()?;
            let t = tried(&TpMatrix::zeros(s.dim()), |t| t.cholesky(&s))?;
            Ok(Answer::new()
                .numbers("Invert", inverse.data())
                .number("logdet", det.log)
                .number("det_sign", det.sign)
                .number("LogPosDefDet", s.log_pos_def_det()?)
                .numbers("Cholesky_Tp", t.data())
                .numbers("Tp_Invert", tried(&t, TpMatrix::invert)?.data())
                .number("Tp_Determinant", t.determinant())
                .number("Cond", s.cond()?)
                .number("Trace", s.trace())
                .number("FrobeniusNorm", s.frobenius_norm())
                .number("MaxAbsEig", s.max_abs_eig()?)
                .exact("IsPosDef", s.is_pos_def()))
        }
        "Sp.Invert(indefinite)" => {
            let mut s = sp(r, "S")?;
            let (alone, det) = (s.log_det()?, s.invert()?);
            Ok(Answer::new()
                .number("LogDet", alone.log)
                .number("det_sign", alone.sign)
                .numbers("Invert", s.data())
                .must("the inverse comes with the same determinant", det == alone))
        }
        "Sp.Eig/SymPosSemiDefEig" => {
            let s = sp(r, "S")?;
            let answer = Answer::new().free("Eig_s").free("Eig_P").free("SPSD_s").free("SPSD_P");
            let answer = judge_eig(answer, &s, &s.eig()?, r.out.numbers("Eig_s")?)?;
            judge_eig(answer, &s, &s.sym_pos_semi_def_eig(T::from_f64(0.001))?, r.out.numbers("SPSD_s")?)
        }
        "Sp.Eig(indefinite)" => {
            let s = sp(r, "S")?;
            judge_eig(Answer::new().free("s").free("P"), &s, &s.eig()?, r.out.numbers("s")?)
        }
        "Sp.ApplyPow" => {
            let mut s = sp(r, "S")?;
            s.apply_pow(r.number("exponent")?)?;
            Ok(Answer::new().numbers("S", s.data()))
        }
        "Sp.LimitCond" => {
            let mut answer = Answer::new();
            for (ret, name, invert) in [("ret", "S", false), ("ret_invert", "S_invert", true)] {
                let mut s = sp(r, "S")?;
                let floored = s.limit_cond(r.number("maxCond")?, invert)?;
                answer = answer.exact(ret, floored).numbers(name, s.data());
            }
            Ok(answer)
        }
        "Sp.ApplyFloor(Sp)" => {
            let mut s = sp(r, "S")?;
            let floored = s.apply_floor_sp(&sp(r, "Floor")?, r.number("alpha")?)?;
            Ok(Answer::new().exact("ret", floored).numbers("S", s.data()))
        }
        "Sp.ApplyFloor(real)" => {
            let mut s = sp(r, "S")?;
            let floored = s.apply_floor(r.number("floor")?)?;
            Ok(Answer::new().exact("ret", floored).numbers("S", s.data()))
        }
        "SolveQuadraticProblem" => {
            let mut x = r.vector("x0")?;
            let gain = solve_quadratic_problem(&sp(r, "H")?, &r.vector("g")?, &SolverOptions::default(), &mut x)?;
            Ok(Answer::new().vector("x", &x).number("objf_change", gain))
        }
        _ => Err(Stop::NotRun),
    }
}

fn svd<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let a = r.matrix("A")?;
    let svd = a.svd()?;
    let scaled = tried(&svd.u, |u| u.mul_cols_vec(&svd.s))?;
    let unit = SpMatrix::<T>::unit(svd.s.dim());
    let left = tried(&unit, |m| m.add_mat2(T::ONE, &svd.u, Trans::Yes, T::ZERO))?;
    let right = tried(&unit, |m| m.add_mat2(T::ONE, &svd.vt, Trans::No, T::ZERO))?;
    let mut known = r.out.vector("s")?;
    sort_svd(&mut known, None, None, false)?;
    Ok(Answer::new()
        .free("s")
        .free("U")
        .free("Vt")
        .near("the singular values", known.data(), svd.s.data())
        .near("U diag(s) V'", a.data(), product(scaled.view(), svd.vt.view(), Trans::No)?.data())
        .near("U' U", unit.data(), left.data())
        .near("V' V", unit.data(), right.data()))
}

/// The matrix `a b`, or `a b'`.
fn product<T: Real>(a: SubMatrix<'_, T>, b: SubMatrix<'_, T>, trans: Trans) -> Result<Matrix<T>, Stop> {
    let cols = if trans == Trans::No { b.num_cols() } else { b.num_rows() };
    tried(&Matrix::zeros(a.num_rows(), cols), |c| c.add_mat_mat(T::ONE, &a, Trans::No, &b, trans, T::ZERO))
}

/// A P must be P D, and P have an inverse; order and scale are free.
fn eig<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let a = r.matrix("A")?;
    let eig = a.eig()?;
    let d = create_eigenvalue_matrix(&eig.re, &eig.im)?;
    let left = product(a.view(), eig.p.view(), Trans::No)?;
    let right = product(eig.p.view(), d.view(), Trans::No)?;
    let trace = |values: &Vector<T>| vec![values.sum()];
    Ok(Answer::new()
        .free("P")
        .free("re")
        .free("im")
        .free("D")
        .near("A P against P D", left.data(), right.data())
        .near("the sum of the eigenvalues", &trace(&r.out.vector("re")?), &trace(&eig.re))
        .must("P has an inverse", eig.p.log_det()?.sign != T::ZERO))
}

/// The eigenvalues must be Kaldi's in some order, the decomposition must give the matrix, and the
/// eigenvectors must be orthonormal.
fn judge_eig<T: Real>(
    answer: Answer,
    s: &SpMatrix<T>,
    eig: &SymmetricEig<T>,
    mut known: Vec<T>,
) -> Result<Answer, Stop> {
    // Descending, as ours are.
    known.sort_by(|a, b| b.to_f64().total_cmp(&a.to_f64()));
    let products = tried(&SpMatrix::zeros(s.dim()), |m| m.add_mat2(T::ONE, &eig.vectors, Trans::Yes, T::ZERO))?;
    Ok(answer
        .near("the eigenvalues", &known, eig.values.data())
        .near("P diag(s) P'", s.data(), eig.to_sp().data())
        .near("P' P", SpMatrix::<T>::unit(s.dim()).data(), products.data()))
}

/// The signs of the directions are free, but the part of x along all of them together is not.
fn pca<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let (x, dim) = (r.matrix("X")?, r.plain("dim")?);
    let (mut u, mut a) = (Matrix::zeros(dim, x.num_cols()), Matrix::zeros(x.num_rows(), dim));
    compute_pca(&x, &mut u, Some(a.view_mut()))?;
    let (known_u, known_a) = (r.out.matrix("U")?, r.out.matrix("A")?);
    let along = |a: &Matrix<T>, u: &Matrix<T>| product(a.view(), u.view(), Trans::No);
    let unit = Matrix::from_fn(dim, dim, |r, c| if r == c { T::ONE } else { T::ZERO });
    let mut answer = Answer::new()
        .free("U")
        .free("A")
        .near("U U'", unit.data(), product(u.view(), u.view(), Trans::Yes)?.data())
        .near("A", a.data(), product(x.view(), u.view(), Trans::Yes)?.data())
        .near("A U", along(&known_a, &known_u)?.data(), along(&a, &u)?.data());
    // Each direction by itself, with the known answer's sign.
    for (came, known) in u.rows().zip(known_u.rows()) {
        let agrees = came.iter().zip(known).map(|(&a, &b)| a * b).sum::<T>() > T::ZERO;
        let came: Vec<T> = came.iter().map(|&x| if agrees { x } else { -x }).collect();
        answer = answer.near("a row of U, but for its sign", known, &came);
    }
    Ok(answer)
}
