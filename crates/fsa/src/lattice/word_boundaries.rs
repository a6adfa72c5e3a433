//! Word boundaries among input labels.

use std::collections::{HashMap, HashSet};

/// Stretch at the front of input labels that are not assigned yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// Unknown until more labels or words have come.
    Open,
    /// Number of labels that belong to no word: silence, or the blanks between words.
    Gap(usize),
    /// Number of labels of the next word.
    Word(usize),
}

/// Finds where words begin and end among the input labels of a path, for
/// [`Lattice::align_words`](super::Lattice::align_words).
#[doc(alias = "WordBoundaryInfo")]
pub trait WordBoundaries: Sync {
    /// Returns the stretch at the front of `labels`, the input labels so far that belong to no
    /// stretch yet. `words` are the words so far that have no labels yet, the next one first.
    /// `is_end` marks the end of a path, after which no more labels follow.
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch;
}

/// Role of an input label in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LabelRole {
    /// A part of a word that does not end the word.
    Inside,
    /// The last unit of a word, such as a phone `a_E` or `a_S` of Kaldi, or a token that ends
    /// words. Equal labels in a row are one unit.
    End,
    /// A part of a word if it lies inside of one, else of none: the blank of CTC.
    Blank,
    /// A part of no word. A word that has begun ends before it: silence, or a token between words.
    Between,
}

/// Word boundaries that follow from the labels only, as for phones with positions or for tokens
/// that separate words. Labels that are not listed are [`Inside`](LabelRole::Inside).
///
/// A word ends with a run of a label that is an [`End`](LabelRole::End) or before a
/// [`Between`](LabelRole::Between). If no label is an end, the last word of a path ends with the
/// path.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabelRoles {
    roles: HashMap<i32, LabelRole>,
}

impl LabelRoles {
    /// Creates boundaries from the roles of these labels.
    pub fn new(roles: impl IntoIterator<Item = (i32, LabelRole)>) -> Self {
        Self { roles: roles.into_iter().collect() }
    }

    fn role(&self, label: i32) -> LabelRole {
        self.roles.get(&label).copied().unwrap_or(LabelRole::Inside)
    }
}

/// Returns the gap at the front of the labels, or the result of `word` if there is none.
fn gap_or(labels: &[i32], is_end: bool, is_gap: impl Fn(i32) -> bool, word: impl FnOnce() -> Stretch) -> Stretch {
    match labels.iter().take_while(|&&label| is_gap(label)).count() {
        0 => word(),
        gap if gap < labels.len() || is_end => Stretch::Gap(gap),
        // The gap may go on.
        _ => Stretch::Open,
    }
}

impl WordBoundaries for LabelRoles {
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch {
        let is_gap = |label| matches!(self.role(label), LabelRole::Blank | LabelRole::Between);
        let without_blanks = |labels: &[i32]| {
            Stretch::Word(labels.iter().rposition(|&label| !is_gap(label)).map_or(labels.len(), |last| last + 1))
        };
        gap_or(labels, is_end, is_gap, || {
            if words.is_empty() || labels.is_empty() {
                return Stretch::Open;
            }
            let ends = |&label: &i32| matches!(self.role(label), LabelRole::End | LabelRole::Between);
            match labels.iter().position(ends) {
                Some(at) if self.role(labels[at]) == LabelRole::Between => without_blanks(&labels[..at]),
                Some(at) => {
                    let end = at + labels[at..].iter().take_while(|&&label| label == labels[at]).count();
                    if end < labels.len() || is_end { Stretch::Word(end) } else { Stretch::Open }
                }
                None if is_end && !self.roles.values().any(|&role| role == LabelRole::End) => without_blanks(labels),
                None => Stretch::Open,
            }
        })
    }
}

/// Word boundaries of lattices that have each word where it ends: a word has all labels since the
/// word before, including the labels of its arc, except for a gap at the front.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WordsAtEnds {
    gaps: HashSet<i32>,
}

impl WordsAtEnds {
    /// Creates boundaries; `gaps` are the labels of silence and blank.
    pub fn new(gaps: impl IntoIterator<Item = i32>) -> Self {
        Self { gaps: gaps.into_iter().collect() }
    }
}

impl WordBoundaries for WordsAtEnds {
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch {
        let gap = labels.iter().take_while(|label| self.gaps.contains(label)).count();
        match (words.is_empty(), gap) {
            (true, 0) => Stretch::Open,
            // At the end of a path, it is a gap without a word; otherwise the next word decides.
            (true, _) if gap == labels.len() && is_end => Stretch::Gap(gap),
            (true, _) => Stretch::Open,
            (false, gap) if gap > 0 && gap < labels.len() => Stretch::Gap(gap),
            // A word has labels, if there are any.
            (false, _) => Stretch::Word(labels.len()),
        }
    }
}

