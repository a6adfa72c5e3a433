//! Ragged tensors under k2's names.

use kaldera::ragged::{
    Error, Number, Numbers, Order, PadMode, PadSide, Ragged, RaggedShape as Shape, RowSplits, index_and_sum as sums_of,
    index_tensor_ragged,
};
use numpy::{Ix1, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PySlice, PyTuple};

use crate::arguments::{Array, Count, in_range, integers, list, lists};
use crate::errors::{exception, value_error};
use crate::shape::{RaggedShape, check_cpu, is_cpu, of_splits, regular, row_at, splits_of};
use crate::threads;

/// Values of either type.
#[derive(Clone, PartialEq)]
enum Values {
    I32(Ragged<i32>),
    F32(Ragged<f32>),
    F64(Ragged<f64>),
}

/// A list of lists, of any depth, with rows of any length. Only `sort_` changes it.
#[pyclass(eq, module = "kaldera._kaldera")]
#[derive(Clone, PartialEq)]
pub(crate) struct RaggedTensor {
    values: Values,
}

/// Computes with the values, whichever type they are of.
macro_rules! each {
    ($this:expr, |$ragged:ident| $result:expr) => {
        match &$this.values {
            Values::I32($ragged) => $result,
            Values::F32($ragged) => $result,
            Values::F64($ragged) => $result,
        }
    };
}

/// Another tensor of the same type.
macro_rules! made {
    ($this:expr, |$ragged:ident| $result:expr) => {
        RaggedTensor {
            values: match &$this.values {
                Values::I32($ragged) => Values::I32($result),
                Values::F32($ragged) => Values::F32($result),
                Values::F64($ragged) => Values::F64($result),
            },
        }
    };
}

/// A number for each innermost row, computed from an initial value if there is one.
macro_rules! reduced {
    ($this:ident, $py:ident, $initial:ident, $from:ident or $without:ident) => {{
        let initial = $initial.map(|value| exact($this, "initial_value", value)).transpose()?;
        each!($this, |ragged| {
            let numbers = threads::run($py, None, || match initial {
                Some(initial) => ragged.$from(initial.convert()),
                None => ragged.$without(),
            });
            Ok(PyArray1::from_vec($py, numbers?).into_any())
        })
    }};
}

/// Rows, how often each was there, and where.
type Unique<'py> = (RaggedTensor, Option<RaggedTensor>, Option<Bound<'py, PyArray1<i32>>>);

/// Row splits and values, which a pickle has.
type Parts<'py> = (Vec<Vec<i32>>, Bound<'py, PyAny>);

/// The lists of lists may be so deep.
const MAX_AXES: usize = 32;

/// The name of a type: of a text, of `numpy.int32`, `numpy.dtype("int32")` or `torch.int32`.
fn name_of(dtype: &str) -> &str {
    let name = dtype.strip_prefix("<class '").and_then(|name| name.strip_suffix("'>")).unwrap_or(dtype);
    ["numpy.", "torch."].into_iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name)
}

/// Values of a type. Integers must be exact in it, and all values in its range.
fn cast(ragged: Ragged<f64>, dtype: &str, integers: bool) -> PyResult<Values> {
    let lost = |value: f64, name: &str| value_error(format!("the value {value} can't be exactly {name}"));
    Ok(match name_of(dtype) {
        "int32" => {
            let wrong = ragged.values().iter().find(|&&value| value.convert::<i32>().convert::<f64>() != value);
            if let Some(&value) = wrong {
                return Err(lost(value, "int32"));
            }
            Values::I32(ragged.to_dtype())
        }
        "float32" => {
            let wrong = ragged.values().iter().find(|&&value| {
                let single: f32 = value.convert();
                (single.is_infinite() && value.is_finite()) || (integers && f64::from(single) != value)
            });
            if let Some(&value) = wrong {
                return Err(lost(value, "float32"));
            }
            Values::F32(ragged.to_dtype())
        }
        "float64" => Values::F64(ragged),
        _ => return Err(value_error(format!("dtype={dtype} can't be: it must be int32, float32 or float64"))),
    })
}

