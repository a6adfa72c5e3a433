//! The arrays that the cases are about: a root of counting numbers, and views of it.

use kaldera::tensor::{IndexEntry, Layout, Order, Tensor, TensorView};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Stop;

/// A tensor in C order whose elements are 0, 1, 2, ..
pub(super) fn root(shape: &[usize]) -> Result<Tensor<i32>, Stop> {
    let mut numbers = 0..;
    Ok(Tensor::from_fn(shape, |_| numbers.next().unwrap_or_default())?)
}

fn parse<T: DeserializeOwned>(what: &str, value: &Value) -> Result<T, Stop> {
    T::deserialize(value).map_err(|error| Stop::Damaged(format!("{what}: {error}")))
}

/// The view that one of `ops` gives.
pub(super) fn apply<'a>(view: &TensorView<'a, i32>, op: &str, value: &Value) -> Result<TensorView<'a, i32>, Stop> {
    match op {
        "slice" => Ok(view.index(index(&parse::<Vec<Value>>(op, value)?)?)?),
        "transpose" => Ok(view.permute(parse::<Vec<isize>>(op, value)?)?),
        "flip" => Ok(view.flip(parse(op, value)?)?),
        "expand" => Ok(view.expand(parse(op, value)?)?),
        "swapaxes" => {
            let [a, b] = parse(op, value)?;
            Ok(view.swap_axes(a, b)?)
        }
        "broadcast" => Ok(view.broadcast_to(parse::<Vec<usize>>(op, value)?)?),
        _ => Err(Stop::Damaged(format!("unheard-of op {op}"))),
    }
}

/// An index, entry by entry.
pub(super) fn index(entries: &[Value]) -> Result<Vec<IndexEntry>, Stop> {
    let entry = |value: &Value| match value {
        Value::String(text) if text == "n" => Ok(IndexEntry::NewAxis),
        Value::String(text) if text == "e" => Ok(IndexEntry::Ellipsis),
        Value::Array(_) => {
            let [begin, end, step]: [Option<i64>; 3] = parse("a slice", value)?;
            Ok(IndexEntry::Range { begin, end, step: step.unwrap_or(1) })
        }
        _ => Ok(IndexEntry::Index(parse("an index", value)?)),
    };
    entries.iter().map(entry).collect()
}

/// The order that a case names; `A` is the order in which the elements of an array are contiguous.
pub(super) fn order(case: &Value, layout: Option<&Layout>) -> Result<Order, Stop> {
    match (case["order"].as_str(), layout) {
        (Some("C"), _) => Ok(Order::C),
        (Some("F"), _) => Ok(Order::F),
        (Some("A"), Some(layout)) => Ok(layout.natural_order()),
        (other, _) => Err(Stop::Damaged(format!("order {other:?}"))),
    }
}
