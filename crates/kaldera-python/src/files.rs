//! Kaldi's files: objects of any kind, by name, in order, and to write.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use kaldera::Recording;
use kaldera::audio::{FORMAT_HEAD, ReadOptions, WaveSamples, format_name, uncompressed};
use kaldi_io::rxfilename::{Input, Rxfilename, Skip, classify};
use kaldi_io::specifier::{Rspecifier, TableKind, WriteTo, Wspecifier};
use kaldi_io::table::TableWriter;
use kaldi_io::{
    CompressedMatrix, CompressionMethod, Error, GeneralMatrix, Holder, Matrix, Vector, WaveData, wxfilename,
};
use numpy::{Ix1, Ix2, PyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{Array, describe};
use crate::errors::{exception, value_error};
use crate::kinds::{Kind, Objects, Special, Table};
use crate::rows::array;
use crate::threads;

/// An object of a table, of whichever kind its bytes are.
pub(crate) enum Object {
    Matrix(Matrix<f32>),
    MatrixF64(Matrix<f64>),
    Vector(Vector<f32>),
    VectorF64(Vector<f64>),
    /// Compressed or sparse in the file, and kept so.
    General(GeneralMatrix),
    Integers(Vec<i32>),
    Wave {
        samples: WaveSamples,
        num_channels: usize,
        samp_freq: f32,
    },
    /// An object whose kind must be named.
    Special(Special),
}

/// The longest beginning of an object that identifies it, in bytes.
const HEAD: usize = 6;

impl Object {
    /// An object after which others may follow.
    fn read_one(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(HEAD);
        // A byte first: text may be shorter than the beginning of a binary object.
        (&mut *reader).take(1).read_to_end(&mut head)?;
        match head.first() {
            Some(0) => {
                (&mut *reader).take(HEAD as u64 - 1).read_to_end(&mut head)?;
                let whole = &mut (&head[..]).chain(reader);
                Ok(match &head[..] {
                    [0, b'B', b'F', b'M', ..] => Self::Matrix(Matrix::read(whole)?),
                    [0, b'B', b'D', b'M', ..] => Self::MatrixF64(Matrix::read(whole)?),
                    [0, b'B', b'F', b'V', ..] => Self::Vector(Vector::read(whole)?),
                    [0, b'B', b'D', b'V', ..] => Self::VectorF64(Vector::read(whole)?),
                    [0, b'B', 4, ..] => Self::Integers(Vec::read(whole)?),
                    _ => Self::General(GeneralMatrix::read(whole)?),
                })
            }
            Some(b'R') => in_kaldi(uncompressed::read(&mut (&head[..]).chain(reader), false)),
            _ => {
                reader.read_until(b'\n', &mut head)?;
                let line = head.trim_ascii();
                let rest = line.strip_prefix(b"[").map(<[u8]>::trim_ascii);
                let whole = &mut (&head[..]).chain(reader);
                Ok(match rest {
                    None => Self::Integers(Vec::<i32>::read(whole)?),
                    Some([]) => Self::Matrix(Matrix::read(whole)?),
                    Some(_) => Self::Vector(Vector::read(whole)?),
                })
            }
        }
    }
}

impl From<Recording> for Object {
    fn from(recording: Recording) -> Self {
        let (num_channels, samp_freq) = (recording.num_channels(), recording.samp_freq());
        Self::Wave { samples: recording.into(), num_channels, samp_freq }
    }
}

/// A recording as an object of a table.
fn in_kaldi(recording: Result<Recording, kaldera::audio::Error>) -> Result<Object, Error> {
    Ok(recording.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?.into())
}

impl Holder for Object {
    const WHAT: &'static str = "matrices, vectors, lists of integers and recordings";

    /// In place of an object of a table, a file may be audio of any format.
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(FORMAT_HEAD);
        (&mut *reader).take(FORMAT_HEAD as u64).read_to_end(&mut head)?;
        let is_audio = format_name(&head).is_some();
        let whole = &mut (&head[..]).chain(reader);
        if !is_audio {
            return Self::read_one(whole);
        }
        in_kaldi(Recording::read(whole, &ReadOptions::default()))
    }

    fn read_in_archive(reader: &mut dyn Skip) -> Result<Self, Error> {
        Self::read_one(reader)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        match self {
            Self::Matrix(matrix) => Holder::write(matrix, writer, binary),
            Self::MatrixF64(matrix) => Holder::write(matrix, writer, binary),
            Self::Vector(vector) => Holder::write(vector, writer, binary),
            Self::VectorF64(vector) => Holder::write(vector, writer, binary),
            Self::General(matrix) => Holder::write(matrix, writer, binary),
            Self::Integers(list) => Holder::write(list, writer, binary),
            Self::Wave { samples: WaveSamples::I16(samples), num_channels, samp_freq } => {
                let (samples, num_channels, samp_freq) = (samples.clone(), *num_channels, *samp_freq);
                Holder::write(&WaveData { samp_freq, num_channels, samples }, writer, binary)
            }
            Self::Wave { .. } => Err(Error::Unwritable { what: "recordings", how: "but with 16-bit samples" }),
            Self::Special(object) => object.write(writer, binary),
        }
    }

    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        Ok(match self {
            Self::Matrix(matrix) => Self::Matrix(matrix.extract_range(range)?),
            Self::MatrixF64(matrix) => Self::MatrixF64(matrix.extract_range(range)?),
            Self::Vector(vector) => Self::Vector(vector.extract_range(range)?),
            Self::VectorF64(vector) => Self::VectorF64(vector.extract_range(range)?),
            Self::General(matrix) => Self::General(matrix.extract_range(range)?),
            Self::Integers(_) => Vec::<i32>::new().extract_range(range).map(Self::Integers)?,
            Self::Wave { .. } => {
                return Err(Error::RangeUnsupported { range: range.to_owned(), what: "recordings" });
            }
            Self::Special(_) => return Err(Special::no_range(range)),
        })
    }
}