/// True if Python takes a value for an integer.
fn is_integer(item: &Bound<'_, PyAny>) -> bool {
    !item.is_instance_of::<PyFloat>() && item.call_method0("__index__").is_ok()
}

/// A number; integers must be exact.
fn number(item: &Bound<'_, PyAny>) -> PyResult<f64> {
    let value: f64 = item.extract().map_err(|error| in_range(item, error, "a number that float64 can hold"))?;
    if !item.is_instance_of::<PyFloat>() && !item.eq(value)? && !value.is_nan() {
        return Err(value_error(format!("the value {} can't be exactly float64", item.str()?)));
    }
    Ok(value)
}

/// The splits and the numbers of lists of lists, and whether all are integers.
fn flatten(data: &Bound<'_, PyAny>) -> PyResult<(Shape, Vec<f64>, bool)> {
    let mut rows: Vec<Bound<'_, PyAny>> = vec![data.clone()];
    let mut layers: Vec<RowSplits> = Vec::new();
    let mut outermost = true;
    loop {
        let (mut items, mut lengths) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in &rows {
            let before = items.len();
            for item in row.try_iter()? {
                items.push(item?);
            }
            lengths.push(items.len() - before);
        }
        // The outermost list has no splits.
        if !outermost {
            layers.push(RowSplits::from_lengths(lengths).map_err(exception)?);
        }
        outermost = false;
        let is_list = |item: &Bound<'_, PyAny>| item.cast::<PyList>().is_ok() || item.cast::<PyTuple>().is_ok();
        let lists = items.iter().filter(|item| is_list(item)).count();
        if lists == 0 && !layers.is_empty() {
            let all_int = items.iter().all(is_integer);
            let values = items.iter().map(number).collect::<PyResult<_>>()?;
            return Ok((Shape::new(layers).map_err(exception)?, values, all_int));
        }
        if lists < items.len() || (lists == 0 && !items.is_empty()) {
            return Err(value_error("a ragged tensor is a list of lists, all of one depth"));
        }
        if items.is_empty() {
            // A list without lists has two axes.
            let splits = RowSplits::from_lengths([]).map_err(exception)?;
            return Ok((Shape::new([splits]).map_err(exception)?, vec![], true));
        }
        if layers.len() >= MAX_AXES {
            return Err(value_error(format!("a ragged tensor has at most {MAX_AXES} axes")));
        }
        rows = items;
    }
}

impl RaggedTensor {
    fn shape_of(&self) -> &Shape {
        each!(self, |ragged| ragged.shape())
    }

    /// The lists, if they are of int32.
    pub(crate) fn ints(&self) -> PyResult<&Ragged<i32>> {
        match &self.values {
            Values::I32(ragged) => Ok(ragged),
            Values::F32(_) => Err(value_error("this is for int32, and the values are float32")),
            Values::F64(_) => Err(value_error("this is for int32, and the values are float64")),
        }
    }
}

impl From<Ragged<i32>> for RaggedTensor {
    fn from(lists: Ragged<i32>) -> Self {
        Self { values: Values::I32(lists) }
    }
}

/// A number as k2's `object` arguments have it, which must be exact in the type of the values.
fn exact(tensor: &RaggedTensor, name: &str, value: f64) -> PyResult<f64> {
    if matches!(tensor.values, Values::I32(_)) && value.convert::<i32>().convert::<f64>() != value {
        return Err(value_error(format!("{name}={value} can't be exactly int32")));
    }
    Ok(value)
}

/// The numbers of an array of one axis and of a type.
fn numbers_of<T: numpy::Element + Copy>(values: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let values = as_array(values)?;
    let values = values.extract::<Array<'_, T, Ix1>>();
    let values =
        values.map_err(|_| value_error(format!("this takes an array of one axis, of {dtype} as the tensor")))?;
    values.to_vec()
}

/// NumPy's array of another library's on any device, or of a list.
fn as_array<'py>(values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(requires_grad) = values.getattr_opt("requires_grad")?
        && requires_grad.is_truthy()?
    {
        return Err(value_error("ragged tensors have no gradients: pass .detach()"));
    }
    // At a call the module is loaded: it imports this library, and makes no tensor while it is
    // imported.
    values.py().import("kaldera.k2._arrays")?.call_method1("numpy_of", (values,))
}

