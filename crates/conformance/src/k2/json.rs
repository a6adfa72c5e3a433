//! Numbers, shapes and tensors as the known answers write them.

use kaldera::ragged::{Ragged, RaggedShape, RowSplits};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Stop;

/// A type of values, as the field `dtype` names it.
pub(super) trait Dtype: Copy + PartialEq {
    const NAME: &'static str;

    fn from_json(value: &Value) -> Option<Self>;

    fn to_json(self) -> Value;
}

impl Dtype for i32 {
    const NAME: &'static str = "i32";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_i64()?.try_into().ok()
    }

    fn to_json(self) -> Value {
        self.into()
    }
}

impl Dtype for f32 {
    const NAME: &'static str = "f32";

    fn from_json(value: &Value) -> Option<Self> {
        // Exact: the files have the shortest decimals, and serde_json reads an f64 exactly.
        float(value).map(|value| value as f32)
    }

    fn to_json(self) -> Value {
        float_to_json(self.into())
    }
}

impl Dtype for f64 {
    const NAME: &'static str = "f64";

    fn from_json(value: &Value) -> Option<Self> {
        float(value)
    }

    fn to_json(self) -> Value {
        float_to_json(self)
    }
}

/// A number, or a string such as "inf" for a value that JSON has no number for.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some("nan") => Some(f64::NAN),
        Some(_) => None,
        None => value.as_f64(),
    }
}

fn float_to_json(value: f64) -> Value {
    match value {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        _ if value.is_nan() => "nan".into(),
        _ => value.into(),
    }
}

/// The argument `name`, of a type that serde knows.
pub(super) fn arg<T: DeserializeOwned>(args: &Value, name: &str) -> Result<T, Stop> {
    T::deserialize(&args[name]).map_err(|error| Stop::Damaged(format!("{name}: {error}")))
}

/// The argument `name`, a number of a certain type.
pub(super) fn number<T: Dtype>(args: &Value, name: &str) -> Result<T, Stop> {
    T::from_json(&args[name]).ok_or_else(|| not_of::<T>(name))
}

/// The argument `name`, if given.
pub(super) fn optional<T: Dtype>(args: &Value, name: &str) -> Result<Option<T>, Stop> {
    if args.get(name).is_some() { number(args, name).map(Some) } else { Ok(None) }
}

/// The argument `name`, a list of numbers of a certain type.
pub(super) fn numbers<T: Dtype>(args: &Value, name: &str) -> Result<Vec<T>, Stop> {
    let list = args[name].as_array().ok_or_else(|| Stop::Damaged(format!("{name}: no list")))?;
    list.iter().map(|value| T::from_json(value).ok_or_else(|| not_of::<T>(name))).collect()
}

fn not_of<T: Dtype>(name: &str) -> Stop {
    Stop::Damaged(format!("{name}: not of dtype {}", T::NAME))
}

/// The shape whose row splits are a field of `value`.
pub(super) fn shape(value: &Value) -> Result<RaggedShape, Stop> {
    let layers: Vec<Vec<i32>> = arg(value, "row_splits")?;
    Ok(RaggedShape::new(layers.into_iter().map(RowSplits::new).collect::<Result<Vec<_>, _>>()?)?)
}

/// The list of shapes that is the field `shapes`.
pub(super) fn shapes(args: &Value) -> Result<Vec<RaggedShape>, Stop> {
    args["shapes"].as_array().ok_or_else(|| Stop::Damaged("shapes: no list".into()))?.iter().map(shape).collect()
}

/// A tensor, of which `value` holds the row splits and the values.
pub(super) fn tensor<T: Dtype>(value: &Value) -> Result<Ragged<T>, Stop> {
    Ok(Ragged::new(shape(value)?, numbers(value, "values")?)?)
}

/// All fields of a known answer about a shape.
pub(super) fn describe(shape: &RaggedShape) -> Value {
    let axes = 1..shape.num_axes();
    json!({
        "string": shape.to_string(),
        "num_axes": shape.num_axes(),
        "tot_sizes": shape.tot_sizes(),
        "row_splits": row_splits(shape),
        "row_ids": axes.map(|axis| shape.row_ids(axis)).collect::<Vec<_>>(),
    })
}

pub(super) fn row_splits(shape: &RaggedShape) -> Value {
    (1..shape.num_axes()).map(|axis| json!(shape.row_splits(axis).as_ref())).collect()
}

/// All fields of a known answer about a tensor.
pub(super) fn describe_tensor<T: Dtype>(tensor: &Ragged<T>) -> Value {
    json!({"dtype": T::NAME, "row_splits": row_splits(tensor.shape()), "values": list(tensor.values())})
}

pub(super) fn list<T: Dtype>(values: &[T]) -> Value {
    values.iter().map(|value| value.to_json()).collect()
}

/// `object` with more fields.
pub(super) fn with(mut object: Value, fields: Value) -> Value {
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
    }
    object
}
