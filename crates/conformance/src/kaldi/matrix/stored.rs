//! Bytes and texts of objects, and the matrices with forms of their own: sparse and compressed.

use std::fmt::Write;

use kaldera::base::Real;
use kaldera::matrix::codec::{self, KaldiRead, KaldiWrite};
use kaldera::matrix::sparse::trace_mat_smat;
use kaldera::matrix::{
    CompressedMatrix, CompressionMethod, Matrix, SpMatrix, SparseMatrix, SparseVector, Trans, Vector,
};

use super::answer::Answer;
use super::packed::{sp, tp};
use super::record::{Record, tried};
use crate::Stop;

pub(super) fn run<T: Real>(r: &Record<'_, T>) -> Result<Answer, Stop> {
    match r.op {
        "IO.bytes(binary)" => objects(r, hex),
        "IO.text(precision 7)" => objects(r, text),
        "SparseVector" => {
            let v = from_pairs(r)?;
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
        "SparseVector.Max(all negative)" => {
            let (place, max) = from_pairs(r)?.max().ok_or_else(|| Stop::Damaged("dim: 0".into()))?;
            Ok(Answer::new().number("Max", max).exact("Max_index", place))
        }
        "SparseMatrix" => {
            let x = r.matrix("X")?;
            let m = SparseMatrix::from(&r.matrix("M")?);
            check_read(&m)?;
            Ok(Answer::new()
                .exact("NumElements", m.num_elements())
                .number("Sum", m.sum())
                .number("FrobeniusNorm", m.frobenius_norm())
                .matrix("transpose_dense", &m.transposed().to_matrix())
                .matrix("X_AddSmat_2", &tried(&x, |x| x.add_smat(T::from_f64(2.0), &m, Trans::No))?)
                .exact("binary", hex(&m)?)
                .exact("text", text(&m)?)
                .number("TraceMatSmat_Xt", trace_mat_smat(&x, &m, Trans::Yes)?))
        }
        "CompressedMatrix" => {
            let mut m = compressed(r)?;
            let answer = Answer::new().exact("binary", bytes(&m)?).matrix("decompressed", &m.to_matrix::<T>());
            m.scale(2.0);
            Ok(answer.matrix("after_Scale_2", &m.to_matrix::<T>()))
        }
        "CompressedMatrix(constant)" => {
            let m = compressed(r)?;
            Ok(Answer::new().exact("binary", bytes(&m)?).matrix("decompressed", &m.to_matrix::<T>()))
        }
        "CompressedMatrix.sub" => {
            let m = compressed(r)?;
            let sub = m.range(2, 9, 1, 2)?;
            let padded = m.range_with_padding(-2, 16, 0, m.num_cols())?;
            let few = m.range(3, 4, 0, m.num_cols())?;
            Ok(Answer::new()
                .exact("sub_r2_9_c1_2", bytes(&sub)?)
                .matrix("sub_dec", &sub.to_matrix::<T>())
                .exact("pad_r-2_16", bytes(&padded)?)
                .matrix("pad_dec", &padded.to_matrix::<T>())
                .exact("sub_r3_4", bytes(&few)?)
                .matrix("sub4_dec", &few.to_matrix::<T>()))
        }
        // Kaldi writes four bytes of uninitialised memory between the token and the header, and
        // cannot read the result: ours must be the same without them.
        "CompressedMatrix(empty)" => {
            let m = CompressedMatrix::new(&Matrix::<T>::zeros(0, 0), CompressionMethod::Automatic)?;
            let known: String = r.out.plain("binary")?;
            let (token, rest) = known.split_at_checked(6).unwrap_or_default();
            let same = bytes(&m)? == format!("{token}{}", rest.get(8..).unwrap_or_default());
            Ok(Answer::new().free("binary").must("the bytes are Kaldi's but for four", same))
        }
        _ => Err(Stop::NotRun),
    }
}

/// The binary body of an object in hexadecimal.
fn hex(object: &dyn KaldiWrite) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    object.write_body(&mut bytes, true)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    }))
}

/// The text of an object.
fn text(object: &dyn KaldiWrite) -> Result<String, Stop> {
    let mut text = Vec::new();
    object.write_body(&mut text, false)?;
    Ok(String::from_utf8(text)?)
}

fn objects<T: Real>(r: &Record<'_, T>, written: fn(&dyn KaldiWrite) -> Result<String, Stop>) -> Result<Answer, Stop> {
    Ok(Answer::new()
        .exact("Vector", written(&r.vector("v")?)?)
        .exact("Matrix", written(&r.matrix("m")?)?)
        .exact("SpMatrix", written(&sp(r, "sp")?)?)
        .exact("TpMatrix", written(&tp(r, "tp")?)?)
        .exact("Vector_empty", written(&Vector::<T>::zeros(0))?)
        .exact("Matrix_empty", written(&Matrix::<T>::zeros(0, 0))?)
        .exact("SpMatrix_empty", written(&SpMatrix::<T>::zeros(0))?))
}

fn from_pairs<T: Real>(r: &Record<'_, T>) -> Result<SparseVector<T>, Stop> {
    let pairs: Vec<(usize, f64)> = r.plain("pairs")?;
    Ok(SparseVector::new(r.plain("dim")?, pairs.into_iter().map(|(place, x)| (place, T::from_f64(x))))?)
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

fn compressed<T: Real>(r: &Record<'_, T>) -> Result<CompressedMatrix, Stop> {
    let number = r.plain("method")?;
    let none = || Stop::Damaged(format!("method: {number} is none"));
    Ok(CompressedMatrix::new(&r.matrix("M")?, CompressionMethod::from_number(number).ok_or_else(none)?)?)
}

/// The body, after a look that the reader takes it for the same matrix.
fn bytes(m: &CompressedMatrix) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    codec::write(&mut bytes, m, true)?;
    if codec::read::<CompressedMatrix>(&mut &bytes[..])? != *m {
        return Err(Stop::Refused("what was written is read as another matrix".into()));
    }
    hex(m)
}
