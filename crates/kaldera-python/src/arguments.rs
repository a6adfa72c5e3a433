//! Arguments from Python, checked before use: numbers in range, arrays of any order in memory.

use kaldera::base::memory;
use numpy::ndarray::Dimension;
use numpy::{Element, Ix1, PyArrayDescrMethods, PyReadonlyArray, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

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

/// The elements of a sequence. Its length may be any number, so no memory is reserved for it, and
/// it is an error if there are more elements.
pub(crate) fn list<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<Vec<T>> {
    let is_text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>();
    if is_text || value.getattr_opt("__getitem__")?.is_none() {
        return Err(PyTypeError::new_err(format!("expected a sequence, such as a list, not {}", describe(value))));
    }
    let length = value.len()?;
    let mut items = Vec::new();
    for item in value.try_iter()? {
        let item = item?;
        if items.len() == length {
            return Err(value_error(format!("a sequence of the length {length} has more elements")));
        }
        items.push(item.extract().map_err(Into::into)?);
    }
    Ok(items)
}

/// [`list`], if there is one.
pub(crate) fn list_if_any<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<T>>> {
    if value.is_none() { Ok(None) } else { list(value).map(Some) }
}

/// [`list`] of lists.
pub(crate) fn lists<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Vec<T>>> {
    list::<Bound<'py, PyAny>>(value)?.iter().map(list).collect()
}

/// An array of one type with as many axes as `D` has. Its values are in C order, for all strides,
/// alignments and byte orders of Python's array. Every array comes through here:
/// `PyReadonlyArray::as_slice` takes Fortran order for contiguous, too.
pub(crate) struct Array<'py, T: Element, D: Dimension>(PyReadonlyArray<'py, T, D>);

impl<T: Element + Copy, D: Dimension> Array<'_, T, D> {
    /// The lengths of the axes.
    pub(crate) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// All values in C order.
    pub(crate) fn values(&self) -> PyResult<&[T]> {
        self.0.as_slice().map_err(|_| value_error("the values of the array are not next to each other"))
    }

    /// A copy of all values in C order, large ones in huge pages.
    pub(crate) fn to_vec(&self) -> PyResult<Vec<T>> {
        Ok(memory::collect(self.values()?.iter().copied()))
    }
}

impl<'py, T: Element, D: Dimension> FromPyObject<'_, 'py> for Array<'py, T, D> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wanted = dtype::<T>(value.py());
        if let Ok(array) = value.cast::<PyUntypedArray>() {
            let found = array.dtype();
            let is_of_type = (found.kind(), found.itemsize()) == (wanted.kind(), wanted.itemsize());
            if is_of_type && D::NDIM.is_none_or(|axes| axes == array.ndim()) {
                return Ok(Self(standard(&value)?.extract()?));
            }
        }
        let axes = match D::NDIM {
            None => String::new(),
            Some(1) => " of one axis".to_owned(),
            Some(axes) => format!(" of {axes} axes"),
        };
        Err(value_error(format!("expected a {wanted} array{axes}, not {}", describe(&value))))
    }
}

/// An array in C order with aligned elements of the machine's byte order, copied if it is not so;
/// other values as they are.
pub(crate) fn standard<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(array) = value.cast::<PyUntypedArray>() else { return Ok(value.clone()) };
    let found = array.dtype();
    let is_native = found.is_native_byteorder() != Some(false);
    if array.is_c_contiguous() && is_native && array.getattr("flags")?.getattr("aligned")?.is_truthy()? {
        return Ok(value.clone());
    }
    let native = found.call_method1("newbyteorder", ("=",))?;
    value.py().import("numpy")?.call_method1("require", (array, native, "CA"))
}

/// The type of a value, and the shape of an array.
pub(crate) fn describe(value: &Bound<'_, PyAny>) -> String {
    let kind = value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    match (value.getattr("dtype"), value.getattr("shape")) {
        (Ok(dtype), Ok(shape)) => format!("an array of {dtype} with the shape {shape}"),
        _ => kind,
    }
}

/// `" (did you mean 'x'?)"` for the name that is most like the one that was typed, if one is.
pub(crate) fn did_you_mean(py: Python<'_>, typed: &str, names: &[String]) -> PyResult<String> {
    let matches = py.import("difflib")?.call_method1("get_close_matches", (typed, names, 1))?;
    let first = matches.extract::<Vec<String>>()?.into_iter().next();
    Ok(first.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)")))
}

/// Integers from an int32 array, or from anything that has a length and integers. A mask of truth
/// values is refused: its elements would be taken for 0 and 1.
pub(crate) fn integers(values: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let values = &standard(values)?;
    if let Ok(array) = values.extract::<Array<'_, i32, Ix1>>() {
        return array.to_vec();
    }
    let is_mask = |dtype: Bound<'_, PyAny>| Ok::<_, PyErr>(matches!(&*dtype.str()?.to_cow()?, "bool" | "torch.bool"));
    if values.getattr_opt("dtype")?.map_or(Ok(false), is_mask)? {
        return Err(value_error(
            "these are integers, and the array is bool: numpy.flatnonzero has the places of a mask",
        ));
    }
    Ok(list(values)?.into_iter().map(|Int(value)| value).collect())
}
