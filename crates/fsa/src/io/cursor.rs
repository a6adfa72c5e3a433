//! Cursor in a text of lines and fields.

use std::str::FromStr;

use kaldera_base::text::without_mark;

use crate::error::Error;
use crate::error::parse::{ParseError, ParseErrorKind};

/// Returns `true` at the end of a field: at blanks, tabs and ends of lines only, not at other white
/// space of Unicode.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Reads a text from its start, field by field.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A field, and its position.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) text: &'a str,
    pub(super) position: usize,
}

/// Number of states that is plausible for any text.
const FEW_STATES: usize = 1 << 16;

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `text`, after a byte order mark.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: text.len() - without_mark(text).len() }
    }

    /// Returns a cursor at the start of the same text.
    pub(super) fn rewound(&self) -> Self {
        Self::new(self.text)
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn error(&self, kind: ParseErrorKind, position: usize) -> Error {
        ParseError::new(kind, self.text, position).into()
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    }

    /// Goes to the next line that is not blank; returns `false` at the end of the text.
    pub(super) fn next_line(&mut self) -> bool {
        self.at += self.rest().iter().take_while(|&&byte| is_blank(byte)).count();
        self.at < self.text.len()
    }

    /// Skips the rest of the line.
    pub(super) fn skip_line(&mut self) {
        self.at += self.rest().iter().take_while(|&&byte| byte != b'\n').count();
    }

    /// Returns the next field of the line, if there is one.
    pub(super) fn field(&mut self) -> Option<Field<'a>> {
        self.skip_blanks();
        let len = self.rest().iter().take_while(|&&byte| !is_blank(byte)).count();
        let field = Field { text: &self.text[self.at..self.at + len], position: self.at };
        self.at += len;
        (len > 0).then_some(field)
    }

    /// Returns the number of fields left on the line.
    pub(super) fn count_fields(mut self) -> usize {
        std::iter::from_fn(|| self.field()).count()
    }

    /// Returns the next field, which must be there.
    pub(super) fn expect(&mut self, what: &'static str) -> Result<Field<'a>, Error> {
        self.field().ok_or_else(|| self.error(ParseErrorKind::EndOfLine { what }, self.at))
    }

    /// Parses a field as a number.
    pub(super) fn parse<T: FromStr>(&self, field: Field<'a>, what: &'static str) -> Result<T, Error> {
        field.text.parse().map_err(|_| self.error(ParseErrorKind::Expected { what }, field.position))
    }

    /// Parses a field as a state.
    pub(super) fn state(&self, field: Field<'a>) -> Result<i32, Error> {
        let state = self.parse(field, "a state")?;
        self.plausible(state, field)
    }

    /// Checks that a state is not below 0, and not implausibly high.
    pub(super) fn plausible(&self, state: i32, field: Field<'a>) -> Result<i32, Error> {
        match usize::try_from(state) {
            Err(_) => Err(self.error(ParseErrorKind::Expected { what: "a state, 0 or above" }, field.position)),
            Ok(index) if index > FEW_STATES.max(self.text.len()) || state == i32::MAX => {
                let kind = ParseErrorKind::TooManyStates { found: state, len: self.text.len() };
                Err(self.error(kind, field.position))
            }
            Ok(_) => Ok(state),
        }
    }

    /// Parses a field as a label: a symbol, 0 or -1.
    pub(super) fn label(&self, field: Field<'a>) -> Result<i32, Error> {
        let label: i32 = self.parse(field, "a label")?;
        if label < crate::core::arc::FINAL {
            return Err(self.error(ParseErrorKind::Expected { what: "a label, -1 or above" }, field.position));
        }
        Ok(label)
    }

    /// Parses a field as an output label: as in k2 it may be any integral number, including `3.0`.
    pub(super) fn aux_label(&self, field: Field<'a>) -> Result<i32, Error> {
        if let Ok(label) = field.text.parse() {
            return Ok(label);
        }
        let whole = field.text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && x.abs() <= f64::from(i32::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the limits of 32 bits")]
        let label = whole.map(|x| x as i32);
        let what = "an auxiliary label, a whole number";
        label.ok_or_else(|| self.error(ParseErrorKind::Expected { what }, field.position))
    }

    /// Parses the rest of the line as a score, which may be missing; `sign` is -1 for costs.
    pub(super) fn last_score(&mut self, sign: f32) -> Result<f32, Error> {
        let Some(field) = self.field() else { return Ok(0.0) };
        let score = sign * self.parse::<f32>(field, "a number")?;
        if score.is_nan() || score == f32::INFINITY {
            return Err(self.error(ParseErrorKind::Score, field.position));
        }
        self.end_of_line()?;
        Ok(score)
    }

    /// Checks that nothing is left on the line.
    pub(super) fn end_of_line(&mut self) -> Result<(), Error> {
        match self.field() {
            None => Ok(()),
            Some(field) => Err(self.error(ParseErrorKind::TrailingField, field.position)),
        }
    }

    /// Parses a list `[1 2 3]`, with blanks or commas between the numbers, and appends it to
    /// `values`.
    pub(super) fn list(&mut self, values: &mut Vec<i32>) -> Result<(), Error> {
        const WHAT: &str = "a list in square brackets";
        self.skip_blanks();
        if self.rest().first() != Some(&b'[') {
            return Err(self.error(ParseErrorKind::Expected { what: WHAT }, self.at));
        }
        self.at += 1;
        loop {
            self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b',')).count();
            let ends = |byte: &u8| is_blank(*byte) || matches!(byte, b',' | b']');
            let len = self.rest().iter().take_while(|byte| !ends(byte)).count();
            if len == 0 {
                if self.rest().first() != Some(&b']') {
                    return Err(self.error(ParseErrorKind::EndOfLine { what: "']'" }, self.at));
                }
                self.at += 1;
                return Ok(());
            }
            let field = Field { text: &self.text[self.at..self.at + len], position: self.at };
            values.push(self.parse(field, "a whole number, or ']'")?);
            self.at += len;
        }
    }
}
