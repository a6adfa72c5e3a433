//! Packed matrices: `Packed.*`, `Sp.*`, operations of vectors and matrices on them, and linear
//! systems and minima by iteration.

use kaldera::base::Real;
use kaldera::matrix::optimization::{LbfgsOptions, LinearCgdOptions, OptimizeLbfgs, linear_cgd};
use kaldera::matrix::packed::{trace_sp_mat, trace_sp_sp, trace_sp_sp_lower, vec_sp_vec};
use kaldera::matrix::{Matrix, PackedMatrix, ResizeType, SpCopyType, SpMatrix, TpMatrix, Trans, Vector, vec_vec};
use serde_json::Value;

use super::answer::Answer;
use super::record::{Fields, Record, changed, number, tried};
use super::vector::ret;
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let (alpha, beta) = (|| r.number("alpha"), || r.number("beta"));
    let (sp, tp) = (|name: &str| sp(r, name), |name: &str| tp(r, name));
    match r.op {
        "Packed.from Matrix" => {
            let a = r.matrix("A")?;
            let s = |copy_type| SpMatrix::<T>::from_mat(&a, copy_type);
            let t = TpMatrix::<T>::from_mat(&a, Trans::No)?;
            let transposed = tried(&Matrix::<T>::zeros(t.dim(), t.dim()), |m| m.copy_from_tp(&t, Trans::Yes))?;
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
        "Packed.misc" => {
            let this = sp("this")?;
            Ok(Answer::new()
                .numbers("Resize_6_kCopyData", changed(&this, |m| m.resize(6, ResizeType::CopyData)).data())
                .numbers("ScaleDiag_2", changed(&this, |m| m.scale_diag(T::from_f64(2.0))).data())
                .numbers("SetDiag_7", changed(&this, |m| m.set_diag(T::from_f64(7.0))).data())
                .numbers("AddToDiag_1", changed(&this, |m| m.add_to_diag(T::ONE)).data())
                .number("Max", this.max())
                .number("Min", this.min()))
        }
        "Vector.MulTp/Solve" => {
            let (x, t, trans) = (r.vector("x")?, tp("T_packed")?, r.trans("trans")?);
            let answer = Answer::new().vector("mul", &tried(&x, |x| x.mul_tp(&t, trans))?);
            Ok(answer.vector("solve", &tried(&x, |x| x.solve(&t, trans))?))
        }
        "Vector.AddTpVec" => {
            let (v, t, trans) = (r.vector("v")?, tp("T_packed")?, r.trans("trans")?);
            r.vector_after("this", |this| Ok(this.add_tp_vec(alpha()?, &t, trans, &v, beta()?)?))
        }
        "Vector.CopyRowFromSp(all rows)" => {
            let s = sp("S_packed")?;
            let mut rows = Matrix::<T>::zeros(s.dim(), s.dim());
            (0..s.dim()).try_for_each(|r| rows.row_mut(r).copy_row_from_sp(&s, r))?;
            Ok(Answer::new().matrix("rows", &rows))
        }
        "Vector.AddSpVec" => {
            let (v, s) = (r.vector("v")?, sp("S_packed")?);
            r.vector_after("this", |this| Ok(this.add_sp_vec(alpha()?, &s, &v, beta()?)?))
        }
        "VecSpVec" => ret(vec_sp_vec(&r.vector("v1")?, &sp("S_packed")?, &r.vector("v2")?)?),
        "TraceSpSp" => {
            let (a, b) = (sp("A")?, sp("B")?);
            let answer = Answer::new().number("TraceSpSp", trace_sp_sp(&a, &b)?);
            Ok(answer.number("TraceSpSpLower", trace_sp_sp_lower(&a, &b)?))
        }
        "TraceSpMat" => ret(trace_sp_mat(&sp("A")?, &r.matrix("B")?)?),
        "Matrix.AddSpSp/AddSp" => {
            let (this, a, b) = (r.matrix("this")?, sp("A")?, sp("B")?);
            let (half, two) = (T::from_f64(0.5), T::from_f64(2.0));
            Ok(Answer::new()
                .matrix("AddSpSp_0.5_2", &tried(&this, |m| m.add_sp_sp(half, &a, &b, two))?)
                .matrix("AddSp_-1", &tried(&this, |m| m.add_sp(-T::ONE, &a))?))
        }
        "Sp.AddMat2/AddMat2Sp/AddMat2Vec" => {
            let (this, m, trans, s) = (sp("this")?, r.matrix("M")?, r.trans("trans")?, sp("S")?);
            let (v, alpha, beta) = (r.vector("v")?, alpha()?, beta()?);
            Ok(Answer::new()
                .numbers("AddMat2", tried(&this, |to| to.add_mat2(alpha, &m, trans, beta))?.data())
                .numbers("AddMat2Sp", tried(&this, |to| to.add_mat2_sp(alpha, &m, trans, &s, beta))?.data())
                .numbers("AddMat2Vec", tried(&this, |to| to.add_mat2_vec(alpha, &m, trans, &v, beta))?.data())
                .numbers("AddSmat2Sp", tried(&this, |to| to.add_smat2_sp(alpha, &m, trans, &s, beta))?.data()))
        }
        "Sp.AddTp2/AddTp2Sp" => {
            let (this, t, s, trans) = (sp("this")?, tp("T")?, sp("S")?, r.trans("trans")?);
            let (alpha, beta) = (alpha()?, beta()?);
            Ok(Answer::new()
                .numbers("AddTp2", tried(&this, |to| to.add_tp2(alpha, &t, trans, beta))?.data())
                .numbers("AddTp2Sp", tried(&this, |to| to.add_tp2_sp(alpha, &t, trans, &s, beta))?.data()))
        }
        "Sp.AddVec2/AddVecVec/AddVec2Sp/AddDiagVec" => {
            let (this, v, w, s) = (sp("this")?, r.vector("v")?, r.vector("w")?, sp("S")?);
            let [half, two, three] = [0.5, 2.0, 3.0].map(T::from_f64);
            Ok(Answer::new()
                .numbers("AddVec2_0.5", tried(&this, |to| to.add_vec2(half, &v))?.data())
                .numbers("AddVecVec_0.5", tried(&this, |to| to.add_vec_vec(half, &v, &w))?.data())
                .numbers("AddVec2Sp_0.5_2", tried(&this, |to| to.add_vec2_sp(half, &v, &s, two))?.data())
                .numbers("AddDiagVec_3", tried(&this, |to| to.add_diag_vec(three, &v))?.data()))
        }
        "Sp.Tridiagonalize" => {
            let mut s = sp("S")?;
            let mut q = Matrix::zeros(s.dim(), s.dim());
            s.tridiagonalize(Some(q.view_mut()))?;
            Ok(Answer::new().numbers("T", s.data()).matrix("Q", &q))
        }
        "LinearCgd" => {
            let (a, b) = (sp("A")?, r.vector("b")?);
            let mut x = Vector::zeros(b.dim());
            let iterations = linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x)?;
            Ok(Answer::new().exact("iters", iterations).vector("x", &x))
        }
        "OptimizeLbfgs(quadratic 0.5 x'Hx - c'x)" => lbfgs(r),
        _ => Err(Stop::NotRun),
    }
}