impl Object {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Matrix(matrix) => array(py, matrix)?.into_any(),
            Self::MatrixF64(matrix) => array(py, matrix)?.into_any(),
            Self::Vector(vector) => PyArray1::from_vec(py, vector.into_vec()).into_any(),
            Self::VectorF64(vector) => PyArray1::from_vec(py, vector.into_vec()).into_any(),
            Self::General(GeneralMatrix::Full(matrix)) => array(py, matrix)?.into_any(),
            Self::General(matrix) => array(py, py.detach(|| matrix.get_matrix()))?.into_any(),
            Self::Integers(list) => PyArray1::from_vec(py, list).into_any(),
            Self::Wave { samples, num_channels, samp_freq } => {
                (rate_of(py, samp_freq)?, samples_of(py, samples, num_channels)?).into_pyobject(py)?.into_any()
            }
            Self::Special(object) => object.into_python(py)?,
        })
    }

    /// The object that a value is.
    fn from_python(value: &Bound<'_, PyAny>, compression: Option<CompressionMethod>, kind: Kind) -> PyResult<Self> {
        if let Some(object) = kind.object_of(value)? {
            return Ok(Self::Special(object));
        }
        if let Ok((rate, samples)) = value.extract::<(f32, Bound<'_, PyAny>)>()
            && let Ok(samples) = samples.extract::<Array<'_, i16, Ix1>>()
        {
            if !(rate > 0.0 && rate.is_finite() && rate.fract() == 0.0) {
                return Err(value_error(format!("the rate {rate} can't be: headers have an integer above 0, in Hz")));
            }
            let samples = WaveSamples::I16(samples.to_vec()?);
            return Ok(Self::Wave { samples, num_channels: 1, samp_freq: rate });
        }
        let object = if let Ok(matrix) = value.extract::<Array<'_, f32, Ix2>>() {
            Self::Matrix(copy(&matrix)?)
        } else if let Ok(matrix) = value.extract::<Array<'_, f64, Ix2>>() {
            Self::MatrixF64(copy(&matrix)?)
        } else if let Ok(vector) = value.extract::<Array<'_, f32, Ix1>>() {
            Self::Vector(Vector::from(vector.to_vec()?))
        } else if let Ok(vector) = value.extract::<Array<'_, f64, Ix1>>() {
            Self::VectorF64(Vector::from(vector.to_vec()?))
        } else if let Ok(list) = value.extract::<Array<'_, i32, Ix1>>() {
            Self::Integers(list.to_vec()?)
        } else {
            return Err(value_error(format!(
                "{} is no object of a table: there are float32 and float64 matrices and vectors, int32 vectors, and \
                 (rate, int16 samples)",
                describe(value)
            )));
        };
        let Some(method) = compression else { return Ok(object) };
        let compressed = match &object {
            Self::Matrix(matrix) => CompressedMatrix::new(matrix, method),
            Self::MatrixF64(matrix) => CompressedMatrix::new(matrix, method),
            _ => return Ok(object),
        };
        Ok(Self::General(compressed.map_err(exception)?.into()))
    }
}

