//! Writes the components of a network's file, byte for byte as Kaldi.

use std::io;

use kaldi_matrix::codec::FieldWriter;

use crate::fields::{Component, Value};

/// Writes a component from its opening token on.
pub(crate) fn write_component(fields: &mut FieldWriter<'_>, component: &Component) -> io::Result<()> {
    fields.token(&format!("<{}>", component.kind))?;
    for field in &component.fields {
        fields.token(&format!("<{}>", field.name))?;
        write_value(fields, &field.value)?;
    }
    fields.token(&format!("</{}>", component.kind))
}

fn write_value(fields: &mut FieldWriter<'_>, value: &Value) -> io::Result<()> {
    match value {
        Value::Flag => Ok(()),
        Value::Bool(value) => {
            fields.bytes(if *value { b"T" } else { b"F" })?;
            if fields.is_binary() { Ok(()) } else { fields.bytes(b" ") }
        }
        Value::Int(value) => fields.int(*value),
        Value::Ints2(values) => values.iter().try_for_each(|&value| fields.int(value)),
        Value::Real(value) => fields.single(*value),
        Value::Double(value) => fields.double(*value),
        Value::Reals2(values) => values.iter().try_for_each(|&value| fields.single(value)),
        Value::Ints(values) => fields.ints(values, 1),
        Value::Pairs(pairs) => {
            let values: Vec<i32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            fields.ints(&values, 2)
        }
        Value::Vector(values) => fields.object(values),
        Value::DoubleVector(values) => fields.object(values),
        Value::Matrix(values) => fields.object(values),
        Value::DoubleMatrix(values) => fields.object(values),
        Value::Components(parts) => {
            fields.size(parts.len())?;
            parts.iter().try_for_each(|part| write_component(fields, part))
        }
    }
}
