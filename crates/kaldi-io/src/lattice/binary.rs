//! OpenFst's binary form.

use super::*;
use crate::lattice::sealed::Sealed;

pub(super) const MAGIC: [u8; 4] = 2_125_659_606_i32.to_le_bytes();
/// Version of files of the type `vector`.
const VERSION: i32 = 2;
/// Bits of the flags for symbol tables.
const SYMBOLS: i32 = 3;
/// Maximum capacity reserved for a count that may be wrong.
const MOST_RESERVED: usize = 1 << 12;

impl Sealed for LatticeWeight {
    const ARC_TYPE: &'static str = "lattice";
    const SIZES: &'static str = "4";
    const ACCEPTOR: bool = false;

    fn read(reader: &mut ByteReader<'_>, double: bool) -> Result<Self, CodecError> {
        let mut cost = || -> Result<f32, CodecError> {
            Ok(if double {
                narrow(f64::from_le_bytes(bytes(reader, "a cost")?))
            } else {
                f32::from_le_bytes(bytes(reader, "a cost")?)
            })
        };
        Ok(Self { graph: cost()?, acoustic: cost()? })
    }

    fn push(&self, out: &mut Vec<u8>) {
        out.extend(self.graph.to_le_bytes());
        out.extend(self.acoustic.to_le_bytes());
    }

    fn parse(text: &str) -> Option<Self> {
        let (graph, acoustic) = text.split_once(',')?;
        Some(Self { graph: graph.parse().ok()?, acoustic: acoustic.parse().ok()? })
    }

    fn print(&self, out: &mut Vec<u8>) {
        super::text::push_cost(out, self.graph);
        out.push(b',');
        super::text::push_cost(out, self.acoustic);
    }
}

impl Sealed for CompactLatticeWeight {
    const ARC_TYPE: &'static str = "compactlattice";
    const SIZES: &'static str = "44";
    const ACCEPTOR: bool = true;

    fn read(reader: &mut ByteReader<'_>, double: bool) -> Result<Self, CodecError> {
        const EXPECTED: &str = "the number of transition identifiers of a weight";
        let weight = <LatticeWeight as Sealed>::read(reader, double)?;
        let at = reader.offset();
        let count = i32::from_le_bytes(bytes(reader, EXPECTED)?);
        let count = usize::try_from(count).map_err(|_| CodecError::unexpected(at, EXPECTED, count))?;
        let mut alignment = Vec::with_capacity(count.min(MOST_RESERVED));
        for _ in 0..count {
            alignment.push(i32::from_le_bytes(bytes(reader, "a transition identifier")?));
        }
        Ok(Self { weight, alignment })
    }

    fn push(&self, out: &mut Vec<u8>) {
        Sealed::push(&self.weight, out);
        // `write` has refused longer lists.
        out.extend(i32::try_from(self.alignment.len()).unwrap_or(i32::MAX).to_le_bytes());
        self.alignment.iter().for_each(|label| out.extend(label.to_le_bytes()));
    }

    fn parse(text: &str) -> Option<Self> {
        let (costs, labels) = text.rsplit_once(',')?;
        let labels = labels.split('_').filter(|_| !labels.is_empty()).map(|label| label.parse().ok());
        Some(Self { weight: LatticeWeight::parse(costs)?, alignment: labels.collect::<Option<_>>()? })
    }

    fn print(&self, out: &mut Vec<u8>) {
        Sealed::print(&self.weight, out);
        for (i, label) in self.alignment.iter().enumerate() {
            out.extend(format!("{}{label}", if i == 0 { "," } else { "_" }).bytes());
        }
        if self.alignment.is_empty() {
            out.push(b',');
        }
    }
}

/// Contents of a header.
pub(super) struct Header {
    pub(super) arc_type: String,
    start: i64,
    num_states: i64,
    /// Offset of `num_states`.
    at: u64,
}