/// Word boundaries by the tokens of words, as for CTC: equal labels in a row are one token, blanks
/// only separate equal tokens.
///
/// A word has the frames from its first token to its last one. Of several pronunciations, the one
/// with which the words behind it fit too is used; as long as several fit, more labels are waited
/// for, and at the end of a path the longest is used.
///
/// ```
/// use fsa::lattice::{AlignWordsOptions, LatticeBuilder, WordTokens};
///
/// // Word 1 is "5 6", word 2 is "6"; 0 is the blank. The words stand where a graph had them.
/// let tokens = WordTokens::new([0], []).with_word(1, [5, 6]).with_word(2, [6]);
/// let mut builder = LatticeBuilder::new();
/// let [start, middle, end] = [builder.add_state(), builder.add_state(), builder.add_state()];
/// builder.add_arc(start, middle, 1, -1.0, -2.0, &[0, 5, 5]);
/// builder.add_arc(middle, end, 2, -1.0, -4.0, &[6, 0, 6, 6]);
/// builder.add_final(end, 0.0, 0.0, &[0]);
/// let lattice = builder.build()?;
/// let (aligned, incomplete) = lattice.align_words(&tokens, &AlignWordsOptions::default())?;
/// assert_eq!(incomplete, [0]);
/// let best = aligned.best_path(0)?.expect("a path");
/// let times = aligned.word_times(0, &best)?;
/// let times: Vec<_> = times.iter().map(|word| (word.word, word.frames.clone())).collect();
/// assert_eq!(times, [(1, 1..4), (2, 5..7)]);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[doc(alias = "WordAlignLatticeLexiconInfo")]
pub struct WordTokens {
    tokens: HashMap<i32, Vec<Vec<i32>>>,
    blanks: HashSet<i32>,
    between: HashSet<i32>,
}

/// A token of a path: a run of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The token.
    pub token: i32,
    /// Number of labels up to its end.
    pub end: usize,
    /// `true` if labels that are still to come may be a part of it.
    pub is_open: bool,
}

/// A unit that is not a gap.
struct Said {
    unit: Unit,
    /// `true` if a label that stands between words comes before it.
    begins: bool,
}

impl WordTokens {
    /// Creates boundaries without words. `blanks` may stand anywhere, `between` only between words.
    pub fn new(blanks: impl IntoIterator<Item = i32>, between: impl IntoIterator<Item = i32>) -> Self {
        Self { tokens: HashMap::new(), blanks: blanks.into_iter().collect(), between: between.into_iter().collect() }
    }

    /// Adds a pronunciation of a word. One without tokens is left out: such a word has no frames.
    #[must_use]
    pub fn with_word(mut self, word: i32, tokens: impl IntoIterator<Item = i32>) -> Self {
        let tokens: Vec<_> = tokens.into_iter().collect();
        if !tokens.is_empty() {
            self.tokens.entry(word).or_default().push(tokens);
        }
        self
    }

    /// Does the same as [`WordBoundaries::next`] of their labels, for units that are separated by
    /// other means than a change of label.
    pub fn next_of(&self, words: &[i32], units: &[Unit], is_end: bool) -> Stretch {
        let is_gap = |unit: &&Unit| self.blanks.contains(&unit.token) || self.between.contains(&unit.token);
        let begins_word = |token: i32| {
            let tokens = words.first().and_then(|word| self.tokens.get(word));
            tokens.into_iter().flatten().any(|tokens| tokens.first() == Some(&token))
        };
        let gap = units.iter().take_while(|unit| is_gap(unit) && !begins_word(unit.token)).count();
        match units.get(gap) {
            // The gap may go on.
            None if gap == 0 || !is_end => return Stretch::Open,
            _ if gap > 0 => return Stretch::Gap(units[gap - 1].end),
            _ => {}
        }
        let Some((&word, others)) = words.split_first() else { return Stretch::Open };
        let (mut said, mut begins) = (Vec::new(), false);
        for (at, unit) in units.iter().enumerate() {
            if at > 0 && is_gap(&unit) {
                begins |= self.between.contains(&unit.token);
            } else {
                said.push(Said { unit: *unit, begins: std::mem::take(&mut begins) });
            }
        }
        let (mut lengths, goes_on) = self.lengths(word, &said);
        lengths.retain(|&length| self.can_follow(others, &said[length..], is_end));
        match lengths.last() {
            Some(&length) if is_end || (lengths.len() == 1 && !goes_on) => {
                let last = said[length - 1].unit;
                if last.is_open && !is_end { Stretch::Open } else { Stretch::Word(last.end) }
            }
            _ => Stretch::Open,
        }
    }

