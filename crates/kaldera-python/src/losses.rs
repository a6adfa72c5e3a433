//! Losses of padded batches, with the data that their gradients need.

use kaldera::decoder::align::{AlignOptions, forced_align as align};
use kaldera::decoder::{FrameTimes, LogProbs};
use kaldera::losses::rnnt::{
    PruneRanges, RnntType, SimpleRnntSaved, Trellis, get_rnnt_prune_ranges as ranges_of,
    mutual_information_recursion as recursion, rnnt_loss_pruned as pruned, rnnt_loss_smoothed,
};
use kaldera::losses::{
    CtcOptions, CtcSaved, Error, Impossible, Padded, Ragged, Real, Reduction, RnntOptions, RnntSaved, ctc_loss as ctc,
    rnnt_loss as rnnt,
};
use numpy::{Ix3, IxDyn, PyArray1, PyArray3, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

use crate::arguments::{Array, Count, Int, describe, list, lists};
use crate::errors::{exception, value_error};
use crate::threads;

/// A gradient with its shape.
pub(crate) enum Gradient {
    F32(Vec<usize>, Vec<f32>),
    F64(Vec<usize>, Vec<f64>),
}

impl Gradient {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::F32(shape, values) => PyArray1::from_vec(py, values).reshape(shape)?.into_any(),
            Self::F64(shape, values) => PyArray1::from_vec(py, values).reshape(shape)?.into_any(),
        })
    }
}

/// float32 or float64.
trait Float: Real + numpy::Element {
    fn gradient(shape: Vec<usize>, values: Vec<Self>) -> Gradient;

    fn of(gradient: Padded<Self>) -> Gradient {
        let shape = gradient.shape().to_vec();
        Self::gradient(shape, gradient.into_buffer().into_vec())
    }
}

impl Float for f32 {
    fn gradient(shape: Vec<usize>, values: Vec<Self>) -> Gradient {
        Gradient::F32(shape, values)
    }
}

impl Float for f64 {
    fn gradient(shape: Vec<usize>, values: Vec<Self>) -> Gradient {
        Gradient::F64(shape, values)
    }
}

/// The data that a backward pass needs.
pub(crate) trait Saved: Send + Sync {
    fn backward(&self, grad: &[f64]) -> Result<Vec<Gradient>, Error>;
    fn occupations(&self) -> &[Trellis] {
        &[]
    }
}

impl<T: Float> Saved for CtcSaved<T, Padded<T>> {
    fn backward(&self, grad: &[f64]) -> Result<Vec<Gradient>, Error> {
        Ok(vec![T::of(CtcSaved::backward(self, grad)?)])
    }
}

impl<T: Float> Saved for RnntSaved<T, Padded<T>> {
    fn backward(&self, grad: &[f64]) -> Result<Vec<Gradient>, Error> {
        Ok(vec![T::of(RnntSaved::backward(self, grad)?)])
    }
}

impl<T: Float> Saved for SimpleRnntSaved<T, Padded<T>> {
    fn backward(&self, grad: &[f64]) -> Result<Vec<Gradient>, Error> {
        let (by_am, by_lm) = SimpleRnntSaved::backward(self, grad)?;
        Ok(vec![T::of(by_am), T::of(by_lm)])
    }
    fn occupations(&self) -> &[Trellis] {
        SimpleRnntSaved::occupations(self)
    }
}

/// The data that the gradient of a loss needs.
#[pyclass(frozen, module = "kaldera._kaldera")]
pub(crate) struct LossSaved {
    pub(crate) saved: Box<dyn Saved>,
}

#[pymethods]
impl LossSaved {
    /// The gradients by the inputs, from that by each loss.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] grad: Vec<f64>,
        threads: Option<Count>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let gradients = threads::run(py, threads, || self.saved.backward(&grad))?.map_err(exception)?;
        gradients.into_iter().map(|gradient| gradient.into_python(py)).collect()
    }

    /// The probability that a path has each arc: px of `symbols` symbols, py of `frames` frames.
    fn occupations<'py>(&self, py: Python<'py>, symbols: Count, frames: Count) -> Occupations<'py> {
        let trellises: Vec<_> = self.saved.occupations().iter().map(|trellis| (trellis, [0, 0])).collect();
        occupations(py, &trellises, symbols.0, frames.0)
    }
}

/// px [B, S, T + 1] or [B, S, T], and py [B, S + 1, T].
type Occupations<'py> = PyResult<(Bound<'py, PyArray3<f64>>, Bound<'py, PyArray3<f64>>)>;

/// Zeros for an array of a shape that the caller names.
fn zeros(shape: [usize; 3]) -> PyResult<Vec<f64>> {
    let (mut made, length) = (Vec::new(), shape.iter().try_fold(1_usize, |length, &axis| length.checked_mul(axis)));
    let reserved = length.and_then(|length| made.try_reserve_exact(length).ok().map(|()| length));
    let length =
        reserved.ok_or_else(|| value_error(format!("there is no memory for an array of the shape {shape:?}")))?;
    made.resize(length, 0.0);
    Ok(made)
}

