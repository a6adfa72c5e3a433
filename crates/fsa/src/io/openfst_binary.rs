//! OpenFst's binary files.

mod header;
mod ngram;
mod reach;
mod states;

use std::io::Read;
use std::path::Path;

use self::header::{Header, INPUT_SYMBOLS, Kind, MAGIC, OUTPUT_SYMBOLS, VERSION};
use self::ngram::read_ngram;
use self::reach::read_add_on;
use self::states::{Rows, Sink, read_compact, read_const, read_vector};
use crate::core::arc::EPSILON;
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::graph_labels::GraphLabels;
use crate::core::label_reach::LabelReach;
use crate::core::semiring::Semiring;
use crate::core::transducer::{Transducer, TransducerBuilder};
use crate::error::{Error, Quantity};
use crate::io::bytes::{Bytes, string};
use crate::io::openfst::{self, CostArc, CostStates};
use crate::io::symbols::SymbolTable;

/// Bits of the properties: the number of states is known, which is always true, and the machine can
/// be changed, as in files of the type `vector`.
const EXPANDED: u64 = 1;
const MUTABLE: u64 = 2;

/// A transducer as stored in OpenFst's binary files: arcs, the semiring that their type names, and
/// symbols.
///
/// Files of the types `vector` and `const` are read and written, with arcs of the types `standard`
/// and `log`; files of the types `compact_string`, `compact_weighted_string`, `compact_acceptor`,
/// `compact_unweighted_acceptor`, `compact_unweighted` and `const` with offsets of any size
/// (`const8`, `compact8_acceptor`), `ngram`, `arc_lookahead`, `ilabel_lookahead` and
/// `olabel_lookahead`, and arcs of the type `log64`, rounded to single precision, are read.
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
    /// The labels that each state can reach, for look-ahead. States have the numbers of the file,
    /// in which the start need not be state 0. It is not written.
    pub label_reach: Option<LabelReach>,
}

