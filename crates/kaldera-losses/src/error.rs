//! What the losses refuse.

/// Everything that this crate refuses, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More or fewer of something than there should be.
    #[error("{what} must be {expected}, but there are {found}")]
    Count {
        /// What is counted, such as "the sequences of labels".
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A tensor with too few axes.
    #[error("{what} must have at least {expected} axes, but has {found}")]
    Axes {
        /// Which tensor.
        what: &'static str,
        /// The least number.
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
        /// How many frames there are.
        frames: usize,
    },
    /// Rows that do not fit the labels or frames of their sequence.
    #[error("sequence {sequence}: {what} must have {expected} rows, but has {found}")]
    Rows {
        /// The sequence.
        sequence: usize,
        /// Which tensor.
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A label that is no class.
    #[error("sequence {sequence}: label {label} at position {position} is not in 0..{classes}")]
    Label {
        /// The sequence.
        sequence: usize,
        /// Where the label stands.
        position: usize,
        /// The label.
        label: i32,
        /// How many classes there are.
        classes: usize,
    },
    /// The blank among the labels.
    #[error(
        "sequence {sequence}: the label at position {position} is the blank, {blank}: leave blanks out of the labels"
    )]
    BlankLabel {
        /// The sequence.
        sequence: usize,
        /// Where it stands.
        position: usize,
        /// The blank.
        blank: usize,
    },
    /// A blank that is no class.
    #[error("the blank {blank} is not in 0..{classes}")]
    Blank {
        /// The blank.
        blank: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// Logits with NaN or plus infinity, or, where a frame has one label, a row of minus infinity
    /// alone.
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
        /// How many symbols were emitted before.
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
    /// A sequence whose labels have no alignment, where [`Impossible::Error`](crate::Impossible) is
    /// set.
    #[error("sequence {sequence}: {labels} labels have no alignment with {frames} frames, of which they need {needed}")]
    TooShort {
        /// The sequence.
        sequence: usize,
        /// How many labels there are.
        labels: usize,
        /// How many frames there are.
        frames: usize,
        /// How many frames an alignment needs; as many as there are if the probabilities are 0.
        needed: usize,
    },
    /// A padded batch of more elements than memory has addresses.
    #[error("the shape {shape:?} has more elements than memory has addresses")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A boundary that is not within its trellis.
    #[error("sequence {sequence}: the boundary {found:?} is not within {symbols} symbols and {frames} frames")]
    Boundary {
        /// The sequence.
        sequence: usize,
        /// First symbol, first frame, last symbol, last frame.
        found: [usize; 4],
        /// How many symbols there are.
        symbols: usize,
        /// How many frames there are.
        frames: usize,
    },
    /// A row of a pruned joiner outside the trellis.
    #[error("sequence {sequence}, frame {frame}: the range begins at symbol {found}, beyond the {symbols} symbols")]
    Range {
        /// The sequence.
        sequence: usize,
        /// The frame.
        frame: usize,
        /// Where the range begins.
        found: usize,
        /// How many symbols there are.
        symbols: usize,
    },
    /// An option with a value that it cannot have.
    #[error("`{option}` is {found}, but it must be {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        found: f64,
        /// What it can be.
        expected: &'static str,
    },
    /// An utterance that could not be intersected with its graph.
    #[error("utterance {utterance}: {source}")]
    Utterance {
        /// The utterance.
        utterance: usize,
        /// Why.
        source: fsa::Error,
    },
    /// What `fsa` refuses.
    #[error(transparent)]
    Fsa(#[from] fsa::Error),
    /// What `lod` refuses.
    #[error(transparent)]
    Lod(#[from] lod::Error),
    /// What `ragged-core` refuses.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
}

impl Error {
    /// Refuses another count than `expected`.
    pub(crate) fn check(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::Count { what, expected, found }) }
    }

    /// An error about rows of a sequence of which the first is row `rows`.
    pub(crate) fn behind(self, rows: usize) -> Self {
        self.within(rows, 0)
    }

    /// An error about a part of a sequence's logits that begins at row `rows` and class `classes`.
    pub(crate) fn within(self, rows: usize, classes: usize) -> Self {
        match self {
            Self::Logit { sequence, row, class, logit } => {
                Self::Logit { sequence, row: row + rows, class: class + classes, logit }
            }
            other => other,
        }
    }

    /// Refuses an option that is NaN or beyond the range of `f32`, so that sums of it stay finite.
    pub(crate) fn check_range(option: &'static str, found: f64) -> Result<(), Self> {
        let is_good = found.abs() <= f64::from(f32::MAX);
        Self::check_option(option, found, is_good, "a number within the range of `f32`")
    }

    /// Refuses an option outside of what it can be; NaN is outside of everything.
    pub(crate) fn check_option(
        option: &'static str,
        found: f64,
        is_good: bool,
        expected: &'static str,
    ) -> Result<(), Self> {
        if is_good && !found.is_nan() { Ok(()) } else { Err(Self::Option { option, found, expected }) }
    }
}
