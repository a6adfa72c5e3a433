//! Packed matrices: `Packed.*`, `Sp.*`, and operations of vectors and matrices on them.

use kaldera::base::Real;
#[cfg(any(feature = "openblas", feature = "pure"))]
use kaldera::matrix::SymmetricEig;
#[cfg(any(feature = "openblas", feature = "pure"))]
use kaldera::matrix::packed::{SolverOptions, solve_quadratic_problem};
use kaldera::matrix::packed::{trace_sp_mat, trace_sp_sp, trace_sp_sp_lower, vec_sp_vec};
use kaldera::matrix::{Matrix, PackedMatrix, ResizeType, SpCopyType, SpMatrix, TpMatrix, Trans};

use super::answer::Answer;
use super::record::{Fields, Record};
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Packed.from Matrix" => from_matrix,
        "Packed.misc" => misc,
        "Vector.MulTp/Solve" => mul_tp_solve,
        "Vector.AddTpVec" => add_tp_vec,
        "Vector.CopyRowFromSp(all rows)" => copy_row_from_sp,
        "Vector.AddSpVec" => add_sp_vec,
        "VecSpVec" => vec_sp_vec_,
        "TraceSpSp" => traces,
        "TraceSpMat" => trace_sp_mat_,
        "Matrix.AddSpSp/AddSp" => matrix_add_sp,
        "Sp.AddMat2/AddMat2Sp/AddMat2Vec" => add_mat2,
        "Sp.AddTp2/AddTp2Sp" => add_tp2,
        "Sp.AddVec2/AddVecVec/AddVec2Sp/AddDiagVec" => add_vectors,
        "Sp.Tridiagonalize" => tridiagonalize,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        _ => return with_library(op),
        #[cfg(not(any(feature = "openblas", feature = "pure")))]
        _ => return None,
    })
}

/// Operations that need decompositions.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn with_library<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Sp.Invert/Cholesky" => invert_cholesky,
        "Sp.Invert(indefinite)" => invert_indefinite,
        "Sp.Eig/SymPosSemiDefEig" => eig,
        "Sp.Eig(indefinite)" => eig_indefinite,
        "Sp.ApplyPow" => apply_pow,
        "Sp.LimitCond" => limit_cond,
        "Sp.ApplyFloor(Sp)" => apply_floor_sp,
        "Sp.ApplyFloor(real)" => apply_floor,
        "SolveQuadraticProblem" => quadratic,
        _ => return None,
    })
}

/// A packed matrix of either kind; its size follows from the number of elements.
fn packed<T: Real, K>(given: &Fields<'_, T>, name: &str) -> Result<PackedMatrix<T, K>, Stop> {
    let data = given.numbers(name)?;
    Ok(PackedMatrix::from_vec((2 * data.len()).isqrt(), data)?)
}

fn sp<T: Real>(given: &Fields<'_, T>, name: &str) -> Result<SpMatrix<T>, Stop> {
    packed(given, name)
}

fn tp<T: Real>(given: &Fields<'_, T>, name: &str) -> Result<TpMatrix<T>, Stop> {
    packed(given, name)
}

/// A copy after a change.
fn changed<M: Clone>(m: &M, change: impl FnOnce(&mut M)) -> M {
    let mut m = m.clone();
    change(&mut m);
    m
}

/// A copy after a change that may fail.
fn tried<M: Clone, E>(m: &M, change: impl FnOnce(&mut M) -> Result<(), E>) -> Result<M, Stop>
where
    Stop: From<E>,
{
    let mut m = m.clone();
    change(&mut m)?;
    Ok(m)
}

fn from_matrix<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let a = record.given.matrix("A")?;
    let s = |copy_type| SpMatrix::<T>::from_mat(&a, copy_type);
    let t = TpMatrix::<T>::from_mat(&a, Trans::No)?;
    let mut transposed = Matrix::zeros(t.dim(), t.dim());
    transposed.copy_from_tp(&t, Trans::Yes)?;
    Ok(Answer::new()
        .numbers("Sp_kTakeMean", s(SpCopyType::Mean)?.data())
        .numbers("Sp_kTakeLower", s(SpCopyType::Lower)?.data())
        .numbers("Sp_kTakeUpper", s(SpCopyType::Upper)?.data())
        .numbers("Tp_kNoTrans", t.data())
        .numbers("Tp_kTrans", TpMatrix::<T>::from_mat(&a, Trans::Yes)?.data())
        .matrix("Matrix_from_Sp", &s(SpCopyType::Mean)?.to_matrix())
        .matrix("Matrix_from_Tp", &t.to_matrix())
        .matrix("Matrix_from_Tp_kTrans", &transposed))
}

