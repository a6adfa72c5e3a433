//! Serialisation: row splits as an array of numbers, a shape as an array of row splits, a tensor as
//! `{"row_splits": .., "values": ..}`.
//!
//! Input is checked like everywhere else: invalid numbers are an error of the format, with the
//! message of [`Error`].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ragged::Ragged;
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;

impl Serialize for RowSplits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.as_ref())
    }
}

impl<'de> Deserialize<'de> for RowSplits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for RaggedShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((1..self.num_axes()).map(|axis| self.row_splits(axis)))
    }
}

impl<'de> Deserialize<'de> for RaggedShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::<RowSplits>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Ragged")]
struct Parts<S, V> {
    row_splits: S,
    values: V,
}

impl<T: Serialize> Serialize for Ragged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Parts { row_splits: self.shape(), values: self.values() }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ragged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts { row_splits, values } = Parts::<RaggedShape, Vec<T>>::deserialize(deserializer)?;
        Self::new(row_splits, values).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_survives_the_round_trip() {
        let text = r#"{"row_splits":[[0,2,2],[0,1,3]],"values":[0.5,1.0,-2.0]}"#;
        let ragged: Ragged<f32> = serde_json::from_str(text).unwrap();
        assert_eq!(ragged.to_string(), "[ [ [ 0.5 ] [ 1 -2 ] ] [ ] ]");
        assert_eq!(serde_json::to_string(&ragged).unwrap(), text);
    }

    #[test]
    fn serde_refuses_invalid_data() {
        for (text, message) in [
            (r#"{"row_splits":[[0,2,1]],"values":[1]}"#, "row splits must not fall"),
            (r#"{"row_splits":[[1,2]],"values":[1]}"#, "row splits must start with 0"),
            (r#"{"row_splits":[[]],"values":[]}"#, "they are empty"),
            (r#"{"row_splits":[],"values":[]}"#, "a shape of 2 or more axes"),
            (r#"{"row_splits":[[0,2],[0,1]],"values":[1]}"#, "axis 1 has 2 elements"),
            (r#"{"row_splits":[[0,2]],"values":[1]}"#, "2"),
            (r#"{"row_splits":[[0,2147483648]],"values":[1]}"#, "2147483648"),
            (r#"{"values":[1]}"#, "row_splits"),
        ] {
            let error = serde_json::from_str::<Ragged<i32>>(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
