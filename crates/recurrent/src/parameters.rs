//! Parameters of a model: named tensors.

use std::borrow::Cow;

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::error::Error;

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
    /// Creates a named tensor from values in C order.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<usize>>, values: V) -> Self {
        Self { name: name.into(), shape: shape.into(), values }
    }
}

/// Callback of [`Parameters::visit`]: takes the name, the shape and the elements in C order of a
/// tensor.
pub type Visitor<'f, 'a, T> = &'f mut (dyn FnMut(&str, &[usize], &'a [T]) + 'f);

/// Like [`Visitor`], with mutable elements.
pub type VisitorMut<'f, 'a, T> = &'f mut (dyn FnMut(&str, &[usize], &'a mut [T]) + 'f);

/// A set of parameters: the weights of a cell, a network, a whole model. Gradients have the type of
/// their parameters, so that one trait serves optimizers, clipping, initializers and files.
///
/// [`parameters!`](crate::parameters) implements it for a struct. Matrices and vectors implement it
/// with an empty name, and so do `Option` and `Vec` of types that implement it; the parts of a
/// `Vec` are named by their index.
#[doc(alias = "state_dict")]
#[doc(alias = "named_parameters")]
pub trait Parameters<T: Real> {
    /// Calls `f` with the name, the shape and the elements in C order of each tensor that is
    /// present, always in the same order.
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>);

    /// Visits like [`visit`](Self::visit), in the same order, with mutable elements.
    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>);

    /// Returns all tensors, in the order of [`visit`](Self::visit).
    fn named(&self) -> Vec<Named<&[T]>> {
        let mut tensors = Vec::new();
        self.visit(&mut |name, shape, values| tensors.push(Named::new(name, shape, values)));
        tensors
    }

    /// Returns all tensors, with mutable values.
    fn named_mut(&mut self) -> Vec<Named<&mut [T]>> {
        let mut tensors = Vec::new();
        self.visit_mut(&mut |name, shape, values| tensors.push(Named::new(name, shape, values)));
        tensors
    }

    /// Returns the number of values in all tensors together.
    fn num_values(&self) -> usize {
        self.named().iter().map(|tensor| tensor.values.len()).sum()
    }

    /// Checks that all numbers are finite.
    ///
    /// # Errors
    /// [`Error::TensorNotFinite`] for the first that is infinite or NaN.
    fn check_finite(&self) -> Result<(), Error> {
        self.named().iter().try_for_each(Named::check_finite)
    }
}

/// Visits a part of a larger object: prefixes each of its names with `name` and a dot.
pub fn visit_part<'a, T: Real>(name: &str, part: &'a (impl Parameters<T> + ?Sized), f: Visitor<'_, 'a, T>) {
    part.visit(&mut |below, shape, values| f(&joined(name, below), shape, values));
}

/// Visits like [`visit_part`], with mutable elements.
pub fn visit_part_mut<'a, T: Real>(name: &str, part: &'a mut (impl Parameters<T> + ?Sized), f: VisitorMut<'_, 'a, T>) {
    part.visit_mut(&mut |below, shape, values| f(&joined(name, below), shape, values));
}

fn joined<'n>(name: &'n str, below: &'n str) -> Cow<'n, str> {
    match (name, below) {
        ("", only) | (only, "") => only.into(),
        _ => format!("{name}.{below}").into(),
    }
}

