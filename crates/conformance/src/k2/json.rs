//! Numbers, shapes and tensors as the known answers write them.

use kaldera::ragged::{Ragged, RaggedShape, RowSplits};
use serde_json::{Value, json};

use crate::{Dtype, Stop, field, json, number_of, numbers_of};

/// The argument `name`, if given.
pub(super) fn optional<T: Dtype>(args: &Value, name: &str) -> Result<Option<T>, Stop> {
    args.get(name).map(|_| number_of(args, name)).transpose()
}

/// The shape whose row splits are a field of `value`.
pub(super) fn shape(value: &Value) -> Result<RaggedShape, Stop> {
    let layers: Vec<Vec<i32>> = field(value, "row_splits")?;
    Ok(RaggedShape::new(layers.into_iter().map(RowSplits::new).collect::<Result<Vec<_>, _>>()?)?)
}

/// The list of shapes that is the field `shapes`.
pub(super) fn shapes(args: &Value) -> Result<Vec<RaggedShape>, Stop> {
    json::list(args, "shapes")?.iter().map(shape).collect()
}

/// A tensor, of which `value` holds the row splits and the values.
pub(super) fn tensor<T: Dtype>(value: &Value) -> Result<Ragged<T>, Stop> {
    Ok(Ragged::new(shape(value)?, numbers_of(value, "values")?)?)
}

/// All fields of a known answer about a shape.
pub(super) fn describe(shape: &RaggedShape) -> Value {
    json!({
        "string": shape.to_string(),
        "num_axes": shape.num_axes(),
        "tot_sizes": shape.tot_sizes(),
        "row_splits": row_splits(shape),
        "row_ids": (1..shape.num_axes()).map(|axis| shape.row_ids(axis)).collect::<Vec<_>>(),
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
    values.iter().map(|value| Value::from(value.write())).collect()
}

/// `object` with more fields.
pub(super) fn with(mut object: Value, fields: Value) -> Value {
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
    }
    object
}
