//! One way to write a kernel for every instruction set: lanes of `f32` or `f64`, chosen at run
//! time.
//!
//! A kernel is a [`Kernel`]: its `run` is generic over [`Simd`] and defines the operations on
//! [`Simd::LANES`] numbers at once. [`dispatch`] runs it with the widest instruction set that the
//! processor has:
//!
//! ```
//! use kaldera_base::simd::{Kernel, Simd, dispatch};
//!
//! /// y += a x
//! struct Axpy<'a>(f32, &'a [f32], &'a mut [f32]);
//!
//! impl Kernel for Axpy<'_> {
//!     type Output = ();
//!     #[inline(always)]
//!     fn run<S: Simd>(self, s: S) {
//!         let Axpy(a, x, y) = self;
//!         let (x, x_rest) = (x.chunks_exact(S::LANES), x.chunks_exact(S::LANES).remainder());
//!         let mut y = y.chunks_exact_mut(S::LANES);
//!         for (x, y) in x.zip(&mut y) {
//!             s.store(s.mul_add(s.splat(a), s.load(x), s.load(y)), y);
//!         }
//!         for (x, y) in x_rest.iter().zip(y.into_remainder()) {
//!             *y += a * x;
//!         }
//!     }
//! }
//!
//! let mut y = vec![1.0; 37];
//! dispatch(Axpy(2.0, &[3.0; 37], &mut y));
//! assert!(y.iter().all(|&y| y == 7.0));
//! ```
//!
//! The methods of [`Simd`] itself are for `f32`; [`Simd::doubles`] gives the same for `f64`, and
//! [`Lanes`] has the operations common to both, for kernels over any [`Real`](crate::Real).
//! [`Integers`] has the operations on vectors of `u8`, `i32` and `i64`, for kernels over any
//! [`Int`].
//!
//! A `Simd` value is a proof: it can only be had where the instructions exist, so that its
//! methods are safe. Each method, and each function between `run` and the methods, is
//! `#[inline(always)]`, because only code that ends up inside the function that [`dispatch`]
//! compiled for the instruction set uses it.
//!
//! The environment variable `KALDERA_SIMD` (`portable`, `avx2` or `avx512`) chooses a narrower set
//! than the processor has, for comparing and for tests.

/// The array of `e` for each `i`, written out: unrolling a loop over the lanes in every operation
/// would dominate the time to compile a kernel.
macro_rules! array_of {
    ([$($index:literal)*] $i:ident => $e:expr) => {
        [$({
            let $i: usize = $index;
            $e
        }),*]
    };
}

/// A [`Kernel`](crate::simd::Kernel) written like a closure: its parameters name the variables
/// that it captures, `name: type` or `name: type = value`. A reference has one of the lifetimes
/// listed first between `<` and `>`; a type parameter has one bound.
///
/// ```
/// use kaldera_base::simd::{Lanes, dispatch};
/// use kaldera_base::{Real, kernel};
///
/// /// x = a x
/// fn scale<T: Real>(a: T, x: &mut [T]) {
///     dispatch(kernel!(<'a, T: Real>(s: S, a: T, x: &'a mut [T]) {
///         let s = T::lanes(s);
///         for x in x.chunks_mut(T::Lanes::<S>::LANES) {
///             s.store_partial(s.mul(s.splat(a), s.load_partial(x, s.splat(T::ZERO))), x);
///         }
///     }));
/// }
///
/// let mut x = [2.0_f64; 21];
/// scale(3.0, &mut x);
/// assert_eq!(x, [6.0; 21]);
/// ```
#[macro_export]
macro_rules! kernel {
    (@value $argument:ident) => { $argument };
    (@value $argument:ident $value:expr) => { $value };
    (@output) => { () };
    (@output $output:ty) => { $output };
    (
        $(<$($lifetime:lifetime),* $(,)? $($of:ident: $bound:path),*>)?
        ($s:ident: $simd:ident $(, $argument:ident: $type:ty $(= $value:expr)?)* $(,)?) $(-> $output:ty)? $body:block
    ) => {{
        struct Call<$($($lifetime,)* $($of: $bound),*)?> {
            $($argument: $type,)*
            _types: ::std::marker::PhantomData<($($($of,)*)?)>,
        }

        impl<$($($lifetime,)* $($of: $bound),*)?> $crate::simd::Kernel for Call<$($($lifetime,)* $($of),*)?> {
            type Output = $crate::kernel!(@output $($output)?);

            #[inline(always)]
            fn run<$simd: $crate::simd::Simd>(self, $s: $simd) -> Self::Output {
                let Self { $($argument,)* _types } = self;
                $body
            }
        }

        Call { $($argument: $crate::kernel!(@value $argument $($value)?),)* _types: ::std::marker::PhantomData }
    }};
}

