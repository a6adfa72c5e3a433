//! Live recognition: speech without an end, in utterances.

use std::sync::{Arc, Mutex};

use kaldera::decoder::Recognition;
use kaldera::recognizer::LiveRecognizer;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::results::{Guess, ended, guesses};
use crate::samples::{Channel, warn_of_scale};
use crate::threads;

/// The name of an utterance, and its hypotheses.
type Utterance = (String, Vec<Guess>);

fn utterance(found: &Recognition) -> Utterance {
    (found.utterance.clone(), guesses(found))
}

/// Utterances of speech that comes.
#[pyclass(module = "kaldera._kaldera", name = "LiveRecognizer", frozen)]
pub(crate) struct Live {
    /// None after its end.
    running: Mutex<Option<LiveRecognizer>>,
}

impl Live {
    pub(crate) fn new(recognizer: Arc<kaldera::Recognizer>, rate: f32) -> PyResult<Self> {
        Ok(Self { running: Mutex::new(Some(LiveRecognizer::new(recognizer, rate).map_err(exception)?)) })
    }
}

#[pymethods]
impl Live {
    /// The utterances that ended, and a new result so far.
    fn _accept(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        scale: f32,
    ) -> PyResult<(Vec<Utterance>, Option<Utterance>)> {
        let channel = Channel::new(&(samples.clone(), None), scale)?;
        warn_of_scale(py, std::slice::from_ref(&channel), false)?;
        let samples = channel.samples()?;
        let accept = |live: &mut Option<LiveRecognizer>| live.as_mut().map(|live| live.accept(samples));
        let update = threads::run_locked(py, &self.running, accept)?;
        let update = update.ok_or_else(ended)?.map_err(exception)?;
        Ok((update.ended.iter().map(utterance).collect(), update.so_far.as_ref().map(utterance)))
    }

    fn _finish(&self, py: Python<'_>) -> PyResult<Option<Utterance>> {
        let finish = |live: &mut Option<LiveRecognizer>| live.take().map(LiveRecognizer::finish);
        let last = threads::run_locked(py, &self.running, finish)?;
        Ok(last.ok_or_else(ended)?.map_err(exception)?.as_ref().map(utterance))
    }
}
