//! OpenBLAS: the products through its C interface, the decompositions through ndarray-linalg.
//!
//! It runs with one thread, because the callers run in parallel, unless the environment variable
//! `OPENBLAS_NUM_THREADS` is set.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Once;

use cblas_sys::{
    CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_UPLO, CblasLower, CblasNoTrans, CblasRowMajor, CblasTrans, cblas_dgemm,
    cblas_dgemv, cblas_dger, cblas_dsyrk, cblas_sgemm, cblas_sgemv, cblas_sger, cblas_ssyrk,
};
use ndarray::{ArrayView1, ArrayView2};
use ndarray_linalg::{Eig, Eigh, JobSvd, Lapack, MatrixLayout, SVDDC, UPLO};

use crate::backend::element::Concrete;
use crate::backend::log_det::LogDet;
use crate::backend::{Backend, Op, block_factors};
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

// Functions of OpenBLAS that are not in other BLAS libraries.
unsafe extern "C" {
    fn openblas_set_num_threads(threads: c_int);
    fn openblas_get_num_threads() -> c_int;
    fn openblas_get_config() -> *const c_char;
    fn openblas_get_corename() -> *const c_char;
}

type Transpose = CBLAS_TRANSPOSE;
type Gemm<T> = unsafe extern "C" fn(
    CBLAS_LAYOUT,
    Transpose,
    Transpose,
    c_int,
    c_int,
    c_int,
    T,
    *const T,
    c_int,
    *const T,
    c_int,
    T,
    *mut T,
    c_int,
);
type Gemv<T> =
    unsafe extern "C" fn(CBLAS_LAYOUT, Transpose, c_int, c_int, T, *const T, c_int, *const T, c_int, T, *mut T, c_int);
type Ger<T> = unsafe extern "C" fn(CBLAS_LAYOUT, c_int, c_int, T, *const T, c_int, *const T, c_int, *mut T, c_int);
type Syrk<T> =
    unsafe extern "C" fn(CBLAS_LAYOUT, CBLAS_UPLO, Transpose, c_int, c_int, T, *const T, c_int, T, *mut T, c_int);

/// A type that OpenBLAS supports, and its functions for that type.
pub(super) trait Number: Concrete + Lapack<Real = Self> {
    const GEMM: Gemm<Self>;
    const GEMV: Gemv<Self>;
    const GER: Ger<Self>;
    const SYRK: Syrk<Self>;
}

impl Number for f32 {
    const GEMM: Gemm<f32> = cblas_sgemm;
    const GEMV: Gemv<f32> = cblas_sgemv;
    const GER: Ger<f32> = cblas_sger;
    const SYRK: Syrk<f32> = cblas_ssyrk;
}

impl Number for f64 {
    const GEMM: Gemm<f64> = cblas_dgemm;
    const GEMV: Gemv<f64> = cblas_dgemv;
    const GER: Ger<f64> = cblas_dger;
    const SYRK: Syrk<f64> = cblas_dsyrk;
}

/// Sets one thread before the first call.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("OPENBLAS_NUM_THREADS").is_none() {
            // SAFETY: the function takes any number, and `Once` keeps other threads out of OpenBLAS
            // until it is done.
            unsafe { openblas_set_num_threads(1) };
        }
    });
}

/// Ends the threads that OpenBLAS started when it was loaded, unless the environment requests them.
/// On Windows they stay.
///
/// No call of OpenBLAS may be running.
pub(super) fn stop_idle_threads() {
    prepare();
    if std::env::var_os("OPENBLAS_NUM_THREADS").is_some() {
        return;
    }
    #[cfg(unix)]
    shut_down_threads();
}

/// Calls OpenBLAS's own function, if it exists. Builds without threads lack it, so it is looked up
/// at run time.
#[cfg(unix)]
fn shut_down_threads() {
    // SAFETY: the name is a string with a zero at its end; looking it up runs no code.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"blas_thread_shutdown_".as_ptr()) };
    if !found.is_null() {
        // SAFETY: OpenBLAS has declared it so since its first version, and calls it itself before
        // each fork. It waits for the threads to end; they are started anew when a later call wants
        // more than one.
        let shutdown: extern "C" fn() -> c_int = unsafe { std::mem::transmute(found) };
        shutdown();
    }
}

/// Returns version and build options, the name of the processor, and the number of threads.
pub(super) fn info() -> (String, String, usize) {
    prepare();
    // SAFETY: both give a string with a zero at its end that is never freed: a constant, or a
    // static buffer that is written with the same bytes at each call.
    let (config, corename) = unsafe { (text(openblas_get_config()), text(openblas_get_corename())) };
    // SAFETY: the function takes nothing and reads a global number.
    let threads = unsafe { openblas_get_num_threads() };
    (config, corename, usize::try_from(threads).unwrap_or(0))
}