fn misc<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let this = sp(&record.given, "this")?;
    let number = T::from_f64;
    Ok(Answer::new()
        .numbers("Resize_6_kCopyData", changed(&this, |m| m.resize(6, ResizeType::CopyData)).data())
        .numbers("ScaleDiag_2", changed(&this, |m| m.scale_diag(number(2.0))).data())
        .numbers("SetDiag_7", changed(&this, |m| m.set_diag(number(7.0))).data())
        .numbers("AddToDiag_1", changed(&this, |m| m.add_to_diag(T::ONE)).data())
        .number("Max", this.max())
        .number("Min", this.min()))
}

fn mul_tp_solve<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (x, t, trans) = (given.vector("x")?, tp(given, "T_packed")?, given.trans("trans")?);
    Ok(Answer::new()
        .vector("mul", &tried(&x, |x| x.mul_tp(&t, trans))?)
        .vector("solve", &tried(&x, |x| x.solve(&t, trans))?))
}

fn add_tp_vec<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (mut this, v, t) = (given.vector("this")?, given.vector("v")?, tp(given, "T_packed")?);
    this.add_tp_vec(given.number("alpha")?, &t, given.trans("trans")?, &v, given.number("beta")?)?;
    Ok(Answer::new().vector("this", &this))
}

fn copy_row_from_sp<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let s = sp(&record.given, "S_packed")?;
    let mut rows = Matrix::zeros(s.dim(), s.dim());
    for r in 0..s.dim() {
        rows.row_mut(r).copy_row_from_sp(&s, r)?;
    }
    Ok(Answer::new().matrix("rows", &rows))
}

fn add_sp_vec<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (mut this, v, s) = (given.vector("this")?, given.vector("v")?, sp(given, "S_packed")?);
    this.add_sp_vec(given.number("alpha")?, &s, &v, given.number("beta")?)?;
    Ok(Answer::new().vector("this", &this))
}

fn vec_sp_vec_<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    Ok(Answer::new().number("ret", vec_sp_vec(&given.vector("v1")?, &sp(given, "S_packed")?, &given.vector("v2")?)?))
}

fn traces<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let (a, b) = (sp(&record.given, "A")?, sp(&record.given, "B")?);
    Ok(Answer::new().number("TraceSpSp", trace_sp_sp(&a, &b)?).number("TraceSpSpLower", trace_sp_sp_lower(&a, &b)?))
}

fn trace_sp_mat_<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    Ok(Answer::new().number("ret", trace_sp_mat(&sp(&record.given, "A")?, &record.given.matrix("B")?)?))
}

fn matrix_add_sp<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (this, a, b) = (given.matrix("this")?, sp(given, "A")?, sp(given, "B")?);
    let (half, two) = (T::from_f64(0.5), T::from_f64(2.0));
    Ok(Answer::new()
        .matrix("AddSpSp_0.5_2", &tried(&this, |m| m.add_sp_sp(half, &a, &b, two))?)
        .matrix("AddSp_-1", &tried(&this, |m| m.add_sp(-T::ONE, &a))?))
}

fn add_mat2<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (this, m, trans) = (sp(given, "this")?, given.matrix("M")?, given.trans("trans")?);
    let (s, v) = (sp(given, "S")?, given.vector("v")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    Ok(Answer::new()
        .numbers("AddMat2", tried(&this, |to| to.add_mat2(alpha, &m, trans, beta))?.data())
        .numbers("AddMat2Sp", tried(&this, |to| to.add_mat2_sp(alpha, &m, trans, &s, beta))?.data())
        .numbers("AddMat2Vec", tried(&this, |to| to.add_mat2_vec(alpha, &m, trans, &v, beta))?.data())
        .numbers("AddSmat2Sp", tried(&this, |to| to.add_smat2_sp(alpha, &m, trans, &s, beta))?.data()))
}

fn add_tp2<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (this, t, s, trans) = (sp(given, "this")?, tp(given, "T")?, sp(given, "S")?, given.trans("trans")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    Ok(Answer::new()
        .numbers("AddTp2", tried(&this, |to| to.add_tp2(alpha, &t, trans, beta))?.data())
        .numbers("AddTp2Sp", tried(&this, |to| to.add_tp2_sp(alpha, &t, trans, &s, beta))?.data()))
}

