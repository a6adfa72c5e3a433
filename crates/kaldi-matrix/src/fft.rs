//! Fourier transforms with Kaldi's layouts, on rustfft and realfft.
//!
//! ```text
//! complex, N numbers    [ re0  im0    re1  im1    ...  re(N-1)  im(N-1) ]
//! real, N numbers       [ x0   x1     x2   x3     ...                   ]
//!   its spectrum        [ re0  re N/2  re1  im1    ...  re(N/2-1)  im(N/2-1) ]
//!                         im0 and im N/2 are zero
//! ```
//!
//! Forward is `X[k] = Σ x[n] exp(-2πi nk/N)`; backward has `+`, and no 1/N: forward and backward
//! together multiply by N.
//!
//! The free functions cache the plans of all sizes so far, for each thread. The two types with
//! their own plan correspond to Kaldi's for powers of two; here all use the same transforms.

use std::cell::RefCell;
use std::f64::consts::TAU;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kaldera_base::Real;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use crate::check::check_dim;
use crate::error::Error;
use crate::storage::{Storage, StorageMut};
use crate::vector::{Vector, VectorBase};

/// `v =` its transform, for N complex numbers in 2 N elements; any N.
///
/// ```
/// use kaldi_matrix::Vector;
/// use kaldi_matrix::fft::complex_fft;
/// let mut v = Vector::from(vec![1.0_f32, 0.0, 2.0, 0.0]); // 1, 2
/// complex_fft(&mut v, true)?;
/// assert_eq!(v.data(), [3.0, 0.0, -1.0, 0.0]); // 1 + 2, 1 - 2
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfDomain`] for an odd number of elements.
#[doc(alias = "ComplexFft")]
pub fn complex_fft<S: StorageMut>(v: &mut VectorBase<S>, forward: bool) -> Result<(), Error> {
    check_even("complex_fft", v.dim())?;
    if !v.is_empty() {
        ComplexPlan::new::<S::Elem>(v.dim() / 2).transform(v.data_mut(), forward, &mut FftScratch::default());
    }
    Ok(())
}

/// `v =` its transform, for N real numbers; any even N. Backward converts the spectrum to numbers
/// again.
///
/// ```
/// use kaldi_matrix::Vector;
/// use kaldi_matrix::fft::real_fft;
/// let mut v = Vector::from(vec![1.0_f32, 0.0, 0.0, 0.0]);
/// real_fft(&mut v, true)?;
/// assert_eq!(v.data(), [1.0, 1.0, 1.0, 0.0]); // re0, re2, re1, im1
/// real_fft(&mut v, false)?;
/// assert_eq!(v.data(), [4.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfDomain`] for an odd number of elements.
#[doc(alias = "RealFft")]
pub fn real_fft<S: StorageMut>(v: &mut VectorBase<S>, forward: bool) -> Result<(), Error> {
    real_fft_with(v, forward, &mut FftScratch::default())
}

/// Computes [`real_fft`] with a buffer of the caller.
///
/// # Errors
/// As [`real_fft`].
pub fn real_fft_with<S: StorageMut>(
    v: &mut VectorBase<S>,
    forward: bool,
    scratch: &mut FftScratch,
) -> Result<(), Error> {
    check_even("real_fft", v.dim())?;
    if !v.is_empty() {
        RealPlan::new::<S::Elem>(v.dim()).transform(v.data_mut(), forward, scratch);
    }
    Ok(())
}

/// Computes the same as [`real_fft`], by a complex transform of all N numbers. It is slower, and
/// meant for tests of the other one.
///
/// # Errors
/// As [`real_fft`].
#[doc(alias = "RealFftInefficient")]
pub fn real_fft_inefficient<S: StorageMut>(v: &mut VectorBase<S>, forward: bool) -> Result<(), Error> {
    check_even("real_fft_inefficient", v.dim())?;
    let n = v.dim();
    let mut complex = Vector::zeros(2 * n);
    if n == 0 {
        return Ok(());
    }
    if forward {
        (0..n).for_each(|i| complex[2 * i] = v[i]);
        complex_fft(&mut complex, true)?;
        v.data_mut().copy_from_slice(&complex.data()[..n]);
        v[1] = complex[n];
        return Ok(());
    }
    complex[0] = v[0];
    complex[n] = v[1];
    for k in 1..n / 2 {
        let (re, im) = (v[2 * k], v[2 * k + 1]);
        (complex[2 * k], complex[2 * k + 1]) = (re, im);
        (complex[2 * (n - k)], complex[2 * (n - k) + 1]) = (re, -im);
    }
    complex_fft(&mut complex, false)?;
    (0..n).for_each(|i| v[i] = complex[2 * i]);
    Ok(())
}

