//! Words with times and confidences from the lattice of an utterance.

use fsa::lattice::{AlignWordsOptions, Lattice, LatticeBuilder, LatticePath, MbrOptions};
use kaldi_io::lattice::PhoneBoundaries;

use crate::error::Error;

/// A word of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TimedWord {
    /// The word.
    pub word: i32,
    /// The frame at which it begins, as a mean over paths.
    pub begin: f32,
    /// The frame at which it ends.
    pub end: f32,
    /// Probability of the word at its place; `None` for alternatives.
    pub confidence: Option<f32>,
}

/// A path of a lattice.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Alternative {
    /// The words with their times.
    pub words: Vec<TimedWord>,
    /// Minus the costs of the path, of graph and network.
    pub score: f32,
}

/// Returns the lattice in which each word has exactly its frames. Without boundaries it stays as it
/// is.
pub(super) fn aligned(lattice: &Lattice, boundaries: Option<&PhoneBoundaries>) -> Result<Lattice, Error> {
    match boundaries {
        Some(boundaries) => Ok(lattice.align_words(boundaries, &AlignWordsOptions::default())?.0),
        None => Ok(lattice.clone()),
    }
}

/// Returns the words of least expected error, with times and confidences; none for a lattice
/// without a path.
///
/// # Errors
/// [`Error::Fsa`] for a limit.
pub fn best_words(lattice: &Lattice, boundaries: Option<&PhoneBoundaries>) -> Result<Vec<TimedWord>, Error> {
    if lattice.best_path(0)?.is_none() {
        return Ok(Vec::new());
    }
    let best = aligned(lattice, boundaries)?.minimum_bayes_risk(0, &MbrOptions::default())?;
    let timed = best.words.iter().zip(&best.confidences).zip(&best.times);
    let timed =
        timed.map(|((&word, &confidence), &(begin, end))| TimedWord { word, begin, end, confidence: Some(confidence) });
    Ok(timed.collect())
}

/// Returns the `most` best paths, from the best down.
///
/// # Errors
/// [`Error::Fsa`] for a limit.
pub fn alternatives(
    lattice: &Lattice,
    boundaries: Option<&PhoneBoundaries>,
    most: usize,
) -> Result<Vec<Alternative>, Error> {
    lattice.n_best_paths(0, most)?.iter().map(|path| alternative(lattice, path, boundaries)).collect()
}

fn alternative(
    lattice: &Lattice,
    path: &LatticePath,
    boundaries: Option<&PhoneBoundaries>,
) -> Result<Alternative, Error> {
    let line = aligned(&line(lattice, path)?, boundaries)?;
    let mut words = Vec::new();
    if let Some(path) = line.best_path(0)? {
        let times = line.word_times(0, &path)?;
        words.extend(times.iter().map(|time| TimedWord {
            word: time.word,
            begin: single(time.frames.start),
            end: single(time.frames.end),
            confidence: None,
        }));
    }
    #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
    let score = (path.graph_score + path.acoustic_score) as f32;
    Ok(Alternative { words, score })
}

/// Returns a lattice of one path.
fn line(lattice: &Lattice, path: &LatticePath) -> Result<Lattice, Error> {
    let (fsas, alignment) = (lattice.fsas(), lattice.alignment());
    let mut builder = LatticeBuilder::new();
    let mut from = builder.add_state();
    for &arc in &path.arcs {
        let Ok(arc) = usize::try_from(arc) else { continue };
        let (graph, acoustic) = (lattice.graph_scores()[arc], lattice.acoustic_scores()[arc]);
        let labels = &alignment.values()[alignment.shape().row_splits(1).row(arc)];
        if fsas.arcs()[arc].label == fsa::FINAL {
            builder.add_final(from, graph, acoustic, labels);
        } else {
            let to = builder.add_state();
            builder.add_arc(from, to, fsas.arcs()[arc].label, graph, acoustic, labels);
            from = to;
        }
    }
    Ok(builder.build()?)
}

#[expect(clippy::cast_precision_loss, reason = "frames")]
fn single(frame: usize) -> f32 {
    frame as f32
}
