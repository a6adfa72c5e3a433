//! Audio files of every format that the command reads, and where they are.

use std::path::PathBuf;

use kaldera::Recording;
use kaldera::pipeline::{Inputs, ReadOptions, Source};
use kaldera::audio::WaveSamples;
use kaldi_io::{Segments, rxfilename::Input};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{exception, value_error};
use crate::files::{rate_of, refuse_pipe, samples_of};
use crate::samples::{channel_choice, taken};
use crate::threads;

/// The samples of an audio file, [samples] or [samples, channels], and its sample rate in Hz; of a
/// path, or of the bytes. With `as_floats` they are float32 whatever the file has.
#[pyfunction]
#[pyo3(signature = (source, allow_truncated, channel=None, sample_rate=None, as_floats=false))]
pub(crate) fn read_audio<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    allow_truncated: bool,
    channel: Option<&Bound<'py, PyAny>>,
    sample_rate: Option<f32>,
    as_floats: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let options = ReadOptions::default().with_allow_truncated(allow_truncated);
    let choice = channel_choice(channel)?;
    let convert = |recording| taken(recording, choice, sample_rate);
    let recording = match source.cast::<PyBytes>() {
        Ok(bytes) => {
            let bytes = bytes.as_bytes();
            threads::detach(py, || Recording::read(bytes, &options).and_then(convert))?
        }
        Err(_) => {
            let path: PathBuf = source.extract()?;
            let in_file = |source| kaldera::audio::Error::Recording { path: path.clone(), source: Box::new(source) };
            threads::detach(py, || {
                let _span = tracing::error_span!("reading", file = %path.display()).entered();
                Recording::open_with(&path, &options).and_then(|whole| convert(whole).map_err(in_file))
            })?
        }
    };
    let recording = recording.map_err(exception)?;
    let (num_channels, samp_freq) = (recording.num_channels(), recording.samp_freq());
    let samples = match WaveSamples::from(recording) {
        WaveSamples::I16(samples) if as_floats => WaveSamples::F32(samples.into_iter().map(f32::from).collect()),
        samples => samples,
    };
    Ok((samples_of(py, samples, num_channels)?, rate_of(py, samp_freq)?))
}

/// The recordings of a folder: keys and paths, sorted by key.
#[pyfunction]
pub(crate) fn list_recordings(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(String, std::ffi::OsString)>> {
    let inputs = threads::detach(py, || Inputs::from_paths([folder]))?.map_err(exception)?;
    if let Some(first) = inputs.rejected().first() {
        let more = inputs.num_rejected() - 1;
        let more = if more == 0 { String::new() } else { format!(" (and {more} more such files)") };
        return Err(value_error(format!("{first}{more}")));
    }
    let listed = inputs.into_iter().filter_map(|utterance| match utterance.source {
        Source::File(path) => Some((utterance.key, path.into_os_string())),
        _ => None,
    });
    Ok(listed.collect())
}

/// Utterance, recording, begin and end in seconds, and channel.
type Segment = (String, String, f64, Option<f64>, Option<usize>);

/// The lines of a `segments` file.
#[pyfunction]
pub(crate) fn read_segments(py: Python<'_>, name: &str, pipes: bool) -> PyResult<Vec<Segment>> {
    refuse_pipe(name, pipes)?;
    let read = || {
        let segments = Segments::new(Input::open(name)?);
        let line =
            |segment: kaldi_io::Segment| (segment.key, segment.recording, segment.start, segment.end, segment.channel);
        segments.map(|segment| segment.map(line)).collect::<Result<Vec<_>, kaldi_io::Error>>()
    };
    threads::detach(py, read)?.map_err(exception)
}
