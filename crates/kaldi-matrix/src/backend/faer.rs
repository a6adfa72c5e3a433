//! faer: linear algebra in Rust. One thread, so that the results do not depend on their number.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::{Accum, MatMut, MatRef, Par};

use super::element::Concrete;
use crate::kernels;
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

/// A type that faer computes with.
pub(super) trait Number: Concrete + faer::traits::ComplexField {}

impl Number for f32 {}
impl Number for f64 {}

fn view<T>(data: &[T], rows: usize, cols: usize, stride: usize, trans: Trans) -> MatRef<'_, T> {
    let transposed = MatRef::from_column_major_slice_with_stride(data, cols, rows, stride);
    match trans {
        Trans::No => transposed.transpose(),
        Trans::Yes => transposed,
    }
}

fn operand<'a, T: Number>(m: &'a SubMatrix<'_, T>, trans: Trans) -> MatRef<'a, T> {
    view(m.data(), m.num_rows(), m.num_cols(), m.stride(), trans)
}

fn target<'a, T: Number>(m: &'a mut SubMatrixMut<'_, T>) -> MatMut<'a, T> {
    let (rows, cols, stride) = (m.num_rows(), m.num_cols(), m.stride());
    MatMut::from_column_major_slice_with_stride_mut(m.data_mut(), cols, rows, stride).transpose_mut()
}

/// How `beta`, after the target has been scaled with it if need be, is said in faer.
fn accum<T: Number>(beta: T) -> Accum {
    if beta == <T as kaldera_base::Real>::ZERO { Accum::Replace } else { Accum::Add }
}

/// Scales unless that is left to [`accum`].
fn scale<T: Number>(row: &mut [T], beta: T) {
    if accum(beta) == Accum::Add {
        kernels::scale(row, beta);
    }
}

pub(super) fn gemm<T: Number>(
    alpha: T,
    a: SubMatrix<'_, T>,
    trans_a: Trans,
    b: SubMatrix<'_, T>,
    trans_b: Trans,
    beta: T,
    mut c: SubMatrixMut<'_, T>,
) {
    c.rows_mut().for_each(|row| scale(row, beta));
    matmul(target(&mut c), accum(beta), operand(&a, trans_a), operand(&b, trans_b), alpha, Par::Seq);
}

pub(super) fn gemv<T: Number>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
    scale(y, beta);
    let (x_len, y_len) = (x.len(), y.len());
    let y = MatMut::from_column_major_slice_mut(y, y_len, 1);
    let x = MatRef::from_column_major_slice(x, x_len, 1);
    matmul(y, accum(beta), operand(&a, trans), x, alpha, Par::Seq);
}

pub(super) fn ger<T: Number>(alpha: T, x: &[T], y: &[T], mut a: SubMatrixMut<'_, T>) {
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    let y = MatRef::from_row_major_slice(y, 1, y.len());
    matmul(target(&mut a), Accum::Add, x, y, alpha, Par::Seq);
}

pub(super) fn syrk<T: Number>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
    c.rows_mut().enumerate().for_each(|(r, row)| scale(&mut row[..=r], beta));
    let a = operand(&a, trans);
    let all = BlockStructure::Rectangular;
    let lower = BlockStructure::TriangularLower;
    triangular::matmul(target(&mut c), lower, accum(beta), a, all, a.transpose(), all, alpha, Par::Seq);
}

pub(super) fn eigh<T: Number>(a: SubMatrix<'_, T>, s: &mut [T], mut v: SubMatrixMut<'_, T>) -> Option<()> {
    let scratch = self_adjoint_evd_scratch::<T>(s.len(), ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let a = operand(&a, Trans::No);
    let s = DiagMut::from_slice_mut(s);
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    self_adjoint_evd(a, s, Some(target(&mut v)), Par::Seq, stack, Default::default()).ok()
}

pub(super) fn svd<T: Number>(
    a: SubMatrix<'_, T>,
    mut u: SubMatrixMut<'_, T>,
    s: &mut [T],
    mut vt: SubMatrixMut<'_, T>,
) -> Option<()> {
    let thin = ComputeSvdVectors::Thin;
    let scratch = svd_scratch::<T>(a.num_rows(), a.num_cols(), thin, thin, Par::Seq, Default::default());
    let s = DiagMut::from_slice_mut(s);
    let v = target(&mut vt).transpose_mut();
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    faer_svd(operand(&a, Trans::No), s, Some(target(&mut u)), Some(v), Par::Seq, stack, Default::default()).ok()
}