fn copy<T: kaldi_matrix::Real + numpy::Element>(matrix: &Array<'_, T, Ix2>) -> PyResult<Matrix<T>> {
    let [rows, cols] = [matrix.shape()[0], matrix.shape()[1]];
    let values = matrix.to_vec()?;
    // Kaldi has one matrix without elements.
    let [rows, cols] = if values.is_empty() { [0, 0] } else { [rows, cols] };
    Matrix::from_vec(rows, cols, values).map_err(exception)
}

/// A rate in Hz: an integer if it is whole.
pub(crate) fn rate_of(py: Python<'_>, rate: f32) -> PyResult<Bound<'_, PyAny>> {
    // Headers have at most 2 MHz.
    Ok(if rate.fract() == 0.0 {
        (rate as i64).into_pyobject(py)?.into_any()
    } else {
        rate.into_pyobject(py)?.into_any()
    })
}

/// Samples of one channel [samples] or of several [samples, channels], on the scale of 16 bits.
pub(crate) fn samples_of(py: Python<'_>, samples: WaveSamples, channels: usize) -> PyResult<Bound<'_, PyAny>> {
    fn shaped<'py, T: numpy::Element>(py: Python<'py>, values: Vec<T>, channels: usize) -> PyResult<Bound<'py, PyAny>> {
        if channels <= 1 {
            return Ok(PyArray1::from_vec(py, values).into_any());
        }
        Ok(crate::rows::shaped(py, values.len() / channels, channels, values)?.into_any())
    }
    match samples {
        WaveSamples::I16(values) => shaped(py, values, channels),
        WaveSamples::F32(values) => shaped(py, values, channels),
    }
}

/// Refuses a command where commands are not run.
pub(crate) fn refuse_pipe(name: &str, pipes: bool) -> PyResult<()> {
    if !pipes && let Rxfilename::Pipe { command } = classify(name).map_err(exception)? {
        let text = format!(
            "the command '{}' is not run: pass pipes=True if you trust where it comes from",
            command.trim_ascii()
        );
        return Err(value_error(text));
    }
    Ok(())
}

/// An open file of Python's, binary or text.
struct PythonFile {
    file: Py<PyAny>,
    /// Data that were read and not taken.
    rest: Cursor<Vec<u8>>,
}

impl Read for PythonFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        let bytes = Python::attach(|py| {
            let read = self.file.bind(py).call_method1("read", (buffer.len(),))?;
            match read.cast::<PyString>() {
                Ok(text) => Ok::<_, PyErr>(text.to_cow()?.as_bytes().to_vec()),
                Err(_) => Ok(read.extract::<PyBackedBytes>()?.to_vec()),
            }
        });
        self.rest = Cursor::new(bytes?);
        self.rest.read(buffer)
    }
}

