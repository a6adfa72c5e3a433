//! Optimizers: stochastic gradient descent and Adam, with PyTorch's formulas and defaults.

use kaldera_base::{Real, setters};

use crate::error::Error;
use crate::parameters::{Named, Parameters};

/// Options of [`Sgd`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct SgdOptions {
    /// Step size; 0.001.
    pub learning_rate: f64,
    /// Factor of the last direction at each step; 0.
    pub momentum: f64,
    /// Share of a new gradient that does not go into the direction; 0.
    pub dampening: f64,
    /// Share of the parameters that is added to their gradients (L2 regularisation); 0.
    pub weight_decay: f64,
    /// `true` if the step looks ahead along the direction (Y. Nesterov, 1983); default `false`.
    /// Needs momentum without dampening.
    pub nesterov: bool,
}

setters! {
    SgdOptions:
    learning_rate, with_learning_rate: f64 = 1e-3, "With this step size.";
    momentum, with_momentum: f64 = 0.0, "With this momentum.";
    dampening, with_dampening: f64 = 0.0, "With this dampening.";
    weight_decay, with_weight_decay: f64 = 0.0, "With this weight decay.";
    nesterov, with_nesterov: bool = false, "With or without Nesterov's step.";
}

/// Stochastic gradient descent with momentum, like `torch.optim.SGD`.
///
/// ```text
/// g = gradient + weight_decay p
/// d = momentum d + (1 - dampening) g      the first time: d = g
/// p = p - learning_rate d                 with Nesterov: g + momentum d for d
/// ```
///
/// ```
/// use recurrent::Parameters;
/// use recurrent::train::{Linear, Sgd, SgdOptions};
///
/// let mut layer = Linear::zeros(1, 1);
/// let mut gradient = Linear::zeros(1, 1);
/// gradient.named_mut()[0].values[0] = 2.0;
/// let mut sgd = Sgd::new(SgdOptions::default().with_learning_rate(0.5).with_momentum(0.5))?;
/// sgd.step(&mut layer, &gradient)?;
/// sgd.step(&mut layer, &gradient)?;
/// assert_eq!(layer.named()[0].values, [-2.5]); // 0.5 * 2 + 0.5 * (0.5 * 2 + 2)
/// # Ok::<(), recurrent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sgd<T> {
    options: SgdOptions,
    directions: Option<Vec<Vec<T>>>,
}

impl<T: Real> Sgd<T> {
    /// Creates an optimizer that has not seen any gradient.
    ///
    /// # Errors
    /// [`Error::Range`] for a negative number, and for a momentum or dampening of 1 or more;
    /// [`Error::Unused`] for Nesterov's step without momentum or with dampening.
    pub fn new(options: SgdOptions) -> Result<Self, Error> {
        check("learning_rate", options.learning_rate, f64::INFINITY)?;
        check("momentum", options.momentum, 1.0)?;
        check("weight_decay", options.weight_decay, f64::INFINITY)?;
        check("dampening", options.dampening, 1.0)?;
        if options.nesterov && options.momentum == 0.0 {
            return Err(Error::Unused { tensor: "nesterov", because: "there is no momentum" });
        }
        if options.nesterov && options.dampening != 0.0 {
            return Err(Error::Unused { tensor: "dampening", because: "Nesterov's step has none" });
        }
        Ok(Self { options, directions: None })
    }

    /// Returns the options.
    pub fn options(&self) -> &SgdOptions {
        &self.options
    }

