//! Errors in a text, with their positions.

use kaldera_base::text::TextError;
use thiserror::Error;

/// An error in a text. It prints with its position in the text and a caret below it.
///
/// ```
/// let error = "0 1 7 0.5\n1 2 x 0".parse::<fsa::Fsa>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// line 2, column 5: expected a label
///     1 2 x 0
///         ^"
/// );
/// ```
pub type ParseError = TextError<ParseErrorKind>;

/// Kinds of errors in a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else was expected here.
    #[error("expected {what}")]
    Expected {
        /// The fields that may stand here.
        what: &'static str,
    },
    /// Something was expected at the end of the line.
    #[error("expected {what}, found the end of the line")]
    EndOfLine {
        /// The field that must stand here.
        what: &'static str,
    },
    /// Extra fields on a line.
    #[error("expected the end of the line")]
    TrailingField,
    /// Something follows the line of the final state.
    #[error("expected the end, after the line of the final state")]
    TrailingLine,
    /// The text ends without the line of the final state.
    #[error("expected a line with the final state, found the end")]
    NoFinalState,
    /// An arc of an earlier state follows an arc of a later one.
    #[error(
        "an arc of state {found} behind one of state {before}; arcs stand in the order of the states that they leave"
    )]
    SourceOrder {
        /// The state of the arc before.
        before: i32,
        /// The state of this arc.
        found: i32,
    },
    /// An arc names a state above the final one.
    #[error("an arc names state {found}, but the final state, which is the last, is {last}")]
    State {
        /// The highest state named.
        found: i32,
        /// The final state.
        last: i32,
    },
    /// The label -1 on an arc that does not enter the final state, or another on one that does.
    #[error(
        "label {label} on an arc into state {dest_state}; -1 stands on all arcs into the final state, and on no other"
    )]
    FinalLabel {
        /// The label.
        label: i32,
        /// The state that the arc enters.
        dest_state: i32,
    },
    /// The start state is also the final state.
    #[error("a single state; an FSA has none, or a start and a final state")]
    SingleState,
    /// A score that is NaN, or better than every number.
    #[error("a score is a finite number or -inf, a cost a finite number or inf")]
    Score,
    /// A state so high that most of the states below it cannot be in the text.
    #[error("state {found} in a text of {len} bytes, which has not room for as many states")]
    TooManyStates {
        /// The state.
        found: i32,
        /// The bytes of the text.
        len: usize,
    },
    /// A symbol that is not in the table.
    #[error("a symbol that is not in the table of {what}")]
    UnknownSymbol {
        /// The kind of table.
        what: &'static str,
    },
    /// A symbol that is in the table already, or a number that has a symbol already.
    #[error("{what} that stands in the table already")]
    Repeated {
        /// A symbol or a number.
        what: &'static str,
    },
}
