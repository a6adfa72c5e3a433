//! Matrices: `Matrix.*`, and the free functions of matrices.

use kaldera::base::Real;
use kaldera::matrix::dense::{add_outer_product_plus_minus, compute_dct_matrix};
use kaldera::matrix::traces::trace_mat_mat_mat_mat;
use kaldera::matrix::{Matrix, ResizeType, Trans};

use super::Operation;
use super::answer::Answer;
use super::record::{changed, tried};
use super::vector::ret;

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "Matrix.GroupPnorm/Deriv" => |r| {
            let (a, power) = (r.matrix("A")?, r.number("power")?);
            let out = tried(&Matrix::zeros(a.num_rows(), r.plain("out_cols")?), |m| m.group_pnorm(&a, power))?;
            let deriv = tried(&a, |m| m.group_pnorm_deriv(&a, &out, power))?;
            Ok(Answer::new().matrix("out", &out).matrix("deriv", &deriv))
        },
        "Matrix.GroupMax/Deriv" => |r| {
            let a = r.matrix("A")?;
            let out = tried(&Matrix::zeros(a.num_rows(), r.plain("out_cols")?), |m| m.group_max(&a))?;
            Ok(Answer::new().matrix("out", &out).matrix("deriv", &tried(&a, |m| m.group_max_deriv(&a, &out))?))
        },
        "Matrix.CopyCols/CopyRows" => |r| {
            let a = r.matrix("A")?;
            let (cols, rows): (Vec<i32>, Vec<i32>) = (r.plain("col_indices")?, r.plain("row_indices")?);
            Ok(Answer::new()
                .matrix("cols", &tried(&Matrix::zeros(a.num_rows(), cols.len()), |m| m.copy_cols(&a, &cols))?)
                .matrix("rows", &tried(&Matrix::zeros(rows.len(), a.num_cols()), |m| m.copy_rows(&a, &rows))?))
        },
        "Matrix.AddCols/AddRows" => |r| {
            let (a, alpha) = (r.matrix("A")?, r.number("rows_alpha")?);
            let (cols, rows): (Vec<i32>, Vec<i32>) = (r.plain("col_indices")?, r.plain("row_indices")?);
            Ok(Answer::new()
                .matrix("cols", &tried(&r.matrix("cols_this")?, |m| m.add_cols(&a, &cols))?)
                .matrix("rows", &tried(&r.matrix("rows_this")?, |m| m.add_rows(alpha, &a, &rows))?))
        },
        "Matrix.AddToRows" => |r| {
            let (a, alpha, indexes) = (r.matrix("A")?, r.number("alpha")?, r.plain::<Vec<i32>>("indexes")?);
            r.matrix_after("dst", |dst| Ok(a.add_to_rows(alpha, &indexes, dst)?))
        },
        "Matrix.elementwise" => |r| {
            let a = r.matrix("A")?;
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
        },
        "Matrix.DiffSigmoid/DiffTanh" => |r| {
            let (value, diff) = (r.matrix("value")?, r.matrix("diff")?);
            let answer = Answer::new().matrix("DiffSigmoid", &tried(&value, |m| m.diff_sigmoid(&value, &diff))?);
            Ok(answer.matrix("DiffTanh", &tried(&value, |m| m.diff_tanh(&value, &diff))?))
        },
        "Matrix.ApplySoftMax" => |r| {
            let a = r.matrix("A")?;
            let mut whole = a.clone();
            let answer = Answer::new().number("ret", whole.apply_soft_max()).matrix("A", &whole);
            let per_row = changed(&a, Matrix::apply_soft_max_per_row);
            Ok(answer.matrix("per_row", &per_row).number("LogSumExp", a.log_sum_exp(None)))
        },
        "Matrix.AddDiagVecMat/AddMatDiagVec" => |r| {
            let (this, m, trans) = (r.matrix("this")?, r.matrix("M")?, r.trans("trans")?);
            let (rows, cols) = (r.vector("v_rows")?, r.vector("v_cols")?);
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            Ok(Answer::new()
                .matrix("AddDiagVecMat", &tried(&this, |y| y.add_diag_vec_mat(alpha, &rows, &m, trans, beta))?)
                .matrix("AddMatDiagVec", &tried(&this, |y| y.add_mat_diag_vec(alpha, &m, trans, &cols, beta))?))
        },
        "Matrix.AddMatMat/AddSmatMat/AddMatSmat" => |r| {
            let this = r.matrix("this")?;
            let (a, trans_a, b, trans_b) = (r.matrix("A")?, r.trans("transA")?, r.matrix("B")?, r.trans("transB")?);
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            let dense = tried(&this, |y| y.add_mat_mat(alpha, &a, trans_a, &b, trans_b, beta))?;
            let zeros_in_a = tried(&this, |y| y.add_smat_mat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
            let zeros_in_b = tried(&this, |y| y.add_mat_smat_dense(alpha, &a, trans_a, &b, trans_b, beta))?;
            Ok(Answer::new()
                .matrix("AddMatMat", &dense)
                .matrix("AddSmatMat(sparse A, dense op(B))", &zeros_in_a)
                .matrix("AddMatSmat(dense op(A), sparse B)", &zeros_in_b))
        },
        "Matrix.AddMatMatElements/SetMatMatDivMat" => |r| {
            let (this, a, b, c) = (r.matrix("this")?, r.matrix("A")?, r.matrix("B")?, r.matrix("C")?);
            let (alpha, beta) = (r.number("alpha")?, r.number("beta")?);
            let product = tried(&this, |y| y.add_mat_mat_elements(alpha, &a, &b, beta))?;
            // Kaldi computes these in single precision in either case; ours keeps the digits, so it is
            // asked for floats as well.
            let [mut quotient, a, b, c] = [&this, &a, &b, &c]
                .map(|m| Matrix::<f32>::from_fn(m.num_rows(), m.num_cols(), |r, c| f32::from_f64(m[(r, c)].to_f64())));
            quotient.set_mat_mat_div_mat(&a, &b, &c)?;
            Ok(Answer::new().matrix("AddMatMatElements", &product).matrix("SetMatMatDivMat", &quotient))
        },
        "Matrix.SymAddMat2" => |r| {
            let (m, trans, alpha, beta) = (r.matrix("M")?, r.trans("trans")?, r.number("alpha")?, r.number("beta")?);
            r.matrix_after("this", |this| Ok(this.sym_add_mat2(alpha, &m, trans, beta)?))
        },
        "Matrix.Mul/Add by vector" => |r| {
            let (a, two) = (r.matrix("A")?, T::from_f64(2.0));
            let (v_cols, v_rows, group) = (r.vector("v_cols")?, r.vector("v_rows")?, r.matrix("group")?);
            Ok(Answer::new()
                .matrix("MulColsVec", &tried(&a, |m| m.mul_cols_vec(&v_cols))?)
                .matrix("MulRowsVec", &tried(&a, |m| m.mul_rows_vec(&v_rows))?)
                .matrix("AddVecToRows_2", &tried(&a, |m| m.add_vec_to_rows(two, &v_cols))?)
                .matrix("AddVecToCols_2", &tried(&a, |m| m.add_vec_to_cols(two, &v_rows))?)
                .matrix("MulRowsGroupMat", &tried(&a, |m| m.mul_rows_group_mat(&group))?))
        },
        "Matrix.structure" => |r| {
            let (a, b) = (r.matrix("A")?, r.matrix("B")?);
            Ok(Answer::new()
                .matrix("CopyLowerToUpper", &tried(&a, Matrix::copy_lower_to_upper)?)
                .matrix("CopyUpperToLower", &tried(&a, Matrix::copy_upper_to_lower)?)
                .matrix("SetUnit_3x5", &changed(&Matrix::<T>::zeros(3, 5), Matrix::set_unit))
                .matrix("B_Transpose", &changed(&b, Matrix::transpose))
                .matrix("A_RemoveRow_1", &tried(&a, |m| m.remove_row(1))?)
                .matrix("B_Resize_4x2_kCopyData", &changed(&b, |m| m.resize(4, 2, ResizeType::CopyData)))
                .matrix("B_AddToDiag_10", &changed(&b, |m| m.add_to_diag(T::from_f64(10.0)))))
        },
        "Matrix.CopyRowsFromVec/CopyColsFromVec" => |r| {
            let (all, row, col) = (r.vector("v6")?, r.vector("v3")?, r.vector("v2")?);
            let zeros = Matrix::<T>::zeros(col.dim(), row.dim());
            Ok(Answer::new()
                .matrix("rows_v6", &tried(&zeros, |m| m.copy_rows_from_vec(&all))?)
                .matrix("rows_v3", &tried(&zeros, |m| m.copy_rows_from_vec(&row))?)
                .matrix("cols_v6", &tried(&zeros, |m| m.copy_cols_from_vec(&all))?)
                .matrix("cols_v2", &tried(&zeros, |m| m.copy_cols_from_vec(&col))?))
        },
        "Matrix.AddMatMatMat" => |r| {
            let (a, b, c) = (r.matrix("A")?, r.matrix("B")?, r.matrix("C")?);
            let (alpha, beta, no) = (r.number("alpha")?, r.number("beta")?, Trans::No);
            r.matrix_after("this", |this| Ok(this.add_mat_mat_mat(alpha, &a, no, &b, no, &c, no, beta)?))
        },
        "TraceMatMatMatMat" => |r| {
            let (a, b, c, d) = (r.matrix("A")?, r.matrix("B")?, r.matrix("C")?, r.matrix("D")?);
            let no = Trans::No;
            ret(trace_mat_mat_mat_mat(&a, no, &b, no, &c, no, &d, no)?)
        },
        "Matrix.OrthogonalizeRows" => |r| r.matrix_after("A", |a| Ok(a.orthogonalize_rows()?)),
        "AddOuterProductPlusMinus" => |r| {
            let (a, b) = (r.vector("a")?, r.vector("b")?);
            let [mut plus, mut minus] = [(); 2].map(|()| Matrix::zeros(a.dim(), b.dim()));
            add_outer_product_plus_minus(r.number("alpha")?, &a, &b, &mut plus, &mut minus)?;
            Ok(Answer::new().matrix("plus", &plus).matrix("minus", &minus))
        },
        "ComputeDctMatrix" => |r| {
            let size = r.plain("N")?;
            Ok(Answer::new().matrix("M", &changed(&Matrix::<T>::zeros(size, size), compute_dct_matrix)))
        },
        _ => return None,
    })
}
