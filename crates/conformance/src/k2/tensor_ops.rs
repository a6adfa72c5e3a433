//! The operations of `ragged_ops.json`.

use kaldera::ragged::{self, Float, Number, Numbers, Order, PadMode, PadSide, Ragged, RowSplits, TextValue};
use serde_json::{Value, json};

use super::json::{describe_tensor, list, optional, tensor, with};
use crate::{Dtype, Stop, field, json, number_of, numbers_of};

/// Calls a generic function with the type that `dtype` names.
macro_rules! with_dtype {
    ($dtype:expr, $function:ident $args:tt, [$($T:ty),*]) => {
        match $dtype.as_str() {
            $(Some(name) if name == <$T as Dtype>::NAME => $function::<$T> $args,)*
            _ => Err(Stop::Damaged(format!("dtype: {}", $dtype))),
        }
    };
}

/// Runs the operation `op` of the file.
pub(crate) fn run(op: &str, args: &Value) -> Result<Value, Stop> {
    let dtype = &args["ragged"]["dtype"];
    match op {
        "parse" | "parse_bad" => match &args["dtype"] {
            Value::Null => match field::<String>(args, "string")?.parse()? {
                Numbers::I32(tensor) => with_text(&tensor),
                Numbers::F32(tensor) => with_text(&tensor),
            },
            dtype => with_dtype!(dtype, parse(args), [i32, f32, f64]),
        },
        "sum" | "max" | "min" | "argmax" | "add_suffix" | "add_prefix" | "add" | "sort" | "pad"
        | "remove_values_leq" | "remove_values_eq" | "arange" | "index" | "index0" | "index_ragged" | "remove_axis"
        | "to_dtype" | "exclusive_sum" => with_dtype!(dtype, any_number(op, args), [i32, f32, f64]),
        "logsumexp" | "normalize_log" | "normalize_linear" | "sum_grad" | "logsumexp_grad" | "normalize_grad"
        | "prune_ragged" => with_dtype!(dtype, any_float(op, args), [f32, f64]),
        "and_or" | "unique" | "transpose_reordering" | "counts_partitioned" => integers(op, args),
        "cat" => with_dtype!(args["ragged"][0]["dtype"], cat(args), [i32, f32, f64]),
        "index_tensor_ragged" | "index_and_sum" => with_dtype!(args["dtype"], gather(op, args), [i32, f32, f64]),
        "index_select" | "index_add" => dense(op, args),
        _ => Err(Stop::NotRun),
    }
}

fn parse<T: Dtype + TextValue>(args: &Value) -> Result<Value, Stop> {
    with_text(&field::<String>(args, "string")?.parse::<Ragged<T>>()?)
}

fn with_text<T: Dtype + TextValue>(tensor: &Ragged<T>) -> Result<Value, Stop> {
    let rows = |rows: Vec<Vec<T>>| rows.iter().map(|row| list(row)).collect::<Value>();
    let lists: Value = match tensor.num_axes() {
        2 => rows(tensor.try_into()?),
        3 => Vec::<Vec<Vec<T>>>::try_from(tensor)?.into_iter().map(rows).collect(),
        _ => Value::Null,
    };
    let text = json!({"str": tensor.to_k2_string(), "str_compact": tensor.to_k2_string_compact(), "to_list": lists});
    Ok(with(describe_tensor(tensor), text))
}

fn any_number<T: Dtype + Number>(op: &str, args: &Value) -> Result<Value, Stop> {
    let mut source: Ragged<T> = tensor(&args["ragged"])?;
    let initial = || optional::<T>(args, "initial_value");
    let axis = || field::<usize>(args, "axis");
    Ok(match op {
        "sum" => json!({"out": list(&source.sum_from(initial()?.unwrap_or(T::ZERO)))}),
        "max" => json!({"out": list(&source.max_from(initial()?.unwrap_or(T::LOWEST)))}),
        "min" => json!({"out": list(&source.min_from(initial()?.unwrap_or(T::HIGHEST)))}),
        "argmax" => json!({"out": source.argmax_from(initial()?.unwrap_or(T::LOWEST))}),
        "exclusive_sum" => json!({"out": list(source.exclusive_sum().values())}),
        "add_suffix" => describe_tensor(&source.add_suffix(&numbers_of(args, "values")?)?),
        "add_prefix" => describe_tensor(&source.add_prefix(&numbers_of(args, "values")?)?),
        "add" => json!({"out": list(source.add(&numbers_of(args, "value")?, number_of(args, "alpha")?)?.values())}),
        "sort" => {
            let order = if field(args, "descending")? { Order::Descending } else { Order::Ascending };
            let new2old = source.clone().sort_with_map(order);
            source.sort(order);
            json!({"values": list(source.values()), "new2old": new2old})
        }
        "pad" => {
            let mode = match args["mode"].as_str() {
                Some("constant") => PadMode::Constant,
                Some("replicate") => PadMode::Replicate,
                _ => return Err(Stop::Damaged("mode".into())),
            };
            let side = if field(args, "pad_left")? { PadSide::Left } else { PadSide::Right };
            let padded = source.pad(mode, side, number_of(args, "padding_value")?)?;
            json!({"out": padded.rows().map(list).collect::<Value>()})
        }
        "remove_values_leq" => describe_tensor(&source.remove_values_leq(number_of(args, "cutoff")?)),
        "remove_values_eq" => describe_tensor(&source.remove_values_eq(number_of(args, "target")?)),
        "arange" => describe_tensor(&source.arange(axis()?, field(args, "begin")?, field(args, "end")?)?),
        "index" => {
            let (indexed, value_indexes) = source.index(axis()?, &field::<Vec<i32>>(args, "indexes")?)?;
            with(describe_tensor(&indexed), json!({"value_indexes": value_indexes}))
        }
        "index0" => describe_tensor(&source.index0(field(args, "i")?)?),
        "index_ragged" => describe_tensor(&source.index_ragged(&tensor(&args["indexes"])?)?),
        "remove_axis" => describe_tensor(&source.remove_axis(axis()?)?),
        "to_dtype" => match args["dtype"].as_str() {
            Some("i32") => describe_tensor(&source.to_dtype::<i32>()),
            Some("f32") => describe_tensor(&source.to_dtype::<f32>()),
            Some("f64") => describe_tensor(&source.to_dtype::<f64>()),
            _ => return Err(Stop::Damaged("dtype".into())),
        },
        _ => return Err(Stop::NotRun),
    })
}