/// A packed matrix of either kind; its size follows from the number of elements.
fn packed<T: Real, K>(given: &Fields<'_, T>, name: &str) -> Result<PackedMatrix<T, K>, Stop> {
    let data = given.numbers(name)?;
    Ok(PackedMatrix::from_vec((2 * data.len()).isqrt(), data)?)
}

pub(super) fn sp<T: Real>(given: &Fields<'_, T>, name: &str) -> Result<SpMatrix<T>, Stop> {
    packed(given, name)
}

pub(super) fn tp<T: Real>(given: &Fields<'_, T>, name: &str) -> Result<TpMatrix<T>, Stop> {
    packed(given, name)
}

/// The whole trace: every proposed point, the values found there, and the mean length of the
/// steps before.
fn lbfgs<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let (h, c) = (sp(r, "H")?, r.vector("c")?);
    let mut search = OptimizeLbfgs::new(&r.vector("x0")?, LbfgsOptions::default())?;
    let mut answer = Answer::new().free("trace");
    for step in r.out.plain::<Vec<Value>>("trace")? {
        let list = step["x"].as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<T>>>());
        let (Some(expected), Some(value), Some(length)) = (list, number(&step["f"]), number(&step["RecentStepLength"]))
        else {
            return Err(Stop::Damaged("trace: a step without x, f or RecentStepLength".into()));
        };
        let x = search.get_proposed_value().to_owned();
        let gradient = tried(&c, |gradient| gradient.add_sp_vec(T::ONE, &h, &x, -T::ONE))?;
        // 0.5 x'Hx - c'x
        let found = (vec_vec(&x, &gradient)? - vec_vec(&x, &c)?) * T::from_f64(0.5);
        answer = answer
            .near("a point of the trace", &expected, x.data())
            .near("a value of the trace", &[value], &[found])
            .near("a step length of the trace", &[length], &[search.recent_step_length()]);
        search.do_step(found, &gradient)?;
    }
    let (best, value) = search.get_value();
    Ok(answer.vector("best_x", &best).number("best_f", value))
}
