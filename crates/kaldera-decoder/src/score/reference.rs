//! References with alternatives and words that may be missing, as a graph of words.

/// An error of scoring.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// Braces that do not close.
    #[error("{utterance}: '{text}': {reason}")]
    Alternatives {
        /// The utterance, if it is known.
        utterance: String,
        /// The reference.
        text: String,
        /// The problem.
        reason: &'static str,
    },
    /// A line that does not have its format.
    #[error("line {line}: '{text}': {reason}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// Text of the line.
        text: String,
        /// The expected format.
        reason: &'static str,
    },
    /// A name that occurs twice.
    #[error("{utterance} is there twice")]
    Duplicate {
        /// The name.
        utterance: String,
    },
    /// A reference without a hypothesis, or the other way around.
    #[error("{utterance} has no {missing}")]
    Missing {
        /// The name.
        utterance: String,
        /// The missing part.
        missing: &'static str,
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
}

/// A word of a reference between two states; an edge without a word is silent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) word: Option<usize>,
}

/// A word; it may be missing if it is `optional`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) optional: bool,
}

/// A reference: edges go from lower to higher states; the last state is its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reference {
    pub(crate) words: Vec<Word>,
    /// Sorted by the states that they enter.
    pub(crate) edges: Vec<Edge>,
    pub(crate) num_states: usize,
}

/// Maximum depth of alternatives within alternatives.
const MOST_DEPTH: usize = 64;

impl Reference {
    /// Makes a chain of words.
    pub(crate) fn chain(words: impl IntoIterator<Item = Word>) -> Self {
        let words: Vec<Word> = words.into_iter().collect();
        let edges = (0..words.len()).map(|i| Edge { from: i, to: i + 1, word: Some(i) }).collect();
        Self { num_states: words.len() + 1, edges, words }
    }

    /// Parses sclite's text: `{ a / b c / @ }` are alternatives, `@` is nothing. With `optional`,
    /// words in parentheses may be missing. A slash outside braces is a word.
    pub(crate) fn parse(utterance: &str, text: &str, optional: bool) -> Result<Self, ScoreError> {
        let wrong = |reason| ScoreError::Alternatives { utterance: utterance.into(), text: text.into(), reason };
        Self::of_words(text.split_ascii_whitespace(), ["{", "/", "}", "@"], optional).map_err(wrong)
    }

    /// As [`parse`](Self::parse), with other marks in the place of `{`, `/`, `}` and `@`.
    pub(crate) fn of_words<'t>(
        words: impl Iterator<Item = &'t str>,
        [begin, or, end, nothing]: [&str; 4],
        optional: bool,
    ) -> Result<Self, &'static str> {
        let mut made = Self { num_states: 1, ..Self::default() };
        let mut at = 0;
        // For each open brace: the state before it, and the ends of its alternatives.
        let mut open: Vec<(usize, Vec<usize>)> = vec![];
        for word in words {
            let is = |mark: &str| word.eq_ignore_ascii_case(mark);
            let depth = open.len();
            match open.last_mut() {
                _ if is(begin) && depth == MOST_DEPTH => return Err("alternatives in more than 64 alternatives"),
                _ if is(begin) => {
                    open.push((at, vec![]));
                    at = made.after(at, None);
                }
                Some((start, ends)) if is(or) => {
                    ends.push(at);
                    at = made.after(*start, None);
                }
                Some((_, ends)) if is(end) => {
                    let mut ends = std::mem::take(ends);
                    open.pop();
                    ends.push(at);
                    at = made.after(ends[0], None);
                    made.edges.extend(ends[1..].iter().map(|&from| Edge { from, to: at, word: None }));
                }
                _ if is(nothing) => {}
                _ => {
                    let inner = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
                    let word = match inner.filter(|inner| optional && !inner.is_empty()) {
                        Some(inner) => Word { text: inner.into(), optional: true },
                        None => Word { text: word.into(), optional: false },
                    };
                    made.words.push(word);
                    at = made.after(at, Some(made.words.len() - 1));
                }
            }
        }
        if open.is_empty() { Ok(made) } else { Err("a brace is not closed") }
    }

    /// Adds a state and the edge to it.
    fn after(&mut self, from: usize, word: Option<usize>) -> usize {
        let to = self.num_states;
        self.num_states += 1;
        self.edges.push(Edge { from, to, word });
        to
    }
}
