//! Model files of the crates that have no files: Gaussian mixtures, i-vector extractors.

use kaldi_io::rxfilename::Input;
use kaldi_io::wxfilename::Output;
use kaldi_matrix::codec::{self, KaldiRead, KaldiWrite};

use crate::error::Error;

/// Reads the model at an rxfilename, in binary or as text.
///
/// # Errors
/// The errors of opening the file; [`kaldi_io::Error::File`] for its contents.
#[doc(alias = "ReadKaldiObject")]
pub fn read_model<T: KaldiRead>(rxfilename: &str) -> Result<T, Error> {
    let mut input = Input::open(rxfilename)?;
    let file = |error| kaldi_io::Error::File { place: rxfilename.to_owned(), source: Box::new(error) };
    Ok(codec::read(&mut input).map_err(|error| file(kaldi_io::Error::from(error)))?)
}

/// Writes a model to a wxfilename.
///
/// # Errors
/// The errors of creating or writing the file.
#[doc(alias = "WriteKaldiObject")]
pub fn write_model(wxfilename: &str, model: &impl KaldiWrite, binary: bool) -> Result<(), Error> {
    let mut output = Output::create(wxfilename)?;
    codec::write(&mut output, model, binary)?;
    Ok(output.close()?)
}
