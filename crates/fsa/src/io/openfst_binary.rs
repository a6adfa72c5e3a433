//! OpenFst's binary files.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::graph_labels::GraphLabels;
use crate::core::semiring::Semiring;
use crate::error::{Error, Quantity};
use crate::io::bytes::{Bytes, string};
use crate::io::openfst::{self, CostArc, CostStates, TO_FINAL};
use crate::io::symbols::SymbolTable;

/// First bytes of every file.
const MAGIC: i32 = 2_125_659_606;
/// Version of files of the type `vector`, and of the later one of `const`.
const VERSION: i32 = 2;
/// Version of files of the type `const` that are always aligned.
const ALIGNED_VERSION: i32 = 1;
/// Bits of the flags: input symbols follow, output symbols follow, states and arcs of the type
/// `const` are at multiples of 16 bytes.
const INPUT_SYMBOLS: i32 = 1;
const OUTPUT_SYMBOLS: i32 = 2;
const ALIGNED: i32 = 4;
const ALIGNMENT: usize = 16;
/// Bits of the properties: the number of states is known, which is always true, and the machine can
/// be changed, as in files of the type `vector`.
const EXPANDED: u64 = 1;
const MUTABLE: u64 = 2;

/// Type of a cost in a file, which determines the sizes of arcs and states.
#[derive(Clone, Copy, PartialEq)]
enum Cost {
    Single,
    Double,
}

impl Cost {
    /// Returns the number of bytes of a cost.
    fn len(self) -> usize {
        if self == Self::Single { 4 } else { 8 }
    }

    /// Returns the number of bytes of an arc of the type `vector`: two labels, the cost, and a
    /// state.
    fn arc(self) -> usize {
        12 + self.len()
    }

    /// Returns the number of padding bytes after an arc of the type `const`, which is aligned as in
    /// memory.
    fn padding(self) -> usize {
        self.len() - 4
    }

    /// Returns the number of bytes of a state of the type `vector` without its arcs.
    fn state(self) -> usize {
        8 + self.len()
    }

    /// Returns the number of bytes of a state of the type `const`.
    fn const_state(self) -> usize {
        16 + self.len()
    }

    fn read(self, bytes: &mut Bytes<'_>) -> Result<f32, Error> {
        if self == Self::Single { bytes.f32() } else { bytes.f64_as_f32() }
    }
}

/// Layout of states and arcs in a file.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Vector,
    Const,
    Compact(Compact),
}

impl Kind {
    /// Returns the kind of a type's name.
    fn named(name: &str) -> Option<Self> {
        match name {
            "vector" => return Some(Self::Vector),
            "const" => return Some(Self::Const),
            _ => {}
        }
        let (size, elements) = name.strip_prefix("compact")?.split_once('_')?;
        let offset = match size {
            "8" => 1,
            "16" => 2,
            "" | "32" => 4,
            "64" => 8,
            _ => return None,
        };
        let elements = match elements {
            "string" => Elements::STRING,
            "weighted_string" => Elements { cost: true, ..Elements::STRING },
            "unweighted_acceptor" => Elements { dest: true, ..Elements::STRING },
            "acceptor" => Elements { cost: true, dest: true, ..Elements::STRING },
            "unweighted" => Elements { output: true, dest: true, ..Elements::STRING },
            _ => return None,
        };
        Some(Self::Compact(Compact { offset, elements }))
    }
}

/// A file of one of the types `compact_*`: an element for each arc and each final state; the latter
/// have the label -1.
#[derive(Clone, Copy, PartialEq)]
struct Compact {
    /// Number of bytes of the offset of a state's first element.
    offset: usize,
    elements: Elements,
}

/// The fields of an element in addition to its label. Without a destination, it is the only one of
/// its state and leads to the next state.
#[derive(Clone, Copy, PartialEq)]
struct Elements {
    output: bool,
    cost: bool,
    dest: bool,
}

impl Elements {
    const STRING: Self = Self { output: false, cost: false, dest: false };

    /// Returns the number of bytes, as in the C++ structure, in which a cost of 8 bytes is aligned.
    fn len(self, cost: Cost) -> usize {
        let labels = if self.output { 8 } else { 4 };
        match (self.cost, self.dest) {
            (false, false) => labels,
            (false, true) => labels + 4,
            (true, false) => labels + cost.padding() + cost.len(),
            (true, true) => labels + 2 * cost.padding() + cost.len() + 4,
        }
    }

    /// Reads label, output label, cost, and destination, which is the state after `state` if the
    /// element has none.
    fn read(self, bytes: &mut Bytes<'_>, cost: Cost, state: i32) -> Result<(i32, i32, f32, i32), Error> {
        let label = bytes.i32()?;
        let output = if self.output { bytes.i32()? } else { label };
        let mut weight = 0.0;
        if self.cost {
            bytes.skip(cost.padding())?;
            weight = cost.read(bytes)?;
        }
        let dest = if self.dest { bytes.i32()? } else { state.saturating_add(1) };
        if self.cost && self.dest {
            bytes.skip(cost.padding())?;
        }
        Ok((label, output, weight, dest))
    }
}

