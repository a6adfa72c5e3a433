//! What Python hands over, before it is read: numbers in range, arrays whose elements are aligned.

use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::value_error;

/// An integer from 0; a `ValueError` for another.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error| in_range(&value, error, "an integer from 0"))
    }
}

/// A 32-bit integer; a `ValueError` for one that is too large.
#[derive(Clone, Copy)]
pub(crate) struct Int(pub(crate) i32);

impl<'py> FromPyObject<'_, 'py> for Int {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error| in_range(&value, error, "a 32-bit integer"))
    }
}

/// Numbers that do not fit are wrong values, for which Python's conversion has `OverflowError`.
pub(crate) fn in_range(value: &Bound<'_, PyAny>, error: PyErr, expected: &str) -> PyErr {
    if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(value.py()) {
        return value_error(format!("{value} can't be: expected {expected}"));
    }
    error
}

/// An array in C order, copied if its elements are not aligned, as those of `numpy.frombuffer` may
/// be; other values as they are.
pub(crate) fn aligned<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(array) = value.cast::<PyUntypedArray>() else { return Ok(value.clone()) };
    let flags = array.getattr("flags")?;
    if flags.getattr("aligned")?.is_truthy()? {
        return Ok(value.clone());
    }
    value.py().import("numpy")?.call_method1("require", (array, array.dtype(), "CA"))
}

/// Integers from an int32 array, or from anything that has a length and integers. A mask of truth
/// values is refused: its elements would be taken for 0 and 1.
pub(crate) fn integers(values: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let values = &aligned(values)?;
    if let Ok(array) = values.extract::<PyReadonlyArray1<'_, i32>>() {
        return Ok(array.as_array().to_vec());
    }
    let is_mask = |dtype: Bound<'_, PyAny>| Ok::<_, PyErr>(matches!(&*dtype.str()?.to_cow()?, "bool" | "torch.bool"));
    if values.getattr_opt("dtype")?.map_or(Ok(false), is_mask)? {
        return Err(value_error(
            "these are integers, and the array is bool: numpy.flatnonzero has the places of a mask",
        ));
    }
    Ok(values.extract::<Vec<Int>>()?.into_iter().map(|Int(value)| value).collect())
}
