//! Fields of Kaldi's model files: tokens in angle brackets, numbers, and objects with bodies.

use std::io::{self, BufRead, Read, Write};

use kaldera_base::Real;

use super::reader::{ByteReader, Word};
use super::sizes::i32_of_size;
use super::text::{self, push_number};
use super::{CodecError, KaldiRead, KaldiWrite};

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

/// Reads the fields of a model, in binary or text.
///
/// All methods return [`CodecError::Unexpected`] for other bytes than the expected ones,
/// [`CodecError::End`] if the input ends, and errors of the input. Offsets of errors count from the
/// first field.
///
/// ```
/// use kaldi_matrix::Vector;
/// use kaldi_matrix::codec::FieldReader;
/// let mut text = &b"<Dim> 2 <Offsets>  [ 0.5 1 ]\n"[..];
/// let mut fields = FieldReader::new(&mut text, false);
/// fields.expect("<Dim>")?;
/// assert_eq!(fields.size("a dimension")?, 2);
/// fields.expect("<Offsets>")?;
/// assert_eq!(fields.object::<Vector<f32>>()?.data(), [0.5, 1.0]);
/// # Ok::<(), kaldi_matrix::codec::CodecError>(())
/// ```
pub struct FieldReader<'a> {
    input: Counted<'a>,
    binary: bool,
}

#[expect(clippy::missing_errors_doc, reason = "the type says the errors of all methods")]
impl<'a> FieldReader<'a> {
    /// Creates a reader of the fields that `input` begins with.
    pub fn new(input: &'a mut dyn BufRead, binary: bool) -> Self {
        Self { input: Counted { inner: input, offset: 0 }, binary }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> u64 {
        self.input.offset
    }

    /// Returns `true` if the fields are read as binary.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// Changes the form of the fields that follow.
    pub fn set_binary(&mut self, binary: bool) {
        self.binary = binary;
    }

    /// Runs `read` on the input. Offsets of its errors count from the first field.
    pub fn with<T>(
        &mut self,
        read: impl FnOnce(&mut ByteReader<'_>) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        let start = self.input.offset;
        read(&mut ByteReader::new(&mut self.input)).map_err(|error| error.shifted(start))
    }

    /// Reads a token with the white space that ends it in binary.
    pub fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        let (start, binary) = (self.input.offset, self.binary);
        let mut word = self.with(|bytes| if binary { bytes.token(expected) } else { bytes.word(expected) })?;
        word.offset += start;
        Ok(word)
    }

    /// Reads one of `tokens`, and returns its index.
    pub fn one_of(&mut self, tokens: &[&str], expected: &'static str) -> Result<usize, CodecError> {
        let word = self.token(expected)?;
        let found = tokens.iter().position(|token| word.bytes == token.as_bytes());
        found.ok_or_else(|| word.unexpected(expected))
    }

    /// Reads `token`.
    pub fn expect(&mut self, token: &'static str) -> Result<(), CodecError> {
        self.one_of(&[token], token).map(drop)
    }

    /// Reads an integer.
    pub fn int(&mut self, expected: &'static str) -> Result<i32, CodecError> {
        let binary = self.binary;
        self.with(|bytes| if binary { bytes.int32(expected) } else { text_int(bytes, expected) })
    }

    /// Reads a size, which must not be negative.
    pub fn size(&mut self, expected: &'static str) -> Result<usize, CodecError> {
        let (offset, size) = (self.offset(), self.int(expected)?);
        usize::try_from(size).map_err(|_| CodecError::unexpected(offset, expected, size))
    }

    /// Reads a list of items of `per_item` integers each: 1, or 2 for pairs. Returns the integers
    /// one after the other.
    pub fn ints(&mut self, per_item: usize) -> Result<Vec<i32>, CodecError> {
        if self.binary { self.binary_ints(per_item) } else { self.text_ints(per_item) }
    }

    fn binary_ints(&mut self, per_item: usize) -> Result<Vec<i32>, CodecError> {
        self.with(|r| {
            match r.peek()? {
                Some(4) => r.bump(),
                other => return Err(r.unexpected_byte("the size byte 4 of a list of integers", other)),
            }
            let at = r.offset();
            let mut bytes = [0; 4];
            r.read_exact(&mut bytes, "a number of integers")?;
            let count = i32::from_le_bytes(bytes);
            let items = usize::try_from(count).ok().and_then(|count| count.checked_mul(per_item));
            let items = items.ok_or_else(|| CodecError::unexpected(at, "a number of integers", count))?;
            // Memory grows with the bytes that were read.
            let mut values = Vec::new();
            for _ in 0..items {
                r.read_exact(&mut bytes, "an integer of a list")?;
                values.push(i32::from_le_bytes(bytes));
            }
            Ok(values)
        })
    }

    fn text_ints(&mut self, per_item: usize) -> Result<Vec<i32>, CodecError> {
        const EXPECTED: &str = "an integer of a list, or `]`";
        self.expect("[")?;
        let mut values = Vec::new();
        loop {
            let word = self.token(EXPECTED)?;
            if word.bytes == b"]" {
                return Ok(values);
            }
            let text = std::str::from_utf8(&word.bytes).map_err(|_| word.unexpected(EXPECTED))?;
            let before = values.len();
            for part in text.split(',') {
                values.push(part.parse().map_err(|_| word.unexpected(EXPECTED))?);
            }
            if values.len() - before != per_item {
                return Err(word.unexpected(EXPECTED));
            }
        }
    }

    /// Reads a number; in binary, of either precision.
    pub fn real<T: Real>(&mut self, expected: &'static str) -> Result<T, CodecError> {
        let binary = self.binary;
        self.with(|bytes| {
            if binary {
                return bytes.real(expected);
            }
            let word = bytes.word(expected)?;
            text::number(&word.bytes).ok_or_else(|| word.unexpected(expected))
        })
    }

    /// Reads the body of an object.
    pub fn object<T: KaldiRead>(&mut self) -> Result<T, CodecError> {
        let start = self.input.offset;
        T::read_body(&mut self.input, self.binary).map_err(|error| error.shifted(start))
    }
}

/// Reads an integer of the text form.
fn text_int(bytes: &mut ByteReader<'_>, expected: &'static str) -> Result<i32, CodecError> {
    let word = bytes.word(expected)?;
    let number = std::str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| word.unexpected(expected))
}

