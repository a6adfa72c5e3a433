//! The path of a lattice that is nearest to a reference.

use crate::error::{Error, Operation};
use crate::lattice::container::Lattice;
use crate::support::ids::{id, index};

/// Result of [`Lattice::oracle`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Oracle {
    /// Words of the nearest path.
    pub words: Vec<i32>,
    /// Number of words of the path that are not in the reference.
    pub insertions: usize,
    /// Number of words of the reference that are not in the path.
    pub deletions: usize,
    /// Number of words that differ.
    pub substitutions: usize,
}

impl Oracle {
    /// Returns the edit distance.
    pub fn errors(&self) -> usize {
        self.insertions + self.deletions + self.substitutions
    }
}

/// Last step to a state with so many words of the reference read.
#[derive(Clone, Copy)]
enum Step {
    Start,
    /// Over an arc, with a word of the reference or none.
    Arc {
        arc: i32,
        reads: bool,
    },
    /// A word of the reference without a word of the path.
    Deletion,
}

impl Lattice {
    /// Returns the path of lattice `i` with the least edit distance to `reference`, `None` without
    /// a path. O(arcs × words).
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::Limit`] if it needs more than half of the memory.
    #[doc(alias = "lattice-oracle")]
    pub fn oracle(&self, i: usize, reference: &[i32]) -> Result<Option<Oracle>, Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let Some(last) = utterance.fsa.final_state() else { return Ok(None) };
        let width = reference.len() + 1;
        let needed = utterance.fsa.num_states().saturating_mul(width).saturating_mul(size_of::<(u32, Step)>());
        let limits = crate::Limits::default();
        limits.check(Operation::LatticeOracle, needed, utterance.fsa.num_states(), utterance.fsa.arcs().len())?;
        let mut cells = vec![(u32::MAX, Step::Start); utterance.fsa.num_states() * width];
        cells[0].0 = 0;
        for state in 0..=last {
            for read in 1..width {
                let before = cells[state * width + read - 1].0.saturating_add(1);
                improve(&mut cells[state * width + read], before, Step::Deletion);
            }
            for arc in utterance.fsa.arc_range(state) {
                let (word, to) = (utterance.arc(arc).label, utterance.arc(arc).states().1);
                for read in 0..width {
                    let errors = cells[state * width + read].0;
                    if errors == u32::MAX {
                        continue;
                    }
                    let inserted = u32::from(word > 0);
                    let step = |reads| Step::Arc { arc: id(arc), reads };
                    improve(&mut cells[to * width + read], errors + inserted, step(false));
                    if word > 0 && read + 1 < width {
                        let differs = u32::from(reference[read] != word);
                        improve(&mut cells[to * width + read + 1], errors + differs, step(true));
                    }
                }
            }
        }
        let (mut state, mut read) = (last, reference.len());
        if cells[state * width + read].0 == u32::MAX {
            return Ok(None);
        }
        let mut found = Oracle::default();
        loop {
            match cells[state * width + read].1 {
                Step::Start => break,
                Step::Deletion => {
                    found.deletions += 1;
                    read -= 1;
                }
                Step::Arc { arc, reads } => {
                    let word = utterance.arc(index(arc)).label;
                    found.words.extend(Some(word).filter(|&word| word > 0));
                    if reads {
                        read -= 1;
                        found.substitutions += usize::from(reference[read] != word);
                    } else {
                        found.insertions += usize::from(word > 0);
                    }
                    state = utterance.arc(index(arc)).states().0;
                }
            }
        }
        found.words.reverse();
        Ok(Some(found))
    }
}

fn improve(cell: &mut (u32, Step), errors: u32, step: Step) {
    if errors < cell.0 {
        *cell = (errors, step);
    }
}
