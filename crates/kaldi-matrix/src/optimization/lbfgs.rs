//! Minima of smooth functions by L-BFGS.

use kaldera_base::{Real, setters};

use crate::check::check_dim;
use crate::dense::reduce::vec_vec;
use crate::error::Error;
use crate::storage::Storage;
use crate::vector::{SubVector, Vector, VectorBase};

/// Options of [`OptimizeLbfgs`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LbfgsOptions {
    /// `true` for a minimum, `false` for a maximum. Default true.
    pub minimize: bool,
    /// Number of past steps that are stored. Default 10.
    pub m: usize,
    /// Factor of the gradient for the first step, unless one of the next two is set. Default 1.
    pub first_step_learning_rate: f64,
    /// Length of the first step, if above 0. Default 0.
    pub first_step_length: f64,
    /// Gain of the first step, if above 0, under the assumption that the function is linear.
    /// Default 0.
    pub first_step_impr: f64,
    /// A step is too long unless the function improves by at least this part of the gain that the
    /// gradient predicts. Default 1e-4.
    pub c1: f64,
    /// A step is too short if the gradient along it is still more than this part of the old one.
    /// Default 0.9.
    pub c2: f64,
    /// Factor by which a step is made longer or shorter; each time the search turns, its square
    /// root replaces it. Default 2.
    pub d: f64,
    /// Limit of the failures on one line, each counted twice as in Kaldi, before a restart. Default
    /// 50.
    pub max_line_search_iters: usize,
    /// Number of steps whose mean length [`OptimizeLbfgs::recent_step_length`] returns. Default 4.
    pub avg_step_length: usize,
}

setters! {
    LbfgsOptions:
    minimize, with_minimize: bool = true, "With a search for the minimum, or the maximum.";
    m, with_m: usize = 10, "With this number of stored steps.";
    first_step_learning_rate, with_first_step_learning_rate: f64 = 1.0, "With this factor for the first step.";
    first_step_length, with_first_step_length: f64 = 0.0, "With a first step of this length.";
    first_step_impr, with_first_step_impr: f64 = 0.0, "With this gain of the first step.";
    c1, with_c1: f64 = 1e-4, "With this least part of the predicted gain.";
    c2, with_c2: f64 = 0.9, "With this largest part of the old gradient.";
    d, with_d: f64 = 2.0, "With this factor between steps of a search.";
    max_line_search_iters, with_max_line_search_iters: usize = 50, "With this limit of the failures on a line.";
    avg_step_length, with_avg_step_length: usize = 4, "With this number of steps in the mean length.";
}

/// A search for the minimum (or maximum) of a function. The caller computes its value and gradient.
///
/// ```
/// use kaldi_matrix::Vector;
/// use kaldi_matrix::optimization::{LbfgsOptions, OptimizeLbfgs};
///
/// // (x - 1)² + 10 (y + 2)²
/// let mut search =
///     OptimizeLbfgs::new(&Vector::from(vec![5.0_f64, 5.0]), LbfgsOptions::default())?;
/// for _ in 0..100 {
///     let at = search.get_proposed_value();
///     let (x, y) = (at[0] - 1.0, at[1] + 2.0);
///     let gradient = Vector::from(vec![2.0 * x, 20.0 * y]);
///     search.do_step(x * x + 10.0 * y * y, &gradient)?;
///     if search.recent_step_length() < 1e-8 {
///         break;
///     }
/// }
/// let (best, value) = search.get_value();
/// assert!((best[0] - 1.0).abs() < 1e-6 && (best[1] + 2.0).abs() < 1e-6 && value < 1e-12);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// The algorithm is 7.5 of Nocedal and Wright, *Numerical Optimization*, 2nd edition, with Kaldi's
/// line search for the Wolfe conditions.
#[derive(Clone, Debug)]
pub struct OptimizeLbfgs<T: Real> {
    options: LbfgsOptions,
    /// Number of steps accepted since the last start.
    k: usize,
    /// `true` if a point on a line from `x` is proposed; before the first value, `x` itself is.
    within_step: bool,
    hessian_was_set: bool,
    x: Vector<T>,
    proposed: Vector<T>,
    best_x: Vector<T>,
    /// At `x`.
    gradient: Vector<T>,
    /// At `x`.
    value: T,
    best_value: T,
    /// The approximate inverse Hessian, a diagonal matrix; empty before the first value.
    inverse_hessian: Vector<T>,
    /// The last m steps; step k is at k modulo m.
    memory: Vec<Step<T>>,
    line: LineSearch,
    /// Lengths of the latest steps, including starts.
    step_lengths: Vec<T>,
}

