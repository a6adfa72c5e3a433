//! Audio files of every format that the command reads.

use std::path::PathBuf;

use kaldera::Recording;
use kaldera::pipeline::ReadOptions;
use kaldi_io::wave::WaveSamples;
use kaldi_io::{Segments, rxfilename::Input};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::exception;
use crate::files::{refuse_pipe, samples_of};

/// The samples of an audio file, [samples] or [samples, channels], and its sample rate in Hz; of a
/// path, or of the bytes.
#[pyfunction]
pub(crate) fn read_audio<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    allow_truncated: bool,
) -> PyResult<(Bound<'py, PyAny>, f32)> {
    let options = ReadOptions::default().with_allow_truncated(allow_truncated);
    let recording = match source.cast::<PyBytes>() {
        Ok(bytes) => {
            let bytes = bytes.as_bytes();
            py.detach(|| Recording::read(bytes, &options))
        }
        Err(_) => {
            let path: PathBuf = source.extract()?;
            py.detach(|| Recording::open_with(path, &options))
        }
    };
    let recording = recording.map_err(exception)?;
    let samples = match recording.samples_i16() {
        // Borrowed: of a file of up to 16 bits.
        Some(std::borrow::Cow::Borrowed(samples)) => WaveSamples::I16(samples.to_vec()),
        _ => WaveSamples::F32(recording.samples().into_owned()),
    };
    Ok((samples_of(py, samples, recording.num_channels())?, recording.samp_freq()))
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
    py.detach(read).map_err(exception)
}