/// Rows of one length, from an array of two axes or more.
fn of_array(array: &Bound<'_, PyAny>) -> PyResult<RaggedTensor> {
    let array = as_array(array)?;
    let lengths: Vec<usize> = array.getattr("shape")?.extract()?;
    if lengths.len() > MAX_AXES {
        return Err(value_error(format!("a ragged tensor has at most {MAX_AXES} axes")));
    }
    of_values(regular(&lengths)?, &array.call_method1("reshape", (-1,))?)
}

/// Lists with the values of an array.
fn of_values(shape: Shape, values: &Bound<'_, PyAny>) -> PyResult<RaggedTensor> {
    let values = if let Ok(values) = values.extract::<Array<'_, i32, Ix1>>() {
        Values::I32(Ragged::new(shape, values.to_vec()?).map_err(exception)?)
    } else if let Ok(values) = values.extract::<Array<'_, f64, Ix1>>() {
        Values::F64(Ragged::new(shape, values.to_vec()?).map_err(exception)?)
    } else {
        let values = values.extract::<Array<'_, f32, Ix1>>();
        let values = values.map_err(|_| value_error("values are an int32, float32 or float64 array of one axis"))?;
        Values::F32(Ragged::new(shape, values.to_vec()?).map_err(exception)?)
    };
    Ok(RaggedTensor { values })
}

#[pymethods]
impl RaggedTensor {
    #[new]
    #[pyo3(signature = (data, dtype=None, device=None, *, value=None))]
    fn new(
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Some(device) = device {
            check_cpu(device)?;
        }
        if let Ok(shape) = data.cast::<RaggedShape>() {
            // k2's second argument is then the values.
            let values = value.or(dtype);
            let values = values.ok_or_else(|| value_error("a shape needs the values: RaggedTensor(shape, values)"))?;
            return of_values(shape.get().shape.clone(), &as_array(values)?);
        }
        if value.is_some() {
            return Err(value_error("value= are the values of a shape: RaggedTensor(shape, value=...)"));
        }
        if data.getattr("ndim").and_then(|axes| axes.extract::<usize>()).is_ok_and(|axes| axes >= 2) {
            let made = of_array(data)?;
            return dtype.map_or(Ok(made.clone()), |dtype| made.to(dtype));
        }
        let dtype = dtype.map(|dtype| Ok::<_, PyErr>(dtype.str()?.to_string())).transpose()?;
        if let Ok(text) = data.extract::<String>() {
            let values = match dtype {
                None => match text.parse::<Numbers>().map_err(exception)? {
                    Numbers::I32(ragged) => Values::I32(ragged),
                    Numbers::F32(ragged) => Values::F32(ragged),
                },
                Some(dtype) => cast(text.parse().map_err(exception)?, &dtype, false)?,
            };
            return Ok(Self { values });
        }
        if data.cast::<PyList>().is_err() && data.cast::<PyTuple>().is_err() {
            return Err(PyTypeError::new_err(
                "a ragged tensor is made of a list of lists, of k2's text, or of an array of two axes or more",
            ));
        }
        let (shape, values, all_int) = flatten(data)?;
        let ragged = Ragged::new(shape, values).map_err(exception)?;
        let dtype = dtype.unwrap_or_else(|| if all_int { "int32".into() } else { "float32".into() });
        Ok(Self { values: cast(ragged, &dtype, all_int)? })
    }

    /// From the row splits of each axis but the first, and the values.
    #[staticmethod]
    fn from_row_splits(
        #[pyo3(from_py_with = lists)] row_splits: Vec<Vec<i32>>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        of_values(of_splits(row_splits)?, values)
    }

