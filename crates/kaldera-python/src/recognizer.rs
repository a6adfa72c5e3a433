//! Recognition with the model of a folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kaldera::decoder::score::{Rules, Units, score_words};
use kaldera::feat::Audio;
use kaldera::kaldi_online::OnlineFolder;
use kaldera::recognizer::{PauseOptions, RecognizerStream};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arguments::{Count, list};
use crate::decoder::{changes, check_folder};
use crate::errors::exception;
use crate::live::Live;
use crate::results::{Guess, Part, ended, guesses, parts, texts};
use crate::samples::{Channel, Given, audio, channels, warn_of_scale};
use crate::threads;

/// Recognises speech.
#[pyclass(frozen, subclass, module = "kaldera._kaldera")]
pub(crate) struct Recognizer {
    inner: Arc<kaldera::Recognizer>,
}

#[pymethods]
impl Recognizer {
    /// `options` are the options of decoding as JSON.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str) -> PyResult<Self> {
        if !OnlineFolder::is_one(&folder) {
            check_folder(&folder)?;
        }
        let changes = changes(py, options)?;
        let open = || kaldera::Recognizer::open_with(&folder, |described| described.with_changes(changes));
        Ok(Self { inner: Arc::new(threads::detach(py, open)?.map_err(exception)?) })
    }

    /// Samples per second that the model was trained for.
    #[getter]
    fn sample_rate(&self) -> f32 {
        self.inner.samp_freq()
    }

    /// The texts of the network's tokens, by their numbers; none for a Vosk or Kaldi folder.
    #[getter]
    fn tokens(&self) -> Vec<String> {
        self.inner.vocabulary().map_or_else(Vec::new, texts)
    }

    fn _transcribe<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] recordings: Vec<Given<'py>>,
        #[pyo3(from_py_with = list)] rates: Vec<f32>,
        #[pyo3(from_py_with = list)] keys: Vec<String>,
        scale: f32,
        threads: Option<Count>,
    ) -> PyResult<Vec<Vec<Guess>>> {
        let channels = channels(&recordings, scale)?;
        warn_of_scale(py, &channels, true)?;
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
        recording: Given<'py>,
        rate: f32,
        key: &str,
        scale: f32,
        transcript: &str,
    ) -> PyResult<Vec<Part>> {
        let channel = Channel::new(&recording, scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel), true)?;
        let input = audio(channel.samples()?, rate, key, 1.0);
        let words = threads::run(py, None, || self.inner.align(&input, transcript))?;
        Ok(parts(&words.map_err(exception)?))
    }

    fn _stream(&self, key: &str, rate: f32) -> PyResult<Stream> {
        let running = Mutex::new(Some(self.inner.stream(key, rate).map_err(exception)?));
        Ok(Stream { running })
    }

    fn _live(&self, rate: f32) -> PyResult<Live> {
        Live::new(Arc::clone(&self.inner), rate)
    }
}

/// Recognition while samples come.
#[pyclass(module = "kaldera._kaldera", name = "RecognizerStream", frozen)]
pub(crate) struct Stream {
    /// None after its end.
    running: Mutex<Option<RecognizerStream>>,
}

#[pymethods]
impl Stream {
    fn _accept(&self, py: Python<'_>, samples: &Bound<'_, PyAny>, scale: f32) -> PyResult<()> {
        let channel = Channel::new(&(samples.clone(), None), scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel), false)?;
        let samples = channel.samples()?;
        self.with(py, |stream| stream.accept(samples))
    }

    fn _partial(&self, py: Python<'_>) -> PyResult<Vec<Guess>> {
        self.with(py, |stream| stream.partial().map(|result| guesses(&result)))
    }

    fn _finish(&self, py: Python<'_>) -> PyResult<Vec<Guess>> {
        let finish = |stream: &mut Option<RecognizerStream>| stream.take().map(RecognizerStream::finish);
        let last = threads::run_locked(py, &self.running, finish)?;
        Ok(guesses(&last.ok_or_else(ended)?.map_err(exception)?))
    }
}

impl Stream {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut RecognizerStream) -> Result<R, kaldera::Error> + Send,
    ) -> PyResult<R> {
        let done = threads::run_locked(py, &self.running, |stream| stream.as_mut().map(work))?;
        done.ok_or_else(ended)?.map_err(exception)
    }
}

/// Correct words, substitutions, deletions, insertions.
#[pyfunction]
pub(crate) fn count_errors(
    py: Python<'_>,
    #[pyo3(from_py_with = list)] references: Vec<String>,
    #[pyo3(from_py_with = list)] hypotheses: Vec<String>,
    characters: bool,
) -> PyResult<(usize, usize, usize, usize)> {
    let rules = Rules::levenshtein().with_units(if characters { Units::Characters } else { Units::Words });
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
