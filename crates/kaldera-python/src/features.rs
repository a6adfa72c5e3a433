//! Extractors of all kinds of features, whole recordings, batches and streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldi_feat::options::{OptionSet, OptionValue as _};
use kaldi_feat::{
    Audio, Error, Extractor, FbankOptions, FeatureKind, FeatureStream, FrontEnd, FrontEndStream, FrontEndWorkspace,
    GlobalCmvn, Kind, LogMelOptions, MfccOptions, OnlinePitch, PitchExtractionOptions, PitchExtractor, PitchWorkspace,
    PlpOptions, Preset, Samples, SpectrogramOptions, Workspace,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;

use crate::arguments::{Count, did_you_mean, list, list_if_any};
use crate::errors::{exception, value_error};
use crate::options;
use crate::rows::shaped;
use crate::samples::{Channel, Given, audio, channels, warn_of_scale};
use crate::threads;

/// Buffers that one thread uses again.
#[derive(Default)]
struct Buffers {
    frames: Workspace,
    pitch: PitchWorkspace,
    front_end: FrontEndWorkspace,
}

/// An extractor of any kind.
trait AnyExtractor: Send + Sync {
    fn dim(&self) -> usize;
    fn sample_rate(&self) -> f32;
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;
    fn compute(&self, buffers: &mut Buffers, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<usize, Error>;
    fn stream(&self, sample_rate: Option<f32>, key: &str, vtln_warp: f32) -> Result<Box<dyn AnyStream>, Error>;
}

/// A stream of any kind.
trait AnyStream: Send + Sync {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error>;
    fn finish(&mut self);
    fn is_finished(&self) -> bool;
    fn num_frames_ready(&self) -> usize;
    fn take(&mut self, out: &mut Vec<f32>) -> usize;
    fn save(&self) -> Result<Vec<u8>, Error>;
    fn restore(&mut self, state: &[u8]) -> Result<(), Error>;
}

struct Whole<K: Kind>(Arc<Extractor<K>>);

impl<K: Kind<Options: OptionSet>> AnyExtractor for Whole<K> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn sample_rate(&self) -> f32 {
        self.0.frame_options().samp_freq
    }
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options::get(py, self.0.options())
    }
    fn compute(&self, buffers: &mut Buffers, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<usize, Error> {
        self.0.compute_into(&mut buffers.frames, audio, out)
    }
    fn stream(&self, sample_rate: Option<f32>, key: &str, vtln_warp: f32) -> Result<Box<dyn AnyStream>, Error> {
        let mut stream = FeatureStream::new(Arc::clone(&self.0)).with_key(key).with_vtln_warp(vtln_warp)?;
        if let Some(rate) = sample_rate {
            stream = stream.with_sample_rate(rate)?;
        }
        Ok(Box::new(stream))
    }
}

impl<K: Kind> AnyStream for FeatureStream<K> {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error> {
        FeatureStream::accept(self, samples)
    }
    fn finish(&mut self) {
        FeatureStream::finish(self);
    }
    fn is_finished(&self) -> bool {
        FeatureStream::is_finished(self)
    }
    fn num_frames_ready(&self) -> usize {
        FeatureStream::num_frames_ready(self)
    }
    fn take(&mut self, out: &mut Vec<f32>) -> usize {
        self.take_rows(out)
    }
    fn save(&self) -> Result<Vec<u8>, Error> {
        Ok(self.save_state())
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), Error> {
        self.restore_state(state)
    }
}

struct Pitch(PitchExtractor);

impl AnyExtractor for Pitch {
    fn dim(&self) -> usize {
        2
    }
    fn sample_rate(&self) -> f32 {
        self.0.options().samp_freq
    }
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options::get(py, self.0.options())
    }
    fn compute(&self, buffers: &mut Buffers, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<usize, Error> {
        self.0.compute_into(&mut buffers.pitch, audio, out)
    }
    fn stream(&self, sample_rate: Option<f32>, _key: &str, _vtln_warp: f32) -> Result<Box<dyn AnyStream>, Error> {
        let expected = self.0.options().samp_freq;
        match sample_rate.filter(|&found| found != expected) {
            Some(found) => Err(Error::WrongSampleRate { found, expected }),
            None => Ok(Box::new(PitchFrames { stream: self.0.stream(), taken: 0 })),
        }
    }
}

struct PitchFrames {
    stream: OnlinePitch,
    taken: usize,
}

impl AnyStream for PitchFrames {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error> {
        self.stream.accept(samples)
    }
    fn finish(&mut self) {
        self.stream.finish();
    }
    fn is_finished(&self) -> bool {
        self.stream.is_finished()
    }
    fn num_frames_ready(&self) -> usize {
        self.stream.num_frames_ready()
    }
    fn take(&mut self, out: &mut Vec<f32>) -> usize {
        let before = self.taken;
        while self.taken < self.stream.num_frames_ready()
            && let Some(row) = self.stream.frame(self.taken)
        {
            out.extend_from_slice(row);
            self.taken += 1;
        }
        self.stream.discard_frames(self.taken);
        self.taken - before
    }
    fn save(&self) -> Result<Vec<u8>, Error> {
        // Frames that were taken are represented only by their number.
        let mut state = (self.taken as u64).to_le_bytes().to_vec();
        state.extend(self.stream.save_state());
        Ok(state)
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), Error> {
        let short = Error::BadState { reason: "it is too short" };
        let (taken, rest) = state.split_first_chunk().ok_or(short)?;
        let taken = usize::try_from(u64::from_le_bytes(*taken));
        let contradict = Error::BadState { reason: "its numbers contradict each other" };
        let Ok(taken) = taken else { return Err(contradict) };
        let mut stream = self.stream.clone();
        stream.restore_state(rest)?;
        if taken > stream.num_frames_ready() {
            return Err(contradict);
        }
        *self = Self { stream, taken };
        Ok(())
    }
}

impl AnyExtractor for FrontEnd {
    fn dim(&self) -> usize {
        FrontEnd::dim(self)
    }
    fn sample_rate(&self) -> f32 {
        self.samp_freq()
    }
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options::get(py, FrontEnd::options(self))
    }
    fn compute(&self, buffers: &mut Buffers, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<usize, Error> {
        self.compute_into(&mut buffers.front_end, audio, out)
    }
    fn stream(&self, sample_rate: Option<f32>, key: &str, vtln_warp: f32) -> Result<Box<dyn AnyStream>, Error> {
        if vtln_warp != 1.0 {
            let expected = "1, as the stream of a front end has no warp factor".to_owned();
            return Err(Error::BadOption { field: "vtln_warp", value: vtln_warp.to_string(), expected });
        }
        let stream = FrontEnd::stream(self, key, sample_rate.unwrap_or_else(|| self.samp_freq()))?;
        Ok(Box::new(FrontEndRows { stream, ready: Vec::new(), taken: 0 }))
    }
}

struct FrontEndRows {
    stream: FrontEndStream,
    /// Rows that were not taken.
    ready: Vec<f32>,
    taken: usize,
}

impl AnyStream for FrontEndRows {
    fn accept(&mut self, samples: Samples<'_>) -> Result<(), Error> {
        self.stream.accept(samples)?;
        self.stream.take_rows(&mut self.ready);
        Ok(())
    }
    fn finish(&mut self) {
        self.stream.finish();
        self.stream.take_rows(&mut self.ready);
    }
    fn is_finished(&self) -> bool {
        self.stream.is_finished()
    }
    fn num_frames_ready(&self) -> usize {
        self.taken + self.ready.len() / self.stream.dim()
    }
    fn take(&mut self, out: &mut Vec<f32>) -> usize {
        let rows = self.ready.len() / self.stream.dim();
        out.append(&mut self.ready);
        self.taken += rows;
        rows
    }
    fn save(&self) -> Result<Vec<u8>, Error> {
        Err(NO_STATE)
    }
    fn restore(&mut self, _: &[u8]) -> Result<(), Error> {
        Err(NO_STATE)
    }
}

const NO_STATE: Error = Error::BadState { reason: "streams of a front end have none" };

/// The preset of a name; none for none.
fn preset(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Preset>> {
    let Some(name) = name else { return Ok(None) };
    let mut found = Preset::default();
    let Err(error) = found.set(name) else { return Ok(Some(found)) };
    let hint = did_you_mean(py, name, &Preset::ALL.map(|preset| preset.name().to_owned()))?;
    Err(value_error(format!("preset: {error}{hint}")))
}

/// The presets: their names, the models that they are for, and their differences from Kaldi's
/// defaults.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    Preset::ALL.map(|preset| (preset.name(), preset.models(), preset.differences())).to_vec()
}

/// The front end of a model, with the text of an `am.mvn`.
fn front_end(
    wanted: Option<Preset>,
    cmvn: Option<&str>,
    by_name: &Bound<'_, PyDict>,
) -> PyResult<Arc<dyn AnyExtractor>> {
    let mut chosen = wanted.unwrap_or_default().front_end();
    options::set(&mut chosen, by_name)?;
    let planned = FrontEnd::new(chosen).map_err(named)?;
    Ok(Arc::new(match cmvn {
        None => planned,
        Some(text) => GlobalCmvn::from_text(text).and_then(|cmvn| planned.with_cmvn(cmvn)).map_err(named)?,
    }))
}

/// The options that a preset begins with, from `of`, or the defaults without a preset.
fn base<T: Default>(kind: &str, wanted: Option<Preset>, of: impl Fn(Preset) -> Option<T>) -> PyResult<T> {
    let Some(wanted) = wanted else { return Ok(T::default()) };
    of(wanted).ok_or_else(|| {
        let name = wanted.name();
        let own = |found: FeatureKind| found.name().replace('-', "_") == kind;
        if wanted.kinds().iter().any(|&found| own(found) || found == FeatureKind::Samples) {
            return value_error(format!(
                "the preset '{name}' is a whole front end and not {kind} alone: use kaldera.FrontEnd('{name}')"
            ));
        }
        let with: Vec<&str> =
            Preset::ALL.into_iter().filter(|&preset| of(preset).is_some()).map(Preset::name).collect();
        let with = if with.is_empty() { "none".to_owned() } else { with.join(", ") };
        value_error(format!("the preset '{name}' has no {kind}: presets with {kind}: {with}"))
    })
}

fn whole<K: Kind<Options: OptionSet>>(
    mut chosen: K::Options,
    by_name: &Bound<'_, PyDict>,
) -> PyResult<Arc<dyn AnyExtractor>> {
    options::set(&mut chosen, by_name)?;
    Ok(Arc::new(Whole(Arc::new(Extractor::<K>::new(chosen).map_err(named)?))))
}

/// Messages name fields; users of Python know options.
fn named(error: Error) -> PyErr {
    value_error(kaldi_feat::fields_to_options(&error.to_string()).replace(" --", " option "))
}

/// Extracts one kind of features.
#[pyclass(frozen, subclass, module = "kaldera._kaldera")]
pub(crate) struct FeatureExtractor {
    extractor: Arc<dyn AnyExtractor>,
}

#[pymethods]
impl FeatureExtractor {
    #[new]
    #[pyo3(signature = (kind, preset_name, options, cmvn=None))]
    fn new(kind: &str, preset_name: Option<&str>, options: &Bound<'_, PyDict>, cmvn: Option<&str>) -> PyResult<Self> {
        use kaldi_feat::{FbankKind, LogMelKind, MfccKind, PlpKind, SpectrogramKind};
        let wanted = preset(options.py(), preset_name)?;
        let kaldi_alone = |preset| preset == Preset::Kaldi;
        let extractor = match kind {
            "fbank" => whole::<FbankKind>(base(kind, wanted, FbankOptions::preset)?, options)?,
            "mfcc" => whole::<MfccKind>(base(kind, wanted, MfccOptions::preset)?, options)?,
            "log_mel" => whole::<LogMelKind>(base(kind, wanted, LogMelOptions::preset)?, options)?,
            "plp" => {
                let of = |preset| kaldi_alone(preset).then(PlpOptions::default);
                whole::<PlpKind>(base(kind, wanted, of)?, options)?
            }
            "spectrogram" => {
                let of = |preset| kaldi_alone(preset).then(SpectrogramOptions::default);
                whole::<SpectrogramKind>(base(kind, wanted, of)?, options)?
            }
            "pitch" => {
                let of = |preset| kaldi_alone(preset).then(PitchExtractionOptions::default);
                let mut chosen = base(kind, wanted, of)?;
                options::set(&mut chosen, options)?;
                Arc::new(Pitch(PitchExtractor::new(chosen).map_err(named)?))
            }
            "front_end" => front_end(wanted, cmvn, options)?,
            _ => {
                return Err(value_error(format!(
                    "there are no features '{kind}': there are fbank, mfcc, plp, spectrogram, log_mel, pitch"
                )));
            }
        };
        Ok(Self { extractor })
    }

    /// Values in a row of features.
    #[getter]
    fn dim(&self) -> usize {
        self.extractor.dim()
    }

    /// Samples per second that the options are for, Hz.
    #[getter]
    fn sample_rate(&self) -> f32 {
        self.extractor.sample_rate()
    }

    /// All options with their values: a dict.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.extractor.options(py)
    }

    fn _compute<'py>(
        &self,
        py: Python<'py>,
        recording: Given<'py>,
        sample_rate: Option<f32>,
        key: &str,
        vtln_warp: f32,
        scale: f32,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let channel = Channel::new(&recording, scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel), true)?;
        let rate = sample_rate.unwrap_or_else(|| self.sample_rate());
        let input = audio(channel.samples()?, rate, key, vtln_warp);
        let mut values = Vec::new();
        let extractor = &*self.extractor;
        let rows = py.detach(|| extractor.compute(&mut Buffers::default(), &input, &mut values)).map_err(named)?;
        shaped(py, rows, self.dim(), values)
    }

    #[expect(clippy::too_many_arguments, reason = "Python's side calls it with names")]
    fn _compute_batch<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] recordings: Vec<Given<'py>>,
        #[pyo3(from_py_with = list_if_any)] sample_rates: Option<Vec<f32>>,
        #[pyo3(from_py_with = list_if_any)] keys: Option<Vec<String>>,
        #[pyo3(from_py_with = list_if_any)] vtln_warps: Option<Vec<f32>>,
        scale: f32,
        threads: Option<Count>,
        output: &str,
        padding_value: f32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number = recordings.len();
        let given = [
            ("sample rates", sample_rates.as_ref().map(Vec::len)),
            ("keys", keys.as_ref().map(Vec::len)),
            ("warp factors", vtln_warps.as_ref().map(Vec::len)),
        ];
        for (what, found) in given {
            if let Some(found) = found.filter(|&found| found != number) {
                return Err(value_error(format!("{found} {what} for {number} recordings")));
            }
        }
        if !matches!(output, "list" | "padded" | "flat") {
            return Err(value_error(format!("output='{output}' can't be: it must be 'list', 'padded' or 'flat'")));
        }
        let channels = channels(&recordings, scale)?;
        warn_of_scale(py, &channels, true)?;
        let inputs = channels.iter().enumerate().map(|(i, channel)| {
            let key = keys.as_ref().map_or("", |keys| keys[i].as_str());
            let rate = sample_rates.as_ref().map_or_else(|| self.sample_rate(), |rates| rates[i]);
            let warp = vtln_warps.as_ref().map_or(1.0, |warps| warps[i]);
            Ok(audio(channel.samples()?, rate, key, warp))
        });
        let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
        let results = self.batch(py, &inputs, threads)?;
        match output {
            "list" => self.list(py, results),
            "padded" => self.padded(py, &results, padding_value, threads),
            _ => self.flat(py, &results),
        }
    }

    /// A stream of samples.
    #[pyo3(name = "stream", signature = (sample_rate=None, key="", vtln_warp=1.0))]
    fn py_stream(&self, sample_rate: Option<f32>, key: &str, vtln_warp: f32) -> PyResult<Stream> {
        let stream = self.extractor.stream(sample_rate, key, vtln_warp).map_err(named)?;
        Ok(Stream { stream, dim: self.dim() })
    }
}

