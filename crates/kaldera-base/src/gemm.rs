//! A small matrix product, for crates without a BLAS.

use crate::real::Real;
use crate::simd::{Kernel, Lanes, Simd, dispatch};

/// Rows of C that are held in registers at once.
const MR: usize = 4;
/// Columns of C that are held in registers at once.
const NR: usize = 16;
/// Terms of a sum that are packed at once: the panels then stay in the caches.
const KC: usize = 256;

/// A matrix to read, with any steps between its rows and columns: so a transpose is a swap of the
/// two.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a, T> {
    /// The elements; (r, c) is at `r * row_step + c * col_step`.
    pub data: &'a [T],
    /// From one row to the next.
    pub row_step: usize,
    /// From one column to the next.
    pub col_step: usize,
}

/// C = alpha A B + beta C, where A is m x k, B k x n and C m x n with `c_row_step` elements from
/// row to row.
///
/// With `beta` 0 the old values of C are not read, so that NaN in them does not count, as in
/// BLAS. Each element is summed in the order of k, in blocks of 256, for all m and n.
///
/// # Panics
/// If a slice is too short for the sizes.
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS's gemm")]
pub fn gemm<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    beta: T,
    c: &mut [T],
    c_row_step: usize,
) {
    Product::<T, false> { m, n, k, alpha, a, b, c, c_row_step }.run_with(beta);
}

/// As [`gemm`], with one rounding for a multiplication and an addition if the processor has an
/// instruction for both: faster by an eighth, and its last bits depend on the processor.
///
/// # Panics
/// As [`gemm`].
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS's gemm")]
pub fn gemm_fused<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    beta: T,
    c: &mut [T],
    c_row_step: usize,
) {
    Product::<T, true> { m, n, k, alpha, a, b, c, c_row_step }.run_with(beta);
}

struct Product<'a, T, const FUSED: bool> {
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: Operand<'a, T>,
    b: Operand<'a, T>,
    c: &'a mut [T],
    c_row_step: usize,
}

impl<T: Real, const FUSED: bool> Product<'_, T, FUSED> {
    fn run_with(self, beta: T) {
        for row in self.c.chunks_mut(self.c_row_step.max(1)).take(self.m) {
            for x in &mut row[..self.n] {
                *x = if beta == T::ZERO { T::ZERO } else { *x * beta };
            }
        }
        if self.m > 0 && self.n > 0 && self.k > 0 {
            dispatch(self);
        }
    }
}

impl<T: Real, const FUSED: bool> Kernel for Product<'_, T, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { m, n, k, alpha, a, b, c, c_row_step } = self;
        let mut a_panel = vec![[T::ZERO; MR]; KC.min(k)];
        let mut b_panels = vec![[T::ZERO; NR]; KC.min(k) * n.div_ceil(NR)];
        for k0 in (0..k).step_by(KC) {
            let depth = KC.min(k - k0);
            for (panel, n0) in b_panels.chunks_exact_mut(depth).zip((0..n).step_by(NR)) {
                for (p, row) in panel.iter_mut().enumerate() {
                    let from = (k0 + p) * b.row_step + n0 * b.col_step;
                    *row = std::array::from_fn(|j| if n0 + j < n { b.data[from + j * b.col_step] } else { T::ZERO });
                }
            }
            for m0 in (0..m).step_by(MR) {
                for (p, column) in a_panel[..depth].iter_mut().enumerate() {
                    let from = m0 * a.row_step + (k0 + p) * a.col_step;
                    *column =
                        std::array::from_fn(
                            |i| {
                                if m0 + i < m { alpha * a.data[from + i * a.row_step] } else { T::ZERO }
                            },
                        );
                }
                for (panel, n0) in b_panels.chunks_exact(depth).zip((0..n).step_by(NR)) {
                    let block = match FUSED {
                        true => fused_outer_products(T::lanes(s), &a_panel[..depth], panel),
                        false => outer_products(&a_panel[..depth], panel),
                    };
                    let width = NR.min(n - n0);
                    for (i, sums) in block.iter().enumerate().take(m - m0) {
                        let row = &mut c[(m0 + i) * c_row_step + n0..][..width];
                        for (x, &sum) in row.iter_mut().zip(sums) {
                            *x += sum;
                        }
                    }
                }
            }
        }
    }
}

