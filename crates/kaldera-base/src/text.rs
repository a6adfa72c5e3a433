//! Texts written by people and their editors: their first bytes, their lines, and the positions
//! of errors.

use std::error::Error;
use std::fmt;

/// The byte order mark, which editors on Windows put in front of UTF-8. It is no part of a text.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text without the byte order mark in front of it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The lines of a text with their numbers, from 1, without a byte order mark in front and without
/// their ends.
///
/// ```
/// use kaldera_base::text::lines;
///
/// assert!(lines("\u{feff}a b\r\n\nc").eq([(1, "a b"), (2, ""), (3, "c")]));
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    (1..).zip(without_mark(text).lines())
}

/// A number as C's `%.{digits}g` prints it, with at least one digit; with six, as streams of C++.
///
/// ```
/// use kaldera_base::text::general;
///
/// let numbers = [0.5, 1_234_567.0, 0.000_012, -2.0 / 3.0].map(|x| general(x, 6));
/// assert_eq!(numbers, ["0.5", "1.23457e+06", "1.2e-05", "-0.666667"]);
/// ```
pub fn general(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        let sign = if x.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if x.is_nan() { "nan" } else { "inf" });
    }
    let decimals = digits.saturating_sub(1);
    let scientific = format!("{x:.decimals$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(i64::try_from(decimals).unwrap_or(0) - i64::from(exponent)) {
        Ok(decimals) if exponent >= -4 => without_zeros(&format!("{x:.decimals$}")).to_owned(),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
        }
    }
}

/// A decimal number without zeros at the end of its fraction.
fn without_zeros(decimal: &str) -> &str {
    match decimal.contains('.') {
        true => decimal.trim_end_matches('0').trim_end_matches('.'),
        false => decimal,
    }
}

/// The text of an error and of its causes, with colons between them. A cause whose text the error
/// already includes is left out.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// Why bytes are no text in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotUtf8 {
    /// They are UTF-16.
    Utf16,
    /// A line, counted from 1, has other bytes.
    Line(usize),
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf16 => f.write_str("it is UTF-16: save it as UTF-8"),
            Self::Line(line) => write!(f, "line {line} is not UTF-8: save the text as UTF-8"),
        }
    }
}

impl Error for NotUtf8 {}

/// Returns `true` if a text begins like UTF-16: with its byte order mark, or with an ASCII
/// character in two bytes.
pub fn is_utf_16(start: &[u8]) -> bool {
    matches!(*start, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) || matches!(*start, [a, b, ..] if (a == 0) != (b == 0))
}

/// The text of a file's bytes, without a byte order mark.
///
/// # Errors
/// [`NotUtf8`] for UTF-16, or with the number of the first line that is not UTF-8.
pub fn from_utf8(mut bytes: Vec<u8>) -> Result<String, NotUtf8> {
    if is_utf_16(&bytes) {
        return Err(NotUtf8::Utf16);
    }
    if bytes.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        NotUtf8::Line(1 + good.iter().filter(|&&byte| byte == b'\n').count())
    })
}

/// Characters of the text that an error shows on either side of its position.
const EXCERPT: usize = 36;

/// The position and the kind `K` of an error in a text. It prints with the position in the text
/// and a caret below it.
///
/// ```
/// use kaldera_base::text::TextError;
///
/// let error = TextError::new("expected a label", "0 1 7 0.5\n1 2 x 0", 14);
/// assert_eq!(
///     error.to_string(),
///     "\
/// line 2, column 5: expected a label
///     1 2 x 0
///         ^"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError<K> {
    /// The kind of error.
    pub kind: K,
    /// The position as a number of bytes from the start.
    pub position: usize,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    excerpt: Box<str>,
    caret: usize,
}

impl<K> TextError<K> {
    /// The error at the byte `position` of `text`, which may be its end. It keeps no more than a
    /// line's part around it.
    ///
    /// # Panics
    /// If no character begins there.
    #[must_use]
    pub fn new(kind: K, text: &str, position: usize) -> Self {
        let (before, after) = text.split_at(position);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let mut excerpt: Vec<char> = before[line_start..].chars().rev().take(EXCERPT).map(visible).collect();
        excerpt.reverse();
        let caret = excerpt.len();
        excerpt.extend(after.chars().take_while(|&c| c != '\n').take(EXCERPT).map(visible));
        Self {
            kind,
            position,
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            excerpt: excerpt.into_iter().collect::<String>().trim_end().into(),
            caret,
        }
    }
}

impl<K: fmt::Display> fmt::Display for TextError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, line, column, excerpt, caret, .. } = self;
        write!(f, "line {line}, column {column}: {kind}\n    {excerpt}\n    {:caret$}^", "")
    }
}

impl<K: fmt::Debug + fmt::Display> Error for TextError<K> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right sides are the output of C++: `std::cout << std::setprecision(digits) << x`.
    #[test]
    fn numbers_are_printed_as_streams_print_them() {
        for (x, digits, text) in [
            (0.0, 6, "0"),
            (-0.0, 6, "-0"),
            (0.5, 6, "0.5"),
            (100_000.0, 6, "100000"),
            (123_456.0, 6, "123456"),
            (f64::from(999_999.4_f32), 6, "999999"),
            (1_000_000.0, 6, "1e+06"),
            (1_234_567.0, 6, "1.23457e+06"),
            (f64::from(-227.955_9_f32), 6, "-227.956"),
            (0.0001, 6, "0.0001"),
            (0.000_012, 6, "1.2e-05"),
            (0.000_012_345_678, 6, "1.23457e-05"),
            (-1.5e-30, 6, "-1.5e-30"),
            (0.0, 4, "0"),
            (1000.0, 3, "1e+03"),
            (-2.0 / 3.0, 4, "-0.6667"),
            (0.0087, 1, "0.009"),
            (f64::NEG_INFINITY, 6, "-inf"),
            (f64::NAN, 6, "nan"),
        ] {
            assert_eq!(general(x, digits), text);
        }
    }

    #[test]
    fn a_text_is_utf_8_with_or_without_a_mark() {
        let text = |bytes: &[u8]| from_utf8(bytes.to_vec());
        assert_eq!(text("\u{feff}\u{e9}\u{feff}".as_bytes()), Ok("\u{e9}\u{feff}".into()));
        assert_eq!((text(b""), text(b"\n\n\0")), (Ok(String::new()), Ok("\n\n\0".into())));
        assert_eq!(text(b"a\nb\xff\nc"), Err(NotUtf8::Line(2)));
        for utf_16 in [b"\xff\xfea\0", b"\xfe\xff\0a", b"a\0b\0", b"\0a\0b"] {
            assert_eq!(text(utf_16), Err(NotUtf8::Utf16));
        }
    }

    #[test]
    fn caret_is_below_the_position() {
        let long = "é\t".repeat(100);
        for (text, position, line, column, shown) in [
            ("", 0, 1, 1, "\n    \n    ^".to_owned()),
            ("a\n", 2, 2, 1, "\n    \n    ^".to_owned()),
            ("a\nbc \nd", 3, 2, 2, "\n    bc\n     ^".to_owned()),
            (&long, 150, 1, 101, format!("\n    {}\n    {}^", "é ".repeat(36).trim_end(), " ".repeat(36))),
        ] {
            let error = TextError::new("no", text, position);
            assert_eq!((error.position, error.line, error.column), (position, line, column));
            assert_eq!(error.to_string(), format!("line {line}, column {column}: no{shown}"));
        }
    }
}
