//! Matrices: `Matrix.*`, and the free functions of matrices.

use kaldera::base::Real;
#[cfg(any(feature = "openblas", feature = "pure"))]
use kaldera::matrix::traces::trace_mat_mat;
use kaldera::matrix::traces::trace_mat_mat_mat_mat;
use kaldera::matrix::{Error, Matrix, ResizeType, Trans};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Matrix.GroupPnorm/Deriv" => group_pnorm,
        "Matrix.GroupMax/Deriv" => group_max,
        "Matrix.CopyCols/CopyRows" => copy_cols_rows,
        "Matrix.AddCols/AddRows" => add_cols_rows,
        "Matrix.AddToRows" => add_to_rows,
        "Matrix.elementwise" => elementwise,
        "Matrix.DiffSigmoid/DiffTanh" => diff_sigmoid_tanh,
        "Matrix.ApplySoftMax" => soft_max,
        "Matrix.AddDiagVecMat/AddMatDiagVec" => add_diag_vec_mat,
        "Matrix.AddMatMat/AddSmatMat/AddMatSmat" => add_mat_mat,
        "Matrix.AddMatMatElements/SetMatMatDivMat" => add_mat_mat_elements,
        "Matrix.SymAddMat2" => sym_add_mat2,
        "Matrix.Mul/Add by vector" => by_vector,
        "Matrix.structure" => structure,
        "Matrix.CopyRowsFromVec/CopyColsFromVec" => copy_from_vec,
        // Two of its fields come from a singular value decomposition.
        #[cfg(any(feature = "openblas", feature = "pure"))]
        "Matrix.reductions" => reductions,
        "Matrix.AddMatMatMat" => add_mat_mat_mat,
        "TraceMatMatMatMat" => trace_of_four,
        _ => return None,
    })
}

type Result<T> = std::result::Result<Answer<T>, Stop>;

/// Applies a change to a copy.
fn changed<T: Real, R>(m: &Matrix<T>, change: impl FnOnce(&mut Matrix<T>) -> R) -> Matrix<T> {
    let mut copy = m.clone();
    change(&mut copy);
    copy
}

/// Applies a change that can fail to a copy.
fn try_changed<T: Real, R>(
    m: &Matrix<T>,
    change: impl FnOnce(&mut Matrix<T>) -> std::result::Result<R, Error>,
) -> std::result::Result<Matrix<T>, Error> {
    let mut copy = m.clone();
    change(&mut copy)?;
    Ok(copy)
}

fn group_pnorm<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let a = record.given.matrix("A")?;
    let power = record.given.number("power")?;
    let mut out = Matrix::zeros(a.num_rows(), record.given.plain("out_cols")?);
    out.group_pnorm(&a, power)?;
    let deriv = try_changed(&a, |m| m.group_pnorm_deriv(&a, &out, power))?;
    Ok(Answer::new().matrix("out", &out).matrix("deriv", &deriv))
}

fn group_max<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let a = record.given.matrix("A")?;
    let mut out = Matrix::zeros(a.num_rows(), record.given.plain("out_cols")?);
    out.group_max(&a)?;
    let deriv = try_changed(&a, |m| m.group_max_deriv(&a, &out))?;
    Ok(Answer::new().matrix("out", &out).matrix("deriv", &deriv))
}

fn copy_cols_rows<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let a = record.given.matrix("A")?;
    let (col_indexes, row_indexes): (Vec<i32>, Vec<i32>) =
        (record.given.plain("col_indices")?, record.given.plain("row_indices")?);
    let mut cols = Matrix::zeros(a.num_rows(), col_indexes.len());
    cols.copy_cols(&a, &col_indexes)?;
    let mut rows = Matrix::zeros(row_indexes.len(), a.num_cols());
    rows.copy_rows(&a, &row_indexes)?;
    Ok(Answer::new().matrix("cols", &cols).matrix("rows", &rows))
}

fn add_cols_rows<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let a = given.matrix("A")?;
    let mut cols = given.matrix("cols_this")?;
    cols.add_cols(&a, &given.plain::<Vec<i32>>("col_indices")?)?;
    let mut rows = given.matrix("rows_this")?;
    rows.add_rows(given.number("rows_alpha")?, &a, &given.plain::<Vec<i32>>("row_indices")?)?;
    Ok(Answer::new().matrix("cols", &cols).matrix("rows", &rows))
}

