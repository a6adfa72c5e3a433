//! Word boundaries by phones that know their place in a word.

use std::collections::HashMap;

use fsa::lattice::{Stretch, Unit, WordBoundaries, WordTokens};

use crate::transition_model::{Transition, TransitionModel};

/// Where in words a phone stands, by the names of Kaldi's `word_boundary.int`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhoneType {
    /// Silence, and the like: `nonword`.
    Nonword,
    /// The first phone of several: `begin`.
    Begin,
    /// The last phone of several: `end`.
    End,
    /// One between others: `internal`.
    Internal,
    /// A whole word: `singleton`.
    Singleton,
}

impl PhoneType {
    /// By its name.
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

/// The phones of a model, as they are seen in transition identifiers.
#[derive(Debug, Clone)]
struct Phones {
    model: TransitionModel,
    reorder: bool,
}

impl Phones {
    /// The phone that begins with the first label, and how many labels it has; `None` if it has not
    /// ended yet or the label is none of the model.
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

/// Word boundaries of lattices whose input labels are transition identifiers, of a model whose
/// phones know their place in a word. A gap is one phone of silence.
#[derive(Debug, Clone)]
#[doc(alias = "WordBoundaryInfo")]
pub struct PhoneBoundaries {
    phones: Phones,
    types: HashMap<i32, PhoneType>,
}

impl PhoneBoundaries {
    /// The model, the types of its phones, and whether self-loops stand behind the transition that
    /// leaves their state, as in graphs that were made with `--reorder=true`.
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
            PhoneType::Nonword => return Stretch::Gap(end),
            _ if words.is_empty() => return Stretch::Open,
            PhoneType::Singleton => return Stretch::Word(end),
            PhoneType::Begin => {}
            // A word that did not begin.
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

/// Word boundaries of lattices whose input labels are transition identifiers, by the phones of
/// words.
#[derive(Debug, Clone)]
#[doc(alias = "WordAlignLatticeLexiconInfo")]
pub struct PhoneTokens {
    phones: Phones,
    words: WordTokens,
}

impl PhoneTokens {
    /// The model, the phones of the words, and whether self-loops come last, as
    /// [`PhoneBoundaries::new`] has it.
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
        // What has begun tells what the words before it cannot be.
        if let Some(transition) = labels.get(end).and_then(|&label| self.phones.model.get(label)) {
            units.push(Unit { token: transition.phone, end: labels.len(), is_open: true });
        }
        self.words.next_of(words, &units, is_end)
    }
}
