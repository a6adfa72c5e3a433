//! A record of `matrix.json`, and the meaning of its fields.

use std::marker::PhantomData;
use std::ops::Deref;

use kaldera::base::Real;
use kaldera::matrix::{Matrix, Trans, Vector};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Number, Stop, field, float};

/// A call and its result, in the precision `T`; it stands for its arguments.
pub(super) struct Record<'a, T> {
    pub(super) op: &'a str,
    given: Fields<'a, T>,
    /// The known answer; an operation looks at it only where that is one of several right ones.
    pub(super) out: Fields<'a, T>,
}

impl<'a, T> Deref for Record<'a, T> {
    type Target = Fields<'a, T>;

    fn deref(&self) -> &Fields<'a, T> {
        &self.given
    }
}

impl<'a, T: Real> Record<'a, T> {
    pub(super) fn new(value: &'a Value) -> Option<Self> {
        let fields =
            |name| Some(Fields { value: value.get(name).filter(|fields| fields.is_object())?, of: PhantomData });
        Some(Self { op: value["op"].as_str()?, given: fields("in")?, out: fields("out")? })
    }
}

/// A copy after a change.
pub(super) fn changed<M: Clone, R>(m: &M, change: impl FnOnce(&mut M) -> R) -> M {
    let mut copy = m.clone();
    change(&mut copy);
    copy
}

/// A copy after a change that may fail.
pub(super) fn tried<M: Clone, R, E>(m: &M, change: impl FnOnce(&mut M) -> Result<R, E>) -> Result<M, Stop>
where
    Stop: From<E>,
{
    let mut copy = m.clone();
    change(&mut copy)?;
    Ok(copy)
}

/// Named values.
pub(super) struct Fields<'a, T> {
    pub(super) value: &'a Value,
    of: PhantomData<T>,
}

impl<T: Real> Fields<'_, T> {
    /// Is there such a field?
    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    /// Anything that serde knows: integers, truths, texts, lists of them.
    pub(super) fn plain<P: DeserializeOwned>(&self, name: &str) -> Result<P, Stop> {
        field(self.value, name)
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
        Ok(self.plain::<Vec<Number>>(name)?.into_iter().map(|x| T::from_f64(x.0)).collect())
    }

    pub(super) fn vector(&self, name: &str) -> Result<Vector<T>, Stop> {
        self.numbers(name).map(Vector::from)
    }

    /// A list of rows; an empty one is 0 x 0.
    pub(super) fn matrix(&self, name: &str) -> Result<Matrix<T>, Stop> {
        let rows: Vec<Vec<Number>> = self.plain(name)?;
        let num_cols = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != num_cols) {
            return Err(Stop::Damaged(format!("{name}: no list of rows of one length")));
        }
        let data = rows.iter().flatten().map(|x| T::from_f64(x.0)).collect();
        Ok(Matrix::from_vec(rows.len(), num_cols, data)?)
    }
}

/// A number, rounded to `T`.
///
/// The printed digits distinguish a float from its neighbours by far, so that rounding by way of
/// a double gives the same float.
pub(super) fn number<T: Real>(value: &Value) -> Option<T> {
    float(value).map(T::from_f64)
}
