//! Words that are the same although they are spelled in different ways.

use std::collections::HashMap;

use crate::score::reference::ScoreError;

/// Rules that change texts before they are scored, as sclite's global mapping file (GLM) does:
/// `[MISTER] => MR`, or `mister => mr`, a line each. Words are replaced from the left, the longest
/// rule first; what a rule has written is not looked at again.
///
/// ```
/// use kaldera_decoder::score::Spellings;
///
/// let spellings = Spellings::read("mister => mr\n;; and so on\nok => okay\ni am => i'm\n")?
///     .without_case()
///     .without_punctuation();
/// assert_eq!(spellings.apply("Mister, I am OK."), "mr i'm okay");
/// # Ok::<(), kaldera_decoder::score::ScoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spellings {
    rules: HashMap<Vec<String>, Vec<String>>,
    longest: usize,
    lower: bool,
    no_punctuation: bool,
}

impl Spellings {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads rules. Empty lines, and those that begin with `;` or `*`, are skipped; what follows a
    /// `/` after the rule, as GLM files have it for contexts, is refused.
    ///
    /// # Errors
    /// [`ScoreError::Line`].
    pub fn read(text: &str) -> Result<Self, ScoreError> {
        let mut made = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with([';', '*']) {
                continue;
            }
            let wrong = |reason| ScoreError::Line { line: number, text: line.into(), reason };
            let (from, to) = line.split_once("=>").ok_or_else(|| wrong("a rule is 'WORDS => WORDS'"))?;
            if to.contains(" / ") {
                return Err(wrong("rules with contexts are not known here"));
            }
            let words = |text: &str| -> Vec<String> {
                text.replace(['[', ']'], " ").split_whitespace().map(str::to_lowercase).collect()
            };
            let from = words(from);
            if from.is_empty() {
                return Err(wrong("a rule needs words to replace"));
            }
            made.longest = made.longest.max(from.len());
            made.rules.insert(from, words(to));
        }
        Ok(made)
    }

    /// Everything becomes lower case, of any alphabet.
    #[must_use]
    pub fn without_case(mut self) -> Self {
        self.lower = true;
        self
    }

    /// Characters that are no letters, digits, apostrophes or hyphens become spaces; apostrophes
    /// and hyphens at the ends of words are dropped.
    #[must_use]
    pub fn without_punctuation(mut self) -> Self {
        self.no_punctuation = true;
        self
    }

    /// A text by these rules, with single spaces. Rules do not look at case.
    pub fn apply(&self, text: &str) -> String {
        let keeps = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '’');
        let cleaned: String = match self.no_punctuation {
            true => text.chars().map(|c| if keeps(c) { c } else { ' ' }).collect(),
            false => text.into(),
        };
        let trim = |word: &str| {
            if self.no_punctuation { word.trim_matches(['\'', '-', '’']).to_owned() } else { word.into() }
        };
        let words: Vec<String> = cleaned.split_whitespace().map(trim).filter(|word| !word.is_empty()).collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let (mut made, mut at): (Vec<&str>, usize) = (vec![], 0);
        while at < words.len() {
            let lengths = (1..=self.longest.min(words.len() - at)).rev();
            let mut found = lengths.filter_map(|length| Some((length, self.rules.get(&lower[at..at + length])?)));
            match found.next() {
                Some((length, to)) => {
                    made.extend(to.iter().map(String::as_str));
                    at += length;
                }
                None => {
                    made.push(if self.lower { &lower[at] } else { &words[at] });
                    at += 1;
                }
            }
        }
        made.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_is_taken() {
        let spellings = Spellings::read("[NEW YORK] => [NYC]\nnew => old\nuh =>").unwrap();
        assert_eq!(spellings.apply("New  York new uh x"), "nyc old x");
        assert!(matches!(Spellings::read("a b"), Err(ScoreError::Line { line: 1, .. })));
        assert!(Spellings::read("=> b").is_err() && Spellings::read("a => b / [ ] __ [x]").is_err());
    }
}