/// Padded arrays of trellises, each of which begins at a symbol and a frame.
fn occupations<'py>(
    py: Python<'py>,
    trellises: &[(&Trellis, [usize; 2])],
    symbols: usize,
    frames: usize,
) -> Occupations<'py> {
    let is_regular = trellises.iter().any(|(trellis, _)| trellis.rnnt_type() == RnntType::Regular);
    let columns = frames.saturating_add(usize::from(is_regular));
    let number = trellises.len();
    let fits = |(trellis, [symbol, frame]): &(&Trellis, [usize; 2])| {
        [(trellis.num_symbols(), *symbol, symbols), (trellis.num_frames(), *frame, frames)]
            .into_iter()
            .all(|(number, first, end)| number.checked_add(first).is_some_and(|last| last <= end))
    };
    if !trellises.iter().all(fits) {
        return Err(value_error(format!("{symbols} symbols and {frames} frames are fewer than a sequence has")));
    }
    let mut by_px = zeros([number, symbols, columns])?;
    let mut by_py = zeros([number, symbols.saturating_add(1), frames])?;
    for (i, (trellis, [first_symbol, first_frame])) in trellises.iter().enumerate() {
        let last_frame = trellis.num_frames() + usize::from(is_regular);
        for s in 0..trellis.num_symbols() {
            let row = ((i * symbols) + first_symbol + s) * columns + first_frame;
            (0..last_frame).for_each(|t| by_px[row + t] = trellis.px(s, t));
        }
        for s in 0..=trellis.num_symbols() {
            let row = ((i * (symbols + 1)) + first_symbol + s) * frames + first_frame;
            (0..trellis.num_frames()).for_each(|t| by_py[row + t] = trellis.py(s, t));
        }
    }
    let by_px = PyArray1::from_vec(py, by_px).reshape([number, symbols, columns])?;
    Ok((by_px, PyArray1::from_vec(py, by_py).reshape([number, symbols + 1, frames])?))
}

/// The trellises of k2's px [B, S, T + 1] or [B, S, T], and py [B, S + 1, T], within boundaries.
fn trellises(px: &Array<'_, f64, Ix3>, py: &Array<'_, f64, Ix3>, boundary: &[[usize; 4]]) -> PyResult<Vec<Trellis>> {
    let ([number, symbols, columns], frames) = ([px.shape()[0], px.shape()[1], px.shape()[2]], py.shape()[2]);
    let fits = py.shape() == [number, symbols + 1, frames] && boundary.len() == number;
    if !fits || !(columns == frames || columns == frames + 1) {
        return Err(value_error(format!(
            "px [B, S, T + 1] or [B, S, T], py [B, S + 1, T] and boundary [B, 4] do not fit: they have the shapes {:?}, \
             {:?} and {:?}",
            px.shape(),
            py.shape(),
            [boundary.len(), 4]
        )));
    }
    let rnnt_type = if columns == frames { RnntType::Modified } else { RnntType::Regular };
    let (px, py) = (px.values()?, py.values()?);
    let (of_px, of_py) = (symbols * columns, (symbols + 1) * frames);
    let made = boundary.iter().enumerate().map(|(i, &boundary)| {
        let (px, py) = (&px[i * of_px..][..of_px], &py[i * of_py..][..of_py]);
        Trellis::from_padded(rnnt_type, [symbols, frames], px, py, boundary)
    });
    made.collect::<Result<_, _>>().map_err(exception)
}

/// [B], px and py.
type Recursion<'py> = PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray3<f64>>, Bound<'py, PyArray3<f64>>)>;

/// k2's recursion: the total of each sequence, and the probability of each arc.
#[pyfunction]
pub(crate) fn mutual_information_recursion<'py>(
    py: Python<'py>,
    px: Array<'py, f64, Ix3>,
    py_: Array<'py, f64, Ix3>,
    #[pyo3(from_py_with = list)] boundary: Vec<[Count; 4]>,
) -> Recursion<'py> {
    let (symbols, frames) = (px.shape()[1], py_.shape()[2]);
    let boundary: Vec<[usize; 4]> = boundary.into_iter().map(|row| row.map(|Count(number)| number)).collect();
    let made = trellises(&px, &py_, &boundary)?;
    let (totals, saved) = threads::run(py, None, || recursion(made))?.map_err(exception)?;
    let begins = boundary.iter().map(|&[symbol, frame, ..]| [symbol, frame]);
    let occupied: Vec<_> = saved.occupations().iter().zip(begins).collect();
    let (by_px, by_py) = occupations(py, &occupied, symbols, frames)?;
    Ok((PyArray1::from_vec(py, totals), by_px, by_py))
}

