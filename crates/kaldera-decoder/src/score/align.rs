//! Cheapest alignment of a hypothesis with a reference.

use std::collections::HashMap;
use std::fmt::Write;
use std::marker::PhantomData;

use kaldera_base::setters;

use crate::ids::number;
use crate::score::best_path::{Cost, Costs, Numbered, Step, best_path};
use crate::score::counts::Counts;
use crate::score::reference::{Reference, ScoreError, Word};

/// Rules of comparison, and the costs of errors.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Rules {
    /// Cost of a word in the place of another.
    pub substitution: u32,
    /// Cost of an extra word.
    pub insertion: u32,
    /// Cost of a missing word.
    pub deletion: u32,
    /// Cost of a missing word that may be missing; it counts as correct.
    pub optional_deletion: u32,
    /// Letters that count as equal.
    pub case: Case,
    /// `true` if words of the reference in parentheses may be missing: `sclite -D`.
    pub optional_words: bool,
    /// `true` if a fragment, which ends with `-`, is correct if the other word begins with it:
    /// `sclite -F`.
    pub fragments: bool,
    /// Units that are counted.
    pub units: Units,
    /// `true` if `{ a / b }` in a reference are alternatives; only if words are counted.
    pub alternatives: bool,
}

/// Letters that count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Case {
    /// Only identical letters: `sclite -s`.
    Distinct,
    /// Upper and lower case of ASCII letters, as in sclite.
    #[default]
    Ascii,
    /// Upper and lower case of all alphabets.
    Unicode,
}

/// Units that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Units {
    /// Words, separated by ASCII white space only.
    #[default]
    Words,
    /// Characters, without the spaces: `sclite -c`.
    Characters,
    /// Each Chinese or Japanese character, and words of other scripts: the mixed error rate.
    Mixed,
}

setters! {
    Rules:
    case, with_case: Case, "With this case of letters.";
    optional_words, with_optional_words: bool, "With or without words in parentheses that may be missing.";
    fragments, with_fragments: bool, "With or without fragments that match beginnings.";
    units, with_units: Units, "With these units.";
}

impl Default for Rules {
    /// [`Rules::sclite`].
    fn default() -> Self {
        Self::sclite()
    }
}

impl Rules {
    /// Returns sclite's rules: a substitution costs 4, an insertion or deletion 3; the case of
    /// ASCII letters does not matter; alternatives are read.
    pub fn sclite() -> Self {
        Self {
            substitution: 4,
            insertion: 3,
            deletion: 3,
            optional_deletion: 2,
            case: Case::Ascii,
            optional_words: false,
            fragments: false,
            units: Units::Words,
            alternatives: true,
        }
    }

    /// Returns the rules of Kaldi's `compute-wer` and of jiwer: each error costs 1, and texts are
    /// compared unchanged.
    pub fn levenshtein() -> Self {
        Self {
            substitution: 1,
            insertion: 1,
            deletion: 1,
            optional_deletion: 0,
            case: Case::Distinct,
            alternatives: false,
            ..Self::sclite()
        }
    }

    /// Returns `true` if braces in a reference are alternatives.
    pub(crate) fn reads_alternatives(&self) -> bool {
        self.alternatives && self.units == Units::Words
    }

    fn fold(&self, text: &str) -> String {
        match self.case {
            Case::Distinct => text.into(),
            Case::Ascii => text.to_ascii_lowercase(),
            Case::Unicode => text.to_lowercase(),
        }
    }

    /// Returns the units of a text.
    fn units(&self, text: &str) -> Vec<String> {
        let words = text.split_ascii_whitespace();
        match self.units {
            Units::Words => words.map(str::to_owned).collect(),
            Units::Characters => words.flat_map(str::chars).map(String::from).collect(),
            Units::Mixed => words.flat_map(mixed_units).map(str::to_owned).collect(),
        }
    }

    /// Returns the words of a hypothesis.
    pub(crate) fn hypothesis(&self, text: &str) -> Vec<String> {
        self.units(&self.fold(text))
    }

    pub(crate) fn reference(&self, utterance: &str, text: &str) -> Result<Reference, ScoreError> {
        let folded = self.fold(text);
        if self.reads_alternatives() {
            return Reference::parse(utterance, &folded, self.optional_words);
        }
        Ok(Reference::chain(self.units(&folded).into_iter().map(|text| Word { text, optional: false })))
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

/// Returns the units of a word in several scripts: each ideograph and each kana, and the text
/// between them.
fn mixed_units(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = match rest.chars().next()? {
            first if stands_alone(first) => first.len_utf8(),
            _ => rest.find(stands_alone).unwrap_or(rest.len()),
        };
        let (unit, after) = rest.split_at(end);
        rest = after;
        Some(unit)
    })
}

/// Returns `true` if a character belongs to a script that has no spaces between words: ideographs,
/// kana, bopomofo.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x2e80..=0x2fdf | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3038..=0x303b | 0x3041..=0x30fa | 0x30fc..=0x312f
        | 0x31a0..=0x31bf | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff
        | 0xff66..=0xff9f | 0x1b000..=0x1b16f | 0x2_0000..=0x3_ffff)
}