/// `out =` the transform of `v`, by the definition: N² steps in double precision, meant for tests
/// of the others.
///
/// # Errors
/// [`Error::OutOfDomain`] for an odd number of elements, [`Error::DimMismatch`] if the lengths
/// differ.
#[doc(alias = "ComplexFt")]
pub fn complex_ft<S: StorageMut>(
    v: &VectorBase<impl Storage<Elem = S::Elem>>,
    out: &mut VectorBase<S>,
    forward: bool,
) -> Result<(), Error> {
    check_even("complex_ft", v.dim())?;
    check_dim("complex_ft", v.dim(), out.dim())?;
    let n = v.dim() / 2;
    let turn = if forward { -TAU } else { TAU } / n as f64;
    let roots: Vec<_> = (0..n).map(|i| complex_im_exp(turn * i as f64)).collect();
    for k in 0..n {
        let mut sum = (0.0, 0.0);
        // The root of n k modulo N, which equals the root of n k.
        let mut root = 0;
        for x in v.data().as_chunks::<2>().0 {
            complex_add_product((x[0].to_f64(), x[1].to_f64()), roots[root], &mut sum);
            root = (root + k) % n;
        }
        (out[2 * k], out[2 * k + 1]) = (S::Elem::from_f64(sum.0), S::Elem::from_f64(sum.1));
    }
    Ok(())
}

/// `b *= a`, for complex numbers (re, im).
#[doc(alias = "ComplexMul")]
#[inline]
pub fn complex_mul<T: Real>(a: (T, T), b: &mut (T, T)) {
    *b = (b.0 * a.0 - b.1 * a.1, b.0 * a.1 + b.1 * a.0);
}

/// `c += a * b`, for complex numbers (re, im).
#[doc(alias = "ComplexAddProduct")]
#[inline]
pub fn complex_add_product<T: Real>(a: (T, T), b: (T, T), c: &mut (T, T)) {
    c.0 += b.0 * a.0 - b.1 * a.1;
    c.1 += b.0 * a.1 + b.1 * a.0;
}

/// `exp(i x)`, as (re, im), for x in radians.
#[doc(alias = "ComplexImExp")]
#[inline]
pub fn complex_im_exp<T: Real>(x: T) -> (T, T) {
    let (sin, cos) = x.to_f64().sin_cos();
    (T::from_f64(cos), T::from_f64(sin))
}

/// A transform of N complex numbers, N a power of two. It keeps the plan and the buffer from call
/// to call.
#[derive(Clone)]
pub struct SplitRadixComplexFft<T> {
    plan: ComplexPlan,
    size: usize,
    scratch: FftScratch,
    precision: PhantomData<T>,
}

impl<T: Real> SplitRadixComplexFft<T> {
    /// Creates a transform of `size` complex numbers.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `size` is a power of two.
    pub fn new(size: usize) -> Result<Self, Error> {
        check_power_of_two("SplitRadixComplexFft", size, 1, "a power of two")?;
        Ok(Self { plan: ComplexPlan::new::<T>(size), size, scratch: FftScratch::default(), precision: PhantomData })
    }

    /// `v =` its transform, as in [`complex_fft`].
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has two elements for each number of the plan.
    #[doc(alias = "Compute")]
    pub fn compute(&mut self, v: &mut VectorBase<impl StorageMut<Elem = T>>, forward: bool) -> Result<(), Error> {
        check_dim("SplitRadixComplexFft", 2 * self.size, v.dim())?;
        self.plan.transform(v.data_mut(), forward, &mut self.scratch);
        Ok(())
    }

