//! Answers that are binding in part: ties in an order, and the order of unique lists.

use kaldera::ragged::{Ragged, RaggedShape};
use serde_json::Value;

use super::json::{shape, tensor};
use super::rules::is_permutation;
use crate::{Stop, field, float, single, unless};

/// The differences in the result of a call.
pub(super) type Rule = fn(args: &Value, expected: &Value, came: &Value) -> Result<Vec<String>, Stop>;

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
fn decreasing_size_order(args: &Value, expected: &Value, came: &Value) -> Result<Vec<String>, Stop> {
    let splits = shape(args)?.row_splits(1).clone();
    let order: Vec<i32> = field(came, "order")?;
    let sizes: Vec<usize> =
        order.iter().filter_map(|&row| splits.rows().nth(row.try_into().ok()?)).map(|row| row.len()).collect();
    let holds = is_permutation(&order, splits.num_rows()) && sizes.is_sorted_by(|a, b| a >= b);
    let right = &expected["order"];
    Ok(unless(holds, || {
        format!("order: expected one by non-increasing size as {right}, came {order:?} with sizes {sizes:?}")
    }))
}

/// "Values exact; new2old is exact only where values in a sublist differ": it must name each
/// element of a sublist once, and each value must be the one that `new2old` names.
fn sort(args: &Value, expected: &Value, came: &Value) -> Result<Vec<String>, Stop> {
    let is_single = args["ragged"]["dtype"] == "f32";
    let as_held = |x: &Value| float(x).map(|x| if is_single { f64::from(single(x)) } else { x });
    let read = |list: &Value| list.as_array().map(|list| list.iter().map(as_held).collect::<Vec<_>>());
    let values = read(&came["values"]);
    if values.is_none() || values != read(&expected["values"]) {
        return Ok(vec![format!("values: expected {}, came {}", expected["values"], came["values"])]);
    }
    let source = read(&args["ragged"]["values"]).unwrap_or_default();
    let new2old: Vec<i32> = field(came, "new2old")?;
    let shape = shape(&args["ragged"])?;
    let row_ids = shape.row_ids(shape.num_axes() - 1);
    let right = |(new, &old): (usize, &i32)| {
        let old = usize::try_from(old).unwrap_or(usize::MAX);
        row_ids.get(old) == row_ids.get(new) && source.get(old) == values.as_ref().and_then(|values| values.get(new))
    };
    let holds = is_permutation(&new2old, source.len()) && new2old.iter().enumerate().all(right);
    Ok(unless(holds, || format!("new2old: expected {} but for ties, came {new2old:?}", expected["new2old"])))
}

/// "Order of kept sequences inside a top-level list is free; compare as multiset of (sequence,
/// repeats)"; and each must equal the list of the input that `new2old` names.
fn unique(args: &Value, expected: &Value, came: &Value) -> Result<Vec<String>, Stop> {
    let read =
        |answer: &Value| Ok::<(Ragged<i32>, Ragged<i32>), Stop>((tensor(answer)?, tensor(&answer["num_repeats"])?));
    let source: Ragged<i32> = tensor(&args["ragged"])?;
    let [wanted, found] = [read(expected)?, read(came)?];
    for (lists, repeats) in [&wanted, &found] {
        let (wanted, came) = (lists.num_rows(), repeats.num_elements());
        if came != wanted {
            return Ok(vec![format!("num_repeats: expected {wanted} numbers, came {came}")]);
        }
    }
    if groups(&wanted) != groups(&found) {
        return Ok(vec![format!("expected {:?} in some order, came {:?}", groups(&wanted), groups(&found))]);
    }
    if wanted.1.shape() != found.1.shape() {
        return Ok(vec![format!("num_repeats: expected {}, came {}", wanted.1, found.1)]);
    }
    let new2old: Vec<i32> = field(came, "new2old")?;
    let group = |shape: &RaggedShape, list: usize| group_of_list(shape).get(list).copied();
    let right = |(new, &old): (usize, &i32)| {
        let Ok(old) = usize::try_from(old) else { return false };
        source.rows().nth(old) == found.0.rows().nth(new) && group(source.shape(), old) == group(found.0.shape(), new)
    };
    let holds = new2old.len() == found.0.num_rows() && new2old.iter().enumerate().all(right);
    let right = &expected["new2old"];
    Ok(unless(holds, || format!("new2old: expected where each list was, such as {right}, came {new2old:?}")))
}

/// The lists of each top-level list and how often each was there, in an order of ours.
fn groups((lists, repeats): &(Ragged<i32>, Ragged<i32>)) -> Vec<(i32, &[i32], i32)> {
    let groups = group_of_list(lists.shape()).into_iter();
    let mut kept: Vec<_> = groups.zip(lists.rows()).zip(repeats.values()).map(|((g, list), &n)| (g, list, n)).collect();
    kept.sort_unstable();
    kept
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_of_equal_size_may_change_places() {
        let holds = |order: Value| {
            let args = json!({"row_splits": [[0, 1, 3, 4]]});
            decreasing_size_order(&args, &json!({"order": [1, 0, 2]}), &json!({ "order": order })).unwrap().is_empty()
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
            sort(&args, &expected, &json!({"values": values, "new2old": new2old})).unwrap().is_empty()
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
            unique(&json!({ "ragged": source }), &expected, &answer(splits, values, repeats, new2old))
                .unwrap()
                .is_empty()
        };
        let other = json!([[0, 2, 3], [0, 2, 3, 4]]);
        assert!(holds(other.clone(), json!([8, 9, 7, 7]), json!([1, 2, 1]), json!([2, 1, 3])));
        assert!(!holds(other.clone(), json!([8, 9, 7, 7]), json!([2, 1, 1]), json!([2, 1, 3])), "repeats");
        assert!(!holds(other.clone(), json!([8, 9, 7, 7]), json!([1, 2, 1]), json!([2, 3, 1])), "another group");
        assert!(!holds(other, json!([8, 8, 7, 7]), json!([1, 2, 1]), json!([2, 1, 3])), "values");
    }
}