    /// Changes the learning rate of the following steps.
    ///
    /// # Errors
    /// [`Error::Range`] if it is negative.
    pub fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), Error> {
        check("learning_rate", learning_rate, f64::INFINITY)?;
        self.options.learning_rate = learning_rate;
        Ok(())
    }

    /// Makes one step of all parameters.
    ///
    /// # Errors
    /// [`Error::MissingTensor`], [`Error::TensorShape`] if the gradients do not belong to the
    /// parameters, or if the parameters differ from the step before; nothing has changed then.
    pub fn step(
        &mut self,
        parameters: &mut (impl Parameters<T> + ?Sized),
        gradients: &(impl Parameters<T> + ?Sized),
    ) -> Result<(), Error> {
        let pairs = paired(parameters, gradients)?;
        let SgdOptions { learning_rate, momentum, dampening, weight_decay, nesterov } = self.options;
        let [rate, kept, new, decay] = [learning_rate, momentum, 1.0 - dampening, weight_decay].map(T::from_f64);
        if momentum == 0.0 {
            for (parameter, gradient) in pairs {
                parameter.values.iter_mut().zip(gradient).for_each(|(p, &g)| *p -= rate * (g + decay * *p));
            }
            return Ok(());
        }
        let first = self.directions.is_none();
        let directions = self.directions.get_or_insert_with(|| zeros_like(&pairs));
        check_state(directions, &pairs)?;
        for ((parameter, gradient), direction) in pairs.into_iter().zip(directions) {
            for ((p, &g), d) in parameter.values.iter_mut().zip(gradient).zip(direction) {
                let g = g + decay * *p;
                *d = if first { g } else { kept * *d + new * g };
                *p -= rate * if nesterov { g + kept * *d } else { *d };
            }
        }
        Ok(())
    }
}

/// Options of [`Adam`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AdamOptions {
    /// Step size; 0.001.
    pub learning_rate: f64,
    /// Factor of the mean of the gradients at each step; 0.9.
    pub beta1: f64,
    /// Factor of the mean of their squares at each step; 0.999.
    pub beta2: f64,
    /// Number that is added to the root of the mean of squares, corrected for bias; 1e-8.
    pub epsilon: f64,
    /// Share of the parameters that is added to their gradients; with `decoupled`, it is multiplied
    /// by the learning rate and taken off the parameters; 0.
    pub weight_decay: f64,
    /// `true` if the decay is separate from the gradients, as in AdamW (I. Loshchilov, F. Hutter,
    /// *Decoupled weight decay regularization*, ICLR 2019); default `false`. PyTorch's AdamW has
    /// a decay of 0.01.
    #[doc(alias = "AdamW")]
    pub decoupled: bool,
}

setters! {
    AdamOptions:
    learning_rate, with_learning_rate: f64 = 1e-3, "With this step size.";
    beta1, with_beta1: f64 = 0.9, "With this factor of the mean.";
    beta2, with_beta2: f64 = 0.999, "With this factor of the mean of squares.";
    epsilon, with_epsilon: f64 = 1e-8, "With this number added to the root.";
    weight_decay, with_weight_decay: f64 = 0.0, "With this weight decay.";
    decoupled, with_decoupled: bool = false, "With the decay of AdamW, or of Adam.";
}

/// Adam, with a step size for each parameter, like `torch.optim.Adam` (D. P. Kingma, J. Ba, *Adam:
/// a method for stochastic optimization*, ICLR 2015). Biases of recurrent cells make [half the
/// step](crate::train#one-bias-where-pytorch-has-two) of PyTorch's two biases.
///
/// ```text
/// g = gradient + weight_decay p
///     decoupled: g = gradient, p = p - learning_rate weight_decay p
/// m = beta1 m + (1 - beta1) g
/// v = beta2 v + (1 - beta2) g²
/// p = p - learning_rate / (1 - beta1^t) · m / (√v / √(1 - beta2^t) + epsilon)   at the t-th step
/// ```
///
/// ```
/// use recurrent::Parameters;
/// use recurrent::train::{Adam, AdamOptions, Linear};
///
/// let mut layer = Linear::zeros(1, 1);
/// let mut gradient = Linear::zeros(1, 1);
/// gradient.named_mut()[0].values[0] = 1000.0;
/// let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.25))?;
/// adam.step(&mut layer, &gradient)?;
/// let moved: f64 = layer.named()[0].values[0];
/// // However large the first gradient; epsilon shortens it a little.
/// assert!((moved + 0.25).abs() < 1e-10);
/// # Ok::<(), recurrent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Adam<T> {
    options: AdamOptions,
    /// Number of steps so far.
    pub(super) steps: u32,
    /// The means of the gradients, and of their squares.
    pub(super) moments: Option<[Vec<Vec<T>>; 2]>,
}

