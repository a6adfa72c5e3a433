//! A small grammar of phrases that are known when decoding begins.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::core::arc::EPSILON;
use crate::core::semiring::Semiring;
use crate::core::transducer::{CostArc, Transducer, TransducerBuilder};
use crate::error::Error;
use crate::io::SymbolTable;
use crate::support::ids::number;

/// Share of the probability of a history's own words; the rest is of backing off.
const DISCOUNT: f32 = 0.5;

/// A bigram model of phrases, as Vosk makes it of the list that a user gives a recogniser: a word
/// is as probable as it is frequent behind the word before it, times 0.5, or behind any word, after
/// backing off, which has a probability of 0.5.
///
/// ```
/// use fsa::on_demand::PhraseGrammar;
///
/// let words = "<eps> 0\none 1\ntwo 2\n".parse()?;
/// let grammar = PhraseGrammar::new(["one two", "two three"], &words)?;
/// assert_eq!(grammar.unknown_words, ["three"]);
/// // "two" has two of five counts: the ends of phrases count, too.
/// let start = grammar.transducer.arcs(0);
/// assert_eq!((start[1].ilabel, start[1].cost), (2, -(2.0 / 5.0 * 0.5_f32).ln()));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PhraseGrammar {
    /// The model, sorted by label. The start is the state without a history.
    pub transducer: Transducer,
    /// Words that the table lacks, which are left out, each once in the order of their first use.
    pub unknown_words: Vec<String>,
}

/// Counts of what follows a history; label 0 is the end.
#[derive(Default)]
struct History {
    counts: BTreeMap<i32, u32>,
    total: u32,
}

impl History {
    fn count(&mut self, next: i32) {
        *self.counts.entry(next).or_default() += 1;
        self.total += 1;
    }

    #[expect(clippy::cast_precision_loss, reason = "as in Vosk, whose counts are rounded, too")]
    fn cost(&self, count: u32) -> f32 {
        -(count as f32 * DISCOUNT / self.total as f32).ln()
    }
}

impl PhraseGrammar {
    /// Counts the words of phrases, which are separated by white space. Without phrases there are
    /// no states.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new<'a>(phrases: impl IntoIterator<Item = &'a str>, words: &SymbolTable) -> Result<Self, Error> {
        let (mut any, mut after) = (History::default(), HashMap::<i32, History>::new());
        let (mut unknown_words, mut seen) = (Vec::new(), HashSet::new());
        for phrase in phrases {
            let mut last = EPSILON;
            let mut add = |last: i32, next: i32| {
                any.count(next);
                if last != EPSILON {
                    after.entry(last).or_default().count(next);
                }
            };
            for word in phrase.split_whitespace() {
                match words.find(word) {
                    Some(label) if label > EPSILON => {
                        add(last, label);
                        last = label;
                    }
                    _ if seen.insert(word) => unknown_words.push(word.to_owned()),
                    _ => {}
                }
            }
            add(last, EPSILON);
        }
        if any.total == 0 {
            let transducer = TransducerBuilder::default().finish(None, Semiring::Tropical)?;
            return Ok(Self { transducer, unknown_words });
        }
        // Every word that follows something has a history; the states are in breadth-first order.
        let mut states: Vec<Option<i32>> = vec![None];
        let mut of_word = HashMap::new();
        let mut builder = TransducerBuilder::default();
        let mut done = 0;
        while let Some(&word) = states.get(done) {
            done += 1;
            let history = word.and_then(|word| after.get(&word)).unwrap_or(&any);
            if word.is_some() {
                let cost = -(1.0 - DISCOUNT).ln();
                builder.arcs.push(CostArc { ilabel: EPSILON, olabel: EPSILON, cost, dest: 0 });
            }
            for (&label, &count) in history.counts.iter().filter(|(label, _)| **label != EPSILON) {
                let dest = *of_word.entry(label).or_insert_with(|| {
                    states.push(Some(label));
                    number(states.len() - 1)
                });
                builder.arcs.push(CostArc { ilabel: label, olabel: label, cost: history.cost(count), dest });
            }
            let end = history.counts.get(&EPSILON).map_or(f32::INFINITY, |&count| history.cost(count));
            builder.end_state(end)?;
        }
        Ok(Self { transducer: builder.finish(Some(0), Semiring::Tropical)?, unknown_words })
    }
}