/// Writes the fields of a model, in binary or text, byte for byte as Kaldi.
///
/// All methods return errors of the output.
pub struct FieldWriter<'a> {
    output: &'a mut dyn Write,
    binary: bool,
}

#[expect(clippy::missing_errors_doc, reason = "the type says the errors of all methods")]
impl<'a> FieldWriter<'a> {
    /// Creates a writer.
    pub fn new(output: &'a mut dyn Write, binary: bool) -> Self {
        Self { output, binary }
    }

    /// Returns `true` if the fields are written as binary.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    /// Writes a token and a space.
    pub fn token(&mut self, token: &str) -> io::Result<()> {
        write!(self.output, "{token} ")
    }

    /// Ends a line of the text form.
    pub fn line_end(&mut self) -> io::Result<()> {
        if self.binary { Ok(()) } else { self.bytes(b"\n") }
    }

    /// Writes an integer.
    pub fn int(&mut self, value: i32) -> io::Result<()> {
        if !self.binary {
            return write!(self.output, "{value} ");
        }
        self.bytes(&[4])?;
        self.bytes(&value.to_le_bytes())
    }

    /// Writes a size, `InvalidInput` if it is too large for Kaldi's integers.
    pub fn size(&mut self, size: usize) -> io::Result<()> {
        self.int(i32_of_size(size)?)
    }

    /// Writes a list of items of `per_item` integers, which stand one after the other.
    pub fn ints(&mut self, values: &[i32], per_item: usize) -> io::Result<()> {
        if self.binary {
            self.size(values.len() / per_item)?;
            return values.iter().try_for_each(|value| self.bytes(&value.to_le_bytes()));
        }
        self.bytes(b"[ ")?;
        for item in values.chunks(per_item) {
            let words: Vec<String> = item.iter().map(i32::to_string).collect();
            write!(self.output, "{} ", words.join(","))?;
        }
        self.bytes(b"]\n")
    }

    /// Writes a number in single precision.
    pub fn single(&mut self, value: f32) -> io::Result<()> {
        self.number(value.into(), &value.to_le_bytes())
    }

    /// Writes a number in double precision.
    pub fn double(&mut self, value: f64) -> io::Result<()> {
        self.number(value, &value.to_le_bytes())
    }

    fn number(&mut self, value: f64, little_endian: &[u8]) -> io::Result<()> {
        if self.binary {
            self.bytes(&[little_endian.len() as u8])?;
            return self.bytes(little_endian);
        }
        let mut text = Vec::new();
        push_number(&mut text, value);
        text.push(b' ');
        self.bytes(&text)
    }

    /// Writes the body of an object.
    pub fn object(&mut self, object: &impl KaldiWrite) -> io::Result<()> {
        object.write_body(self.output, self.binary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    #[test]
    fn fields_are_read_as_they_were_written() {
        for binary in [false, true] {
            let mut bytes = Vec::new();
            let mut fields = FieldWriter::new(&mut bytes, binary);
            fields.token("<A>").unwrap();
            fields.int(-3).unwrap();
            fields.size(7).unwrap();
            fields.single(0.5).unwrap();
            fields.double(-1e-40).unwrap();
            fields.object(&Vector::from(vec![1.0_f32, 2.0])).unwrap();
            fields.token("</A>").unwrap();
            let len = bytes.len();
            let mut input = &bytes[..];
            let mut fields = FieldReader::new(&mut input, binary);
            assert_eq!(fields.one_of(&["<B>", "<A>"], "<A> or <B>").unwrap(), 1);
            assert_eq!((fields.int("an integer").unwrap(), fields.size("a size").unwrap()), (-3, 7));
            let numbers: (f32, f64) = (fields.real("a number").unwrap(), fields.real("a number").unwrap());
            assert_eq!(numbers, (0.5, -1e-40));
            assert_eq!(fields.object::<Vector<f32>>().unwrap().data(), [1.0, 2.0]);
            let error = fields.expect("<C>").unwrap_err();
            assert!(matches!(error, CodecError::Unexpected { offset, .. } if offset as usize == len - 5), "{error}");
        }
    }

    #[test]
    fn sizes_are_not_negative() {
        let mut text = &b" -1"[..];
        let error = FieldReader::new(&mut text, false).size("a size").unwrap_err().to_string();
        assert_eq!(error, "at byte 0: expected a size, found -1");
        assert!(FieldWriter::new(&mut Vec::new(), true).size(usize::MAX).is_err());
    }
}
