//! Exponentials, logarithms, and what is made of them.

use kaldera_base::Real;

/// x = e^x for each element.
pub(crate) fn apply_exp<T: Real>(x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = x.exp());
}

/// x = ln x for each element: minus infinity for 0, NaN below.
pub(crate) fn apply_log<T: Real>(x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = x.ln());
}

/// x = tanh x for each element.
pub(crate) fn apply_tanh<T: Real>(x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = T::from_f64(x.to_f64().tanh()));
}

/// x = 1 / (1 + e^-x) for each element.
pub(crate) fn apply_sigmoid<T: Real>(x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = T::ONE / (T::ONE + (-*x).exp()));
}

/// x = e^(x - shift) for each element; gives their sum. What soft-max over several rows is made of, with their highest
/// element as the shift.
pub(crate) fn exp_sum<T: Real>(x: &mut [T], shift: T) -> f64 {
    x.iter_mut().for_each(|x| *x = (*x - shift).exp());
    super::sum_f64(x)
}

/// The sum of e^(x - shift) of those elements that are not below `lowest`.
pub(crate) fn sum_exp<T: Real>(x: &[T], shift: T, lowest: T) -> f64 {
    x.iter().filter(|&&x| x >= lowest).map(|&x| (x - shift).exp().to_f64()).sum()
}

/// ln of the sum of e^x of those elements that are not below `lowest`; minus infinity for none.
pub(crate) fn log_sum_exp<T: Real>(x: &[T], lowest: T) -> T {
    let shift = shift_of(x);
    shift + T::from_f64(sum_exp(x, shift, lowest).ln())
}

/// x = e^x / (the sum of all e^x); gives the logarithm of that sum.
pub(crate) fn softmax_row<T: Real>(x: &mut [T]) -> T {
    let result = log_sum_exp(x, -T::INFINITY);
    x.iter_mut().for_each(|x| *x = (*x - result).exp());
    result
}

/// x = x - ln(the sum of all e^x); gives that logarithm.
pub(crate) fn log_softmax_row<T: Real>(x: &mut [T]) -> T {
    let result = log_sum_exp(x, -T::INFINITY);
    x.iter_mut().for_each(|x| *x -= result);
    result
}

/// What is subtracted before the exponential: the highest element, where that is a number.
fn shift_of<T: Real>(x: &[T]) -> T {
    let highest = super::max(x);
    if highest.is_finite() { highest } else { T::ZERO }
}
