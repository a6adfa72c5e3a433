//! Sparse vectors and matrices.

use std::io::{self, BufRead, Write};

use kaldera_base::Real;

use crate::codec::binary::{read_size, write_size, write_values};
use crate::codec::reader::{ByteReader, Word, describe, is_space};
use crate::codec::sizes::i32_of_size;
use crate::codec::text::{push_number, read_number};
use crate::codec::{CodecError, KaldiRead, KaldiWrite};
use crate::sparse::{SparseMatrix, SparseVector};

/// Reads either precision, and converts it if necessary.
impl<T: Real> KaldiRead for SparseVector<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if binary {
            return read_binary_vector(&mut r);
        }
        let v = read_text_vector(&mut r)?;
        read_line_end(&mut r)?;
        Ok(v)
    }
}

/// Reads either precision, and converts it if necessary.
impl<T: Real> KaldiRead for SparseMatrix<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if !binary {
            return read_text_matrix(&mut r);
        }
        let token = r.token("a sparse matrix")?;
        if token.bytes == b"SM" { read_binary_matrix(&mut r) } else { Err(token.unexpected("`SM`, a sparse matrix")) }
    }
}

/// In text, Kaldi ends a sparse vector with a space instead of a line end.
impl<T: Real> KaldiWrite for SparseVector<T> {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        if binary { write_binary_vector(w, self) } else { write_text_vector(w, self) }
    }
}

impl<T: Real> KaldiWrite for SparseMatrix<T> {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        if binary {
            w.write_all(b"SM ")?;
            write_size(w, self.num_rows())?;
            return self.rows().iter().try_for_each(|row| write_binary_vector(w, row));
        }
        write!(w, "rows={} ", self.num_rows())?;
        self.rows().iter().try_for_each(|row| write_text_vector(w, row))?;
        w.write_all(b"\n")
    }
}

/// Reads the body after the token of a sparse matrix. Memory grows with the rows that were read.
pub(super) fn read_binary_matrix<T: Real>(r: &mut ByteReader<'_>) -> Result<SparseMatrix<T>, CodecError> {
    let num_rows = read_size(r, "a number of rows")?;
    read_rows(r, num_rows, read_binary_vector)
}

