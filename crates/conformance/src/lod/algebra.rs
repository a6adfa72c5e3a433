//! Operations on levels, with the answers of Paddle's compiled functions: `lod_algebra.jsonl`.
//!
//! Two rules follow the README and the issue rather than the letter of an answer. Falling offsets
//! are never an absolute LoD, even if Paddle accepts them. If Paddle refuses to cut an empty
//! part, the right answer is a LoD with as many levels and no sequences.

use kaldera::lod::{AnyLodTensor, Lod, LodTensor, PaddleType, check_abs_lod, check_lod};
use serde_json::{Value, json};

use super::plain::{Number, levels_of, lod_of, tensor};
use crate::{Stop, Verdict, base64, field, unless};

/// The verdict on a case.
pub(crate) fn judge(case: &Value) -> Verdict {
    super::judge_as(case, must_fail(case), check)
}

/// Calls the function of a case and compares its result.
fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let args = &case["args"];
    let size = |name: &str| field::<usize>(args, name);
    let lengths = levels_of(args, "lengths")?;
    let from_lengths = || Ok::<_, Stop>(Lod::from_lengths(&lengths)?);
    let expected = expected_of(case)?;
    let came = match case["fn"].as_str().unwrap_or_default() {
        "to_abs_offset" => json!(lod_of(args)?.to_abs_offsets()),
        "to_length" => json!(lod_of(args)?.to_lengths()),
        "to_offset" => offsets(&from_lengths()?),
        "rank_table" => {
            let table = lod_of(args)?.rank_table(size("level")?)?;
            let items: Vec<_> = table.items().map(|item| [item.index, item.length]).collect();
            json!({"items_index_length": items, "coarse_lod": offsets(&table.coarse_lod())})
        }
        "slice_in_level" => offsets(&lod_of(args)?.slice_in_level(size("level")?, size("begin")?..size("end")?)?),
        "sub_lod_and_abs_offset" => {
            let (part, rows) = lod_of(args)?.sub_lod(size("level")?, size("begin")?..size("end")?)?;
            json!({"sub_lengths": part.to_lengths(), "rows": [rows.start, rows.end]})
        }
        "append_lod" => offsets(&lod_of(args)?.append(&from_lengths()?)?),
        "check_lod" => json!(check_lod(&levels_of(args, "lod")?, height(args)?)),
        "check_abs_lod" => json!(check_abs_lod(&levels_of(args, "lod")?, height(args)?)),
        "tensor_set_lod" => match with_lod(args, lod_of(args)) {
            Some(lod) => json!({"accepted": true, "valid": true, "lengths": lod.to_lengths()}),
            None => json!({"accepted": false}),
        },
        "tensor_set_lengths" => match with_lod(args, from_lengths()) {
            Some(lod) => json!({"accepted": true, "lod": offsets(&lod)}),
            None => json!({"accepted": false}),
        },
        "serialize" => match args["dtype"].as_str().unwrap_or_default() {
            "float32" => serialized::<f32>(args)?,
            "float64" => serialized::<f64>(args)?,
            "int32" => serialized::<i32>(args)?,
            "int64" => serialized::<i64>(args)?,
            _ => return Err(Stop::NotRun),
        },
        _ => return Err(Stop::NotRun),
    };
    Ok(unless(came == expected, || format!("expected {expected}, came {came}")))
}

/// Returns `true` if a call must be refused; if a tensor refuses its LoD, this is an answer.
fn must_fail(case: &Value) -> bool {
    let function = case["fn"].as_str().unwrap_or_default();
    !case["error"].is_null() && !function.starts_with("tensor_set") && empty_part(case).is_none()
}

fn expected_of(case: &Value) -> Result<Value, Stop> {
    if let Some(levels) = empty_part(case) {
        return Ok(json!(vec![[0]; levels]));
    }
    let falls = levels_of(&case["args"], "lod")?.iter().any(|level| !level.is_sorted());
    Ok(match case["fn"] == "check_abs_lod" && falls {
        true => json!(false),
        false => case["result"].clone(),
    })
}

/// Number of levels of an empty part that Paddle refuses to cut, if that is the subject of the
/// case.
fn empty_part(case: &Value) -> Option<usize> {
    let args = &case["args"];
    let number = |name: &str| usize::try_from(args[name].as_u64()?).ok();
    let (level, begin, end) = (number("level")?, number("begin")?, number("end")?);
    let levels = args["lod"].as_array()?;
    let there = begin == end && end < levels.get(level)?.as_array()?.len();
    (case["fn"] == "slice_in_level" && !case["error"].is_null() && there).then(|| levels.len() - level)
}

fn offsets(lod: &Lod) -> Value {
    (0..lod.num_levels()).map(|level| json!(lod.offsets(level))).collect()
}

/// The height of a check: a negative number means any height.
fn height(args: &Value) -> Result<Option<usize>, Stop> {
    Ok(usize::try_from(field::<i64>(args, "height")?).ok())
}

/// The LoD of a tensor of the case's rows, if the tensor takes it.
fn with_lod(args: &Value, lod: Result<Lod, Stop>) -> Option<Lod> {
    let rows = field(args, "rows").ok()?;
    let tensor = LodTensor::from_vec([rows, 1], vec![0_u8; rows], lod.ok()?).ok()?;
    Some(tensor.lod().clone())
}

/// The bytes of a tensor, which must also read as that tensor again.
fn serialized<T: Number + PaddleType + PartialEq>(args: &Value) -> Result<Value, Stop> {
    let tensor: LodTensor<T> = tensor(args)?;
    let bytes = tensor.to_bytes();
    let same = LodTensor::read_from(&mut &bytes[..])? == tensor;
    let same = same && AnyLodTensor::read_from(&mut &bytes[..]).is_ok();
    let text = if same { base64::encode(&bytes) } else { "bytes that read as another tensor".into() };
    Ok(json!({"base64": text, "bytes": bytes.len()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_part_is_right_where_paddle_refuses_it() {
        let case = |begin: usize, end: usize| {
            json!({"fn": "slice_in_level", "args": {"lod": [[0, 2], [0, 1, 1]], "level": 0, "begin": begin, "end": end},
                "result": null, "error": "refused"})
        };
        assert!(!must_fail(&case(1, 1)) && check(&case(1, 1)).unwrap().is_empty());
        assert!(must_fail(&case(2, 2)) && check(&case(2, 2)).is_err());
        assert!(must_fail(&case(1, 0)) && check(&case(1, 0)).is_err());
    }
}
