//! States and arcs of the types `vector`, `const` and `compact`, one state after the other.

use super::header::{Compact, Cost, Header};
use crate::core::arc::{Arc, FINAL};
use crate::core::transducer::{CostArc, TransducerBuilder};
use crate::error::{Error, Quantity};
use crate::io::bytes::Bytes;
use crate::io::openfst::TO_FINAL;

const NO_ROOM: &str = "a count that the file has no room for";
const OUT_OF_ORDER: &str = "the arcs of a state do not follow those of the state before";

/// Receives the states of a file in their order: the arcs of each, then its final cost.
pub(super) trait Sink {
    /// Is called with numbers for which the file has room.
    fn reserve(&mut self, num_states: usize, num_arcs: usize);

    /// Adds an arc; its input label and destination are not negative.
    fn arc(&mut self, state: i32, label: i32, output: i32, cost: f32, dest: i32);

    /// Ends a state; the cost is infinite if it is not final.
    fn end_state(&mut self, state: i32, final_cost: f32) -> Result<(), Error>;
}

/// Arcs and output labels read so far, as FSAs have them.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) arcs: Vec<Arc>,
    pub(super) aux_labels: Vec<i32>,
}

impl Sink for Rows {
    fn reserve(&mut self, _num_states: usize, num_arcs: usize) {
        self.arcs.reserve(num_arcs);
        self.aux_labels.reserve(num_arcs);
    }

    #[inline]
    fn arc(&mut self, state: i32, label: i32, output: i32, cost: f32, dest: i32) {
        self.arcs.push(Arc::new(state, dest, label, -cost));
        self.aux_labels.push(output);
    }

    fn end_state(&mut self, state: i32, final_cost: f32) -> Result<(), Error> {
        if final_cost != f32::INFINITY {
            self.arc(state, FINAL, FINAL, final_cost, TO_FINAL);
        }
        Ok(())
    }
}

impl Sink for TransducerBuilder {
    fn reserve(&mut self, num_states: usize, num_arcs: usize) {
        TransducerBuilder::reserve(self, num_states, num_arcs);
    }

    #[inline]
    fn arc(&mut self, _state: i32, ilabel: i32, olabel: i32, cost: f32, dest: i32) {
        self.arcs.push(CostArc { ilabel, olabel, cost, dest: dest.cast_unsigned() });
    }

    fn end_state(&mut self, _state: i32, final_cost: f32) -> Result<(), Error> {
        TransducerBuilder::end_state(self, final_cost)
    }
}

#[inline]
fn read_arc(bytes: &mut Bytes<'_>, cost: Cost, state: i32, sink: &mut impl Sink) -> Result<(), Error> {
    let (label, output, cost, dest) = match cost {
        Cost::Single => {
            let it: [u8; 16] = bytes.array()?;
            let number = |at: usize| i32::from_le_bytes([it[at], it[at + 1], it[at + 2], it[at + 3]]);
            (number(0), number(4), f32::from_bits(number(8).cast_unsigned()), number(12))
        }
        Cost::Double => (bytes.i32()?, bytes.i32()?, bytes.f64_as_f32()?, bytes.i32()?),
    };
    if label < 0 || dest < 0 {
        return Err(bytes.error("an arc with a label or a state below 0"));
    }
    sink.arc(state, label, output, cost, dest);
    Ok(())
}

/// Reads states with their arcs, one after another; all that there are if their number is not
/// known. Returns their number.
pub(super) fn read_vector(bytes: &mut Bytes<'_>, header: &Header, sink: &mut impl Sink) -> Result<i32, Error> {
    let most = match header.num_states {
        -1 => i32::MAX,
        number => Error::fit(Quantity::States, bytes.count(number, header.cost.state())?)?,
    };
    let mut state = 0;
    while state < most && !(most == i32::MAX && bytes.at_end()) {
        let final_cost = header.cost.read(bytes)?;
        let num_arcs = bytes.i64()?;
        for _ in 0..bytes.count(num_arcs, header.cost.arc())? {
            read_arc(bytes, header.cost, state, sink)?;
        }
        sink.end_state(state, final_cost)?;
        state += 1;
    }
    Ok(state)
}