/// For each frame of each sequence the first number of symbols, and how many there are.
#[pyfunction]
pub(crate) fn get_rnnt_prune_ranges(
    py: Python<'_>,
    px: Array<'_, f64, Ix3>,
    py_: Array<'_, f64, Ix3>,
    #[pyo3(from_py_with = list)] boundary: Vec<[Count; 4]>,
    s_range: Count,
) -> PyResult<(usize, Vec<Vec<usize>>)> {
    let boundary: Vec<[usize; 4]> = boundary.into_iter().map(|row| row.map(|Count(number)| number)).collect();
    let made = trellises(&px, &py_, &boundary)?;
    let ranges = threads::run(py, None, || ranges_of(&made, s_range.0))?.map_err(exception)?;
    let begins = (0..ranges.num_sequences()).map(|i| ranges.begins(i).to_vec()).collect();
    Ok((ranges.s_range(), begins))
}

fn reduction(name: &str) -> PyResult<Reduction> {
    Ok(match name {
        "none" => Reduction::None,
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        _ => return Err(value_error(format!("reduction='{name}' can't be: it must be 'none', 'mean' or 'sum'"))),
    })
}

fn padded<T: Float>(values: &Array<'_, T, IxDyn>, lengths: Vec<usize>) -> PyResult<Padded<T>> {
    Padded::new(values.to_vec()?, values.shape(), lengths).map_err(exception)
}

/// Losses as Python has them.
type Losses<'py> = PyResult<(Bound<'py, PyArray1<f64>>, LossSaved)>;

fn finished<'py>(py: Python<'py>, result: Result<(Vec<f64>, Box<dyn Saved>), Error>) -> Losses<'py> {
    let (losses, saved) = result.map_err(exception)?;
    Ok((PyArray1::from_vec(py, losses), LossSaved { saved }))
}

/// Runs a loss over inputs of either type.
macro_rules! of_either {
    ($py:ident, $threads:ident, $input:ident, |$values:ident| $loss:expr) => {{
        if let Ok($values) = $input.extract::<Array<'_, f32, IxDyn>>() {
            $loss
        } else if let Ok($values) = $input.extract::<Array<'_, f64, IxDyn>>() {
            $loss
        } else {
            Err(value_error(format!("expected an array of float32 or float64, not {}", describe($input))))
        }
    }};
}

/// CTC of logits [N, T, C].
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn ctc_loss<'py>(
    py: Python<'py>,
    logits: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = list)] lengths: Vec<usize>,
    #[pyo3(from_py_with = lists)] labels: Vec<Vec<i32>>,
    blank: Count,
    reduction_name: &str,
    zero_infinity: bool,
    threads: Option<Count>,
) -> Losses<'py> {
    let impossible = if zero_infinity { Impossible::Zero } else { Impossible::Infinite };
    let options = CtcOptions::default()
        .with_blank(blank.0)
        .with_reduction(reduction(reduction_name)?)
        .with_impossible(impossible)
        .with_allow_nan(true);
    let labels = Ragged::from_lists(&labels).map_err(exception)?;
    of_either!(py, threads, logits, |values| {
        let batch = padded(&values, lengths)?;
        let work = || {
            let (losses, saved) = ctc(&batch, &labels, &options)?;
            Ok((losses, Box::new(saved) as Box<dyn Saved>))
        };
        finished(py, threads::run(py, threads, work)?)
    })
}

fn rnnt_options(
    blank: usize,
    kind: &str,
    delay_penalty: f64,
    clamp: Option<f64>,
    reduction_name: &str,
) -> PyResult<RnntOptions> {
    let rnnt_type = match kind {
        "regular" => RnntType::Regular,
        "modified" => RnntType::Modified,
        "constrained" => RnntType::Constrained,
        _ => {
            return Err(value_error(format!(
                "rnnt_type='{kind}' can't be: it must be 'regular', 'modified' or 'constrained'"
            )));
        }
    };
    Ok(RnntOptions::default()
        .with_blank(blank)
        .with_rnnt_type(rnnt_type)
        .with_delay_penalty(delay_penalty)
        .with_clamp(clamp)
        .with_reduction(reduction(reduction_name)?)
        .with_allow_nan(true))
}

