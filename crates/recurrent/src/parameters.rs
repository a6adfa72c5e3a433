//! What training changes: tensors under names.

use kaldera_base::Real;

use crate::error::Error;
use crate::gru::Gru;
use crate::lstm::Lstm;
use crate::rnn::Rnn;

/// A tensor under its name; its values are `&[T]`, `&mut [T]` or `Vec<T>`, in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<V> {
    /// Its name, such as `lstm.weight_ih_l0`.
    pub name: String,
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// Its values in C order.
    pub values: V,
}

impl<V> Named<V> {
    /// Values in C order, with their name and shape.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<usize>>, values: V) -> Self {
        Self { name: name.into(), shape: shape.into(), values }
    }
}

/// What [`Parameters::visit`] calls with the name, the shape and the elements in C order of a tensor.
pub type Visitor<'f, 'a, T> = &'f mut (dyn FnMut(&str, &[usize], &'a [T]) + 'f);

/// As [`Visitor`], with elements to be changed.
pub type VisitorMut<'f, 'a, T> = &'f mut (dyn FnMut(&str, &[usize], &'a mut [T]) + 'f);

/// What has parameters: the weights of a cell, a network, a whole model. Gradients are of the same type as what they are the gradients of,
/// so that one trait serves optimisers, clipping, initialisers and files.
///
/// A model of several parts visits them one after the other:
///
/// ```
/// use recurrent::train::Linear;
/// use recurrent::{Parameters, visit_under, visit_under_mut};
///
/// struct Model {
///     encoder: Linear<f32>,
///     output: Linear<f32>,
/// }
///
/// impl Parameters<f32> for Model {
///     fn visit<'a>(&'a self, f: &mut dyn FnMut(&str, &[usize], &'a [f32])) {
///         visit_under("encoder.", &self.encoder, f);
///         visit_under("output.", &self.output, f);
///     }
///     fn visit_mut<'a>(&'a mut self, f: &mut dyn FnMut(&str, &[usize], &'a mut [f32])) {
///         visit_under_mut("encoder.", &mut self.encoder, f);
///         visit_under_mut("output.", &mut self.output, f);
///     }
/// }
///
/// let model = Model { encoder: Linear::zeros(3, 2), output: Linear::zeros(2, 1) };
/// let names: Vec<String> = model.named().into_iter().map(|tensor| tensor.name).collect();
/// assert_eq!(names, ["encoder.weight", "encoder.bias", "output.weight", "output.bias"]);
/// assert_eq!(model.num_values(), 11);
/// ```
#[doc(alias = "state_dict")]
#[doc(alias = "named_parameters")]
pub trait Parameters<T: Real> {
    /// Calls `f` with the name, the shape and the elements in C order of each tensor that is there, always in the same order.
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>);

    /// As [`visit`](Self::visit), in the same order, with elements to be changed.
    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>);

    /// All tensors, in the order of [`visit`](Self::visit).
    fn named(&self) -> Vec<Named<&[T]>> {
        let mut tensors = Vec::new();
        self.visit(&mut |name, shape, values| tensors.push(Named::new(name, shape, values)));
        tensors
    }

    /// All tensors, to be changed.
    fn named_mut(&mut self) -> Vec<Named<&mut [T]>> {
        let mut tensors = Vec::new();
        self.visit_mut(&mut |name, shape, values| tensors.push(Named::new(name, shape, values)));
        tensors
    }

    /// How many numbers there are in all tensors together.
    fn num_values(&self) -> usize {
        self.named().iter().map(|tensor| tensor.values.len()).sum()
    }

    /// That all numbers are finite.
    ///
    /// # Errors
    /// [`Error::TensorNotFinite`] for the first that is infinite or NaN.
    fn check_finite(&self) -> Result<(), Error> {
        self.named().iter().try_for_each(Named::check_finite)
    }
}

/// Visits a part of something larger: with `prefix` before each name.
pub fn visit_under<'a, T: Real>(prefix: &str, part: &'a (impl Parameters<T> + ?Sized), f: Visitor<'_, 'a, T>) {
    part.visit(&mut |name, shape, values| f(&format!("{prefix}{name}"), shape, values));
}

/// As [`visit_under`], with elements to be changed.
pub fn visit_under_mut<'a, T: Real>(
    prefix: &str,
    part: &'a mut (impl Parameters<T> + ?Sized),
    f: VisitorMut<'_, 'a, T>,
) {
    part.visit_mut(&mut |name, shape, values| f(&format!("{prefix}{name}"), shape, values));
}

impl<T: Real> Named<&[T]> {
    /// That all numbers are finite.
    ///
    /// # Errors
    /// [`Error::TensorNotFinite`] for the first that is infinite or NaN.
    pub fn check_finite(&self) -> Result<(), Error> {
        match self.values.iter().position(|value| !value.is_finite()) {
            Some(position) => {
                let found = self.values[position].to_f64();
                Err(Error::TensorNotFinite { tensor: self.name.clone(), position, found })
            }
            None => Ok(()),
        }
    }
}

/// The parameters of a cell are its weights.
macro_rules! of_weights {
    ($($cell:ident)*) => { $(
        impl<T: Real> Parameters<T> for $cell<T> {
            fn visit<'a>(&'a self, f: &mut dyn FnMut(&str, &[usize], &'a [T])) {
                self.weights.visit(f);
            }

            fn visit_mut<'a>(&'a mut self, f: &mut dyn FnMut(&str, &[usize], &'a mut [T])) {
                self.weights.visit_mut(f);
            }
        }
    )* };
}
of_weights!(Rnn Lstm Gru);
