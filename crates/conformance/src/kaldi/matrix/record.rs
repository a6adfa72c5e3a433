//! A record of `matrix.json`, and the meaning of its fields.

use std::fmt::Display;
use std::marker::PhantomData;

use kaldera::base::Real;
use kaldera::matrix::{Matrix, Trans, Vector};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Stop;

/// A call and its result, in the precision `T`.
pub(super) struct Record<'a, T> {
    pub(super) op: &'a str,
    /// The arguments.
    pub(super) given: Fields<'a, T>,
    /// The known answer; an operation looks at it only where that is one of several right ones.
    pub(super) out: Fields<'a, T>,
}

impl<'a, T: Real> Record<'a, T> {
    pub(super) fn new(value: &'a Value) -> Option<Self> {
        let fields = |name| value.get(name).filter(|fields| fields.is_object());
        Some(Self { op: value["op"].as_str()?, given: Fields::new(fields("in")?), out: Fields::new(fields("out")?) })
    }
}

/// Named values.
pub(super) struct Fields<'a, T> {
    pub(super) value: &'a Value,
    precision: PhantomData<T>,
}

impl<T> Display for Fields<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}

impl<'a, T: Real> Fields<'a, T> {
    fn new(value: &'a Value) -> Self {
        Self { value, precision: PhantomData }
    }

    /// Is there such a field?
    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    /// Anything that serde knows: integers, truths, texts, lists of them.
    pub(super) fn plain<P: DeserializeOwned>(&self, name: &str) -> Result<P, Stop> {
        P::deserialize(&self.value[name]).map_err(|error| Stop::Damaged(format!("{name}: {error}")))
    }

    /// `true` is transposed.
    pub(super) fn trans(&self, name: &str) -> Result<Trans, Stop> {
        Ok(if self.plain(name)? { Trans::Yes } else { Trans::No })
    }

    pub(super) fn number(&self, name: &str) -> Result<T, Stop> {
        number(&self.value[name]).ok_or_else(|| Stop::Damaged(format!("{name}: no number")))
    }

    /// A list of numbers: a vector, or the stored triangle of a packed matrix.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<T>, Stop> {
        numbers(&self.value[name]).ok_or_else(|| Stop::Damaged(format!("{name}: no list of numbers")))
    }

    pub(super) fn vector(&self, name: &str) -> Result<Vector<T>, Stop> {
        self.numbers(name).map(Vector::from)
    }

    /// A list of rows; an empty one is 0 x 0.
    pub(super) fn matrix(&self, name: &str) -> Result<Matrix<T>, Stop> {
        let damaged = || Stop::Damaged(format!("{name}: no list of rows of one length"));
        let rows = self.value[name].as_array().ok_or_else(damaged)?;
        let data = rows.iter().map(numbers).collect::<Option<Vec<Vec<T>>>>().ok_or_else(damaged)?;
        let num_cols = data.first().map_or(0, Vec::len);
        if data.iter().any(|row| row.len() != num_cols) {
            return Err(damaged());
        }
        Ok(Matrix::from_vec(rows.len(), num_cols, data.concat())?)
    }
}

fn numbers<T: Real>(value: &Value) -> Option<Vec<T>> {
    value.as_array()?.iter().map(number).collect()
}

/// A number, or a string such as "inf" for a value that JSON has no number for.
///
/// The printed digits distinguish a float from its neighbours by far, so that rounding by way of
/// a double gives the same float.
pub(super) fn number<T: Real>(value: &Value) -> Option<T> {
    let number = match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some("nan") => f64::NAN,
        Some(_) => return None,
        None => value.as_f64()?,
    };
    Some(T::from_f64(number))
}
