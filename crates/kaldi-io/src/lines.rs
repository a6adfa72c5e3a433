//! Lines of texts that people and their editors wrote.
//!
//! A byte order mark in front of the text and carriage returns at the ends of lines are no part of
//! them, and no line is longer than it may be: what is no text, and has no lines, would otherwise
//! be read into memory as a whole.

use std::io::{self, BufRead, Read};

use kaldera_base::text::{BYTE_ORDER_MARK, NotUtf8, is_utf_16};

/// The most bytes of a line of a script file, of `segments` and of other lists of Kaldi's.
pub const LONGEST: usize = 1 << 20;

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A line that is longer than lines may be. The next one can be read.
    #[error("the line has more than {limit} bytes, which is the limit")]
    TooLong {
        /// The most bytes.
        limit: usize,
    },
    /// A line that is not UTF-8. The next one can be read.
    #[error("the line is not UTF-8: '{found}'")]
    NotUtf8 {
        /// Its beginning; bytes that are not UTF-8 are replaced.
        found: String,
    },
    /// The text cannot be read on.
    #[error(transparent)]
    Read(io::Error),
}

/// The lines of a text, one by one, without their ends.
///
/// ```
/// use kaldi_io::lines::Lines;
///
/// let mut lines = Lines::new("\u{feff}utt1 a.wav\r\n\r\nutt2 b.wav".as_bytes());
/// assert_eq!(lines.next().unwrap()?, "utt1 a.wav");
/// assert_eq!(lines.by_ref().count(), 2);
/// assert_eq!(lines.number(), 3);
/// # Ok::<(), kaldi_io::lines::LineError>(())
/// ```
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    longest: usize,
    number: u64,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Lines of up to [`LONGEST`] bytes.
    pub fn new(reader: R) -> Self {
        Self { reader, longest: LONGEST, number: 0, ended: false }
    }

    /// With another limit, in bytes.
    #[must_use]
    pub fn with_longest(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn read(&mut self) -> Result<Option<String>, LineError> {
        let mut line = Vec::new();
        match read_line(&mut self.reader, self.number == 0, self.longest, &mut line).map_err(LineError::Read)? {
            Line::End => return Ok(None),
            Line::Whole => self.number += 1,
            Line::TooLong => {
                self.number += 1;
                return Err(LineError::TooLong { limit: self.longest });
            }
        }
        let damaged =
            |error: std::string::FromUtf8Error| LineError::NotUtf8 { found: crate::error::excerpt(error.as_bytes()) };
        String::from_utf8(line).map(Some).map_err(damaged)
    }
}

/// After [`LineError::Read`] there is nothing more.
impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<String, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let line = self.read().transpose();
        self.ended = matches!(line, None | Some(Err(LineError::Read(_))));
        line
    }
}

/// What [`read_line`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// Nothing more.
    End,
    /// A line, without its end.
    Whole,
    /// More than a line may have. It has been passed over; the beginning of it was read.
    TooLong,
}

/// Replaces `line` by the next line, of up to `longest` bytes. In front of the first line of a text
/// there may be a byte order mark.
pub(crate) fn read_line(
    reader: &mut dyn BufRead,
    is_first: bool,
    longest: usize,
    line: &mut Vec<u8>,
) -> io::Result<Line> {
    line.clear();
    Read::take(&mut *reader, longest as u64 + 1).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    let is_whole = line.ends_with(b"\n") || line.len() <= longest;
    if line.ends_with(b"\n") {
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
    }
    if is_first && is_utf_16(line) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, NotUtf8::Utf16));
    }
    if is_first && line.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        line.drain(..BYTE_ORDER_MARK.len());
    }
    if is_whole { Ok(Line::Whole) } else { reader.skip_until(b'\n').map(|_| Line::TooLong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_or_damaged_does_not_end_the_text() {
        let text = [b"ok\n".as_slice(), &[b'x'; 9], b"\n\xff\n12345678\nend\r"].concat();
        let mut lines = Lines::new(&text[..]).with_longest(8);
        assert_eq!(lines.next().unwrap().unwrap(), "ok");
        assert!(matches!(lines.next(), Some(Err(LineError::TooLong { limit: 8 }))));
        assert!(matches!(lines.next(), Some(Err(LineError::NotUtf8 { .. }))));
        assert_eq!((lines.next().unwrap().unwrap(), lines.number()), ("12345678".to_owned(), 4));
        assert_eq!(lines.next().unwrap().unwrap(), "end\r", "no end of a line");
        assert!(lines.next().is_none() && lines.next().is_none());
    }

    #[test]
    fn a_byte_order_mark_is_one_only_in_front() {
        let lines = Lines::new("\u{feff}a\n\u{feff}b\n".as_bytes());
        assert_eq!(lines.map(Result::unwrap).collect::<Vec<_>>(), ["a", "\u{feff}b"]);
        assert_eq!(Lines::new("\u{feff}".as_bytes()).map(Result::unwrap).collect::<Vec<_>>(), [""]);
        let mut lines = Lines::new(b"\xff\xfea\0\n\0".as_slice());
        assert!(matches!(lines.next(), Some(Err(LineError::Read(error))) if error.to_string().contains("UTF-16")));
        assert!(lines.next().is_none());
    }
}