/// Rows of one recording, and how many.
type Rows = (usize, Vec<f32>);

impl FeatureExtractor {
    fn batch(&self, py: Python<'_>, inputs: &[Audio<'_>], threads: Option<Count>) -> PyResult<Vec<Rows>> {
        let extractor = &*self.extractor;
        let work = |stop: &AtomicBool| {
            let one = |buffers: &mut Buffers, (i, input): (usize, &Audio<'_>)| {
                let mut values = Vec::new();
                if stop.load(Ordering::Relaxed) {
                    return Ok((0, values));
                }
                let rows = extractor.compute(buffers, input, &mut values).map_err(|error| (i, error))?;
                Ok((rows, values))
            };
            inputs.par_iter().enumerate().map_init(Buffers::default, one).collect::<Vec<Result<Rows, _>>>()
        };
        let done = threads::run_long(py, threads, work)?;
        let failed = |(i, error)| value_error(format!("recording {i}: {}", named(error).value(py)));
        done.into_iter().collect::<Result<_, _>>().map_err(failed)
    }

    fn list<'py>(&self, py: Python<'py>, results: Vec<Rows>) -> PyResult<Bound<'py, PyAny>> {
        let arrays = PyList::empty(py);
        for (rows, values) in results {
            arrays.append(shaped(py, rows, self.dim(), values)?)?;
        }
        Ok(arrays.into_any())
    }

    fn padded<'py>(
        &self,
        py: Python<'py>,
        results: &[Rows],
        padding: f32,
        threads: Option<Count>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let longest = results.iter().map(|(rows, _)| *rows).max().unwrap_or(0);
        let (width, number) = (longest * self.dim(), results.len());
        let values = threads::run(py, threads, || {
            let mut values = vec![padding; width * number];
            let places = values.par_chunks_mut(width.max(1)).zip(results);
            places.for_each(|(place, (_, rows))| place[..rows.len()].copy_from_slice(rows));
            values
        })?;
        let lengths: Vec<i64> = results.iter().map(|(rows, _)| *rows as i64).collect();
        let values = PyArray1::from_vec(py, values).reshape([number, longest, self.dim()])?;
        Ok((values, PyArray1::from_vec(py, lengths)).into_pyobject(py)?.into_any())
    }

    fn flat<'py>(&self, py: Python<'py>, results: &[Rows]) -> PyResult<Bound<'py, PyAny>> {
        let mut row_splits = vec![0_i32];
        let mut frames = 0_usize;
        for (rows, _) in results {
            frames += rows;
            row_splits.push(i32::try_from(frames).map_err(|_| exception(Error::BatchTooLarge { frames }))?);
        }
        let values = py.detach(|| {
            let mut values = Vec::with_capacity(frames * self.dim());
            results.iter().for_each(|(_, rows)| values.extend_from_slice(rows));
            values
        });
        let values = shaped(py, frames, self.dim(), values)?;
        Ok((values, PyArray1::from_vec(py, row_splits)).into_pyobject(py)?.into_any())
    }
}

