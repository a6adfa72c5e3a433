//! The binary bodies of compressed matrices.

use std::io::{self, Write};

use crate::codec::CodecError;
use crate::codec::reader::{ByteReader, Word};
use crate::codec::sizes::{CHUNK, i32_of_size};
use crate::compressed::{CompressedMatrix, Data, Percentiles, Scale};

/// Number of bytes of four percentiles.
pub(super) const COLUMN_HEADER: usize = 8;

/// The three tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Columns,
    TwoBytes,
    OneByte,
}

impl Token {
    pub(super) fn from_word(word: &Word) -> Option<Self> {
        match &word.bytes[..] {
            b"CM" => Some(Self::Columns),
            b"CM2" => Some(Self::TwoBytes),
            b"CM3" => Some(Self::OneByte),
            _ => None,
        }
    }
}

/// Reads the 16 bytes after the token: the scale, and the numbers of rows and columns, which are
/// not negative. Without columns there are no rows either.
pub(super) fn read_header(r: &mut ByteReader<'_>) -> Result<(Scale, usize, usize), CodecError> {
    let mut header = [0; 16];
    let at = r.offset();
    r.read_exact(&mut header, "the 16 bytes of a compressed matrix's header")?;
    let [min, range, rows, cols] = *header.as_chunks().0 else { unreachable!("16 bytes are four times four") };
    let scale = Scale { min: f32::from_le_bytes(min), range: f32::from_le_bytes(range) };
    let (rows, cols) = (i32::from_le_bytes(rows), i32::from_le_bytes(cols));
    match (usize::try_from(rows), usize::try_from(cols)) {
        (Ok(_), Ok(0)) => Ok((scale, 0, 0)),
        (Ok(num_rows), Ok(num_cols)) if num_rows > 0 && num_rows.checked_mul(num_cols).is_some() => {
            Ok((scale, num_rows, num_cols))
        }
        _ => Err(CodecError::Unexpected {
            offset: at + 8,
            expected: "a possible matrix size".into(),
            found: format!("{rows} x {cols}"),
        }),
    }
}

/// Reads the body after the token.
pub(super) fn read(r: &mut ByteReader<'_>, token: Token) -> Result<CompressedMatrix, CodecError> {
    let at = r.offset();
    let (scale, rows, cols) = read_header(r)?;
    if cols == 0 {
        return Ok(CompressedMatrix::default());
    }
    let len = rows * cols;
    let impossible = || CodecError::Unexpected {
        offset: at + 8,
        expected: "a possible matrix size".into(),
        found: format!("{rows} x {cols}"),
    };
    let data = match token {
        Token::Columns => {
            let headers = read_bytes(r, cols.checked_mul(COLUMN_HEADER).ok_or_else(impossible)?)?;
            let percentiles = headers.as_chunks::<COLUMN_HEADER>().0.iter().map(percentiles).collect();
            Data::Columns { percentiles, bytes: read_bytes(r, len)? }
        }
        Token::TwoBytes => {
            let bytes = read_bytes(r, len.checked_mul(2).ok_or_else(impossible)?)?;
            Data::TwoBytes(bytes.as_chunks().0.iter().map(|&word| u16::from_le_bytes(word)).collect())
        }
        Token::OneByte => Data::OneByte(read_bytes(r, len)?),
    };
    Ok(CompressedMatrix::from_parts(scale, rows, cols, data))
}

fn percentiles(header: &[u8; COLUMN_HEADER]) -> Percentiles {
    Percentiles(std::array::from_fn(|i| u16::from_le_bytes([header[2 * i], header[2 * i + 1]])))
}

/// Reads `len` bytes. Memory grows with the bytes that were read, not with the size in the header.
fn read_bytes(r: &mut ByteReader<'_>, len: usize) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let begin = bytes.len();
        bytes.resize(len.min(begin + CHUNK), 0);
        r.read_exact(&mut bytes[begin..], "more elements")?;
    }
    Ok(bytes)
}

/// Writes the token and the body. Kaldi writes four extra bytes for a matrix without elements,
/// which no reader accepts; here it has an ordinary header.
pub(super) fn write(w: &mut dyn Write, m: &CompressedMatrix) -> io::Result<()> {
    w.write_all(match m.data() {
        Data::Columns { .. } => b"CM ",
        Data::TwoBytes(_) => b"CM2 ",
        Data::OneByte(_) => b"CM3 ",
    })?;
    let Scale { min, range } = m.scale_of_integers();
    for number in [min.to_le_bytes(), range.to_le_bytes()] {
        w.write_all(&number)?;
    }
    for size in [m.num_rows(), m.num_cols()] {
        w.write_all(&i32_of_size(size)?.to_le_bytes())?;
    }
    match m.data() {
        Data::Columns { percentiles, bytes } => {
            let headers: Vec<u8> =
                percentiles.iter().flat_map(|Percentiles(p)| p).flat_map(|p| p.to_le_bytes()).collect();
            w.write_all(&headers)?;
            w.write_all(bytes)
        }
        Data::TwoBytes(words) => words.chunks(CHUNK / 2).try_for_each(|chunk| {
            let bytes: Vec<u8> = chunk.iter().flat_map(|word| word.to_le_bytes()).collect();
            w.write_all(&bytes)
        }),
        Data::OneByte(bytes) => w.write_all(bytes),
    }
}
