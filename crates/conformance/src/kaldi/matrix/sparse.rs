//! Sparse vectors and matrices.

use kaldera::base::Real;
use kaldera::matrix::codec::{self, KaldiRead, KaldiWrite};
use kaldera::matrix::sparse::trace_mat_smat;
use kaldera::matrix::{SparseMatrix, SparseVector, Trans};

use super::answer::Answer;
use super::io::{hex, text};
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "SparseVector" => vector,
        "SparseVector.Max(all negative)" => max,
        "SparseMatrix" => matrix,
        _ => return None,
    })
}

fn from_pairs<T: Real>(record: &Record<'_, T>) -> Result<SparseVector<T>, Stop> {
    let pairs: Vec<(usize, f64)> = record.given.plain("pairs")?;
    let pairs = pairs.into_iter().map(|(place, x)| (place, T::from_f64(x)));
    Ok(SparseVector::new(record.given.plain("dim")?, pairs)?)
}

/// The object must be read back unchanged, from its binary form and from its text.
fn check_read<O: KaldiRead + KaldiWrite + PartialEq>(object: &O) -> Result<(), Stop> {
    for binary in [true, false] {
        let mut bytes = Vec::new();
        codec::write(&mut bytes, object, binary)?;
        if codec::read::<O>(&mut &bytes[..])? != *object {
            return Err(Stop::Refused(format!("what was written (binary: {binary}) is read as something else")));
        }
    }
    Ok(())
}

fn vector<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let v = from_pairs(record)?;
    check_read(&v)?;
    let (place, max) = v.max().ok_or_else(|| Stop::Damaged("dim: 0".into()))?;
    Ok(Answer::new()
        .vector("dense", &v.to_vector())
        .exact("NumElements", v.num_elements())
        .number("Sum", v.sum())
        .number("Max", max)
        .exact("Max_index", place)
        .exact("binary", hex(&v)?)
        .exact("text", text(&v)?))
}

fn max<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let (place, max) = from_pairs(record)?.max().ok_or_else(|| Stop::Damaged("dim: 0".into()))?;
    Ok(Answer::new().number("Max", max).exact("Max_index", place))
}

fn matrix<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut x = record.given.matrix("X")?;
    let m = SparseMatrix::from(&record.given.matrix("M")?);
    check_read(&m)?;
    let trace = trace_mat_smat(&x, &m, Trans::Yes)?;
    x.add_smat(T::from_f64(2.0), &m, Trans::No)?;
    Ok(Answer::new()
        .exact("NumElements", m.num_elements())
        .number("Sum", m.sum())
        .number("FrobeniusNorm", m.frobenius_norm())
        .matrix("transpose_dense", &m.transposed().to_matrix())
        .matrix("X_AddSmat_2", &x)
        .exact("binary", hex(&m)?)
        .exact("text", text(&m)?)
        .number("TraceMatSmat_Xt", trace))
}
