//! OpenFst's binary files.

use super::bytes::{Bytes, string};
use super::openfst::{self, TO_FINAL};
use super::symbols::SymbolTable;
use crate::scores::Semiring;
use crate::{Arc, Error, FINAL, Fsa, Graph};

/// The first bytes of every file.
const MAGIC: i32 = 2_125_659_606;
/// The version of files of the type `vector`, and of the later one of `const`.
const VERSION: i32 = 2;
/// The version of files of the type `const` that are always aligned.
const ALIGNED_VERSION: i32 = 1;
/// Bits of the flags: input symbols follow, output symbols follow, states and arcs of the type `const` stand at multiples of 16 bytes.
const INPUT_SYMBOLS: i32 = 1;
const OUTPUT_SYMBOLS: i32 = 2;
const ALIGNED: i32 = 4;
const ALIGNMENT: usize = 16;
/// What is always known of the type `vector`: the number of states is known, and it can be changed.
const EXPANDED_AND_MUTABLE: u64 = 3;
/// The bytes of an arc, of a state of the type `vector` without its arcs, and of one of the type `const`.
const ARC: usize = 16;
const STATE: usize = 12;
const CONST_STATE: usize = 20;

/// A transducer as OpenFst's binary files hold it: arcs, the semiring that their type names, and symbols.
///
/// Files of the types `vector` and `const` with arcs of the types `standard` and `log` are read, those of the type `vector` are written.
/// States and costs become those of k2 as [`OpenFstText`](super::OpenFstText) tells. There are always auxiliary labels: OpenFst has them
/// in acceptors too, where they are the labels.
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
    /// What the type of the arcs tells of the costs.
    pub semiring: Semiring,
    /// What labels stand for.
    pub input_symbols: Option<SymbolTable>,
    /// What labels put out stand for.
    pub output_symbols: Option<SymbolTable>,
}

impl OpenFstBinary {
    /// A transducer in the tropical semiring without symbols.
    pub fn new(graph: Graph<Fsa>) -> Self {
        Self { graph, semiring: Semiring::Tropical, input_symbols: None, output_symbols: None }
    }

    /// Whether a file begins as OpenFst's binary files do.
    pub fn is_one(file: &[u8]) -> bool {
        file.starts_with(&MAGIC.to_le_bytes())
    }

    /// Reads a file. Memory is in proportion to its length, whatever is in it.
    ///
    /// # Errors
    /// [`Error::Binary`] with the place of what is wrong, and what [`Error`] says of arcs.
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
        let num_states = if header.is_const {
            made.read_const(&mut bytes, &header)?
        } else {
            made.read_vector(&mut bytes, &header)?
        };
        let graph = made.finish(&bytes, header.start, num_states)?;
        Ok(Self { graph, semiring: header.semiring, input_symbols, output_symbols })
    }

    /// The file, of the type `vector`.
    ///
    /// # Errors
    /// [`Error::Attribute`] if the auxiliary labels are lists; [`Error::TooLarge`].
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let states = openfst::states(&self.graph, self.semiring)?;
        let num_states = Error::fit("the number of states", states.len())?;
        let flag = |symbols: &Option<_>, bit| if symbols.is_some() { bit } else { 0 };
        let flags = flag(&self.input_symbols, INPUT_SYMBOLS) | flag(&self.output_symbols, OUTPUT_SYMBOLS);
        let mut out = Vec::new();
        out.extend(MAGIC.to_le_bytes());
        string(&mut out, "vector")?;
        string(&mut out, if self.semiring == Semiring::Log { "log" } else { "standard" })?;
        out.extend(VERSION.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend(EXPANDED_AND_MUTABLE.to_le_bytes());
        out.extend(if num_states == 0 { -1_i64 } else { 0 }.to_le_bytes());
        out.extend(i64::from(num_states).to_le_bytes());
        // The number of arcs, which OpenFst leaves open in files of this type.
        out.extend(0_i64.to_le_bytes());
        for symbols in [&self.input_symbols, &self.output_symbols].into_iter().flatten() {
            symbols.write(&mut out)?;
        }
        for (final_cost, arcs) in states.iter() {
            out.extend(final_cost.to_le_bytes());
            out.extend(i64::from(Error::fit("the number of arcs", arcs.len())?).to_le_bytes());
            for arc in arcs {
                out.extend(arc.ilabel.to_le_bytes());
                out.extend(arc.olabel.to_le_bytes());
                out.extend(arc.cost.to_le_bytes());
                out.extend(arc.dest.to_le_bytes());
            }
        }
        Ok(out)
    }
}

/// What a file says of itself.
struct Header {
    is_const: bool,
    semiring: Semiring,
    flags: i32,
    start: i64,
    num_states: i64,
    num_arcs: i64,
}

