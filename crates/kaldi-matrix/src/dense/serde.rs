//! Serialization of vectors and matrices; with the feature `serde`.
//!
//! A vector is a sequence of numbers. A matrix is `{rows, cols, data}` with the elements row by
//! row, for any stride. Deserialization checks that the number of elements fits the shape.

use kaldera_base::Real;
use serde::de::Error as _;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;
use crate::vector::{Vector, VectorBase};

impl<S: Storage<Elem: Serialize>> Serialize for VectorBase<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.collect_seq(self.data())
    }
}

impl<'de, T: Real + Deserialize<'de>> Deserialize<'de> for Vector<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// The serialized form of a matrix.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Matrix")]
struct Parts<E> {
    rows: usize,
    cols: usize,
    data: E,
}

impl<S: Storage<Elem: Serialize>> Serialize for MatrixBase<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        Parts { rows: self.num_rows(), cols: self.num_cols(), data: Elements(self) }.serialize(serializer)
    }
}

/// The elements of a matrix, row by row and without the gaps between the rows.
struct Elements<'a, S>(&'a MatrixBase<S>);

impl<S: Storage<Elem: Serialize>> Serialize for Elements<'_, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut elements = serializer.serialize_seq(Some(self.0.num_rows() * self.0.num_cols()))?;
        self.0.rows().flatten().try_for_each(|x| elements.serialize_element(x))?;
        elements.end()
    }
}

impl<'de, T: Real + Deserialize<'de>> Deserialize<'de> for Matrix<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts { rows, cols, data } = Parts::<Vec<T>>::deserialize(deserializer)?;
        Self::from_vec(rows, cols, data).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_roundtrip_through_serde() {
        let m = Matrix::from_fn(2, 3, |r, c| (10 * r + c) as f32);
        let part = m.col_range(1, 2).unwrap();
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(text, r#"{"rows":2,"cols":2,"data":[1.0,2.0,11.0,12.0]}"#);
        assert_eq!(serde_json::from_str::<Matrix<f32>>(&text).unwrap(), part);
        let v = m.row(1);
        let text = serde_json::to_string(&v).unwrap();
        assert_eq!(text, "[10.0,11.0,12.0]");
        assert_eq!(serde_json::from_str::<Vector<f64>>(&text).unwrap().data(), [10.0, 11.0, 12.0]);
        let empty = Matrix::<f64>::zeros(0, 3);
        let back: Matrix<f64> = serde_json::from_str(&serde_json::to_string(&empty).unwrap()).unwrap();
        assert_eq!(back.shape(), empty.shape());
    }

    #[test]
    fn options_come_back_and_unknown_ones_are_refused() {
        use crate::CompressionMethod;
        use crate::optimization::{LbfgsOptions, LinearCgdOptions};

        let options = LbfgsOptions { m: 7, ..Default::default() };
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<LbfgsOptions>(&text).unwrap(), options);
        assert_eq!(serde_json::from_str::<LbfgsOptions>(r#"{"m": 7}"#).unwrap(), options);
        assert!(serde_json::from_str::<LbfgsOptions>(r#"{"n": 7}"#).is_err());
        let options = LinearCgdOptions { max_iters: Some(3), ..Default::default() };
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<LinearCgdOptions>(&text).unwrap(), options);
        assert!(serde_json::from_str::<LinearCgdOptions>(r#"{"iterations": 7}"#).is_err());
        let text = serde_json::to_string(&CompressionMethod::TwoByteAuto).unwrap();
        assert_eq!(text, r#""two_byte_auto""#);
        assert_eq!(serde_json::from_str::<CompressionMethod>(&text).unwrap(), CompressionMethod::TwoByteAuto);
    }

    #[cfg(any(feature = "openblas", feature = "pure"))]
    #[test]
    fn options_of_solvers_come_back_and_unknown_ones_are_refused() {
        use crate::packed::SolverOptions;

        let options = SolverOptions { k: 100.0, ..Default::default() };
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<SolverOptions>(&text).unwrap(), options);
        assert!(serde_json::from_str::<SolverOptions>(r#"{"kappa": 7}"#).is_err());
    }

    #[test]
    fn a_shape_that_the_elements_do_not_fill_is_refused() {
        for text in [
            r#"{"rows":2,"cols":2,"data":[1.0,2.0]}"#,
            r#"{"rows":18446744073709551615,"cols":2,"data":[1.0]}"#,
            r#"{"rows":2,"data":[1.0,2.0]}"#,
        ] {
            assert!(serde_json::from_str::<Matrix<f32>>(text).is_err(), "{text}");
        }
    }
}
