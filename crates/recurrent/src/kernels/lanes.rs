//! Loads and stores of partial vectors, and activations of whole vectors.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Lanes, Simd};

use crate::activation::Activation;

/// Loads the elements of `from`, at most as many as a vector holds.
#[inline(always)]
pub(crate) fn load<T: Real, S: Simd>(s: T::Lanes<S>, from: &[T]) -> Vector<T, S> {
    if from.len() == T::Lanes::<S>::LANES { s.load(from) } else { s.load_partial(from, s.splat(T::ZERO)) }
}

/// Stores the elements of `to`, at most as many as a vector holds.
#[inline(always)]
pub(crate) fn store<T: Real, S: Simd>(s: T::Lanes<S>, v: Vector<T, S>, to: &mut [T]) {
    if to.len() == T::Lanes::<S>::LANES { s.store(v, to) } else { s.store_partial(v, to) }
}

/// Applies the activation to each lane.
#[inline(always)]
pub(crate) fn activate<T: Real, S: Simd>(s: T::Lanes<S>, f: Activation, x: Vector<T, S>) -> Vector<T, S> {
    match f {
        Activation::Identity => x,
        Activation::Sigmoid => T::sigmoid_lanes::<S>(s, x),
        Activation::Tanh => T::tanh_lanes::<S>(s, x),
        // In this order a NaN stays.
        Activation::Relu => s.max(s.splat(T::ZERO), x),
    }
}

/// Returns `grad` times the derivative of the activation, given the result `y` of the activation.
#[inline(always)]
pub(crate) fn slope<T: Real, S: Simd>(
    s: T::Lanes<S>,
    f: Activation,
    y: Vector<T, S>,
    grad: Vector<T, S>,
) -> Vector<T, S> {
    match f {
        Activation::Identity => grad,
        Activation::Sigmoid => s.mul(grad, s.neg_mul_add(y, y, y)),
        Activation::Tanh => s.mul(grad, s.neg_mul_add(y, y, s.splat(T::ONE))),
        Activation::Relu => s.select_lt(s.splat(T::ZERO), y, grad, s.splat(T::ZERO)),
    }
}

/// Limits each lane to -limit..=limit; a NaN stays.
#[inline(always)]
pub(crate) fn clip<T: Real, S: Simd>(s: T::Lanes<S>, limit: Option<T>, x: Vector<T, S>) -> Vector<T, S> {
    match limit {
        Some(limit) => s.max(s.splat(-limit), s.min(s.splat(limit), x)),
        None => x,
    }
}

/// Returns `grad` in each lane in which `y`, the result of [`clip`], was not cut; else 0.
#[inline(always)]
pub(crate) fn uncut<T: Real, S: Simd>(
    s: T::Lanes<S>,
    limit: Option<T>,
    y: Vector<T, S>,
    grad: Vector<T, S>,
) -> Vector<T, S> {
    match limit {
        Some(limit) => {
            let zero = s.splat(T::ZERO);
            let below = s.select_lt(y, s.splat(limit), grad, zero);
            s.select_lt(s.splat(-limit), y, below, zero)
        }
        None => grad,
    }
}
