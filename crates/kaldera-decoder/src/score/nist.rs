//! NIST's trn files: a text and its name in parentheses, a line for each utterance.

use std::collections::HashMap;
use std::fmt;

use kaldera_base::text::lines;

use crate::score::align::{Rules, align};
use crate::score::reference::ScoreError;
use crate::score::report::Scored;

/// A line of a trn file; `Display` writes that line.
///
/// ```
/// use kaldera_decoder::score::{TrnLine, read_trn};
///
/// let line = TrnLine::new("spk1_utt1", "the cat");
/// assert_eq!(line.to_string(), "the cat (spk1_utt1)");
/// assert_eq!(read_trn(&line.to_string())?, [line]);
/// # Ok::<(), kaldera_decoder::score::ScoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrnLine {
    /// The name of the utterance, in lower case, as in sclite.
    pub utterance: String,
    /// The text.
    pub text: String,
}

impl fmt::Display for TrnLine {
    /// White space becomes single spaces. In the name, white space and parentheses become
    /// underscores, and an empty name becomes an underscore.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let utterance = field(&self.utterance.replace(['(', ')'], "_"));
        if text.is_empty() { write!(f, "({utterance})") } else { write!(f, "{text} ({utterance})") }
    }
}

/// Returns a name as a field of a line: underscores replace white space, and an empty name.
pub(super) fn field(name: &str) -> String {
    let joined = name.split_ascii_whitespace().collect::<Vec<_>>().join("_");
    if joined.is_empty() { "_".into() } else { joined }
}

impl TrnLine {
    /// Creates a line; the name becomes lower case.
    pub fn new(utterance: &str, text: impl Into<String>) -> Self {
        Self { utterance: utterance.to_lowercase(), text: text.into() }
    }

    /// Returns the speaker: the name up to its first `_` or `-`, as in `sclite -i rm`.
    pub fn speaker(&self) -> &str {
        self.utterance.split(['_', '-']).next().unwrap_or_default()
    }
}

/// Reads a trn file. Empty lines, and lines that begin with `;;`, are skipped.
///
/// # Errors
/// [`ScoreError::Line`] for a line without a name in parentheses at its end,
/// [`ScoreError::Duplicate`].
pub fn read_trn(text: &str) -> Result<Vec<TrnLine>, ScoreError> {
    let (mut made, mut names) = (vec![], HashMap::new());
    for (number, line) in lines(text) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(";;") {
            continue;
        }
        let wrong = || ScoreError::Line {
            line: number,
            text: line.into(),
            reason: "a line ends with the name of its utterance in parentheses",
        };
        let (words, name) = line.strip_suffix(')').and_then(|line| line.rsplit_once('(')).ok_or_else(wrong)?;
        let utterance = name.trim_ascii().to_lowercase();
        if utterance.is_empty() || utterance.contains(|c: char| c.is_ascii_whitespace()) {
            return Err(wrong());
        }
        if names.insert(utterance.clone(), number).is_some() {
            return Err(ScoreError::Duplicate { utterance });
        }
        made.push(TrnLine { utterance, text: words.trim_ascii().into() });
    }
    Ok(made)
}

/// Scores the lines of two trn files, by their names.
///
/// # Errors
/// [`ScoreError::Missing`] for a name that only one of them has; [`ScoreError::Alternatives`].
pub fn score_trn(references: &[TrnLine], hypotheses: &[TrnLine], rules: &Rules) -> Result<Scored, ScoreError> {
    let mut by_name: HashMap<&str, &TrnLine> = hypotheses.iter().map(|line| (&*line.utterance, line)).collect();
    let mut made = Scored::default();
    for line in references {
        let missing = || ScoreError::Missing { utterance: line.utterance.clone(), missing: "hypothesis" };
        let hypothesis = by_name.remove(&*line.utterance).ok_or_else(missing)?;
        let reference = rules.reference(&line.utterance, &line.text)?;
        let aligned = align(&reference, &rules.hypothesis(&hypothesis.text), rules);
        made.add(line.utterance.clone(), line.speaker(), aligned);
    }
    match by_name.into_keys().min() {
        Some(utterance) => Err(ScoreError::Missing { utterance: utterance.into(), missing: "reference" }),
        None => Ok(made),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_again_whatever_its_name_is() {
        for (name, read) in [("", "_"), (" ", "_"), ("a(b) c", "a_b__c"), ("()", "__"), ("a", "a")] {
            for text in ["", "x (y) z"] {
                let line = TrnLine::new(name, text);
                assert_eq!(read_trn(&line.to_string()), Ok(vec![TrnLine::new(read, text)]), "{name:?}");
            }
        }
    }

    #[test]
    fn lines_without_names_are_errors() {
        assert_eq!(read_trn("a (b) (Spk_1)\n\n;; no\n (x)").unwrap()[0].text, "a (b)");
        assert!(matches!(read_trn("a b"), Err(ScoreError::Line { line: 1, .. })));
        assert!(matches!(read_trn("a ()"), Err(ScoreError::Line { line: 1, .. })));
        assert!(matches!(read_trn("a (x)\nb (X)"), Err(ScoreError::Duplicate { .. })));
        let (one, two) = (read_trn("a (x)").unwrap(), read_trn("a (y)").unwrap());
        assert!(matches!(score_trn(&one, &two, &Rules::sclite()), Err(ScoreError::Missing { .. })));
    }
}