/// Relation of two aligned words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PairKind {
    /// They are equal, or the reference's word may be missing.
    Correct,
    /// They differ.
    Substitution,
    /// The hypothesis has no word.
    Deletion,
    /// The reference has no word.
    Insertion,
}

/// A word of a reference and the hypothesis' word in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Pair {
    /// Relation of the words.
    pub kind: PairKind,
    /// The reference's word; `None` for an insertion.
    pub reference: Option<String>,
    /// The hypothesis' word; `None` for a deletion.
    pub hypothesis: Option<String>,
}

/// An aligned utterance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Aligned {
    /// The words, in order.
    pub pairs: Vec<Pair>,
    /// Number of pairs of each kind.
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

    /// Formats the alignment as three lines of text: reference, hypothesis, and S, D or I below
    /// each error. Errors are in upper case, and stars stand for a missing word.
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

/// Words of a reference and a hypothesis as numbers, which are cheap to compare.
struct WordCosts<'a, C> {
    reference: &'a Reference,
    hypothesis: &'a [String],
    rules: &'a Rules,
    /// Equal texts have equal numbers.
    numbers: (Vec<u32>, Vec<u32>),
    costs: PhantomData<C>,
}

/// Returns a cost of the rules.
fn cost<C: Cost>(cost: u32) -> C {
    C::ONE.times(usize::try_from(cost).unwrap_or(usize::MAX))
}

impl<'a, C: Cost> WordCosts<'a, C> {
    fn new(reference: &'a Reference, hypothesis: &'a [String], rules: &'a Rules) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut number_of = |text: &'a str| {
            let next = number(known.len());
            *known.entry(text).or_insert(next)
        };
        let left = reference.words.iter().map(|word| number_of(&word.text)).collect();
        let right = hypothesis.iter().map(|word| number_of(word)).collect();
        Self { reference, hypothesis, rules, numbers: (left, right), costs: PhantomData }
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

impl<C: Cost> Costs for WordCosts<'_, C> {
    type Cost = C;

    fn pair(&self, word: usize, place: usize) -> C {
        if self.same(word, place) { C::ZERO } else { cost(self.rules.substitution) }
    }

    fn deletion(&self, word: usize) -> C {
        let optional = self.reference.words[word].optional;
        cost(if optional { self.rules.optional_deletion } else { self.rules.deletion })
    }

    fn insertion(&self, _: usize) -> C {
        cost(self.rules.insertion)
    }

    fn least_gap(&self) -> Option<C> {
        let Rules { insertion, deletion, optional_deletion, .. } = *self.rules;
        let optional = self.reference.words.iter().any(|word| word.optional).then_some(optional_deletion);
        Some(cost(insertion.min(deletion).min(optional.unwrap_or(u32::MAX))))
    }

    fn numbered(&self) -> Option<Numbered<'_, C>> {
        let Rules { substitution, insertion, deletion, .. } = *self.rules;
        let plain = !self.rules.fragments && !self.reference.words.iter().any(|word| word.optional);
        plain.then(|| Numbered {
            reference: &self.numbers.0,
            hypothesis: &self.numbers.1,
            substitution: cost(substitution),
            insertion: cost(insertion),
            deletion: cost(deletion),
        })
    }
}

/// Largest sum of costs that is exact in `f32`, with room for additions.
const EXACT: u64 = 1 << 23;

/// Returns the cheapest alignment; costs are in units of the rules.
pub(crate) fn align(reference: &Reference, hypothesis: &[String], rules: &Rules) -> Aligned {
    let Rules { substitution, insertion, deletion, optional_deletion, .. } = *rules;
    let largest = substitution.max(insertion).max(deletion).max(optional_deletion);
    let words = u64::try_from(reference.words.len() + hypothesis.len()).unwrap_or(u64::MAX);
    if words.saturating_mul(largest.into()) <= EXACT {
        align_with::<f32>(reference, hypothesis, rules)
    } else {
        align_with::<f64>(reference, hypothesis, rules)
    }
}

fn align_with<C: Cost>(reference: &Reference, hypothesis: &[String], rules: &Rules) -> Aligned {
    let costs = WordCosts::<C>::new(reference, hypothesis, rules);
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
        assert!(matches!(score_words("{ a / b", "", &rules), Err(ScoreError::Alternatives { .. })));
        // As in sclite, a brace or a slash without an open brace is a word.
        assert_eq!(counts("a / b }", "a b", &rules), [2, 0, 2, 0]);
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

    #[test]
    fn units_and_case_are_what_the_rules_say() {
        let mixed = Rules::levenshtein().with_units(Units::Mixed);
        let aligned = score_words("我要 check一下email 한국 カタ", "我 要check 一email 한국 カタ", &mixed).unwrap();
        assert_eq!((aligned.counts.words(), aligned.counts.correct), (9, 8));
        let nbsp = score_words("a\u{a0}b c", "a b c", &Rules::levenshtein()).unwrap().counts;
        assert_eq!((nbsp.words(), nbsp.correct), (2, 1));
        for (case, errors) in [(Case::Distinct, 3), (Case::Ascii, 2), (Case::Unicode, 0)] {
            let rules = Rules::levenshtein().with_case(case);
            assert_eq!(score_words("A \u{c9} \u{394}", "a \u{e9} \u{3b4}", &rules).unwrap().counts.errors(), errors);
        }
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
