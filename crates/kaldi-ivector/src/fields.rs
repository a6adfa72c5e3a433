//! Kaldi's model files: tokens in angle brackets, numbers and matrices, in binary and as text.

use std::io::{self, BufRead, Read, Write};

use kaldi_matrix::codec::{ByteReader, CodecError, KaldiRead, KaldiWrite, Word};

/// An input that counts the bytes that were read.
struct Counted<'a> {
    inner: &'a mut dyn BufRead,
    offset: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.offset += len as u64;
        Ok(len)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        self.inner.consume(len);
        self.offset += len as u64;
    }
}

/// Reads the fields of a model, in either form.
pub(crate) struct FieldReader<'a> {
    input: Counted<'a>,
    binary: bool,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(inner: &'a mut dyn BufRead, binary: bool) -> Self {
        Self { input: Counted { inner, offset: 0 }, binary }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.input.offset
    }

    /// Returns the error for a value at `offset` that was read, but is wrong.
    pub(crate) fn wrong(offset: u64, expected: &'static str, found: impl ToString) -> CodecError {
        CodecError::Unexpected { offset, expected: expected.into(), found: found.to_string() }
    }

    /// Runs `read`, and makes the offsets of its errors count from the start of the model.
    fn part<T>(&mut self, read: impl FnOnce(&mut ByteReader<'_>) -> Result<T, CodecError>) -> Result<T, CodecError> {
        let start = self.input.offset;
        read(&mut ByteReader::new(&mut self.input)).map_err(|error| error.shifted(start))
    }

    pub(crate) fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        let (start, binary) = (self.input.offset, self.binary);
        let mut word = self.part(|bytes| if binary { bytes.token(expected) } else { bytes.word(expected) })?;
        word.offset += start;
        Ok(word)
    }

    /// Reads one of `tokens`, and returns its place among them.
    pub(crate) fn one_of(&mut self, tokens: &[&str], expected: &'static str) -> Result<usize, CodecError> {
        let word = self.token(expected)?;
        let found = tokens.iter().position(|token| word.bytes == token.as_bytes());
        found.ok_or_else(|| word.unexpected(expected))
    }

    pub(crate) fn expect(&mut self, token: &'static str) -> Result<(), CodecError> {
        self.one_of(&[token], token).map(drop)
    }

    /// Reads a number of elements, which must be positive.
    pub(crate) fn count(&mut self, expected: &'static str) -> Result<usize, CodecError> {
        let (offset, binary) = (self.input.offset, self.binary);
        let count = self.part(|bytes| if binary { bytes.int32(expected) } else { parsed(bytes, expected) })?;
        let positive = usize::try_from(count).ok().filter(|&count| count > 0);
        positive.ok_or_else(|| Self::wrong(offset, expected, count))
    }

    pub(crate) fn real(&mut self, expected: &'static str) -> Result<f64, CodecError> {
        let binary = self.binary;
        self.part(|bytes| if binary { bytes.real(expected) } else { parsed(bytes, expected) })
    }

    /// Reads a vector or a matrix of any kind.
    pub(crate) fn object<T: KaldiRead>(&mut self) -> Result<T, CodecError> {
        let start = self.input.offset;
        T::read_body(&mut self.input, self.binary).map_err(|error| error.shifted(start))
    }
}

/// Reads a number of the text form.
fn parsed<T: std::str::FromStr>(bytes: &mut ByteReader<'_>, expected: &'static str) -> Result<T, CodecError> {
    let word = bytes.word(expected)?;
    let number = std::str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| word.unexpected(expected))
}

/// Writes the fields of a model, in either form.
pub(crate) struct FieldWriter<'a> {
    output: &'a mut dyn Write,
    binary: bool,
}

impl<'a> FieldWriter<'a> {
    pub(crate) fn new(output: &'a mut dyn Write, binary: bool) -> Self {
        Self { output, binary }
    }

    pub(crate) fn token(&mut self, token: &str) -> io::Result<()> {
        write!(self.output, "{token} ")
    }

    /// Ends a line of the text form.
    pub(crate) fn line_end(&mut self) -> io::Result<()> {
        if self.binary { Ok(()) } else { self.output.write_all(b"\n") }
    }

    pub(crate) fn count(&mut self, count: usize) -> io::Result<()> {
        let count = i32::try_from(count).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        if !self.binary {
            return write!(self.output, "{count} ");
        }
        self.output.write_all(&[4])?;
        self.output.write_all(&count.to_le_bytes())
    }

    pub(crate) fn real(&mut self, number: f64) -> io::Result<()> {
        if !self.binary {
            let mut text = Vec::new();
            kaldi_matrix::codec::push_number(&mut text, number);
            text.push(b' ');
            return self.output.write_all(&text);
        }
        self.output.write_all(&[8])?;
        self.output.write_all(&number.to_le_bytes())
    }

    pub(crate) fn object(&mut self, object: &impl KaldiWrite) -> io::Result<()> {
        object.write_body(self.output, self.binary)
    }
}