    /// The name of the type of the values.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.values {
            Values::I32(_) => "int32",
            Values::F32(_) => "float32",
            Values::F64(_) => "float64",
        }
    }

    /// The same numbers of another type, or the same on the device `cpu`.
    fn to(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_cpu(dtype)? {
            return Ok(self.clone());
        }
        let integers = matches!(self.values, Values::I32(_));
        let wide = each!(self, |ragged| ragged.to_dtype::<f64>());
        Ok(Self { values: cast(wide, &dtype.str()?.to_string(), integers)? })
    }

    /// The number of axes: 2 for a list of lists.
    #[getter]
    fn num_axes(&self) -> usize {
        self.shape().num_axes()
    }

    /// Rows of axis 0.
    #[getter]
    fn dim0(&self) -> usize {
        self.shape().dim0()
    }

    /// The number of values.
    fn numel(&self) -> usize {
        self.shape().numel()
    }

    /// Elements of an axis, over all rows.
    fn tot_size(&self, axis: Count) -> PyResult<usize> {
        self.shape().tot_size(axis)
    }

    fn __len__(&self) -> usize {
        self.dim0()
    }

    /// The device of the values: `"cpu"`.
    #[getter]
    fn device(&self) -> &'static str {
        self.shape().device()
    }

    /// False: the values are never on a GPU.
    #[getter]
    fn is_cuda(&self) -> bool {
        false
    }

    /// A copy.
    #[pyo3(name = "clone")]
    fn copy(&self) -> Self {
        self.clone()
    }

    /// All values: [numel].
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        each!(self, |ragged| PyArray1::from_slice(py, ragged.values()).into_any())
    }

    fn __str__(&self) -> String {
        each!(self, |ragged| ragged.to_k2_string())
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }

    /// All in one line.
    fn to_str_simple(&self) -> String {
        each!(self, |ragged| ragged.to_k2_string_compact())
    }

    /// Of an integer that row of axis 0: an array of two axes' rows, a tensor with one axis fewer
    /// otherwise. Of a slice with the step 1, and of an int32 array, the tensor of those rows.
    fn __getitem__<'py>(&self, py: Python<'py>, i: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = i.cast::<PySlice>() {
            let rows = isize::try_from(self.dim0()).map_err(exception)?;
            let ends = slice.indices(rows)?;
            if ends.step != 1 {
                return Err(value_error(format!("the step of a slice of rows is 1, and this one's is {}", ends.step)));
            }
            let [begin, end] = [ends.start, ends.stop.max(ends.start)];
            let [begin, end] = [usize::try_from(begin).map_err(exception)?, usize::try_from(end).map_err(exception)?];
            return Ok(self.arange(py, Count(0), Count(begin), Count(end))?.into_pyobject(py)?.into_any());
        }
        if i.getattr("ndim").and_then(|axes| axes.extract::<usize>()).is_ok_and(|axes| axes == 1) {
            let rows = integers(&as_array(i)?)?;
            let picked: PyResult<Self> =
                threads::run(py, None, || Ok(made!(self, |ragged| ragged.index(0, &rows).map_err(exception)?.0)))?;
            return Ok(picked?.into_pyobject(py)?.into_any());
        }
        let at = row_at(i.extract()?, self.dim0())?;
        if self.num_axes() == 2 {
            return Ok(each!(self, |ragged| PyArray1::from_slice(py, ragged.row(at)).into_any()));
        }
        let row: PyResult<Self> =
            threads::run(py, None, || Ok(made!(self, |ragged| ragged.index0(at).map_err(exception)?)))?;
        Ok(row?.into_pyobject(py)?.into_any())
    }

    /// The lists of lists without their values.
    #[getter]
    fn shape(&self) -> RaggedShape {
        self.shape_of().clone().into()
    }

    /// The rows of an axis at `indexes`, and the indexes of their values, None unless asked for.
    /// Lists of indexes, a `RaggedTensor`, give one tensor, with one axis more.
    #[pyo3(signature = (indexes, axis=Count(0), need_value_indexes=false))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        indexes: &Bound<'py, PyAny>,
        axis: Count,
        need_value_indexes: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(lists) = indexes.cast::<Self>() {
            let lists = lists.try_borrow()?;
            let lists = lists.ints()?;
            let made: PyResult<Self> =
                threads::run(py, None, || Ok(made!(self, |ragged| ragged.index_ragged(lists).map_err(exception)?)))?;
            return Ok(made?.into_pyobject(py)?.into_any());
        }
        let indexes = integers(indexes)?;
        let elements;
        let made = made!(self, |ragged| {
            let (made, own) = threads::run(py, None, || ragged.index(axis.0, &indexes))?.map_err(exception)?;
            elements = own;
            made
        });
        let elements = need_value_indexes.then(|| PyArray1::from_vec(py, elements));
        Ok((made, elements).into_pyobject(py)?.into_any())
    }

    /// The rows of an axis from `begin` to before `end`.
    fn arange(&self, py: Python<'_>, axis: Count, begin: Count, end: Count) -> PyResult<Self> {
        threads::run(py, None, || {
            Ok(made!(self, |ragged| ragged.arange(axis.0, begin.0, end.0).map_err(exception)?))
        })?
    }

    /// Without an axis: the rows of axis 0 one after the other, or inner lists joined.
    fn remove_axis(&self, py: Python<'_>, axis: Count) -> PyResult<Self> {
        threads::run(py, None, || Ok(made!(self, |ragged| ragged.remove_axis(axis.0).map_err(exception)?)))?
    }

    /// Without the values that equal `target`.
    fn remove_values_eq(&self, py: Python<'_>, target: f64) -> PyResult<Self> {
        threads::run(py, None, || made!(self, |ragged| ragged.remove_values(|&value| value.convert::<f64>() == target)))
    }

    /// Without the values that are `cutoff` or less.
    fn remove_values_leq(&self, py: Python<'_>, cutoff: f64) -> PyResult<Self> {
        threads::run(py, None, || made!(self, |ragged| ragged.remove_values(|&value| value.convert::<f64>() <= cutoff)))
    }

    /// The values of each innermost row and `alpha` times the row's of `value`: [innermost rows].
    fn add(&self, py: Python<'_>, value: &Bound<'_, PyAny>, alpha: f64) -> PyResult<Self> {
        let (alpha, dtype) = (exact(self, "alpha", alpha)?, self.dtype());
        Ok(made!(self, |ragged| {
            let value = numbers_of(value, dtype)?;
            threads::run(py, None, || ragged.add(&value, alpha.convert()))?.map_err(exception)?
        }))
    }

    /// The sum of each innermost row and `initial_value`.
    #[pyo3(signature = (initial_value=0.0))]
    fn sum<'py>(&self, py: Python<'py>, initial_value: f64) -> PyResult<Bound<'py, PyAny>> {
        let initial = exact(self, "initial_value", initial_value)?;
        each!(self, |ragged| {
            let sums = threads::run(py, None, || ragged.sum_from(initial.convert()))?;
            Ok(PyArray1::from_vec(py, sums).into_any())
        })
    }

    /// The highest value of each innermost row, `initial_value` if that is higher; without one, the
    /// lowest number for an empty row.
    #[pyo3(signature = (initial_value=None))]
    fn max<'py>(&self, py: Python<'py>, initial_value: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        reduced!(self, py, initial_value, max_from or max)
    }

    /// The lowest value of each innermost row, `initial_value` if that is lower; without one, the
    /// highest number for an empty row.
    #[pyo3(signature = (initial_value=None))]
    fn min<'py>(&self, py: Python<'py>, initial_value: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        reduced!(self, py, initial_value, min_from or min)
    }

    /// The index of the highest value of each innermost row, among all values; -1 for an empty
    /// row, and if all are below `initial_value`.
    #[pyo3(signature = (initial_value=None))]
    fn argmax<'py>(&self, py: Python<'py>, initial_value: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        reduced!(self, py, initial_value, argmax_from or argmax)
    }

    /// The logarithm of the sum of exponentials of each innermost row and of `initial_value`.
    #[pyo3(signature = (initial_value=f64::NEG_INFINITY))]
    fn logsumexp<'py>(&self, py: Python<'py>, initial_value: f64) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.values {
            Values::I32(_) => return Err(no_floats()),
            Values::F32(ragged) => {
                let sums = threads::run(py, None, || ragged.logsumexp_from(initial_value.convert()))?;
                PyArray1::from_vec(py, sums).into_any()
            }
            Values::F64(ragged) => {
                PyArray1::from_vec(py, threads::run(py, None, || ragged.logsumexp_from(initial_value))?).into_any()
            }
        })
    }

    /// Rows that sum to 1, or whose exponentials do.
    fn normalize(&self, py: Python<'_>, use_log: bool) -> PyResult<Self> {
        let values = threads::run(py, None, || match (&self.values, use_log) {
            (Values::I32(_), _) => Err(no_floats()),
            (Values::F32(ragged), true) => Ok(Values::F32(ragged.normalize_log())),
            (Values::F32(ragged), false) => Ok(Values::F32(ragged.normalize_linear())),
            (Values::F64(ragged), true) => Ok(Values::F64(ragged.normalize_log())),
            (Values::F64(ragged), false) => Ok(Values::F64(ragged.normalize_linear())),
        })?;
        Ok(Self { values: values? })
    }

    /// Sorts each innermost row, in place; equal values keep their order. With
    /// `need_new2old_indexes`, returns the old index of each value: int32 [numel].
    #[pyo3(signature = (descending=false, need_new2old_indexes=false))]
    fn sort_<'py>(
        slf: &Bound<'py, Self>,
        descending: bool,
        need_new2old_indexes: bool,
    ) -> PyResult<Option<Bound<'py, PyArray1<i32>>>> {
        let py = slf.py();
        let order = if descending { Order::Descending } else { Order::Ascending };
        // Other threads may begin to read while this sorts; while one computes with the tensor, it
        // cannot be replaced, and that is a RuntimeError.
        let (sorted, new2old) = {
            let this = slf.try_borrow()?.clone();
            threads::run(py, None, move || {
                let new2old;
                let sorted = made!(this, |ragged| {
                    let mut sorted = ragged.clone();
                    new2old = sorted.sort_with_map(order);
                    sorted
                });
                (sorted, new2old)
            })?
        };
        slf.try_borrow_mut()?.values = sorted.values;
        Ok(need_new2old_indexes.then(|| PyArray1::from_vec(py, new2old)))
    }

    /// Tensors of one type joined along an axis.
    #[staticmethod]
    fn cat<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = list)] srcs: Vec<PyRef<'py, Self>>,
        axis: Count,
    ) -> PyResult<Self> {
        ragged_cat(py, srcs, axis)
    }

    /// The different innermost rows of each list of them; how often each was there, and where at
    /// first among all innermost rows, None unless asked for.
    #[pyo3(signature = (need_num_repeats=false, need_new2old_indexes=false))]
    fn unique<'py>(
        &self,
        py: Python<'py>,
        need_num_repeats: bool,
        need_new2old_indexes: bool,
    ) -> PyResult<Unique<'py>> {
        let lists = self.ints()?;
        let found = threads::run(py, None, || lists.unique())?;
        let num_repeats = need_num_repeats.then(|| found.num_repeats.into());
        Ok((found.rows.into(), num_repeats, need_new2old_indexes.then(|| PyArray1::from_vec(py, found.new2old))))
    }

    /// Rows of the same length: [rows, longest].
    #[pyo3(signature = (mode="constant", padding_value=0.0))]
    fn pad<'py>(&self, py: Python<'py>, mode: &str, padding_value: f64) -> PyResult<Bound<'py, PyAny>> {
        let mode = match mode {
            "constant" => PadMode::Constant,
            "replicate" => PadMode::Replicate,
            _ => return Err(value_error(format!("mode='{mode}' can't be: it must be 'constant' or 'replicate'"))),
        };
        let padding_value = exact(self, "padding_value", padding_value)?;
        each!(self, |ragged| {
            let padded = threads::run(py, None, || ragged.pad(mode, PadSide::Right, padding_value.convert()))?;
            let padded = padded.map_err(exception)?;
            let shape = [padded.num_rows(), padded.num_cols()];
            Ok(PyArray1::from_vec(py, padded.into_values()).reshape(shape)?.into_any())
        })
    }

    /// The lists of lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut items: Vec<Bound<'py, PyAny>> = each!(self, |ragged| {
            ragged.values().iter().map(|&value| Ok(value.into_pyobject(py)?.into_any())).collect::<PyResult<_>>()?
        });
        for axis in (1..self.num_axes()).rev() {
            let splits: &[i32] = self.shape_of().row_splits(axis).as_ref();
            let rows = splits.windows(2).map(|ends| {
                let own = usize::try_from(ends[0]).unwrap_or(0)..usize::try_from(ends[1]).unwrap_or(0);
                Ok(PyList::new(py, &items[own])?.into_any())
            });
            items = rows.collect::<PyResult<_>>()?;
        }
        Ok(PyList::new(py, items)?.into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let this = slf.try_borrow()?;
        let splits = splits_of(this.shape_of());
        Ok((slf.get_type().getattr("from_row_splits")?, (splits, this.values(slf.py()))))
    }

    /// The values, for `from_dlpack` of any library.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(&self, py: Python<'py>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        self.values(py).call_method("__dlpack__", (), options)
    }

    /// The CPU.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.values(py).call_method0("__dlpack_device__")
    }
}