/// RNN-T of a joiner's logits: [N, T, S + 1, C], or with ranges [N, T, s_range, C].
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn rnnt_loss<'py>(
    py: Python<'py>,
    logits: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = list)] lengths: Vec<usize>,
    #[pyo3(from_py_with = lists)] labels: Vec<Vec<i32>>,
    ranges: Option<(usize, Bound<'py, PyAny>)>,
    blank: Count,
    rnnt_type: &str,
    delay_penalty: f64,
    clamp: Option<f64>,
    reduction_name: &str,
    threads: Option<Count>,
) -> Losses<'py> {
    let options = rnnt_options(blank.0, rnnt_type, delay_penalty, clamp, reduction_name)?;
    let labels = Ragged::from_lists(&labels).map_err(exception)?;
    let made = |(s_range, begins)| PruneRanges::new(s_range, lists(&begins)?).map_err(exception);
    let ranges = ranges.map(made).transpose()?;
    of_either!(py, threads, logits, |values| {
        let batch = padded(&values, lengths)?;
        let work = || {
            let (losses, saved) = match &ranges {
                Some(ranges) => pruned(&batch, &labels, ranges, &options)?,
                None => rnnt(&batch, &labels, &options)?,
            };
            Ok((losses, Box::new(saved) as Box<dyn Saved>))
        };
        finished(py, threads::run(py, threads, work)?)
    })
}

/// RNN-T of the sum of an encoder's logits [N, T, C] and a decoder's [N, S + 1, C].
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
pub(crate) fn rnnt_loss_simple<'py>(
    py: Python<'py>,
    am: &Bound<'py, PyAny>,
    lm: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = list)] lengths: Vec<usize>,
    #[pyo3(from_py_with = lists)] labels: Vec<Vec<i32>>,
    scales: (f64, f64),
    blank: Count,
    rnnt_type: &str,
    delay_penalty: f64,
    reduction_name: &str,
    threads: Option<Count>,
) -> Losses<'py> {
    let options = rnnt_options(blank.0, rnnt_type, delay_penalty, None, reduction_name)?;
    let symbols: Vec<usize> = labels.iter().map(|labels| labels.len() + 1).collect();
    let labels = Ragged::from_lists(&labels).map_err(exception)?;
    of_either!(py, threads, am, |values| {
        let of_decoder = lm.extract().map_err(|_| value_error("am and lm have different types"))?;
        let (am, lm) = (padded(&values, lengths)?, padded(&of_decoder, symbols)?);
        let work = || {
            let (losses, saved) = rnnt_loss_smoothed(&am, &lm, &labels, scales.0, scales.1, &options)?;
            Ok((losses, Box::new(saved) as Box<dyn Saved>))
        };
        finished(py, threads::run(py, threads, work)?)
    })
}

/// Labels and log-probabilities, [N, T] each.
type Paths<'py> = (Bound<'py, PyArrayDyn<i32>>, Bound<'py, PyArrayDyn<f32>>);

/// The best alignment of each sequence: labels [N, T] and their log-probabilities [N, T].
#[pyfunction]
pub(crate) fn forced_align<'py>(
    py: Python<'py>,
    log_probs: Array<'py, f32, Ix3>,
    #[pyo3(from_py_with = list)] lengths: Vec<usize>,
    #[pyo3(from_py_with = lists)] labels: Vec<Vec<i32>>,
    blank: Int,
) -> PyResult<Paths<'py>> {
    let shape = log_probs.shape();
    let (number, frames, classes) = (shape[0], shape[1], shape[2]);
    // A copy, because other threads of Python may write into the array meanwhile.
    let values = log_probs.to_vec()?;
    if [lengths.len(), labels.len()] != [number; 2] || lengths.iter().any(|&length| length > frames) {
        return Err(value_error(format!(
            "log_probs has {number} sequences of {frames} frames, and there are the lengths {lengths:?} and {} targets",
            labels.len()
        )));
    }
    if classes == 0 {
        return Err(value_error(format!("log_probs of the shape {shape:?} have no classes")));
    }
    let Int(blank) = blank;
    let options = AlignOptions::default().with_blank(blank);
    let too_large =
        || value_error(format!("paths of {number} sequences of {frames} frames are more than memory can hold"));
    let size = number.checked_mul(frames).ok_or_else(too_large)?;
    let (mut path, mut scores) = (Vec::new(), Vec::new());
    path.try_reserve_exact(size).map_err(|_| too_large())?;
    scores.try_reserve_exact(size).map_err(|_| too_large())?;
    let done = threads::run(py, None, || {
        path.resize(size, blank);
        scores.resize(size, 0.0);
        for (i, (&length, labels)) in lengths.iter().zip(&labels).enumerate() {
            let name = format!("sequence {i}");
            let own = &values[i * frames * classes..][..length * classes];
            let found = align(&LogProbs::new(&name, own, classes)?, labels, &options, &FrameTimes::default())?;
            path[i * frames..][..length].copy_from_slice(&found.path);
            scores[i * frames..][..length].copy_from_slice(&found.path_scores);
        }
        Ok(())
    })?;
    done.map_err(exception::<kaldera::decoder::Error>)?;
    let shape = vec![number, frames];
    Ok((PyArray1::from_vec(py, path).reshape(shape.clone())?, PyArray1::from_vec(py, scores).reshape(shape)?))
}
