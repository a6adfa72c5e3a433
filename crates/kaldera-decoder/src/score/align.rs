//! The cheapest alignment of a hypothesis with a reference.

use std::collections::HashMap;
use std::fmt::Write;

use kaldera_base::setters;

use crate::ids::number;
use crate::score::best_path::{Costs, Step, best_path};
use crate::score::counts::Counts;
use crate::score::reference::{Reference, ScoreError, Word};

/// What differs, and what that costs.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Rules {
    /// The cost of a word in the place of another.
    pub substitution: u32,
    /// The cost of a word too many.
    pub insertion: u32,
    /// The cost of a word that is missing.
    pub deletion: u32,
    /// The cost of a word that is missing and may be; it counts as correct.
    pub optional_deletion: u32,
    /// Upper and lower case of ASCII letters are different: `sclite -s`.
    pub case_sensitive: bool,
    /// Words of the reference in parentheses may be missing: `sclite -D`.
    pub optional_words: bool,
    /// A fragment, which ends with `-`, is correct if the other word begins so: `sclite -F`.
    pub fragments: bool,
    /// Characters are scored in the place of words, without the spaces: `sclite -c`.
    pub characters: bool,
    /// `{ a / b }` in a reference are alternatives; not where characters are scored.
    pub alternatives: bool,
}

setters! {
    Rules:
    case_sensitive, with_case_sensitive: bool, "With or without telling upper from lower case.";
    optional_words, with_optional_words: bool, "With or without words in parentheses that may be missing.";
    fragments, with_fragments: bool, "With or without fragments that match beginnings.";
    characters, with_characters: bool, "With characters in the place of words, or not.";
}

impl Default for Rules {
    /// [`Rules::sclite`].
    fn default() -> Self {
        Self::sclite()
    }
}

impl Rules {
    /// sclite's costs (a substitution 4, an insertion or deletion 3), case does not matter,
    /// alternatives.
    pub fn sclite() -> Self {
        Self {
            substitution: 4,
            insertion: 3,
            deletion: 3,
            optional_deletion: 2,
            case_sensitive: false,
            optional_words: false,
            fragments: false,
            characters: false,
            alternatives: true,
        }
    }

    /// Each error costs 1, texts are compared as they are: Kaldi's `compute-wer`, jiwer.
    pub fn levenshtein() -> Self {
        Self {
            substitution: 1,
            insertion: 1,
            deletion: 1,
            optional_deletion: 0,
            case_sensitive: true,
            alternatives: false,
            ..Self::sclite()
        }
    }

    /// Whether braces in a reference are alternatives.
    pub(crate) fn reads_alternatives(&self) -> bool {
        self.alternatives && !self.characters
    }

    fn fold(&self, text: &str) -> String {
        if self.case_sensitive { text.into() } else { text.to_ascii_lowercase() }
    }

    /// The words of a hypothesis.
    pub(crate) fn hypothesis(&self, text: &str) -> Vec<String> {
        let folded = self.fold(text);
        if self.characters {
            return folded.split_whitespace().flat_map(str::chars).map(String::from).collect();
        }
        folded.split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn reference(&self, utterance: &str, text: &str) -> Result<Reference, ScoreError> {
        let folded = self.fold(text);
        if self.characters {
            let characters = folded.split_whitespace().flat_map(str::chars);
            let word = |c: char| Word { text: c.into(), optional: false };
            return Ok(Reference::chain(characters.map(word)));
        }
        if self.reads_alternatives() {
            return Reference::parse(utterance, &folded, self.optional_words);
        }
        let word = |text: &str| Word { text: text.into(), optional: false };
        Ok(Reference::chain(folded.split_whitespace().map(word)))
    }

    pub(crate) fn fold_word(&self, text: &str) -> String {
        self.fold(text)
    }

    pub(crate) fn same(&self, reference: &str, hypothesis: &str) -> bool {
        if reference == hypothesis {
            return true;
        }
        let begins = |fragment: &str, whole: &str| {
            fragment.strip_suffix('-').is_some_and(|part| !part.is_empty() && whole.starts_with(part))
        };
        self.fragments && (begins(reference, hypothesis) || begins(hypothesis, reference))
    }
}

/// What two aligned words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PairKind {
    /// They are the same, or the reference's may be missing.
    Correct,
    /// They differ.
    Substitution,
    /// The hypothesis has none.
    Deletion,
    /// The reference has none.
    Insertion,
}