impl<T: Real> Adam<T> {
    /// Creates an optimizer that has not seen any gradient.
    ///
    /// # Errors
    /// [`Error::Range`] for a negative number, and a beta of 1 or more.
    pub fn new(options: AdamOptions) -> Result<Self, Error> {
        check("learning_rate", options.learning_rate, f64::INFINITY)?;
        check("beta1", options.beta1, 1.0)?;
        check("beta2", options.beta2, 1.0)?;
        check("epsilon", options.epsilon, f64::INFINITY)?;
        check("weight_decay", options.weight_decay, f64::INFINITY)?;
        Ok(Self { options, steps: 0, moments: None })
    }

    /// Returns the options.
    pub fn options(&self) -> &AdamOptions {
        &self.options
    }

    /// Changes the learning rate of the following steps.
    ///
    /// # Errors
    /// [`Error::Range`] if it is negative.
    pub fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), Error> {
        check("learning_rate", learning_rate, f64::INFINITY)?;
        self.options.learning_rate = learning_rate;
        Ok(())
    }

    /// Makes one step of all parameters.
    ///
    /// # Errors
    /// As [`Sgd::step`].
    pub fn step(
        &mut self,
        parameters: &mut (impl Parameters<T> + ?Sized),
        gradients: &(impl Parameters<T> + ?Sized),
    ) -> Result<(), Error> {
        let pairs = paired(parameters, gradients)?;
        let [means, squares] = self.moments.get_or_insert_with(|| [zeros_like(&pairs), zeros_like(&pairs)]);
        check_state(means, &pairs)?;
        let AdamOptions { learning_rate, beta1, beta2, epsilon, weight_decay, decoupled } = self.options;
        self.steps = self.steps.saturating_add(1);
        let steps = f64::from(self.steps);
        let rate = T::from_f64(learning_rate / (1.0 - beta1.powf(steps)));
        let root = T::from_f64((1.0 - beta2.powf(steps)).sqrt());
        let [kept1, new1, kept2, new2] = [beta1, 1.0 - beta1, beta2, 1.0 - beta2].map(T::from_f64);
        let epsilon = T::from_f64(epsilon);
        let (decay, shrink) = match decoupled {
            true => (T::ZERO, T::from_f64(1.0 - learning_rate * weight_decay)),
            false => (T::from_f64(weight_decay), T::ONE),
        };
        for ((parameter, gradient), (mean, square)) in pairs.into_iter().zip(means.iter_mut().zip(squares)) {
            for (((p, &g), m), v) in parameter.values.iter_mut().zip(gradient).zip(mean).zip(square) {
                let g = g + decay * *p;
                *m = kept1 * *m + new1 * g;
                *v = kept2 * *v + new2 * g * g;
                *p = shrink * *p - rate * *m / (v.sqrt() / root + epsilon);
            }
        }
        Ok(())
    }
}

/// Checks that an option is 0 or more, and below `high`.
fn check(what: &'static str, found: f64, high: f64) -> Result<(), Error> {
    match (0.0..high).contains(&found) {
        true => Ok(()),
        false => Err(Error::Range { what, low: 0.0, high, found }),
    }
}

type Pair<'a, T> = (Named<&'a mut [T]>, &'a [T]);

