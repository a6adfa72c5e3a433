//! Operations after extraction: rows of features to rows of features, and resampling.

use kaldi_feat::{
    self, CmvnStats, DeltaFeaturesOptions, LinearResample, ProcessPitchOptions, Resamplers, SlidingWindowCmnOptions,
    VadEnergyOptions,
};
use kaldi_matrix::{Matrix, SubMatrix, SubMatrixMut};
use numpy::ndarray::Array2;
use numpy::{Ix2, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Array, Int};
use crate::errors::{exception, value_error};
use crate::options;
use crate::samples::Channel;

/// An array as rows.
fn view<'a, T: kaldi_matrix::Real + numpy::Element>(array: &'a Array<'_, T, Ix2>) -> PyResult<SubMatrix<'a, T>> {
    let [rows, cols] = [array.shape()[0], array.shape()[1]];
    SubMatrix::new(array.values()?, rows, cols, cols).map_err(exception)
}

/// A matrix as an array, without copying.
pub(crate) fn array<'py, T: kaldi_matrix::Real + numpy::Element>(
    py: Python<'py>,
    matrix: Matrix<T>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let [rows, cols] = [matrix.num_rows(), matrix.num_cols()];
    shaped(py, rows, cols, matrix.into_vec())
}

/// Consecutive rows as an array, without copying.
pub(crate) fn shaped<T: numpy::Element>(
    py: Python<'_>,
    rows: usize,
    cols: usize,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    Ok(PyArray2::from_owned_array(py, Array2::from_shape_vec([rows, cols], values).map_err(exception)?))
}

type Features<'py> = Array<'py, f32, Ix2>;
type Made<'py> = PyResult<Bound<'py, PyArray2<f32>>>;

/// Deltas of features.
#[pyfunction]
pub(crate) fn add_deltas<'py>(py: Python<'py>, features: Features<'py>, options: &Bound<'py, PyDict>) -> Made<'py> {
    let mut chosen = DeltaFeaturesOptions::default();
    options::set(&mut chosen, options)?;
    let rows = view(&features)?;
    array(py, py.detach(|| kaldi_feat::compute_deltas(&chosen, &rows)).map_err(exception)?)
}

/// Frames with their neighbours.
#[pyfunction]
pub(crate) fn splice<'py>(py: Python<'py>, features: Features<'py>, left: Int, right: Int) -> Made<'py> {
    let rows = view(&features)?;
    array(py, py.detach(|| kaldi_feat::splice_frames(&rows, left.0, right.0)).map_err(exception)?)
}

/// Normalisation over a window that moves.
#[pyfunction]
pub(crate) fn sliding_cmvn<'py>(py: Python<'py>, features: Features<'py>, options: &Bound<'py, PyDict>) -> Made<'py> {
    let mut chosen = SlidingWindowCmnOptions::default();
    options::set(&mut chosen, options)?;
    let rows = view(&features)?;
    array(py, py.detach(|| kaldi_feat::sliding_window_cmn(&chosen, &rows)).map_err(exception)?)
}

/// Adds features to statistics: [2, dim + 1].
#[pyfunction]
pub(crate) fn cmvn_stats<'py>(py: Python<'py>, features: Vec<Features<'py>>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let dim = features.first().map_or(0, |first| first.shape()[1]);
    let mut stats = CmvnStats::new(dim);
    let rows = features.iter().map(view).collect::<PyResult<Vec<_>>>()?;
    py.detach(|| rows.iter().try_for_each(|rows| stats.accumulate(rows))).map_err(exception)?;
    array(py, stats.into_matrix())
}

/// Normalises features by statistics.
#[pyfunction]
pub(crate) fn apply_cmvn<'py>(
    py: Python<'py>,
    features: Features<'py>,
    stats: Array<'py, f64, Ix2>,
    norm_vars: bool,
    reverse: bool,
) -> Made<'py> {
    let [rows, cols] = [features.shape()[0], features.shape()[1]];
    let stats = CmvnStats::from_matrix(view(&stats)?.to_owned()).map_err(exception)?;
    let mut values = view(&features)?.into_slice().to_vec();
    let mut out = SubMatrixMut::new(&mut values, rows, cols, cols).map_err(exception)?;
    let done = py.detach(|| match reverse {
        true => kaldi_feat::apply_cmvn_reverse(&stats, norm_vars, &mut out),
        false => kaldi_feat::apply_cmvn(&stats, norm_vars, &mut out),
    });
    done.map_err(exception)?;
    shaped(py, rows, cols, values)
}

/// The frames that are loud.
#[pyfunction]
pub(crate) fn vad<'py>(
    py: Python<'py>,
    features: Features<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let mut chosen = VadEnergyOptions::default();
    options::set(&mut chosen, options)?;
    let rows = view(&features)?;
    let voiced = py.detach(|| kaldi_feat::compute_vad_energy(&chosen, &rows)).map_err(exception)?;
    Ok(PyArray1::from_vec(py, voiced.into_iter().map(|frame| frame != 0.0).collect()))
}

/// Features of pitch from NCCF and Hz.
#[pyfunction]
pub(crate) fn process_pitch<'py>(
    py: Python<'py>,
    pitch: Features<'py>,
    key: &str,
    options: &Bound<'py, PyDict>,
) -> Made<'py> {
    let mut chosen = ProcessPitchOptions::default();
    options::set(&mut chosen, options)?;
    let rows = view(&pitch)?;
    array(py, py.detach(|| kaldi_feat::process_pitch(&chosen, &rows, key)).map_err(exception)?)
}

/// Audio at another sample rate.
#[pyfunction]
pub(crate) fn resample<'py>(
    py: Python<'py>,
    audio: &Bound<'py, PyAny>,
    from_rate: f32,
    to_rate: f32,
    method: &str,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    for (name, rate) in [("from_rate", from_rate), ("to_rate", to_rate)] {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(value_error(format!("{name}={rate} can't be: it must be above 0, in Hz")));
        }
    }
    let as_kaldi = match method {
        "kaldi" => true,
        "polyphase" => false,
        other => return Err(value_error(format!("method={other:?} can't be: it is \"polyphase\" or \"kaldi\""))),
    };
    let channel = Channel::new(&(audio.clone(), None), 1.0)?;
    let samples = channel.samples()?;
    let values = py.detach(|| -> Result<_, kaldi_feat::Error> {
        if from_rate == to_rate {
            Ok(samples.to_f32())
        } else if as_kaldi {
            let mut resampled = Vec::new();
            LinearResample::for_waveform(from_rate, to_rate)?.try_resample_into(samples, &mut resampled)?;
            Ok(resampled)
        } else {
            let Some(resampler) = Resamplers::new(to_rate).get(from_rate)? else { return Ok(samples.to_f32()) };
            let mut resampled = Vec::new();
            resampler.try_resample_into(samples, &mut resampled)?;
            Ok(resampled)
        }
    });
    Ok(PyArray1::from_vec(py, values.map_err(exception)?))
}
