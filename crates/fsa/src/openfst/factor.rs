//! Conversion of transducers with a string of output labels on an arc to transducers with one
//! output label on each arc.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::limits::{Limits, bytes_with};
use crate::error::{Error, Operation, Quantity};
use crate::openfst::machine::Built;
use crate::openfst::strings::{EMPTY, Strings};
use crate::support::ids::NONE;
use crate::support::interner::Interner;

/// Stands for a state of the input: behind the last of its arcs, where only labels are pending.
const BEHIND: u32 = u32::MAX;

/// Placement of the rest of a string when an arc outputs its first label. At the end of the input
/// the rest follows on arcs with label 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It waits for the next arc: as OpenFst's `FactorWeightFst`, state by state.
    Waits,
    /// It follows on arcs with label 0, each the only one of its state.
    AtOnce,
}

/// Returns a transducer that outputs one label on each arc, given one whose arcs output the
/// `strings` of `outputs`.
///
/// # Errors
/// [`Error::Limit`] if it needs more than the `limits` of the operation.
pub(super) fn factor(
    builder: SortedFsaBuilder,
    outputs: Vec<u32>,
    strings: &mut Strings,
    rest: Rest,
    limits: (Operation, Limits),
) -> Result<Built, Error> {
    let short = |(arc, &string): (&Arc, &u32)| {
        strings.split(string).is_none_or(|(_, rest)| rest == EMPTY && arc.label != FINAL)
    };
    if builder.arcs.iter().zip(&outputs).all(short) {
        let aux = builder.arcs.iter().zip(&outputs).map(|(arc, &string)| match strings.split(string) {
            Some((label, _)) => label,
            None => arc.label.min(EPSILON),
        });
        return Ok(Built { aux: Some(aux.collect()), builder });
    }
    let work = Factorizer {
        waiting: Waiting { pairs: Interner::new(), nothing: vec![NONE; builder.ends.len()] },
        made: SortedFsaBuilder::default(),
        aux: Vec::new(),
        rest,
        limits,
    };
    work.run(&builder, &outputs, strings)
}

/// The states of the result: states of the input, each with its pending output.
struct Waiting {
    pairs: Interner<(u32, u32)>,
    /// For each state of the input, its state with no pending output.
    nothing: Vec<u32>,
}

impl Waiting {
    fn number(&mut self, state: u32, string: u32) -> u32 {
        if string == EMPTY
            && let Some(place) = self.nothing.get_mut(state as usize)
        {
            if *place == NONE {
                *place = self.pairs.push((state, string));
            }
            return *place;
        }
        self.pairs.number((state, string))
    }
}

struct Factorizer {
    waiting: Waiting,
    made: SortedFsaBuilder,
    aux: Vec<i32>,
    rest: Rest,
    limits: (Operation, Limits),
}

impl Factorizer {
    fn run(mut self, builder: &SortedFsaBuilder, outputs: &[u32], strings: &mut Strings) -> Result<Built, Error> {
        self.waiting.number(0, EMPTY);
        let mut next = 0;
        while let Some(&(state_number, pending)) = self.waiting.pairs.keys().get(next) {
            let from = Error::fit(Quantity::States, next)?;
            let state = state_number as usize;
            let first = |ends: &[usize]| state.checked_sub(1).map_or(0, |before| ends[before]);
            self.check(strings, builder.ends.get(state).map_or(1, |end| end - first(&builder.ends)))?;
            if builder.ends.get(state).is_none() {
                // Behind the last arc.
                self.last_arc(from, pending, 0.0, strings)?;
            } else if let (Rest::AtOnce, Some((output, rest))) = (self.rest, strings.split(pending)) {
                let to = self.waiting.number(state_number, rest);
                self.push(from, to, EPSILON, output, 0.0)?;
            } else {
                let arcs = first(&builder.ends)..builder.ends[state];
                for (arc, &output) in builder.arcs[arcs.clone()].iter().zip(&outputs[arcs]) {
                    let Arc { dest_state, label, score, .. } = *arc;
                    let string = strings.concat(pending, output);
                    if label == FINAL {
                        self.last_arc(from, string, score, strings)?;
                    } else {
                        let (output, rest) = strings.split(string).unwrap_or((EPSILON, EMPTY));
                        let to = self.waiting.number(dest_state.cast_unsigned(), rest);
                        self.push(from, to, label, output, score)?;
                    }
                }
            }
            self.made.end_state();
            next += 1;
        }
        let the_final = Error::fit(Quantity::States, next)?;
        self.made.end_state();
        self.made.arcs.iter_mut().filter(|arc| arc.label == FINAL).for_each(|arc| arc.dest_state = the_final);
        Ok(Built { builder: self.made, aux: Some(self.aux) })
    }

    /// Checks the limits, including `more` further arcs, each to another state with another string.
    fn check(&self, strings: &Strings, more: usize) -> Result<(), Error> {
        let (operation, limits) = self.limits;
        let arcs = bytes_with(&self.made.arcs, more) + bytes_with(&self.made.ends, 1) + bytes_with(&self.aux, more);
        let bytes = strings.bytes_with(more) + self.waiting.pairs.bytes_with(more) + arcs;
        limits.check(operation, bytes, self.waiting.pairs.keys().len(), self.made.arcs.len())
    }

    /// Adds an arc into the final state, or on the way there if output is pending.
    fn last_arc(&mut self, from: i32, string: u32, score: f32, strings: &Strings) -> Result<(), Error> {
        match strings.split(string) {
            // The destination is set when all states are numbered.
            None => self.push(from, 0, FINAL, FINAL, score),
            Some((output, rest)) => {
                let to = self.waiting.number(BEHIND, rest);
                self.push(from, to, EPSILON, output, score)
            }
        }
    }

    fn push(&mut self, from: i32, to: u32, label: i32, output: i32, score: f32) -> Result<(), Error> {
        self.made.arcs.push(Arc::new(from, Error::fit(Quantity::States, to as usize)?, label, score));
        self.aux.push(output);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::ids::index;

    #[test]
    fn strings_wait_for_later_arcs() {
        let mut strings = Strings::new();
        let mut of = |labels: &[i32]| labels.iter().fold(EMPTY, |s, &l| strings.append(s, l));
        // 0 -1:[7 8 9]-> 1 -2:[]-> 2 -(-1):[5]-> 3
        let outputs = vec![of(&[7, 8, 9]), of(&[]), of(&[5])];
        let arcs = vec![Arc::new(0, 1, 1, 0.5), Arc::new(1, 2, 2, 0.25), Arc::new(2, 3, FINAL, 1.0)];
        let made = factor(
            SortedFsaBuilder { ends: vec![1, 2, 3, 3], arcs },
            outputs,
            &mut strings,
            Rest::Waits,
            (Operation::Determinize, Limits::default()),
        )
        .unwrap();
        let triples: Vec<_> = made.builder.arcs.iter().map(|arc| (arc.src_state, arc.dest_state, arc.label)).collect();
        assert_eq!(triples, [(0, 1, 1), (1, 2, 2), (2, 3, 0), (3, 4, 0), (4, 5, -1)]);
        assert_eq!(made.aux.unwrap(), [7, 8, 9, 5, -1]);
        assert_eq!(index(made.builder.arcs[2].dest_state), 3);
        assert_eq!(made.builder.ends, [1, 2, 3, 4, 5, 5]);
    }
}
