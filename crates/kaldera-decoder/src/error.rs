//! What can go wrong.

use std::ops::Range;
use std::path::PathBuf;

/// An error of this crate; where it concerns an utterance, it names it.
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
        /// How many values there are.
        values: usize,
        /// How many a row has.
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
        /// What was asked for.
        frames: Range<usize>,
        /// How many there are.
        num_frames: usize,
    },
    /// A label without a column.
    #[error("{utterance}: label {label} has no column among {num_tokens}")]
    Label {
        /// The utterance.
        utterance: String,
        /// The label.
        label: i32,
        /// How many columns there are.
        num_tokens: usize,
    },
    /// An array whose rows do not follow each other in memory.
    #[error("{utterance}: the array is not in C order: pass `array.as_standard_layout().view()`")]
    Order {
        /// The utterance.
        utterance: String,
    },
    /// The network's output has another number of columns than there are tokens.
    #[error("{utterance}: {found} columns, where the vocabulary has {expected} tokens")]
    Columns {
        /// The utterance.
        utterance: String,
        /// How many tokens there are.
        expected: usize,
        /// How many columns there are.
        found: usize,
    },
    /// The encoder's frames have another number of values than the joiner takes.
    #[error("{utterance}: frames of {found} values of the encoder, where the joiner takes {expected}")]
    EncoderDim {
        /// The utterance.
        utterance: String,
        /// How many values the joiner takes.
        expected: usize,
        /// How many a frame has.
        found: usize,
    },
    /// A transducer whose predictor or joiner cannot be run.
    #[error("the transducer's {part}: {reason}")]
    Model {
        /// Which part of it.
        part: &'static str,
        /// What went wrong.
        reason: String,
    },
    /// A [model](Error::Model) that cannot be run, and where.
    #[error("{utterance}: {}{source}", frame.map_or_else(String::new, |frame| format!("frame {frame}: ")))]
    ModelAt {
        /// The utterance.
        utterance: String,
        /// The frame, counted from 0; none before the first one, and of a transcript.
        frame: Option<usize>,
        /// What went wrong.
        source: Box<Error>,
    },
    /// An option that makes no sense.
    #[error("{name} = {value}: {reason}")]
    Option {
        /// The option.
        name: &'static str,
        /// What it was set to.
        value: f64,
        /// What it must be.
        reason: &'static str,
    },
    /// A token that is in the vocabulary twice, or not at all.
    #[error("token '{token}': {reason}")]
    Token {
        /// The token.
        token: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A line of a `tokens.txt` that cannot be used.
    #[error("line {line}, '{text}': {reason}")]
    TokenLine {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What is wrong with it.
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
        /// What has no token.
        part: String,
    },
    /// A file that is no TextGrid.
    #[error("line {line}: {reason}")]
    TextGrid {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
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
        /// The byte of a message, or the piece, counted from 0; 0 where that is not known.
        position: usize,
        /// What is wrong.
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
        /// How many frames there are.
        num_frames: usize,
        /// How many labels the transcript has.
        labels: usize,
        /// How many frames it needs.
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
        /// How many frames there are.
        num_frames: usize,
        /// How many labels the transcript has.
        labels: usize,
        /// How many pairs there may be.
        most: usize,
    },
    /// A transcript with probability 0.
    #[error("{utterance}: no alignment of its {labels} labels has a probability above 0")]
    NoAlignment {
        /// The utterance.
        utterance: String,
        /// How many labels the transcript has.
        labels: usize,
    },
    /// A transcript with the blank among its labels.
    #[error("{utterance}: label {position} of the transcript is the blank, {blank}")]
    BlankLabel {
        /// The utterance.
        utterance: String,
        /// Its place in the transcript.
        position: usize,
        /// The blank.
        blank: i32,
    },
    /// A file that something is wrong with.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A line that is no hot word.
    #[error("{place}, '{phrase}': {reason}")]
    HotWord {
        /// Where it stands.
        place: String,
        /// What stands there.
        phrase: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Phrases of numbers for a decoder whose hypotheses are texts.
    #[error("this decoder spells words and compares texts: give it hot words by with_hot_texts")]
    HotWords,
    /// A language model without `<s>` or `</s>`, where the ends of sentences are to be scored.
    #[error(
        "the language model has no <s> or no </s>, and the ends of sentences are to be scored: \
         take with_score_boundary(false), or a model that has them"
    )]
    NoBoundaries,
    /// Two lists that should be of one length.
    #[error("{what}: {found}, where {expected} are needed")]
    Size {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// What the automata refuse.
    #[error(transparent)]
    Fsa(#[from] fsa::Error),
}

impl Error {
    /// Of a model that does not know where it was run: with the utterance and the frame.
    pub(crate) fn at(self, utterance: &str, frame: Option<usize>) -> Self {
        match self {
            Self::Model { .. } => Self::ModelAt { utterance: utterance.to_owned(), frame, source: Box::new(self) },
            error => error,
        }
    }
}
