//! Powers with a fixed exponent.

use kaldera_base::math::{exp, ln};
use kaldera_base::simd::{Lines, Simd};

/// x^p for a fixed p.
///
/// ```text
///  x = 2^(16 h + l - 127) m            h, l from 0 to 15, m from 1 to 2
///  x^p = 2^(p (16 h - 127))  2^(p l)  m^p
///            table           table    polynomial
/// ```
///
/// This takes neither a logarithm nor a quotient, and its three factors do not wait for each other.
#[derive(Debug)]
pub(crate) struct Power {
    p: f32,
    fast: bool,
    /// The coefficients of the polynomial of m - 3/2, the constant first.
    coefficients: [f32; NUM_COEFFICIENTS],
    /// The factor of each h, then of each l.
    tables: Lines,
    /// The factor for subnormal numbers, which are multiplied with 2^23.
    of_subnormal: f32,
    of_zero: f32,
    of_infinity: f32,
}

const NUM_COEFFICIENTS: usize = 8;

/// Number of entries in a table.
const TABLE: usize = 16;

impl Power {
    pub(crate) fn new(p: f32) -> Self {
        let exact = f64::from(p);
        let mut tables = Lines::new();
        let (high, low) = tables.floats(2 * TABLE).split_at_mut(TABLE);
        for (i, (high, low)) in (0_u8..).zip(high.iter_mut().zip(low)) {
            *high = (exact * (16.0 * f64::from(i) - 127.0)).exp2() as f32;
            *low = (exact * f64::from(i)).exp2() as f32;
        }
        Self {
            p,
            // There the polynomial is exact enough, and no factor too large.
            fast: (0.0..=1.0).contains(&p),
            coefficients: interpolation(|t| (1.5 + t).powf(exact)).map(|x| x as f32),
            tables,
            of_subnormal: (-23.0 * exact).exp2() as f32,
            of_zero: 0.0_f32.powf(p),
            of_infinity: f32::INFINITY.powf(p),
        }
    }

    /// Computes x^p of numbers that are not negative.
    #[inline(always)]
    pub(crate) fn apply<S: Simd>(&self, s: S, x: S::F32) -> S::F32 {
        let power = if self.fast { self.of_positive(s, x) } else { exp(s, s.mul(ln(s, x), s.splat(self.p))) };
        s.select_lt(s.splat(0.0), x, power, s.splat(self.of_zero))
    }

    #[inline(always)]
    fn of_positive<S: Simd>(&self, s: S, x: S::F32) -> S::F32 {
        const TWO_POW_23: f32 = 8_388_608.0;
        const FRACTION: u32 = (1 << 23) - 1;
        let least_normal = s.splat(f32::MIN_POSITIVE);
        let bits = s.bits_of(s.select_lt(x, least_normal, s.mul(x, s.splat(TWO_POW_23)), x));

        let (high, low) = self.tables.as_vectors(s).split_at(TABLE / S::LANES);
        let factor = |table: &[S::F32], i| s.permute(table[0], table[table.len() - 1], i);
        let high = factor(high, s.shr_u32::<27>(bits));
        let low = factor(&low[..TABLE / S::LANES], s.and_u32(s.shr_u32::<23>(bits), s.splat_u32(TABLE as u32 - 1)));
        let high = s.select_lt(x, least_normal, s.mul(high, s.splat(self.of_subnormal)), high);

        let m = s.of_bits(s.or_u32(s.and_u32(bits, s.splat_u32(FRACTION)), s.splat_u32(1.0_f32.to_bits())));
        let t = s.sub(m, s.splat(1.5));
        let squared = s.mul(t, t);
        let [a, b, c, d, e, f, g, h] = self.coefficients;
        let line = |constant, slope| s.mul_add(s.splat(slope), t, s.splat(constant));
        let cubic = |low, high| s.mul_add(high, squared, low);
        let (first, last) = (cubic(line(a, b), line(c, d)), cubic(line(e, f), line(g, h)));
        let of_m = s.mul_add(last, s.mul(squared, squared), first);

        s.select_le(x, s.splat(f32::MAX), s.mul(of_m, s.mul(high, low)), s.splat(self.of_infinity))
    }
}

