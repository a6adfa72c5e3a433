//! Numbers, and the slope of a function.

use lod::LodTensor;

/// Numbers in -2..2 that look random, the same for the same seed.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 29) as f64 - 2.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

pub(crate) fn rows(lengths: &[usize], width: usize, seed: u64) -> LodTensor<f64> {
    LodTensor::from_lengths(lengths, width, numbers(seed, lengths.iter().sum::<usize>() * width)).unwrap()
}

/// How far a slope by central differences may be from the derivative: h² times the third one, and
/// rounding over h.
const SLOPE: f64 = 1e-7;

/// That `gradient` is the slope of `value` in every direction.
pub(crate) fn check_slope(what: &str, x: &[f64], gradient: &[f64], value: impl Fn(&[f64]) -> f64) {
    check_slope_within(what, x, gradient, 1e-4, SLOPE, value);
}

pub(crate) fn check_slope_within(
    what: &str,
    x: &[f64],
    gradient: &[f64],
    h: f64,
    tolerance: f64,
    value: impl Fn(&[f64]) -> f64,
) {
    assert_eq!(x.len(), gradient.len(), "{what}");
    for i in 0..x.len() {
        let at = |h: f64| {
            let mut moved = x.to_vec();
            moved[i] += h;
            value(&moved)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        assert!((slope - gradient[i]).abs() <= tolerance, "{what}, {i}: slope {slope}, derivative {}", gradient[i]);
    }
}
