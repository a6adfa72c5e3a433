//! Indexes as text, in Python's notation.

use std::fmt;

use kaldera_base::text::TextError;
use thiserror::Error;

use crate::dims::Dims;
use crate::slice::entry::IndexEntry;

/// Python's names for a new axis.
const NEW_AXIS: [&str; 5] = ["None", "newaxis", "np.newaxis", "tf.newaxis", "NewAxis"];

/// The position at which a text stops being an index, and the reason.
pub type ParseError = TextError<ParseErrorKind>;

/// The kind of error in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else was expected here.
    #[error("expected {expected}")]
    Expected {
        /// Description of the text that may stand here.
        expected: &'static str,
    },
    /// A number that 64 bits cannot hold.
    #[error("a number beyond 64 bits")]
    TooLarge,
    /// A step of 0, which leads nowhere.
    #[error("a step of 0")]
    ZeroStep,
    /// A second `...`: the axes of each would be ambiguous.
    #[error("a second ellipsis; there can be one only")]
    SecondEllipsis,
}

/// Prints entries between brackets.
pub(super) fn write(f: &mut fmt::Formatter<'_>, entries: &[IndexEntry]) -> fmt::Result {
    f.write_str("[")?;
    for (at, entry) in entries.iter().enumerate() {
        write!(f, "{}{entry}", if at == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}

/// Reads entries, between brackets or bare.
pub(super) fn parse(text: &str) -> Result<Dims<IndexEntry>, ParseError> {
    let mut parser = Parser { text, position: 0 };
    let (is_end, after_entry): (fn(&mut Parser<'_>) -> bool, _) = match parser.take("[") {
        true => (|parser| parser.take("]"), "',' or ']'"),
        false => (|parser| parser.rest().is_empty(), "',' or the end"),
    };
    let mut entries = Dims::new();
    while !is_end(&mut parser) {
        let start = parser.position;
        let entry = parser.entry()?;
        if entry == IndexEntry::Ellipsis && entries.contains(&entry) {
            return Err(ParseError::new(ParseErrorKind::SecondEllipsis, text, start));
        }
        entries.push(entry);
        if !parser.take(",") {
            if is_end(&mut parser) {
                break;
            }
            return Err(parser.expected(after_entry));
        }
    }
    if parser.rest().is_empty() { Ok(entries) } else { Err(parser.expected("the end")) }
}

/// A position in a text; space before it is skipped.
struct Parser<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Parser<'a> {
    /// The text still to be read, from the next character that is no space.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.position..].trim_start();
        self.position = self.text.len() - rest.len();
        rest
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.position += if found { token.len() } else { 0 };
        found
    }

    fn expected(&mut self, expected: &'static str) -> ParseError {
        self.rest();
        ParseError::new(ParseErrorKind::Expected { expected }, self.text, self.position)
    }

    fn entry(&mut self) -> Result<IndexEntry, ParseError> {
        if self.take("...") {
            return Ok(IndexEntry::Ellipsis);
        }
        if self.word() {
            return Ok(IndexEntry::NewAxis);
        }
        let begin = self.number()?;
        if !self.take(":") {
            return begin.map(IndexEntry::Index).ok_or_else(|| self.expected("a number, a range, '...' or 'None'"));
        }
        let end = self.number()?;
        let mut step = None;
        let second = self.take(":");
        if second {
            self.rest();
            let start = self.position;
            step = self.number()?;
            if step == Some(0) {
                return Err(ParseError::new(ParseErrorKind::ZeroStep, self.text, start));
            }
        }
        if !matches!(self.rest().chars().next(), None | Some(',' | ']')) {
            return Err(self.expected(match (end.or(step), second) {
                (None, false) => "a number, ':', ',' or the end",
                (Some(_), false) => "':', ',' or the end",
                (None, true) => "a number, ',' or the end",
                (Some(_), true) => "',' or the end",
            }));
        }
        Ok(IndexEntry::Range { begin, end, step: step.unwrap_or(1) })
    }

    /// Reads a name of the new axis, if there is one here.
    fn word(&mut self) -> bool {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_'))).unwrap_or(rest.len());
        let found = NEW_AXIS.contains(&&rest[..end]);
        self.position += if found { end } else { 0 };
        found
    }

    /// Reads a number, if there is one here.
    fn number(&mut self) -> Result<Option<i64>, ParseError> {
        let rest = self.rest();
        let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if len == 0 {
            return Ok(None);
        }
        let number = &rest[..rest.len() - digits.len() + len];
        let Ok(value) = number.parse() else {
            return Err(ParseError::new(ParseErrorKind::TooLarge, self.text, self.position));
        };
        self.position += number.len();
        Ok(Some(value))
    }
}
