//! Audio that Python hands over.

use std::ffi::CStr;

use kaldera::Recording;
use kaldera::audio::ChannelChoice;
use kaldi_feat::{Audio, Samples};
use numpy::{Ix1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes};

use crate::arguments::{Array, describe};
use crate::errors::{exception, value_error};

/// The channels that a recording may have, as in files.
const MAX_CHANNELS: usize = 256;

/// An array, and which of its channels is taken.
pub(crate) type Given<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// The channel that Python chooses, a number or `"mean"`.
pub(crate) fn channel_choice(channel: Option<&Bound<'_, PyAny>>) -> PyResult<Option<ChannelChoice>> {
    let Some(channel) = channel else { return Ok(None) };
    if let Ok(number) = channel.extract::<usize>() {
        return Ok(Some(number.into()));
    }
    if channel.extract::<String>().is_ok_and(|text| text == "mean") {
        return Ok(Some(ChannelChoice::Mean));
    }
    Err(value_error(format!("channel={} can't be: it must be a number from 0, or 'mean'", channel.repr()?)))
}

/// The channel of a recording, or all channels, resampled if there is a rate in Hz.
pub(crate) fn taken(
    recording: Recording,
    choice: Option<ChannelChoice>,
    sample_rate: Option<f32>,
) -> Result<Recording, kaldera::audio::Error> {
    let channel = choice.map(|choice| choice.index(recording.num_channels())).transpose()?;
    let chosen = match (channel, sample_rate) {
        (Some(None), Some(sample_rate)) => return recording.into_mono(sample_rate),
        (Some(_), _) if recording.num_channels() == 1 => recording,
        (Some(Some(channel)), _) => recording.channel(channel)?,
        (Some(None), None) => recording.mean(),
        (None, _) => recording,
    };
    match sample_rate {
        Some(sample_rate) => chosen.resample(sample_rate),
        None => Ok(chosen),
    }
}

/// Samples of one channel on the scale of 16-bit integers.
pub(crate) struct Channel<'py> {
    values: Values<'py>,
    of: Scale,
}

/// Borrowed from NumPy where their type is right, converted otherwise.
enum Values<'py> {
    I16(Array<'py, i16, Ix1>),
    F32(Array<'py, f32, Ix1>),
    Scaled(Vec<f32>),
}

/// The source of the scale of samples.
enum Scale {
    /// A factor, or a type that has no other scale.
    Known,
    /// Integers of more than 16 bits, which may be 32-bit audio.
    Wide,
    /// Floating-point numbers, which may go from -1 to 1.
    Floats,
}

impl<'py> Channel<'py> {
    /// Takes an array of numbers, each of which counts `scale` times: `[samples]`, or `[samples,
    /// channels]` and `[channels, samples]` of which one channel is taken.
    pub(crate) fn new((audio, channel): &Given<'py>, scale: f32) -> PyResult<Self> {
        let py = audio.py();
        if !scale.is_finite() || scale == 0.0 {
            return Err(value_error(format!("scale={scale} can't be: it must be a finite number other than 0")));
        }
        let mut array = match audio.cast::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) if audio.is_none() || audio.is_instance_of::<PyBytes>() => return Err(no_audio(audio)),
            Err(_) => py.import("numpy")?.call_method1("asarray", (audio,))?.cast_into()?,
        };
        let found = array.dtype();
        let of = match (found.kind(), found.itemsize()) {
            (b'i' | b'u', 3..) if scale == 1.0 => Scale::Wide,
            (b'f', _) if scale == 1.0 => Scale::Floats,
            (b'u', 1) if scale == 1.0 => {
                // 8-bit audio, as files have it, is 0 at 128.
                let wide = array.call_method1("astype", ("int16",))?;
                array = wide.sub(128)?.mul(256)?.cast_into()?;
                Scale::Known
            }
            (b'u', 1) => {
                return Err(value_error(format!("scale={scale} can't be for uint8: such samples are 8-bit audio")));
            }
            (b'i' | b'u' | b'f' | b'b', _) => Scale::Known,
            _ => return Err(no_audio(audio)),
        };
        let array = one_channel(&array, channel_choice(channel.as_ref())?)?;
        if scale == 1.0 && array.dtype().is_equiv_to(&dtype::<i16>(py)) {
            return Ok(Self { values: Values::I16(array.extract()?), of });
        }
        let without_copy = [("copy", false)].into_py_dict(py)?;
        let floats: Array<'_, f32, Ix1> = array.call_method("astype", ("float32",), Some(&without_copy))?.extract()?;
        let values = match scale {
            1.0 => Values::F32(floats),
            _ => Values::Scaled(floats.values()?.iter().map(|sample| sample * scale).collect()),
        };
        Ok(Self { values, of })
    }

    /// Borrows them as the library has them.
    pub(crate) fn samples(&self) -> PyResult<Samples<'_>> {
        Ok(match &self.values {
            Values::I16(array) => Samples::I16(array.values()?),
            Values::F32(array) => Samples::F32(array.values()?),
            Values::Scaled(values) => Samples::F32(values),
        })
    }

    /// The reason why their scale is in doubt. Only a whole recording shows whether numbers are
    /// fractions.
    fn doubt(&self, is_whole: bool) -> PyResult<Option<&'static CStr>> {
        let Samples::F32(values) = self.samples()? else { return Ok(None) };
        Ok(match self.of {
            Scale::Wide if values.iter().any(|sample| sample.abs() > 32768.0) => Some(
                c"samples go beyond 16-bit integers, on whose scale they count, as in Kaldi: pass scale=1/65536 for 32-bit audio as soundfile, scipy and torchaudio have it",
            ),
            Scale::Floats
                if is_whole
                    && values.iter().all(|sample| sample.abs() <= 1.0)
                    && values.iter().any(|sample| sample.fract() != 0.0) =>
            {
                Some(
                    c"all samples are within [-1, 1], but samples count on the scale of 16-bit integers, as in Kaldi: pass scale=32768 for audio as soundfile, librosa and torchaudio have it",
                )
            }
            _ => None,
        })
    }
}