/// A transducer as stored in OpenFst's binary files: arcs, the semiring that their type names, and
/// symbols.
///
/// Files of the types `vector` and `const` are read and written, with arcs of the types `standard`
/// and `log`; files of the types `compact_string`, `compact_weighted_string`, `compact_acceptor`,
/// `compact_unweighted_acceptor` and `compact_unweighted`, with offsets of any size
/// (`compact8_acceptor`), and arcs of the type `log64`, rounded to single precision, are read.
/// States and costs are converted to k2's form as described at
/// [`OpenFstText`](crate::io::OpenFstText). There are always auxiliary labels: in OpenFst,
/// acceptors have output labels too, which are equal to the labels.
///
/// ```
/// use fsa::io::{OpenFstBinary, OpenFstText};
///
/// let graph = OpenFstText::default().read("0 1 7 70 0.5\n1\n")?;
/// let file = OpenFstBinary::new(graph).write()?;
/// assert_eq!(OpenFstBinary::read(&file)?.graph.aux_labels(), Some(&[70, -1][..]));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenFstBinary {
    /// The transducer.
    pub graph: Graph<Fsa>,
    /// The semiring of the costs, as given by the type of the arcs.
    pub semiring: Semiring,
    /// The symbols of the input labels.
    pub input_symbols: Option<SymbolTable>,
    /// The symbols of the output labels.
    pub output_symbols: Option<SymbolTable>,
}

impl OpenFstBinary {
    /// Creates a transducer in the tropical semiring without symbols.
    pub fn new(graph: Graph<Fsa>) -> Self {
        Self { graph, semiring: Semiring::Tropical, input_symbols: None, output_symbols: None }
    }

    /// Returns `true` if a file begins like an OpenFst binary file.
    pub fn is_one(file: &[u8]) -> bool {
        file.starts_with(&MAGIC.to_le_bytes())
    }

    /// Reads a file. Memory is proportional to its length, whatever the contents.
    ///
    /// # Errors
    /// [`Error::FileType`] and [`Error::ArcType`] for other types; [`Error::Binary`] with the
    /// offset of the error; errors of [`Error`] about arcs.
    pub fn read(file: &[u8]) -> Result<Self, Error> {
        let mut bytes = Bytes::new(file);
        if bytes.i32()? != MAGIC {
            return Err(bytes.error("not a file of OpenFst: it begins with another number"));
        }
        let header = Header::read(&mut bytes)?;
        let mut symbols =
            |bit| if header.flags & bit == 0 { Ok(None) } else { SymbolTable::read(&mut bytes).map(Some) };
        let (input_symbols, output_symbols) = (symbols(INPUT_SYMBOLS)?, symbols(OUTPUT_SYMBOLS)?);
        let mut made = Rows::default();
        let num_states = match header.kind {
            Kind::Vector => made.read_vector(&mut bytes, &header)?,
            Kind::Const => made.read_const(&mut bytes, &header)?,
            Kind::Compact(compact) => made.read_compact(&mut bytes, &header, compact)?,
        };
        let graph = made.finish(&bytes, header.start, num_states)?;
        Ok(Self { graph, semiring: header.semiring, input_symbols, output_symbols })
    }