/// The input that a name stands for, or an open file of Python's, which is read ahead.
fn input_of(source: &Bound<'_, PyAny>, pipes: bool) -> PyResult<Input> {
    if let Ok(name) = source.extract::<String>() {
        refuse_pipe(&name, pipes)?;
        return threads::detach(source.py(), || Input::open(&name))?.map_err(exception);
    }
    if source.getattr_opt("read")?.is_none() {
        return Err(value_error(format!("expected a path or an open file, not {}", describe(source))));
    }
    let name = source.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok());
    let file = PythonFile { file: source.clone().unbind(), rest: Cursor::default() };
    Ok(Input::from_reader(name.unwrap_or_else(|| "an open file".to_owned()), BufReader::with_capacity(BUFFER, file)))
}

/// Reads objects by name. The file of the last one stays open; one that was written again is opened
/// again, except with `one_pass`, which does not look whether it was.
#[pyclass(module = "kaldera._kaldera")]
pub(crate) struct ObjectReader {
    pipes: bool,
    kind: Kind,
    one_pass: bool,
    last: Mutex<Option<LastFile>>,
}

/// An open file and the place in it.
struct LastFile {
    path: String,
    version: Version,
    reader: BufReader<Placed>,
}

/// A file with its own position: the system's is shared with processes that were forked.
struct Placed {
    file: File,
    at: u64,
}

impl Read for Placed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&self.file, buffer, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Placed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
            SeekFrom::End(distance) => self.file.metadata()?.len().checked_add_signed(distance),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The properties that change when a file is written or replaced: its length, time and number.
#[derive(PartialEq)]
struct Version {
    length: u64,
    modified: Option<SystemTime>,
    number: Option<(u64, u64)>,
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let number = None;
        Self { length: metadata.len(), modified: metadata.modified().ok(), number }
    }
}

/// Larger objects bypass it.
const BUFFER: usize = 1 << 15;

#[pymethods]
impl ObjectReader {
    #[new]
    #[pyo3(signature = (pipes, kind="auto", one_pass=false))]
    fn new(pipes: bool, kind: &str, one_pass: bool) -> PyResult<Self> {
        Ok(Self { pipes, kind: Kind::parse(kind)?, one_pass, last: Mutex::new(None) })
    }

    /// The object of a line of a script file: `feats.ark:123[0:9]`.
    fn load<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let read = || {
            let _span = tracing::error_span!("reading", file = name).entered();
            self.read(name)
        };
        threads::detach(py, read)??.into_python(py)
    }

    /// The object that an open file of Python's has.
    fn load_file<'py>(&self, py: Python<'py>, file: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let mut input = input_of(file, false)?;
        let object = threads::detach(py, || self.kind.read(&mut input))?;
        let place = |error| exception(Error::File { place: input.name().to_owned(), source: Box::new(error) });
        object.map_err(place)?.into_python(py)
    }
}

impl ObjectReader {
    fn read(&self, name: &str) -> PyResult<Object> {
        let (file, range) = match name.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((file, range)) => (file, Some(range)),
            None => (name, None),
        };
        let place = |error: Error| exception(Error::File { place: file.to_owned(), source: Box::new(error) });
        let object = match classify(file).map_err(exception)? {
            Rxfilename::Offset { path, offset } => {
                if i64::try_from(offset).is_err() {
                    return Err(value_error(format!("{file}: the offset {offset} is beyond any file")));
                }
                let open = |source| exception(Error::Open { name: path.to_owned(), source });
                // Another thread may hold the lock, and a fork does not have that thread: then
                // there is no last file.
                let taken = self.last.try_lock().ok().and_then(|mut last| last.take());
                let taken = taken.filter(|last| last.path == path);
                let is_current = |last: &LastFile| {
                    let version = Version::of(&std::fs::metadata(path).map_err(open)?);
                    Ok::<_, PyErr>(last.version == version)
                };
                let mut last = match taken {
                    Some(last) if self.one_pass || is_current(&last)? => last,
                    _ => {
                        let file = File::open(path).map_err(open)?;
                        let version = Version::of(&file.metadata().map_err(open)?);
                        let reader = BufReader::with_capacity(BUFFER, Placed { file, at: 0 });
                        LastFile { path: path.to_owned(), version, reader }
                    }
                };
                // A file that was written twice within a tick of the clock looks the same: old
                // data are only used to go on.
                let at = last.reader.stream_position();
                let moved = at.and_then(|at| match offset.checked_sub(at).map(i64::try_from) {
                    Some(Ok(distance)) => last.reader.seek_relative(distance),
                    _ => last.reader.seek(SeekFrom::Start(offset)).map(drop),
                });
                moved.map_err(|source| place(source.into()))?;
                let object = self.kind.read(&mut last.reader).map_err(place)?;
                if let Ok(mut place) = self.last.try_lock() {
                    *place = Some(last);
                }
                object
            }
            _ => {
                refuse_pipe(file, self.pipes)?;
                let mut input = Input::open(file).map_err(exception)?;
                let object = self.kind.read(&mut input);
                // A command that failed is why there is no object.
                input.finish().map_err(exception)?;
                object.map_err(place)?
            }
        };
        match range {
            Some(range) => object.extract_range(range).map_err(place),
            None => Ok(object),
        }
    }
}

