//! k2's ragged shapes and tensors: `k2/ragged_shape.json` and `k2/ragged_ops.json`, whose cases are
//! calls with their results.
//!
//! Each operation makes of a case's arguments (`json`) an object with the fields of the known
//! answer (`shape_ops`, `tensor_ops`), and the two are compared field by field (`rules`). Answers
//! that the README leaves partly free are checked by the README's rules for them (`free`).

mod free;
mod json;
mod rules;
pub(crate) mod shape_ops;
pub(crate) mod tensor_ops;

use serde_json::Value;

use rules::{Tolerance, compare};

use crate::{Stop, Verdict, caught, verdict};

/// Calls an operation with the arguments of a case, and returns the result in the form of the
/// known answer.
type Operation = fn(op: &str, args: &Value) -> Result<Value, Stop>;

/// The verdict on a case that `run` has the operation for.
pub(crate) fn judge(case: &Value, run: Operation) -> Verdict {
    let (args, expected) = (&case["args"], &case["expect"]);
    let (Some(op), true) = (case["op"].as_str(), args.is_object() && expected.is_object()) else {
        return Verdict::fails("the case itself is damaged: no op, args or expect".into());
    };
    let must_fail = expected["error"] == true;
    match caught(|| run(op, args)) {
        Err(Stop::Refused(_)) if must_fail => Verdict::Holds,
        Err(stop) => stop.verdict(&format!("expected {expected}, ")),
        Ok(came) if must_fail => Verdict::fails(format!("expected an error, came {came}")),
        Ok(came) => verdict::judge(|| match free::rule_of(op, expected) {
            Some(rule) => rule(args, expected, &came),
            None => Ok(compare("", expected, &came, Tolerance::of(op, dtype(args, expected)))),
        }),
    }
}

/// The type of the values that a call returns.
fn dtype<'a>(args: &'a Value, expected: &'a Value) -> &'a str {
    let named = [&expected["dtype"], &args["ragged"]["dtype"], &args["dtype"]];
    named.into_iter().find_map(Value::as_str).unwrap_or("f64")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(run: Operation, op: &str, args: Value, expect: Value) -> Verdict {
        judge(&json!({"op": op, "args": args, "expect": expect}), run)
    }

    #[track_caller]
    fn fails(verdict: Verdict, why: &str) {
        let Verdict::Fails(differences) = verdict else { panic!("{verdict:?}") };
        assert!(differences.iter().any(|difference| difference.contains(why)), "{differences:?}");
    }

    #[test]
    fn a_wrong_answer_fails_with_both() {
        let args = json!({"row_splits": [[0, 2, 3]]});
        assert_eq!(verdict(shape_ops::run, "max_size", args.clone(), json!({"max_size": [2]})), Verdict::Holds);
        let wrong = verdict(shape_ops::run, "max_size", args.clone(), json!({"max_size": [3]}));
        fails(wrong, "max_size[0]: expected 3, came 2");
        let wrong = verdict(shape_ops::run, "describe", args, json!({"string": "[ ]"}));
        fails(wrong, "string: expected \"[ ]\", came \"[ [ x x ] [ x ] ]\"");
    }

    #[test]
    fn an_error_must_be_one_and_nothing_else_may() {
        let parse = |text: &str, expect: Value| verdict(shape_ops::run, "parse", json!({"string": text}), expect);
        assert_eq!(parse("[ x ]", json!({"error": true})), Verdict::Holds);
        fails(parse("[ ]", json!({"error": true})), "expected an error, came");
        fails(parse("[ x ]", json!({"num_axes": 2})), "came the error: line 1, column 3");
    }

    #[test]
    fn what_is_not_written_or_not_readable_is_no_pass() {
        assert_eq!(verdict(shape_ops::run, "unheard-of", json!({}), json!({})), Verdict::NotRun);
        assert_eq!(verdict(tensor_ops::run, "unheard-of", json!({}), json!({})), Verdict::NotRun);
        fails(verdict(shape_ops::run, "max_size", json!({}), json!({})), "the case itself is damaged: row_splits");
        fails(verdict(shape_ops::run, "max_size", json!([]), json!({})), "the case itself is damaged");
    }

    #[test]
    fn a_panic_is_a_failure() {
        let panics: Operation = |_, _| panic!("on purpose");
        fails(verdict(panics, "describe", json!({}), json!({"a": 1})), "came a panic: on purpose");
    }
}