fn add_to_rows<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut dst = given.matrix("dst")?;
    given.matrix("A")?.add_to_rows(given.number("alpha")?, &given.plain::<Vec<i32>>("indexes")?, &mut dst)?;
    Ok(Answer::new().matrix("dst", &dst))
}

fn elementwise<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let a = record.given.matrix("A")?;
    let [minus_two, minus_one, quarter, half, three] = [-2.0, -1.0, 0.25, 0.5, 3.0].map(T::from_f64);
    Ok(Answer::new()
        .matrix("Heaviside", &try_changed(&a, |m| m.heaviside(&a))?)
        .matrix("ExpSpecial", &try_changed(&a, |m| m.exp_special(&a))?)
        .matrix("ExpLimited_-2_3", &try_changed(&a, |m| m.exp_limited(&a, minus_two, three))?)
        .matrix("SoftHinge", &try_changed(&a, |m| m.soft_hinge(&a))?)
        .matrix("PowAbs_0.5_sign", &try_changed(&a, |m| m.pow_abs(&a, half, true))?)
        .matrix("PowAbs_-1_sign", &try_changed(&a, |m| m.pow_abs(&a, minus_one, true))?)
        .matrix("Tanh", &try_changed(&a, |m| m.tanh(&a))?)
        .matrix("Sigmoid", &try_changed(&a, |m| m.sigmoid(&a))?)
        .matrix("Floor_0.25", &try_changed(&a, |m| m.floor(&a, quarter))?)
        .matrix("Ceiling_0.25", &try_changed(&a, |m| m.ceiling(&a, quarter))?))
}

fn diff_sigmoid_tanh<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let (value, diff) = (record.given.matrix("value")?, record.given.matrix("diff")?);
    let answer = Answer::new().matrix("DiffSigmoid", &try_changed(&value, |m| m.diff_sigmoid(&value, &diff))?);
    Ok(answer.matrix("DiffTanh", &try_changed(&value, |m| m.diff_tanh(&value, &diff))?))
}

fn soft_max<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let a = record.given.matrix("A")?;
    let mut whole = a.clone();
    let ret = whole.apply_soft_max();
    let answer = Answer::new().matrix("A", &whole).number("ret", ret);
    let per_row = changed(&a, Matrix::apply_soft_max_per_row);
    Ok(answer.matrix("per_row", &per_row).number("LogSumExp", a.log_sum_exp(None)))
}

fn add_diag_vec_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let (this, m, trans) = (given.matrix("this")?, given.matrix("M")?, given.trans("trans")?);
    let (v_rows, v_cols) = (given.vector("v_rows")?, given.vector("v_cols")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    let diag_first = try_changed(&this, |y| y.add_diag_vec_mat(alpha, &v_rows, &m, trans, beta))?;
    let diag_last = try_changed(&this, |y| y.add_mat_diag_vec(alpha, &m, trans, &v_cols, beta))?;
    Ok(Answer::new().matrix("AddDiagVecMat", &diag_first).matrix("AddMatDiagVec", &diag_last))
}

