//! Vectors: `Vector.*`, and the free functions of vectors.

use kaldera::base::Real;
use kaldera::matrix::dense::vec_mat_vec;
use kaldera::matrix::{ResizeType, Vector};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Vector.ApplySoftMax" => soft_max,
        "Vector.ApplyLogSoftMax" => log_soft_max,
        "Vector.LogSumExp" => log_sum_exp,
        "Vector.ApplyPowAbs" => pow_abs,
        "Vector.Norm" => norm,
        "Vector.ApplyFloor" => floor,
        "Vector.ApplyCeiling" => ceiling,
        "Vector.ApplyFloor(vec)" => floor_vec,
        "Vector.AddVecVec" => add_vec_vec,
        "Vector.AddVecDivVec" => add_vec_div_vec,
        "Vector.AddVec2" => add_vec2,
        "Vector.AddDiagMat2" => add_diag_mat2,
        "Vector.AddRowSumMat" => add_row_sum_mat,
        "Vector.AddColSumMat" => add_col_sum_mat,
        "Vector.AddDiagMatMat" => add_diag_mat_mat,
        "Vector.SumLog" => sum_log,
        "Vector.Sum" => sum,
        "Vector.Max/Min(index)" => max_min_index,
        "Vector.Max/Min(empty)" => max_min,
        "Vector.CopyRows/Cols/DiagFromMat" => copy_from_mat,
        "VecMatVec" => bilinear,
        "Vector.ReplaceValue/RemoveElement/Resize(kCopyData)" => replace_remove_resize,
        "Vector.Tanh/Sigmoid" => tanh_sigmoid,
        "Vector.InvertElements" => invert_elements,
        "Vector.ApplyLog" => log,
        _ => return None,
    })
}

type Result<T> = std::result::Result<Answer<T>, Stop>;

fn soft_max<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let ret = x.apply_soft_max();
    Ok(Answer::new().vector("x", &x).number("ret", ret))
}

fn log_soft_max<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let ret = x.apply_log_soft_max();
    Ok(Answer::new().vector("x", &x).number("ret", ret))
}

fn log_sum_exp<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let ret = record.given.vector("x")?.log_sum_exp(Some(record.given.number("prune")?));
    Ok(Answer::new().number("ret", ret))
}

fn pow_abs<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let power = record.given.number("power")?;
    // For a negative power Kaldi forgets the sign, and these answers are Kaldi's; ours keeps it.
    let include_sign: bool = record.given.plain("include_sign")?;
    x.apply_pow_abs(power, include_sign && power >= T::ZERO);
    Ok(Answer::new().vector("x", &x))
}

fn norm<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let ret = record.given.vector("x")?.norm(record.given.number("p")?)?;
    Ok(Answer::new().number("ret", ret))
}

fn floor<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let count = x.apply_floor(record.given.number("floor")?);
    Ok(Answer::new().vector("x", &x).exact("floored_count", count))
}

fn ceiling<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let count = x.apply_ceiling(record.given.number("ceil")?);
    Ok(Answer::new().vector("x", &x).exact("changed_count", count))
}

fn floor_vec<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    let count = x.apply_floor_vec(&record.given.vector("floor_vec")?)?;
    Ok(Answer::new().vector("x", &x).exact("ret", count))
}

fn add_vec_vec<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    x.add_vec_vec(given.number("alpha")?, &given.vector("v")?, &given.vector("r")?, given.number("beta")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_vec_div_vec<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    x.add_vec_div_vec(given.number("alpha")?, &given.vector("v")?, &given.vector("r")?, given.number("beta")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_vec2<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    x.add_vec2(record.given.number("alpha")?, &record.given.vector("v")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_diag_mat2<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    x.add_diag_mat2(given.number("alpha")?, &given.matrix("M")?, given.trans("trans")?, given.number("beta")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_row_sum_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    x.add_row_sum_mat(given.number("alpha")?, &given.matrix("M")?, given.number("beta")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_col_sum_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    x.add_col_sum_mat(given.number("alpha")?, &given.matrix("M")?, given.number("beta")?)?;
    Ok(Answer::new().vector("x", &x))
}

fn add_diag_mat_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let mut x = given.vector("x")?;
    let (m, n) = (given.matrix("M")?, given.matrix("N")?);
    let (alpha, beta) = (given.number("alpha")?, given.number("beta")?);
    x.add_diag_mat_mat(alpha, &m, given.trans("transM")?, &n, given.trans("transN")?, beta)?;
    Ok(Answer::new().vector("x", &x))
}

fn sum_log<T: Real>(record: &Record<'_, T>) -> Result<T> {
    Ok(Answer::new().number("ret", record.given.vector("x")?.sum_log()))
}

fn sum<T: Real>(record: &Record<'_, T>) -> Result<T> {
    Ok(Answer::new().number("ret", record.given.vector("x")?.sum()))
}

fn max_min_index<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let x = record.given.vector("x")?;
    let none = || Stop::Refused("no largest or smallest element".into());
    let ((max_index, max), (min_index, min)) = (x.max_index().ok_or_else(none)?, x.min_index().ok_or_else(none)?);
    let answer = Answer::new().number("max", max).exact("max_index", max_index);
    Ok(answer.number("min", min).exact("min_index", min_index))
}

fn max_min<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let x = record.given.vector("x")?;
    Ok(Answer::new().number("max", x.max()).number("min", x.min()))
}

fn copy_from_mat<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let m = record.given.matrix("M")?;
    let size = m.num_rows() * m.num_cols();
    let (mut rows, mut cols) = (Vector::zeros(size), Vector::zeros(size));
    rows.copy_rows_from_mat(&m)?;
    cols.copy_cols_from_mat(&m)?;
    let mut diag = Vector::zeros(m.num_rows().min(m.num_cols()));
    diag.copy_diag_from_mat(&m)?;
    Ok(Answer::new().vector("rows", &rows).vector("cols", &cols).vector("diag", &diag))
}

fn bilinear<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let given = &record.given;
    let ret = vec_mat_vec(&given.vector("v1")?, &given.matrix("M")?, &given.vector("v2")?)?;
    Ok(Answer::new().number("ret", ret))
}

fn replace_remove_resize<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let x = record.given.vector("x")?;
    let mut replaced = x.clone();
    replaced.replace_value(T::ZERO, T::from_f64(5.0));
    let mut removed = x.clone();
    removed.remove_element(2)?;
    let (mut longer, mut shorter) = (x.clone(), x);
    longer.resize(9, ResizeType::CopyData);
    shorter.resize(3, ResizeType::CopyData);
    let answer = Answer::new().vector("replace_0_5", &replaced).vector("remove_2", &removed);
    Ok(answer.vector("resize_9", &longer).vector("resize_3", &shorter))
}

fn tanh_sigmoid<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let x = record.given.vector("x")?;
    let (mut tanh, mut sigmoid) = (Vector::zeros(x.dim()), Vector::zeros(x.dim()));
    tanh.tanh(&x)?;
    sigmoid.sigmoid(&x)?;
    Ok(Answer::new().vector("tanh", &tanh).vector("sigmoid", &sigmoid))
}

fn invert_elements<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    x.invert_elements();
    Ok(Answer::new().vector("x", &x))
}

fn log<T: Real>(record: &Record<'_, T>) -> Result<T> {
    let mut x = record.given.vector("x")?;
    x.apply_log()?;
    Ok(Answer::new().vector("x", &x))
}