/// The lines of a script file, in order: the name of the object of each key.
#[pyfunction]
pub(crate) fn read_scp<'py>(py: Python<'py>, source: &Bound<'py, PyAny>, pipes: bool) -> PyResult<Bound<'py, PyDict>> {
    let mut input = input_of(source, pipes)?;
    let name = &*input.name().to_owned();
    let text = threads::detach(py, || {
        let text = kaldera::text::read(&mut input);
        let text = text.map_err(|source| exception(Error::Read { name: name.to_owned(), source }))?;
        input.finish().map_err(exception)?;
        Ok::<_, PyErr>(text)
    })??;
    let files = PyDict::new(py);
    for (number, line) in (1..).zip(text.lines()) {
        let parts = line.trim_ascii().split_once(|c: char| c.is_ascii_whitespace());
        let Some((key, rest)) = parts.filter(|(key, _)| !key.is_empty()) else {
            let (line, found) = (number as u64, line.chars().take(40).collect());
            return Err(exception(Error::Script { name: name.to_owned(), line, found, archive: false }));
        };
        files.set_item(key, rest.trim_ascii())?;
        if files.len() < number {
            return Err(exception(Error::DuplicateKey { name: name.to_owned(), key: key.to_owned() }));
        }
    }
    Ok(files)
}

/// The objects of a table, one after the other.
#[pyclass(module = "kaldera._kaldera")]
pub(crate) struct TableReader {
    reader: Mutex<Option<Objects>>,
}

/// Objects between two looks at Python's signals are few: Python runs between any two.
#[pymethods]
impl TableReader {
    #[new]
    #[pyo3(signature = (rspecifier, pipes, kind="auto"))]
    fn new(py: Python<'_>, rspecifier: &str, pipes: bool, kind: &str) -> PyResult<Self> {
        let kind = Kind::parse(kind)?;
        let specifier = Rspecifier::parse(rspecifier).map_err(exception)?;
        refuse_pipe(&specifier.rxfilename, pipes)?;
        let pipes = pipes || !matches!(specifier.kind, TableKind::Script);
        let reader = threads::detach(py, || kind.open(Table::Rspecifier(rspecifier), pipes))?.map_err(exception)?;
        Ok(Self { reader: Mutex::new(Some(reader)) })
    }

    /// Of an archive or a script file that Python has opened.
    #[staticmethod]
    fn of_file(py: Python<'_>, file: &Bound<'_, PyAny>, is_script: bool, pipes: bool, kind: &str) -> PyResult<Self> {
        let (kind, input) = (Kind::parse(kind)?, input_of(file, pipes)?);
        let table = if is_script { Table::Script(input) } else { Table::Archive(input) };
        let reader = threads::detach(py, || kind.open(table, pipes))?.map_err(exception)?;
        Ok(Self { reader: Mutex::new(Some(reader)) })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
        let next = threads::detach(py, || {
            let mut reader = self.reader.lock().ok()?;
            reader.as_mut()?.next()
        })?;
        match next.transpose().map_err(exception)? {
            None => Ok(None),
            Some((key, object)) => Ok(Some((key, object.into_python(py)?))),
        }
    }

