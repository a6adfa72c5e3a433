//! Vectors: `Vector.*`, and the free functions of vectors.

use kaldera::base::Real;
use kaldera::matrix::dense::vec_mat_vec;
use kaldera::matrix::{ResizeType, Vector};

use super::Operation;
use super::answer::Answer;
use super::record::{Record, changed, tried};
use crate::Stop;

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Vector.ApplySoftMax" => |r| with_number(r, Vector::apply_soft_max),
        "Vector.ApplyLogSoftMax" => |r| with_number(r, Vector::apply_log_soft_max),
        "Vector.LogSumExp" => |r| ret(r.vector("x")?.log_sum_exp(Some(r.number("prune")?))),
        "Vector.ApplyPowAbs" => |r| {
            let power = r.number("power")?;
            // For a negative power Kaldi forgets the sign, and these answers are Kaldi's; ours keeps it.
            let sign = r.plain("include_sign")? && power >= T::ZERO;
            Ok(Answer::new().vector("x", &changed(&r.vector("x")?, |x| x.apply_pow_abs(power, sign))))
        },
        "Vector.Norm" => |r| ret(r.vector("x")?.norm(r.number("p")?)?),
        "Vector.ApplyFloor" => |r| with_count(r, "floored_count", |x| Ok(x.apply_floor(r.number("floor")?))),
        "Vector.ApplyCeiling" => |r| with_count(r, "changed_count", |x| Ok(x.apply_ceiling(r.number("ceil")?))),
        "Vector.ApplyFloor(vec)" => |r| with_count(r, "ret", |x| Ok(x.apply_floor_vec(&r.vector("floor_vec")?)?)),
        "Vector.AddVecVec" => |r| {
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            r.vector_after("x", |x| Ok(x.add_vec_vec(alpha, &r.vector("v")?, &r.vector("r")?, beta)?))
        },
        "Vector.AddVecDivVec" => |r| {
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            r.vector_after("x", |x| Ok(x.add_vec_div_vec(alpha, &r.vector("v")?, &r.vector("r")?, beta)?))
        },
        "Vector.AddVec2" => |r| r.vector_after("x", |x| Ok(x.add_vec2(r.number("alpha")?, &r.vector("v")?)?)),
        "Vector.AddDiagMat2" => |r| {
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            r.vector_after("x", |x| Ok(x.add_diag_mat2(alpha, &r.matrix("M")?, r.trans("trans")?, beta)?))
        },
        "Vector.AddRowSumMat" => |r| {
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            r.vector_after("x", |x| Ok(x.add_row_sum_mat(alpha, &r.matrix("M")?, beta)?))
        },
        "Vector.AddColSumMat" => |r| {
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            r.vector_after("x", |x| Ok(x.add_col_sum_mat(alpha, &r.matrix("M")?, beta)?))
        },
        "Vector.AddDiagMatMat" => |r| {
            let (m, n, alpha, beta) = (r.matrix("M")?, r.matrix("N")?, r.number("alpha")?, r.number("beta")?);
            let (trans_m, trans_n) = (r.trans("transM")?, r.trans("transN")?);
            r.vector_after("x", |x| Ok(x.add_diag_mat_mat(alpha, &m, trans_m, &n, trans_n, beta)?))
        },
        "Vector.SumLog" => |r| ret(r.vector("x")?.sum_log()),
        "Vector.Sum" => |r| ret(r.vector("x")?.sum()),
        "Vector.Max/Min(index)" => |r| {
            let x = r.vector("x")?;
            let none = || Stop::Refused("no largest or smallest element".into());
            let ((at_max, max), (at_min, min)) = (x.max_index().ok_or_else(none)?, x.min_index().ok_or_else(none)?);
            let answer = Answer::new().number("max", max).exact("max_index", at_max);
            Ok(answer.number("min", min).exact("min_index", at_min))
        },
        "Vector.Max/Min(empty)" => |r| {
            let x = r.vector("x")?;
            Ok(Answer::new().number("max", x.max()).number("min", x.min()))
        },
        "Vector.CopyRows/Cols/DiagFromMat" => |r| {
            let m = r.matrix("M")?;
            let (rows, cols) = (m.num_rows(), m.num_cols());
            let (all, diag) = (Vector::<T>::zeros(rows * cols), Vector::<T>::zeros(rows.min(cols)));
            Ok(Answer::new()
                .vector("rows", &tried(&all, |v| v.copy_rows_from_mat(&m))?)
                .vector("cols", &tried(&all, |v| v.copy_cols_from_mat(&m))?)
                .vector("diag", &tried(&diag, |v| v.copy_diag_from_mat(&m))?))
        },
        "VecMatVec" => |r| ret(vec_mat_vec(&r.vector("v1")?, &r.matrix("M")?, &r.vector("v2")?)?),
        "Vector.ReplaceValue/RemoveElement/Resize(kCopyData)" => |r| {
            let x = r.vector("x")?;
            let resized = |size| changed(&x, |x| x.resize(size, ResizeType::CopyData));
            Ok(Answer::new()
                .vector("replace_0_5", &changed(&x, |x| x.replace_value(T::ZERO, T::from_f64(5.0))))
                .vector("remove_2", &tried(&x, |x| x.remove_element(2))?)
                .vector("resize_9", &resized(9))
                .vector("resize_3", &resized(3)))
        },
        "Vector.Tanh/Sigmoid" => |r| {
            let x = r.vector("x")?;
            let answer = Answer::new().vector("tanh", &tried(&x, |y| y.tanh(&x))?);
            Ok(answer.vector("sigmoid", &tried(&x, |y| y.sigmoid(&x))?))
        },
        "Vector.InvertElements" => {
            |r| Ok(Answer::new().vector("x", &changed(&r.vector("x")?, Vector::invert_elements)))
        }
        "Vector.ApplyLog" => |r| r.vector_after("x", |x| Ok(x.apply_log()?)),
        _ => return None,
    })
}

/// The answer of a call that returns a number.
pub(super) fn ret<T: Real>(number: T) -> Result<Answer, Stop> {
    Ok(Answer::new().number("ret", number))
}

/// The vector x after a change, and the number that this returns.
fn with_number<T: Real>(r: &Record<'_, T>, change: impl FnOnce(&mut Vector<T>) -> T) -> Result<Answer, Stop> {
    let mut x = r.vector("x")?;
    let ret = change(&mut x);
    Ok(Answer::new().vector("x", &x).number("ret", ret))
}

/// The vector x after a change, and the number of changed elements under `name`.
fn with_count<T: Real>(
    r: &Record<'_, T>,
    name: &'static str,
    change: impl FnOnce(&mut Vector<T>) -> Result<usize, Stop>,
) -> Result<Answer, Stop> {
    let mut x = r.vector("x")?;
    let count = change(&mut x)?;
    Ok(Answer::new().vector("x", &x).exact(name, count))
}