/// Reads all states, with offsets of `len` bytes, then all arcs.
pub(super) fn read_const(
    bytes: &mut Bytes<'_>,
    header: &Header,
    len: usize,
    sink: &mut impl Sink,
) -> Result<i32, Error> {
    header.align(bytes)?;
    // Like the C++ structure of a cost and four numbers.
    let before = header.cost.len().next_multiple_of(len) - header.cost.len();
    let unpadded = header.cost.len() + before + 4 * len;
    let after = unpadded.next_multiple_of(len.max(header.cost.len())) - unpadded;
    let num_states = bytes.count(header.num_states, unpadded + after)?;
    let mut states = Vec::with_capacity(num_states);
    let mut next = 0_u64;
    for _ in 0..num_states {
        let cost = header.cost.read(bytes)?;
        bytes.skip(before)?;
        let (first, num_arcs) = (bytes.unsigned(len)?, bytes.unsigned(len)?);
        // The numbers of epsilons.
        bytes.skip(2 * len + after)?;
        if first != next && num_arcs > 0 {
            return Err(bytes.error(OUT_OF_ORDER));
        }
        next = next.checked_add(num_arcs).ok_or_else(|| bytes.error(NO_ROOM))?;
        states.push((cost, u32::try_from(num_arcs).map_err(|_| bytes.error(NO_ROOM))?));
    }
    header.align(bytes)?;
    if i64::try_from(next) != Ok(header.num_arcs) {
        return Err(bytes.error("the states have not as many arcs as the file"));
    }
    let num_arcs = bytes.count(header.num_arcs, header.cost.arc() + header.cost.padding())?;
    sink.reserve(num_states, num_arcs);
    for (state, (final_cost, num_arcs)) in (0..).zip(states) {
        for _ in 0..num_arcs {
            read_arc(bytes, header.cost, state, sink)?;
            bytes.skip(header.cost.padding())?;
        }
        sink.end_state(state, final_cost)?;
    }
    Error::fit(Quantity::States, num_states)
}

/// Reads the offset of each state's first element, if states may have any number of them, then all
/// elements.
pub(super) fn read_compact(
    bytes: &mut Bytes<'_>,
    header: &Header,
    compact: Compact,
    sink: &mut impl Sink,
) -> Result<i32, Error> {
    let Compact { offset, elements } = compact;
    let mut ends = Vec::new();
    if elements.dest {
        header.align(bytes)?;
        let num_offsets = header.num_states.checked_add(1).ok_or_else(|| bytes.error(NO_ROOM))?;
        let num_offsets = bytes.count(num_offsets, offset)?;
        let mut last = 0;
        for state in 0..num_offsets {
            let place = bytes.unsigned(offset)?;
            if place < last || (state == 0 && place != 0) {
                return Err(bytes.error(OUT_OF_ORDER));
            }
            ends.extend((state > 0).then_some(place));
            last = place;
        }
        header.align(bytes)?;
        let last = i64::try_from(last).map_err(|_| bytes.error(NO_ROOM))?;
        bytes.count(last, elements.len(header.cost))?;
    } else {
        header.align(bytes)?;
        let num_states = bytes.count(header.num_states, elements.len(header.cost))?;
        ends.extend((1_u64..).take(num_states));
    }
    let mut at = 0;
    for (state, &end) in (0..).zip(&ends) {
        let mut final_cost = f32::INFINITY;
        for _ in at..end {
            let (label, output, cost, dest) = elements.read(bytes, header.cost, state)?;
            match label {
                FINAL => final_cost = cost,
                _ if label < 0 || dest < 0 => return Err(bytes.error("an arc with a label or a state below 0")),
                _ => sink.arc(state, label, output, cost, dest),
            }
        }
        at = end;
        sink.end_state(state, final_cost)?;
    }
    Error::fit(Quantity::States, ends.len())
}