    /// Computes the same with a plan that threads share, and a buffer of the caller.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    #[doc(alias = "Compute")]
    pub fn compute_with(
        &self,
        v: &mut VectorBase<impl StorageMut<Elem = T>>,
        forward: bool,
        scratch: &mut FftScratch,
    ) -> Result<(), Error> {
        check_dim("SplitRadixComplexFft", 2 * self.size, v.dim())?;
        self.plan.transform(v.data_mut(), forward, scratch);
        Ok(())
    }
}

/// A transform of N real numbers, N a power of two and at least 4. It keeps the plan and the buffer
/// from call to call.
#[derive(Clone)]
pub struct SplitRadixRealFft<T> {
    plan: RealPlan,
    size: usize,
    scratch: FftScratch,
    precision: PhantomData<T>,
}

impl<T: Real> SplitRadixRealFft<T> {
    /// Creates a transform of `size` real numbers.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `size` is a power of two and at least 4.
    pub fn new(size: usize) -> Result<Self, Error> {
        check_power_of_two("SplitRadixRealFft", size, 4, "a power of two, 4 or more")?;
        Ok(Self { plan: RealPlan::new::<T>(size), size, scratch: FftScratch::default(), precision: PhantomData })
    }

    /// `v =` its transform, as in [`real_fft`].
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has as many elements as the plan.
    #[doc(alias = "Compute")]
    pub fn compute(&mut self, v: &mut VectorBase<impl StorageMut<Elem = T>>, forward: bool) -> Result<(), Error> {
        check_dim("SplitRadixRealFft", self.size, v.dim())?;
        self.plan.transform(v.data_mut(), forward, &mut self.scratch);
        Ok(())
    }

    /// Computes the same with a plan that threads share, and a buffer of the caller.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    #[doc(alias = "Compute")]
    pub fn compute_with(
        &self,
        v: &mut VectorBase<impl StorageMut<Elem = T>>,
        forward: bool,
        scratch: &mut FftScratch,
    ) -> Result<(), Error> {
        check_dim("SplitRadixRealFft", self.size, v.dim())?;
        self.plan.transform(v.data_mut(), forward, scratch);
        Ok(())
    }
}

impl<T> fmt::Debug for SplitRadixComplexFft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitRadixComplexFft").field("size", &self.size).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SplitRadixRealFft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitRadixRealFft").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Buffer of a transform, of any size and precision; it grows as needed.
#[derive(Clone, Debug, Default)]
pub struct FftScratch {
    single: Scratch<f32>,
    double: Scratch<f64>,
}

#[derive(Clone, Debug, Default)]
struct Scratch<F> {
    spectrum: Vec<Complex<F>>,
    work: Vec<Complex<F>>,
}

/// One of two values, by precision: generic code has `T: Real`, rustfft has `f32` and `f64`.
#[derive(Clone)]
enum Of<S, D> {
    Single(S),
    Double(D),
}

fn is_single<T: Real>() -> bool {
    size_of::<T>() == size_of::<f32>()
}

type Complexes<F> = [Arc<dyn Fft<F>>; 2];
type Reals<F> = (Arc<dyn RealToComplex<F>>, Arc<dyn ComplexToReal<F>>);

/// Planners, which cache their plans.
struct Planners<F: FftNum> {
    complex: FftPlanner<F>,
    real: RealFftPlanner<F>,
}

thread_local! {
    static SINGLE: RefCell<Planners<f32>> = RefCell::new(Planners::new());
    static DOUBLE: RefCell<Planners<f64>> = RefCell::new(Planners::new());
}

impl<F: FftNum> Planners<F> {
    fn new() -> Self {
        Self { complex: FftPlanner::new(), real: RealFftPlanner::new() }
    }

    /// Returns the plans forward and backward.
    fn complex(&mut self, size: usize) -> Complexes<F> {
        [FftDirection::Forward, FftDirection::Inverse].map(|direction| self.complex.plan_fft(size, direction))
    }

    fn real(&mut self, size: usize) -> Reals<F> {
        (self.real.plan_fft_forward(size), self.real.plan_fft_inverse(size))
    }
}

// Not generic, so that rustfft's planners are compiled in this crate, and not again in each crate
// that makes a plan.

fn single_complex(size: usize) -> Complexes<f32> {
    SINGLE.with_borrow_mut(|planners| planners.complex(size))
}

fn double_complex(size: usize) -> Complexes<f64> {
    DOUBLE.with_borrow_mut(|planners| planners.complex(size))
}

