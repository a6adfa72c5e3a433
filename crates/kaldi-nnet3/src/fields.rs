//! Components as they are in a file: a type, and values by name.

use kaldi_matrix::{Matrix, Vector};

/// A value of a component.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing: the name by itself says it.
    Flag,
    /// `T` or `F`.
    Bool(bool),
    /// An integer.
    Int(i32),
    /// Two integers.
    Ints2([i32; 2]),
    /// A number in single precision.
    Real(f32),
    /// A number in double precision.
    Double(f64),
    /// Two numbers in single precision.
    Reals2([f32; 2]),
    /// A list of integers.
    Ints(Vec<i32>),
    /// A list of pairs of integers.
    Pairs(Vec<(i32, i32)>),
    /// A vector.
    Vector(Vector<f32>),
    /// A vector in double precision.
    DoubleVector(Vector<f64>),
    /// A matrix.
    Matrix(Matrix<f32>),
    /// A matrix in double precision.
    DoubleMatrix(Matrix<f64>),
    /// Components inside of a component, one after the other.
    Components(Vec<Component>),
}

/// A value and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name, which stands between `<` and `>` in a file.
    pub name: &'static str,
    /// The value.
    pub value: Value,
}

/// A component of a network: a type, and values by name in the order of the file.
///
/// Everything that was read is here, values for training too, so that a network is written as it
/// was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub(crate) kind: &'static str,
    pub(crate) fields: Vec<Field>,
}

impl Component {
    /// Returns the type, such as `"TdnnComponent"`.
    #[doc(alias = "Type")]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the values with their names, in the order of the file.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the first value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// Returns the number of parameters: elements of the matrices and vectors that training
    /// changes.
    #[doc(alias = "NumParameters")]
    pub fn num_parameters(&self) -> usize {
        if !crate::schema::is_updatable(self.kind) {
            return 0;
        }
        let is_parameter = |name: &str| {
            matches!(
                name,
                "LinearParams" | "BiasParams" | "FilterParams" | "Params" | "Offsets" | "Scales" | "Output" | "w_h"
            )
        };
        let sizes = self.fields.iter().map(|field| match &field.value {
            Value::Matrix(m) if is_parameter(field.name) => m.num_rows() * m.num_cols(),
            Value::Vector(v) if is_parameter(field.name) => v.dim(),
            Value::Components(parts) => parts.iter().map(Self::num_parameters).sum(),
            _ => 0,
        });
        sizes.sum()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i32> {
        match self.get(name)? {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn real(&self, name: &str) -> Option<f32> {
        match self.get(name)? {
            Value::Real(value) => Some(*value),
            Value::Double(value) => Some(*value as f32),
            _ => None,
        }
    }

    pub(crate) fn double(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Real(value) => Some((*value).into()),
            Value::Double(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn bool(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn ints(&self, name: &str) -> Option<&[i32]> {
        match self.get(name)? {
            Value::Ints(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn vector(&self, name: &str) -> Option<Vec<f32>> {
        match self.get(name)? {
            Value::Vector(values) => Some(values.data().to_vec()),
            Value::DoubleVector(values) => Some(values.data().iter().map(|&x| x as f32).collect()),
            _ => None,
        }
    }

    pub(crate) fn matrix(&self, name: &str) -> Option<&Matrix<f32>> {
        match self.get(name)? {
            Value::Matrix(values) => Some(values),
            _ => None,
        }
    }
}
