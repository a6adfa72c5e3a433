//! Shapes of lists of lists without their elements, under k2's names.

use kaldera::ragged::{RaggedShape as Shape, RowSplits};
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arguments::{Count, integers, lists};
use crate::errors::{exception, value_error};
use crate::threads;

/// The constructor that unpickles a shape, and the row splits that it takes.
type Pickle<'py> = (Bound<'py, PyAny>, (Vec<Vec<i32>>,));

/// The row splits of each axis.
#[pyclass(frozen, eq, module = "kaldera._kaldera")]
#[derive(Clone, PartialEq)]
pub(crate) struct RaggedShape {
    pub(crate) shape: Shape,
}

impl From<Shape> for RaggedShape {
    fn from(shape: Shape) -> Self {
        Self { shape }
    }
}

/// Row splits of each axis but the first.
pub(crate) fn splits_of(shape: &Shape) -> Vec<Vec<i32>> {
    (1..shape.num_axes()).map(|axis| shape.row_splits(axis).as_ref().to_vec()).collect()
}

/// The shape of row splits.
pub(crate) fn of_splits(row_splits: Vec<Vec<i32>>) -> PyResult<Shape> {
    let layers = row_splits.into_iter().map(RowSplits::new).collect::<Result<Vec<_>, _>>().map_err(exception)?;
    Shape::new(layers).map_err(exception)
}

/// The most by which the rows of a shape may outnumber its elements: a shape may not be much larger
/// than the row ids or the array that it is made from.
const MAX_EMPTY_ROWS: usize = 1 << 24;

/// True if a value is the device `cpu`; an error for another device.
pub(crate) fn is_cpu(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = value.str()?.to_string();
    let kind = name.split(':').next().unwrap_or_default();
    if ["cuda", "mps", "xpu", "meta"].contains(&kind) {
        return Err(value_error(format!("device={name} can't be: ragged tensors and automata are on the CPU")));
    }
    Ok(kind == "cpu")
}

/// An error for another device than `cpu`, and for a value that is no device.
pub(crate) fn check_cpu(device: &Bound<'_, PyAny>) -> PyResult<()> {
    if is_cpu(device)? { Ok(()) } else { Err(value_error(format!("there is no device '{device}'"))) }
}

/// The shape of an array with axes of these lengths, two at least.
pub(crate) fn regular(lengths: &[usize]) -> PyResult<Shape> {
    let elements: usize = lengths.iter().product();
    let mut rows = 1_usize;
    let mut layers = Vec::new();
    for ends in lengths.windows(2) {
        // NumPy does not count its rows without elements either.
        rows = rows.checked_mul(ends[0]).filter(|rows| rows.saturating_sub(elements) <= MAX_EMPTY_ROWS).ok_or_else(
            || value_error(format!("an array of the shape {lengths:?} leaves more than {MAX_EMPTY_ROWS} rows empty")),
        )?;
        layers.push(RowSplits::from_lengths(std::iter::repeat_n(ends[1], rows)).map_err(exception)?);
    }
    Shape::new(layers).map_err(exception)
}

/// Checks that there is an axis `axis`, `first` or later.
fn check_axis(shape: &Shape, axis: usize, first: usize) -> PyResult<()> {
    let axes = shape.num_axes();
    if (first..axes).contains(&axis) {
        return Ok(());
    }
    Err(value_error(format!("there is no axis {axis}: there are {axes}, and this takes {first} or more")))
}

/// A row of `number`; negative ones count from the end.
pub(crate) fn row_at(i: isize, number: usize) -> PyResult<usize> {
    let at = if i < 0 { i.checked_add_unsigned(number) } else { Some(i) };
    let at = at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < number);
    at.ok_or_else(|| PyIndexError::new_err(format!("there is no row {i}: there are {number}")))
}