fn add_vectors<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (this, v, w, s) = (sp(given, "this")?, given.vector("v")?, given.vector("w")?, sp(given, "S")?);
    let number = T::from_f64;
    Ok(Answer::new()
        .numbers("AddVec2_0.5", tried(&this, |to| to.add_vec2(number(0.5), &v))?.data())
        .numbers("AddVecVec_0.5", tried(&this, |to| to.add_vec_vec(number(0.5), &v, &w))?.data())
        .numbers("AddVec2Sp_0.5_2", tried(&this, |to| to.add_vec2_sp(number(0.5), &v, &s, number(2.0)))?.data())
        .numbers("AddDiagVec_3", tried(&this, |to| to.add_diag_vec(number(3.0), &v))?.data()))
}

fn tridiagonalize<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut s = sp(&record.given, "S")?;
    let mut q = Matrix::zeros(s.dim(), s.dim());
    s.tridiagonalize(Some(q.view_mut()))?;
    Ok(Answer::new().numbers("T", s.data()).matrix("Q", &q))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn invert_cholesky<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let s = sp(&record.given, "S")?;
    let mut inverse = s.clone();
    let det = inverse.invert()?;
    let mut t = TpMatrix::zeros(s.dim());
    t.cholesky(&s)?;
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

#[cfg(any(feature = "openblas", feature = "pure"))]
fn invert_indefinite<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut s = sp(&record.given, "S")?;
    let alone = s.log_det()?;
    let det = s.invert()?;
    Ok(Answer::new()
        .number("LogDet", alone.log)
        .number("det_sign", alone.sign)
        .numbers("Invert", s.data())
        .must("the inverse comes with the same determinant", det == alone))
}

/// Descending, as ours are.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn sorted<T: Real>(mut values: Vec<T>) -> Vec<T> {
    values.sort_by(|a, b| b.to_f64().total_cmp(&a.to_f64()));
    values
}

/// The eigenvalues must be Kaldi's in some order, the decomposition must give the matrix, and the
/// eigenvectors must be orthonormal.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn judge_eig<T: Real>(
    answer: Answer<T>,
    s: &SpMatrix<T>,
    eig: &SymmetricEig<T>,
    known: Vec<T>,
) -> Result<Answer<T>, Stop> {
    let mut products = SpMatrix::zeros(s.dim());
    products.add_mat2(T::ONE, &eig.vectors, Trans::Yes, T::ZERO)?;
    Ok(answer
        .near("the eigenvalues", &sorted(known), eig.values.data())
        .near("P diag(s) P'", s.data(), eig.to_sp().data())
        .near("P' P", SpMatrix::unit(s.dim()).data(), products.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn eig<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let s = sp(&record.given, "S")?;
    let answer = Answer::new().free("Eig_s").free("Eig_P").free("SPSD_s").free("SPSD_P");
    let answer = judge_eig(answer, &s, &s.eig()?, record.out.numbers("Eig_s")?)?;
    judge_eig(answer, &s, &s.sym_pos_semi_def_eig(T::from_f64(0.001))?, record.out.numbers("SPSD_s")?)
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn eig_indefinite<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let s = sp(&record.given, "S")?;
    judge_eig(Answer::new().free("s").free("P"), &s, &s.eig()?, record.out.numbers("s")?)
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn apply_pow<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut s = sp(&record.given, "S")?;
    s.apply_pow(record.given.number("exponent")?)?;
    Ok(Answer::new().numbers("S", s.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn limit_cond<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let s = sp(&record.given, "S")?;
    let max_cond = record.given.number("maxCond")?;
    let (mut limited, mut inverse) = (s.clone(), s);
    let floored = limited.limit_cond(max_cond, false)?;
    let floored_invert = inverse.limit_cond(max_cond, true)?;
    Ok(Answer::new()
        .exact("ret", floored)
        .numbers("S", limited.data())
        .exact("ret_invert", floored_invert)
        .numbers("S_invert", inverse.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn apply_floor_sp<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (mut s, floor) = (sp(given, "S")?, sp(given, "Floor")?);
    let floored = s.apply_floor_sp(&floor, given.number("alpha")?)?;
    Ok(Answer::new().exact("ret", floored).numbers("S", s.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn apply_floor<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut s = sp(&record.given, "S")?;
    let floored = s.apply_floor(record.given.number("floor")?)?;
    Ok(Answer::new().exact("ret", floored).numbers("S", s.data()))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn quadratic<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let given = &record.given;
    let (h, g, mut x) = (sp(given, "H")?, given.vector("g")?, given.vector("x0")?);
    let gain = solve_quadratic_problem(&h, &g, &SolverOptions::default(), &mut x)?;
    Ok(Answer::new().vector("x", &x).number("objf_change", gain))
}
