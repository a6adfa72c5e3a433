//! The binary bodies.

use std::io::{self, Write};

use kaldera_base::Real;

use crate::codec::reader::{ByteReader, Word};
use crate::codec::sizes::{CHUNK, i32_of_size};
use crate::codec::{CodecError, compressed};
use crate::matrix::{Matrix, SubMatrix};
use crate::vector::Vector;

/// Type of the numbers of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Single,
    Double,
}

impl Precision {
    pub(super) fn for_type<T: Real>() -> Self {
        if size_of::<T>() == size_of::<f32>() { Self::Single } else { Self::Double }
    }

    pub(super) fn size(self) -> usize {
        match self {
            Self::Single => size_of::<f32>(),
            Self::Double => size_of::<f64>(),
        }
    }
}

/// Kind of a dense matrix, from its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatrixKind {
    Full(Precision),
    Compressed(compressed::Token),
}

impl MatrixKind {
    pub(super) fn from_token(token: &Word) -> Result<Self, CodecError> {
        match &token.bytes[..] {
            b"FM" => Ok(Self::Full(Precision::Single)),
            b"DM" => Ok(Self::Full(Precision::Double)),
            _ => compressed::Token::from_word(token)
                .map(Self::Compressed)
                .ok_or_else(|| token.unexpected("`FM`, `DM`, `CM`, `CM2` or `CM3`, a matrix")),
        }
    }
}

pub(super) fn read_matrix<T: Real>(r: &mut ByteReader<'_>) -> Result<Matrix<T>, CodecError> {
    match MatrixKind::from_token(&r.token("a matrix")?)? {
        MatrixKind::Full(precision) => read_full(r, precision),
        MatrixKind::Compressed(token) => Ok(compressed::read(r, token)?.to_matrix()),
    }
}

/// Reads the body after the token of a matrix that is not compressed.
pub(super) fn read_full<T: Real>(r: &mut ByteReader<'_>, precision: Precision) -> Result<Matrix<T>, CodecError> {
    let at = r.offset();
    let rows = read_size(r, "a number of rows")?;
    let cols = read_size(r, "a number of columns")?;
    let len = rows.checked_mul(cols).filter(|len| len.checked_mul(precision.size()).is_some());
    let (Some(len), true) = (len, (rows == 0) == (cols == 0)) else {
        return Err(CodecError::Unexpected {
            offset: at,
            expected: "a possible matrix size".into(),
            found: format!("{rows} x {cols}"),
        });
    };
    let data = read_values(r, precision, len)?;
    Ok(Matrix::from_vec(rows, cols, data).expect("as many values as the shape has were read"))
}

pub(super) fn read_vector<T: Real>(r: &mut ByteReader<'_>) -> Result<Vector<T>, CodecError> {
    let token = r.token("a vector")?;
    let precision = match &token.bytes[..] {
        b"FV" => Precision::Single,
        b"DV" => Precision::Double,
        _ => return Err(token.unexpected("`FV` or `DV`, a vector")),
    };
    let dim = read_size(r, "a number of elements")?;
    Ok(read_values(r, precision, dim)?.into())
}

/// Reads a size, which is not negative.
pub(super) fn read_size(r: &mut ByteReader<'_>, expected: &'static str) -> Result<usize, CodecError> {
    let offset = r.offset();
    let size = r.int32(expected)?;
    usize::try_from(size).map_err(|_| CodecError::Unexpected {
        offset,
        expected: expected.into(),
        found: size.to_string(),
    })
}

/// Reads `len` little-endian numbers. Memory grows with the bytes that were read, not with the size
/// in the header.
pub(super) fn read_values<T: Real>(
    r: &mut ByteReader<'_>,
    precision: Precision,
    len: usize,
) -> Result<Vec<T>, CodecError> {
    let per_chunk = len.min(CHUNK / precision.size());
    let mut values = Vec::with_capacity(per_chunk);
    let mut other = vec![0; if precision == Precision::for_type::<T>() { 0 } else { per_chunk * precision.size() }];
    while values.len() < len {
        let begin = values.len();
        let count = per_chunk.min(len - begin);
        if precision == Precision::for_type::<T>() {
            values.resize(begin + count, T::ZERO);
            let values = &mut values[begin..];
            r.read_exact(bytes_mut(values), "more elements")?;
            from_little_endian(values);
            continue;
        }
        let bytes = &mut other[..count * precision.size()];
        r.read_exact(bytes, "more elements")?;
        match precision {
            Precision::Single => {
                values.extend(bytes.as_chunks().0.iter().map(|&b| T::from_f64(f32::from_le_bytes(b).into())));
            }
            Precision::Double => {
                values.extend(bytes.as_chunks().0.iter().map(|&b| T::from_f64(f64::from_le_bytes(b))));
            }
        }
    }
    Ok(values)
}

fn bytes_mut<T: Real>(values: &mut [T]) -> &mut [u8] {
    if Precision::for_type::<T>() == Precision::Single {
        T::as_f32_mut(values).map_or(&mut [], bytemuck::cast_slice_mut)
    } else {
        T::as_f64_mut(values).map_or(&mut [], bytemuck::cast_slice_mut)
    }
}

fn bytes<T: Real>(values: &[T]) -> &[u8] {
    let single = T::as_f32(values).map(bytemuck::cast_slice);
    single.or_else(|| T::as_f64(values).map(bytemuck::cast_slice)).unwrap_or(&[])
}

/// Swaps the bytes of each number on a big-endian machine.
fn from_little_endian<T: Real>(values: &mut [T]) {
    if cfg!(target_endian = "big") {
        bytes_mut(values).chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
}

pub(super) fn write_matrix<T: Real>(w: &mut dyn Write, m: SubMatrix<'_, T>) -> io::Result<()> {
    w.write_all(match Precision::for_type::<T>() {
        Precision::Single => b"FM ",
        Precision::Double => b"DM ",
    })?;
    let (rows, cols) = if m.is_empty() { (0, 0) } else { (m.num_rows(), m.num_cols()) };
    write_size(w, rows)?;
    write_size(w, cols)?;
    if m.stride() == m.num_cols() {
        write_values(w, m.data())
    } else {
        m.rows().try_for_each(|row| write_values(w, row))
    }
}

pub(super) fn write_vector<T: Real>(w: &mut dyn Write, v: &[T]) -> io::Result<()> {
    w.write_all(match Precision::for_type::<T>() {
        Precision::Single => b"FV ",
        Precision::Double => b"DV ",
    })?;
    write_size(w, v.len())?;
    write_values(w, v)
}

pub(super) fn write_size(w: &mut dyn Write, size: usize) -> io::Result<()> {
    w.write_all(&[4])?;
    w.write_all(&i32_of_size(size)?.to_le_bytes())
}

/// Writes little-endian numbers in their own precision, with one call of `write_all` on a
/// little-endian machine.
pub(super) fn write_values<T: Real>(w: &mut dyn Write, values: &[T]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return w.write_all(bytes(values));
    }
    values.chunks(CHUNK / size_of::<T>()).try_for_each(|chunk| {
        let mut swapped = chunk.to_vec();
        from_little_endian(&mut swapped);
        w.write_all(bytes(&swapped))
    })
}
