//! Access to the JSON of cases, and the types of values that they name.

use std::fmt::Debug;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::Stop;

/// The field `name`, of a type that serde knows.
pub(crate) fn field<T: DeserializeOwned>(value: &Value, name: &str) -> Result<T, Stop> {
    T::deserialize(&value[name]).map_err(|error| Stop::Damaged(format!("{name}: {error}")))
}

/// The field `name`, a list.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>, Stop> {
    value[name].as_array().ok_or_else(|| Stop::Damaged(format!("{name}: no list")))
}

/// A number, or a text such as "inf" for a value that JSON has no number for.
pub(crate) fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok().filter(|number: &f64| !number.is_finite()))
}

/// A [`float`], or the case is damaged.
pub(crate) fn number(value: &Value) -> Result<f64, Stop> {
    float(value).ok_or_else(|| Stop::Damaged(format!("{value} is no number")))
}

/// Nested lists of numbers, one after another.
pub(crate) fn flat(value: &Value) -> Result<Vec<f64>, Stop> {
    match value.as_array() {
        Some(list) => Ok(list.iter().map(flat).collect::<Result<Vec<_>, _>>()?.concat()),
        None => Ok(vec![number(value)?]),
    }
}

/// [`flat`], in single precision.
pub(crate) fn floats(value: &Value) -> Result<Vec<f32>, Stop> {
    Ok(flat(value)?.into_iter().map(single).collect())
}

/// The nearest number in single precision.
#[expect(clippy::cast_possible_truncation, reason = "the shortest decimals of numbers that were f32")]
pub(crate) fn single(number: f64) -> f32 {
    number as f32
}

/// A number that may be infinite, for serde.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        float(&Value::deserialize(deserializer)?).map(Self).ok_or_else(|| D::Error::custom("no number"))
    }
}

/// A value as it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plain {
    Integer(i64),
    Float(f64),
}

impl From<Plain> for Value {
    fn from(plain: Plain) -> Self {
        match plain {
            Plain::Integer(x) => x.into(),
            Plain::Float(x) if x.is_finite() => x.into(),
            Plain::Float(x) => x.to_string().to_lowercase().into(),
        }
    }
}

/// A type of values, as cases name it.
pub(crate) trait Dtype: Copy + Debug + PartialEq {
    const NAME: &'static str;

    fn read(value: &Value) -> Option<Self>;

    fn write(self) -> Plain;
}

macro_rules! dtype {
    ($t:ty, $name:literal, $kind:ident, $read:expr) => {
        impl Dtype for $t {
            const NAME: &'static str = $name;

            fn read(value: &Value) -> Option<Self> {
                $read(value)
            }

            fn write(self) -> Plain {
                Plain::$kind(self.into())
            }
        }
    };
}
dtype!(bool, "bool", Integer, |value: &Value| value.as_bool().or_else(|| Some(value.as_i64()? != 0)));
dtype!(i32, "i32", Integer, |value: &Value| value.as_i64()?.try_into().ok());
dtype!(i64, "i64", Integer, Value::as_i64);
dtype!(f32, "f32", Float, |value: &Value| float(value).map(single));
dtype!(f64, "f64", Float, float);

/// The field `name`, a number of a certain type.
pub(crate) fn number_of<T: Dtype>(value: &Value, name: &str) -> Result<T, Stop> {
    T::read(&value[name]).ok_or_else(|| Stop::Damaged(format!("{name}: not of dtype {}", T::NAME)))
}

/// The field `name`, a list of numbers of a certain type.
pub(crate) fn numbers_of<T: Dtype>(value: &Value, name: &str) -> Result<Vec<T>, Stop> {
    let numbers: Option<_> = list(value, name)?.iter().map(T::read).collect();
    numbers.ok_or_else(|| Stop::Damaged(format!("{name}: not of dtype {}", T::NAME)))
}

/// Rows of numbers, one after another in single precision, for serde.
pub(crate) struct Singles(pub(crate) Vec<f32>);

impl<'de> Deserialize<'de> for Singles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows = Vec::<Vec<Number>>::deserialize(deserializer)?;
        Ok(Self(rows.into_iter().flatten().map(|number| single(number.0)).collect()))
    }
}