    /// Returns the file, of the type `vector`.
    ///
    /// # Errors
    /// [`Error::Attribute`] if the auxiliary labels are lists; [`Error::TooLarge`].
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        collected(|put| self.write_to(put))
    }

    /// Writes like [`write`](Self::write), but piece by piece: calls `put` with each piece in
    /// order, so that the whole file is never in memory.
    ///
    /// # Errors
    /// As [`write`](Self::write), and errors of `put`.
    pub fn write_to<E: From<Error>>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let states = CostStates::new(&self.graph, self.semiring)?;
        // The number of arcs is left open in files of this type.
        put(&self.header("vector", EXPANDED | MUTABLE, states.num_states(), 0)?)?;
        let mut out = Vec::new();
        states.each(|final_cost, arcs| {
            out.clear();
            out.extend(final_cost.to_le_bytes());
            out.extend(i64::from(Error::fit(Quantity::Arcs, arcs.len())?).to_le_bytes());
            arcs.iter().for_each(|arc| write_arc(&mut out, arc));
            put(&out)
        })
    }

    /// Returns the file, of the type `const`: all states and then all arcs, as OpenFst can map it
    /// into memory.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_const(&self) -> Result<Vec<u8>, Error> {
        collected(|put| self.write_const_to(put))
    }

    /// Writes like [`write_const`](Self::write_const), but piece by piece, as
    /// [`write_to`](Self::write_to).
    ///
    /// # Errors
    /// As [`write`](Self::write), and errors of `put`.
    pub fn write_const_to<E: From<Error>>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let states = CostStates::new(&self.graph, self.semiring)?;
        Error::fit(Quantity::Arcs, states.num_arcs())?;
        put(&self.header("const", EXPANDED, states.num_states(), states.num_arcs())?)?;
        let (mut first, mut out) = (0, Vec::new());
        states.each(|final_cost, arcs| {
            out.clear();
            out.extend(final_cost.to_le_bytes());
            let silent = |label: fn(&CostArc) -> i32| arcs.iter().filter(|arc| label(arc) == EPSILON).count();
            for number in [first, arcs.len(), silent(|arc| arc.ilabel), silent(|arc| arc.olabel)] {
                out.extend(Error::fit(Quantity::Arcs, number)?.to_le_bytes());
            }
            first += arcs.len();
            put(&out)
        })?;
        states.each(|_, arcs| {
            out.clear();
            arcs.iter().for_each(|arc| write_arc(&mut out, arc));
            put(&out)
        })
    }

    /// Returns the bytes before the states.
    fn header(&self, kind: &str, properties: u64, num_states: usize, num_arcs: usize) -> Result<Vec<u8>, Error> {
        let num_states = Error::fit(Quantity::States, num_states)?;
        let flag = |symbols: &Option<_>, bit| if symbols.is_some() { bit } else { 0 };
        let flags = flag(&self.input_symbols, INPUT_SYMBOLS) | flag(&self.output_symbols, OUTPUT_SYMBOLS);
        let mut out = Vec::new();
        out.extend(MAGIC.to_le_bytes());
        string(&mut out, kind)?;
        string(&mut out, if self.semiring == Semiring::Log { "log" } else { "standard" })?;
        out.extend(VERSION.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend(properties.to_le_bytes());
        out.extend(if num_states == 0 { -1_i64 } else { 0 }.to_le_bytes());
        out.extend(i64::from(num_states).to_le_bytes());
        out.extend(i64::from(Error::fit(Quantity::Arcs, num_arcs)?).to_le_bytes());
        for symbols in [&self.input_symbols, &self.output_symbols].into_iter().flatten() {
            symbols.write(&mut out)?;
        }
        Ok(out)
    }
}