impl Header {
    fn read(bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        let is_const = match &*bytes.string()? {
            "vector" => false,
            "const" => true,
            _ => return Err(bytes.error("the type of the file is neither vector nor const")),
        };
        let semiring = match &*bytes.string()? {
            "standard" => Semiring::Tropical,
            "log" => Semiring::Log,
            _ => return Err(bytes.error("the type of the arcs is neither standard nor log")),
        };
        let version = bytes.i32()?;
        let mut flags = bytes.i32()?;
        match (version, is_const) {
            (VERSION, _) => {}
            (ALIGNED_VERSION, true) => flags |= ALIGNED,
            _ => return Err(bytes.error("the file is of an unknown version")),
        }
        let _properties = bytes.i64()?;
        Ok(Self { is_const, semiring, flags, start: bytes.i64()?, num_states: bytes.i64()?, num_arcs: bytes.i64()? })
    }
}

/// What has been read.
#[derive(Default)]
struct Rows {
    arcs: Vec<Arc>,
    aux_labels: Vec<i32>,
}

impl Rows {
    fn arc(&mut self, bytes: &mut Bytes<'_>, state: i32) -> Result<(), Error> {
        let (label, aux_label, cost, dest) = (bytes.i32()?, bytes.i32()?, bytes.f32()?, bytes.i32()?);
        if label < 0 || dest < 0 {
            return Err(bytes.error("an arc with a label or a state below 0"));
        }
        self.arcs.push(Arc::new(state, dest, label, -cost));
        self.aux_labels.push(aux_label);
        Ok(())
    }

    /// The final cost of a state, whose arcs follow.
    fn final_cost(&mut self, state: i32, cost: f32) {
        if cost != f32::INFINITY {
            self.arcs.push(Arc::new(state, TO_FINAL, FINAL, -cost));
            self.aux_labels.push(FINAL);
        }
    }

    /// States with their arcs, one behind another; as many as there are if their number is not known.
    fn read_vector(&mut self, bytes: &mut Bytes<'_>, header: &Header) -> Result<i32, Error> {
        let most = match header.num_states {
            -1 => i32::MAX,
            number => Error::fit("the number of states", bytes.count(number, STATE)?)?,
        };
        let mut state = 0;
        while state < most && !(most == i32::MAX && bytes.at_end()) {
            let cost = bytes.f32()?;
            let num_arcs = bytes.i64()?;
            for _ in 0..bytes.count(num_arcs, ARC)? {
                self.arc(bytes, state)?;
            }
            self.final_cost(state, cost);
            state += 1;
        }
        Ok(state)
    }

    /// All states, then all arcs.
    fn read_const(&mut self, bytes: &mut Bytes<'_>, header: &Header) -> Result<i32, Error> {
        let align = |bytes: &mut Bytes<'_>| if header.flags & ALIGNED == 0 { Ok(()) } else { bytes.align(ALIGNMENT) };
        align(bytes)?;
        let num_states = bytes.count(header.num_states, CONST_STATE)?;
        let mut states = Vec::with_capacity(num_states);
        let mut next = 0;
        for _ in 0..num_states {
            let (cost, first, num_arcs) = (bytes.f32()?, bytes.u32()?, bytes.u32()?);
            let _epsilons = (bytes.u32()?, bytes.u32()?);
            if i64::from(first) != next && num_arcs > 0 {
                return Err(bytes.error("the arcs of a state do not follow those of the state before"));
            }
            next += i64::from(num_arcs);
            states.push((cost, num_arcs));
        }
        align(bytes)?;
        if next != header.num_arcs {
            return Err(bytes.error("the states have not as many arcs as the file"));
        }
        bytes.count(next, ARC)?;
        for (state, (cost, num_arcs)) in (0..).zip(states) {
            for _ in 0..num_arcs {
                self.arc(bytes, state)?;
            }
            self.final_cost(state, cost);
        }
        Error::fit("the number of states", num_states)
    }

    fn finish(self, bytes: &Bytes<'_>, start: i64, num_states: i32) -> Result<Graph<Fsa>, Error> {
        let Self { arcs, aux_labels } = self;
        if arcs.iter().any(|arc| arc.dest_state >= num_states) {
            return Err(bytes.error("an arc into a state that is not there"));
        }
        if start == -1 {
            return Graph::new(Fsa::empty()).with_aux_labels(Vec::<i32>::new());
        }
        let known = i32::try_from(start).ok().filter(|start| (0..num_states).contains(start));
        let start = known.ok_or_else(|| bytes.error("the start is a state that is not there"))?;
        let (fsa, order) = openfst::assemble(arcs, start, num_states - 1)?;
        Graph::new(fsa).with_aux_labels(ragged_core::index_select(&aux_labels, &order, 0)?)
    }
}