fn any_float<T: Dtype + Float>(op: &str, args: &Value) -> Result<Value, Stop> {
    let source: Ragged<T> = tensor(&args["ragged"])?;
    Ok(match op {
        "logsumexp" => {
            let initial = optional::<T>(args, "initial_value")?.unwrap_or(<T as Float>::NEG_INFINITY);
            json!({"out": list(&source.logsumexp_from(initial))})
        }
        "normalize_log" => json!({"out": list(source.normalize_log().values())}),
        "normalize_linear" => json!({"out": list(source.normalize_linear().values())}),
        "sum_grad" => json!({"grad": list(source.sum_grad(&numbers_of(args, "out_grad")?)?.values())}),
        "logsumexp_grad" => {
            let result = source.logsumexp();
            json!({"grad": list(source.logsumexp_grad(&result, &numbers_of(args, "out_grad")?)?.values())})
        }
        "normalize_grad" => {
            let out_grad: Vec<T> = numbers_of(args, "out_grad")?;
            let grad = if field(args, "use_log")? {
                source.normalize_log().normalize_log_grad(&out_grad)?
            } else {
                source.normalize_linear_grad(&out_grad)?
            };
            json!({"grad": list(grad.values())})
        }
        "prune_ragged" => {
            let new2old =
                source.prune_ragged(field(args, "axis")?, number_of(args, "beam")?, field(args, "max_elems")?)?;
            json!({"new2old": new2old})
        }
        _ => return Err(Stop::NotRun),
    })
}

fn integers(op: &str, args: &Value) -> Result<Value, Stop> {
    let source: Ragged<i32> = tensor(&args["ragged"])?;
    Ok(match op {
        "and_or" => {
            let (and, or) = (number_of(args, "and_initial")?, number_of(args, "or_initial")?);
            json!({"and": source.and_from(and), "or": source.or_from(or)})
        }
        "unique" => {
            let unique = source.unique();
            let answer = json!({"num_repeats": describe_tensor(&unique.num_repeats), "new2old": unique.new2old});
            with(describe_tensor(&unique.rows), answer)
        }
        "transpose_reordering" => {
            let order = source.transpose_reordering(field(args, "num_cols")?)?;
            let at = |&index: &i32| usize::try_from(index).ok().and_then(|index| source.values().get(index));
            json!({"order": order, "sorted_values": order.iter().map(at).collect::<Vec<_>>()})
        }
        "counts_partitioned" => {
            let [ranges]: [Vec<i32>; 1] = field(args, "ans_row_splits")?;
            json!({"counts": source.counts_partitioned(&RowSplits::new(ranges)?)?.values()})
        }
        _ => return Err(Stop::NotRun),
    })
}

fn cat<T: Dtype + Number>(args: &Value) -> Result<Value, Stop> {
    let sources = json::list(args, "ragged")?.iter().map(tensor).collect::<Result<Vec<Ragged<T>>, _>>()?;
    Ok(describe_tensor(&Ragged::cat(field(args, "axis")?, &sources)?))
}

fn gather<T: Dtype + Number>(op: &str, args: &Value) -> Result<Value, Stop> {
    let source: Vec<T> = numbers_of(args, "src")?;
    let indexes: Ragged<i32> = tensor(&args["indexes"])?;
    Ok(match op {
        "index_tensor_ragged" => {
            describe_tensor(&ragged::index_tensor_ragged(&source, &indexes, number_of(args, "default")?)?)
        }
        _ => json!({"out": list(&ragged::index_and_sum(&source, &indexes)?)}),
    })
}

/// Gathering and scattering of rows of a matrix, or of numbers.
fn dense(op: &str, args: &Value) -> Result<Value, Stop> {
    let name = if op == "index_select" { "src" } else { "value" };
    let index: Vec<i32> = field(args, "index")?;
    let Some(columns) = json::list(args, name)?.first().and_then(Value::as_array).map(Vec::len) else {
        let source: Vec<f64> = numbers_of(args, name)?;
        if op == "index_select" {
            return Ok(json!({"out": list(&ragged::index_select(&source, &index, number_of(args, "default")?)?)}));
        }
        let mut out = vec![0.0; field(args, "rows")?];
        ragged::index_add(&index, &source, &mut out)?;
        return Ok(json!({"out": list(&out)}));
    };
    let source = field::<Vec<Vec<f64>>>(args, name)?.concat();
    let out = if op == "index_select" {
        ragged::index_select_rows(&source, columns, &index)?
    } else {
        let mut out = vec![0.0; field::<usize>(args, "rows")? * columns];
        ragged::index_add_rows(&index, &source, columns, &mut out)?;
        out
    };
    Ok(json!({"out": out.chunks(columns).map(list).collect::<Value>()}))
}