/// # Safety
/// `s` is null or a string with a zero at its end, which no one changes meanwhile.
unsafe fn text(s: *const c_char) -> String {
    if s.is_null() {
        return String::new();
    }
    // SAFETY: passed on to the caller.
    unsafe { CStr::from_ptr(s) }.to_string_lossy().trim().to_owned()
}

/// Converts a size or stride for C. The caller has checked that it fits.
fn int(n: usize) -> c_int {
    c_int::try_from(n).expect("sizes beyond i32 go to another backend")
}

fn transpose(trans: Trans) -> Transpose {
    match trans {
        Trans::No => CblasNoTrans,
        Trans::Yes => CblasTrans,
    }
}

/// Returns the start of a matrix whose elements are inside of its slice, as [`SubMatrix`]
/// guarantees and this function checks again.
fn pointer<T: Number>(m: &SubMatrix<'_, T>) -> *const T {
    assert!(m.data().len() >= (m.num_rows() - 1) * m.stride() + m.num_cols(), "a matrix is shorter than its shape");
    m.data().as_ptr()
}

/// OpenBLAS and its LAPACK.
pub(super) struct OpenBlas;

impl<T: Number> Backend<T> for OpenBlas {
    fn gemm(&self, alpha: T, (a, trans_a): Op<'_, T>, (b, trans_b): Op<'_, T>, beta: T, mut c: SubMatrixMut<'_, T>) {
        prepare();
        let (m, n) = (c.num_rows(), c.num_cols());
        let (left, right) = (a.shape().seen(trans_a), b.shape().seen(trans_b));
        assert!(left.rows == m && left.cols == right.rows && right.cols == n, "shapes of a product");
        pointer(&c.view());
        // SAFETY: the three matrices have the sizes passed and lie inside of their slices with the
        // strides passed; C is borrowed mutably, so it overlaps neither of the others.
        unsafe {
            T::GEMM(
                CblasRowMajor,
                transpose(trans_a),
                transpose(trans_b),
                int(m),
                int(n),
                int(left.cols),
                alpha,
                pointer(&a),
                int(a.stride()),
                pointer(&b),
                int(b.stride()),
                beta,
                c.data_mut().as_mut_ptr(),
                int(c.stride()),
            );
        }
    }

    fn gemv(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
        prepare();
        let seen = a.shape().seen(trans);
        assert!(x.len() == seen.cols && y.len() == seen.rows, "shapes of a product");
        // SAFETY: the matrix lies inside of its slice with the stride passed, and the vectors are
        // as long as its sides; y is borrowed mutably, so it overlaps neither of the others.
        unsafe {
            T::GEMV(
                CblasRowMajor,
                transpose(trans),
                int(a.num_rows()),
                int(a.num_cols()),
                alpha,
                pointer(&a),
                int(a.stride()),
                x.as_ptr(),
                1,
                beta,
                y.as_mut_ptr(),
                1,
            );
        }
    }

    fn ger(&self, alpha: T, x: &[T], y: &[T], mut a: SubMatrixMut<'_, T>) {
        prepare();
        let (rows, cols, stride) = (a.num_rows(), a.num_cols(), a.stride());
        assert!(x.len() == rows && y.len() == cols, "shapes of an outer product");
        pointer(&a.view());
        // SAFETY: the matrix lies inside of its slice with the stride passed, and the vectors are
        // as long as its sides; it is borrowed mutably, so it overlaps neither of them.
        unsafe {
            T::GER(
                CblasRowMajor,
                int(rows),
                int(cols),
                alpha,
                x.as_ptr(),
                1,
                y.as_ptr(),
                1,
                a.data_mut().as_mut_ptr(),
                int(stride),
            );
        }
    }

    fn syrk(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
        prepare();
        let (n, stride) = (c.num_rows(), c.stride());
        let seen = a.shape().seen(trans);
        assert!(c.num_cols() == n && seen.rows == n, "shapes of a symmetric product");
        pointer(&c.view());
        // SAFETY: both matrices have the sizes passed and lie inside of their slices with the
        // strides passed; C is borrowed mutably, so it does not overlap A.
        unsafe {
            T::SYRK(
                CblasRowMajor,
                CblasLower,
                transpose(trans),
                int(n),
                int(seen.cols),
                alpha,
                pointer(&a),
                int(a.stride()),
                beta,
                c.data_mut().as_mut_ptr(),
                int(stride),
            );
        }
    }

