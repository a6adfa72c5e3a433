//! Errors of the losses.

/// The errors of this crate, with the values that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of items that is not the expected one.
    #[error("{what} must be {expected}, but there are {found}")]
    Count {
        /// The items, such as "the sequences of labels".
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A tensor with too few axes.
    #[error("{what} must have at least {expected} axes, but has {found}")]
    Axes {
        /// The tensor.
        what: &'static str,
        /// The smallest valid number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A length beyond the padded length.
    #[error("sequence {sequence} has {length} frames by `lengths`, but the padded batch has {frames}")]
    Length {
        /// The sequence.
        sequence: usize,
        /// Its length.
        length: usize,
        /// Number of frames of the padded batch.
        frames: usize,
    },
    /// Rows that do not fit the labels or frames of their sequence.
    #[error("sequence {sequence}: {what} must have {expected} rows, but has {found}")]
    Rows {
        /// The sequence.
        sequence: usize,
        /// The tensor.
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A label that is not a class.
    #[error("sequence {sequence}: label {label} at position {position} is not in 0..{classes}")]
    Label {
        /// The sequence.
        sequence: usize,
        /// Position of the label.
        position: usize,
        /// The label.
        label: i32,
        /// Number of classes.
        classes: usize,
    },
    /// The blank among the labels.
    #[error(
        "sequence {sequence}: the label at position {position} is the blank, {blank}: leave blanks out of the labels"
    )]
    BlankLabel {
        /// The sequence.
        sequence: usize,
        /// Its position.
        position: usize,
        /// The blank.
        blank: usize,
    },
    /// A blank that is not a class.
    #[error("the blank {blank} is not in 0..{classes}")]
    Blank {
        /// The blank.
        blank: usize,
        /// Number of classes.
        classes: usize,
    },
    /// Logits with NaN or plus infinity, or, if a frame has one label, a row with only minus
    /// infinity.
    #[error(
        "sequence {sequence}, row {row}: the logit of class {class} is {logit}: the network has diverged, lower its learning rate or clip its gradient"
    )]
    Logit {
        /// The sequence.
        sequence: usize,
        /// The row within the sequence: the frame, or a pair of frame and label.
        row: usize,
        /// The class.
        class: usize,
        /// The logit.
        logit: f64,
    },
    /// A score of a trellis that is NaN or plus infinity.
    #[error("sequence {sequence}, symbol {symbol}, frame {frame}: the score is {score}")]
    Score {
        /// The sequence.
        sequence: usize,
        /// Number of symbols that were emitted before.
        symbol: usize,
        /// The frame.
        frame: usize,
        /// The score.
        score: f64,
    },
    /// An arc of a denominator whose probability is infinite.
    #[error("arc {arc} of the denominator has the score {score}, of which e^{score} overflows")]
    ArcScore {
        /// The arc.
        arc: usize,
        /// Its score.
        score: f64,
    },
    /// A loss that is NaN or minus infinity.
    #[error("sequence {sequence}: the loss is {loss}: values are NaN, or scores or scales so large that sums overflow")]
    Loss {
        /// The sequence.
        sequence: usize,
        /// The loss.
        loss: f64,
    },
    /// A sequence whose labels have no alignment, if [`Impossible::Error`](crate::Impossible) is
    /// set.
    #[error("sequence {sequence}: {labels} labels have no alignment with {frames} frames, of which they need {needed}")]
    TooShort {
        /// The sequence.
        sequence: usize,
        /// Number of labels.
        labels: usize,
        /// Number of frames.
        frames: usize,
        /// Number of frames that an alignment needs; equal to `frames` if the probabilities are 0.
        needed: usize,
    },
    /// A padded batch with more elements than memory can address.
    #[error("the shape {shape:?} has more elements than memory has addresses")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A boundary outside of its trellis.
    #[error("sequence {sequence}: the boundary {found:?} is not within {symbols} symbols and {frames} frames")]
    Boundary {
        /// The sequence.
        sequence: usize,
        /// First symbol, first frame, last symbol, last frame.
        found: [usize; 4],
        /// Number of symbols.
        symbols: usize,
        /// Number of frames.
        frames: usize,
    },
    /// A row of a pruned joiner outside the trellis.
    #[error("sequence {sequence}, frame {frame}: the range begins at symbol {found}, beyond the {symbols} symbols")]
    Range {
        /// The sequence.
        sequence: usize,
        /// The frame.
        frame: usize,
        /// Start of the range.
        found: usize,
        /// Number of symbols.
        symbols: usize,
    },
    /// An option with an invalid value.
    #[error("`{option}` is {found}, but it must be {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        found: f64,
        /// Its valid values.
        expected: &'static str,
    },
    /// An utterance that could not be intersected with its graph.
    #[error("utterance {utterance}: {source}")]
    Utterance {
        /// The utterance.
        utterance: usize,
        /// The cause.
        source: fsa::Error,
    },
    /// An error of `fsa`.
    #[error(transparent)]
    Fsa(#[from] fsa::Error),
    /// An error of `lod`.
    #[error(transparent)]
    Lod(#[from] lod::Error),
    /// An error of `ragged-core`.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
}

impl Error {
    /// Rejects a count that is not `expected`.
    pub(crate) fn check(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::Count { what, expected, found }) }
    }

    /// Adds `rows` to the row of an error about a part of a sequence.
    pub(crate) fn behind(self, rows: usize) -> Self {
        self.within(rows, 0)
    }

    /// Adds `rows` to the row and `classes` to the class of an error about a part of a sequence's
    /// logits.
    pub(crate) fn within(self, rows: usize, classes: usize) -> Self {
        match self {
            Self::Logit { sequence, row, class, logit } => {
                Self::Logit { sequence, row: row + rows, class: class + classes, logit }
            }
            other => other,
        }
    }

    /// Rejects an option that is NaN or outside the range of `f32`, so that sums of it stay finite.
    pub(crate) fn check_range(option: &'static str, found: f64) -> Result<(), Self> {
        let is_good = found.abs() <= f64::from(f32::MAX);
        Self::check_option(option, found, is_good, "a number within the range of `f32`")
    }

    /// Rejects an option with an invalid value; NaN is always invalid.
    pub(crate) fn check_option(
        option: &'static str,
        found: f64,
        is_good: bool,
        expected: &'static str,
    ) -> Result<(), Self> {
        if is_good && !found.is_nan() { Ok(()) } else { Err(Self::Option { option, found, expected }) }
    }
}