// The compiler vectorises the loops over NR, for `f32` and `f64` alike.
#[inline(always)]
fn outer_products<T: Real>(a: &[[T; MR]], b: &[[T; NR]]) -> [[T; NR]; MR] {
    let mut block = [[T::ZERO; NR]; MR];
    for (a, b) in a.iter().zip(b) {
        for i in 0..MR {
            for j in 0..NR {
                block[i][j] += a[i] * b[j];
            }
        }
    }
    block
}

#[inline(always)]
fn fused_outer_products<T: Real, L: Lanes<T>>(s: L, a: &[[T; MR]], b: &[[T; NR]]) -> [[T; NR]; MR] {
    // So many vectors are enough for NR columns, and fill them.
    const { assert!(L::LANES >= 4 && NR.is_multiple_of(L::LANES)) };
    let mut sums = [[s.splat(T::ZERO); NR / 4]; MR];
    for (a, b) in a.iter().zip(b) {
        for v in 0..NR / L::LANES {
            let b = s.load(&b[v * L::LANES..]);
            for i in 0..MR {
                sums[i][v] = s.mul_add(s.splat(a[i]), b, sums[i][v]);
            }
        }
    }
    let mut block = [[T::ZERO; NR]; MR];
    for (row, sums) in block.iter_mut().zip(sums) {
        for (to, sum) in row.chunks_exact_mut(L::LANES).zip(sums) {
            s.store(sum, to);
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Philox;

    proptest! {
        #[test]
        fn product_equals_the_sum_of_products(
            (m, n, k) in (0_usize..40, 0_usize..40, 0_usize..600),
            (trans_a, trans_b, fused) in any::<(bool, bool, bool)>(),
            (alpha, beta) in (-2.0_f32..2.0, prop_oneof![Just(0.0_f32), -2.0_f32..2.0]),
        ) {
            let stream = Philox::new(5);
            let mut a = vec![0.0_f32; m * k];
            let mut b = vec![0.0_f32; k * n];
            stream.add_gaussian(1.0, 0, &mut a);
            stream.add_gaussian(1.0, 1 << 20, &mut b);
            let step = n + 3;
            let old = if beta == 0.0 { f32::NAN } else { 0.75 };
            let mut c = vec![old; m * step];
            let operand = |data, rows, cols, trans| {
                if trans { Operand { data, row_step: 1, col_step: rows } } else { Operand { data, row_step: cols, col_step: 1 } }
            };
            let product = if fused { gemm_fused } else { gemm };
            product(m, n, k, alpha, operand(&a, m, k, trans_a), operand(&b, k, n, trans_b), beta, &mut c, step);
            for i in 0..m {
                for j in 0..n {
                    let at = |p| if trans_a { a[p * m + i] } else { a[i * k + p] };
                    let bt = |p| if trans_b { b[j * k + p] } else { b[p * n + j] };
                    let terms = (0..k).map(|p| f64::from(at(p)) * f64::from(bt(p)));
                    let size: f64 = terms.clone().map(f64::abs).sum::<f64>() * f64::from(alpha.abs()) + 2.0;
                    let old = if beta == 0.0 { 0.0 } else { f64::from(beta) * 0.75 };
                    let right = f64::from(alpha) * terms.sum::<f64>() + old;
                    let error = (f64::from(c[i * step + j]) - right).abs();
                    prop_assert!(error <= f64::from(f32::EPSILON) * (k + 4) as f64 * size, "{error} at {i} {j}");
                }
                let gap = &c[i * step + n..(i + 1) * step];
                prop_assert!(gap.iter().all(|x| x.to_bits() == old.to_bits()));
            }
        }
    }

    #[test]
    fn f64_products_are_exact_on_small_integers() {
        let a = Operand { data: &[1.0_f64, 2.0, 3.0, 4.0], row_step: 2, col_step: 1 };
        let mut c = [0.0; 4];
        for product in [gemm, gemm_fused] {
            product(2, 2, 2, 1.0, a, a, 0.0, &mut c, 2);
            assert_eq!(c, [7.0, 10.0, 15.0, 22.0]);
        }
    }
}
