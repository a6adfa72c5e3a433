//! The text form: lines of states, labels and weights, and an empty line.

use kaldi_matrix::codec::push_number;

use super::*;
use crate::error::{Error, excerpt};

/// A lattice of the kind that its lines show.
pub(super) enum Either {
    Plain(Lattice),
    Compact(CompactLattice),
}

/// Reads the rest of the key's line, which is empty, and the lines up to an empty one.
pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Either, Error> {
    let (mut plain, mut compact) = (Lines::<LatticeWeight>::default(), Lines::<CompactLatticeWeight>::default());
    let mut line = Vec::new();
    for number in 0.. {
        let at = reader.offset();
        line.clear();
        reader.take_while(&mut line, |byte| byte != b'\n')?;
        let ended = reader.peek()?.is_none();
        if !ended {
            reader.bump();
        }
        let text = line.trim_ascii();
        if number == 0 {
            if !text.is_empty() {
                return Err(CodecError::unexpected(
                    at,
                    "the end of the line after the key of a lattice",
                    excerpt(text),
                )
                .into());
            }
            if ended {
                return Err(reader.end("a lattice").into());
            }
            continue;
        }
        if text.is_empty() {
            break;
        }
        let wrong =
            || CodecError::unexpected(at, "an arc (state, state, labels, weight) or a final state", excerpt(text));
        let columns = std::str::from_utf8(text).map_err(|_| wrong())?;
        let columns: Vec<_> = columns.split_ascii_whitespace().collect();
        let (is_plain, is_compact) = (plain.add(&columns), compact.add(&columns));
        if !is_plain && !is_compact {
            return Err(wrong().into());
        }
        if ended {
            break;
        }
    }
    let at = reader.offset();
    // If its lines fit both kinds, it is compact.
    if compact.wrong { Ok(Either::Plain(plain.finish(at)?)) } else { Ok(Either::Compact(compact.finish(at)?)) }
}

/// The lines so far, parsed with weights of this kind.
struct Lines<W> {
    /// `true` if a line was not of this kind.
    wrong: bool,
    arcs: Vec<(usize, LatticeArc<W>)>,
    finals: Vec<(usize, W)>,
    start: Option<usize>,
    num_states: usize,
}

impl<W> Default for Lines<W> {
    fn default() -> Self {
        Self { wrong: false, arcs: Vec::new(), finals: Vec::new(), start: None, num_states: 0 }
    }
}

impl<W: Weight> Lines<W> {
    /// Adds a line; returns `false` if it, or one before, is not of this kind.
    fn add(&mut self, columns: &[&str]) -> bool {
        self.wrong = self.wrong || self.try_add(columns).is_none();
        if self.wrong {
            (self.arcs, self.finals) = (Vec::new(), Vec::new());
        }
        !self.wrong
    }

    fn try_add(&mut self, columns: &[&str]) -> Option<()> {
        let state = |text: &str| text.parse::<usize>().ok().filter(|&state| i32::try_from(state).is_ok());
        let from = state(columns.first()?)?;
        let labels = if W::ACCEPTOR { 1 } else { 2 };
        let weight = |column: Option<&&str>| column.map_or(Some(W::default()), |text| W::parse(text));
        if columns.len() <= 2 {
            self.finals.push((from, weight(columns.get(1))?));
        } else {
            if !(2 + labels..=3 + labels).contains(&columns.len()) {
                return None;
            }
            let next_state = state(columns[1])?;
            let (ilabel, olabel) = (columns[2].parse().ok()?, columns[1 + labels].parse().ok()?);
            let weight = weight(columns.get(2 + labels))?;
            self.num_states = self.num_states.max(next_state + 1);
            self.arcs.push((from, LatticeArc { ilabel, olabel, weight, next_state }));
        }
        self.start.get_or_insert(from);
        self.num_states = self.num_states.max(from + 1);
        Some(())
    }

    fn finish(self, at: u64) -> Result<LatticeFst<W>, CodecError> {
        /// Number of states beyond two for each line, the most that lines can name, that is
        /// accepted.
        const MOST_WITHOUT: usize = 1 << 16;
        let Self { arcs, finals, start, num_states, .. } = self;
        if num_states > 2 * (arcs.len() + finals.len()) + MOST_WITHOUT {
            return Err(CodecError::unexpected(at, "states with numbers one after another", num_states - 1));
        }
        let mut states = vec![LatticeState { final_weight: None, arcs: Vec::new() }; num_states];
        arcs.into_iter().for_each(|(from, arc)| states[from].arcs.push(arc));
        finals.into_iter().for_each(|(state, weight)| states[state].final_weight = Some(weight));
        LatticeFst::new(start, states).map_err(|error| CodecError::unexpected(at, "a state that there is", error.state))
    }
}

/// Writes the text, first the line end after the key. The start comes first, as the reader takes
/// the first state for it.
pub(super) fn write<W: Weight>(lattice: &LatticeFst<W>, out: &mut Vec<u8>) {
    out.push(b'\n');
    let start = lattice.start.into_iter();
    let others = (0..lattice.states.len()).filter(|&state| Some(state) != lattice.start && lattice.start.is_some());
    for from in start.chain(others) {
        let state = &lattice.states[from];
        for arc in &state.arcs {
            out.extend(format!("{from}\t{}\t{}", arc.next_state, arc.ilabel).bytes());
            if !W::ACCEPTOR {
                out.extend(format!("\t{}", arc.olabel).bytes());
            }
            push_weight(out, &arc.weight);
            out.push(b'\n');
        }
        if let Some(weight) = &state.final_weight {
            out.extend(from.to_string().bytes());
            push_weight(out, weight);
            out.push(b'\n');
        }
    }
    out.push(b'\n');
}

/// Writes a weight, unless it has zero costs and no identifiers.
fn push_weight<W: Weight>(out: &mut Vec<u8>, weight: &W) {
    if *weight != W::default() {
        out.push(b'\t');
        weight.print(out);
    }
}

pub(super) fn push_cost(out: &mut Vec<u8>, cost: f32) {
    if cost.is_finite() {
        push_number(out, f64::from(cost));
    } else if cost.is_nan() {
        out.extend(b"BadNumber");
    } else {
        out.extend(if cost > 0.0 { &b"Infinity"[..] } else { b"-Infinity" });
    }
}
