//! Sums over utterances, speakers and pairs of words.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::score::align::{Aligned, PairKind};
use crate::score::counts::Counts;

/// Sums of a speaker, or of all speakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sums {
    /// Counts of words.
    pub counts: Counts,
    /// Number of utterances.
    pub sentences: usize,
    /// Number of utterances with an error.
    pub sentences_with_errors: usize,
}

impl Sums {
    fn add(&mut self, counts: Counts) {
        self.counts += counts;
        self.sentences += 1;
        self.sentences_with_errors += usize::from(counts.errors() > 0);
    }

    /// Returns the share of utterances with an error.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 utterances are scored")]
    pub fn sentence_error_rate(&self) -> f64 {
        self.sentences_with_errors as f64 / self.sentences as f64
    }

    /// Returns the errors per word.
    pub fn error_rate(&self) -> f64 {
        self.counts.error_rate()
    }
}

/// The score of a set of utterances. `Display` writes a table of speakers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Score {
    speakers: Vec<(String, Sums)>,
    places: HashMap<String, usize>,
    total: Sums,
    confusions: BTreeMap<(String, String), usize>,
    deletions: BTreeMap<String, usize>,
    insertions: BTreeMap<String, usize>,
}

impl Score {
    /// Counts an utterance of a speaker.
    pub fn add(&mut self, speaker: &str, aligned: &Aligned) {
        let place = *self.places.entry(speaker.into()).or_insert_with(|| {
            self.speakers.push((speaker.into(), Sums::default()));
            self.speakers.len() - 1
        });
        self.speakers[place].1.add(aligned.counts);
        self.total.add(aligned.counts);
        for pair in &aligned.pairs {
            match (pair.kind, &pair.reference, &pair.hypothesis) {
                (PairKind::Substitution, Some(reference), Some(hypothesis)) => {
                    *self.confusions.entry((reference.clone(), hypothesis.clone())).or_default() += 1;
                }
                (PairKind::Deletion, Some(reference), _) => *self.deletions.entry(reference.clone()).or_default() += 1,
                (PairKind::Insertion, _, Some(hypothesis)) => {
                    *self.insertions.entry(hypothesis.clone()).or_default() += 1;
                }
                _ => {}
            }
        }
    }

    /// Returns the sums over all speakers.
    pub fn total(&self) -> Sums {
        self.total
    }

    /// Returns the sums of each speaker, in the order of their first utterances.
    pub fn speakers(&self) -> &[(String, Sums)] {
        &self.speakers
    }

    /// Returns words of references and the words that replaced them, the most frequent first.
    pub fn confusions(&self) -> Vec<(&str, &str, usize)> {
        let mut all: Vec<_> = self.confusions.iter().map(|((a, b), &count)| (&**a, &**b, count)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.2));
        all
    }

    /// Returns missing words, the most frequent first.
    pub fn deletions(&self) -> Vec<(&str, usize)> {
        by_count(&self.deletions)
    }

    /// Returns extra words, the most frequent first.
    pub fn insertions(&self) -> Vec<(&str, usize)> {
        by_count(&self.insertions)
    }
}

/// Scored utterances: their sums and alignments.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Scored {
    /// The sums.
    pub score: Score,
    /// Name and alignment of each utterance, in the order of scoring.
    pub aligned: Vec<(String, Aligned)>,
    /// Recordings and channels of [`score_stm`](crate::score::score_stm) and
    /// [`score_ctm`](crate::score::score_ctm) that the reference lacks, each once: their words are
    /// not scored.
    pub without_reference: Vec<String>,
}

impl Scored {
    pub(crate) fn add(&mut self, name: String, speaker: &str, aligned: Aligned) {
        self.score.add(speaker, &aligned);
        self.aligned.push((name, aligned));
    }

    /// Formats a report as text: the table of speakers, the `most` most frequent confusions,
    /// deletions and insertions, and pictures of the `most` utterances with the most errors.
    pub fn report(&self, most: usize) -> String {
        let mut text = self.score.to_string();
        let mut section = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                text.push_str(&format!("\n{title}\n{}\n", lines.join("\n")));
            }
        };
        let confusions = self.score.confusions().into_iter().take(most);
        section("confusions", confusions.map(|(from, to, count)| format!("{count:6}  {from} -> {to}")).collect());
        for (title, words) in [("deletions", self.score.deletions()), ("insertions", self.score.insertions())] {
            section(title, words.into_iter().take(most).map(|(word, count)| format!("{count:6}  {word}")).collect());
        }
        let mut wrong: Vec<_> = self.aligned.iter().filter(|(_, aligned)| aligned.counts.errors() > 0).collect();
        wrong.sort_by_key(|(_, aligned)| std::cmp::Reverse(aligned.counts.errors()));
        let pictures = wrong.into_iter().take(most);
        section("utterances", pictures.map(|(name, aligned)| format!("{name}\n{}\n", aligned.picture())).collect());
        text
    }
}

fn by_count(counts: &BTreeMap<String, usize>) -> Vec<(&str, usize)> {
    let mut all: Vec<_> = counts.iter().map(|(word, &count)| (&**word, count)).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.1));
    all
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.speakers.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(7);
        writeln!(f, "{:width$}  utts  words   corr    sub    del    ins    err  s.err", "speaker")?;
        let total = [("all".to_owned(), self.total)];
        for (name, sums) in self.speakers.iter().chain(&total) {
            let Counts { correct, substitutions, deletions, insertions } = sums.counts;
            let (errors, words) = (100.0 * sums.error_rate(), sums.counts.words());
            writeln!(
                f,
                "{name:width$} {:5} {words:6} {correct:6} {substitutions:6} {deletions:6} {insertions:6} {errors:5.1}% {:5.1}%",
                sums.sentences,
                100.0 * sums.sentence_error_rate()
            )?;
        }
        Ok(())
    }
}