fn single_real(size: usize) -> Reals<f32> {
    SINGLE.with_borrow_mut(|planners| planners.real(size))
}

fn double_real(size: usize) -> Reals<f64> {
    DOUBLE.with_borrow_mut(|planners| planners.real(size))
}

#[derive(Clone)]
struct ComplexPlan(Of<Complexes<f32>, Complexes<f64>>);

impl ComplexPlan {
    fn new<T: Real>(size: usize) -> Self {
        Self(if is_single::<T>() { Of::Single(single_complex(size)) } else { Of::Double(double_complex(size)) })
    }

    /// `x` must have the precision and the size of the plan.
    fn transform<T: Real>(&self, x: &mut [T], forward: bool, scratch: &mut FftScratch) {
        let direction = usize::from(!forward);
        match &self.0 {
            Of::Single(plans) => {
                T::as_f32_mut(x).into_iter().for_each(|x| complex(&*plans[direction], x, &mut scratch.single));
            }
            Of::Double(plans) => {
                T::as_f64_mut(x).into_iter().for_each(|x| complex(&*plans[direction], x, &mut scratch.double));
            }
        }
    }
}

fn complex<F: FftNum>(plan: &dyn Fft<F>, x: &mut [F], scratch: &mut Scratch<F>) {
    let Scratch { spectrum, work } = scratch;
    spectrum.clear();
    spectrum.extend(x.as_chunks().0.iter().map(|&[re, im]| Complex { re, im }));
    work.resize(plan.get_inplace_scratch_len(), Complex::new(F::zero(), F::zero()));
    plan.process_with_scratch(spectrum, work);
    for (x, y) in x.as_chunks_mut().0.iter_mut().zip(spectrum) {
        *x = [y.re, y.im];
    }
}

#[derive(Clone)]
struct RealPlan(Of<Reals<f32>, Reals<f64>>);

impl RealPlan {
    fn new<T: Real>(size: usize) -> Self {
        Self(if is_single::<T>() { Of::Single(single_real(size)) } else { Of::Double(double_real(size)) })
    }

    /// `x` must have the precision and the size of the plan.
    fn transform<T: Real>(&self, x: &mut [T], forward: bool, scratch: &mut FftScratch) {
        match &self.0 {
            Of::Single(plans) => {
                T::as_f32_mut(x).into_iter().for_each(|x| real(plans, x, forward, &mut scratch.single));
            }
            Of::Double(plans) => {
                T::as_f64_mut(x).into_iter().for_each(|x| real(plans, x, forward, &mut scratch.double));
            }
        }
    }
}

fn real<F: FftNum>((forth, back): &Reals<F>, x: &mut [F], forward: bool, scratch: &mut Scratch<F>) {
    let Scratch { spectrum, work } = scratch;
    let (zero, half) = (F::zero(), x.len() / 2);
    spectrum.resize(half + 1, Complex::new(zero, zero));
    if forward {
        work.resize(forth.get_scratch_len(), Complex::new(zero, zero));
        forth.process_with_scratch(x, spectrum, work).expect("buffers of the plan's sizes");
        for (x, y) in x.as_chunks_mut().0.iter_mut().zip(&*spectrum) {
            *x = [y.re, y.im];
        }
        x[1] = spectrum[half].re;
    } else {
        for (y, &[re, im]) in spectrum.iter_mut().zip(x.as_chunks().0) {
            *y = Complex { re, im };
        }
        spectrum[0].im = zero;
        spectrum[half] = Complex::new(x[1], zero);
        work.resize(back.get_scratch_len(), Complex::new(zero, zero));
        back.process_with_scratch(spectrum, x, work).expect("buffers of the plan's sizes, and two real ends");
    }
}

fn check_even(operation: &'static str, dim: usize) -> Result<(), Error> {
    if dim.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::OutOfDomain {
        operation,
        parameter: "the number of elements",
        value: dim as f64,
        expected: "an even one",
    })
}

