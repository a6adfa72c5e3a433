//! Bytes and texts.

use std::fmt::Write;

use kaldera::base::Real;
use kaldera::matrix::codec::KaldiWrite;
use kaldera::matrix::{Matrix, SpMatrix, TpMatrix, Vector};

use super::answer::Answer;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "IO.bytes(binary)" => |record| objects(record, hex),
        "IO.text(precision 7)" => |record| objects(record, text),
        _ => return None,
    })
}

/// The binary body of an object in hexadecimal.
pub(super) fn hex(object: &dyn KaldiWrite) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    object.write_body(&mut bytes, true)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    }))
}

/// The text of an object.
pub(super) fn text(object: &dyn KaldiWrite) -> Result<String, Stop> {
    let mut text = Vec::new();
    object.write_body(&mut text, false)?;
    String::from_utf8(text).map_err(|error| Stop::Refused(error.to_string()))
}

fn objects<T: Real>(
    record: &Record<'_, T>,
    written: fn(&dyn KaldiWrite) -> Result<String, Stop>,
) -> Result<Answer<T>, Stop> {
    let (sp, tp) = (record.given.numbers("sp")?, record.given.numbers("tp")?);
    Ok(Answer::new()
        .exact("Vector", written(&record.given.vector("v")?)?)
        .exact("Matrix", written(&record.given.matrix("m")?)?)
        .exact("SpMatrix", written(&SpMatrix::from_vec(side(&sp), sp)?)?)
        .exact("TpMatrix", written(&TpMatrix::from_vec(side(&tp), tp)?)?)
        .exact("Vector_empty", written(&Vector::<T>::zeros(0))?)
        .exact("Matrix_empty", written(&Matrix::<T>::zeros(0, 0))?)
        .exact("SpMatrix_empty", written(&SpMatrix::<T>::zeros(0))?))
}

/// The number of rows of a stored triangle; of numbers that are none, one that does not fit.
fn side<T>(triangle: &[T]) -> usize {
    (0..).find(|n| n * (n + 1) / 2 >= triangle.len()).unwrap_or(0)
}
