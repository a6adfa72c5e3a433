//! Errors of this crate.

use std::ops::Range;
use std::path::PathBuf;

/// An error of this crate. If it concerns an utterance, it names it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Rows without values.
    #[error("{utterance}: rows of no values")]
    NoTokens {
        /// The utterance.
        utterance: String,
    },
    /// Values that are not whole rows.
    #[error("{utterance}: {values} values are no rows of {num_tokens} each")]
    Rows {
        /// The utterance.
        utterance: String,
        /// Number of values.
        values: usize,
        /// Number of values of a row.
        num_tokens: usize,
    },
    /// A value that is NaN or infinite. Minus infinity is only refused in an encoder's output.
    #[error("{utterance}: frame {frame}, column {token}: {value} is not finite")]
    Value {
        /// The utterance.
        utterance: String,
        /// The frame, counted from 0.
        frame: usize,
        /// The token, or the column of an encoder's output, counted from 0.
        token: usize,
        /// The value.
        value: f32,
    },
    /// Frames that an utterance does not have.
    #[error("{utterance}: frames {frames:?} of {num_frames}")]
    Frames {
        /// The utterance.
        utterance: String,
        /// The requested frames.
        frames: Range<usize>,
        /// Number of frames of the utterance.
        num_frames: usize,
    },
    /// A label without a column.
    #[error("{utterance}: label {label} has no column among {num_tokens}")]
    Label {
        /// The utterance.
        utterance: String,
        /// The label.
        label: i32,
        /// Number of columns.
        num_tokens: usize,
    },
    /// An array whose rows do not follow each other in memory.
    #[error("{utterance}: the array is not in C order: pass `array.as_standard_layout().view()`")]
    Order {
        /// The utterance.
        utterance: String,
    },
    /// The network's output has a number of columns that differs from the number of tokens.
    #[error("{utterance}: {found} columns, where the vocabulary has {expected} tokens")]
    Columns {
        /// The utterance.
        utterance: String,
        /// Number of tokens.
        expected: usize,
        /// Number of columns.
        found: usize,
    },
    /// The encoder's frames have a number of values that the joiner does not take.
    #[error("{utterance}: frames of {found} values of the encoder, where the joiner takes {expected}")]
    EncoderDim {
        /// The utterance.
        utterance: String,
        /// Number of values that the joiner takes.
        expected: usize,
        /// Number of values of a frame.
        found: usize,
    },
    /// A transducer whose predictor or joiner cannot be run.
    #[error("the transducer's {part}: {reason}")]
    Model {
        /// The part of the transducer.
        part: &'static str,
        /// Cause of the failure.
        reason: String,
    },
    /// A [model](Error::Model) that cannot be run, with the utterance and the frame.
    #[error("{utterance}: {}{source}", frame.map_or_else(String::new, |frame| format!("frame {frame}: ")))]
    ModelAt {
        /// The utterance.
        utterance: String,
        /// The frame, counted from 0; `None` before the first frame, and for a transcript.
        frame: Option<usize>,
        /// The error of the model.
        source: Box<Error>,
    },
    /// An invalid option.
    #[error("{name} = {value}: {reason}")]
    Option {
        /// The option.
        name: &'static str,
        /// Value of the option.
        value: f64,
        /// Requirement that the value violates.
        reason: &'static str,
    },
    /// A token that is in the vocabulary twice, or not at all.
    #[error("token '{token}': {reason}")]
    Token {
        /// The token.
        token: String,
        /// The problem.
        reason: &'static str,
    },
    /// A line of a `tokens.txt` that cannot be used.
    #[error("line {line}, '{text}': {reason}")]
    TokenLine {
        /// The line, counted from 1.
        line: usize,
        /// Text of the line.
        text: String,
        /// The problem.
        reason: &'static str,
    },
    /// A hot word or a word of a lexicon that has no tokens.
    #[error("'{phrase}' has no tokens; nothing could match it")]
    EmptyPhrase {
        /// The phrase.
        phrase: String,
    },
    /// A word of a lexicon that is spelled with the blank, which no hypothesis has.
    #[error("'{word}' is spelled with the blank, token {blank}, and could never be found")]
    BlankSpelling {
        /// The word.
        word: String,
        /// The blank.
        blank: i32,
    },
    /// A part of a hot word or of a word of a lexicon for which there is no token.
    #[error("'{phrase}' cannot be spelled with the tokens: there is none for '{part}'")]
    Untokenizable {
        /// The phrase.
        phrase: String,
        /// The part without a token.
        part: String,
    },
    /// A file that is no TextGrid.
    #[error("line {line}: {reason}")]
    TextGrid {
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// A word of a transcript without a pronunciation.
    #[error("'{text}': the lexicon has no word '{word}'")]
    UnknownWord {
        /// The transcript.
        text: String,
        /// The word.
        word: String,
    },
    /// A file of a tokenizer that is damaged, or that this crate cannot read.
    #[error("tokenizer, at {position}: {reason}")]
    Tokenizer {
        /// The byte of a message, or the piece, counted from 0; 0 if it is unknown.
        position: usize,
        /// The problem.
        reason: String,
    },
    /// No hypothesis is left: all have a probability of 0.
    #[error(
        "{utterance}: no hypothesis is left after frame {frame}: all tokens that are allowed there have probability 0"
    )]
    NothingLeft {
        /// The utterance.
        utterance: String,
        /// The frame, counted from 0.
        frame: usize,
    },
    /// A transcript that is longer than its utterance.
    #[error(
        "{utterance}: {num_frames} frames are too few for {labels} labels, {needed} are needed (equal neighbours need a blank between them)"
    )]
    TooFewFrames {
        /// The utterance.
        utterance: String,
        /// Number of frames of the utterance.
        num_frames: usize,
        /// Number of labels of the transcript.
        labels: usize,
        /// Number of frames that the transcript needs.
        needed: usize,
    },
    /// A transcript that is too long for its utterance to be aligned by a transducer.
    #[error(
        "{utterance}: {num_frames} frames and {labels} labels make more than {most} pairs of both: cut the \
         recording, as a file `segments` does"
    )]
    TooManyPairs {
        /// The utterance.
        utterance: String,
        /// Number of frames of the utterance.
        num_frames: usize,
        /// Number of labels of the transcript.
        labels: usize,
        /// Maximum number of pairs.
        most: usize,
    },
    /// A transcript with probability 0.
    #[error("{utterance}: no alignment of its {labels} labels has a probability above 0")]
    NoAlignment {
        /// The utterance.
        utterance: String,
        /// Number of labels of the transcript.
        labels: usize,
    },
    /// A transcript with the blank among its labels.
    #[error("{utterance}: label {position} of the transcript is the blank, {blank}")]
    BlankLabel {
        /// The utterance.
        utterance: String,
        /// Index of the label in the transcript.
        position: usize,
        /// The blank.
        blank: i32,
    },
    /// A file that cannot be used.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A line that is no hot word.
    #[error("{place}, '{phrase}': {reason}")]
    HotWord {
        /// File and line of the hot word.
        place: String,
        /// Text of the line.
        phrase: String,
        /// The problem.
        reason: &'static str,
    },
    /// Phrases of numbers for a decoder whose hypotheses are texts.
    #[error("this decoder spells words and compares texts: give it hot words by with_hot_texts")]
    HotWords,
    /// A language model without `<s>` or `</s>`, if the ends of sentences are to be scored.
    #[error(
        "the language model has no <s> or no </s>, and the ends of sentences are to be scored: \
         take with_score_boundary(false), or a model that has them"
    )]
    NoBoundaries,
    /// Two lists that should have the same length.
    #[error("{what}: {found}, where {expected} are needed")]
    Size {
        /// The counted items.
        what: &'static str,
        /// Expected number.
        expected: usize,
        /// Number that was found.
        found: usize,
    },
    /// An error of the automata.
    #[error(transparent)]
    Fsa(#[from] fsa::Error),
}

impl Error {
    /// Adds the utterance and the frame to an error of a model.
    pub(crate) fn at(self, utterance: &str, frame: Option<usize>) -> Self {
        match self {
            Self::Model { .. } => Self::ModelAt { utterance: utterance.to_owned(), frame, source: Box::new(self) },
            error => error,
        }
    }
}