fn no_audio(audio: &Bound<'_, PyAny>) -> PyErr {
    let hint = if audio.is_instance_of::<PyBytes>() { ": read_audio takes the bytes of a file" } else { "" };
    value_error(format!("audio is an array of numbers or the path of a file, not {}{hint}", describe(audio)))
}

/// One channel of an array, which then has one axis.
fn one_channel<'py>(
    array: &Bound<'py, PyUntypedArray>,
    choice: Option<ChannelChoice>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let shape = array.shape();
    let axis = match *shape {
        [_] => None,
        [samples, channels] => Some(channel_axis(samples, channels)?),
        _ => {
            return Err(value_error(format!(
                "audio is [samples], [samples, channels] or [channels, samples], and this array has the shape {shape:?}"
            )));
        }
    };
    let channels = axis.map_or(1, |axis| shape[axis]);
    if channels == 0 {
        return Err(value_error(format!("this array has the shape {shape:?}, which is of no channel")));
    }
    let wanted = match choice.map(|choice| choice.index(channels)).transpose().map_err(exception)? {
        None | Some(None) if channels == 1 => 0,
        Some(Some(wanted)) => wanted,
        None => {
            let (first, mean) = if axis == Some(0) { ("audio[0]", 0) } else { ("audio[:, 0]", 1) };
            return Err(value_error(format!(
                "this array has the shape {shape:?}, which is {channels} channels of {} samples: choose one, as \
                 {first}, or their mean, as audio.mean(axis={mean})",
                shape[1 - mean]
            )));
        }
        Some(None) => {
            let floats = [("dtype", "float32")].into_py_dict(array.py())?;
            return Ok(array.call_method("mean", (axis,), Some(&floats))?.cast_into()?);
        }
    };
    match axis {
        None => Ok(array.clone()),
        Some(axis) => Ok(array.call_method1("take", (wanted, axis))?.cast_into()?),
    }
}

/// The axis of the channels: soundfile and Kaldera have them last, torchaudio and lhotse first.
fn channel_axis(rows: usize, columns: usize) -> PyResult<usize> {
    let shape = [rows, columns];
    if columns == 1 || (rows == 0 && columns <= MAX_CHANNELS) {
        return Ok(1);
    }
    if rows == 1 || (columns == 0 && rows <= MAX_CHANNELS) {
        return Ok(0);
    }
    match shape.map(|length| length <= MAX_CHANNELS) {
        [false, true] => Ok(1),
        [true, false] => Ok(0),
        [true, true] if rows >= columns => Ok(1),
        [true, true] => Err(value_error(format!(
            "this array has the shape {shape:?}, which may be [samples, channels] or [channels, samples]: choose a \
             channel, as audio[0] of [channels, samples]"
        ))),
        [false, false] => Err(value_error(format!(
            "audio is [samples, channels] or [channels, samples] with at most {MAX_CHANNELS} channels, and this array \
             has the shape {shape:?}"
        ))),
    }
}

/// The channels of several recordings.
pub(crate) fn channels<'py>(recordings: &[Given<'py>], scale: f32) -> PyResult<Vec<Channel<'py>>> {
    let numbered = |(i, recording): (usize, &Given<'py>)| {
        let wrong = |error: PyErr| value_error(format!("recording {i}: {}", error.value(recording.0.py())));
        Channel::new(recording, scale).map_err(wrong)
    };
    recordings.iter().enumerate().map(numbered).collect()
}

/// Warns of recordings whose samples are likely on another scale than Kaldi's, which goes to 32768.
pub(crate) fn warn_of_scale(py: Python<'_>, channels: &[Channel<'_>], are_whole: bool) -> PyResult<()> {
    for channel in channels {
        if let Some(text) = channel.doubt(are_whole)? {
            return PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 2);
        }
    }
    Ok(())
}

/// The library's view of a channel.
pub(crate) fn audio<'a>(samples: Samples<'a>, sample_rate: f32, key: &'a str, vtln_warp: f32) -> Audio<'a> {
    Audio::new(samples, sample_rate).with_key(key).with_vtln_warp(vtln_warp)
}
