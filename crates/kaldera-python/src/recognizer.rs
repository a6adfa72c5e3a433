//! Recognition with the model of a folder.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kaldera::decoder::score::{Rules, score_words};
use kaldera::decoder::{Recognition, Segment};
use kaldera::feat::Audio;
use kaldera::recognizer::{DecodingOptions, PauseOptions, RecognizerStream};
use pyo3::prelude::*;
use rayon::prelude::*;
use self_cell::self_cell;

use crate::arguments::Count;
use crate::errors::{exception, value_error};
use crate::samples::{Channel, audio, warn_of_scale};
use crate::threads;

/// Text, start and end in seconds, confidence, number.
type Part = (String, f64, f64, Option<f64>, i32);

/// Score, words, tokens.
type Guess = (f64, Vec<Part>, Vec<Part>);

fn parts(segments: &[Segment]) -> Vec<Part> {
    let part = |segment: &Segment| (segment.text.clone(), segment.start, segment.end, segment.confidence, segment.id);
    segments.iter().map(part).collect()
}

fn guesses(result: &Recognition) -> Vec<Guess> {
    let guess = |hypothesis: &kaldera::decoder::Hypothesis| {
        (hypothesis.scores.total(), parts(&hypothesis.words), parts(&hypothesis.tokens))
    };
    result.hypotheses.iter().map(guess).collect()
}

/// Recognises speech.
#[pyclass(frozen, subclass, module = "kaldera._kaldera")]
pub(crate) struct Recognizer {
    inner: Arc<kaldera::Recognizer>,
}

#[pymethods]
impl Recognizer {
    /// `options` are those of decoding as JSON.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str) -> PyResult<Self> {
        let description = folder.join("model.toml");
        if let Err(source) = File::open(&description) {
            return Err(exception(kaldera::io::Error::Open { name: description.display().to_string(), source }));
        }
        let mut failed = None;
        let change = |described: DecodingOptions| match overlaid(&described, options) {
            Ok(changed) => changed,
            Err(error) => {
                failed = Some(error);
                described
            }
        };
        let opened = py.detach(|| kaldera::Recognizer::open_with(&folder, change)).map_err(exception);
        if let Some(error) = failed {
            return Err(value_error(format!("options of decoding: {error}")));
        }
        Ok(Self { inner: Arc::new(opened?) })
    }

    /// Samples per second that the model was trained for.
    #[getter]
    fn sample_rate(&self) -> Option<f32> {
        self.inner.samp_freq()
    }

    /// The texts of the network's tokens, by their numbers.
    #[getter]
    fn tokens(&self) -> Vec<String> {
        let vocabulary = self.inner.vocabulary();
        let numbers = 0..i32::try_from(vocabulary.len()).unwrap_or(i32::MAX);
        numbers.map(|id| vocabulary.text(id).to_owned()).collect()
    }

    fn _transcribe<'py>(
        &self,
        py: Python<'py>,
        recordings: Vec<Bound<'py, PyAny>>,
        rates: Vec<f32>,
        keys: Vec<String>,
        scale: f32,
        threads: Option<Count>,
    ) -> PyResult<Vec<Vec<Guess>>> {
        let channels =
            recordings.iter().map(|recording| Channel::new(recording, scale)).collect::<PyResult<Vec<_>>>()?;
        warn_of_scale(py, &channels)?;
        let inputs = channels.iter().zip(&rates).zip(&keys);
        let inputs = inputs.map(|((channel, &rate), key)| Ok(audio(channel.samples()?, rate, key, 1.0)));
        let inputs = inputs.collect::<PyResult<Vec<Audio<'_>>>>()?;
        let work = |stop: &AtomicBool| {
            let one = |input: &Audio<'_>| {
                if stop.load(Ordering::Relaxed) {
                    return Ok(vec![]);
                }
                let transcript = self.inner.transcribe_long(input, &PauseOptions::default())?;
                Ok(guesses(&transcript.recognition))
            };
            inputs.par_iter().map(one).collect::<Result<Vec<_>, kaldera::Error>>()
        };
        threads::run_long(py, threads, work)?.map_err(exception)
    }

    fn _align<'py>(
        &self,
        py: Python<'py>,
        recording: &Bound<'py, PyAny>,
        rate: f32,
        key: &str,
        scale: f32,
        transcript: &str,
    ) -> PyResult<Vec<Part>> {
        let channel = Channel::new(recording, scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel))?;
        let input = audio(channel.samples()?, rate, key, 1.0);
        let words = threads::run(py, None, || self.inner.align(&input, transcript))?;
        Ok(parts(&words.map_err(exception)?))
    }

    fn _stream(&self, key: &str, rate: f32) -> PyResult<Stream> {
        let made = Running::try_new(Arc::clone(&self.inner), |recognizer| recognizer.stream(key, rate).map(Some));
        Ok(Stream { running: Mutex::new(made.map_err(exception)?) })
    }
}

