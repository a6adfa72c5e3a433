//! Word boundaries from position-dependent phones.

use std::collections::HashMap;

use fsa::lattice::{Stretch, Unit, WordBoundaries, WordTokens};

use crate::transition_model::{Transition, TransitionModel};

/// Position of a phone in a word, with the names of Kaldi's `word_boundary.int`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhoneType {
    /// Silence and similar phones: `nonword`.
    Nonword,
    /// The first phone of several: `begin`.
    Begin,
    /// The last phone of several: `end`.
    End,
    /// A phone between others: `internal`.
    Internal,
    /// A whole word: `singleton`.
    Singleton,
}

impl PhoneType {
    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nonword" => Self::Nonword,
            "begin" => Self::Begin,
            "end" => Self::End,
            "internal" => Self::Internal,
            "singleton" => Self::Singleton,
            _ => return None,
        })
    }
}

/// Phones of a model, seen through transition identifiers.
#[derive(Debug, Clone)]
struct Phones {
    model: TransitionModel,
    reorder: bool,
}

impl Phones {
    /// Returns the phone that begins with the first label, and its number of labels; `None` if it
    /// has not ended yet or if the label is not in the model.
    fn first(&self, labels: &[i32], is_end: bool) -> Option<(i32, usize)> {
        let phone = self.model.get(*labels.first()?)?.phone;
        let is = |label: i32, what: fn(Transition) -> bool| {
            self.model.get(label).is_some_and(|transition| transition.phone == phone && what(transition))
        };
        let own = labels.iter().take_while(|&&label| is(label, |_| true)).count();
        let mut end = labels[..own].iter().position(|&label| is(label, |transition| transition.is_final))? + 1;
        if self.reorder {
            end +=
                labels[end..own].iter().take_while(|&&label| is(label, |transition| transition.is_self_loop)).count();
            if end == labels.len() && !is_end {
                return None;
            }
        }
        Some((phone, end))
    }
}

/// Word boundaries of lattices with transition identifiers as input labels, for a model with
/// position-dependent phones. A gap is one phone of silence.
#[derive(Debug, Clone)]
#[doc(alias = "WordBoundaryInfo")]
pub struct PhoneBoundaries {
    phones: Phones,
    types: HashMap<i32, PhoneType>,
}

impl PhoneBoundaries {
    /// Creates boundaries from the model and the types of its phones. `reorder` is `true` if
    /// self-loops come after the transition that leaves their state, as in graphs made with
    /// `--reorder=true`.
    pub fn new(model: TransitionModel, types: HashMap<i32, PhoneType>, reorder: bool) -> Self {
        Self { phones: Phones { model, reorder }, types }
    }

    fn first(&self, labels: &[i32], is_end: bool) -> Option<(PhoneType, usize)> {
        let (phone, length) = self.phones.first(labels, is_end)?;
        Some((*self.types.get(&phone)?, length))
    }
}

impl WordBoundaries for PhoneBoundaries {
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch {
        let Some((first, mut end)) = self.first(labels, is_end) else { return Stretch::Open };
        match first {
            // A word that is still waiting gets the silence at the end of a path, as in Kaldi.
            PhoneType::Nonword if end == labels.len() && !words.is_empty() => return Stretch::Open,
            PhoneType::Nonword => return Stretch::Gap(end),
            _ if words.is_empty() => return Stretch::Open,
            PhoneType::Singleton => return Stretch::Word(end),
            PhoneType::Begin => {}
            // A word without a beginning.
            PhoneType::End | PhoneType::Internal => return Stretch::Open,
        }
        while let Some((phone, length)) = self.first(&labels[end..], is_end) {
            end += length;
            match phone {
                PhoneType::Internal => {}
                PhoneType::End => return Stretch::Word(end),
                _ => break,
            }
        }
        Stretch::Open
    }
}

/// Word boundaries of lattices with transition identifiers as input labels, by the phones of words.
#[derive(Debug, Clone)]
#[doc(alias = "WordAlignLatticeLexiconInfo")]
pub struct PhoneTokens {
    phones: Phones,
    words: WordTokens,
}

impl PhoneTokens {
    /// Creates boundaries from the model and the phones of the words, with `reorder` as in
    /// [`PhoneBoundaries::new`].
    pub fn new(model: TransitionModel, words: WordTokens, reorder: bool) -> Self {
        Self { phones: Phones { model, reorder }, words }
    }
}

impl WordBoundaries for PhoneTokens {
    fn next(&self, words: &[i32], labels: &[i32], is_end: bool) -> Stretch {
        let (mut units, mut end) = (Vec::new(), 0);
        while let Some((token, length)) = self.phones.first(&labels[end..], is_end) {
            end += length;
            units.push(Unit { token, end, is_open: false });
        }
        // An unfinished phone rules out some of the words before it.
        if let Some(transition) = labels.get(end).and_then(|&label| self.phones.model.get(label)) {
            units.push(Unit { token: transition.phone, end: labels.len(), is_open: true });
        }
        self.words.next_of(words, &units, is_end)
    }
}
