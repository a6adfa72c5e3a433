//! Answers that are binding in part: ties in an order, and the order of unique lists.

use kaldera::ragged::{Ragged, RaggedShape};
use serde_json::Value;

use super::Stop;
use super::json::{arg, float, shape, tensor};
use super::rules::is_permutation;

/// Checks the result of a call; the error is the difference found.
pub(super) type Rule = fn(args: &Value, expected: &Value, came: &Value) -> Result<(), String>;

/// The rule in place of the plain comparison, for operations whose answers carry a `note`.
pub(super) fn rule_of(op: &str, expected: &Value) -> Option<Rule> {
    expected.get("note")?;
    match op {
        "decreasing_size_order" => Some(decreasing_size_order),
        "sort" => Some(sort),
        "unique" => Some(unique),
        _ => None,
    }
}

/// "Sizes in this order must be non-increasing; ties may differ."
fn decreasing_size_order(args: &Value, expected: &Value, came: &Value) -> Result<(), String> {
    let splits = shape(args).map_err(damaged)?.row_splits(1).clone();
    let order: Vec<i32> = arg(came, "order").map_err(damaged)?;
    let sizes: Vec<usize> =
        order.iter().filter_map(|&row| splits.rows().nth(row.try_into().ok()?)).map(|row| row.len()).collect();
    if is_permutation(&order, splits.num_rows()) && sizes.is_sorted_by(|a, b| a >= b) {
        return Ok(());
    }
    Err(format!(
        "order: expected one by non-increasing size as {}, came {order:?} with sizes {sizes:?}",
        expected["order"]
    ))
}

/// "Values exact; new2old is exact only where values in a sublist differ": it must name each
/// element of a sublist once, and each value must be the one that `new2old` names.
fn sort(args: &Value, expected: &Value, came: &Value) -> Result<(), String> {
    let read = |list: &Value| list.as_array().map(|list| list.iter().map(|x| Some(rounded(float(x)?, args))).collect());
    let values: Option<Vec<Option<f64>>> = read(&came["values"]);
    if values.is_none() || values != read(&expected["values"]) {
        return Err(format!("values: expected {}, came {}", expected["values"], came["values"]));
    }
    let source = read(&args["ragged"]["values"]).unwrap_or_default();
    let new2old: Vec<i32> = arg(came, "new2old").map_err(damaged)?;
    let shape = shape(&args["ragged"]).map_err(damaged)?;
    let row_ids = shape.row_ids(shape.num_axes() - 1);
    let right = |(new, &old): (usize, &i32)| {
        let old = usize::try_from(old).unwrap_or(usize::MAX);
        row_ids.get(old) == row_ids.get(new) && source.get(old) == values.as_ref().and_then(|values| values.get(new))
    };
    match is_permutation(&new2old, source.len()) && new2old.iter().enumerate().all(right) {
        true => Ok(()),
        false => Err(format!("new2old: expected {} but for ties, came {new2old:?}", expected["new2old"])),
    }
}

/// A number as the values of the case hold it.
fn rounded(number: f64, args: &Value) -> f64 {
    if args["ragged"]["dtype"] == "f32" { f64::from(number as f32) } else { number }
}

/// "Order of kept sequences inside a top-level list is free; compare as multiset of (sequence,
/// repeats)"; and each must equal the list of the input that `new2old` names.
fn unique(args: &Value, expected: &Value, came: &Value) -> Result<(), String> {
    let source: Ragged<i32> = tensor(&args["ragged"]).map_err(damaged)?;
    let (wanted, found) = (Kept::read(expected)?, Kept::read(came)?);
    if wanted.groups() != found.groups() {
        return Err(format!("expected {:?} in some order, came {:?}", wanted.groups(), found.groups()));
    }
    if wanted.repeats.shape() != found.repeats.shape() {
        return Err(format!("num_repeats: expected {}, came {}", wanted.repeats, found.repeats));
    }
    let new2old: Vec<i32> = arg(came, "new2old").map_err(damaged)?;
    let group = |shape: &RaggedShape, list: usize| group_of_list(shape).get(list).copied();
    let right = |(new, &old): (usize, &i32)| {
        let Ok(old) = usize::try_from(old) else { return false };
        source.rows().nth(old) == found.lists.rows().nth(new)
            && group(source.shape(), old) == group(found.lists.shape(), new)
    };
    match new2old.len() == found.lists.num_rows() && new2old.iter().enumerate().all(right) {
        true => Ok(()),
        false => {
            Err(format!("new2old: expected where each list was, such as {}, came {new2old:?}", expected["new2old"]))
        }
    }
}

/// Lists, and how often each was there.
struct Kept {
    lists: Ragged<i32>,
    repeats: Ragged<i32>,
}

