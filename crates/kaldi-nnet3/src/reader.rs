//! Tokens, numbers, vectors and matrices of a network's file.

use std::io::{self, BufRead, Read};

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{ByteReader, CodecError, KaldiRead, Word};

use crate::error::Error;
use crate::fields::{Component, Field, Value};
use crate::schema::{COMMON, Entry, Form, Layout, layout};

/// Depth of components inside of components.
const MAX_DEPTH: usize = 8;

/// An input that counts the bytes that were taken from it.
struct Counted<'a> {
    inner: &'a mut dyn BufRead,
    offset: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(to)?;
        self.offset += len as u64;
        Ok(len)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.offset += amount as u64;
    }
}

/// Reads a file in binary or text.
pub(crate) struct Reader<'a> {
    input: Counted<'a>,
    pub(crate) binary: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead, binary: bool) -> Self {
        Self { input: Counted { inner: input, offset: 0 }, binary }
    }

    /// Runs `read` on the input; offsets of its errors count from the start of the file.
    fn with<T>(&mut self, read: impl FnOnce(&mut ByteReader<'_>) -> Result<T, CodecError>) -> Result<T, CodecError> {
        let start = self.input.offset;
        read(&mut ByteReader::new(&mut self.input)).map_err(|error| error.shifted(start))
    }

    pub(crate) fn peek(&mut self) -> Result<Option<u8>, CodecError> {
        self.with(|r| r.peek())
    }

    /// Takes the space after a token, if there is one.
    pub(crate) fn skip_space(&mut self) -> Result<(), CodecError> {
        self.with(|r| {
            if r.peek()? == Some(b' ') {
                r.bump();
            }
            Ok(())
        })
    }

    /// Skips white space of the text form.
    pub(crate) fn skip_whitespace(&mut self) -> Result<(), CodecError> {
        self.with(|r| r.skip_whitespace())
    }

    pub(crate) fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        let start = self.input.offset;
        let mut word = match self.binary {
            true => self.with(|r| r.token(expected))?,
            false => self.with(|r| r.word(expected))?,
        };
        word.offset += start;
        Ok(word)
    }

    pub(crate) fn expect(&mut self, token: &'static str) -> Result<(), CodecError> {
        let word = self.token(token)?;
        if word.bytes == token.as_bytes() { Ok(()) } else { Err(word.unexpected(token)) }
    }

    /// Reads to the end of the line, which is taken and not returned.
    pub(crate) fn line(&mut self) -> Result<String, CodecError> {
        let offset = self.input.offset;
        let bytes = self.with(|r| {
            let mut bytes = Vec::new();
            r.take_while(&mut bytes, |b| b != b'\n')?;
            match r.peek()? {
                Some(_) => r.bump(),
                None => return Err(r.end("a line end")),
            }
            Ok(bytes)
        })?;
        let line = String::from_utf8(bytes).map_err(|error| CodecError::Unexpected {
            offset: offset + error.utf8_error().valid_up_to() as u64,
            expected: "a line of text".into(),
            found: "bytes that are not UTF-8".into(),
        })?;
        Ok(line.trim_end_matches('\r').to_owned())
    }

    pub(crate) fn int(&mut self) -> Result<i32, CodecError> {
        const EXPECTED: &str = "an integer";
        if self.binary {
            return self.with(|r| r.int32(EXPECTED));
        }
        let word = self.token(EXPECTED)?;
        let parsed = str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok());
        parsed.ok_or_else(|| word.unexpected(EXPECTED))
    }

    /// Reads a size, which is not negative.
    pub(crate) fn size(&mut self, expected: &'static str) -> Result<usize, CodecError> {
        let offset = self.input.offset;
        let size = self.int()?;
        usize::try_from(size).map_err(|_| unexpected(offset, expected, size.to_string()))
    }

    fn bool(&mut self) -> Result<bool, CodecError> {
        if !self.binary {
            self.skip_whitespace()?;
        }
        self.with(|r| {
            let byte = r.peek()?;
            let value = match byte {
                Some(b'T') => true,
                Some(b'F') => false,
                _ => return Err(r.unexpected_byte("`T` or `F`", byte)),
            };
            r.bump();
            Ok(value)
        })
    }

    fn text_number<T: std::str::FromStr>(&mut self) -> Result<T, CodecError> {
        let word = self.token("a number")?;
        let parsed = str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok());
        parsed.ok_or_else(|| word.unexpected("a number"))
    }

    fn real(&mut self) -> Result<f32, CodecError> {
        if self.binary { self.with(|r| r.real("a number")) } else { self.text_number() }
    }

    /// Reads a number of either precision. A file in text has the precision that Kaldi uses now.
    fn number(&mut self, double: bool) -> Result<Value, CodecError> {
        let double = if self.binary { self.peek()? == Some(8) } else { double };
        Ok(match (double, self.binary) {
            (true, true) => Value::Double(self.with(|r| r.real("a number"))?),
            (true, false) => Value::Double(self.text_number()?),
            (false, _) => Value::Real(self.real()?),
        })
    }

    /// Reads integers: a list, or with `per_item` 2 a list of pairs, one after the other.
    fn ints(&mut self, per_item: usize) -> Result<Vec<i32>, CodecError> {
        if self.binary { self.binary_ints(per_item) } else { self.text_ints(per_item) }
    }

    fn binary_ints(&mut self, per_item: usize) -> Result<Vec<i32>, CodecError> {
        self.with(|r| {
            match r.peek()? {
                Some(4) => r.bump(),
                other => return Err(r.unexpected_byte("the size byte 4 of integers", other)),
            }
            let at = r.offset();
            let mut bytes = [0; 4];
            r.read_exact(&mut bytes, "a number of integers")?;
            let count = i32::from_le_bytes(bytes);
            let items = usize::try_from(count).ok().and_then(|count| count.checked_mul(per_item));
            let items = items.ok_or_else(|| unexpected(at, "a number of integers", count.to_string()))?;
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
            let text = str::from_utf8(&word.bytes).map_err(|_| word.unexpected(EXPECTED))?;
            let before = values.len();
            for part in text.split(',') {
                values.push(part.parse().map_err(|_| word.unexpected(EXPECTED))?);
            }
            if values.len() - before != per_item {
                return Err(word.unexpected(EXPECTED));
            }
        }
    }

    /// Returns `true` if an object in double precision follows.
    fn double_follows(&mut self, in_text: bool) -> Result<bool, CodecError> {
        Ok(if self.binary { self.peek()? == Some(b'D') } else { in_text })
    }

    fn body<T: KaldiRead>(&mut self) -> Result<T, CodecError> {
        let start = self.input.offset;
        T::read_body(&mut self.input, self.binary).map_err(|error| error.shifted(start))
    }

    fn vector(&mut self, double: bool) -> Result<Value, CodecError> {
        Ok(match self.double_follows(double)? {
            true => Value::DoubleVector(self.body()?),
            false => Value::Vector(self.body()?),
        })
    }

    fn matrix(&mut self, double: bool) -> Result<Value, CodecError> {
        Ok(match self.double_follows(double)? {
            true => Value::DoubleMatrix(self.body()?),
            false => Value::Matrix(self.body()?),
        })
    }

    /// Reads a vector in single precision.
    pub(crate) fn single_vector(&mut self) -> Result<Vector<f32>, CodecError> {
        self.body()
    }

    /// Reads a component from its opening token on. `name` is for errors.
    pub(crate) fn component(&mut self, name: &str, depth: usize) -> Result<Component, Error> {
        let located = |source| Error::Component { component: name.to_owned(), source };
        let word = self.token("the type of a component").map_err(located)?;
        let kind = word.bytes.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b">"));
        let kind = kind.ok_or_else(|| located(word.unexpected("the type of a component")))?;
        let kind = String::from_utf8_lossy(kind);
        let layout = layout(&kind).ok_or_else(|| {
            // A type that is no text is shown in part.
            let kind = kind.chars().take(64).collect();
            Error::UnknownType { component: name.to_owned(), kind }
        })?;
        let fields = self.fields(name, layout, depth)?;
        Ok(Component { kind: layout.kind, fields })
    }

    fn fields(&mut self, name: &str, layout: &'static Layout, depth: usize) -> Result<Vec<Field>, Error> {
        let located = |source| Error::Component { component: name.to_owned(), source };
        let common = if layout.updatable { COMMON } else { &[] };
        let mut rest = common.iter().chain(layout.entries);
        let mut fields = Vec::new();
        loop {
            let word = self.token("a value of the component, or its end").map_err(located)?;
            let token = word.bytes.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b">")).unwrap_or_default();
            let is_end = token.strip_prefix(b"/").unwrap_or(token) == layout.kind.as_bytes();
            let entry = loop {
                match rest.next() {
                    None if is_end => return Ok(fields),
                    // Kaldi accepts the opening token twice.
                    Some(_) if is_end && fields.is_empty() && !token.starts_with(b"/") => break None,
                    Some(entry) if entry.name.as_bytes() == token => break Some(entry),
                    Some(Entry { required: false, .. }) => {}
                    Some(Entry { name, .. }) => return Err(located(word.unexpected(format!("<{name}>")))),
                    None => return Err(located(word.unexpected(format!("</{}>", layout.kind)))),
                }
            };
            let Some(entry) = entry else {
                rest = common.iter().chain(layout.entries);
                continue;
            };
            let value = match entry.form {
                Form::Components => Value::Components(self.components(name, depth)?),
                form => self.value(form).map_err(located)?,
            };
            fields.push(Field { name: entry.name, value });
        }
    }

    fn components(&mut self, name: &str, depth: usize) -> Result<Vec<Component>, Error> {
        let located = |source| Error::Component { component: name.to_owned(), source };
        if depth >= MAX_DEPTH {
            let problem = format!("components inside of components are read up to a depth of {MAX_DEPTH}");
            return Err(Error::Invalid { component: name.to_owned(), problem });
        }
        let count = self.size("a number of components").map_err(located)?;
        (0..count).map(|_| self.component(name, depth + 1)).collect()
    }

    fn value(&mut self, form: Form) -> Result<Value, CodecError> {
        Ok(match form {
            Form::Flag => Value::Flag,
            Form::Bool => Value::Bool(self.bool()?),
            Form::Int => Value::Int(self.int()?),
            Form::Ints2 => Value::Ints2([self.int()?, self.int()?]),
            Form::Real => self.number(false)?,
            Form::Double => self.number(true)?,
            Form::Reals2 => Value::Reals2([self.real()?, self.real()?]),
            Form::Ints => match self.binary && self.peek()? == Some(b'F') {
                true => Value::Ints(self.rounded_ints()?),
                false => Value::Ints(self.ints(1)?),
            },
            Form::Pairs => Value::Pairs(self.ints(2)?.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect()),
            Form::Vector => self.vector(false)?,
            Form::DoubleVector => self.vector(true)?,
            Form::Matrix => self.matrix(false)?,
            Form::DoubleMatrix => self.matrix(true)?,
            Form::Components => Value::Components(Vec::new()),
        })
    }

    /// Reads the column map of an old file, a vector. Its last element was written wrongly, and is
    /// the last column.
    fn rounded_ints(&mut self) -> Result<Vec<i32>, CodecError> {
        let vector: Vector<f32> = self.body()?;
        let mut ints: Vec<i32> = vector.data().iter().map(|&x| (x + 0.5) as i32).collect();
        let last = ints.len().saturating_sub(1);
        if let Some(end) = ints.last_mut() {
            *end = i32::try_from(last).unwrap_or(i32::MAX);
        }
        Ok(ints)
    }
}

fn unexpected(offset: u64, expected: &'static str, found: String) -> CodecError {
    CodecError::Unexpected { offset, expected: expected.into(), found }
}