/// A word of a reference and what the hypothesis has in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Pair {
    /// What they are.
    pub kind: PairKind,
    /// The reference's word; none for an insertion.
    pub reference: Option<String>,
    /// The hypothesis' word; none for a deletion.
    pub hypothesis: Option<String>,
}

/// An aligned utterance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Aligned {
    /// The words, in order.
    pub pairs: Vec<Pair>,
    /// How many there are of which kind.
    pub counts: Counts,
}

impl Aligned {
    pub(crate) fn new(pairs: Vec<Pair>) -> Self {
        let mut counts = Counts::default();
        for pair in &pairs {
            *match pair.kind {
                PairKind::Correct => &mut counts.correct,
                PairKind::Substitution => &mut counts.substitutions,
                PairKind::Deletion => &mut counts.deletions,
                PairKind::Insertion => &mut counts.insertions,
            } += 1;
        }
        Self { pairs, counts }
    }

    /// The alignment as three lines of text: reference, hypothesis, and C, S, D or I below each
    /// pair. Errors are in upper case, and stars stand where there is no word.
    pub fn picture(&self) -> String {
        let (mut above, mut below, mut marks) = ("REF:".to_owned(), "HYP:".to_owned(), "    ".to_owned());
        for pair in &self.pairs {
            let show = |word: &Option<String>| match word {
                Some(word) if pair.kind == PairKind::Correct => word.clone(),
                Some(word) => word.to_uppercase(),
                None => String::new(),
            };
            let (mut up, mut down) = (show(&pair.reference), show(&pair.hypothesis));
            let width = up.chars().count().max(down.chars().count()).max(1);
            for empty in [&mut up, &mut down].into_iter().filter(|text| text.is_empty()) {
                *empty = "*".repeat(width);
            }
            let mark = match pair.kind {
                PairKind::Correct => ' ',
                PairKind::Substitution => 'S',
                PairKind::Deletion => 'D',
                PairKind::Insertion => 'I',
            };
            // Writing to a string does not fail.
            let _ = write!(above, " {up:width$}");
            let _ = write!(below, " {down:width$}");
            let _ = write!(marks, " {mark:width$}");
        }
        [above, below, marks].map(|line| line.trim_end().to_owned()).join("\n")
    }
}

/// Aligns a hypothesis with a reference, both as text.
///
/// # Errors
/// [`ScoreError::Alternatives`] for braces that do not close.
pub fn score_words(reference: &str, hypothesis: &str, rules: &Rules) -> Result<Aligned, ScoreError> {
    Ok(align(&rules.reference("", reference)?, &rules.hypothesis(hypothesis), rules))
}

/// Aligns lists of words.
#[doc(alias = "levenshtein_alignment")]
pub fn align_words<R: AsRef<str>, H: AsRef<str>>(reference: &[R], hypothesis: &[H], rules: &Rules) -> Aligned {
    let word = |text: &R| Word { text: rules.fold(text.as_ref()), optional: false };
    let hypothesis: Vec<String> = hypothesis.iter().map(|word| rules.fold(word.as_ref())).collect();
    align(&Reference::chain(reference.iter().map(word)), &hypothesis, rules)
}

/// Words of a reference and a hypothesis by numbers, so that comparing them is cheap.
struct WordCosts<'a> {
    reference: &'a Reference,
    hypothesis: &'a [String],
    rules: &'a Rules,
    /// Equal texts have equal numbers.
    numbers: (Vec<u32>, Vec<u32>),
}

impl<'a> WordCosts<'a> {
    fn new(reference: &'a Reference, hypothesis: &'a [String], rules: &'a Rules) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut number_of = |text: &'a str| {
            let next = number(known.len());
            *known.entry(text).or_insert(next)
        };
        let left = reference.words.iter().map(|word| number_of(&word.text)).collect();
        let right = hypothesis.iter().map(|word| number_of(word)).collect();
        Self { reference, hypothesis, rules, numbers: (left, right) }
    }

    fn same(&self, word: usize, place: usize) -> bool {
        self.numbers.0[word] == self.numbers.1[place]
            || self.rules.fragments && self.rules.same(&self.reference.words[word].text, &self.hypothesis[place])
    }