/// Options with some of them changed.
fn overlaid(described: &DecodingOptions, changes: &str) -> Result<DecodingOptions, serde_json::Error> {
    let mut all = serde_json::to_value(described)?;
    let changes: serde_json::Map<String, serde_json::Value> = serde_json::from_str(changes)?;
    if let Some(all) = all.as_object_mut() {
        all.extend(changes.into_iter().map(|(name, value)| (name.replace('_', "-"), value)));
    }
    serde_json::from_value(all)
}

type Streaming<'r> = Option<RecognizerStream<'r>>;

self_cell!(
    /// A stream with the model that it borrows.
    struct Running {
        owner: Arc<kaldera::Recognizer>,
        #[not_covariant]
        dependent: Streaming,
    }
);

/// Recognition while samples come.
#[pyclass(module = "kaldera._kaldera", name = "RecognizerStream", frozen)]
pub(crate) struct Stream {
    running: Mutex<Running>,
}

#[pymethods]
impl Stream {
    fn _accept(&self, py: Python<'_>, samples: &Bound<'_, PyAny>, scale: f32) -> PyResult<()> {
        let channel = Channel::new(samples, scale)?;
        let samples = channel.samples()?.to_f32();
        self.with(py, |stream| stream.accept(&samples))
    }

    fn _partial(&self, py: Python<'_>) -> PyResult<Vec<Guess>> {
        self.with(py, |stream| stream.partial().map(|result| guesses(&result)))
    }

    fn _finish(&self, py: Python<'_>) -> PyResult<Vec<Guess>> {
        let finish = |stream: &mut Streaming<'_>| stream.take().map(RecognizerStream::finish);
        let last =
            threads::run_locked(py, &self.running, |running| running.with_dependent_mut(|_, stream| finish(stream)))?;
        Ok(guesses(&last.ok_or_else(ended)?.map_err(exception)?))
    }
}

fn ended() -> PyErr {
    value_error("this stream was finished: begin a new one")
}

impl Stream {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut RecognizerStream<'_>) -> Result<R, kaldera::Error> + Send,
    ) -> PyResult<R> {
        let work = |running: &mut Running| running.with_dependent_mut(|_, stream| stream.as_mut().map(work));
        let done = threads::run_locked(py, &self.running, work)?;
        done.ok_or_else(ended)?.map_err(exception)
    }
}

/// Correct words, substitutions, deletions, insertions.
#[pyfunction]
pub(crate) fn count_errors(
    py: Python<'_>,
    references: Vec<String>,
    hypotheses: Vec<String>,
    characters: bool,
) -> PyResult<(usize, usize, usize, usize)> {
    let rules = Rules::levenshtein().with_characters(characters);
    py.detach(|| {
        let mut sums = (0, 0, 0, 0);
        for (reference, hypothesis) in references.iter().zip(&hypotheses) {
            let counts = score_words(reference, hypothesis, &rules)?.counts;
            sums.0 += counts.correct;
            sums.1 += counts.substitutions;
            sums.2 += counts.deletions;
            sums.3 += counts.insertions;
        }
        Ok(sums)
    })
    .map_err(exception::<kaldera::decoder::score::ScoreError>)
}