fn read_rows<T: Real>(
    r: &mut ByteReader<'_>,
    num_rows: usize,
    read: fn(&mut ByteReader<'_>) -> Result<SparseVector<T>, CodecError>,
) -> Result<SparseMatrix<T>, CodecError> {
    let mut rows: Vec<SparseVector<T>> = Vec::new();
    for _ in 0..num_rows {
        let offset = r.offset();
        let row = read(r)?;
        if let Some(first) = rows.first().filter(|first| first.dim() != row.dim()) {
            return Err(CodecError::Unexpected {
                offset,
                expected: format!("a row of dimension {}, as the first", first.dim()).into(),
                found: format!("one of {}", row.dim()),
            });
        }
        rows.push(row);
    }
    Ok(SparseMatrix::from_rows(rows).expect("all rows have one dimension"))
}

fn read_binary_vector<T: Real>(r: &mut ByteReader<'_>) -> Result<SparseVector<T>, CodecError> {
    let token = r.token("a sparse vector")?;
    if token.bytes != b"SV" {
        return Err(token.unexpected("`SV`, a sparse vector"));
    }
    let dim = read_size(r, "a dimension")?;
    let len = read_size(r, "a number of elements")?;
    let mut elements = Vec::new();
    for _ in 0..len {
        let offset = r.offset();
        let place = r.int32("an index")?;
        let place = next_place(&elements, place, dim, offset)?;
        elements.push((place, r.real("an element")?));
    }
    Ok(SparseVector::from_ascending(dim, elements))
}

/// Returns the index of the next element, if it is above the last one's and below `dim`.
fn next_place<T>(elements: &[(u32, T)], place: i32, dim: usize, offset: u64) -> Result<u32, CodecError> {
    let least = elements.last().map_or(0, |&(last, _)| last + 1);
    let inside = |&place: &u32| place >= least && usize::try_from(place).is_ok_and(|place| place < dim);
    u32::try_from(place).ok().filter(inside).ok_or_else(|| CodecError::Unexpected {
        offset,
        expected: format!("an index in {least}..{dim}").into(),
        found: place.to_string(),
    })
}

pub(super) fn read_text_matrix<T: Real>(r: &mut ByteReader<'_>) -> Result<SparseMatrix<T>, CodecError> {
    let word = r.word("`rows=`")?;
    let num_rows = number_after(&word, "rows=", "`rows=` and a number, a sparse matrix")?;
    let m = read_rows(r, num_rows, read_text_vector)?;
    read_line_end(r)?;
    Ok(m)
}

fn read_text_vector<T: Real>(r: &mut ByteReader<'_>) -> Result<SparseVector<T>, CodecError> {
    let word = r.word("`dim=`")?;
    let dim = number_after(&word, "dim=", "`dim=` and a number, a sparse vector")?;
    let bracket = r.word("`[`")?;
    if bracket.bytes != b"[" {
        return Err(bracket.unexpected("`[`"));
    }
    let (mut elements, mut scratch) = (Vec::new(), Vec::new());
    loop {
        r.skip_whitespace()?;
        match r.peek()? {
            None => return Err(r.end("an index or `]`")),
            Some(b']') => {
                r.bump();
                return Ok(SparseVector::from_ascending(dim, elements));
            }
            Some(_) => {
                let word = r.word("an index")?;
                let place = text(&word).parse().map_err(|_| word.unexpected("an index or `]`"))?;
                let place = next_place(&elements, place, dim, word.offset)?;
                r.skip_whitespace()?;
                let offset = r.offset();
                let x = read_number(r, &mut scratch)?;
                if !r.peek()?.is_some_and(|next| is_space(next) || next == b']') {
                    let found = describe(&scratch);
                    return Err(CodecError::Unexpected { offset, expected: "a number and a space".into(), found });
                }
                elements.push((place, x));
            }
        }
    }
}

/// Returns the number in `name=12`.
fn number_after(word: &Word, name: &str, expected: &'static str) -> Result<usize, CodecError> {
    let number = text(word).strip_prefix(name).and_then(|digits| digits.parse::<i32>().ok());
    number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| word.unexpected(expected))
}

/// Returns the word, or an empty text if it is not UTF-8.
fn text(word: &Word) -> &str {
    str::from_utf8(&word.bytes).unwrap_or_default()
}

/// Skips spaces, and the line end after them if there is one.
fn read_line_end(r: &mut ByteReader<'_>) -> Result<(), CodecError> {
    while r.peek()?.is_some_and(|next| next != b'\n' && is_space(next)) {
        r.bump();
    }
    if r.peek()? == Some(b'\n') {
        r.bump();
    }
    Ok(())
}

fn write_binary_vector<T: Real>(w: &mut dyn Write, v: &SparseVector<T>) -> io::Result<()> {
    w.write_all(b"SV ")?;
    write_size(w, v.dim())?;
    write_size(w, v.num_elements())?;
    let size = u8::try_from(size_of::<T>()).expect("4 or 8");
    v.iter().try_for_each(|(i, x)| {
        write_size(w, i)?;
        w.write_all(&[size])?;
        write_values(w, &[x])
    })
}

fn write_text_vector<T: Real>(w: &mut dyn Write, v: &SparseVector<T>) -> io::Result<()> {
    let mut line = format!("dim={} [ ", i32_of_size(v.dim())?).into_bytes();
    for (i, x) in v.iter() {
        write!(line, "{i} ")?;
        push_number(&mut line, x.to_f64());
        line.push(b' ');
    }
    line.extend(b"] ");
    w.write_all(&line)
}
