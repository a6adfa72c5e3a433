//! Rules that make different spellings of a word equal.

use std::collections::HashMap;

use kaldera_base::text::lines;

use crate::score::reference::ScoreError;

/// Rules that change texts before they are scored, as sclite's global mapping file (GLM) does:
/// `[MISTER] => [MR] / [ ] __ [ ]`, or `mister => mr`, one per line. Words are replaced from the
/// left, the longest rule first. Rules do not apply to replaced text.
///
/// A rule may write alternatives, `[CAN'T] => {[CAN'T] / [CAN NOT]} / [ ] __ [ ]`. References then
/// have them in braces, as [`Rules::alternatives`](crate::score::Rules) expects them; hypotheses
/// are unchanged.
///
/// ```
/// use kaldera_decoder::score::Spellings;
///
/// let spellings = Spellings::read("mister => mr\n;; and so on\nok => okay\n\
///         [i am] => {[i'm] / [i am]}\n")?
///     .without_case()
///     .without_punctuation();
/// assert_eq!(spellings.apply("Mister, I am OK."), "mr i am okay");
/// assert_eq!(spellings.apply_to_reference("I am."), "{ i'm / i am }");
/// # Ok::<(), kaldera_decoder::score::ScoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(alias = "GLM")]
#[doc(alias = "csrfilt")]
pub struct Spellings {
    /// Words, and the texts that replace them, at least one each.
    rules: HashMap<Vec<String>, Vec<Vec<String>>>,
    longest: usize,
    lower: bool,
    no_punctuation: bool,
}

/// Returns the words of a side of a rule, without its brackets.
fn words(text: &str) -> Vec<String> {
    text.replace(['[', ']'], " ").split_ascii_whitespace().map(str::to_lowercase).collect()
}

impl Spellings {
    /// Creates an empty set of rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads rules. Empty lines, lines that begin with `;` or `*`, and text after `;;` are skipped.
    /// The context `/ [ ] __ [ ]`, which all rules of the usual files have, means that words are
    /// whole; here they are whole without it, too.
    ///
    /// # Errors
    /// [`ScoreError::Line`], also for other contexts.
    pub fn read(text: &str) -> Result<Self, ScoreError> {
        let mut made = Self::default();
        for (number, line) in lines(text) {
            let line = line.split(";;").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with([';', '*']) {
                continue;
            }
            let wrong = |reason| ScoreError::Line { line: number, text: line.into(), reason };
            let (from, to) = line.split_once("=>").ok_or_else(|| wrong("a rule is 'WORDS => WORDS'"))?;
            let to = match to.rsplit_once('/').filter(|(_, context)| context.contains("__")) {
                Some((to, context)) if words(&context.replacen("__", " ", 1)).is_empty() => to,
                Some(_) => return Err(wrong("of contexts, '/ [ ] __ [ ]' alone is known here")),
                None => to,
            };
            let braced = to.trim().strip_prefix('{').and_then(|to| to.strip_suffix('}'));
            let to: Vec<Vec<String>> = match braced {
                Some(all) => all.split('/').map(words).collect(),
                None if to.contains(['{', '}', '/']) => {
                    return Err(wrong("alternatives are '{[WORDS] / [WORDS]}', and nothing beside them"));
                }
                None => vec![words(to)],
            };
            let from = words(from);
            if from.is_empty() {
                return Err(wrong("a rule needs words to replace"));
            }
            made.longest = made.longest.max(from.len());
            made.rules.insert(from, to);
        }
        Ok(made)
    }

    /// Changes all text to lower case, of any alphabet.
    #[must_use]
    pub fn without_case(mut self) -> Self {
        self.lower = true;
        self
    }

    /// Replaces characters that are no letters, digits, apostrophes or hyphens by spaces.
    /// Apostrophes and hyphens at the ends of words are dropped.
    #[must_use]
    pub fn without_punctuation(mut self) -> Self {
        self.no_punctuation = true;
        self
    }

    /// Applies the rules to a hypothesis, and returns it with single spaces; without any rule or
    /// change, the text is unchanged. Rules ignore case.
    pub fn apply(&self, text: &str) -> String {
        self.rewrite(text, false)
    }

    /// Applies the rules to a reference, with alternatives in braces. Braces and parentheses in the
    /// text stay.
    pub fn apply_to_reference(&self, text: &str) -> String {
        self.rewrite(text, true)
    }

    fn rewrite(&self, text: &str, reference: bool) -> String {
        if *self == Self::default() {
            return text.into();
        }
        let mark = |word: &str| reference && matches!(word, "{" | "}" | "/" | "@");
        let keeps = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '’') || reference && "()".contains(c);
        let mut all: Vec<String> = vec![];
        for word in text.split_ascii_whitespace() {
            if !self.no_punctuation || mark(word) {
                all.push(word.into());
                continue;
            }
            let cleaned: String = word.chars().map(|c| if keeps(c) { c } else { ' ' }).collect();
            let trimmed = cleaned.split_ascii_whitespace().map(|word| word.trim_matches(['\'', '-', '’']));
            all.extend(trimmed.filter(|word| word.contains(char::is_alphanumeric)).map(str::to_owned));
        }
        let lower: Vec<String> = all.iter().map(|word| word.to_lowercase()).collect();
        let (mut made, mut at): (Vec<&str>, usize) = (vec![], 0);
        while at < all.len() {
            let lengths = (1..=self.longest.min(all.len() - at)).rev();
            let mut found = lengths.filter_map(|length| Some((length, self.rules.get(&lower[at..at + length])?)));
            let own = if self.lower { &lower } else { &all };
            match found.next() {
                Some((length, to)) => {
                    match &to[..] {
                        [to] => made.extend(to.iter().map(String::as_str)),
                        all if reference => {
                            for (place, to) in all.iter().enumerate() {
                                made.push(if place == 0 { "{" } else { "/" });
                                made.extend(to.iter().map(String::as_str));
                                made.extend(to.is_empty().then_some("@"));
                            }
                            made.push("}");
                        }
                        _ => made.extend(own[at..at + length].iter().map(String::as_str)),
                    }
                    at += length;
                }
                None => {
                    made.push(&own[at]);
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
        assert!(Spellings::read("a => b / c").is_err());
    }

    #[test]
    fn a_mapping_file_of_nist_is_read() {
        let text = "* name \"made up\"\n* format = 'NIST1'\n;; rules\n[UH] => [%HESITATION] / [ ] __ [ ] ;; a pause\n\
                    [COLOUR] => [COLOR] / [ ] __ [ ]\n[CAN'T] => {[CAN'T] / [CAN NOT] / []} / [ ] __ [ ]\n";
        let spellings = Spellings::read(text).unwrap();
        assert_eq!(spellings.apply("Uh colour can't"), "%hesitation color can't");
        assert_eq!(spellings.apply_to_reference("uh i can't"), "%hesitation i { can't / can not / @ }");
        let cleaned = spellings.without_punctuation();
        assert_eq!(cleaned.apply_to_reference("{ a, / b. } (c) - d"), "{ a / b } (c) d");
    }
}
