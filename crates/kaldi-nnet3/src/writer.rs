//! Writes tokens, numbers, vectors and matrices of a network's file, byte for byte as Kaldi.

use std::io::{self, Write};

use kaldi_matrix::codec::{KaldiWrite, push_number};

use crate::fields::{Component, Value};

/// Writes a file in binary or text.
pub(crate) struct Writer<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) binary: bool,
}

impl Writer<'_> {
    pub(crate) fn token(&mut self, token: &str) -> io::Result<()> {
        write!(self.out, "{token} ")
    }

    pub(crate) fn int(&mut self, value: i32) -> io::Result<()> {
        if !self.binary {
            return write!(self.out, "{value} ");
        }
        self.out.write_all(&[4])?;
        self.out.write_all(&value.to_le_bytes())
    }

    pub(crate) fn size(&mut self, size: usize) -> io::Result<()> {
        let found = || io::Error::new(io::ErrorKind::InvalidInput, format!("Kaldi's files hold no number {size}"));
        self.int(i32::try_from(size).map_err(|_| found())?)
    }

    fn number(&mut self, value: f64, little_endian: &[u8]) -> io::Result<()> {
        if self.binary {
            self.out.write_all(&[little_endian.len() as u8])?;
            return self.out.write_all(little_endian);
        }
        let mut text = Vec::new();
        push_number(&mut text, value);
        text.push(b' ');
        self.out.write_all(&text)
    }

    fn real(&mut self, value: f32) -> io::Result<()> {
        self.number(value.into(), &value.to_le_bytes())
    }

    /// Writes a list of items of `per_item` integers.
    fn ints(&mut self, values: &[i32], per_item: usize) -> io::Result<()> {
        if self.binary {
            self.size(values.len() / per_item)?;
            return values.iter().try_for_each(|value| self.out.write_all(&value.to_le_bytes()));
        }
        self.out.write_all(b"[ ")?;
        for item in values.chunks(per_item) {
            let words: Vec<String> = item.iter().map(i32::to_string).collect();
            write!(self.out, "{} ", words.join(","))?;
        }
        self.out.write_all(b"]\n")
    }

    pub(crate) fn body(&mut self, object: &impl KaldiWrite) -> io::Result<()> {
        object.write_body(self.out, self.binary)
    }

    pub(crate) fn component(&mut self, component: &Component) -> io::Result<()> {
        self.token(&format!("<{}>", component.kind))?;
        for field in &component.fields {
            self.token(&format!("<{}>", field.name))?;
            self.value(&field.value)?;
        }
        self.token(&format!("</{}>", component.kind))
    }

    fn value(&mut self, value: &Value) -> io::Result<()> {
        match value {
            Value::Flag => Ok(()),
            Value::Bool(value) => {
                let letter = if *value { "T" } else { "F" };
                write!(self.out, "{letter}{}", if self.binary { "" } else { " " })
            }
            Value::Int(value) => self.int(*value),
            Value::Ints2(values) => values.iter().try_for_each(|&value| self.int(value)),
            Value::Real(value) => self.real(*value),
            Value::Double(value) => self.number(*value, &value.to_le_bytes()),
            Value::Reals2(values) => values.iter().try_for_each(|&value| self.real(value)),
            Value::Ints(values) => self.ints(values, 1),
            Value::Pairs(pairs) => {
                let values: Vec<i32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
                self.ints(&values, 2)
            }
            Value::Vector(values) => self.body(values),
            Value::DoubleVector(values) => self.body(values),
            Value::Matrix(values) => self.body(values),
            Value::DoubleMatrix(values) => self.body(values),
            Value::Components(parts) => {
                self.size(parts.len())?;
                parts.iter().try_for_each(|part| self.component(part))
            }
        }
    }
}
