//! Functions of each number of a slice, which vectors and matrices share.

use kaldera_base::Real;

use crate::kernels::{self, map};

/// Limit above which `ln(1 + e^x)` is taken as x: Kaldi's limit for its soft hinge, in both
/// precisions.
const SOFT_HINGE_IS_LINEAR: f64 = 10.0;

/// Computes x^power.
pub(crate) fn pow<T: Real>(x: &mut [T], power: T) {
    map_power(x, power, |x| x, |_, y| y);
}

/// |x|^power, with x's sign if `include_sign`.
pub(crate) fn pow_abs<T: Real>(x: &mut [T], power: T, include_sign: bool) {
    map_power(x, power, T::abs, |x, y| if include_sign && x < T::ZERO { -y } else { y });
}

/// x = after(x, before(x)^power); the common powers without logarithms.
fn map_power<T: Real>(x: &mut [T], power: T, before: impl Fn(T) -> T, after: impl Fn(T, T) -> T) {
    if power == T::ONE {
        map(x, |x| after(x, before(x)));
    } else if power == T::from_f64(2.0) {
        map(x, |x| after(x, before(x) * before(x)));
    } else if power == T::from_f64(0.5) {
        map(x, |x| after(x, before(x).sqrt()));
    } else {
        map(x, |x| after(x, before(x).powf(power)));
    }
}

/// Sets each element to 1 if it is above 0, else to 0.
pub(crate) fn heaviside<T: Real>(x: &mut [T]) {
    map(x, |x| if x > T::ZERO { T::ONE } else { T::ZERO });
}

/// Computes ln(1 + e^x), or x above 10.
pub(crate) fn soft_hinge<T: Real>(x: &mut [T]) {
    kernels::soft_hinge(x, T::from_f64(SOFT_HINGE_IS_LINEAR));
}

/// ln Σ e^x over all rows, only of the terms not below `max - prune`.
pub(crate) fn log_sum_exp<'a, T: Real>(rows: impl Iterator<Item = &'a [T]> + Clone, prune: Option<T>) -> T {
    let max = max_of(rows.clone());
    if !max.is_finite() {
        return max;
    }
    let lowest = match prune {
        Some(prune) if prune > T::ZERO => max - prune,
        _ => -T::INFINITY,
    };
    let sum: f64 = rows.map(|row| kernels::sum_exp(row, max, lowest)).sum();
    T::from_f64(max.to_f64() + sum.ln())
}

/// x = e^x / Σ e^x over all rows; returns ln Σ e^x.
///
/// Not e^(x - ln Σ e^x): that would lose as many digits as the logarithm has before its point.
pub(crate) fn soft_max<T: Real>(rows: &mut [&mut [T]]) -> T {
    let max = max_of(rows.iter().map(|row| &**row));
    let sum: f64 = rows.iter_mut().map(|row| kernels::exp_sum(row, max)).sum();
    let scale = T::from_f64(1.0 / sum);
    rows.iter_mut().for_each(|row| kernels::scale(row, scale));
    if max.is_finite() { T::from_f64(max.to_f64() + sum.ln()) } else { max }
}

/// Returns the largest number that is not NaN; minus infinity if there is none.
pub(crate) fn max_of<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>) -> T {
    rows.map(kernels::max).fold(-T::INFINITY, |a, b| if b > a { b } else { a })
}

/// Returns the smallest number that is not NaN; infinity if there is none.
pub(crate) fn min_of<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>) -> T {
    rows.map(kernels::min).fold(T::INFINITY, |a, b| if b < a { b } else { a })
}

/// Σ |x|^p to the power of 1 / p; p = 0 counts the nonzero elements, p = ∞ gives the largest |x|.
///
/// Computed in double precision. If the powers of large or small numbers are outside of its range,
/// the numbers are scaled by the largest first.
pub(crate) fn norm<'a, T: Real>(rows: impl Iterator<Item = &'a [T]> + Clone, p: f64) -> f64 {
    if p == 0.0 {
        sum_of(rows, |x| if x == 0.0 { 0.0 } else { 1.0 })
    } else if p == 1.0 {
        sum_of(rows, |x| x)
    } else if p == 2.0 {
        rescaled(rows, |x| x * x, f64::sqrt)
    } else if p.is_infinite() {
        largest_abs(rows)
    } else {
        rescaled(rows, |x| x.powf(p), |x| x.powf(1.0 / p))
    }
}

