//! Matrices in the files of HTK and Sphinx.

use std::io::{self, BufRead, Write};

use kaldera_base::Real;

use crate::codec::CodecError;
use crate::codec::reader::ByteReader;
use crate::codec::sizes::{CHUNK, i32_of_size};
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;

/// The header of an HTK file, without the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtkHeader {
    /// Time from one row to the next, in units of 100 ns: 100000 is 10 ms.
    pub sample_period: i32,
    /// The kind of features (6 is MFCC, 7 FBANK, 9 USER), and its qualifiers: `_E` is 0o100, `_0`
    /// 0o20000.
    pub sample_kind: u16,
}

/// `_C`: 16-bit integers, with a scale for each column.
const COMPRESSED: u16 = 0o2000;
/// `_K`: two bytes of checksum at the end.
const CHECKSUM: u16 = 0o10000;
/// The kinds without qualifiers.
const BASE_KIND: u16 = 0o77;
/// Reflection coefficients as 16-bit integers, all of one scale: compressed without the qualifier.
const IREFC: u16 = 5;
/// The same coefficients as `f32`.
const LPREFC: u16 = 2;

/// Returns the kind for numbers in `f32` without a checksum.
fn kind_of_singles(kind: u16) -> u16 {
    let kind = kind & !(COMPRESSED | CHECKSUM);
    if kind & BASE_KIND == IREFC { kind & !BASE_KIND | LPREFC } else { kind }
}

/// Reads an HTK file: a big-endian header of 12 bytes, and numbers row by row.
///
/// ```text
/// rows:i32  sample_period:i32  bytes of a row:i16  sample_kind:u16     then f32, row by row
/// compressed (_C): the rows count 4 more; first an A, then a B for each column, f32;
///                  then i16 s, row by row: (s + B) / A
/// ```
///
/// Compressed files are decompressed, and a checksum is skipped; the returned kind has neither
/// qualifier. Reflection coefficients in 16-bit integers (IREFC, 5) get the kind of `f32` (LPREFC,
/// 2), so that the file that is written of them can be read; Kaldi does not change their kind.
///
/// # Errors
/// [`CodecError`] for an invalid header, and if the input ends too early.
#[doc(alias = "ReadHtk")]
pub fn read_htk<T: Real>(r: &mut dyn BufRead) -> Result<(Matrix<T>, HtkHeader), CodecError> {
    let mut r = ByteReader::new(r);
    let [mut rows, mut period] = [[0; 4]; 2];
    let [mut row_bytes, mut kind] = [[0; 2]; 2];
    for field in [&mut rows[..], &mut period, &mut row_bytes, &mut kind] {
        r.read_exact(field, "an HTK header of 12 bytes")?;
    }
    let (rows, row_bytes, kind) = (i32::from_be_bytes(rows), i16::from_be_bytes(row_bytes), u16::from_be_bytes(kind));
    let impossible = || CodecError::Unexpected {
        offset: 0,
        expected: "a possible HTK header".into(),
        found: format!("{rows} rows of {row_bytes} bytes, kind {kind:#o}"),
    };
    let short = kind & COMPRESSED != 0 || kind & BASE_KIND == IREFC;
    let size = if short { 2 } else { 4 };
    let (Ok(mut num_rows), Ok(bytes)) = (usize::try_from(rows), usize::try_from(row_bytes)) else {
        return Err(impossible());
    };
    let num_cols = bytes / size;
    if bytes % size != 0 || (num_cols == 0 && num_rows > 0) {
        return Err(impossible());
    }
    let mut scale = vec![(32767.0, 0.0); num_cols];
    if kind & COMPRESSED != 0 && kind & BASE_KIND != IREFC {
        num_rows = num_rows.checked_sub(4).ok_or_else(impossible)?;
        let mut numbers = read_row(&mut r, num_cols, f32::from_be_bytes)?;
        numbers.extend(read_row(&mut r, num_cols, f32::from_be_bytes)?);
        let (a, b) = numbers.split_at(num_cols);
        scale = a.iter().copied().zip(b.iter().copied()).collect();
    }
    let mut data = Vec::new();
    for _ in 0..num_rows {
        if short {
            let row = read_row(&mut r, num_cols, i16::from_be_bytes)?;
            data.extend(row.iter().zip(&scale).map(|(&s, (a, b))| T::from_f64(((f32::from(s) + b) / a).into())));
        } else {
            data.extend(read_row(&mut r, num_cols, f32::from_be_bytes)?.iter().map(|&x| T::from_f64(x.into())));
        }
    }
    if kind & CHECKSUM != 0 {
        r.read_exact(&mut [0; 2], "a checksum")?;
    }
    let num_cols = if num_rows == 0 { 0 } else { num_cols };
    let m = Matrix::from_vec(num_rows, num_cols, data).expect("as many values as the shape has were read");
    Ok((m, HtkHeader { sample_period: i32::from_be_bytes(period), sample_kind: kind_of_singles(kind) }))
}