/// Collects all pieces that are written.
fn collected(
    write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    write(&mut |piece| {
        file.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(file)
}

fn write_arc(out: &mut Vec<u8>, arc: &CostArc) {
    out.extend(arc.ilabel.to_le_bytes());
    out.extend(arc.olabel.to_le_bytes());
    out.extend(arc.cost.to_le_bytes());
    out.extend(arc.dest.to_le_bytes());
}

/// Header of a file.
struct Header {
    kind: Kind,
    semiring: Semiring,
    cost: Cost,
    flags: i32,
    start: i64,
    num_states: i64,
    num_arcs: i64,
}

impl Header {
    fn read(bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        let name = bytes.string()?;
        let Some(kind) = Kind::named(&name) else { return Err(Error::FileType { found: name }) };
        let name = bytes.string()?;
        let (semiring, cost) = match &*name {
            "standard" => (Semiring::Tropical, Cost::Single),
            "log" => (Semiring::Log, Cost::Single),
            "log64" => (Semiring::Log, Cost::Double),
            _ => return Err(Error::ArcType { found: name }),
        };
        let version = bytes.i32()?;
        let mut flags = bytes.i32()?;
        match (version, kind) {
            (VERSION, _) => {}
            (ALIGNED_VERSION, Kind::Const | Kind::Compact(_)) => flags |= ALIGNED,
            _ => return Err(bytes.error("the file is of an unknown version")),
        }
        let _properties = bytes.i64()?;
        let (start, num_states, num_arcs) = (bytes.i64()?, bytes.i64()?, bytes.i64()?);
        Ok(Self { kind, semiring, cost, flags, start, num_states, num_arcs })
    }

    /// Skips to the first byte of states or arcs.
    fn align(&self, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        if self.flags & ALIGNED == 0 { Ok(()) } else { bytes.align(ALIGNMENT) }
    }
}

/// Arcs and output labels read so far.
#[derive(Default)]
struct Rows {
    arcs: Vec<Arc>,
    aux_labels: Vec<i32>,
}

impl Rows {
    fn arc(&mut self, bytes: &mut Bytes<'_>, cost: Cost, state: i32) -> Result<(), Error> {
        let (label, aux_label, cost, dest) = (bytes.i32()?, bytes.i32()?, cost.read(bytes)?, bytes.i32()?);
        if label < 0 || dest < 0 {
            return Err(bytes.error("an arc with a label or a state below 0"));
        }
        self.arcs.push(Arc::new(state, dest, label, -cost));
        self.aux_labels.push(aux_label);
        Ok(())
    }

    /// Adds the final cost of a state, whose arcs follow.
    fn final_cost(&mut self, state: i32, cost: f32) {
        if cost != f32::INFINITY {
            self.arcs.push(Arc::new(state, TO_FINAL, FINAL, -cost));
            self.aux_labels.push(FINAL);
        }
    }

    /// Reads states with their arcs, one after another; all that there are if their number is not
    /// known.
    fn read_vector(&mut self, bytes: &mut Bytes<'_>, header: &Header) -> Result<i32, Error> {
        let most = match header.num_states {
            -1 => i32::MAX,
            number => Error::fit(Quantity::States, bytes.count(number, header.cost.state())?)?,
        };
        let mut state = 0;
        while state < most && !(most == i32::MAX && bytes.at_end()) {
            let cost = header.cost.read(bytes)?;
            let num_arcs = bytes.i64()?;
            for _ in 0..bytes.count(num_arcs, header.cost.arc())? {
                self.arc(bytes, header.cost, state)?;
            }
            self.final_cost(state, cost);
            state += 1;
        }
        Ok(state)
    }

    /// Reads all states, then all arcs.
    fn read_const(&mut self, bytes: &mut Bytes<'_>, header: &Header) -> Result<i32, Error> {
        header.align(bytes)?;
        let num_states = bytes.count(header.num_states, header.cost.const_state())?;
        let mut states = Vec::with_capacity(num_states);
        let mut next = 0;
        for _ in 0..num_states {
            let (cost, first, num_arcs) = (header.cost.read(bytes)?, bytes.u32()?, bytes.u32()?);
            let _epsilons = (bytes.u32()?, bytes.u32()?);
            if i64::from(first) != next && num_arcs > 0 {
                return Err(bytes.error("the arcs of a state do not follow those of the state before"));
            }
            next += i64::from(num_arcs);
            states.push((cost, num_arcs));
        }
        header.align(bytes)?;
        if next != header.num_arcs {
            return Err(bytes.error("the states have not as many arcs as the file"));
        }
        bytes.count(next, header.cost.arc() + header.cost.padding())?;
        for (state, (cost, num_arcs)) in (0..).zip(states) {
            for _ in 0..num_arcs {
                self.arc(bytes, header.cost, state)?;
                bytes.skip(header.cost.padding())?;
            }
            self.final_cost(state, cost);
        }
        Error::fit(Quantity::States, num_states)
    }

    /// Reads the offset of each state's first element, if states may have any number of them, then
    /// all elements.
    fn read_compact(&mut self, bytes: &mut Bytes<'_>, header: &Header, compact: Compact) -> Result<i32, Error> {
        let Compact { offset, elements } = compact;
        let mut ends = Vec::new();
        if elements.dest {
            header.align(bytes)?;
            let too_many = || bytes.error("a count that the file has no room for");
            let num_offsets = header.num_states.checked_add(1).ok_or_else(too_many)?;
            let num_offsets = bytes.count(num_offsets, offset)?;
            let mut last = 0;
            for state in 0..num_offsets {
                let place = bytes.unsigned(offset)?;
                if place < last || (state == 0 && place != 0) {
                    return Err(bytes.error("the arcs of a state do not follow those of the state before"));
                }
                ends.extend((state > 0).then_some(place));
                last = place;
            }
            header.align(bytes)?;
            let last = i64::try_from(last).map_err(|_| bytes.error("a count that the file has no room for"))?;
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
                    _ => {
                        self.arcs.push(Arc::new(state, dest, label, -cost));
                        self.aux_labels.push(output);
                    }
                }
            }
            at = end;
            self.final_cost(state, final_cost);
        }
        Error::fit(Quantity::States, ends.len())
    }

    fn finish(self, bytes: &Bytes<'_>, start: i64, num_states: i32) -> Result<Graph<Fsa>, Error> {
        let Self { arcs, aux_labels } = self;
        if arcs.iter().any(|arc| arc.dest_state >= num_states) {
            return Err(bytes.error("an arc into a state that is not there"));
        }
        if start == -1 {
            return Graph::new(Fsa::empty())
                .with_graph_labels(GraphLabels::ClassPlusOne)
                .with_aux_labels(Vec::<i32>::new());
        }
        let known = i32::try_from(start).ok().filter(|start| (0..num_states).contains(start));
        let start = known.ok_or_else(|| bytes.error("the start is a state that is not there"))?;
        let (fsa, order) = openfst::assemble(arcs, start, num_states - 1)?;
        let graph = Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne);
        graph.with_aux_labels(ragged_core::index_select(&aux_labels, &order, 0)?)
    }
}
