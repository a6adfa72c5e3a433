//! Serialization of packed matrices, as `{dim, data}`; with the feature `serde`.
//!
//! Deserialization checks that the number of elements fits a triangle of that size.

use kaldera_base::Real;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::packed::PackedMatrix;

/// The serialized form of a packed matrix.
#[derive(Serialize, Deserialize)]
#[serde(rename = "PackedMatrix")]
struct Parts<E> {
    dim: usize,
    data: E,
}

impl<T: Real + Serialize, K> Serialize for PackedMatrix<T, K> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        Parts { dim: self.dim(), data: self.data() }.serialize(serializer)
    }
}

impl<'de, T: Real + Deserialize<'de>, K> Deserialize<'de> for PackedMatrix<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts { dim, data } = Parts::<Vec<T>>::deserialize(deserializer)?;
        Self::from_vec(dim, data).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use crate::{SpMatrix, TpMatrix};

    #[test]
    fn values_roundtrip_through_serde() {
        let s = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0]).unwrap();
        let text = serde_json::to_string(&s).unwrap();
        assert_eq!(text, r#"{"dim":2,"data":[1.0,2.0,3.0]}"#);
        assert_eq!(serde_json::from_str::<SpMatrix<f32>>(&text).unwrap(), s);
        for text in [r#"{"dim":2,"data":[1.0]}"#, r#"{"dim":18446744073709551615,"data":[]}"#, r#"{"dim":0}"#] {
            assert!(serde_json::from_str::<TpMatrix<f64>>(text).is_err(), "{text}");
        }
    }
}