/// Reads a row of big-endian numbers. A row has at most 32 kB, so that its length can be trusted.
fn read_row<N, const SIZE: usize>(
    r: &mut ByteReader<'_>,
    len: usize,
    number: fn([u8; SIZE]) -> N,
) -> Result<Vec<N>, CodecError> {
    let mut bytes = vec![0; SIZE * len];
    r.read_exact(&mut bytes, "more elements")?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| number(bytes)).collect())
}

/// Writes an HTK file of `f32`, not compressed, without a checksum and without integers, whatever
/// the kind in the header is.
///
/// # Errors
/// The errors of `w`, and `InvalidInput` for a number of rows beyond `i32` or more than 8191
/// columns.
#[doc(alias = "WriteHtk")]
pub fn write_htk(w: &mut dyn Write, m: &MatrixBase<impl Storage>, header: &HtkHeader) -> io::Result<()> {
    let rows = if m.is_empty() { 0 } else { i32_of_size(m.num_rows())? };
    let row_bytes = i16::try_from(m.num_cols().saturating_mul(4)).map_err(|_| {
        let message = format!("HTK's files hold at most 8191 columns, not {}", m.num_cols());
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })?;
    w.write_all(&rows.to_be_bytes())?;
    w.write_all(&header.sample_period.to_be_bytes())?;
    w.write_all(&row_bytes.to_be_bytes())?;
    w.write_all(&kind_of_singles(header.sample_kind).to_be_bytes())?;
    write_singles(w, m, f32::to_be_bytes)
}

/// Writes a feature file of CMU Sphinx: the number of elements as an `i32`, then `f32`, row by row,
/// all little-endian.
///
/// # Errors
/// The errors of `w`, and `InvalidInput` for a number of elements beyond `i32`.
#[doc(alias = "WriteSphinx")]
pub fn write_sphinx(w: &mut dyn Write, m: &MatrixBase<impl Storage>) -> io::Result<()> {
    w.write_all(&i32_of_size(m.num_rows().saturating_mul(m.num_cols()))?.to_le_bytes())?;
    write_singles(w, m, f32::to_le_bytes)
}

