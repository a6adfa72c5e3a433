//! The rules of comparison, as the README of the set states them ("Match rules", ragged files).

use serde_json::Value;

use crate::{float, near, unless};

/// Floats of 32 bits, absolute and relative.
const F32: f64 = 1e-5;
/// Floats of 64 bits, absolute and relative.
const F64: f64 = 1e-9;
/// Logsumexp, normalize and their gradients in 32 bits, absolute only.
const F32_LOG: f64 = 1e-4;

/// Tolerance for floats: absolute, relative.
#[derive(Clone, Copy)]
pub(super) struct Tolerance(f64, f64);

impl Tolerance {
    /// The tolerance of an operation on values of a type.
    pub(super) fn of(op: &str, dtype: &str) -> Self {
        let log =
            matches!(op, "logsumexp" | "logsumexp_grad" | "normalize_log" | "normalize_linear" | "normalize_grad");
        match dtype {
            "f32" if log => Self(F32_LOG, 0.0),
            "f32" => Self(F32, F32),
            _ => Self(F64, F64),
        }
    }
}

/// Each place where `came` is not as expected: fields, lengths, strings and integers exactly,
/// floats within `tolerance`. Fields that are only in `came` are ignored, and so is `note`.
pub(super) fn compare(place: &str, expected: &Value, came: &Value, tolerance: Tolerance) -> Vec<String> {
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            let compare_field = |(name, expected): (&String, &Value)| {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                match came.get(name) {
                    Some(came) => compare(&place, expected, came, tolerance),
                    None => vec![format!("{place}: expected {expected}, came nothing")],
                }
            };
            expected.iter().filter(|(name, _)| *name != "note").flat_map(compare_field).collect()
        }
        (Value::Array(expected), Value::Array(came)) if expected.len() == came.len() => {
            let each = expected.iter().zip(came).enumerate();
            each.flat_map(|(i, (expected, came))| compare(&format!("{place}[{i}]"), expected, came, tolerance))
                .collect()
        }
        _ => unless(same(expected, came, tolerance), || format!("{place}: expected {expected}, came {came}")),
    }
}

/// Returns `true` if two values that are no lists are the same; if our value is a float, they are
/// compared as floats.
fn same(expected: &Value, came: &Value, Tolerance(absolute, relative): Tolerance) -> bool {
    let is_float = came.is_f64() || (came.is_string() && expected.is_f64());
    match (float(expected), float(came)) {
        (Some(expected), Some(came)) if is_float => near(expected, came, absolute.max(relative * expected.abs())),
        _ => expected == came,
    }
}

/// Returns `true` if `order` has each index below `size` once.
pub(super) fn is_permutation(order: &[i32], size: usize) -> bool {
    let mut seen = vec![false; size];
    let first_time = |&index: &i32| {
        let place = usize::try_from(index).ok().and_then(|index| seen.get_mut(index));
        place.is_some_and(|place| !std::mem::replace(place, true))
    };
    order.len() == size && order.iter().all(first_time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_strings_are_exact() {
        let loose = Tolerance(1e9, 1.0);
        assert!(compare("", &json!({"a": [1, "x"], "note": "n"}), &json!({"a": [1, "x"], "b": 2}), loose).is_empty());
        assert_eq!(compare("", &json!({"a": [1]}), &json!({"a": [2]}), loose), ["a[0]: expected 1, came 2"]);
        assert_eq!(compare("", &json!({"a": [1]}), &json!({"a": [1, 1]}), loose), ["a: expected [1], came [1,1]"]);
        assert_eq!(compare("", &json!({"a": "x"}), &json!({}), loose), ["a: expected \"x\", came nothing"]);
    }

    #[test]
    fn floats_have_the_tolerance_of_their_operation() {
        let holds = |op, dtype, expected: Value, came: Value| {
            compare("", &expected, &came, Tolerance::of(op, dtype)).is_empty()
        };
        assert!(holds("sum", "f32", json!(2), json!(2.00001)));
        assert!(!holds("sum", "f32", json!(2), json!(2.00003)));
        assert!(!holds("sum", "f64", json!(2), json!(2.00001)));
        assert!(holds("logsumexp", "f32", json!(2.0), json!(2.00009)));
        assert!(!holds("logsumexp", "f32", json!(1e3), json!(1_000.001)));
        assert!(holds("max", "f32", json!("-inf"), json!("-inf")));
        assert!(!holds("max", "f32", json!("-inf"), json!(-1e38)));
        assert!(!holds("max", "f32", json!(1.0), json!("inf")));
        assert!(!holds("max", "f32", json!(1.0), json!("nan")));
    }

    #[test]
    fn a_permutation_has_each_index_once() {
        assert!(is_permutation(&[2, 0, 1], 3));
        for wrong in [vec![0, 0, 1], vec![0, 1], vec![0, 1, 3], vec![-1, 0, 1]] {
            assert!(!is_permutation(&wrong, 3), "{wrong:?}");
        }
    }
}