/// An accepted step.
#[derive(Clone, Debug)]
struct Step<T: Real> {
    /// Change of x.
    s: Vector<T>,
    /// Change of the gradient.
    y: Vector<T>,
    /// 1 / (s · y).
    rho: T,
}

/// State of the search on one line.
#[derive(Clone, Copy, Debug)]
struct LineSearch {
    d: f64,
    failures: usize,
    last: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The first Wolfe condition, which is the Armijo condition.
    TooFar,
    /// The second Wolfe condition, on the gradient.
    NotFarEnough,
}

impl<T: Real> OptimizeLbfgs<T> {
    /// Creates a search that starts at `x`.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] for an `x` without elements, an `m` of 0, and a learning rate of the
    /// first step of 0 or below.
    pub fn new(x: &VectorBase<impl Storage<Elem = T>>, options: LbfgsOptions) -> Result<Self, Error> {
        let positive = |parameter, value: f64| {
            let (operation, expected) = ("OptimizeLbfgs", "a number above 0");
            if value > 0.0 { Ok(()) } else { Err(Error::OutOfDomain { operation, parameter, value, expected }) }
        };
        positive("the number of elements of x", x.dim() as f64)?;
        positive("m", options.m as f64)?;
        if !(options.first_step_length > 0.0 || options.first_step_impr > 0.0) {
            positive("first_step_learning_rate", options.first_step_learning_rate)?;
        }
        let worst = if options.minimize { T::INFINITY } else { -T::INFINITY };
        Ok(Self {
            options,
            k: 0,
            within_step: false,
            hessian_was_set: false,
            x: x.to_owned(),
            proposed: x.to_owned(),
            best_x: x.to_owned(),
            gradient: Vector::zeros(x.dim()),
            value: worst,
            best_value: worst,
            inverse_hessian: Vector::zeros(0),
            memory: Vec::new(),
            line: LineSearch { d: options.d, failures: 0, last: None },
            step_lengths: Vec::new(),
        })
    }