fn add_mat_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let this = given.matrix("this")?;
    let (a, trans_a, b, trans_b) =
        (given.matrix("A")?, given.trans("transA")?, given.matrix("B")?, given.trans("transB")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    let dense = try_changed(&this, |y| y.add_mat_mat(alpha, &a, trans_a, &b, trans_b, beta))?;
    let zeros_in_a = try_changed(&this, |y| y.add_smat_mat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
    let zeros_in_b = try_changed(&this, |y| y.add_mat_smat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
    Ok(Answer::new()
        .matrix("AddMatMat", &dense)
        .matrix("AddSmatMat(sparse A, dense op(B))", &zeros_in_a)
        .matrix("AddMatSmat(dense op(A), sparse B)", &zeros_in_b))
}

fn add_mat_mat_elements<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let this = given.matrix("this")?;
    let (a, b, c) = (given.matrix("A")?, given.matrix("B")?, given.matrix("C")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    let product = try_changed(&this, |y| y.add_mat_mat_elements(alpha, &a, &b, beta))?;
    // Kaldi computes these in single precision in either case; ours keeps the digits, so it is
    // asked for floats as well.
    let [mut quotient, a, b, c] = [&this, &a, &b, &c]
        .map(|m| Matrix::<f32>::from_fn(m.num_rows(), m.num_cols(), |r, c| f32::from_f64(m[(r, c)].to_f64())));
    quotient.set_mat_mat_div_mat(&a, &b, &c)?;
    let quotient = Matrix::from_fn(this.num_rows(), this.num_cols(), |r, c| T::from_f64(quotient[(r, c)].into()));
    Ok(Answer::new().matrix("AddMatMatElements", &product).matrix("SetMatMatDivMat", &quotient))
}

fn sym_add_mat2<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut this = given.matrix("this")?;
    this.sym_add_mat2(given.number("alpha")?, &given.matrix("M")?, given.trans("trans")?, given.number("beta")?)?;
    Ok(Answer::new().matrix("this", &this))
}

fn by_vector<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let a = given.matrix("A")?;
    let (v_cols, v_rows, group) = (given.vector("v_cols")?, given.vector("v_rows")?, given.matrix("group")?);
    let two = T::from_f64(2.0);
    Ok(Answer::new()
        .matrix("MulColsVec", &try_changed(&a, |m| m.mul_cols_vec(&v_cols))?)
        .matrix("MulRowsVec", &try_changed(&a, |m| m.mul_rows_vec(&v_rows))?)
        .matrix("AddVecToRows_2", &try_changed(&a, |m| m.add_vec_to_rows(two, &v_cols))?)
        .matrix("AddVecToCols_2", &try_changed(&a, |m| m.add_vec_to_cols(two, &v_rows))?)
        .matrix("MulRowsGroupMat", &try_changed(&a, |m| m.mul_rows_group_mat(&group))?))
}

fn structure<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let (a, b) = (record.given.matrix("A")?, record.given.matrix("B")?);
    Ok(Answer::new()
        .matrix("CopyLowerToUpper", &try_changed(&a, Matrix::copy_lower_to_upper)?)
        .matrix("CopyUpperToLower", &try_changed(&a, Matrix::copy_upper_to_lower)?)
        .matrix("SetUnit_3x5", &changed(&Matrix::zeros(3, 5), Matrix::set_unit))
        .matrix("B_Transpose", &changed(&b, Matrix::transpose))
        .matrix("A_RemoveRow_1", &try_changed(&a, |m| m.remove_row(1))?)
        .matrix("B_Resize_4x2_kCopyData", &changed(&b, |m| m.resize(4, 2, ResizeType::CopyData)))
        .matrix("B_AddToDiag_10", &changed(&b, |m| m.add_to_diag(T::from_f64(10.0)))))
}

fn copy_from_vec<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let (all, row, col) = (given.vector("v6")?, given.vector("v3")?, given.vector("v2")?);
    let zeros = Matrix::zeros(col.dim(), row.dim());
    Ok(Answer::new()
        .matrix("rows_v6", &try_changed(&zeros, |m| m.copy_rows_from_vec(&all))?)
        .matrix("rows_v3", &try_changed(&zeros, |m| m.copy_rows_from_vec(&row))?)
        .matrix("cols_v6", &try_changed(&zeros, |m| m.copy_cols_from_vec(&all))?)
        .matrix("cols_v2", &try_changed(&zeros, |m| m.copy_cols_from_vec(&col))?))
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn reductions<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let (a, b) = (record.given.matrix("A")?, record.given.matrix("B")?);
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

fn add_mat_mat_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut this = given.matrix("this")?;
    let (a, b, c) = (given.matrix("A")?, given.matrix("B")?, given.matrix("C")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    this.add_mat_mat_mat(alpha, &a, Trans::No, &b, Trans::No, &c, Trans::No, beta)?;
    Ok(Answer::new().matrix("this", &this))
}

fn trace_of_four<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let (a, b, c, d) = (given.matrix("A")?, given.matrix("B")?, given.matrix("C")?, given.matrix("D")?);
    let no = Trans::No;
    Ok(Answer::new().number("ret", trace_mat_mat_mat_mat(&a, no, &b, no, &c, no, &d, no)?))
}
