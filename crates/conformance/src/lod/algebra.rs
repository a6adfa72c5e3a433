//! Operations on levels, with the answers of Paddle's compiled functions: `lod_algebra.jsonl`.
//!
//! Two rules follow the README and the issue rather than the letter of an answer. Falling offsets
//! are never an absolute LoD, even if Paddle accepts them. If Paddle refuses to cut an empty
//! part, the right answer is a LoD with as many levels and no sequences.

use kaldera::lod::{AnyLodTensor, Lod, LodTensor, PaddleType, check_abs_lod, check_lod};
use serde_json::{Value, json};

use super::Stop;
use super::plain::{Number, levels_of, numbers};

/// Calls the function of a case and compares its result.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let (function, args) = (case["fn"].as_str().unwrap_or_default(), &case["args"]);
    let expected = expected_of(case)?;
    let came = match function {
        "to_abs_offset" => json!(lod(args)?.to_abs_offsets()),
        "to_length" => json!(lod(args)?.to_lengths()),
        "to_offset" => offsets(&Lod::from_lengths(&levels_of(&args["lengths"])?)?),
        "rank_table" => {
            let table = lod(args)?.rank_table(size(args, "level")?)?;
            let items: Vec<_> = table.items().map(|item| [item.index, item.length]).collect();
            json!({"items_index_length": items, "coarse_lod": offsets(&table.coarse_lod())})
        }
        "slice_in_level" => {
            let range = size(args, "begin")?..size(args, "end")?;
            offsets(&lod(args)?.slice_in_level(size(args, "level")?, range)?)
        }
        "sub_lod_and_abs_offset" => {
            let range = size(args, "begin")?..size(args, "end")?;
            let (part, rows) = lod(args)?.sub_lod(size(args, "level")?, range)?;
            json!({"sub_lengths": part.to_lengths(), "rows": [rows.start, rows.end]})
        }
        "append_lod" => offsets(&lod(args)?.append(&Lod::from_lengths(&levels_of(&args["lengths"])?)?)?),
        "check_lod" => json!(check_lod(&levels_of(&args["lod"])?, height(args)?)),
        "check_abs_lod" => json!(check_abs_lod(&levels_of(&args["lod"])?, height(args)?)),
        "tensor_set_lod" => match with_lod(args, lod(args)) {
            Some(lod) => json!({"accepted": true, "valid": true, "lengths": lod.to_lengths()}),
            None => json!({"accepted": false}),
        },
        "tensor_set_lengths" => {
            let lod = Lod::from_lengths(&levels_of(&args["lengths"])?).map_err(Stop::from);
            match with_lod(args, lod) {
                Some(lod) => json!({"accepted": true, "lod": offsets(&lod)}),
                None => json!({"accepted": false}),
            }
        }
        "serialize" => match args["dtype"].as_str().unwrap_or_default() {
            "float32" => serialized::<f32>(args)?,
            "float64" => serialized::<f64>(args)?,
            "int32" => serialized::<i32>(args)?,
            "int64" => serialized::<i64>(args)?,
            _ => return Err(Stop::NotRun),
        },
        _ => return Err(Stop::NotRun),
    };
    Ok(if came == expected { Vec::new() } else { vec![format!("expected {expected}, came {came}")] })
}

/// Returns `true` if a call must be refused; if a tensor refuses its LoD, this is an answer.
pub(super) fn must_fail(case: &Value) -> bool {
    let function = case["fn"].as_str().unwrap_or_default();
    !case["error"].is_null() && !function.starts_with("tensor_set") && empty_part(case).is_none()
}

fn expected_of(case: &Value) -> Result<Value, Stop> {
    if let Some(levels) = empty_part(case) {
        return Ok(json!(vec![[0]; levels]));
    }
    let falls = levels_of(&case["args"]["lod"])?.iter().any(|level| !level.is_sorted());
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

fn lod(args: &Value) -> Result<Lod, Stop> {
    Ok(Lod::from_offsets(&levels_of(&args["lod"])?)?)
}

fn offsets(lod: &Lod) -> Value {
    (0..lod.num_levels()).map(|level| json!(lod.offsets(level))).collect()
}

fn size(args: &Value, name: &str) -> Result<usize, Stop> {
    let size = args[name].as_u64().and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| Stop::Damaged(format!("no size {name}")))
}

/// The height of a check: a negative number means any height.
fn height(args: &Value) -> Result<Option<usize>, Stop> {
    let height = args["height"].as_i64().ok_or_else(|| Stop::Damaged("no height".into()))?;
    Ok(usize::try_from(height).ok())
}

/// The LoD of a tensor of the case's rows, if the tensor takes it.
fn with_lod(args: &Value, lod: Result<Lod, Stop>) -> Option<Lod> {
    let rows = size(args, "rows").ok()?;
    let tensor = LodTensor::from_vec([rows, 1], vec![0_u8; rows], lod.ok()?).ok()?;
    Some(tensor.lod().clone())
}

/// The bytes of a tensor, which must also read as that tensor again.
fn serialized<T: Number + PaddleType + PartialEq>(args: &Value) -> Result<Value, Stop> {
    let shape: Vec<usize> =
        serde_json::from_value(args["shape"].clone()).map_err(|error| Stop::Damaged(error.to_string()))?;
    let tensor = LodTensor::<T>::from_vec(shape, numbers(&args["data"])?, lod(args)?)?;
    let bytes = tensor.to_bytes();
    let same = LodTensor::read_from(&mut &bytes[..])? == tensor;
    let same = same && AnyLodTensor::read_from(&mut &bytes[..]).is_ok();
    let text = if same { base64(&bytes) } else { "bytes that read as another tensor".into() };
    Ok(json!({"base64": text, "bytes": bytes.len()}))
}

/// Bytes in the alphabet of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| {
        let bits = three.iter().chain(&[0; 3]).take(3).fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        let letter = move |i: usize| ALPHABET[(bits >> (18 - 6 * i) & 63) as usize].into();
        let letters = three.len() + 1;
        (0..4).map(move |i| if i < letters { letter(i) } else { '=' })
    };
    bytes.chunks(3).flat_map(four).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

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