fn write_singles(w: &mut dyn Write, m: &MatrixBase<impl Storage>, bytes: fn(f32) -> [u8; 4]) -> io::Result<()> {
    let mut buffer = Vec::new();
    for row in m.rows() {
        buffer.extend(row.iter().flat_map(|x| bytes(f32::from_f64(x.to_f64()))));
        if buffer.len() >= CHUNK {
            w.write_all(&buffer)?;
            buffer.clear();
        }
    }
    w.write_all(&buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: HtkHeader = HtkHeader { sample_period: 100_000, sample_kind: 0o100 | 6 };

    #[test]
    fn values_roundtrip() {
        let m = Matrix::from_vec(2, 3, vec![1.0_f64, -2.5, 1e-3, 4.0, 5.0, -6.0]).unwrap();
        let mut bytes = Vec::new();
        write_htk(&mut bytes, &m, &HEADER).unwrap();
        assert_eq!(bytes[..16], *b"\0\0\0\x02\0\x01\x86\xa0\0\x0c\0\x46\x3f\x80\0\0");
        let (back, header) = read_htk::<f32>(&mut &bytes[..]).unwrap();
        assert_eq!((back.data()[1], back.num_rows(), header), (-2.5, 2, HEADER));
        for len in 0..bytes.len() {
            assert!(read_htk::<f32>(&mut &bytes[..len]).is_err(), "{len}");
        }
        let mut bytes = Vec::new();
        write_htk(&mut bytes, &Matrix::<f32>::zeros(0, 0), &HEADER).unwrap();
        assert_eq!(read_htk::<f32>(&mut &bytes[..]).unwrap().0, Matrix::zeros(0, 0));
        assert!(write_htk(&mut bytes, &Matrix::<f32>::zeros(1, 8192), &HEADER).is_err());
    }

    #[test]
    fn compressed_files_are_decompressed() {
        // A = 2 and B = 1, and 100 and -50; 1 row; a checksum.
        let mut bytes = b"\0\0\0\x05\0\x01\x86\xa0\0\x04\x14\x06".to_vec();
        bytes.extend([2.0_f32, 100.0, 1.0, -50.0].iter().flat_map(|x| x.to_be_bytes()));
        bytes.extend([3_i16, -150].iter().flat_map(|x| x.to_be_bytes()));
        bytes.extend(b"ck");
        let (m, header) = read_htk::<f64>(&mut &bytes[..]).unwrap();
        assert_eq!((m.data(), header.sample_kind), (&[2.0, -2.0][..], 6));
        assert!(read_htk::<f64>(&mut &bytes[..bytes.len() - 1]).is_err());
        let irefc = b"\0\0\0\x01\0\x01\x86\xa0\0\x02\0\x05\x80\x01";
        assert_eq!(read_htk::<f32>(&mut &irefc[..]).unwrap().0.data(), [-1.0]);
    }

    /// Integers are read as `f32`, and written with the kind of `f32`, so that they can be read
    /// again.
    #[test]
    fn reflection_coefficients_come_back() {
        let irefc = b"\0\0\0\x01\0\x01\x86\xa0\0\x04\0\x45\x80\x01\x7f\xff";
        let (m, header) = read_htk::<f32>(&mut &irefc[..]).unwrap();
        assert_eq!((m.data(), header.sample_kind), (&[-1.0, 1.0][..], 0o100 | LPREFC));
        for header in [header, HtkHeader { sample_kind: 0o100 | IREFC, ..header }] {
            let mut bytes = Vec::new();
            write_htk(&mut bytes, &m, &header).unwrap();
            let (back, kind) = read_htk::<f32>(&mut &bytes[..]).unwrap();
            assert_eq!((back, kind.sample_kind), (m.clone(), 0o100 | LPREFC));
        }
    }

    #[test]
    fn headers_that_cannot_be() {
        for header in [
            b"\xff\xff\xff\xff\0\0\0\0\0\x04\0\x06",
            b"\0\0\0\x01\0\0\0\0\xff\xfc\0\x06",
            b"\0\0\0\x01\0\0\0\0\0\x06\0\x06",
            b"\x7f\xff\xff\xff\0\0\0\0\0\0\0\x06",
            b"\0\0\0\x03\0\0\0\0\0\x04\x04\x06",
        ] {
            assert!(matches!(read_htk::<f32>(&mut &header[..]), Err(CodecError::Unexpected { .. })), "{header:?}");
        }
        let promise = b"\x7f\xff\xff\xff\0\0\0\0\x7f\xfc\0\x06and no more";
        assert!(matches!(read_htk::<f32>(&mut &promise[..]), Err(CodecError::End { .. })));
    }

    #[test]
    fn sphinx_is_little_endian() {
        let mut bytes = Vec::new();
        write_sphinx(&mut bytes, &Matrix::from_vec(1, 2, vec![1.0_f64, -2.0]).unwrap()).unwrap();
        assert_eq!(bytes, b"\x02\0\0\0\0\0\x80\x3f\0\0\0\xc0");
    }
}