    /// Returns the point at which the caller has to compute the function next.
    #[doc(alias = "GetProposedValue")]
    pub fn get_proposed_value(&self) -> SubVector<'_, T> {
        self.proposed.view()
    }

    /// Returns the best point so far and its value; before the first value, the start and infinity
    /// (minus infinity for a maximum).
    #[doc(alias = "GetValue")]
    pub fn get_value(&self) -> (SubVector<'_, T>, T) {
        (self.best_x.view(), self.best_value)
    }

    /// Returns the mean length of the latest steps; infinity before the first, 0 after two
    /// successive ones of length 0, which mean that there is no further improvement. Stop when it
    /// is small.
    #[doc(alias = "RecentStepLength")]
    pub fn recent_step_length(&self) -> T {
        match &self.step_lengths[..] {
            [] => T::INFINITY,
            [.., a, b] if *a == T::ZERO && *b == T::ZERO => T::ZERO,
            lengths => {
                let count = T::from_f64(lengths.len() as f64);
                lengths.iter().map(|&length| length / count).sum()
            }
        }
    }

    /// Takes the function's value and gradient at the proposed point, and proposes another point.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the gradient has the length of x.
    #[doc(alias = "DoStep")]
    pub fn do_step(&mut self, value: T, gradient: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        check_dim("do_step", self.x.dim(), gradient.dim())?;
        if self.is_better(value, self.best_value) {
            self.best_value = value;
            self.best_x.copy_from_vec(&self.proposed)?;
        }
        if self.within_step {
            self.search_line(value, &gradient.to_owned())
        } else {
            self.propose(value, &gradient.to_owned())
        }
    }

    /// As [`do_step`](Self::do_step), with the diagonal of the second derivative, which may be
    /// approximate.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless both vectors have the length of x; [`Error::OutOfDomain`] for
    /// an element of the second derivative that is not above zero (below it for a maximum).
    #[doc(alias = "DoStep")]
    pub fn do_step_with_hessian(
        &mut self,
        value: T,
        gradient: &VectorBase<impl Storage<Elem = T>>,
        diagonal: &VectorBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        check_dim("do_step_with_hessian", self.x.dim(), gradient.dim())?;
        check_dim("do_step_with_hessian", self.x.dim(), diagonal.dim())?;
        if let Some(&x) = diagonal.iter().find(|&&x| !self.is_better(T::ZERO, x)) {
            return Err(Error::OutOfDomain {
                operation: "do_step_with_hessian",
                parameter: "an element of the second derivative",
                value: x.to_f64(),
                expected: if self.options.minimize { "a number above 0" } else { "a number below 0" },
            });
        }
        self.hessian_was_set = true;
        self.inverse_hessian = diagonal.iter().map(|&x| T::ONE / x).collect();
        self.do_step(value, gradient)
    }

    fn is_better(&self, a: T, b: T) -> bool {
        if self.options.minimize { a < b } else { a > b }
    }

    fn set_inverse_hessian(&mut self, gradient: &Vector<T>) -> Result<(), Error> {
        let options = &self.options;
        let signed = |x: f64| if options.minimize { x } else { -x };
        if let Some(step) = self.k.checked_sub(1).map(|last| &self.memory[last % options.m]) {
            if !self.hessian_was_set {
                // Formula 7.20.
                let gamma = vec_vec(&step.s, &step.y)?.to_f64() / vec_vec(&step.y, &step.y)?.to_f64();
                self.inverse_hessian.set(T::from_f64(if gamma.is_finite() { gamma } else { signed(1.0) }));
            }
        } else if self.inverse_hessian.is_empty() {
            let length = vec_vec(gradient, gradient)?.sqrt().to_f64();
            let rate = if options.first_step_length > 0.0 {
                if length > 0.0 { options.first_step_length / length } else { 1.0 }
            } else if options.first_step_impr > 0.0 {
                if length > 0.0 { options.first_step_impr / (length * length) } else { 1.0 }
            } else {
                options.first_step_learning_rate
            };
            self.inverse_hessian = std::iter::repeat_n(T::from_f64(signed(rate)), gradient.dim()).collect();
        }
        Ok(())
    }

    /// Proposes `x - H gradient`, by algorithm 7.4.
    fn propose(&mut self, value: T, gradient: &Vector<T>) -> Result<(), Error> {
        self.set_inverse_hessian(gradient)?;
        let remembered = self.k.saturating_sub(self.options.m)..self.k;
        let mut q = gradient.clone();
        let mut alphas = Vec::with_capacity(remembered.len());
        for i in remembered.clone().rev() {
            let Step { s, y, rho } = &self.memory[i % self.options.m];
            let alpha = *rho * vec_vec(s, &q)?;
            q.add_vec(-alpha, y)?;
            alphas.push(alpha);
        }
        q.mul_elements(&self.inverse_hessian)?;
        for (i, alpha) in remembered.zip(alphas.into_iter().rev()) {
            let Step { s, y, rho } = &self.memory[i % self.options.m];
            let beta = *rho * vec_vec(y, &q)?;
            q.add_vec(alpha - beta, s)?;
        }
        q.scale(-T::ONE);
        q.add_vec(T::ONE, &self.x)?;
        self.proposed = q;
        self.gradient.copy_from_vec(gradient)?;
        self.value = value;
        self.line = LineSearch { d: self.options.d, failures: 0, last: None };
        self.within_step = true;
        Ok(())
    }

    /// Moves to the proposed point if it is good enough, else proposes a nearer or farther one on
    /// the line to it.
    fn search_line(&mut self, value: T, gradient: &Vector<T>) -> Result<(), Error> {
        let along =
            |gradient: &Vector<T>| Ok::<T, Error>(vec_vec(&self.proposed, gradient)? - vec_vec(&self.x, gradient)?);
        // Both times the length of the step.
        let (slope_before, slope) = (along(&self.gradient)?, along(gradient)?);
        let at_most_as_bad = |a: T, b: T| if self.options.minimize { a <= b } else { a >= b };
        let promised = self.value + T::from_f64(self.options.c1) * slope_before;
        let failure = if !at_most_as_bad(value, promised) {
            Failure::TooFar
        } else if !at_most_as_bad(T::from_f64(self.options.c2) * slope_before, slope) {
            Failure::NotFarEnough
        } else {
            return if self.accept(value, gradient)? {
                self.propose(value, gradient)
            } else {
                self.restart_at_the_better(value, gradient)
            };
        };
        if self.line.last.is_some_and(|last| last != failure) {
            self.line.d = self.line.d.sqrt();
        }
        self.line.last = Some(failure);
        self.line.failures += 1;
        if self.line.failures > self.options.max_line_search_iters {
            return self.restart_at_the_better(value, gradient);
        }
        let scale = T::from_f64(if failure == Failure::TooFar { 1.0 / self.line.d } else { self.line.d });
        let old = self.proposed.clone();
        self.proposed.scale(scale);
        self.proposed.add_vec(T::ONE - scale, &self.x)?;
        // A failure counts twice, as in Kaldi.
        self.line.failures += 1;
        let unmoved = self.proposed.data() == old.data();
        let hardly_moved = self.proposed.approx_equal(&old, T::from_f64(1e-8))?
            && (self.value - value).abs() < T::from_f64(1e-8) * self.value.abs();
        if unmoved || (hardly_moved && failure == Failure::TooFar) {
            return self.restart_at_the_better(value, gradient);
        }
        Ok(())
    }

    /// Accepts the step to the proposed point. Returns `false`, and does nothing, if it has no
    /// information on the second derivative.
    fn accept(&mut self, value: T, gradient: &Vector<T>) -> Result<bool, Error> {
        let (mut s, mut y) = (self.proposed.clone(), gradient.clone());
        s.add_vec(-T::ONE, &self.x)?;
        y.add_vec(-T::ONE, &self.gradient)?;
        let product = vec_vec(&y, &s)?;
        let length = vec_vec(&s, &s)?.sqrt();
        let curved = if self.options.minimize { product.to_f64() > 1e-20 } else { product.to_f64() < -1e-20 };
        if !curved || length == T::ZERO {
            return Ok(false);
        }
        let step = Step { s, y, rho: T::ONE / product };
        let place = self.k % self.options.m;
        if place < self.memory.len() {
            self.memory[place] = step;
        } else {
            self.memory.push(step);
        }
        self.record(length);
        self.x.copy_from_vec(&self.proposed)?;
        self.value = value;
        self.k += 1;
        Ok(true)
    }

    fn record(&mut self, length: T) {
        self.step_lengths.push(length);
        if self.step_lengths.len() > self.options.avg_step_length {
            self.step_lengths.remove(0);
        }
    }

    /// Discards the past steps. A start counts as a step, even one of length 0, so that the end is
    /// detected.
    fn restart_at_the_better(&mut self, value: T, gradient: &Vector<T>) -> Result<(), Error> {
        let (x, value, gradient) = if self.is_better(value, self.value) {
            (self.proposed.clone(), value, gradient.clone())
        } else {
            (self.x.clone(), self.value, self.gradient.clone())
        };
        let mut step = x.clone();
        step.add_vec(-T::ONE, &self.x)?;
        self.record(vec_vec(&step, &step)?.sqrt());
        self.k = 0;
        self.x = x;
        self.propose(value, &gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns Rosenbrock's valley, (1 - x)² + 100 (y - x²)², times `sign`, and its gradient.
    fn rosenbrock(at: &[f64], sign: f64) -> (f64, Vector<f64>) {
        let (x, y) = (at[0], at[1]);
        let (a, b) = (1.0 - x, y - x * x);
        let gradient = vec![sign * (-2.0 * a - 400.0 * x * b), sign * 200.0 * b];
        (sign * (a * a + 100.0 * b * b), gradient.into())
    }

    fn search(options: LbfgsOptions, second: bool) -> (Vec<f64>, f64, usize) {
        let sign = if options.minimize { 1.0 } else { -1.0 };
        let mut search = OptimizeLbfgs::new(&Vector::from(vec![-1.2, 1.0]), options).unwrap();
        let mut steps = 0;
        while steps < 400 && search.recent_step_length() > 1e-12 {
            let (value, gradient) = rosenbrock(search.get_proposed_value().data(), sign);
            if second {
                let diagonal = Vector::from(vec![sign * 800.0, sign * 200.0]);
                search.do_step_with_hessian(value, &gradient, &diagonal).unwrap();
            } else {
                search.do_step(value, &gradient).unwrap();
            }
            steps += 1;
        }
        let (x, value) = search.get_value();
        (x.data().to_vec(), value, steps)
    }

    #[test]
    fn minimum_of_a_valley_is_found() {
        let all = LbfgsOptions::default();
        for options in [
            all,
            LbfgsOptions { minimize: false, ..all },
            LbfgsOptions { m: 2, ..all },
            LbfgsOptions { first_step_length: 0.1, ..all },
            LbfgsOptions { first_step_impr: 0.1, ..all },
        ] {
            for second in [false, true] {
                let (x, value, steps) = search(options, second);
                assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5, "{x:?} {value} {steps} {options:?}");
                assert!(value.abs() < 1e-10 && steps < 400, "{value} {steps}");
            }
        }
    }

    #[test]
    fn start_at_the_minimum_terminates() {
        let mut search = OptimizeLbfgs::new(&Vector::from(vec![0.0_f32; 3]), LbfgsOptions::default()).unwrap();
        assert_eq!(search.recent_step_length(), f32::INFINITY);
        assert_eq!(search.get_value().1, f32::INFINITY);
        for _ in 0..10 {
            let x = search.get_proposed_value().to_owned();
            search.do_step(vec_vec(&x, &x).unwrap(), &x).unwrap();
        }
        assert_eq!((search.recent_step_length(), search.get_value().1), (0.0, 0.0));
    }

    #[test]
    fn invalid_input_is_refused() {
        let x = Vector::from(vec![1.0_f64, 2.0]);
        let all = LbfgsOptions::default();
        assert!(OptimizeLbfgs::new(&Vector::<f64>::zeros(0), all).is_err());
        assert!(OptimizeLbfgs::new(&x, LbfgsOptions { m: 0, ..all }).is_err());
        assert!(OptimizeLbfgs::new(&x, LbfgsOptions { first_step_learning_rate: 0.0, ..all }).is_err());
        let mut search = OptimizeLbfgs::new(&x, all).unwrap();
        assert!(search.do_step(1.0, &Vector::zeros(3)).is_err());
        assert!(search.do_step_with_hessian(1.0, &x, &Vector::from(vec![1.0, 0.0])).is_err());
    }
}