/// Methods of one expression each, by the `intrinsics!` of the module:
/// `name(arguments) -> result = expression;`.
macro_rules! operations {
    ($($name:ident $(<const $n:ident: u32>)? ($($argument:ident: $type:ty),*) -> $result:ty = $e:expr;)*) => {$(
        #[inline(always)]
        fn $name $(<const $n: u32>)? (self, $($argument: $type),*) -> $result {
            intrinsics!($e)
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod doubles;
mod integers;
mod lines;
mod numbers;
mod portable;

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use crate::simd::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::Avx512;
use crate::simd::portable::Portable;
pub use doubles::Doubles;
pub use integers::{Int, Integers};
pub use lines::Lines;
pub use numbers::{Lanes, Singles};

/// Only this crate has instruction sets, and types of lanes.
mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// The most lanes that any instruction set has.
pub const MAX_LANES: usize = 16;

/// The arithmetic of one instruction set on [`LANES`](Self::LANES) numbers at once.
///
/// Slices given to the `load` and `store` methods must hold at least `LANES` elements, which is
/// checked.
///
/// Only this crate can implement it, because unsafe code relies on its types: [`Lines`] is memory
/// that is seen as vectors. Its supertrait `Sealed` is private (E0603), without which no other type
/// is accepted (E0277):
///
/// ```compile_fail,E0603
/// use kaldera_base::simd::sealed::Sealed;
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Debug, Clone, Copy)]
/// struct Mine;
///
/// impl kaldera_base::simd::Simd for Mine {}
/// ```
pub trait Simd: Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// Number of elements in a vector: 8 or 16.
    const LANES: usize;
    /// A vector of `LANES` numbers of type `f32`.
    type F32: Copy + fmt::Debug + Send + Sync;
    /// A vector of `LANES` numbers of type `u32`.
    type U32: Copy + fmt::Debug + Send + Sync;
    /// The same instruction set on numbers of type `f64`.
    type Doubles: Doubles;
    /// The same instruction set on integers.
    type Integers: Integers<u8> + Integers<i32> + Integers<i64>;

    /// Its `f64` lanes.
    fn doubles(self) -> Self::Doubles;

    /// Its integer lanes.
    fn integers(self) -> Self::Integers;

    /// Runs `kernel` compiled for this instruction set.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;
    /// As [`vectorize`](Self::vectorize), and never a part of the caller: a long kernel that many
    /// others run is compiled once.
    fn apart<K: Kernel>(self, kernel: K) -> K::Output;

    /// Every lane `x`.
    fn splat(self, x: f32) -> Self::F32;
    /// The first `LANES` elements of `from`.
    fn load(self, from: &[f32]) -> Self::F32;
    /// Writes the first `LANES` elements of `to`.
    fn store(self, v: Self::F32, to: &mut [f32]);
    /// The elements of `from`, `LANES` of them at most; the lanes after its end are taken from
    /// `filler`. Reads no further.
    fn load_partial(self, from: &[f32], filler: Self::F32) -> Self::F32;
    /// Writes the elements of `to`, `LANES` of them at most.
    fn store_partial(self, v: Self::F32, to: &mut [f32]);
    /// Writes the first `LANES` elements of `to`, which need not hold numbers yet.
    fn store_uninit(self, v: Self::F32, to: &mut [MaybeUninit<f32>]);
    /// Writes the elements of `to`, `LANES` of them at most, which need not hold numbers yet.
    fn store_partial_uninit(self, v: Self::F32, to: &mut [MaybeUninit<f32>]);
    /// As [`store_uninit`](Self::store_uninit), by a non-temporal store if the processor has one:
    /// for outputs larger than the caches.
    ///
    /// # Safety
    /// `to` begins at a multiple of `4 * LANES` bytes. [`fence`] is called before anything else may
    /// read the elements.
    unsafe fn stream(self, v: Self::F32, to: &mut [MaybeUninit<f32>]);
    /// The first `LANES` elements of `from`, as `f32`.
    fn load_i16(self, from: &[i16]) -> Self::F32;

    /// a + b
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a - b
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a b
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a / b
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a b + c, with one rounding where the processor has such an instruction
    fn mul_add(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// c - a b, with one rounding where the processor has such an instruction
    fn neg_mul_add(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// a b - c, with one rounding where the processor has such an instruction
    fn mul_sub(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// √a
    fn sqrt(self, a: Self::F32) -> Self::F32;
    /// a where a > b, else b; so b where either is NaN
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a where a < b, else b; so b where either is NaN
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `yes` in lanes with a < b (false for NaN), else `no`
    fn select_lt(self, a: Self::F32, b: Self::F32, yes: Self::F32, no: Self::F32) -> Self::F32;
    /// `yes` in lanes with a <= b (false for NaN), else `no`
    fn select_le(self, a: Self::F32, b: Self::F32, yes: Self::F32, no: Self::F32) -> Self::F32;
    /// Rounded to the nearest integer, ties to even; `a` within the range of `i32`
    fn round(self, a: Self::F32) -> Self::F32;

    /// The sum of all lanes: lane i with lane i + LANES/2, and so on in halves.
    fn sum(self, v: Self::F32) -> f32;
    /// The largest lane; no promise where one is NaN.
    fn max_lane(self, v: Self::F32) -> f32;
    /// Turns `LANES` vectors as rows of a square into its columns. Exactly `LANES` vectors,
    /// checked.
    fn transpose(self, square: &mut [Self::F32]);
    /// As [`transpose`](Self::transpose), with pairs of neighbouring lanes in place of lanes:
    /// elements of 8 bytes. Exactly `LANES / 2` vectors, checked.
    fn transpose_pairs(self, square: &mut [Self::F32]);
    /// Lane l is the sum of vector l, as [`sum`](Self::sum) adds it up. Exactly `LANES` vectors,
    /// checked.
    fn sum_each(self, square: &[Self::F32]) -> Self::F32;
    /// The sums of each four neighbouring lanes, of the first vector, then of the second ..: (a +
    /// c) + (b + d) of lanes a, b, c and d.
    fn sum_fours(self, vectors: [Self::F32; 4]) -> Self::F32;
    /// Lane l is number `indexes[l]` of the lanes of a followed by the lanes of b. Indexes are
    /// below `2 * LANES`.
    fn permute(self, a: Self::F32, b: Self::F32, indexes: Self::U32) -> Self::F32;
    /// Lane l is lane `indexes[l]` of v, indexes counting modulo `LANES`.
    fn permute_one(self, v: Self::F32, indexes: Self::U32) -> Self::F32;
    /// Splits the lanes of a followed by the lanes of b: every other one from the first on, and
    /// every other one from the second on.
    fn unzip(self, a: Self::F32, b: Self::F32) -> (Self::F32, Self::F32);

    /// Every lane `x`.
    fn splat_u32(self, x: u32) -> Self::U32;
    /// 0, 1, 2 ...
    fn lane_indexes(self) -> Self::U32;
    /// The elements of `from`, `LANES` of them at most; the lanes after its end are taken from
    /// `filler`. Reads no further.
    fn load_partial_i32(self, from: &[i32], filler: Self::U32) -> Self::U32;
    /// Writes the elements of `to`, `LANES` of them at most.
    fn store_partial_i32(self, v: Self::U32, to: &mut [i32]);
    /// The lower of a and b as `i32`
    fn min_i32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The higher of a and b as `i32`
    fn max_i32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// Bit i is set if lane i of a differs from lane i of b; the bits from `LANES` on are 0
    fn not_equal_u32(self, a: Self::U32, b: Self::U32) -> u32;
    /// a + b, wrapping
    fn add_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// a - b, wrapping
    fn sub_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The low and the high half of the 64-bit product
    fn mul_wide_u32(self, a: Self::U32, b: Self::U32) -> (Self::U32, Self::U32);
    /// a and b
    fn and_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// a or b
    fn or_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// a xor b
    fn xor_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// a << N
    fn shl_u32<const N: u32>(self, a: Self::U32) -> Self::U32;
    /// a >> N, zeros moving in
    fn shr_u32<const N: u32>(self, a: Self::U32) -> Self::U32;
    /// a >> N of the number as `i32`: copies of the sign moving in
    fn sar_u32<const N: u32>(self, a: Self::U32) -> Self::U32;
    /// The number as `i32`, converted to the nearest `f32`
    fn i32_to_f32(self, a: Self::U32) -> Self::F32;
    /// Rounded to the nearest `i32`, ties to even; `a` within the range of `i32`
    fn f32_to_i32(self, a: Self::F32) -> Self::U32;
    /// The bits of each lane
    fn bits_of(self, a: Self::F32) -> Self::U32;
    /// The numbers that have these bits
    fn of_bits(self, a: Self::U32) -> Self::F32;
}

/// A computation that is written once for all instruction sets.
pub trait Kernel {
    /// The type of the result.
    type Output;
    /// Does it. Mark the implementation `#[inline(always)]`, and each function it calls with `s`.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

/// An instruction set that [`dispatch`] can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust on 8 lanes, which the compiler turns into the instructions that every processor
    /// of the target has: SSE2 on x86-64, NEON on AArch64.
    Portable,
    /// AVX2 with fused multiply-add, 8 lanes.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, 16 lanes.
    Avx512,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable if cfg!(target_arch = "x86_64") => "SSE2 (portable)",
            Self::Portable if cfg!(target_arch = "aarch64") => "NEON (portable)",
            Self::Portable => "portable",
            Self::Avx2 => "AVX2 + FMA",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// The instruction set that [`dispatch`] uses: the widest of this processor, or the one that
/// `KALDERA_SIMD` asks for.
pub fn level() -> Level {
    match chosen() {
        Chosen::Portable => Level::Portable,
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx2(_) => Level::Avx2,
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx512(_) => Level::Avx512,
    }
}

/// The value of `KALDERA_SIMD`.
fn choice() -> String {
    std::env::var_os("KALDERA_SIMD").unwrap_or_default().to_string_lossy().into_owned()
}

/// The widest instruction set that a value of `KALDERA_SIMD` allows.
fn widest(choice: &str) -> Option<Level> {
    Some(match choice {
        "portable" => Level::Portable,
        "avx2" => Level::Avx2,
        "" | "avx512" => Level::Avx512,
        _ => return None,
    })
}

/// A warning for the user if `KALDERA_SIMD` names no instruction set, and so has no effect.
pub fn unknown_choice() -> Option<String> {
    let choice = choice();
    let is_unknown = widest(&choice).is_none();
    is_unknown.then(|| format!("KALDERA_SIMD={choice:?} has no effect: it must be portable, avx2 or avx512"))
}

/// A level with its proof, so that [`dispatch`] need not ask the processor again.
#[derive(Clone, Copy)]
enum Chosen {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

#[inline]
fn chosen() -> Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let wanted = widest(&choice()).unwrap_or(Level::Avx512);
        proof(available().filter(|&level| level <= wanted).last().unwrap_or(Level::Portable))
    })
}

/// The proof of `level`, or the portable one if the processor lacks it.
#[inline]
fn proof(level: Level) -> Chosen {
    let found = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Avx512::new().map(Chosen::Avx512),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Avx2::new().map(Chosen::Avx2),
        _ => None,
    };
    found.unwrap_or(Chosen::Portable)
}

/// The instruction sets of this processor, the narrowest first.
pub fn available() -> impl Iterator<Item = Level> {
    [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|level| match level {
        Level::Portable => true,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Avx2::new().is_some(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Avx512::new().is_some(),
        #[cfg(not(target_arch = "x86_64"))]
        _ => false,
    })
}

/// Orders all [streamed](Simd::stream) stores before all later stores.
#[inline]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is a part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Runs `kernel` with the instruction set of [`level`].
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    run(chosen(), kernel)
}

/// Runs `kernel` with the instruction set `level`, or the portable one if the processor lacks it.
#[inline]
pub fn dispatch_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    run(proof(level), kernel)
}

/// Not `#[inline]`, with which each kernel would be compiled for every unit of code that calls it.
fn run<K: Kernel>(with: Chosen, kernel: K) -> K::Output {
    match with {
        Chosen::Portable => Portable.vectorize(kernel),
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx2(s) => s.vectorize(kernel),
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx512(s) => s.vectorize(kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_name_or_nothing() {
        let levels = ["portable", "avx2", "avx512", "", "AVX2", "nonsense"].map(widest);
        let [portable, avx2, avx512] = [Level::Portable, Level::Avx2, Level::Avx512].map(Some);
        assert_eq!(levels, [portable, avx2, avx512, avx512, None, None]);
    }

    struct Check;
    impl Kernel for Check {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let n = S::LANES;
            let a: Vec<f32> = (0..n).map(|i| i as f32 * 1.5 - 4.0).collect();
            let b: Vec<f32> = (0..n).map(|i| 3.0 - i as f32 * 0.25).collect();
            let bits: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9E37_79B9) ^ 0x8000_0001).collect();
            let (va, vb) = (s.load(&a), s.load(&b));
            let vu = s.bits_of(s.load(&bits.iter().map(|&b| f32::from_bits(b)).collect::<Vec<_>>()));
            let check = |what: &str, v: S::F32, f: &dyn Fn(usize) -> f32| {
                let mut got = vec![0.0; n];
                s.store(v, &mut got);
                for (i, &g) in got.iter().enumerate() {
                    assert_eq!(g.to_bits(), f(i).to_bits(), "{what} lane {i}: {g} for {}", f(i));
                }
            };
            check("add", s.add(va, vb), &|i| a[i] + b[i]);
            check("sub", s.sub(va, vb), &|i| a[i] - b[i]);
            check("mul", s.mul(va, vb), &|i| a[i] * b[i]);
            check("div", s.div(va, vb), &|i| a[i] / b[i]);
            // Small multiples of 1/8 have no rounding, fused or not.
            check("mul_add", s.mul_add(va, vb, va), &|i| a[i] * b[i] + a[i]);
            check("neg_mul_add", s.neg_mul_add(va, vb, va), &|i| a[i] - a[i] * b[i]);
            check("mul_sub", s.mul_sub(va, vb, va), &|i| a[i] * b[i] - a[i]);
            check("max", s.max(va, vb), &|i| a[i].max(b[i]));
            check("min", s.min(va, vb), &|i| a[i].min(b[i]));
            check("sqrt", s.sqrt(s.max(va, s.splat(0.0))), &|i| a[i].max(0.0).sqrt());
            check("select_lt", s.select_lt(va, vb, s.splat(1.0), va), &|i| if a[i] < b[i] { 1.0 } else { a[i] });
            let cut = s.max(va, vb);
            check("select_le", s.select_le(cut, va, s.splat(1.0), vb), &|i| if b[i] <= a[i] { 1.0 } else { b[i] });
            check("round", s.round(va), &|i| a[i].round_ties_even());
            check("i32", s.i32_to_f32(s.f32_to_i32(va)), &|i| a[i].round_ties_even() as i32 as f32);
            let nan = s.splat(f32::NAN);
            check("max of NaN", s.max(nan, va), &|i| a[i]);
            check("select_lt of NaN", s.select_lt(nan, va, va, vb), &|i| b[i]);
            check("select_le of NaN", s.select_le(va, nan, va, vb), &|i| b[i]);
            let as_f32 = |v: S::U32| s.of_bits(v);
            let f = f32::from_bits;
            check("bits", as_f32(vu), &|i| f(bits[i]));
            check("add_u32", as_f32(s.add_u32(vu, s.lane_indexes())), &|i| f(bits[i].wrapping_add(i as u32)));
            check("sub_u32", as_f32(s.sub_u32(s.lane_indexes(), vu)), &|i| f((i as u32).wrapping_sub(bits[i])));
            check("and", as_f32(s.and_u32(vu, s.splat_u32(0xF0F0_1234))), &|i| f(bits[i] & 0xF0F0_1234));
            check("or", as_f32(s.or_u32(vu, s.splat_u32(0x0F0F_1234))), &|i| f(bits[i] | 0x0F0F_1234));
            check("xor", as_f32(s.xor_u32(vu, s.splat_u32(77))), &|i| f(bits[i] ^ 77));
            check("shl", as_f32(s.shl_u32::<3>(vu)), &|i| f(bits[i] << 3));
            check("shr", as_f32(s.shr_u32::<5>(vu)), &|i| f(bits[i] >> 5));
            check("sar", as_f32(s.sar_u32::<5>(vu)), &|i| f((bits[i] as i32 >> 5) as u32));
            let (low, high) = s.mul_wide_u32(vu, s.splat_u32(0xD251_1F53));
            let product = |i: usize| u64::from(bits[i]) * 0xD251_1F53;
            check("low", as_f32(low), &|i| f(product(i) as u32));
            check("high", as_f32(high), &|i| f((product(i) >> 32) as u32));
            check("i16", s.load_i16(&[-32768, 5, 32767, -1, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, -17]), &|i| {
                [-32768., 5., 32767., -1., 0., 7., 8., 9., 10., 11., 12., 13., 14., 15., 16., -17.][i]
            });
            let other = s.add_u32(vu, s.and_u32(s.lane_indexes(), s.splat_u32(5)));
            let unequal = (0..n as u32).filter(|i| i & 5 != 0).fold(0, |mask, i| mask | 1 << i);
            assert_eq!((s.not_equal_u32(vu, vu), s.not_equal_u32(vu, other)), (0, unequal));
            check("min_i32", as_f32(s.min_i32(vu, s.splat_u32(7))), &|i| {
                f(bits[i].cast_signed().min(7).cast_unsigned())
            });
            check("max_i32", as_f32(s.max_i32(vu, s.splat_u32(7))), &|i| {
                f(bits[i].cast_signed().max(7).cast_unsigned())
            });
            let ints: Vec<i32> = bits.iter().map(|b| b.cast_signed()).chain([5]).collect();
            for len in 0..=n {
                // One element more than a vector holds changes nothing.
                let end = if len == n { n + 1 } else { len };
                let part: Vec<f32> = a.iter().copied().chain([9.0]).take(end).collect();
                check("load_partial", s.load_partial(&part, vb), &|i| if i < len { a[i] } else { b[i] });
                let mut to = vec![0.5; n + 2];
                s.store_partial(va, &mut to[..end]);
                let kept = |i| if i < len { a[i] } else { 0.5 };
                assert_eq!(to, (0..n + 2).map(kept).collect::<Vec<_>>(), "store_partial of {len}");
                let mut to = vec![MaybeUninit::new(0.5); n + 2];
                s.store_partial_uninit(va, &mut to[..end]);
                // SAFETY: each was initialised above.
                let to: Vec<f32> = to.into_iter().map(|x| unsafe { x.assume_init() }).collect();
                assert_eq!(to, (0..n + 2).map(kept).collect::<Vec<_>>(), "store_partial_uninit of {len}");
                check("load_partial_i32", as_f32(s.load_partial_i32(&ints[..end], s.splat_u32(3))), &|i| {
                    f(if i < len { bits[i] } else { 3 })
                });
                let mut to = vec![-1; n + 2];
                s.store_partial_i32(vu, &mut to[..end]);
                let kept = |i| if i < len { ints[i] } else { -1 };
                assert_eq!(to, (0..n + 2).map(kept).collect::<Vec<_>>(), "store_partial_i32 of {len}");
            }
            assert_eq!(s.sum(va), a.iter().sum::<f32>());
            assert_eq!(s.max_lane(vb), 3.0);
            let mut square: Vec<S::F32> =
                (0..n).map(|r| s.load(&(0..n).map(|c| (r * n + c) as f32).collect::<Vec<_>>())).collect();
            s.transpose(&mut square);
            for (r, &row) in square.iter().enumerate() {
                check("transpose", row, &|c| (c * n + r) as f32);
            }
            let mut square: Vec<S::F32> =
                (0..n / 2).map(|r| s.load(&(0..n).map(|c| (r * n + c) as f32).collect::<Vec<_>>())).collect();
            s.transpose_pairs(&mut square);
            for (r, &row) in square.iter().enumerate() {
                check("transpose_pairs", row, &|c| ((c / 2) * n + 2 * r + c % 2) as f32);
            }
            let square: Vec<S::F32> =
                (0..n).map(|r| s.load(&(0..n).map(|c| 1.0 / (r * n + c + 1) as f32).collect::<Vec<_>>())).collect();
            check("sum_each", s.sum_each(&square), &|r| s.sum(square[r]));
            let four = |f: usize| [0, 1, 2, 3].map(|i| 1.0 / (4 * f + i + 1) as f32);
            let vector = |v: usize| s.load(&(v * n / 4..(v + 1) * n / 4).flat_map(four).collect::<Vec<_>>());
            check("sum_fours", s.sum_fours([0, 1, 2, 3].map(vector)), &|f| {
                let [a, b, c, d] = four(f);
                (a + c) + (b + d)
            });
            let index = |i: usize| (i * 7 + 3) % (2 * n);
            let indexes: Vec<i32> = (0..n).map(|i| index(i) as i32).collect();
            check("permute", s.permute(va, vb, s.load_partial_i32(&indexes, vu)), &|i| {
                if index(i) < n { a[index(i)] } else { b[index(i) - n] }
            });
            check("permute_one", s.permute_one(va, s.load_partial_i32(&indexes, vu)), &|i| a[index(i) % n]);
            let (even, odd) = s.unzip(va, vb);
            check("unzip, even", even, &|i| if i < n / 2 { a[2 * i] } else { b[2 * i - n] });
            check("unzip, odd", odd, &|i| if i < n / 2 { a[2 * i + 1] } else { b[2 * i + 1 - n] });
            let mut lines = Lines::new();
            let to = lines.floats(n + 1);
            // SAFETY: any float may be seen as one that may be uninitialised, and only floats are
            // written.
            let to = unsafe { &mut *(std::ptr::from_mut(to) as *mut [MaybeUninit<f32>]) };
            s.store_uninit(va, &mut to[1..]);
            // SAFETY: lines are aligned to any vector, and the fence follows.
            unsafe { s.stream(vb, to) };
            fence();
            assert_eq!(lines.floats(n + 1)[..n], b);
            assert_eq!(lines.floats(n + 1)[n], a[n - 1]);
        }
    }

    #[test]
    fn every_instruction_set_does_what_plain_rust_does() {
        for level in available() {
            dispatch_at(level, Check);
        }
    }
}
