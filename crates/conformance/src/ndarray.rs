//! NumPy's arrays: `ndarray/*.jsonl`, whose cases are calls with NumPy's results.
//!
//! The array that a call is about is the root with values 0, 1, 2, .., after the case's `ops`,
//! each of which gives a view (`array`). The result of a call is compared with every field that
//! the case records: shape, values, layout, whether memory is shared (`outcome`).

mod array;
mod outcome;

use kaldera::tensor::{Arange, Grid, IndexEntry, Layout, Mode, Tensor, TensorView, broadcast_shapes};
use serde::de::DeserializeOwned;
use serde_json::Value;

use array::{apply, index, order, root};
use outcome::Outcome;

use crate::{Stop, Verdict, caught, field};

/// The verdict on a case of any of the files: `op` names the call.
pub(crate) fn judge(case: &Value) -> Verdict {
    let no_answer = read_beyond(case);
    let expects_error = no_answer || case.get("err").is_some();
    match caught(|| call(case)) {
        Ok(outcome) if expects_error => Verdict::fails(format!("expected the error {}, came {outcome:?}", case["err"])),
        Ok(outcome) => Verdict::of(outcome.differences(case)),
        Err(Stop::Refused(_)) if no_answer => {
            Verdict::Free(Some("NumPy read memory beyond a buffer of no elements; refused here".into()))
        }
        Err(Stop::Refused(_)) if expects_error => Verdict::Holds,
        Err(stop) => stop.verdict(""),
    }
}

/// Returns `true` if NumPy returned elements of a buffer that has none: its check of bounds takes
/// a length of 0 for an unknown one. The recorded values are whatever was in that memory, and
/// NumPy itself does not repeat them. Such a call must be refused.
fn read_beyond(case: &Value) -> bool {
    let has_elements = case["o"].as_array().is_some_and(|shape| shape.iter().all(|n| n != 0));
    case["op"] == "strided" && case["len"] == 0 && has_elements
}

fn call(case: &Value) -> Result<Outcome, Stop> {
    let op: String = field(case, "op")?;
    match &*op {
        "ravel" | "unravel" => return coordinates(case, op == "ravel"),
        "arange" => return arange(case),
        "strided" => return strided(case),
        "assign" => return assign(case),
        "broadcast_shapes" => {
            let shapes: Vec<Vec<usize>> = field(case, "shapes")?;
            return Ok(Outcome::Shape(broadcast_shapes(shapes)?.to_vec()));
        }
        _ => {}
    }
    let root = root(&field::<Vec<usize>>(case, "s")?)?;
    let ops: Vec<(String, Value)> = field(case, "ops")?;
    let a = ops.iter().try_fold(root.view(), |view, (op, value)| apply(&view, op, value))?;
    let view = |view: TensorView<'_, i32>| Ok(Outcome::of_view(&view));
    match &*op {
        "view" => view(a),
        "index" => {
            let entries = index(&field::<Vec<Value>>(case, "ix")?)?;
            let picked = a.index(&entries)?;
            match picked.shape().is_empty() && entries.iter().all(|entry| matches!(entry, IndexEntry::Index(_))) {
                true => Ok(Outcome::Scalar(picked.to_vec())),
                false => view(picked),
            }
        }
        "squeeze" => view(a.squeeze()),
        "permute" => view(a.permute(field::<Vec<isize>>(case, "axes")?)?),
        "diagonal" => {
            let [first, second] = field(case, "axes")?;
            view(a.diagonal(field(case, "offset")?, first, second)?)
        }
        "broadcast_to" => view(a.broadcast_to(field::<Vec<usize>>(case, "to")?)?),
        "reshape" => {
            let order = order(case, Some(a.layout()))?;
            Ok(Outcome::of_cow(&a.reshape_order(field::<Vec<i64>>(case, "to")?, order)?))
        }
        "ravel_copy" => Ok(Outcome::of_cow(&a.ravel_order(order(case, Some(a.layout()))?)?)),
        _ => Err(Stop::NotRun),
    }
}

fn coordinates(case: &Value, ravel: bool) -> Result<Outcome, Stop> {
    let dims: Vec<usize> = field(case, "dims")?;
    let grid = Grid::new(&dims, order(case, None)?)?;
    if !ravel {
        let offsets: Vec<i64> = field(case, "offs")?;
        let coordinates = grid.coordinates(&offsets)?;
        // The other ways to the same answer must not differ.
        let one_by_one =
            offsets.iter().map(|&offset| usize::try_from(offset).ok().and_then(|at| grid.coordinate_of(at)));
        let agree = one_by_one.flatten().flat_map(|at| at.to_vec()).eq(coordinates.iter().copied());
        return Ok(match agree {
            true => Outcome::Coordinates(coordinates.chunks(dims.len().max(1)).map(<[usize]>::to_vec).collect()),
            false => Outcome::Disagree,
        });
    }
    let coordinates: Vec<Vec<i64>> = field(case, "coords")?;
    let mode = match &*field::<String>(case, "mode")? {
        "raise" => Mode::Raise,
        "wrap" => Mode::Wrap,
        "clip" => Mode::Clip,
        other => return Err(Stop::Damaged(format!("mode {other}"))),
    };
    let one_by_one = coordinates.iter().map(|at| grid.offset_with(at, mode)).collect::<Result<Vec<_>, _>>()?;
    let batch = grid.offsets(&coordinates.concat(), mode)?;
    Ok(if batch == one_by_one { Outcome::Offsets(batch) } else { Outcome::Disagree })
}

