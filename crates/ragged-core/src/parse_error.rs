//! Errors in the text of a ragged tensor.

use kaldera_base::text::TextError;
use thiserror::Error;

/// The position and the cause of an error in the text of a ragged tensor.
pub type ParseError = TextError<ParseErrorKind>;

/// The cause of an error in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text does not begin with a bracket.
    #[error("expected '['")]
    NoList,
    /// The text ends too early.
    #[error("expected ']' {open} more times, found the end")]
    Unclosed {
        /// Brackets that are open at the end.
        open: usize,
    },
    /// Something follows the last bracket.
    #[error("expected the end, after the bracket that closes the first one")]
    TrailingText,
    /// The text at the place of an element is not an element.
    #[error("expected {expected}")]
    NotAnElement {
        /// The kind of text that is possible there.
        expected: &'static str,
    },
    /// An element is not as deep as the deepest list, or not in a list of lists.
    #[error("an element at depth {found}, where elements are at depth {expected}")]
    ElementDepth {
        /// The number of brackets that are open here.
        found: usize,
        /// The number of brackets that must be open.
        expected: usize,
    },
    /// A list is among elements.
    #[error("a list at depth {found}, where lists at depth {expected} have elements")]
    ListDepth {
        /// The number of brackets that would be open.
        found: usize,
        /// The number of open brackets at elements.
        expected: usize,
    },
    /// There are more lists or elements than a 32-bit index can count.
    #[error("more than 2^31 - 1 lists or elements on one axis")]
    TooLarge,
}
