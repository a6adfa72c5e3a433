//! Numbers of the sets: decimals, and the infinities as strings.

use serde::{Deserialize, Deserializer};

/// A number that may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(number) => Ok(Self(number)),
            Either::Text(text) => text.parse().map(Self).map_err(serde::de::Error::custom),
        }
    }
}

impl Number {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is what a network would say")]
    pub(crate) fn single(self) -> f32 {
        self.0 as f32
    }
}

/// Rows one after another, in single precision.
pub(crate) fn flat(rows: &[Vec<Number>]) -> Vec<f32> {
    rows.iter().flatten().map(|number| number.single()).collect()
}