impl OpenFstBinary {
    /// Creates a transducer in the tropical semiring without symbols.
    pub fn new(graph: Graph<Fsa>) -> Self {
        Self { graph, semiring: Semiring::Tropical, input_symbols: None, output_symbols: None, label_reach: None }
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
        let (mut input, mut rows) = (file, Rows::default());
        let mut bytes = Bytes::new(&mut input, file.len());
        let parts = read_states(&mut bytes, &mut rows)?;
        let graph = graph_of(rows, &bytes, &parts)?;
        Ok(Self {
            graph,
            semiring: parts.semiring,
            input_symbols: parts.input_symbols,
            output_symbols: parts.output_symbols,
            label_reach: parts.label_reach,
        })
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

/// The parts of a file other than its states.
struct Parts {
    semiring: Semiring,
    start: Option<u32>,
    num_states: i32,
    input_symbols: Option<SymbolTable>,
    output_symbols: Option<SymbolTable>,
    label_reach: Option<LabelReach>,
}

/// Reads a file; `sink` gets its states.
fn read_states(bytes: &mut Bytes<'_>, sink: &mut impl Sink) -> Result<Parts, Error> {
    let mut header = Header::read(bytes)?;
    let (mut input_symbols, mut output_symbols) = read_symbols(bytes, header.flags)?;
    let mut add_on = None;
    if let Kind::AddOn(kind) = header.kind {
        add_on = Some(kind);
        if bytes.i32()? != reach::MAGIC {
            return Err(bytes.error("a file inside another begins with another number"));
        }
        header = Header::read(bytes)?;
        let inner = read_symbols(bytes, header.flags)?;
        input_symbols = inner.0.or(input_symbols);
        output_symbols = inner.1.or(output_symbols);
    }
    let num_states = match header.kind {
        Kind::Vector => read_vector(bytes, &header, sink)?,
        Kind::Const(len) => read_const(bytes, &header, len, sink)?,
        Kind::Compact(compact) => read_compact(bytes, &header, compact, sink)?,
        Kind::Ngram => read_ngram(bytes, &header, sink)?,
        Kind::AddOn(_) => return Err(bytes.error("a file inside a file inside another")),
    };
    let label_reach = match add_on {
        Some(add_on) => read_add_on(bytes, add_on, num_states)?,
        None => None,
    };
    let start = match header.start {
        -1 => None,
        start => {
            let known = u32::try_from(start).ok().filter(|&start| i64::from(start) < num_states.into());
            Some(known.ok_or_else(|| bytes.error("the start is a state that is not there"))?)
        }
    };
    Ok(Parts { semiring: header.semiring, start, num_states, input_symbols, output_symbols, label_reach })
}

/// Reads the symbols that the flags name. Tables that are equal are stored once.
fn read_symbols(bytes: &mut Bytes<'_>, flags: i32) -> Result<(Option<SymbolTable>, Option<SymbolTable>), Error> {
    let input = if flags & INPUT_SYMBOLS == 0 { None } else { Some(SymbolTable::read(bytes, None)?) };
    let output = if flags & OUTPUT_SYMBOLS == 0 { None } else { Some(SymbolTable::read(bytes, input.as_ref())?) };
    Ok((input, output))
}

/// Returns the FSA of a file's arcs.
fn graph_of(rows: Rows, bytes: &Bytes<'_>, parts: &Parts) -> Result<Graph<Fsa>, Error> {
    let Rows { arcs, aux_labels } = rows;
    if arcs.iter().any(|arc| arc.dest_state >= parts.num_states) {
        return Err(bytes.error("an arc into a state that is not there"));
    }
    let Some(start) = parts.start else {
        return Graph::new(Fsa::empty())
            .with_graph_labels(GraphLabels::ClassPlusOne)
            .with_aux_labels(Vec::<i32>::new());
    };
    let (fsa, order) = openfst::assemble(arcs, start.cast_signed(), parts.num_states - 1)?;
    let graph = Graph::new(fsa).with_graph_labels(GraphLabels::ClassPlusOne);
    graph.with_aux_labels(ragged_core::index_select(&aux_labels, &order, 0)?)
}

/// A transducer as a file stores it, in compact memory: large decoding graphs and n-gram models.
///
/// The file is read piece by piece, with the checks of [`OpenFstBinary`]. An n-gram model of
/// OpenFst's type `ngram` takes 16 bytes a word and 24 a context.
///
/// ```
/// use fsa::io::{OpenFstBinary, OpenFstText, TransducerFile};
///
/// let graph = OpenFstText::default().read("0 1 7 70 0.5\n1\n")?;
/// let file = TransducerFile::read(&OpenFstBinary::new(graph).write()?)?;
/// assert_eq!(file.transducer.arcs(0)[0].olabel, 70);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TransducerFile {
    /// The transducer, with the states and labels of the file.
    pub transducer: Transducer,
    /// The symbols of the input labels.
    pub input_symbols: Option<SymbolTable>,
    /// The symbols of the output labels.
    pub output_symbols: Option<SymbolTable>,
    /// The labels that each state can reach, if the file is of a type for look-ahead.
    pub label_reach: Option<LabelReach>,
}

impl TransducerFile {
    /// Reads a file piece by piece.
    ///
    /// # Errors
    /// [`Error::File`] with the path and an error of [`read`](Self::read).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Error::in_file(path.as_ref(), |mut file| {
            let len = file.metadata().map_err(|error| Error::Unreadable { problem: error.to_string() })?.len();
            let len = usize::try_from(len).map_err(|_| Error::TooLarge { what: Quantity::Arcs, size: len })?;
            Self::read_pieces(&mut file, len)
        })
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// As [`OpenFstBinary::read`].
    pub fn read(mut file: &[u8]) -> Result<Self, Error> {
        let len = file.len();
        Self::read_pieces(&mut file, len)
    }

    fn read_pieces(input: &mut dyn Read, len: usize) -> Result<Self, Error> {
        let mut bytes = Bytes::new(input, len);
        let mut builder = TransducerBuilder::default();
        let Parts { semiring, start, input_symbols, output_symbols, label_reach, .. } =
            read_states(&mut bytes, &mut builder)?;
        Ok(Self { transducer: builder.finish(start, semiring)?, input_symbols, output_symbols, label_reach })
    }
}