pub(super) fn read_header(reader: &mut ByteReader<'_>) -> Result<Header, CodecError> {
    if bytes(reader, "OpenFst's magic number")? != MAGIC {
        return Err(CodecError::unexpected(0, "OpenFst's magic number", "other bytes"));
    }
    let at = reader.offset();
    let fst_type = string(reader, "the type of the lattice")?;
    if fst_type != "vector" {
        return Err(CodecError::unexpected(at, "a lattice of OpenFst's type `vector`", format!("`{fst_type}`")));
    }
    let arc_type = string(reader, "the type of arcs")?;
    let at = reader.offset();
    let version = i32::from_le_bytes(bytes(reader, "the version")?);
    if version < VERSION {
        return Err(CodecError::unexpected(at, "version 2", version));
    }
    let at = reader.offset();
    let flags = i32::from_le_bytes(bytes(reader, "the flags")?);
    if flags & SYMBOLS != 0 {
        return Err(CodecError::unexpected(
            at,
            "a lattice without tables of symbols, as Kaldi writes it",
            "one with tables",
        ));
    }
    let _properties: [u8; 8] = bytes(reader, "the properties")?;
    let at = reader.offset();
    let start = i64::from_le_bytes(bytes(reader, "the start state")?);
    let num_states = i64::from_le_bytes(bytes(reader, "the number of states")?);
    let _num_arcs: [u8; 8] = bytes(reader, "the number of arcs")?;
    Ok(Header { arc_type, start, num_states, at })
}

/// Reads the states that follow a header.
pub(super) fn read_states<W: Weight>(
    reader: &mut ByteReader<'_>,
    header: &Header,
    double: bool,
) -> Result<LatticeFst<W>, CodecError> {
    const STATES: &str = "the number of states, and a start state among them";
    let count =
        usize::try_from(header.num_states).map_err(|_| CodecError::unexpected(header.at, STATES, header.num_states))?;
    let mut states: Vec<LatticeState<W>> = Vec::with_capacity(count.min(MOST_RESERVED));
    for _ in 0..count {
        const ARCS: &str = "the number of arcs of a state";
        let weight = W::read(reader, double)?;
        let costs = weight.costs();
        let final_weight = (costs.graph != f32::INFINITY || costs.acoustic != f32::INFINITY).then_some(weight);
        let at = reader.offset();
        let arcs = i64::from_le_bytes(bytes(reader, ARCS)?);
        let num_arcs = usize::try_from(arcs).map_err(|_| CodecError::unexpected(at, ARCS, arcs))?;
        let mut arcs = Vec::with_capacity(num_arcs.min(MOST_RESERVED));
        for _ in 0..num_arcs {
            let ilabel = i32::from_le_bytes(bytes(reader, "an input label")?);
            let olabel = i32::from_le_bytes(bytes(reader, "an output label")?);
            let weight = W::read(reader, double)?;
            let at = reader.offset();
            let next = i32::from_le_bytes(bytes(reader, "a state that an arc enters")?);
            let next_state = usize::try_from(next).ok().filter(|&state| state < count);
            let next_state = next_state.ok_or_else(|| CodecError::unexpected(at, "a state that there is", next))?;
            arcs.push(LatticeArc { ilabel, olabel, weight, next_state });
        }
        states.push(LatticeState { final_weight, arcs });
    }
    let start = match header.start {
        -1 => None,
        start => Some(usize::try_from(start).map_err(|_| CodecError::unexpected(header.at, STATES, start))?),
    };
    LatticeFst::new(start, states).map_err(|error| CodecError::unexpected(header.at, STATES, error.state))
}