fn no_floats() -> PyErr {
    value_error("this is for float32 and float64: use .to('float32')")
}

/// Tensors joined along an axis.
#[pyfunction]
pub(crate) fn ragged_cat<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] tensors: Vec<PyRef<'py, RaggedTensor>>,
    axis: Count,
) -> PyResult<RaggedTensor> {
    let joined = |error: Error| exception(error);
    let first = tensors.first().ok_or_else(|| value_error("there is nothing to concatenate"))?;
    macro_rules! of_type {
        ($variant:ident) => {{
            let parts = tensors.iter().map(|tensor| match &tensor.values {
                Values::$variant(ragged) => Ok(ragged),
                _ => Err(value_error("the tensors have different types")),
            });
            let parts = parts.collect::<PyResult<Vec<_>>>()?;
            Values::$variant(threads::run(py, None, || Ragged::cat(axis.0, &parts))?.map_err(joined)?)
        }};
    }
    let values = match first.values {
        Values::I32(_) => of_type!(I32),
        Values::F32(_) => of_type!(F32),
        Values::F64(_) => of_type!(F64),
    };
    Ok(RaggedTensor { values })
}

/// The elements of an array at lists of indexes, `default` for -1: lists of numbers.
#[pyfunction]
pub(crate) fn index_lists(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    indexes: &RaggedTensor,
    default: i32,
) -> PyResult<RaggedTensor> {
    let indexes = indexes.ints()?;
    if let Ok(values) = values.extract::<Array<'_, i32, Ix1>>() {
        let values = values.to_vec()?;
        return Ok(threads::run(py, None, || index_tensor_ragged(&values, indexes, default))?
            .map_err(exception)?
            .into());
    }
    let values = values.extract::<Array<'_, f32, Ix1>>();
    let values = values.map_err(|_| value_error("values are an int32 or float32 array of one axis"))?;
    let (values, default) = (values.to_vec()?, f64::from(default).convert());
    let made = threads::run(py, None, || index_tensor_ragged(&values, indexes, default))?.map_err(exception)?;
    Ok(RaggedTensor { values: Values::F32(made) })
}

/// The sum of the elements at each list of indexes.
#[pyfunction]
pub(crate) fn index_and_sum<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    indexes: &RaggedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    let indexes = indexes.ints()?;
    if let Ok(values) = values.extract::<Array<'_, f64, Ix1>>() {
        let values = values.to_vec()?;
        let sums = threads::run(py, None, || sums_of(&values, indexes))?.map_err(exception)?;
        return Ok(PyArray1::from_vec(py, sums).into_any());
    }
    let values = values.extract::<Array<'_, f32, Ix1>>();
    let values = values.map_err(|_| value_error("values are a float32 or float64 array of one axis"))?;
    let values = values.to_vec()?;
    let sums = threads::run(py, None, || sums_of(&values, indexes))?.map_err(exception)?;
    Ok(PyArray1::from_vec(py, sums).into_any())
}
