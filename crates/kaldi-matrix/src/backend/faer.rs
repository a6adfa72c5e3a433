//! faer: linear algebra in Rust. It runs with one thread, so that the results do not depend on the
//! number of threads.

use faer::diag::{DiagMut, DiagRef};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::lblt;
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::lu::partial_pivoting as lu;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::backend::element::Concrete;
use crate::backend::log_det::LogDet;
use crate::backend::{Backend, Op, block_factors};
use crate::kernels;
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

/// A type that faer supports.
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

/// Converts `beta` to faer's flag, for a target that has been scaled with it if necessary.
fn accum<T: Number>(beta: T) -> Accum {
    if beta == <T as kaldera_base::Real>::ZERO { Accum::Replace } else { Accum::Add }
}

/// Scales, unless [`accum`] makes it unnecessary.
fn scale<T: Number>(row: &mut [T], beta: T) {
    if accum(beta) == Accum::Add {
        kernels::scale(row, beta);
    }
}

/// faer, with one thread.
pub(super) struct Faer;

impl<T: Number> Backend<T> for Faer {
    fn gemm(&self, alpha: T, (a, trans_a): Op<'_, T>, (b, trans_b): Op<'_, T>, beta: T, mut c: SubMatrixMut<'_, T>) {
        c.rows_mut().for_each(|row| scale(row, beta));
        matmul(target(&mut c), accum(beta), operand(&a, trans_a), operand(&b, trans_b), alpha, Par::Seq);
    }

    fn gemv(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
        scale(y, beta);
        let (x_len, y_len) = (x.len(), y.len());
        let y = MatMut::from_column_major_slice_mut(y, y_len, 1);
        let x = MatRef::from_column_major_slice(x, x_len, 1);
        matmul(y, accum(beta), operand(&a, trans), x, alpha, Par::Seq);
    }

    fn ger(&self, alpha: T, x: &[T], y: &[T], mut a: SubMatrixMut<'_, T>) {
        let x = MatRef::from_column_major_slice(x, x.len(), 1);
        let y = MatRef::from_row_major_slice(y, 1, y.len());
        matmul(target(&mut a), Accum::Add, x, y, alpha, Par::Seq);
    }

    fn syrk(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
        c.rows_mut().enumerate().for_each(|(r, row)| scale(&mut row[..=r], beta));
        let a = operand(&a, trans);
        let all = BlockStructure::Rectangular;
        let lower = BlockStructure::TriangularLower;
        triangular::matmul(target(&mut c), lower, accum(beta), a, all, a.transpose(), all, alpha, Par::Seq);
    }

    /// The eigenvectors are computed in a matrix of faer's own layout and copied. Computing them in
    /// the rows of `v` takes five times as long.
    fn eigh(&self, a: SubMatrix<'_, T>, s: &mut [T], mut v: SubMatrixMut<'_, T>) -> Option<()> {
        let n = s.len();
        let scratch = self_adjoint_evd_scratch::<T>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
        let mut vectors = Mat::zeros(n, n);
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let values = DiagMut::from_slice_mut(s);
        let a = operand(&a, Trans::No);
        self_adjoint_evd(a, values, Some(vectors.as_mut()), Par::Seq, stack, Default::default()).ok()?;
        target(&mut v).copy_from(&vectors);
        Some(())
    }

    fn svd(
        &self,
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

    fn singular_values(&self, a: SubMatrix<'_, T>, s: &mut [T]) -> Option<()> {
        let none = ComputeSvdVectors::No;
        let scratch = svd_scratch::<T>(a.num_rows(), a.num_cols(), none, none, Par::Seq, Default::default());
        let s = DiagMut::from_slice_mut(s);
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        faer_svd(operand(&a, Trans::No), s, None, None, Par::Seq, stack, Default::default()).ok()
    }

    fn invert(&self, a: SubMatrix<'_, T>, inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        let n = a.num_rows();
        let mut factors = a.to_owned();
        let (mut forward, mut backward) = (vec![0_usize; n], vec![0_usize; n]);
        let factoring = lu::factor::lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default());
        let mut memory = MemBuffer::new(factoring.or(lu::inverse::inverse_scratch::<usize, T>(n, Par::Seq)));
        let stack = MemStack::new(&mut memory);
        let mut view = factors.view_mut();
        let (info, perm) = lu::factor::lu_in_place(
            target(&mut view),
            &mut forward,
            &mut backward,
            Par::Seq,
            stack,
            Default::default(),
        );
        let sign = if info.transposition_count.is_multiple_of(2) { 1.0 } else { -1.0 };
        let det = LogDet::of_product((0..n).map(|i| double(view[(i, i)])).chain([sign]));
        if let (Some(mut inverse), true) = (inverse, det.sign != 0.0) {
            let view = factors.view();
            let both = operand(&view, Trans::No);
            let stack = MemStack::new(&mut memory);
            lu::inverse::inverse(target(&mut inverse), both, both, perm, Par::Seq, stack);
        }
        Some(det)
    }

    fn invert_symmetric(&self, a: SubMatrix<'_, T>, inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        let n = a.num_rows();
        let mut factors = a.to_owned();
        let mut beside = vec![<T as kaldera_base::Real>::ZERO; n];
        let (mut forward, mut backward) = (vec![0_usize; n], vec![0_usize; n]);
        let factoring = lblt::factor::cholesky_in_place_scratch::<usize, T>(n, Par::Seq, Default::default());
        let inverting = lblt::inverse::inverse_scratch::<usize, T>(n, Par::Seq);
        let mut memory = MemBuffer::new(factoring.or(inverting));
        let mut view = factors.view_mut();
        let (_, perm) = lblt::factor::cholesky_in_place(
            target(&mut view),
            DiagMut::from_slice_mut(&mut beside),
            &mut forward,
            &mut backward,
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        let diagonal: Vec<f64> = (0..n).map(|i| double(view[(i, i)])).collect();
        let second = |k: usize| Some(double(beside[k])).filter(|&e| e != 0.0);
        let det = LogDet::of_product(block_factors(&diagonal, second));
        if let (Some(mut inverse), true) = (inverse, det.sign != 0.0) {
            let view = factors.view();
            let l = operand(&view, Trans::No);
            let beside = DiagRef::from_slice(&beside);
            let stack = MemStack::new(&mut memory);
            lblt::inverse::inverse(target(&mut inverse), l, l.diagonal(), beside, perm, Par::Seq, stack);
        }
        Some(det)
    }

    fn eig(&self, a: SubMatrix<'_, f64>, re: &mut [f64], im: &mut [f64], mut p: SubMatrixMut<'_, f64>) -> Option<()> {
        let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
        let mut memory = MemBuffer::new(evd_scratch::<f64>(re.len(), no, yes, Par::Seq, Default::default()));
        let stack = MemStack::new(&mut memory);
        let (s_re, s_im) = (DiagMut::from_slice_mut(re), DiagMut::from_slice_mut(im));
        let a = operand(&a, Trans::No);
        evd_real(a, s_re, s_im, None, Some(target(&mut p)), Par::Seq, stack, Default::default()).ok()
    }
}

/// Converts to double precision. For the types of faer, `to_f64` by itself is ambiguous.
fn double<T: Number>(x: T) -> f64 {
    kaldera_base::Real::to_f64(x)
}