/// Returns the polynomial that equals `f` at `NUM_COEFFICIENTS` Chebyshev points between -1/2 and
/// 1/2. The constant comes first.
fn interpolation(f: impl Fn(f64) -> f64) -> [f64; NUM_COEFFICIENTS] {
    const N: usize = NUM_COEFFICIENTS;
    let places: [f64; N] = std::array::from_fn(|i| 0.5 * (std::f64::consts::PI * (i as f64 + 0.5) / N as f64).cos());
    // Newton's divided differences.
    let mut differences = places.map(f);
    for order in 1..N {
        for i in (order..N).rev() {
            differences[i] = (differences[i] - differences[i - 1]) / (places[i] - places[i - order]);
        }
    }
    // They are the coefficients of 1, (t - t0), (t - t0) (t - t1) ..: multiplied out from the last
    // one on.
    let mut coefficients = [0.0; N];
    for (place, difference) in places.into_iter().zip(differences).rev() {
        for i in (0..N).rev() {
            coefficients[i] = if i == 0 { 0.0 } else { coefficients[i - 1] } - place * coefficients[i];
        }
        coefficients[0] += difference;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use super::*;

    struct Apply<'a>(&'a Power, &'a [f32]);

    impl Kernel for Apply<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Vec<f32> {
            let Self(power, numbers) = self;
            let mut powers = numbers.to_vec();
            for v in powers.chunks_mut(S::LANES) {
                s.store_partial(power.apply(s, s.load_partial(v, s.splat(1.0))), v);
            }
            powers
        }
    }

    /// The polynomial, the table and two products are off by a few roundings.
    const TOLERANCE: f64 = 4e-7;

    #[test]
    fn powers_are_those_of_double_precision() {
        let numbers: Vec<f32> = (0..f32::INFINITY.to_bits()).step_by(100_003).skip(1).map(f32::from_bits).collect();
        for p in [0.33333, 0.0, 1e-3, 0.5, 0.9, 1.0] {
            let power = Power::new(p);
            assert!(power.fast);
            for level in available() {
                for (x, y) in numbers.iter().zip(dispatch_at(level, Apply(&power, &numbers))) {
                    let expected = f64::from(*x).powf(f64::from(p));
                    // A subnormal power has fewer bits.
                    let tolerance = (TOLERANCE * expected).max(1e-44);
                    assert!((f64::from(y) - expected).abs() < tolerance, "{y} for {x}^{p} at {level}");
                }
            }
        }
    }

    #[test]
    fn extremes_have_the_powers_that_they_have_elsewhere() {
        for p in [0.33333_f32, 1.0, 0.0, 2.0, -0.5] {
            for level in available() {
                let powers = dispatch_at(level, Apply(&Power::new(p), &[0.0]));
                assert_eq!(powers, [0.0_f32.powf(p)], "{p} at {level}");
            }
        }
        for level in available() {
            let powers = dispatch_at(level, Apply(&Power::new(0.33333), &[f32::INFINITY, f32::from_bits(1)]));
            assert_eq!(powers[0], f32::INFINITY);
            assert!((powers[1] / f32::from_bits(1).powf(0.33333) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn other_exponents_have_powers_too() {
        for p in [-0.5_f32, 1.5, 3.0] {
            for level in available() {
                for (x, y) in
                    [0.01, 1.0, 7.5].into_iter().zip(dispatch_at(level, Apply(&Power::new(p), &[0.01, 1.0, 7.5])))
                {
                    let expected = f64::from(x as f32).powf(f64::from(p));
                    assert!((f64::from(y) / expected - 1.0).abs() < 5e-6, "{y} for {x}^{p} at {level}");
                }
            }
        }
    }
}
