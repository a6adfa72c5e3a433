//! An array of integers as the answers of `strided_slice` and `ndarray` have it: in full, or a
//! count and a hash.

use serde_json::Value;

/// A shape and all values in C order.
pub(crate) struct Answer {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<i64>,
}

impl Answer {
    /// The differences from the case: shape `o`, and values `v` or their number `n` and hash `h`.
    pub(crate) fn differences(&self, case: &Value) -> Vec<String> {
        let Self { shape, values } = self;
        let mut differences = Vec::new();
        if let Some(error) = case.get("err") {
            return vec![format!("expected the error {error}, came shape {shape:?}, values {values:?}")];
        }
        let mut check = |key: &str, came: Value| {
            if case[key] != came {
                differences.push(format!("{key}: expected {}, came {came}", case[key]));
            }
        };
        check("o", shape.clone().into());
        if case.get("h").is_some() {
            check("n", values.len().into());
            check("h", hash(values).into());
        } else {
            check("v", values.clone().into());
        }
        differences
    }
}

/// The README's hash of values.
pub(crate) fn hash(values: &[i64]) -> String {
    let step = |hash: u64, &value: &i64| {
        hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(value.cast_unsigned()).wrapping_add(1)
    };
    format!("{:016x}", values.iter().fold(0, step))
}
