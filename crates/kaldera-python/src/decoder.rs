//! Decoding of log-probabilities with the model of a folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use kaldera::recognizer::{AnyDecoder, DecodingOptions};
use numpy::Ix2;
use pyo3::prelude::*;

use crate::arguments::{Array, did_you_mean};
use crate::errors::{exception, value_error};
use crate::results::{Guess, Part, guesses, parts, texts};
use crate::threads;

/// Decodes log-probabilities.
#[pyclass(frozen, subclass, module = "kaldera._kaldera")]
pub(crate) struct Decoder {
    inner: AnyDecoder,
}

#[pymethods]
impl Decoder {
    /// `options` are the options of decoding as JSON.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str) -> PyResult<Self> {
        check_folder(&folder)?;
        let changes = changes(py, options)?;
        let open = || AnyDecoder::open(&folder, None, |described| described.with_changes(changes));
        Ok(Self { inner: threads::detach(py, open)?.map_err(exception)? })
    }

    /// The texts of the tokens, by their numbers.
    #[getter]
    fn tokens(&self) -> Vec<String> {
        texts(self.inner.vocabulary())
    }

    fn _decode(&self, py: Python<'_>, log_probs: Array<'_, f32, Ix2>, key: &str) -> PyResult<Vec<Guess>> {
        let values = self.values(&log_probs)?;
        Ok(guesses(&threads::detach(py, || self.inner.decode(key, &values))?.map_err(exception)?))
    }

    fn _align(
        &self,
        py: Python<'_>,
        log_probs: Array<'_, f32, Ix2>,
        key: &str,
        transcript: &str,
    ) -> PyResult<Vec<Part>> {
        let values = self.values(&log_probs)?;
        Ok(parts(&threads::detach(py, || self.inner.align(key, &values, transcript))?.map_err(exception)?))
    }
}

impl Decoder {
    /// The values of [frames, outputs], copied.
    fn values(&self, log_probs: &Array<'_, f32, Ix2>) -> PyResult<Vec<f32>> {
        let (found, expected) = (log_probs.shape()[1], self.inner.num_outputs());
        if found != expected {
            return Err(value_error(format!("log_probs has {found} columns, and the model {expected} outputs")));
        }
        log_probs.to_vec()
    }
}

/// Raises Python's error for a folder without a description that can be read.
pub(crate) fn check_folder(folder: &Path) -> PyResult<()> {
    let description = folder.join("model.toml");
    let failed = |source| exception(kaldera::io::Error::Open { name: description.display().to_string(), source });
    File::open(&description).map(drop).map_err(failed)
}

/// Options of decoding, as JSON with Python's names.
pub(crate) fn changes(py: Python<'_>, options: &str) -> PyResult<DecodingOptions> {
    use serde_json::{Map, Value};

    let wrong = |error| value_error(format!("options of decoding: {error}"));
    let given: Map<String, Value> = serde_json::from_str(options).map_err(wrong)?;
    let known: Map<String, Value> = serde_json::to_value(DecodingOptions::default())
        .and_then(serde_json::from_value)
        .map_err(wrong)?;
    let renamed = |(name, value): (String, Value)| match name.replace('_', "-") {
        key if known.contains_key(&key) => Ok((key, value)),
        _ => {
            let names: Vec<String> = known.keys().map(|name| name.replace('-', "_")).collect();
            let hint = did_you_mean(py, &name, &names)?;
            Err(value_error(format!("there is no option '{name}'{hint}: there are {}", names.join(", "))))
        }
    };
    let given: Map<String, Value> = given.into_iter().map(renamed).collect::<PyResult<_>>()?;
    serde_json::from_value(given.into()).map_err(wrong)
}
