//! Decompositions of dense matrices, inverses, powers, orthogonal rows.

use kaldera::base::Real;
#[cfg(any(feature = "openblas", feature = "pure"))]
use kaldera::matrix::decompositions::{attempt_complex_power, create_eigenvalue_matrix, sort_svd};
#[cfg(any(feature = "openblas", feature = "pure"))]
use kaldera::matrix::{Error, Matrix, SpMatrix, Trans, Vector};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Matrix.OrthogonalizeRows" => orthogonalize_rows,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        _ => return with_library(op),
        #[cfg(not(any(feature = "openblas", feature = "pure")))]
        _ => return None,
    })
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn with_library<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Matrix.Invert" => invert,
        "Matrix.LogDet(singular)" => log_det,
        "Matrix.Svd" => svd,
        "SortSvd" => sorted_svd,
        "Matrix.Eig" => eig,
        "Matrix.Power" => power,
        "AttemptComplexPower" => complex_power,
        _ => return None,
    })
}

fn orthogonalize_rows<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut a = record.given.matrix("A")?;
    a.orthogonalize_rows()?;
    Ok(Answer::new().matrix("A", &a))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn invert<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut a = record.given.matrix("A")?;
    let alone = a.log_det()?;
    let det = a.invert()?;
    Ok(Answer::new()
        .matrix("A", &a)
        .number("log_det", det.log)
        .number("det_sign", det.sign)
        .number("LogDet", alone.log)
        .number("LogDet_sign", alone.sign))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn log_det<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut a = record.given.matrix("A")?;
    let det = a.log_det()?;
    Ok(Answer::new()
        .number("log_det", det.log)
        .number("det_sign", det.sign)
        .must("a singular matrix has no inverse", matches!(a.invert(), Err(Error::Singular { .. }))))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn svd<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let a = record.given.matrix("A")?;
    let svd = a.svd()?;
    let (mut product, mut scaled) = (Matrix::zeros(a.num_rows(), a.num_cols()), svd.u.clone());
    scaled.mul_cols_vec(&svd.s)?;
    product.add_mat_mat(T::ONE, &scaled, Trans::No, &svd.vt, Trans::No, T::ZERO)?;
    let unit = SpMatrix::unit(svd.s.dim());
    let (mut left, mut right) = (unit.clone(), unit.clone());
    left.add_mat2(T::ONE, &svd.u, Trans::Yes, T::ZERO)?;
    right.add_mat2(T::ONE, &svd.vt, Trans::No, T::ZERO)?;
    let mut known = record.out.vector("s")?;
    sort_svd(&mut known, None, None, false)?;
    Ok(Answer::new()
        .free("s")
        .free("U")
        .free("Vt")
        .near("the singular values", known.data(), svd.s.data())
        .near("U diag(s) V'", a.data(), product.data())
        .near("U' U", unit.data(), left.data())
        .near("V' V", unit.data(), right.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn sorted_svd<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    const ABSOLUTE: &str = "sort_on_absolute_value";
    let given = &record.given;
    let (mut s, mut u) = (given.vector("s")?, given.matrix("U")?);
    let mut vt = if given.has("Vt") { Some(given.matrix("Vt")?) } else { None };
    let absolute = if given.has(ABSOLUTE) { given.plain(ABSOLUTE)? } else { true };
    sort_svd(&mut s, Some(u.view_mut()), vt.as_mut().map(Matrix::view_mut), absolute)?;
    let answer = Answer::new().vector("s", &s).matrix("U", &u);
    Ok(match vt {
        Some(vt) => answer.matrix("Vt", &vt),
        None => answer,
    })
}

/// A P must be P D, and P have an inverse; order and scale are free.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn eig<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let a = record.given.matrix("A")?;
    let eig = a.eig()?;
    let d = create_eigenvalue_matrix(&eig.re, &eig.im)?;
    let (mut left, mut right) = (a.clone(), a.clone());
    left.add_mat_mat(T::ONE, &a, Trans::No, &eig.p, Trans::No, T::ZERO)?;
    right.add_mat_mat(T::ONE, &eig.p, Trans::No, &d, Trans::No, T::ZERO)?;
    let trace = |values: &Vector<T>| vec![values.sum()];
    Ok(Answer::new()
        .free("P")
        .free("re")
        .free("im")
        .free("D")
        .near("A P against P D", left.data(), right.data())
        .near("the sum of the eigenvalues", &trace(&record.out.vector("re")?), &trace(&eig.re))
        .must("P has an inverse", eig.p.log_det()?.sign != T::ZERO))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn power<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut a = record.given.matrix("A")?;
    let ok = match a.power(record.given.number("power")?) {
        Ok(()) => true,
        Err(Error::NoRealPower { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(Answer::new().exact("ok", ok).matrix("A", &a))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn complex_power<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (re, im) = (given.number("re")?, given.number("im")?);
    let power = attempt_complex_power(re, im, given.number("power")?);
    let (new_re, new_im) = power.unwrap_or((re, im));
    Ok(Answer::new().exact("ok", power.is_some()).number("re", new_re).number("im", new_im))
}
