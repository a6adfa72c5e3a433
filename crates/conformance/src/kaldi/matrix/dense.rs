//! Matrices: `Matrix.*`, and the free functions of matrices.

use kaldera::base::Real;
use kaldera::matrix::dense::{add_outer_product_plus_minus, compute_dct_matrix};
use kaldera::matrix::traces::trace_mat_mat_mat_mat;
use kaldera::matrix::{Matrix, ResizeType, Trans};

use super::answer::Answer;
use super::record::{Record, changed, tried};
use super::vector::ret;
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    let (alpha, beta) = (|| r.number("alpha"), || r.number("beta"));
    let (v, m) = (|name: &str| r.vector(name), |name: &str| r.matrix(name));
    match r.op {
        "Matrix.GroupPnorm/Deriv" => {
            let (a, power) = (m("A")?, r.number("power")?);
            let out = tried(&Matrix::zeros(a.num_rows(), r.plain("out_cols")?), |m| m.group_pnorm(&a, power))?;
            let deriv = tried(&a, |m| m.group_pnorm_deriv(&a, &out, power))?;
            Ok(Answer::new().matrix("out", &out).matrix("deriv", &deriv))
        }
        "Matrix.GroupMax/Deriv" => {
            let a = m("A")?;
            let out = tried(&Matrix::zeros(a.num_rows(), r.plain("out_cols")?), |m| m.group_max(&a))?;
            Ok(Answer::new().matrix("out", &out).matrix("deriv", &tried(&a, |m| m.group_max_deriv(&a, &out))?))
        }
        "Matrix.CopyCols/CopyRows" => {
            let a = m("A")?;
            let (cols, rows): (Vec<i32>, Vec<i32>) = (r.plain("col_indices")?, r.plain("row_indices")?);
            Ok(Answer::new()
                .matrix("cols", &tried(&Matrix::zeros(a.num_rows(), cols.len()), |m| m.copy_cols(&a, &cols))?)
                .matrix("rows", &tried(&Matrix::zeros(rows.len(), a.num_cols()), |m| m.copy_rows(&a, &rows))?))
        }
        "Matrix.AddCols/AddRows" => {
            let (a, alpha) = (m("A")?, r.number("rows_alpha")?);
            let (cols, rows): (Vec<i32>, Vec<i32>) = (r.plain("col_indices")?, r.plain("row_indices")?);
            Ok(Answer::new()
                .matrix("cols", &tried(&m("cols_this")?, |m| m.add_cols(&a, &cols))?)
                .matrix("rows", &tried(&m("rows_this")?, |m| m.add_rows(alpha, &a, &rows))?))
        }
        "Matrix.AddToRows" => {
            let (a, alpha, indexes) = (m("A")?, alpha()?, r.plain::<Vec<i32>>("indexes")?);
            r.matrix_after("dst", |dst| Ok(a.add_to_rows(alpha, &indexes, dst)?))
        }
        "Matrix.elementwise" => {
            let a = m("A")?;
            let [minus_two, minus_one, quarter, half, three] = [-2.0, -1.0, 0.25, 0.5, 3.0].map(T::from_f64);
            Ok(Answer::new()
                .matrix("Heaviside", &tried(&a, |m| m.heaviside(&a))?)
                .matrix("ExpSpecial", &tried(&a, |m| m.exp_special(&a))?)
                .matrix("ExpLimited_-2_3", &tried(&a, |m| m.exp_limited(&a, minus_two, three))?)
                .matrix("SoftHinge", &tried(&a, |m| m.soft_hinge(&a))?)
                .matrix("PowAbs_0.5_sign", &tried(&a, |m| m.pow_abs(&a, half, true))?)
                .matrix("PowAbs_-1_sign", &tried(&a, |m| m.pow_abs(&a, minus_one, true))?)
                .matrix("Tanh", &tried(&a, |m| m.tanh(&a))?)
                .matrix("Sigmoid", &tried(&a, |m| m.sigmoid(&a))?)
                .matrix("Floor_0.25", &tried(&a, |m| m.floor(&a, quarter))?)
                .matrix("Ceiling_0.25", &tried(&a, |m| m.ceiling(&a, quarter))?))
        }
        "Matrix.DiffSigmoid/DiffTanh" => {
            let (value, diff) = (m("value")?, m("diff")?);
            let answer = Answer::new().matrix("DiffSigmoid", &tried(&value, |m| m.diff_sigmoid(&value, &diff))?);
            Ok(answer.matrix("DiffTanh", &tried(&value, |m| m.diff_tanh(&value, &diff))?))
        }
        "Matrix.ApplySoftMax" => {
            let a = m("A")?;
            let mut whole = a.clone();
            let answer = Answer::new().number("ret", whole.apply_soft_max()).matrix("A", &whole);
            let per_row = changed(&a, Matrix::apply_soft_max_per_row);
            Ok(answer.matrix("per_row", &per_row).number("LogSumExp", a.log_sum_exp(None)))
        }
        "Matrix.AddDiagVecMat/AddMatDiagVec" => {
            let (this, m, trans) = (m("this")?, m("M")?, r.trans("trans")?);
            let (rows, cols, alpha, beta) = (v("v_rows")?, v("v_cols")?, alpha()?, beta()?);
            Ok(Answer::new()
                .matrix("AddDiagVecMat", &tried(&this, |y| y.add_diag_vec_mat(alpha, &rows, &m, trans, beta))?)
                .matrix("AddMatDiagVec", &tried(&this, |y| y.add_mat_diag_vec(alpha, &m, trans, &cols, beta))?))
        }
        "Matrix.AddMatMat/AddSmatMat/AddMatSmat" => {
            let (this, a, trans_a, b, trans_b) = (m("this")?, m("A")?, r.trans("transA")?, m("B")?, r.trans("transB")?);
            let (alpha, beta) = (alpha()?, beta()?);
            let dense = tried(&this, |y| y.add_mat_mat(alpha, &a, trans_a, &b, trans_b, beta))?;
            let zeros_in_a = tried(&this, |y| y.add_smat_mat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
            let zeros_in_b = tried(&this, |y| y.add_mat_smat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
            Ok(Answer::new()
                .matrix("AddMatMat", &dense)
                .matrix("AddSmatMat(sparse A, dense op(B))", &zeros_in_a)
                .matrix("AddMatSmat(dense op(A), sparse B)", &zeros_in_b))
        }
        "Matrix.AddMatMatElements/SetMatMatDivMat" => {
            let (this, a, b, c, alpha, beta) = (m("this")?, m("A")?, m("B")?, m("C")?, alpha()?, beta()?);
            let product = tried(&this, |y| y.add_mat_mat_elements(alpha, &a, &b, beta))?;
            // Kaldi computes these in single precision in either case; ours keeps the digits, so it
            // is asked for floats as well.
            let [mut quotient, a, b, c] = [&this, &a, &b, &c]
                .map(|m| Matrix::<f32>::from_fn(m.num_rows(), m.num_cols(), |r, c| f32::from_f64(m[(r, c)].to_f64())));
            quotient.set_mat_mat_div_mat(&a, &b, &c)?;
            Ok(Answer::new().matrix("AddMatMatElements", &product).matrix("SetMatMatDivMat", &quotient))
        }
        "Matrix.SymAddMat2" => {
            let trans = r.trans("trans")?;
            r.matrix_after("this", |this| Ok(this.sym_add_mat2(alpha()?, &m("M")?, trans, beta()?)?))
        }
        "Matrix.Mul/Add by vector" => {
            let (a, v_cols, v_rows, group) = (m("A")?, v("v_cols")?, v("v_rows")?, m("group")?);
            let two = T::from_f64(2.0);
            Ok(Answer::new()
                .matrix("MulColsVec", &tried(&a, |m| m.mul_cols_vec(&v_cols))?)
                .matrix("MulRowsVec", &tried(&a, |m| m.mul_rows_vec(&v_rows))?)
                .matrix("AddVecToRows_2", &tried(&a, |m| m.add_vec_to_rows(two, &v_cols))?)
                .matrix("AddVecToCols_2", &tried(&a, |m| m.add_vec_to_cols(two, &v_rows))?)
                .matrix("MulRowsGroupMat", &tried(&a, |m| m.mul_rows_group_mat(&group))?))
        }
        "Matrix.structure" => {
            let (a, b) = (m("A")?, m("B")?);
            Ok(Answer::new()
                .matrix("CopyLowerToUpper", &tried(&a, Matrix::copy_lower_to_upper)?)
                .matrix("CopyUpperToLower", &tried(&a, Matrix::copy_upper_to_lower)?)
                .matrix("SetUnit_3x5", &changed(&Matrix::<T>::zeros(3, 5), Matrix::set_unit))
                .matrix("B_Transpose", &changed(&b, Matrix::transpose))
                .matrix("A_RemoveRow_1", &tried(&a, |m| m.remove_row(1))?)
                .matrix("B_Resize_4x2_kCopyData", &changed(&b, |m| m.resize(4, 2, ResizeType::CopyData)))
                .matrix("B_AddToDiag_10", &changed(&b, |m| m.add_to_diag(T::from_f64(10.0)))))
        }
        "Matrix.CopyRowsFromVec/CopyColsFromVec" => {
            let (all, row, col) = (v("v6")?, v("v3")?, v("v2")?);
            let zeros = Matrix::<T>::zeros(col.dim(), row.dim());
            Ok(Answer::new()
                .matrix("rows_v6", &tried(&zeros, |m| m.copy_rows_from_vec(&all))?)
                .matrix("rows_v3", &tried(&zeros, |m| m.copy_rows_from_vec(&row))?)
                .matrix("cols_v6", &tried(&zeros, |m| m.copy_cols_from_vec(&all))?)
                .matrix("cols_v2", &tried(&zeros, |m| m.copy_cols_from_vec(&col))?))
        }
        "Matrix.AddMatMatMat" => {
            let (a, b, c, no) = (m("A")?, m("B")?, m("C")?, Trans::No);
            r.matrix_after("this", |this| Ok(this.add_mat_mat_mat(alpha()?, &a, no, &b, no, &c, no, beta()?)?))
        }
        "TraceMatMatMatMat" => {
            let (a, b, c, d, no) = (m("A")?, m("B")?, m("C")?, m("D")?, Trans::No);
            ret(trace_mat_mat_mat_mat(&a, no, &b, no, &c, no, &d, no)?)
        }
        "Matrix.OrthogonalizeRows" => r.matrix_after("A", |a| Ok(a.orthogonalize_rows()?)),
        "AddOuterProductPlusMinus" => {
            let (a, b) = (v("a")?, v("b")?);
            let [mut plus, mut minus] = [(); 2].map(|()| Matrix::zeros(a.dim(), b.dim()));
            add_outer_product_plus_minus(alpha()?, &a, &b, &mut plus, &mut minus)?;
            Ok(Answer::new().matrix("plus", &plus).matrix("minus", &minus))
        }
        "ComputeDctMatrix" => {
            let size = r.plain("N")?;
            Ok(Answer::new().matrix("M", &changed(&Matrix::<T>::zeros(size, size), compute_dct_matrix)))
        }
        _ => Err(Stop::NotRun),
    }
}
