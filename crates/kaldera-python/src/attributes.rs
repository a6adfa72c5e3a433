//! Attributes of arcs, which Python holds and the library carries.

use kaldera::fsa::{Attribute, Attributes, FsaOrVec, Graph};
use kaldera::ragged::Ragged;
use numpy::{Ix1, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Array;
use crate::errors::{exception, value_error};
use crate::ragged::RaggedTensor;

/// An attribute from an int32 or float32 array with an element for each arc, or from an int32
/// `RaggedTensor` with a list for each.
pub(crate) fn attribute(value: &Bound<'_, PyAny>) -> PyResult<Attribute> {
    if let Ok(lists) = value.cast::<RaggedTensor>() {
        return Ok(lists.try_borrow()?.ints()?.clone().into());
    }
    if let Ok(numbers) = value.extract::<Array<'_, i32, Ix1>>() {
        return Ok(numbers.to_vec()?.into());
    }
    let numbers = value.extract::<Array<'_, f32, Ix1>>();
    let wrong = |_| value_error("an attribute is an int32 or float32 array of one axis, or an int32 RaggedTensor");
    Ok(numbers.map_err(wrong)?.to_vec()?.into())
}

/// FSAs with attributes by name.
pub(crate) fn graph(fsas: &FsaOrVec, attributes: &Bound<'_, PyDict>) -> PyResult<Graph<FsaOrVec>> {
    let mut graph = Graph::new(fsas.clone());
    for (name, value) in attributes {
        graph = graph.with(&name.extract::<String>()?, attribute(&value)?).map_err(exception)?;
    }
    Ok(graph)
}

/// An attribute as an array, or as a `RaggedTensor`.
pub(crate) fn to_python<'py>(py: Python<'py>, attribute: &Attribute) -> PyResult<Bound<'py, PyAny>> {
    Ok(match attribute {
        Attribute::Ints { values, .. } => PyArray1::from_slice(py, values).into_any(),
        Attribute::Floats { values, .. } => PyArray1::from_slice(py, values).into_any(),
        Attribute::Lists(lists) => lists_to_python(py, lists.clone())?,
        _ => return Err(value_error("an attribute that Python has no type for")),
    })
}

/// Lists as a `RaggedTensor`.
pub(crate) fn lists_to_python(py: Python<'_>, lists: Ragged<i32>) -> PyResult<Bound<'_, PyAny>> {
    Ok(RaggedTensor::from(lists).into_pyobject(py)?.into_any())
}

/// All attributes by name.
pub(crate) fn dictionary<'py>(py: Python<'py>, attributes: &Attributes) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (name, attribute) in attributes.iter() {
        made.set_item(name, to_python(py, attribute)?)?;
    }
    Ok(made)
}