/// Implements [`Parameters`] for a struct by naming its fields, in the order in which they are
/// visited.
///
/// A field gives its tensors its own name, a dot and their names: `output.weight`. `as` gives
/// another name, `as ""` none. If a struct has other fields, such as options, write `..` at the
/// end; without it, a forgotten field is a compile error.
///
/// ```
/// use recurrent::train::Linear;
/// use recurrent::{Gru, Parameters, Stack, parameters};
///
/// struct Model<E> {
///     encoder: Stack<E>,
///     output: Linear<f32>,
///     beam: f32,
/// }
///
/// parameters! {
///     impl<E: Parameters<f32>> Parameters<f32> for Model<E> { encoder as "rnn", output, .. }
/// }
///
/// let encoder = Stack::new(1, false, 3, |inputs| Gru::zeros(inputs, 2));
/// let model = Model { encoder, output: Linear::zeros(2, 1), beam: 8.0 };
/// let names: Vec<String> = model.named().into_iter().map(|tensor| tensor.name).collect();
/// assert_eq!(names[0], "rnn.weight_ih_l0");
/// assert_eq!(names[4..], ["output.weight", "output.bias"]);
/// ```
#[macro_export]
macro_rules! parameters {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@impl [$($generics:tt)*] $T:ty, $Type:ty, { $($field:ident $($name:literal)?),+ } $($others:tt)?) => {
        impl<$($generics)*> $crate::Parameters<$T> for $Type {
            fn visit<'a>(&'a self, f: $crate::Visitor<'_, 'a, $T>) {
                let Self { $($field,)+ $($others)? } = self;
                $($crate::visit_part($crate::parameters!(@name $field $($name)?), $field, f);)+
            }

            fn visit_mut<'a>(&'a mut self, f: $crate::VisitorMut<'_, 'a, $T>) {
                let Self { $($field,)+ $($others)? } = self;
                $($crate::visit_part_mut($crate::parameters!(@name $field $($name)?), $field, f);)+
            }
        }
    };
    (
        impl $(<$($G:ident: $Bound:path),+>)? Parameters<$T:ty> for $Type:ty {
            $($field:ident $(as $name:literal)?),+ $(,)?
        }
    ) => {
        $crate::parameters!(@impl [$($($G: $Bound),+)?] $T, $Type, { $($field $($name)?),+ });
    };
    (
        impl $(<$($G:ident: $Bound:path),+>)? Parameters<$T:ty> for $Type:ty {
            $($field:ident $(as $name:literal)?),+, ..
        }
    ) => {
        $crate::parameters!(@impl [$($($G: $Bound),+)?] $T, $Type, { $($field $($name)?),+ } ..);
    };
}

impl<T: Real> Named<&[T]> {
    /// Checks that all numbers are finite.
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

/// One tensor, without a name.
impl<T: Real> Parameters<T> for Matrix<T> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        f("", &[self.num_rows(), self.num_cols()], self.data());
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        f("", &[self.num_rows(), self.num_cols()], self.data_mut());
    }
}

/// One tensor, without a name.
impl<T: Real> Parameters<T> for Vector<T> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        f("", &[self.dim()], self.data());
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        f("", &[self.dim()], self.data_mut());
    }
}

/// The tensors of the value, if there is one.
impl<T: Real, P: Parameters<T>> Parameters<T> for Option<P> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        self.iter().for_each(|part| part.visit(f));
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        self.iter_mut().for_each(|part| part.visit_mut(f));
    }
}

/// The tensors of part 0 as `0.name`, then of part 1, and so on, named as in PyTorch's
/// `ModuleList`.
impl<T: Real, P: Parameters<T>> Parameters<T> for Vec<P> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        self.iter().enumerate().for_each(|(i, part)| visit_part(&i.to_string(), part, f));
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        self.iter_mut().enumerate().for_each(|(i, part)| visit_part_mut(&i.to_string(), part, f));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Model {
        layers: Vec<Matrix<f32>>,
        scale: Option<Vector<f32>>,
        absent: Option<Vector<f32>>,
        steps: usize,
    }

    parameters! {
        impl Parameters<f32> for Model { layers, scale as "norm.scale", absent, .. }
    }

    #[test]
    fn names_join_with_dots_and_both_visits_agree() {
        let layers = vec![Matrix::zeros(2, 3), Matrix::zeros(1, 2)];
        let mut model = Model { layers, scale: Some(Vector::zeros(4)), absent: None, steps: 0 };
        let names: Vec<String> = model.named().into_iter().map(|tensor| tensor.name).collect();
        assert_eq!(names, ["layers.0", "layers.1", "norm.scale"]);
        assert_eq!(model.named_mut().into_iter().map(|tensor| tensor.name).collect::<Vec<_>>(), names);
        assert_eq!((model.num_values(), model.named()[0].shape.as_slice(), model.steps), (12, &[2, 3][..], 0));
    }
}