#[pymethods]
impl RaggedShape {
    /// Reads k2's notation, `[ [ x x ] [ x ] ]`.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(text.parse::<Shape>().map_err(exception)?.into())
    }

    /// From the row splits of each axis but the first.
    #[staticmethod]
    fn from_row_splits(#[pyo3(from_py_with = lists)] row_splits: Vec<Vec<i32>>) -> PyResult<Self> {
        Ok(of_splits(row_splits)?.into())
    }

    /// From the row of each element, which may not fall.
    #[staticmethod]
    fn from_row_ids(py: Python<'_>, row_ids: &Bound<'_, PyAny>) -> PyResult<Self> {
        let row_ids = integers(row_ids)?;
        let last = row_ids.last().copied().unwrap_or(-1);
        let rows = usize::try_from(i64::from(last) + 1)
            .map_err(|_| value_error(format!("the row id {last} can't be: row ids start at 0")))?;
        if rows.saturating_sub(row_ids.len()) > MAX_EMPTY_ROWS {
            return Err(value_error(format!(
                "the row id {last} of {} elements leaves more than {MAX_EMPTY_ROWS} rows empty",
                row_ids.len()
            )));
        }
        let splits = threads::run(py, None, || RowSplits::from_row_ids(&row_ids, rows))?.map_err(exception)?;
        Ok(Shape::new([splits]).map_err(exception)?.into())
    }

    /// The same: computations are on the CPU.
    fn to(&self, device: &Bound<'_, PyAny>) -> PyResult<Self> {
        check_cpu(device).map(|()| self.clone())
    }

    /// The device of the shape: `"cpu"`.
    #[getter]
    pub(crate) fn device(&self) -> &'static str {
        "cpu"
    }

    /// `dim0` rows of `dim1` elements.
    #[staticmethod]
    fn regular_ragged_shape(dim0: Count, dim1: Count) -> PyResult<Self> {
        Ok(Shape::regular(dim0.0, dim1.0).map_err(exception)?.into())
    }

    /// The number of axes: 2 for lists.
    #[getter]
    pub(crate) fn num_axes(&self) -> usize {
        self.shape.num_axes()
    }

    /// Rows of axis 0.
    #[getter]
    pub(crate) fn dim0(&self) -> usize {
        self.shape.dim0()
    }

    /// Elements of the last axis.
    pub(crate) fn numel(&self) -> usize {
        self.shape.num_elements()
    }

    /// Elements of an axis, over all rows.
    pub(crate) fn tot_size(&self, axis: Count) -> PyResult<usize> {
        check_axis(&self.shape, axis.0, 0)?;
        Ok(self.shape.tot_size(axis.0))
    }

    /// Elements of each axis.
    fn tot_sizes(&self) -> Vec<usize> {
        self.shape.tot_sizes()
    }

    /// Elements of the longest row of an axis.
    fn max_size(&self, axis: Count) -> PyResult<usize> {
        check_axis(&self.shape, axis.0, 1)?;
        Ok(self.shape.max_size(axis.0))
    }

    /// The begin of each row of an axis, and the end: int32.
    fn row_splits<'py>(&self, py: Python<'py>, axis: Count) -> PyResult<Bound<'py, PyArray1<i32>>> {
        check_axis(&self.shape, axis.0, 1)?;
        Ok(PyArray1::from_slice(py, self.shape.row_splits(axis.0).as_ref()))
    }

    /// The row of each element of an axis: int32.
    fn row_ids<'py>(&self, py: Python<'py>, axis: Count) -> PyResult<Bound<'py, PyArray1<i32>>> {
        check_axis(&self.shape, axis.0, 1)?;
        Ok(PyArray1::from_slice(py, threads::run(py, None, || self.shape.row_ids(axis.0))?))
    }

    /// The two axes `layer` and `layer + 1`.
    fn get_layer(&self, layer: Count) -> PyResult<Self> {
        check_axis(&self.shape, layer.0.saturating_add(1), 1)?;
        Ok(self.shape.layer(layer.0).map_err(exception)?.into())
    }

    /// Without an axis.
    fn remove_axis(&self, py: Python<'_>, axis: Count) -> PyResult<Self> {
        Ok(threads::run(py, None, || self.shape.remove_axis(axis.0))?.map_err(exception)?.into())
    }

    /// With the axes of `other`, whose rows are this one's elements.
    fn compose(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Ok(threads::run(py, None, || self.shape.compose(&other.shape))?.map_err(exception)?.into())
    }

    /// The rows of an axis at `indexes`, and which elements they have.
    #[pyo3(signature = (axis, indexes, need_value_indexes=true))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        axis: Count,
        indexes: &Bound<'py, PyAny>,
        need_value_indexes: bool,
    ) -> PyResult<(Self, Option<Bound<'py, PyArray1<i32>>>)> {
        let indexes = integers(indexes)?;
        let (shape, elements) = threads::run(py, None, || self.shape.index(axis.0, &indexes))?.map_err(exception)?;
        Ok((shape.into(), need_value_indexes.then(|| PyArray1::from_vec(py, elements))))
    }

    /// Row `i` of axis 0, with one axis fewer.
    fn __getitem__(&self, py: Python<'_>, i: isize) -> PyResult<Self> {
        let at = row_at(i, self.shape.dim0())?;
        Ok(threads::run(py, None, || self.shape.index0(at))?.map_err(exception)?.into())
    }

    fn __len__(&self) -> usize {
        self.shape.dim0()
    }

    fn __str__(&self) -> String {
        self.shape.to_string()
    }

    fn __repr__(&self) -> String {
        self.shape.to_string()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickle<'py>> {
        Ok((slf.get_type().getattr("from_row_splits")?, (splits_of(&slf.get().shape),)))
    }
}