    fn eigh(&self, a: SubMatrix<'_, T>, s: &mut [T], v: SubMatrixMut<'_, T>) -> Option<()> {
        prepare();
        let a = a.to_owned();
        let (values, vectors) = array(&a.view())?.eigh(UPLO::Lower).ok()?;
        copy_vector(values.view(), s);
        copy_matrix(vectors.view(), v);
        Some(())
    }

    fn svd(&self, a: SubMatrix<'_, T>, u: SubMatrixMut<'_, T>, s: &mut [T], vt: SubMatrixMut<'_, T>) -> Option<()> {
        prepare();
        let a = a.to_owned();
        let (found_u, values, found_vt) = array(&a.view())?.svddc(JobSvd::Some).ok()?;
        copy_matrix(found_u?.view(), u);
        copy_vector(values.view(), s);
        copy_matrix(found_vt?.view(), vt);
        Some(())
    }

    fn singular_values(&self, a: SubMatrix<'_, T>, s: &mut [T]) -> Option<()> {
        prepare();
        let a = a.to_owned();
        let (_, values, _) = array(&a.view())?.svddc(JobSvd::None).ok()?;
        copy_vector(values.view(), s);
        Some(())
    }

    fn invert(&self, a: SubMatrix<'_, T>, inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        prepare();
        let n = a.num_rows();
        let mut data = a.to_owned().into_vec();
        // The only possible error is a pivot of zero.
        let Ok(pivots) = T::lu(square(n), &mut data) else { return Some(LogDet::SINGULAR) };
        let swaps = pivots.iter().zip(1..).filter(|&(&pivot, i)| pivot != i).count();
        let sign = if swaps.is_multiple_of(2) { 1.0 } else { -1.0 };
        let det = LogDet::of_product(data.iter().step_by(n + 1).map(|&x| double(x)).chain([sign]));
        if let Some(inverse) = inverse {
            T::inv(square(n), &mut data, &pivots).ok()?;
            copy_matrix(ArrayView2::from_shape((n, n), &data).ok()?, inverse);
        }
        Some(det)
    }

    fn invert_symmetric(&self, a: SubMatrix<'_, T>, inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        prepare();
        let n = a.num_rows();
        let mut data = a.to_owned().into_vec();
        // LAPACK sees the upper triangle of the transpose, which is the lower one here.
        let Ok(pivots) = T::bk(square(n), UPLO::Upper, &mut data) else { return Some(LogDet::SINGULAR) };
        let diagonal: Vec<f64> = data.iter().step_by(n + 1).map(|&x| double(x)).collect();
        let beside = |k: usize| (pivots[k] < 0).then(|| double(data[(k + 1) * n + k]));
        let det = LogDet::of_product(block_factors(&diagonal, beside));
        if let Some(inverse) = inverse {
            T::invh(square(n), UPLO::Upper, &mut data, &pivots).ok()?;
            copy_matrix(ArrayView2::from_shape((n, n), &data).ok()?, inverse);
        }
        Some(det)
    }

    fn eig(&self, a: SubMatrix<'_, f64>, re: &mut [f64], im: &mut [f64], mut p: SubMatrixMut<'_, f64>) -> Option<()> {
        prepare();
        let a = a.to_owned();
        let (values, vectors) = array(&a.view())?.eig().ok()?;
        for (c, value) in values.iter().enumerate() {
            (re[c], im[c]) = (value.re, value.im);
            for r in 0..a.num_rows() {
                // The second value of a pair has the conjugate vector: the imaginary part of the
                // first, negated.
                p[(r, c)] = if value.im < 0.0 { -vectors[(r, c)].im } else { vectors[(r, c)].re };
            }
        }
        Some(())
    }
}

/// Returns the matrix as ndarray's type; its rows have no gaps, as ndarray-linalg requires.
fn array<'a, T: Number>(m: &'a SubMatrix<'_, T>) -> Option<ArrayView2<'a, T>> {
    ArrayView2::from_shape((m.num_rows(), m.num_cols()), m.data()).ok()
}

/// Returns the layout of a square matrix without gaps. LAPACK, which is column-major, sees its
/// transpose.
fn square(n: usize) -> MatrixLayout {
    MatrixLayout::C { row: int(n), lda: int(n) }
}

/// Converts to double precision. For the types of ndarray-linalg, `to_f64` by itself is ambiguous.
fn double<T: Number>(x: T) -> f64 {
    kaldera_base::Real::to_f64(x)
}

fn copy_vector<T: Number>(from: ArrayView1<'_, T>, to: &mut [T]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
}

fn copy_matrix<T: Number>(from: ArrayView2<'_, T>, mut to: SubMatrixMut<'_, T>) {
    for (to, from) in to.rows_mut().zip(from.rows()) {
        copy_vector(from, to);
    }
}