    /// Without Python's lock: a thread that reads needs it to end.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        threads::detach(py, || drop(self.reader.lock().unwrap_or_else(PoisonError::into_inner).take()))
    }
}

/// Writes a table.
#[pyclass(frozen, module = "kaldera._kaldera")]
pub(crate) struct ObjectWriter {
    /// None once closed.
    writer: Mutex<Option<TableWriter<Object>>>,
    compression: Option<CompressionMethod>,
    kind: Kind,
}

impl ObjectWriter {
    fn lock(&self) -> MutexGuard<'_, Option<TableWriter<Object>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ObjectWriter {
    #[new]
    #[pyo3(signature = (wspecifier, compression_method, pipes, kind="auto"))]
    fn new(py: Python<'_>, wspecifier: &str, compression_method: i32, pipes: bool, kind: &str) -> PyResult<Self> {
        let kind = Kind::parse(kind)?;
        let specifier = Wspecifier::parse(wspecifier).map_err(exception)?;
        let outputs = match &specifier.to {
            WriteTo::Archive { archive } => vec![archive],
            WriteTo::Both { archive, script } => vec![archive, script],
            WriteTo::Script { script } => vec![script],
        };
        for output in outputs {
            if !pipes && matches!(wxfilename::classify(output), Ok(wxfilename::Wxfilename::Pipe { .. })) {
                return Err(value_error(format!("the command '{output}' is not run: pass pipes=True")));
            }
        }
        let compression = compression(compression_method)?;
        let writer = threads::detach(py, || TableWriter::open(wspecifier))?.map_err(exception)?;
        Ok(Self { writer: Mutex::new(Some(writer)), compression, kind })
    }

    /// An archive, and a script file that points into it: of paths with any characters.
    #[staticmethod]
    #[pyo3(signature = (archive, script, text, compression_method, kind="auto"))]
    fn to_files(
        py: Python<'_>,
        archive: PathBuf,
        script: Option<PathBuf>,
        text: bool,
        compression_method: i32,
        kind: &str,
    ) -> PyResult<Self> {
        let kind = Kind::parse(kind)?;
        let compression = compression(compression_method)?;
        let open = || match script {
            Some(script) => TableWriter::to_archive_and_script(archive, script),
            None => TableWriter::to_archive(archive),
        };
        let writer = threads::detach(py, open)?.map_err(exception)?;
        let writer = if text { writer.text() } else { writer };
        Ok(Self { writer: Mutex::new(Some(writer)), compression, kind })
    }

    fn write(&self, py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let object = Object::from_python(value, self.compression, self.kind)?;
        let done = threads::detach(py, || self.lock().as_mut().map(|writer| writer.write(key, &object)))?;
        done.ok_or_else(|| value_error("this table was closed"))?.map_err(exception)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        threads::detach(py, || self.lock().take().map_or(Ok(()), TableWriter::close))?.map_err(exception)
    }
}

/// Writes one object into a separate file.
#[pyfunction]
#[pyo3(signature = (path, value, compression_method, kind="auto"))]
pub(crate) fn save_object(
    py: Python<'_>,
    path: PathBuf,
    value: &Bound<'_, PyAny>,
    compression_method: i32,
    kind: &str,
) -> PyResult<()> {
    let object = Object::from_python(value, compression(compression_method)?, Kind::parse(kind)?)?;
    threads::detach(py, || {
        let mut bytes = Vec::new();
        Holder::write(&object, &mut bytes, true)?;
        let mut output = wxfilename::Output::create_path(&path)?;
        output.put(&bytes)?;
        output.close()
    })?
    .map_err(exception::<Error>)
}

/// Kaldi's number of a way to compress; 0 for none.
fn compression(number: i32) -> PyResult<Option<CompressionMethod>> {
    if number == 0 {
        return Ok(None);
    }
    let method = CompressionMethod::from_number(number);
    let wrong = || value_error(format!("compression_method={number} can't be: it must be 0, for none, or 1 to 7"));
    method.map(Some).ok_or_else(wrong)
}