/// Returns the bytes of a lattice; `None` if a number is too large for the file.
pub(super) fn write<W: Weight>(lattice: &LatticeFst<W>) -> Option<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    for name in ["vector".to_owned(), format!("{}{}", W::ARC_TYPE, W::SIZES)] {
        out.extend(i32::try_from(name.len()).ok()?.to_le_bytes());
        out.extend(name.bytes());
    }
    out.extend(VERSION.to_le_bytes());
    out.extend(0_i32.to_le_bytes());
    out.extend(properties(lattice).to_le_bytes());
    let start = lattice.start.map_or(Some(-1), |start| i64::try_from(start).ok())?;
    out.extend(start.to_le_bytes());
    i32::try_from(lattice.states.len()).ok()?;
    out.extend(i64::try_from(lattice.states.len()).ok()?.to_le_bytes());
    out.extend(0_i64.to_le_bytes());
    for state in &lattice.states {
        match &state.final_weight {
            Some(weight) => weight.push(&mut out),
            None => zero::<W>().push(&mut out),
        }
        out.extend(i64::try_from(state.arcs.len()).ok()?.to_le_bytes());
        for arc in &state.arcs {
            out.extend(arc.ilabel.to_le_bytes());
            out.extend(arc.olabel.to_le_bytes());
            arc.weight.push(&mut out);
            out.extend(i32::try_from(arc.next_state).ok()?.to_le_bytes());
        }
    }
    Some(out)
}

/// Returns the weight of no path.
pub(super) fn zero<W: Weight>() -> W {
    let mut zero = W::default();
    *zero.costs_mut() = LatticeWeight::new(f32::INFINITY, f32::INFINITY);
    zero
}

/// Returns the properties that OpenFst knows of an FST after adding its states and arcs one by one.
fn properties<W: Weight>(lattice: &LatticeFst<W>) -> u64 {
    /// The properties expanded and mutable.
    const VECTOR: u64 = 3;
    let (one, zero) = (W::default(), zero::<W>());
    let weighs = |weight: &W| *weight != one && *weight != zero;
    // Bit numbers are of the first property of a pair.
    let mut properties = VECTOR;
    let mut pair = |bit: u32, first: bool| properties |= 1 << (bit + u32::from(!first));
    let arcs = || lattice.states.iter().flat_map(|state| &state.arcs);
    let sorted = |of: fn(&LatticeArc<W>) -> i32| lattice.states.iter().all(|state| state.arcs.is_sorted_by_key(of));
    pair(16, arcs().all(|arc| arc.ilabel == arc.olabel));
    pair(22, arcs().any(|arc| arc.ilabel == 0 && arc.olabel == 0));
    pair(24, arcs().any(|arc| arc.ilabel == 0));
    pair(26, arcs().any(|arc| arc.olabel == 0));
    pair(28, sorted(|arc| arc.ilabel));
    pair(30, sorted(|arc| arc.olabel));
    let finals = lattice.states.iter().filter_map(|state| state.final_weight.as_ref());
    pair(32, arcs().map(|arc| &arc.weight).chain(finals).any(weighs));
    let later = |(from, state): (usize, &LatticeState<W>)| state.arcs.iter().all(|arc| arc.next_state > from);
    let top_sorted = lattice.states.iter().enumerate().all(later);
    pair(38, top_sorted);
    if top_sorted {
        // Acyclic, also through the start.
        pair(34, false);
        pair(36, false);
    }
    properties
}

fn bytes<const N: usize>(reader: &mut ByteReader<'_>, expected: &'static str) -> Result<[u8; N], CodecError> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes, expected)?;
    Ok(bytes)
}

/// Reads a length and as many bytes.
fn string(reader: &mut ByteReader<'_>, expected: &'static str) -> Result<String, CodecError> {
    /// Maximum length of a name.
    const LONGEST: usize = 64;
    let at = reader.offset();
    let len = i32::from_le_bytes(bytes(reader, expected)?);
    let len = usize::try_from(len)
        .ok()
        .filter(|&len| len <= LONGEST)
        .ok_or_else(|| CodecError::unexpected(at, expected, len))?;
    let mut name = vec![0; len];
    reader.read_exact(&mut name, expected)?;
    Ok(String::from_utf8_lossy(&name).escape_debug().to_string())
}
