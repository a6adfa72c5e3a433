//! Our errors as Python's: `OSError` if the system failed, `KeyError` for a key that a table does
//! not have, `ValueError` otherwise, such as for errors in a file; always with our text.

use std::error::Error;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};

/// The exception for any error of Kaldera.
pub(crate) fn exception<E: Error + 'static>(error: E) -> PyErr {
    let text = error.to_string();
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<io::Error>()
            && failed.kind() != io::ErrorKind::InvalidData
        {
            // Python has a class for each kind: FileNotFoundError, PermissionError ...
            return io::Error::new(failed.kind(), text).into();
        }
        // A box is a separate error, with the cause of the error in it.
        let boxed = current.downcast_ref::<Box<kaldi_io::Error>>().map(|boxed| &**boxed);
        match current.downcast_ref().or(boxed) {
            Some(kaldi_io::Error::MissingKey { .. }) => return PyKeyError::new_err(text),
            Some(kaldi_io::Error::Command { .. } | kaldi_io::Error::BrokenPipe { .. }) => {
                return PyOSError::new_err(text);
            }
            _ => {}
        }
        cause = current.source();
    }
    PyValueError::new_err(text)
}

/// A `ValueError`.
pub(crate) fn value_error(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