    fn shown(&self, (word, place): Step) -> Pair {
        let kind = match (word, place) {
            (Some(word), Some(place)) if self.same(word, place) => PairKind::Correct,
            (Some(_), Some(_)) => PairKind::Substitution,
            (Some(word), None) if self.reference.words[word].optional => PairKind::Correct,
            (Some(_), None) => PairKind::Deletion,
            (None, _) => PairKind::Insertion,
        };
        let text = |word: usize| match &self.reference.words[word] {
            Word { text, optional: true } => format!("({text})"),
            Word { text, .. } => text.clone(),
        };
        Pair { kind, reference: word.map(text), hypothesis: place.map(|place| self.hypothesis[place].clone()) }
    }
}

impl Costs for WordCosts<'_> {
    type Cost = u64;

    fn pair(&self, word: usize, place: usize) -> u64 {
        if self.same(word, place) { 0 } else { self.rules.substitution.into() }
    }

    fn deletion(&self, word: usize) -> u64 {
        let optional = self.reference.words[word].optional;
        u64::from(if optional { self.rules.optional_deletion } else { self.rules.deletion })
    }

    fn insertion(&self, _: usize) -> u64 {
        self.rules.insertion.into()
    }

    fn least_gap(&self) -> Option<u64> {
        let deletion = (0..self.reference.words.len()).map(|word| self.deletion(word)).min();
        Some(deletion.unwrap_or(u64::MAX).min(self.rules.insertion.into()))
    }
}

/// The cheapest alignment; costs are in units of the rules.
pub(crate) fn align(reference: &Reference, hypothesis: &[String], rules: &Rules) -> Aligned {
    let costs = WordCosts::new(reference, hypothesis, rules);
    let steps = best_path(reference, hypothesis.len(), &costs);
    Aligned::new(steps.into_iter().map(|step| costs.shown(step)).collect())
}

#[cfg(test)]
mod tests {
    use kaldera_base::edit_distance;
    use proptest::prelude::*;

    use super::*;

    fn counts(reference: &str, hypothesis: &str, rules: &Rules) -> [usize; 4] {
        let Counts { correct, substitutions, deletions, insertions } =
            score_words(reference, hypothesis, rules).unwrap().counts;
        [correct, substitutions, deletions, insertions]
    }

    #[test]
    fn alternatives_are_chosen_freely() {
        let rules = Rules::sclite().with_optional_words(true);
        assert_eq!(counts("a { b / c d / @ } e", "a c d e", &rules), [4, 0, 0, 0]);
        assert_eq!(counts("a { b / c d / @ } e", "a e", &rules), [2, 0, 0, 0]);
        assert_eq!(counts("a { b / { c / d } x } e", "a d x e", &rules), [4, 0, 0, 0]);
        assert_eq!(counts("(a) b", "b", &rules), [2, 0, 0, 0]);
        assert_eq!(counts("{ }", "", &rules), [0, 0, 0, 0]);
        for wrong in ["{ a", "a }", "a / b"] {
            assert!(matches!(score_words(wrong, "", &rules), Err(ScoreError::Alternatives { .. })), "{wrong}");
        }
        let deep = "{ ".repeat(65);
        assert!(score_words(&deep, "", &rules).is_err());
    }

    #[test]
    fn a_picture_has_the_words_below_each_other() {
        let aligned = score_words("the cat sat", "the bat sat down", &Rules::sclite()).unwrap();
        assert_eq!(aligned.picture(), "REF: the CAT sat ****\nHYP: the BAT sat DOWN\n         S       I");
    }

    #[test]
    fn fragments_match_beginnings() {
        let rules = Rules::sclite().with_fragments(true);
        assert_eq!(counts("wor- x", "word x", &rules), [2, 0, 0, 0]);
        assert_eq!(counts("wor- x", "word x", &Rules::sclite()), [1, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn unit_costs_give_the_edit_distance(
            a in prop::collection::vec("[abc]", 0..9),
            b in prop::collection::vec("[abc]", 0..9),
        ) {
            let aligned = align_words(&a, &b, &Rules::levenshtein());
            prop_assert_eq!(aligned.counts.errors(), edit_distance(&a, &b));
            prop_assert_eq!(aligned.counts.words(), a.len());
            prop_assert_eq!(aligned.counts.hypothesis_words(), b.len());
        }
    }
}
