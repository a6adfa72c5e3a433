//! Packed matrices: symmetric and triangular ones have the same format.

use std::io::{self, BufRead, Write};

use kaldera_base::Real;

use crate::codec::binary::{Precision, read_size, read_values, write_size, write_values};
use crate::codec::reader::{ByteReader, is_space};
use crate::codec::text::{Bracket, push_row, read_bracket, read_line_end, read_number};
use crate::codec::{CodecError, KaldiRead, KaldiWrite};
use crate::packed::{PackedMatrix, checked_triangle};

/// Reads either precision, and converts it if necessary.
impl<T: Real, K> KaldiRead for PackedMatrix<T, K> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        let (dim, data) = if binary { read_binary(&mut r)? } else { read_text(&mut r)? };
        Ok(Self::from_vec(dim, data).expect("as many elements as the triangle has were read"))
    }
}

impl<T: Real, K> KaldiWrite for PackedMatrix<T, K> {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        if !binary {
            return write_text(w, self);
        }
        w.write_all(match Precision::for_type::<T>() {
            Precision::Single => b"FP ",
            Precision::Double => b"DP ",
        })?;
        write_size(w, self.dim())?;
        write_values(w, self.data())
    }
}

/// Writes a line for each row of the triangle. In contrast to matrices and vectors, the text starts
/// without a space.
fn write_text<T: Real, K>(w: &mut dyn Write, m: &PackedMatrix<T, K>) -> io::Result<()> {
    if m.dim() == 0 {
        return w.write_all(b"[ ]\n");
    }
    let mut line = b"[".to_vec();
    for row in m.rows() {
        line.push(b'\n');
        push_row(&mut line, row);
        w.write_all(&line)?;
        line.clear();
    }
    w.write_all(b"]\n")
}

fn read_binary<T: Real>(r: &mut ByteReader<'_>) -> Result<(usize, Vec<T>), CodecError> {
    let token = r.token("a packed matrix")?;
    let precision = match &token.bytes[..] {
        b"FP" => Precision::Single,
        b"DP" => Precision::Double,
        _ => return Err(token.unexpected("`FP` or `DP`, a packed matrix")),
    };
    let offset = r.offset();
    let dim = read_size(r, "a number of rows")?;
    let Some(len) = checked_triangle(dim).filter(|len| len.checked_mul(precision.size()).is_some()) else {
        let found = format!("{dim} rows");
        return Err(CodecError::Unexpected { offset, expected: "a possible matrix size".into(), found });
    };
    Ok((dim, read_values(r, precision, len)?))
}

/// Reads a triangle. Line ends are ignored, as in Kaldi: the number of elements determines the
/// number of rows.
fn read_text<T: Real>(r: &mut ByteReader<'_>) -> Result<(usize, Vec<T>), CodecError> {
    let (mut data, mut scratch) = (Vec::new(), Vec::new());
    if read_bracket(r)? == Bracket::Both {
        return Ok((0, data));
    }
    loop {
        match r.peek()? {
            Some(b']') => break,
            Some(b) if is_space(b) => r.bump(),
            None => return Err(r.end("a number or `]`")),
            Some(_) => data.push(read_number(r, &mut scratch)?),
        }
    }
    let dim = rows_of(data.len()).ok_or_else(|| CodecError::Unexpected {
        offset: r.offset(),
        expected: "as many numbers as a triangle has: 1, 3, 6, 10 ...".into(),
        found: data.len().to_string(),
    })?;
    read_line_end(r)?;
    Ok((dim, data))
}

/// Returns the n with n (n + 1) / 2 = `len`.
fn rows_of(len: usize) -> Option<usize> {
    let dim = len.checked_mul(2)?.isqrt();
    (checked_triangle(dim) == Some(len)).then_some(dim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::codec::{read, write};
    use crate::{SpMatrix, TpMatrix};

    #[test]
    fn packed_text_has_a_line_for_each_row() {
        let m = SpMatrix::from_vec(2, vec![1.5_f32, -2.0, 1e-7]).unwrap();
        let mut text = Vec::new();
        write(&mut text, &m, false).unwrap();
        assert_eq!(text, b"[\n1.5 \n-2 1e-07 ]\n");
        assert_eq!(read::<SpMatrix<f32>>(&mut &text[..]).unwrap(), m);
        assert_eq!(read::<SpMatrix<f32>>(&mut &b"[ 1.5 -2 1e-07 ]"[..]).unwrap(), m);
        for (empty, binary) in [(&b"[ ]\n"[..], false), (b"[]\n", false), (b"\0BFP \x04\0\0\0\0", true)] {
            assert_eq!(read::<TpMatrix<f64>>(&mut &empty[..]).unwrap(), TpMatrix::zeros(0));
            let mut written = Vec::new();
            write(&mut written, &TpMatrix::<f32>::zeros(0), binary).unwrap();
            assert_eq!(written.len(), if binary { empty.len() } else { 4 });
        }
    }

    #[test]
    fn damaged_packed_matrices_are_refused() {
        for (bytes, offset) in [
            (&b"[ 1 2 ]\n"[..], 6),
            (b"[ 1 2 3", 7),
            (b"\0BFM \x04\x01\0\0\0", 2),
            (b"\0BFP \x04\xff\xff\xff\xff", 5),
            (b"\0BDP \x04\xff\xff\xff\x7f1234567812345678", 26),
        ] {
            let error = read::<SpMatrix<f32>>(&mut &bytes[..]).err().unwrap();
            assert_eq!(error.offset(), offset, "{error}");
        }
    }

    proptest! {
        #[test]
        fn packed_bytes_roundtrip(dim in 0_usize..12, values in proptest::collection::vec(any::<f32>(), 78), cut in 0_usize..400) {
            let m = TpMatrix::from_fn(dim, |r, c| f64::from(values[r * (r + 1) / 2 + c]));
            let mut bytes = Vec::new();
            write(&mut bytes, &m, true).unwrap();
            let back = read::<TpMatrix<f64>>(&mut &bytes[..]).unwrap();
            prop_assert!(back.data().iter().zip(m.data()).all(|(a, b)| a.to_bits() == b.to_bits()));
            let single = read::<TpMatrix<f32>>(&mut &bytes[..]).unwrap();
            prop_assert!(single.data().iter().zip(&values).all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
            if cut < bytes.len() {
                // Without its first bytes the header is missing, and the rest is read as text.
                prop_assert!(read::<TpMatrix<f64>>(&mut &bytes[..cut]).is_err());
            }
        }
    }
}
