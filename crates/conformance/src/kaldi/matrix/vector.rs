//! Vectors: `Vector.*`, and the free functions of vectors.

use kaldera::base::Real;
use kaldera::matrix::dense::vec_mat_vec;
use kaldera::matrix::{ResizeType, Vector};

use super::answer::Answer;
use super::record::{Record, changed, tried};
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let (alpha, beta) = (|| r.number("alpha"), || r.number("beta"));
    let (v, m) = (|name: &str| r.vector(name), |name: &str| r.matrix(name));
    let after = |change: &dyn Fn(&mut Vector<T>) -> Result<(), Stop>| r.vector_after("x", change);
    match r.op {
        "Vector.ApplySoftMax" => with_number(r, Vector::apply_soft_max),
        "Vector.ApplyLogSoftMax" => with_number(r, Vector::apply_log_soft_max),
        "Vector.LogSumExp" => ret(v("x")?.log_sum_exp(Some(r.number("prune")?))),
        "Vector.ApplyPowAbs" => {
            let power = r.number("power")?;
            // For a negative power Kaldi forgets the sign, and these answers are Kaldi's; ours
            // keeps it.
            let sign = r.plain("include_sign")? && power >= T::ZERO;
            Ok(Answer::new().vector("x", &changed(&v("x")?, |x| x.apply_pow_abs(power, sign))))
        }
        "Vector.Norm" => ret(v("x")?.norm(r.number("p")?)?),
        "Vector.ApplyFloor" => with_count(r, "floored_count", |x| Ok(x.apply_floor(r.number("floor")?))),
        "Vector.ApplyCeiling" => with_count(r, "changed_count", |x| Ok(x.apply_ceiling(r.number("ceil")?))),
        "Vector.ApplyFloor(vec)" => with_count(r, "ret", |x| Ok(x.apply_floor_vec(&v("floor_vec")?)?)),
        "Vector.AddVecVec" => after(&|x| Ok(x.add_vec_vec(alpha()?, &v("v")?, &v("r")?, beta()?)?)),
        "Vector.AddVecDivVec" => after(&|x| Ok(x.add_vec_div_vec(alpha()?, &v("v")?, &v("r")?, beta()?)?)),
        "Vector.AddVec2" => after(&|x| Ok(x.add_vec2(alpha()?, &v("v")?)?)),
        "Vector.AddDiagMat2" => after(&|x| Ok(x.add_diag_mat2(alpha()?, &m("M")?, r.trans("trans")?, beta()?)?)),
        "Vector.AddRowSumMat" => after(&|x| Ok(x.add_row_sum_mat(alpha()?, &m("M")?, beta()?)?)),
        "Vector.AddColSumMat" => after(&|x| Ok(x.add_col_sum_mat(alpha()?, &m("M")?, beta()?)?)),
        "Vector.AddDiagMatMat" => {
            let (trans_m, trans_n) = (r.trans("transM")?, r.trans("transN")?);
            after(&|x| Ok(x.add_diag_mat_mat(alpha()?, &m("M")?, trans_m, &m("N")?, trans_n, beta()?)?))
        }
        "Vector.SumLog" => ret(v("x")?.sum_log()),
        "Vector.Sum" => ret(v("x")?.sum()),
        "Vector.Max/Min(index)" => {
            let x = v("x")?;
            let none = || Stop::Refused("no largest or smallest element".into());
            let ((at_max, max), (at_min, min)) = (x.max_index().ok_or_else(none)?, x.min_index().ok_or_else(none)?);
            let answer = Answer::new().number("max", max).exact("max_index", at_max);
            Ok(answer.number("min", min).exact("min_index", at_min))
        }
        "Vector.Max/Min(empty)" => {
            let x = v("x")?;
            Ok(Answer::new().number("max", x.max()).number("min", x.min()))
        }
        "Vector.CopyRows/Cols/DiagFromMat" => {
            let m = m("M")?;
            let (rows, cols) = (m.num_rows(), m.num_cols());
            let (all, diag) = (Vector::<T>::zeros(rows * cols), Vector::<T>::zeros(rows.min(cols)));
            Ok(Answer::new()
                .vector("rows", &tried(&all, |v| v.copy_rows_from_mat(&m))?)
                .vector("cols", &tried(&all, |v| v.copy_cols_from_mat(&m))?)
                .vector("diag", &tried(&diag, |v| v.copy_diag_from_mat(&m))?))
        }
        "VecMatVec" => ret(vec_mat_vec(&v("v1")?, &m("M")?, &v("v2")?)?),
        "Vector.ReplaceValue/RemoveElement/Resize(kCopyData)" => {
            let x = v("x")?;
            let resized = |size| changed(&x, |x| x.resize(size, ResizeType::CopyData));
            Ok(Answer::new()
                .vector("replace_0_5", &changed(&x, |x| x.replace_value(T::ZERO, T::from_f64(5.0))))
                .vector("remove_2", &tried(&x, |x| x.remove_element(2))?)
                .vector("resize_9", &resized(9))
                .vector("resize_3", &resized(3)))
        }
        "Vector.Tanh/Sigmoid" => {
            let x = v("x")?;
            let answer = Answer::new().vector("tanh", &tried(&x, |y| y.tanh(&x))?);
            Ok(answer.vector("sigmoid", &tried(&x, |y| y.sigmoid(&x))?))
        }
        "Vector.InvertElements" => Ok(Answer::new().vector("x", &changed(&v("x")?, Vector::invert_elements))),
        "Vector.ApplyLog" => after(&|x| Ok(x.apply_log()?)),
        _ => Err(Stop::NotRun),
    }
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
