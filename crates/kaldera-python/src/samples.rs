//! Audio that Python hands over.

use kaldi_feat::{Audio, Samples};
use numpy::{PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::arguments::aligned;
use crate::errors::value_error;

/// Samples of one channel: borrowed from NumPy where their type is right, converted otherwise.
pub(crate) enum Channel<'py> {
    /// An `int16` array.
    I16(PyReadonlyArray1<'py, i16>),
    /// A `float32` array.
    F32(PyReadonlyArray1<'py, f32>),
    /// Of another type, or with gaps between the elements.
    Owned(Vec<f32>),
    /// Scaled.
    Scaled(Vec<f32>),
}

impl<'py> Channel<'py> {
    /// Takes a one-dimensional array of numbers, each of which counts `scale` times.
    pub(crate) fn new(audio: &Bound<'py, PyAny>, scale: f32) -> PyResult<Self> {
        let py = audio.py();
        if !scale.is_finite() || scale == 0.0 {
            return Err(value_error(format!("scale={scale} can't be: it must be a finite number other than 0")));
        }
        let audio = &aligned(audio)?;
        let array = match audio.cast::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => py.import("numpy")?.call_method1("asarray", (audio,))?.cast_into::<PyUntypedArray>()?,
        };
        if array.ndim() != 1 {
            return Err(value_error(format!(
                "audio of one channel has one axis, and this array has the shape {:?}: choose a channel, as audio[:, 0]",
                array.shape()
            )));
        }
        if scale == 1.0 && array.is_contiguous() {
            let found = array.dtype();
            if found.is_equiv_to(&dtype::<i16>(py)) {
                return Ok(Self::I16(array.cast::<numpy::PyArray1<i16>>()?.readonly()));
            }
            if found.is_equiv_to(&dtype::<f32>(py)) {
                return Ok(Self::F32(array.cast::<numpy::PyArray1<f32>>()?.readonly()));
            }
        }
        let kind = array.dtype().kind();
        if !matches!(kind, b'i' | b'u' | b'f' | b'b') {
            return Err(value_error(format!("audio is an array of numbers, not of the type {}", array.dtype().str()?)));
        }
        let without_copy = [("copy", false)].into_py_dict(py)?;
        let converted = array.call_method("astype", ("float32",), Some(&without_copy))?;
        let converted = converted.cast::<numpy::PyArray1<f32>>()?.readonly();
        let values = match converted.as_slice() {
            Ok(samples) => samples.iter().map(|sample| sample * scale).collect(),
            Err(_) => converted.as_array().iter().map(|sample| sample * scale).collect(),
        };
        Ok(if scale == 1.0 { Self::Owned(values) } else { Self::Scaled(values) })
    }

    /// Borrows them as the library has them.
    pub(crate) fn samples(&self) -> PyResult<Samples<'_>> {
        let gaps = |_| value_error("the elements of the array are not next to each other");
        Ok(match self {
            Self::I16(array) => Samples::I16(array.as_slice().map_err(gaps)?),
            Self::F32(array) => Samples::F32(array.as_slice().map_err(gaps)?),
            Self::Owned(values) | Self::Scaled(values) => Samples::F32(values),
        })
    }

    /// Whether fractions are within [-1, 1] though no scale was given.
    fn needs_scale(&self) -> PyResult<bool> {
        if matches!(self, Self::Scaled(_)) {
            return Ok(false);
        }
        let Samples::F32(values) = self.samples()? else { return Ok(false) };
        Ok(values.iter().all(|sample| sample.abs() <= 1.0) && values.iter().any(|sample| sample.fract() != 0.0))
    }
}

/// Warns of whole recordings that are in [-1, 1], while Kaldi's scale goes to 32768.
pub(crate) fn warn_of_scale(py: Python<'_>, channels: &[Channel<'_>]) -> PyResult<()> {
    for channel in channels {
        if channel.needs_scale()? {
            let text = c"all samples are within [-1, 1], but samples count on the scale of 16-bit integers, as in Kaldi: pass scale=32768 for audio as soundfile, librosa and torchaudio have it";
            return PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 2);
        }
    }
    Ok(())
}

/// The library's view of a channel.
pub(crate) fn audio<'a>(samples: Samples<'a>, sample_rate: f32, key: &'a str, vtln_warp: f32) -> Audio<'a> {
    Audio::new(samples, sample_rate).with_key(key).with_vtln_warp(vtln_warp)
}
