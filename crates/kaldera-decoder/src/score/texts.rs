//! Texts by the names of their utterances, as in Kaldi's `text` files.

use std::collections::HashMap;

use kaldera_base::setters;
use kaldera_base::text::lines;

use crate::score::align::{Rules, align};
use crate::score::reference::ScoreError;
use crate::score::report::Scored;
use crate::score::spellings::Spellings;

/// Treatment of a reference without a hypothesis: Kaldi's `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Missing {
    /// It is an error: `strict`.
    #[default]
    Strict,
    /// It is left out: `present`.
    Present,
    /// The hypothesis is empty: `all`.
    All,
}

/// Options of [`score_texts`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ScoreOptions {
    /// Rules of comparison; sclite's by default.
    pub rules: Rules,
    /// Changes to both texts before the comparison.
    pub spellings: Spellings,
    /// Treatment of references without a hypothesis.
    pub missing: Missing,
}

setters! { ScoreOptions:
    rules, with_rules: Rules, "With these rules.";
    spellings, with_spellings: Spellings, "With these changes to both texts.";
    missing, with_missing: Missing, "With this for references without a hypothesis.";
}

/// Reads a text file of Kaldi: in each line the name of an utterance and its words.
///
/// # Errors
/// [`ScoreError::Duplicate`]. An empty line is skipped; a line with only a name is an utterance
/// without words.
pub fn read_texts(text: &str) -> Result<Vec<(String, String)>, ScoreError> {
    let (mut made, mut names) = (vec![], HashMap::new());
    for line in lines(text).map(|(_, line)| line.trim_ascii()).filter(|line| !line.is_empty()) {
        let (name, words) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
        if names.insert(name, ()).is_some() {
            return Err(ScoreError::Duplicate { utterance: name.into() });
        }
        made.push((name.to_owned(), words.trim_ascii().to_owned()));
    }
    Ok(made)
}

/// Scores hypotheses against references, both as names and texts. `speaker` returns the speaker of
/// an utterance's name. Hypotheses without a reference are ignored.
///
/// ```
/// use kaldera_decoder::score::{Missing, Rules, ScoreOptions, read_texts, score_texts};
///
/// let references = read_texts("utt-1 the cat sat\nutt-2 on a mat\n")?;
/// let hypotheses = read_texts("utt-1 the cat is at\n")?;
/// let options =
///     ScoreOptions::default().with_rules(Rules::levenshtein()).with_missing(Missing::All);
/// let scored = score_texts(&references, &hypotheses, &options, |name| name)?;
/// assert_eq!((scored.score.total().counts.errors(), scored.aligned.len()), (5, 2));
/// assert!(scored.report(10).contains("REF: the cat ** SAT\nHYP: the cat IS AT"));
/// # Ok::<(), kaldera_decoder::score::ScoreError>(())
/// ```
///
/// # Errors
/// [`ScoreError::Missing`] for a reference without a hypothesis if these are
/// [strict](Missing::Strict), [`ScoreError::Duplicate`], [`ScoreError::Alternatives`].
pub fn score_texts<T: AsRef<str>>(
    references: &[(T, T)],
    hypotheses: &[(T, T)],
    options: &ScoreOptions,
    speaker: impl Fn(&str) -> &str,
) -> Result<Scored, ScoreError> {
    let mut known: HashMap<&str, &str> = HashMap::new();
    for (name, text) in hypotheses {
        if known.insert(name.as_ref(), text.as_ref()).is_some() {
            return Err(ScoreError::Duplicate { utterance: name.as_ref().into() });
        }
    }
    let mut made = Scored::default();
    for (name, text) in references {
        let name = name.as_ref();
        let hypothesis = match (known.get(name), options.missing) {
            (Some(text), _) => *text,
            (None, Missing::All) => "",
            (None, Missing::Present) => continue,
            (None, Missing::Strict) => {
                return Err(ScoreError::Missing { utterance: name.into(), missing: "hypothesis" });
            }
        };
        let reference = if options.rules.reads_alternatives() {
            options.spellings.apply_to_reference(text.as_ref())
        } else {
            options.spellings.apply(text.as_ref())
        };
        let reference = options.rules.reference(name, &reference)?;
        let hypothesis = options.rules.hypothesis(&options.spellings.apply(hypothesis));
        made.add(name.to_owned(), speaker(name), align(&reference, &hypothesis, &options.rules));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::align::Units;

    #[test]
    fn missing_hypotheses_are_what_the_mode_says() {
        let references = read_texts("a x y\n\nb\nc z").unwrap();
        let hypotheses = read_texts("c z\nd q\n").unwrap();
        let score = |missing| {
            let options = ScoreOptions::default().with_missing(missing);
            score_texts(&references, &hypotheses, &options, |name| name).map(|scored| scored.score.total())
        };
        let all = score(Missing::All).unwrap();
        assert_eq!((all.sentences, all.counts.words(), all.counts.deletions), (3, 3, 2));
        assert_eq!(score(Missing::Present).unwrap().sentences, 1);
        let missing = ScoreError::Missing { utterance: "a".into(), missing: "hypothesis" };
        assert_eq!(score(Missing::Strict).unwrap_err(), missing);
        assert!(matches!(read_texts("a x\na y"), Err(ScoreError::Duplicate { .. })));
    }

    #[test]
    fn mapped_spellings_match_either_way() {
        let spellings = Spellings::read("[CAN'T] => {[CAN'T] / [CAN NOT]} / [ ] __ [ ]").unwrap();
        let options = ScoreOptions::default().with_spellings(spellings);
        // Characters have no alternatives.
        let characters = options.clone().with_rules(Rules::sclite().with_units(Units::Characters));
        let scored = score_texts(&[("u", "i can't")], &[("u", "i can't")], &characters, |name| name).unwrap();
        assert_eq!((scored.score.total().counts.words(), scored.score.total().counts.errors()), (6, 0));
        for hypothesis in ["i can't", "i can not"] {
            let scored = score_texts(&[("u", "i can't")], &[("u", hypothesis)], &options, |name| name).unwrap();
            assert_eq!(scored.score.total().counts.errors(), 0);
        }
    }
}