/// root(Σ power(|x|)), over numbers divided by the largest if the sum would otherwise not be a
/// normal number.
fn rescaled<'a, T: Real>(
    rows: impl Iterator<Item = &'a [T]> + Clone,
    power: impl Fn(f64) -> f64,
    root: impl Fn(f64) -> f64,
) -> f64 {
    let sum = sum_of(rows.clone(), &power);
    if sum.is_normal() {
        return root(sum);
    }
    let largest = largest_abs(rows.clone());
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * root(sum_of(rows, |x| power(x / largest)))
}

/// Returns the largest |x|, or NaN if any is; 0 if there is none.
pub(crate) fn largest_abs<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>) -> f64 {
    let mut largest = 0.0;
    for x in rows.flatten().map(|x| x.to_f64().abs()) {
        largest = if x > largest || x.is_nan() { x } else { largest };
    }
    largest
}

/// Σ term(|x|) in double precision.
fn sum_of<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>, term: impl Fn(f64) -> f64) -> f64 {
    rows.map(|row| kernels::sum_by(row, |x| term(x.to_f64().abs()))).sum()
}

/// Σ x y in double precision, of slices of one length in any precision.
pub(crate) fn dot_f64<T: Real, U: Real>(x: &[T], y: &[U]) -> f64 {
    let (mut wide_x, mut wide_y) = ([0.0; 64], [0.0; 64]);
    let mut sum = 0.0;
    for (x, y) in x.chunks(64).zip(y.chunks(64)) {
        kernels::copy(x, &mut wide_x);
        kernels::copy(y, &mut wide_y);
        sum += kernels::dot(&wide_x[..x.len()], &wide_y[..x.len()]);
    }
    sum
}

/// `true` if Σ (a - b)² <= tolerance² Σ a², in double precision; with `tolerance` 0, if all numbers
/// are equal.
pub(crate) fn near<'a, T: Real>(pairs: impl Iterator<Item = (&'a [T], &'a [T])>, tolerance: T) -> bool {
    let (mut difference, mut size, mut equal) = (0.0, 0.0, true);
    for (a, b) in pairs {
        for (&a, &b) in a.iter().zip(b) {
            equal &= a == b;
            let (a, b) = (a.to_f64(), b.to_f64());
            difference += (a - b) * (a - b);
            size += a * a;
        }
    }
    if tolerance == T::ZERO { equal } else { difference.sqrt() <= tolerance.to_f64() * size.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        let large = [3e200_f64, -4e200];
        assert!((norm([&large[..]].into_iter(), 2.0) / 5e200 - 1.0).abs() < 1e-15);
        let small = [3e-200_f64, -4e-200];
        assert!((norm([&small[..]].into_iter(), 2.0) / 5e-200 - 1.0).abs() < 1e-15);
        assert!((norm([&large[..], &small[..]].into_iter(), 3.0) / (91_f64.cbrt() * 1e200) - 1.0).abs() < 1e-14);
        assert_eq!(norm([&[0.0_f32; 3][..]].into_iter(), 2.5), 0.0);
        assert_eq!(norm([&[1.0, f32::INFINITY][..]].into_iter(), 2.0), f64::INFINITY);
        assert!(norm([&[1.0, f32::NAN, 2.0][..]].into_iter(), f64::INFINITY).is_nan());
        assert!(norm([&[1.0, f32::NAN][..]].into_iter(), 2.0).is_nan());
    }

    #[test]
    fn sums_of_exponentials_at_their_limits() {
        let all = |x: &[f64], prune| log_sum_exp([x].into_iter(), prune);
        assert_eq!(all(&[], None), f64::NEG_INFINITY);
        assert_eq!(all(&[f64::NEG_INFINITY; 2], None), f64::NEG_INFINITY);
        assert_eq!(all(&[f64::INFINITY, 0.0], None), f64::INFINITY);
        assert!((all(&[1000.0, 1000.0], None) - 1000.0 - 2_f64.ln()).abs() < 1e-12);
        assert_eq!(all(&[1.0, 0.0], Some(0.5)), 1.0);
        assert!(all(&[1.0, 0.0], Some(1.0)) > 1.0);
        assert_eq!(all(&[1.0, 0.0], Some(-1.0)), all(&[1.0, 0.0], None));
    }
}
