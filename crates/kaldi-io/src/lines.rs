//! Line reader for texts that people edit.
//!
//! Byte order marks in front of the text and carriage returns at the ends of lines are dropped.
//! Lines have a maximum length: otherwise a binary file without lines would be read into memory as
//! a whole.

use std::io::{self, BufRead, Read};

use kaldera_base::text::{BYTE_ORDER_MARK, NotUtf8, is_utf_16};

/// Maximum number of bytes of a line of a script file, of `segments` and of Kaldi's other lists.
pub const LONGEST: usize = 1 << 20;

/// An error of [`Lines`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A line that is too long. The next line can be read.
    #[error("the line has more than {limit} bytes, which is the limit")]
    TooLong {
        /// Maximum number of bytes.
        limit: usize,
    },
    /// A line that is not UTF-8. The next line can be read.
    #[error("the line is not UTF-8: '{found}'")]
    NotUtf8 {
        /// Its beginning; bytes that are not UTF-8 are replaced.
        found: String,
    },
    /// The text cannot be read any further.
    #[error(transparent)]
    Read(io::Error),
}

/// Iterator over the lines of a text, without their ends.
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
    /// Reads lines of up to [`LONGEST`] bytes.
    pub fn new(reader: R) -> Self {
        Self { reader, longest: LONGEST, number: 0, ended: false }
    }

    /// Sets another limit, in bytes.
    #[must_use]
    pub fn with_longest(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// Returns the number of the last line read, from 1.
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

/// Ends after [`LineError::Read`].
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

/// Result of [`read_line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// The end of the text.
    End,
    /// A line, without its end.
    Whole,
    /// A line above the limit. It has been skipped; its beginning was read.
    TooLong,
}

/// Replaces `line` by the next line, of up to `longest` bytes. The first line of a text may start
/// with a byte order mark.
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
