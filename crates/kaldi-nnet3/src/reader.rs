//! Tokens, numbers, vectors and matrices of a network's file.

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{CodecError, FieldReader};

use crate::error::Error;
use crate::fields::{Component, Field, Value};
use crate::schema::{COMMON, Entry, Form, Layout, layout};

/// Depth of components inside of components.
const MAX_DEPTH: usize = 8;

const INTEGER: &str = "an integer";
const NUMBER: &str = "a number";

/// Reads the parts of a network's file.
pub(crate) struct Reader<'a> {
    pub(crate) fields: FieldReader<'a>,
}

impl Reader<'_> {
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, CodecError> {
        self.fields.with(|r| r.peek())
    }

    /// Takes the space after a token, if there is one.
    pub(crate) fn skip_space(&mut self) -> Result<(), CodecError> {
        self.fields.with(|r| {
            if r.peek()? == Some(b' ') {
                r.bump();
            }
            Ok(())
        })
    }

    /// Skips white space of the text form.
    pub(crate) fn skip_whitespace(&mut self) -> Result<(), CodecError> {
        self.fields.with(|r| r.skip_whitespace())
    }

    /// Reads to the end of the line, which is taken and not returned.
    pub(crate) fn line(&mut self) -> Result<String, CodecError> {
        let offset = self.fields.offset();
        let bytes = self.fields.with(|r| {
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

    fn bool(&mut self) -> Result<bool, CodecError> {
        if !self.fields.is_binary() {
            self.skip_whitespace()?;
        }
        self.fields.with(|r| {
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

    /// Reads a number of either precision. A file in text has the precision that Kaldi uses now.
    fn number(&mut self, double: bool) -> Result<Value, CodecError> {
        let double = if self.fields.is_binary() { self.peek()? == Some(8) } else { double };
        Ok(match double {
            true => Value::Double(self.fields.real(NUMBER)?),
            false => Value::Real(self.fields.real(NUMBER)?),
        })
    }

    /// Returns `true` if an object in double precision follows.
    fn double_follows(&mut self, in_text: bool) -> Result<bool, CodecError> {
        Ok(if self.fields.is_binary() { self.peek()? == Some(b'D') } else { in_text })
    }

    fn vector(&mut self, double: bool) -> Result<Value, CodecError> {
        Ok(match self.double_follows(double)? {
            true => Value::DoubleVector(self.fields.object()?),
            false => Value::Vector(self.fields.object()?),
        })
    }

    fn matrix(&mut self, double: bool) -> Result<Value, CodecError> {
        Ok(match self.double_follows(double)? {
            true => Value::DoubleMatrix(self.fields.object()?),
            false => Value::Matrix(self.fields.object()?),
        })
    }

    /// Reads a component from its opening token on. `name` is for errors.
    pub(crate) fn component(&mut self, name: &str, depth: usize) -> Result<Component, Error> {
        let located = |source| Error::Component { component: name.to_owned(), source };
        let word = self.fields.token("the type of a component").map_err(located)?;
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
            let word = self.fields.token("a value of the component, or its end").map_err(located)?;
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
        let count = self.fields.size("a number of components").map_err(located)?;
        (0..count).map(|_| self.component(name, depth + 1)).collect()
    }

    fn value(&mut self, form: Form) -> Result<Value, CodecError> {
        Ok(match form {
            Form::Flag => Value::Flag,
            Form::Bool => Value::Bool(self.bool()?),
            Form::Int => Value::Int(self.fields.int(INTEGER)?),
            Form::Ints2 => Value::Ints2([self.fields.int(INTEGER)?, self.fields.int(INTEGER)?]),
            Form::Real => self.number(false)?,
            Form::Double => self.number(true)?,
            Form::Reals2 => Value::Reals2([self.fields.real(NUMBER)?, self.fields.real(NUMBER)?]),
            Form::Ints => match self.fields.is_binary() && self.peek()? == Some(b'F') {
                true => Value::Ints(self.rounded_ints()?),
                false => Value::Ints(self.fields.ints(1)?),
            },
            Form::Pairs => Value::Pairs(self.fields.ints(2)?.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect()),
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
        let vector: Vector<f32> = self.fields.object()?;
        let mut ints: Vec<i32> = vector.data().iter().map(|&x| (x + 0.5) as i32).collect();
        let last = ints.len().saturating_sub(1);
        if let Some(end) = ints.last_mut() {
            *end = i32::try_from(last).unwrap_or(i32::MAX);
        }
        Ok(ints)
    }
}
