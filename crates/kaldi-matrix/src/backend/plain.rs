//! Loops of this crate, for builds without a library and for sizes that a library cannot count.

use kaldera_base::Real;
use kaldera_base::gemm::Operand;

use crate::backend::{Backend, Op};
use crate::kernels;
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

/// The loops of this crate.
pub(super) struct Plain;

impl<T: Real> Backend<T> for Plain {
    fn gemm(&self, alpha: T, (a, trans_a): Op<'_, T>, (b, trans_b): Op<'_, T>, beta: T, mut c: SubMatrixMut<'_, T>) {
        let (m, n, k) = (c.num_rows(), c.num_cols(), a.shape().seen(trans_a).cols);
        let (a, b) = (operand(&a, trans_a), operand(&b, trans_b));
        let c_row_step = c.stride();
        kaldera_base::gemm::gemm(m, n, k, alpha, a, b, beta, c.data_mut(), c_row_step);
    }

    fn gemv(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
        kernels::scale(y, beta);
        match trans {
            Trans::No => y.iter_mut().zip(a.rows()).for_each(|(y, row)| *y += alpha * kernels::dot(row, x)),
            Trans::Yes => x.iter().zip(a.rows()).for_each(|(&x, row)| kernels::axpy(alpha * x, row, y)),
        }
    }

    fn ger(&self, alpha: T, x: &[T], y: &[T], mut a: SubMatrixMut<'_, T>) {
        x.iter().zip(a.rows_mut()).for_each(|(&x, row)| kernels::axpy(alpha * x, y, row));
    }

    /// Multiplies blocks of rows with all rows up to them, and keeps the part below the diagonal.
    fn syrk(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
        const ROWS: usize = 32;
        let (n, k) = (c.num_rows(), a.shape().seen(trans).cols);
        let all = operand(&a, trans);
        let transposed = Operand { row_step: all.col_step, col_step: all.row_step, ..all };
        let mut product = vec![T::ZERO; ROWS.min(n) * n];
        for start in (0..n).step_by(ROWS) {
            let end = n.min(start + ROWS);
            let some = Operand { data: &all.data[start * all.row_step..], ..all };
            kaldera_base::gemm::gemm(end - start, end, k, alpha, some, transposed, T::ZERO, &mut product, end);
            for (r, sums) in (start..end).zip(product.chunks(end)) {
                let row = &mut c.row_data_mut(r)[..=r];
                kernels::scale(row, beta);
                row.iter_mut().zip(sums).for_each(|(c, &sum)| *c += sum);
            }
        }
    }
}

fn operand<'a, T: Real>(m: &'a SubMatrix<'_, T>, trans: Trans) -> Operand<'a, T> {
    match trans {
        Trans::No => Operand { data: m.data(), row_step: m.stride(), col_step: 1 },
        Trans::Yes => Operand { data: m.data(), row_step: 1, col_step: m.stride() },
    }
}