fn zeros_like<T: Real>(pairs: &[Pair<'_, T>]) -> Vec<Vec<T>> {
    pairs.iter().map(|(parameter, _)| vec![T::ZERO; parameter.values.len()]).collect()
}

/// Checks that an optimizer's state belongs to these parameters.
fn check_state<T: Real>(state: &[Vec<T>], pairs: &[Pair<'_, T>]) -> Result<(), Error> {
    for (i, (parameter, _)) in pairs.iter().enumerate() {
        let found = state.get(i).ok_or_else(|| Error::MissingTensor { tensor: parameter.name.clone() })?.len();
        if found != parameter.values.len() {
            let (tensor, expected) = (parameter.name.clone(), vec![found]);
            return Err(Error::TensorShape { tensor, expected, found: parameter.shape.clone() });
        }
    }
    Ok(())
}

/// Pairs each tensor of the parameters with its gradient, which has the same name and shape.
fn paired<'a, T: Real>(
    parameters: &'a mut (impl Parameters<T> + ?Sized),
    gradients: &'a (impl Parameters<T> + ?Sized),
) -> Result<Vec<Pair<'a, T>>, Error> {
    let (parameters, gradients) = (parameters.named_mut(), gradients.named());
    let alone = parameters.get(gradients.len()).map(|tensor| &tensor.name);
    if let Some(tensor) = alone.or(gradients.get(parameters.len()).map(|tensor| &tensor.name)) {
        return Err(Error::MissingTensor { tensor: tensor.clone() });
    }
    let pair = |(parameter, gradient): (Named<&'a mut [T]>, Named<&'a [T]>)| {
        if parameter.name != gradient.name {
            return Err(Error::MissingTensor { tensor: parameter.name });
        }
        if parameter.shape != gradient.shape {
            return Err(Error::TensorShape {
                tensor: parameter.name,
                expected: parameter.shape,
                found: gradient.shape,
            });
        }
        Ok((parameter, gradient.values))
    };
    parameters.into_iter().zip(gradients).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::ParameterStore;

    fn store(tensors: &[(&str, &[f64])]) -> ParameterStore<f64> {
        let mut store = ParameterStore::new();
        tensors.iter().for_each(|(name, values)| store.insert(name, &[values.len()], values.to_vec()).unwrap());
        store
    }

    /// Returns three parameters, divided over two tensors, after four steps.
    fn after_four_steps(mut step: impl FnMut(&mut ParameterStore<f64>, &ParameterStore<f64>)) -> Vec<f64> {
        let mut parameters = store(&[("a", &[0.5]), ("b", &[-1.25, 2.0])]);
        for [a, b, c] in [[0.1, -0.2, 0.3], [-0.4, 0.25, 0.0], [1.5, -0.5, 0.125], [0.0, 0.75, -2.0]] {
            step(&mut parameters, &store(&[("a", &[a]), ("b", &[b, c])]));
        }
        parameters.named().iter().flat_map(|tensor| tensor.values).copied().collect()
    }

    #[track_caller]
    fn agree(came: &[f64], expected: [f64; 3]) {
        let close = came.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13);
        assert!(came.len() == 3 && close, "expected {expected:?}, came {came:?}");
    }

    /// The expected values come from PyTorch 2.5.1 in double precision.
    #[test]
    fn sgd_equals_pytorch() {
        let run = |options| {
            let mut sgd = Sgd::new(options).unwrap();
            after_four_steps(|parameters, gradients| sgd.step(parameters, gradients).unwrap())
        };
        let options = SgdOptions { learning_rate: 0.1, ..SgdOptions::default() };
        agree(&run(options), [0.38, -1.28, 2.1575]);
        agree(&run(SgdOptions { weight_decay: 0.3, ..options }), [0.325655675, -1.1383850525, 1.93108043]);
        let with_momentum = SgdOptions { momentum: 0.9, ..options };
        let damped = SgdOptions { dampening: 0.25, weight_decay: 0.3, ..with_momentum };
        agree(&run(damped), [0.2246607613281249, -0.9440794229296874, 1.59330272515625]);
        agree(&run(SgdOptions { nesterov: true, ..with_momentum }), [0.1901089999999999, -1.261073, 2.223272]);
    }

    #[test]
    fn adam_equals_pytorch() {
        let run = |options| {
            let mut adam = Adam::new(options).unwrap();
            after_four_steps(|parameters, gradients| adam.step(parameters, gradients).unwrap())
        };
        agree(&run(AdamOptions::default()), [0.498647357904705, -1.248909205887275, 1.998084623574764]);
        let options =
            AdamOptions { learning_rate: 0.1, beta1: 0.8, beta2: 0.95, epsilon: 1e-3, ..AdamOptions::default() };
        let decaying = AdamOptions { weight_decay: 0.3, ..options };
        agree(&run(decaying), [0.2979044195456384, -0.9522591838803117, 1.712607976585992]);
        let adam_w = AdamOptions { learning_rate: 0.1, weight_decay: 0.3, decoupled: true, ..AdamOptions::default() };
        agree(&run(adam_w), [0.314312477380571, -1.006718416827154, 1.593912572256808]);
    }

    #[test]
    fn learning_rate_can_change() {
        let mut sgd = Sgd::new(SgdOptions { learning_rate: 1.0, ..SgdOptions::default() }).unwrap();
        let (mut parameters, gradients) = (store(&[("a", &[0.0])]), store(&[("a", &[1.0])]));
        sgd.step(&mut parameters, &gradients).unwrap();
        sgd.set_learning_rate(0.25).unwrap();
        sgd.step(&mut parameters, &gradients).unwrap();
        assert_eq!(parameters.get("a").unwrap().1, [-1.25]);
        assert!(sgd.set_learning_rate(-1.0).is_err() && sgd.options().learning_rate == 0.25);
    }

    #[test]
    fn gradients_of_something_else_are_refused_and_change_nothing() {
        let whole = store(&[("a", &[1.0]), ("b", &[2.0, 3.0])]);
        let mut sgd = Sgd::new(SgdOptions { momentum: 0.5, ..SgdOptions::default() }).unwrap();
        let mut adam = Adam::new(AdamOptions::default()).unwrap();
        let mut refused = |gradients: &ParameterStore<f64>| {
            let mut parameters = whole.clone();
            let error = sgd.step(&mut parameters, gradients).unwrap_err();
            assert_eq!(adam.step(&mut parameters, gradients).unwrap_err(), error);
            assert_eq!(parameters, whole);
            error
        };
        let missing = |tensor: &str| Error::MissingTensor { tensor: tensor.into() };
        assert_eq!(refused(&store(&[("a", &[1.0])])), missing("b"));
        assert_eq!(refused(&store(&[("a", &[1.0]), ("c", &[2.0, 3.0])])), missing("b"));
        assert_eq!(refused(&store(&[("a", &[1.0]), ("b", &[2.0, 3.0]), ("c", &[])])), missing("c"));
        let wrong = Error::TensorShape { tensor: "b".into(), expected: vec![2], found: vec![1] };
        assert_eq!(refused(&store(&[("a", &[1.0]), ("b", &[2.0])])), wrong);
        // Nor does an optimizer continue with other parameters.
        let mut parameters = whole.clone();
        adam.step(&mut parameters, &whole).unwrap();
        sgd.step(&mut parameters, &whole).unwrap();
        let mut other = store(&[("a", &[1.0]), ("b", &[2.0])]);
        let gradients = other.clone();
        assert!(adam.step(&mut other, &gradients).is_err() && sgd.step(&mut other, &gradients).is_err());
        assert_eq!(other, gradients);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let sgd = SgdOptions::default();
        for options in [
            SgdOptions { learning_rate: f64::NAN, ..sgd },
            SgdOptions { momentum: 1.0, ..sgd },
            SgdOptions { weight_decay: -0.1, ..sgd },
            SgdOptions { dampening: f64::INFINITY, ..sgd },
            SgdOptions { nesterov: true, ..sgd },
            SgdOptions { nesterov: true, momentum: 0.5, dampening: 0.5, ..sgd },
        ] {
            assert!(Sgd::<f32>::new(options).is_err(), "{options:?}");
        }
        let adam = AdamOptions::default();
        for options in [
            AdamOptions { learning_rate: -1.0, ..adam },
            AdamOptions { beta1: 1.0, ..adam },
            AdamOptions { beta2: -0.5, ..adam },
            AdamOptions { epsilon: f64::NAN, ..adam },
            AdamOptions { weight_decay: f64::INFINITY, ..adam },
        ] {
            assert!(Adam::<f32>::new(options).is_err(), "{options:?}");
        }
    }
}
