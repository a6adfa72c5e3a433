//! Difference of two FSAs.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{self, SortedFsaBuilder};
use crate::core::fsa::{Fsa, Fsas};
use crate::core::limits::{Limits, bytes_with};
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::openfst::trim::trim_part;
use crate::support::ids::number;
use crate::support::interner::Interner;

/// Returns the strings that each of `a` accepts and `b` does not, with their scores, and the arc
/// map from the result to `a`.
///
/// `b` must be deterministic and without epsilons, as in OpenFst; its scores are ignored. Epsilons
/// of `a` are kept. The result is connected. O(states of a * states of b) at most, in proportion to
/// the pairs that are reached.
///
/// ```
/// use fsa::{Arc, Fsa};
/// use fsa::openfst::difference;
///
/// let word = |label| Fsa::from_arcs(3, vec![Arc::new(0, 1, label, 0.5), Arc::new(1, 2, -1, 0.0)]);
/// assert_eq!(difference(&word(5)?, &word(6)?)?.0, word(5)?);
/// assert_eq!(difference(&word(5)?, &word(5)?)?.0.num_states(), 0);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotDeterministic`] and [`Error::Epsilons`] for `b`, as FSA 0; [`Error::Limit`] if it
/// needs more than half of the memory; [`Error::TooLarge`].
#[doc(alias = "fstdifference")]
pub fn difference<F: Fsas>(a: &F, b: &Fsa) -> Result<(F, Vec<i32>), Error> {
    let b = Minus::new(b.view())?;
    let (made, map) = builder::map_arcs(a.as_fsa_vec(), |_, a| subtract(a, &b))?;
    Ok((a.same_kind(made), map))
}

/// The FSA that is subtracted: its arcs sorted by label.
struct Minus {
    splits: Vec<u32>,
    /// Label and destination of each arc.
    arcs: Vec<(i32, u32)>,
}

impl Minus {
    fn new(view: FsaView<'_>) -> Result<Self, Error> {
        let mut made = Self { splits: vec![0], arcs: Vec::new() };
        for state in 0..view.num_states() {
            let first = made.arcs.len();
            let live = view.arcs_of(state).iter().filter(|arc| arc.score > f32::NEG_INFINITY);
            made.arcs.extend(live.map(|arc| (arc.label, arc.dest_state.cast_unsigned())));
            made.splits.push(number(made.arcs.len()));
            let row = &mut made.arcs[first..];
            row.sort_unstable();
            if row.iter().any(|arc| arc.0 == EPSILON) {
                return Err(Error::Epsilons { fsa: 0, state });
            }
            // Several final arcs are as good as one.
            if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].0 != FINAL) {
                return Err(Error::NotDeterministic { fsa: 0, state, label: pair[0].0 });
            }
        }
        Ok(made)
    }

    /// Returns the state behind a label, [`GONE`] if there is none.
    fn step(&self, state: u32, label: i32) -> u32 {
        if state == GONE || label == EPSILON {
            return state;
        }
        let [start, end] = [0, 1].map(|next| self.splits[state as usize + next] as usize);
        let row = &self.arcs[start..end];
        row.binary_search_by_key(&label, |arc| arc.0).map_or(GONE, |at| row[at].1)
    }
}

/// Stands for a state: this string is not accepted, nor any that begins with it.
const GONE: u32 = u32::MAX;

fn subtract(a: FsaView<'_>, b: &Minus) -> Result<(SortedFsaBuilder, Vec<i32>), Error> {
    let Some(last) = a.final_state() else { return Ok((SortedFsaBuilder::default(), vec![])) };
    let mut pairs = Interner::new();
    // The final state comes first, because its number is not known yet.
    pairs.number((number(last), GONE));
    pairs.number((0, if b.splits.len() > 1 { 0 } else { GONE }));
    let (mut builder, mut map, mut next) = (SortedFsaBuilder::default(), Vec::new(), 1);
    while let Some(&(state, other)) = pairs.keys().get(next) {
        for at in a.arc_range(state as usize) {
            let arc = a.arcs()[at];
            let behind = b.step(other, arc.label);
            if arc.label == FINAL && behind != GONE {
                continue;
            }
            let dest = pairs.number((arc.dest_state.cast_unsigned(), behind));
            let [src, dest] = [next, dest as usize].map(|state| Error::fit(Quantity::States, state));
            builder.arcs.push(Arc { src_state: src? - 1, dest_state: dest? - 1, ..arc });
            map.push(Error::fit(Quantity::Arcs, at)?);
        }
        builder.end_state();
        next += 1;
        // Arcs, pairs of states with their slots in the table, and the arcs that remain after
        // trimming.
        let bytes = 2 * (bytes_with(&builder.arcs, 1) + bytes_with(&map, 1)) + pairs.bytes_with(1);
        Limits::default().check(Operation::Difference, bytes, next, builder.arcs.len())?;
    }
    builder.end_state();
    let last = Error::fit(Quantity::States, next - 1)?;
    builder.arcs.iter_mut().filter(|arc| arc.label == FINAL).for_each(|arc| arc.dest_state = last);
    let trimmed = trim_part(&builder)?;
    let map = trimmed.sources.iter().map(|&arc| map[arc as usize]).collect();
    Ok((trimmed.builder, map))
}