    /// Returns the numbers of units from the front that pronunciations of a word take, without
    /// repeats, and `true` if a pronunciation needs more units, which may still come.
    fn lengths(&self, word: i32, said: &[Said]) -> (Vec<usize>, bool) {
        let (mut lengths, mut goes_on) = (Vec::new(), false);
        for tokens in self.tokens.get(&word).into_iter().flatten() {
            let fits =
                |(i, (token, said)): (usize, (&i32, &Said))| *token == said.unit.token && (i == 0 || !said.begins);
            if tokens.iter().zip(said).enumerate().all(fits) {
                if tokens.len() <= said.len() {
                    lengths.push(tokens.len());
                } else {
                    goes_on = true;
                }
            }
        }
        lengths.sort_unstable();
        lengths.dedup();
        (lengths, goes_on)
    }

    /// Returns `true` if these words may have these units.
    fn can_follow(&self, words: &[i32], said: &[Said], is_end: bool) -> bool {
        let mut places = vec![0];
        for &word in words {
            let mut next = Vec::new();
            for place in places {
                let (lengths, goes_on) = self.lengths(word, &said[place..]);
                if goes_on && !is_end {
                    return true;
                }
                next.extend(lengths.iter().map(|length| place + length));
            }
            next.sort_unstable();
            next.dedup();
            places = next;
        }
        if is_end { places.contains(&said.len()) } else { !places.is_empty() }
    }
}

impl WordBoundaries for WordTokens {
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch {
        let mut units: Vec<Unit> = Vec::new();
        for (at, &token) in labels.iter().enumerate() {
            match units.last_mut().filter(|unit| unit.token == token) {
                Some(unit) => unit.end = at + 1,
                None => units.push(Unit { token, end: at + 1, is_open: false }),
            }
        }
        if let Some(last) = units.last_mut() {
            last.is_open = true;
        }
        self.next_of(words, &units, is_end)
    }
}

#[cfg(test)]
mod tests {
    use super::Stretch::{Gap, Open, Word};
    use super::*;

    #[test]
    fn roles_of_labels_end_words() {
        use LabelRole::{Between, Blank, End};
        let roles = LabelRoles::new([(0, Blank), (9, Between), (4, End)]);
        assert_eq!(roles.next(&[], &[0, 9], false), Open);
        assert_eq!(roles.next(&[], &[0, 9], true), Gap(2));
        assert_eq!(roles.next(&[], &[0, 9, 1], false), Gap(2));
        assert_eq!(roles.next(&[], &[1, 4, 9], false), Open);
        assert_eq!(roles.next(&[7], &[1, 0, 4, 4], false), Open);
        assert_eq!(roles.next(&[7], &[1, 0, 4, 4], true), Word(4));
        assert_eq!(roles.next(&[7], &[1, 0, 4, 4, 4, 1], false), Word(5));
        assert_eq!(roles.next(&[7], &[1, 2, 0, 9, 4], false), Word(2));
        // A word that does not end.
        assert_eq!(roles.next(&[7], &[1, 2], true), Open);
        let separated = LabelRoles::new([(0, Blank), (9, Between)]);
        assert_eq!(separated.next(&[7], &[1, 2, 0, 0], true), Word(2));
    }

    #[test]
    fn words_where_they_end_have_all_before() {
        let ends = WordsAtEnds::new([0]);
        assert_eq!(ends.next(&[], &[1, 2], true), Open);
        assert_eq!(ends.next(&[7], &[0, 0, 1, 2], false), Gap(2));
        assert_eq!(ends.next(&[7], &[1, 0], false), Word(2));
        assert_eq!(ends.next(&[7], &[0, 0], false), Word(2));
        assert_eq!(ends.next(&[7], &[], false), Word(0));
        assert_eq!(ends.next(&[], &[0, 0], true), Gap(2));
    }

    #[test]
    fn pronunciations_are_told_by_what_follows() {
        let tokens = WordTokens::new([0], [9]).with_word(1, [5]).with_word(1, [5, 6]).with_word(2, [6, 7]);
        assert_eq!(tokens.next(&[1], &[5, 5], false), Open);
        assert_eq!(tokens.next(&[1, 2], &[5, 6, 6], false), Open);
        // "5" and "6 7", or "5 6" and nothing that begins with 7.
        assert_eq!(tokens.next(&[1, 2], &[5, 6, 6, 7], false), Word(1));
        assert_eq!(tokens.next(&[1, 2], &[5, 6, 0, 6, 7], true), Word(2));
        assert_eq!(tokens.next(&[1], &[5, 0, 6], true), Word(3));
        assert_eq!(tokens.next(&[1], &[5, 9, 6, 7], false), Word(1));
        assert_eq!(tokens.next(&[8], &[5], true), Open);
    }
}