fn check_power_of_two(operation: &'static str, size: usize, least: usize, expected: &'static str) -> Result<(), Error> {
    if size.is_power_of_two() && size >= least {
        return Ok(());
    }
    Err(Error::OutOfDomain { operation, parameter: "the size", value: size as f64, expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomState;

    fn random(dim: usize) -> Vector<f64> {
        let mut v = Vector::zeros(dim);
        v.set_randn(&mut RandomState::new(dim as u64));
        v
    }

    fn near<T: Real>(a: &Vector<T>, b: &Vector<f64>, tolerance: f64) -> bool {
        let largest = b.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        a.iter().zip(b.iter()).all(|(a, b)| (a.to_f64() - b).abs() <= tolerance * largest)
    }

    #[test]
    fn complex_transforms_are_the_definition() {
        for n in (1..40).chain([64, 97, 100, 128, 256]) {
            let v = random(2 * n);
            for forward in [true, false] {
                let mut expected = Vector::zeros(2 * n);
                complex_ft(&v, &mut expected, forward).unwrap();
                let mut came = v.clone();
                complex_fft(&mut came, forward).unwrap();
                assert!(near(&came, &expected, 1e-14), "{n}");
                let mut single: Vector<f32> = v.iter().map(|&x| x as f32).collect();
                complex_fft(&mut single, forward).unwrap();
                assert!(near(&single, &expected, 2e-6), "{n}");
                if n.is_power_of_two() {
                    let mut came = v.clone();
                    SplitRadixComplexFft::new(n).unwrap().compute(&mut came, forward).unwrap();
                    assert!(near(&came, &expected, 1e-14), "{n}");
                }
            }
        }
    }

    #[test]
    fn real_transforms_are_the_complex_ones() {
        for n in (2..40).step_by(2).chain([64, 100, 194, 256, 512]) {
            let v = random(n);
            for forward in [true, false] {
                let (mut expected, mut came) = (v.clone(), v.clone());
                real_fft_inefficient(&mut expected, forward).unwrap();
                real_fft(&mut came, forward).unwrap();
                assert!(near(&came, &expected, 1e-14), "{n}");
                let mut single: Vector<f32> = v.iter().map(|&x| x as f32).collect();
                real_fft(&mut single, forward).unwrap();
                assert!(near(&single, &expected, 2e-6), "{n}");
                if n.is_power_of_two() && n >= 4 {
                    let mut came = v.clone();
                    let plan = SplitRadixRealFft::new(n).unwrap();
                    plan.compute_with(&mut came, forward, &mut FftScratch::default()).unwrap();
                    assert!(near(&came, &expected, 1e-14), "{n}");
                }
            }
            let mut there_and_back = v.clone();
            real_fft(&mut there_and_back, true).unwrap();
            real_fft(&mut there_and_back, false).unwrap();
            there_and_back.scale(1.0 / n as f64);
            assert!(near(&there_and_back, &v, 1e-14), "{n}");
        }
    }

    #[test]
    fn sizes_are_checked() {
        let mut odd = Vector::<f32>::zeros(3);
        assert!(complex_fft(&mut odd, true).is_err());
        assert!(real_fft(&mut odd, true).is_err());
        assert!(real_fft_inefficient(&mut odd, false).is_err());
        assert!(complex_ft(&Vector::<f32>::zeros(4), &mut odd, true).is_err());
        let mut nothing = Vector::<f64>::zeros(0);
        complex_fft(&mut nothing, true).unwrap();
        real_fft(&mut nothing, true).unwrap();
        real_fft_inefficient(&mut nothing, true).unwrap();
        complex_ft(&Vector::<f64>::zeros(0), &mut nothing, true).unwrap();
        for bad in [0, 2, 12] {
            assert!(SplitRadixRealFft::<f32>::new(bad).is_err());
        }
        assert!(SplitRadixComplexFft::<f32>::new(0).is_err());
        assert!(SplitRadixComplexFft::<f32>::new(6).is_err());
        let mut plan = SplitRadixComplexFft::<f32>::new(4).unwrap();
        assert!(plan.compute(&mut Vector::zeros(4), true).is_err());
    }

    #[test]
    fn complex_numbers_multiply() {
        let mut b = (1.0, 2.0);
        complex_mul((3.0, -1.0), &mut b);
        assert_eq!(b, (5.0, 5.0));
        complex_add_product((0.0, 1.0), (0.0, 1.0), &mut b);
        assert_eq!(b, (4.0, 5.0));
        assert_eq!(complex_im_exp(0.0_f32), (1.0, 0.0));
    }
}