fn arange(case: &Value) -> Result<Outcome, Stop> {
    fn numbers<T: Arange + DeserializeOwned>(case: &Value) -> Result<Vec<T>, Stop> {
        let [start, stop, step] = field(case, "a")?;
        Ok(Tensor::arange(start, stop, step)?.into_vec())
    }
    match &*field::<String>(case, "t")? {
        "i64" => Ok(Outcome::Integers(numbers(case)?)),
        "f64" => Ok(Outcome::Floats(numbers(case)?)),
        other => Err(Stop::Damaged(format!("type {other}"))),
    }
}

fn strided(case: &Value) -> Result<Outcome, Stop> {
    let buffer = root(&[field(case, "len")?])?.into_vec();
    let (shape, strides): (Vec<usize>, Vec<isize>) = (field(case, "shape")?, field(case, "strides")?);
    let view = TensorView::new(&buffer, Layout::new(shape, strides, field(case, "off")?)?)?;
    Ok(Outcome::of_view(&view))
}

fn assign(case: &Value) -> Result<Outcome, Stop> {
    let mut root = root(&field::<Vec<usize>>(case, "s")?)?;
    // The value of an assignment: -1, -2, -3, ..
    let value = array::root(&field::<Vec<usize>>(case, "vs")?)?.map(|x| -1 - x);
    let entries = index(&field::<Vec<Value>>(case, "ix")?)?;
    root.view_mut().index_mut(&entries)?.assign(&value.view())?;
    Ok(Outcome::of_view(&root.view()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn fails(case: Value, why: &str) {
        let Verdict::Fails(differences) = judge(&case) else { panic!("{case} holds") };
        assert!(differences.iter().any(|difference| difference.contains(why)), "{differences:?}");
    }

    #[test]
    fn every_part_of_an_answer_counts() {
        let case = json!({"op": "reshape", "s": [2, 3], "ops": [["flip", 0]], "to": [6, 1], "order": "C", "o": [6, 1],
                          "v": [3, 4, 5, 0, 1, 2], "view": false});
        assert_eq!(judge(&case), Verdict::Holds);
        for (key, wrong) in [("o", json!([6])), ("v", json!([3, 4, 5, 0, 1, 1])), ("view", json!(true))] {
            let mut case = case.clone();
            case[key] = wrong;
            fails(case, key);
        }
        let case = json!({"op": "view", "s": [2, 3], "ops": [["swapaxes", [0, 1]]], "o": [3, 2], "v": [0, 3, 1, 4, 2, 5], "off": 0,
                          "str": [1, 3], "c": 0, "f": 1});
        assert_eq!(judge(&case), Verdict::Holds);
        for (key, wrong) in [("off", json!(1)), ("str", json!([3, 1])), ("c", json!(1)), ("f", json!(0))] {
            let mut case = case.clone();
            case[key] = wrong;
            fails(case, key);
        }
    }

    #[test]
    fn an_error_must_be_one_and_nothing_else_may() {
        let call = |to| json!({"op": "broadcast_to", "s": [2], "ops": [], "to": to, "err": {"cls": "ValueError"}});
        assert_eq!(judge(&call([3, 3])), Verdict::Holds);
        fails(call([3, 2]), "expected the error");
        fails(json!({"op": "arange", "t": "i64", "a": [0, 1, 0], "v": []}), "came the error");
    }

    #[test]
    fn memory_beyond_an_empty_buffer_must_be_refused() {
        let mut case =
            json!({"op": "strided", "len": 0, "off": 0, "shape": [1], "strides": [1], "o": [1], "v": [-893444896]});
        assert!(matches!(judge(&case), Verdict::Free(Some(_))));
        case["shape"] = json!([0]);
        fails(case, "expected the error");
    }

    #[test]
    fn what_is_not_written_or_not_readable_is_no_pass() {
        assert_eq!(judge(&json!({"op": "unheard-of", "s": [], "ops": []})), Verdict::NotRun);
        fails(json!({}), "the case itself is damaged: op");
        fails(json!({"op": "view", "s": [2], "ops": [["unheard-of", 1]]}), "unheard-of");
        fails(json!({"op": "arange", "t": "f32", "a": [0, 1, 1], "n": 1, "bits": []}), "damaged");
        fails(json!({"op": "broadcast_shapes", "shapes": [[2], [1]]}), "o: expected null");
    }
}