impl Kept {
    fn read(answer: &Value) -> Result<Self, String> {
        let lists: Ragged<i32> = tensor(answer).map_err(damaged)?;
        let repeats: Ragged<i32> = tensor(&answer["num_repeats"]).map_err(damaged)?;
        match repeats.num_elements() == lists.num_rows() {
            true => Ok(Self { lists, repeats }),
            false => {
                Err(format!("num_repeats: expected {} numbers, came {}", lists.num_rows(), repeats.num_elements()))
            }
        }
    }

    /// The contents of each top-level list, in an order of ours.
    fn groups(&self) -> Vec<(i32, &[i32], i32)> {
        let groups = group_of_list(self.lists.shape()).into_iter();
        let mut kept: Vec<_> =
            groups.zip(self.lists.rows()).zip(self.repeats.values()).map(|((g, list), &n)| (g, list, n)).collect();
        kept.sort_unstable();
        kept
    }
}

/// The top-level list of each innermost one; with two axes there is only one, the whole.
fn group_of_list(shape: &RaggedShape) -> Vec<i32> {
    let last = shape.num_axes() - 1;
    let mut groups = if last == 1 { vec![0; shape.dim0()] } else { (0..).take(shape.dim0()).collect() };
    for axis in 1..last {
        let parents = shape.row_ids(axis).iter();
        groups = parents.filter_map(|&parent| groups.get(usize::try_from(parent).ok()?).copied()).collect();
    }
    groups
}

fn damaged(stop: Stop) -> String {
    match stop {
        Stop::NotRun => "the case itself is damaged".into(),
        Stop::Damaged(why) => format!("cannot be read: {why}"),
        Stop::Refused(error) => format!("invalid: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_of_equal_size_may_change_places() {
        let holds = |order: Value| {
            let args = json!({"row_splits": [[0, 1, 3, 4]]});
            decreasing_size_order(&args, &json!({"order": [1, 0, 2]}), &json!({ "order": order })).is_ok()
        };
        assert!(holds(json!([1, 0, 2])) && holds(json!([1, 2, 0])));
        for wrong in [json!([0, 1, 2]), json!([1, 1, 0]), json!([1, 0]), json!([1, 0, 3])] {
            assert!(!holds(wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn a_sorted_map_stays_in_its_lists_and_moves_the_values() {
        let holds = |values: Value, new2old: Value| {
            let args = json!({"ragged": {"dtype": "f32", "row_splits": [[0, 3, 4]], "values": [2, 0.1, 2, 2]}});
            let expected = json!({"values": [0.1, 2, 2, 2], "new2old": [1, 0, 2, 3]});
            sort(&args, &expected, &json!({"values": values, "new2old": new2old})).is_ok()
        };
        let values = json!([f64::from(0.1_f32), 2.0, 2.0, 2.0]);
        assert!(holds(values.clone(), json!([1, 0, 2, 3])) && holds(values.clone(), json!([1, 2, 0, 3])));
        assert!(!holds(json!([0.1001, 2.0, 2.0, 2.0]), json!([1, 0, 2, 3])));
        for wrong in [json!([0, 1, 2, 3]), json!([1, 3, 2, 0]), json!([1, 0, 0, 3]), json!([1, 0, 2])] {
            assert!(!holds(values.clone(), wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn unique_lists_may_stand_in_any_order_of_their_own_group() {
        let source = json!({"dtype": "i32", "row_splits": [[0, 3, 4], [0, 1, 2, 4, 5]], "values": [7, 7, 8, 9, 7]});
        let holds = |splits: Value, values: Value, repeats: Value, new2old: Value| {
            let answer = |splits, values, repeats, new2old: Value| {
                let repeats = json!({"row_splits": [[0, 2, 3]], "values": repeats});
                json!({"row_splits": splits, "values": values, "num_repeats": repeats, "new2old": new2old})
            };
            let expected =
                answer(json!([[0, 2, 3], [0, 1, 3, 4]]), json!([7, 8, 9, 7]), json!([2, 1, 1]), json!([0, 2, 3]));
            unique(&json!({ "ragged": source }), &expected, &answer(splits, values, repeats, new2old)).is_ok()
        };
        let other = json!([[0, 2, 3], [0, 2, 3, 4]]);
        assert!(holds(other.clone(), json!([8, 9, 7, 7]), json!([1, 2, 1]), json!([2, 1, 3])));
        assert!(!holds(other.clone(), json!([8, 9, 7, 7]), json!([2, 1, 1]), json!([2, 1, 3])), "repeats");
        assert!(!holds(other.clone(), json!([8, 9, 7, 7]), json!([1, 2, 1]), json!([2, 3, 1])), "another group");
        assert!(!holds(other, json!([8, 8, 7, 7]), json!([1, 2, 1]), json!([2, 1, 3])), "values");
    }
}
