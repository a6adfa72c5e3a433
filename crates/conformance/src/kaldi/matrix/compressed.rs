//! Compressed matrices: their bytes, and the numbers after compression.

use kaldera::base::Real;
use kaldera::matrix::codec;
use kaldera::matrix::{CompressedMatrix, CompressionMethod, Matrix};

use super::answer::Answer;
use super::io::hex;
use super::record::Record;
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "CompressedMatrix" => compress,
        "CompressedMatrix.sub" => sub,
        "CompressedMatrix(constant)" => constant,
        "CompressedMatrix(empty)" => empty,
        _ => return None,
    })
}

fn compressed<T: Real>(record: &Record<'_, T>) -> Result<CompressedMatrix, Stop> {
    let number = record.given.plain("method")?;
    let method =
        CompressionMethod::from_number(number).ok_or_else(|| Stop::Damaged(format!("method: {number} is none")))?;
    Ok(CompressedMatrix::new(&record.given.matrix("M")?, method)?)
}

/// The body, after a look that the reader takes it for the same matrix.
fn bytes(m: &CompressedMatrix) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    codec::write(&mut bytes, m, true)?;
    let back: CompressedMatrix = codec::read(&mut &bytes[..])?;
    if back != *m {
        return Err(Stop::Refused("what was written is read as another matrix".into()));
    }
    hex(m)
}

fn compress<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let mut m = compressed(record)?;
    let answer = Answer::new().exact("binary", bytes(&m)?).matrix("decompressed", &m.to_matrix());
    m.scale(2.0);
    Ok(answer.matrix("after_Scale_2", &m.to_matrix()))
}

fn constant<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let m = compressed(record)?;
    Ok(Answer::new().exact("binary", bytes(&m)?).matrix("decompressed", &m.to_matrix()))
}

fn sub<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let m = compressed(record)?;
    let sub = m.range(2, 9, 1, 2)?;
    let padded = m.range_with_padding(-2, 16, 0, m.num_cols())?;
    let few = m.range(3, 4, 0, m.num_cols())?;
    Ok(Answer::new()
        .exact("sub_r2_9_c1_2", bytes(&sub)?)
        .matrix("sub_dec", &sub.to_matrix())
        .exact("pad_r-2_16", bytes(&padded)?)
        .matrix("pad_dec", &padded.to_matrix())
        .exact("sub_r3_4", bytes(&few)?)
        .matrix("sub4_dec", &few.to_matrix()))
}

/// Kaldi writes four bytes of uninitialised memory between the token and the header, and cannot
/// read the result: ours must be the same without them.
fn empty<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let m = CompressedMatrix::new(&Matrix::<T>::zeros(0, 0), CompressionMethod::Automatic)?;
    let known: String = record.out.plain("binary")?;
    let (token, rest) = known.split_at_checked(6).unwrap_or_default();
    let rest = rest.get(8..).unwrap_or_default();
    Ok(Answer::new().free("binary").must("the bytes are Kaldi's but for four", bytes(&m)? == format!("{token}{rest}")))
}
