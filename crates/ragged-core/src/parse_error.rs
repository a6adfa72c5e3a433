//! What can be wrong with a text of a ragged tensor.

use kaldera_base::text::TextError;
use thiserror::Error;

/// Where a text stops being a ragged one, and why.
pub type ParseError = TextError<ParseErrorKind>;

/// What is wrong with a text.
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
    /// What stands where an element may is none.
    #[error("expected {expected}")]
    NotAnElement {
        /// What may stand there.
        expected: &'static str,
    },
    /// An element is not as deep as the deepest list, or not in a list of lists.
    #[error("an element at depth {found}, where elements are at depth {expected}")]
    ElementDepth {
        /// How many brackets are open here.
        found: usize,
        /// How many must be open.
        expected: usize,
    },
    /// A list stands among elements.
    #[error("a list at depth {found}, where lists at depth {expected} have elements")]
    ListDepth {
        /// How many brackets would be open.
        found: usize,
        /// How many are open where the elements are.
        expected: usize,
    },
    /// More lists or elements than an index of 32 bits can count.
    #[error("more than 2^31 - 1 lists or elements on one axis")]
    TooLarge,
}
