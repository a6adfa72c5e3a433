//! Text line by line; files may have any length, lines may not.

use std::io::{BufRead, Read as _};

use kaldera_base::text::{BYTE_ORDER_MARK, is_utf_16};

use crate::error::Error;
use crate::io::cursor::is_blank;

/// Limit of a line's length in bytes; a longer line is not text.
const LONGEST: usize = 1 << 20;

/// Lines of a text, with their numbers for messages.
pub(super) struct Lines<R> {
    reader: R,
    /// Kind of text: "lexicon", "n-gram model".
    what: &'static str,
    buffer: Vec<u8>,
    /// Number of the current line, from 1.
    line: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(what: &'static str, reader: R) -> Self {
        Self { reader, what, buffer: Vec::new(), line: 0 }
    }

    /// Goes to the next line; returns `false` if there is none.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Line`] for a line that is not UTF-8 or too long.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        self.line += 1;
        let read = self.reader.by_ref().take(LONGEST as u64).read_until(b'\n', &mut self.buffer);
        let read =
            read.map_err(|error| Error::Read { what: self.what, line: self.line, problem: error.to_string() })?;
        if read == LONGEST {
            return Err(self.error("the line is too long", ""));
        }
        if self.line == 1 && is_utf_16(&self.buffer) {
            return Err(self.error("it is UTF-16: save it as UTF-8", ""));
        }
        if self.line == 1 && self.buffer.starts_with(BYTE_ORDER_MARK.as_bytes()) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        if std::str::from_utf8(&self.buffer).is_err() {
            return Err(self.error("the line is not UTF-8", ""));
        }
        Ok(read > 0)
    }

    /// Returns the current line, without blanks around it.
    pub(super) fn text(&self) -> &str {
        trim(self.whole())
    }

    /// Returns the current line with its end and all its blanks.
    pub(super) fn whole(&self) -> &str {
        std::str::from_utf8(&self.buffer).expect("checked when it was read")
    }

    /// Returns `true` if the current line ends with an end of line.
    pub(super) fn is_whole(&self) -> bool {
        self.buffer.ends_with(b"\n")
    }

    /// Returns the number of the current line, from 1.
    pub(super) fn number(&self) -> usize {
        self.line
    }

    /// Returns an error about the current line.
    pub(super) fn error(&self, problem: &'static str, found: &str) -> Error {
        const SHOWN: usize = 60;
        let found = trim(found);
        let more = if found.chars().count() > SHOWN { "..." } else { "" };
        // Terminals must not interpret the text of a file.
        let shown = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
        let found = found.chars().take(SHOWN).map(shown).collect::<String>() + more;
        Error::Line { what: self.what, line: self.line, problem, found }
    }
}

fn blank(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_blank)
}

/// Removes blanks at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(blank)
}

/// Returns the fields of a line, which are separated by blanks.
pub(super) fn fields(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(blank).filter(|field| !field.is_empty())
}

/// Returns the first field of a line, and the rest without blanks around it.
pub(super) fn split_first(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(blank).unwrap_or((text, ""));
    (first, trim(rest))
}
