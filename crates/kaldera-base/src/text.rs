//! Where a text is wrong, shown as a person wants to see it.

use std::error::Error;
use std::fmt;

/// Characters of the text that an error shows on either side of its position.
const EXCERPT: usize = 36;

/// Where a text is wrong, and why. It prints with the position in the text and a caret below it.
/// `K` says what is wrong.
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
    /// What is wrong.
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
