//! An array of integers as the answers of `strided_slice` and `ndarray` have it: in full, or a
//! count and a hash.

use kaldera::tensor::TensorView;
use serde_json::Value;

use crate::unless;

/// A shape and all values in C order.
pub(crate) struct Answer {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<i64>,
}

impl Answer {
    pub(crate) fn of(view: &TensorView<'_, i32>) -> Self {
        Self { shape: view.shape().to_vec(), values: view.to_vec().into_iter().map(i64::from).collect() }
    }

    /// The differences from the case: shape `o`, and values `v` or their number `n` and hash `h`.
    pub(crate) fn differences(&self, case: &Value) -> Vec<String> {
        let Self { shape, values } = self;
        if let Some(error) = case.get("err") {
            return vec![format!("expected the error {error}, came shape {shape:?}, values {values:?}")];
        }
        let shape = check(case, "o", shape.clone());
        if case.get("h").is_none() {
            return [shape, check(case, "v", values.clone())].concat();
        }
        [shape, check(case, "n", values.len()), check(case, "h", hash(values))].concat()
    }
}

/// The difference of the field `key` of a case.
pub(crate) fn check(case: &Value, key: &str, came: impl Into<Value>) -> Vec<String> {
    let (right, came) = (&case[key], came.into());
    unless(*right == came, || format!("{key}: expected {right}, came {came}"))
}

/// The README's hash of values.
pub(crate) fn hash(values: &[i64]) -> String {
    let step = |hash: u64, &value: &i64| {
        hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(value.cast_unsigned()).wrapping_add(1)
    };
    format!("{:016x}", values.iter().fold(0, step))
}
