//! Lists of lists without what they hold, under k2's names.

use kaldera::ragged::{RaggedShape as Shape, RowSplits};
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arguments::integers;
use crate::errors::{exception, value_error};

/// What makes a shape again, and the row splits that it takes.
type Pickle<'py> = (Bound<'py, PyAny>, (Vec<Vec<i32>>,));

/// Where the rows of each axis end.
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

/// An axis from `first` on that there is.
pub(crate) fn check_axis(shape: &Shape, axis: usize, first: usize) -> PyResult<()> {
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
    fn from_row_splits(row_splits: Vec<Vec<i32>>) -> PyResult<Self> {
        Ok(of_splits(row_splits)?.into())
    }

    /// `dim0` rows of `dim1` elements.
    #[staticmethod]
    fn regular_ragged_shape(dim0: usize, dim1: usize) -> PyResult<Self> {
        Ok(Shape::regular(dim0, dim1).map_err(exception)?.into())
    }

    /// How many axes: 2 for lists.
    #[getter]
    fn num_axes(&self) -> usize {
        self.shape.num_axes()
    }

    /// Rows of axis 0.
    #[getter]
    fn dim0(&self) -> usize {
        self.shape.dim0()
    }

    /// Elements of the last axis.
    fn numel(&self) -> usize {
        self.shape.num_elements()
    }

    /// Elements of an axis, over all rows.
    fn tot_size(&self, axis: usize) -> PyResult<usize> {
        check_axis(&self.shape, axis, 0)?;
        Ok(self.shape.tot_size(axis))
    }

    /// Elements of each axis.
    fn tot_sizes(&self) -> Vec<usize> {
        self.shape.tot_sizes()
    }

    /// Elements of the longest row of an axis.
    fn max_size(&self, axis: usize) -> PyResult<usize> {
        check_axis(&self.shape, axis, 1)?;
        Ok(self.shape.max_size(axis))
    }

    /// Where each row of an axis begins, and the end: int32.
    fn row_splits<'py>(&self, py: Python<'py>, axis: usize) -> PyResult<Bound<'py, PyArray1<i32>>> {
        check_axis(&self.shape, axis, 1)?;
        Ok(PyArray1::from_slice(py, self.shape.row_splits(axis).as_ref()))
    }

    /// The row of each element of an axis: int32.
    fn row_ids<'py>(&self, py: Python<'py>, axis: usize) -> PyResult<Bound<'py, PyArray1<i32>>> {
        check_axis(&self.shape, axis, 1)?;
        Ok(PyArray1::from_slice(py, self.shape.row_ids(axis)))
    }

    /// The two axes `layer` and `layer + 1`.
    fn get_layer(&self, layer: usize) -> PyResult<Self> {
        check_axis(&self.shape, layer.saturating_add(1), 1)?;
        Ok(self.shape.layer(layer).map_err(exception)?.into())
    }

    /// Without an axis.
    fn remove_axis(&self, axis: usize) -> PyResult<Self> {
        Ok(self.shape.remove_axis(axis).map_err(exception)?.into())
    }

    /// With the axes of `other`, whose rows are this one's elements.
    fn compose(&self, other: &Self) -> PyResult<Self> {
        Ok(self.shape.compose(&other.shape).map_err(exception)?.into())
    }

    /// The rows of an axis at `indexes`, and which elements they have.
    #[pyo3(signature = (axis, indexes, need_value_indexes=true))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        axis: usize,
        indexes: &Bound<'py, PyAny>,
        need_value_indexes: bool,
    ) -> PyResult<(Self, Option<Bound<'py, PyArray1<i32>>>)> {
        let (shape, elements) = self.shape.index(axis, &integers(indexes)?).map_err(exception)?;
        Ok((shape.into(), need_value_indexes.then(|| PyArray1::from_vec(py, elements))))
    }

    /// Row `i` of axis 0, with one axis fewer.
    fn __getitem__(&self, i: isize) -> PyResult<Self> {
        let at = row_at(i, self.shape.dim0())?;
        Ok(self.shape.index0(at).map_err(exception)?.into())
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