/// Features while samples come.
#[pyclass(module = "kaldera._kaldera", name = "FeatureStream")]
pub(crate) struct Stream {
    stream: Box<dyn AnyStream>,
    dim: usize,
}

#[pymethods]
impl Stream {
    /// Values in a row of features.
    #[getter]
    fn dim(&self) -> usize {
        self.dim
    }

    fn __repr__(&self) -> String {
        let (ready, state) = (self.num_frames_ready(), if self.is_finished() { "finished" } else { "open" });
        format!("<FeatureStream of {} values, {ready} frames ready, {state}>", self.dim)
    }

    /// Takes the next samples, as few or many as there are.
    #[pyo3(signature = (audio, scale=1.0))]
    fn accept_waveform(&mut self, py: Python<'_>, audio: &Bound<'_, PyAny>, scale: f32) -> PyResult<()> {
        let channel = Channel::new(&(audio.clone(), None), scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel), false)?;
        let samples = channel.samples()?;
        let stream = &mut *self.stream;
        py.detach(|| stream.accept(samples)).map_err(named)
    }

    /// Ends the input: the last frames become ready.
    fn input_finished(&mut self, py: Python<'_>) {
        let stream = &mut *self.stream;
        py.detach(|| stream.finish());
    }

    /// True if input_finished() was called.
    #[getter]
    fn is_finished(&self) -> bool {
        self.stream.is_finished()
    }

    /// Frames that are ready since the start of the stream, those taken included.
    #[getter]
    fn num_frames_ready(&self) -> usize {
        self.stream.num_frames_ready()
    }

    /// The frames that are ready and were not taken: float32 [frames, dim].
    fn get_frames<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let mut values = Vec::new();
        let stream = &mut *self.stream;
        let rows = py.detach(|| stream.take(&mut values));
        shaped(py, rows, self.dim, values)
    }

    /// The state needed to go on from here, in this process or another.
    fn save_state(&self) -> PyResult<Vec<u8>> {
        self.stream.save().map_err(named)
    }

    /// Continues from the saved state of a stream with the same options.
    fn restore_state(&mut self, state: &[u8]) -> PyResult<()> {
        self.stream.restore(state).map_err(named)
    }
}
