//! The kinds of objects in tables that cannot be recognised by their bytes.

use std::io::{BufRead, Write};

use kaldera::fsa::lattice::Lattice as FsaLattice;
use kaldera::fsa::{Attribute, FsaOrVec, Fsas};
use kaldi_io::lattice::{CompactLattice, Lattice};
use kaldi_io::rxfilename::Input;
use kaldi_io::table::SequentialReader;
use kaldi_io::{Error, Holder, Matrix, Vector};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arguments::{did_you_mean, integers, list, lists};
use crate::attributes::{attribute, dictionary};
use crate::automata::RaggedArc;
use crate::errors::{exception, value_error};
use crate::files::Object;

/// The kind of all objects of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Decided by the bytes: matrices, vectors, lists of integers, recordings.
    Auto,
    /// float32, which text may have without elements.
    Matrix,
    /// float32.
    Vector,
    Token,
    Tokens,
    Int32,
    Float,
    Double,
    Bool,
    Lists,
    Pairs,
    Posterior,
    Lattice,
    CompactLattice,
}

/// Their names.
const NAMES: [(&str, Kind); 14] = [
    ("auto", Kind::Auto),
    ("matrix", Kind::Matrix),
    ("vector", Kind::Vector),
    ("token", Kind::Token),
    ("token-vector", Kind::Tokens),
    ("int32", Kind::Int32),
    ("float", Kind::Float),
    ("double", Kind::Double),
    ("bool", Kind::Bool),
    ("int32-vector-vector", Kind::Lists),
    ("int32-pair-vector", Kind::Pairs),
    ("posterior", Kind::Posterior),
    ("lattice", Kind::Lattice),
    ("compact-lattice", Kind::CompactLattice),
];

/// An object of a kind that only its table knows.
pub(crate) enum Special {
    Token(String),
    Tokens(Vec<String>),
    Int32(i32),
    Float(f32),
    Double(f64),
    Bool(bool),
    Lists(Vec<Vec<i32>>),
    Pairs(Vec<(i32, i32)>),
    Posterior(Vec<Vec<(i32, f32)>>),
    /// Either kind is read.
    Lattice(Lattice),
    CompactLattice(CompactLattice),
}

/// Keys and objects.
pub(crate) type Objects = Box<dyn Iterator<Item = Result<(String, Object), Error>> + Send>;

/// The location of a table.
pub(crate) enum Table<'a> {
    Rspecifier(&'a str),
    Archive(Input),
    Script(Input),
}

/// Reads a table of one type of objects.
fn open<T: Holder>(table: Table<'_>, pipes: bool, object: fn(T) -> Object) -> Result<Objects, Error> {
    let reader = match table {
        Table::Rspecifier(rspecifier) => SequentialReader::<T>::open(rspecifier)?,
        Table::Archive(input) => SequentialReader::from_archive_input(input)?,
        Table::Script(input) => SequentialReader::from_script_input(input)?,
    };
    let reader = if pipes { reader.checking_pipes() } else { reader.without_pipes() };
    Ok(Box::new(reader.map(move |item| item.map(|(key, value)| (key, object(value))))))
}

/// Reads one object of a type.
fn read<T: Holder>(reader: &mut dyn BufRead, object: fn(T) -> Object) -> Result<Object, Error> {
    T::read(reader).map(object)
}

/// Calls something with the function that makes an object of the values that a kind reads.
macro_rules! of_kind {
    ($kind:expr, |$object:ident| $call:expr) => {
        of_kind!($kind, |$object| $call,
            Auto: Object => |object| object,
            Matrix: Matrix<f32> => Object::Matrix,
            Vector: Vector<f32> => Object::Vector,
            Token: String => |token| Object::Special(Special::Token(token)),
            Tokens: Vec<String> => |tokens| Object::Special(Special::Tokens(tokens)),
            Int32: i32 => |number| Object::Special(Special::Int32(number)),
            Float: f32 => |number| Object::Special(Special::Float(number)),
            Double: f64 => |number| Object::Special(Special::Double(number)),
            Bool: bool => |truth| Object::Special(Special::Bool(truth)),
            Lists: Vec<Vec<i32>> => |lists| Object::Special(Special::Lists(lists)),
            Pairs: Vec<(i32, i32)> => |pairs| Object::Special(Special::Pairs(pairs)),
            Posterior: Vec<Vec<(i32, f32)>> => |frames| Object::Special(Special::Posterior(frames)),
            Lattice: Lattice => |lattice| Object::Special(Special::Lattice(lattice)),
            CompactLattice: CompactLattice => |lattice| Object::Special(Special::CompactLattice(lattice))
        )
    };
    ($kind:expr, |$object:ident| $call:expr, $($name:ident: $read:ty => $make:expr),*) => {
        match $kind {
            $(Self::$name => {
                let $object: fn($read) -> Object = $make;
                $call
            })*
        }
    };
}

impl Kind {
    /// The kind of a name.
    pub(crate) fn parse(name: &str) -> PyResult<Self> {
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        known.ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name.to_owned());
            let hint = Python::attach(|py| did_you_mean(py, name, &names)).unwrap_or_default();
            value_error(format!("there is no kind of objects '{name}'{hint}: there are {}", names.join(", ")))
        })
    }

    /// Reads one object of this kind.
    pub(crate) fn read(self, reader: &mut dyn BufRead) -> Result<Object, Error> {
        of_kind!(self, |object| read(reader, object))
    }

    /// Opens a table of this kind.
    pub(crate) fn open(self, table: Table<'_>, pipes: bool) -> Result<Objects, Error> {
        of_kind!(self, |object| open(table, pipes, object))
    }

    /// Converts a value to an object of this kind; None if the value itself determines its kind.
    pub(crate) fn object_of(self, value: &Bound<'_, PyAny>) -> PyResult<Option<Special>> {
        Ok(Some(match self {
            Self::Auto | Self::Matrix | Self::Vector => return Ok(None),
            Self::Token => Special::Token(value.extract()?),
            Self::Tokens => Special::Tokens(list(value)?),
            Self::Int32 => Special::Int32(value.extract::<crate::arguments::Int>()?.0),
            Self::Float => Special::Float(value.extract()?),
            Self::Double => Special::Double(value.extract()?),
            Self::Bool => Special::Bool(value.extract()?),
            Self::Lists => Special::Lists(value.try_iter()?.map(|list| integers(&list?)).collect::<PyResult<_>>()?),
            Self::Pairs => Special::Pairs(list(value)?),
            Self::Posterior => Special::Posterior(lists(value)?),
            Self::Lattice => Special::Lattice((&compact(value)?).into()),
            Self::CompactLattice => Special::CompactLattice(compact(value)?),
        }))
    }
}

/// A lattice from a `k2.Fsa` of words with the attributes that [`lattice`] gives it.
fn compact(value: &Bound<'_, PyAny>) -> PyResult<CompactLattice> {
    let arcs = value.getattr("arcs")?;
    let arcs = arcs.cast::<RaggedArc>().map_err(|_| value_error("a lattice is a k2.Fsa"))?.get();
    if matches!(&arcs.fsas, FsaOrVec::FsaVec(_)) {
        return Err(value_error("a lattice of a table is one FSA and no vector"));
    }
    let own = |name: &str| attribute(&value.getattr(name)?);
    let missing =
        || value_error("a lattice has the attributes graph_scores and acoustic_scores, float32, and alignment, lists");
    let (
        Attribute::Floats { values: graph, .. },
        Attribute::Floats { values: acoustic, .. },
        Attribute::Lists(alignment),
    ) = (own("graph_scores")?, own("acoustic_scores")?, own("alignment")?)
    else {
        return Err(missing());
    };
    let words = arcs.fsas.as_fsa_vec();
    let lattice = FsaLattice::new(words, graph.to_vec(), acoustic.to_vec(), alignment).map_err(exception)?;
    CompactLattice::from_fsa(&lattice, 0).ok_or_else(missing)
}

/// A lattice as a `k2.Fsa` of words, whose scores are the sums of `graph_scores` and
/// `acoustic_scores`, with the transition identifiers of each arc, `alignment`.
fn lattice(py: Python<'_>, lattice: Result<FsaLattice, kaldera::fsa::Error>) -> PyResult<Bound<'_, PyAny>> {
    let (fsas, attributes) = lattice.map_err(exception)?.graph().clone().into_parts();
    let arcs = RaggedArc::from(fsas.get(0).map_err(exception)?);
    let class = py.import("kaldera.k2.fsa")?.getattr("Fsa")?;
    class.call_method1("_of", (arcs, dictionary(py, &attributes)?))
}

impl Special {
    /// As Python has it.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Token(token) => token.into_pyobject(py)?.into_any(),
            Self::Tokens(tokens) => tokens.into_pyobject(py)?.into_any(),
            Self::Int32(number) => number.into_pyobject(py)?.into_any(),
            Self::Float(number) => number.into_pyobject(py)?.into_any(),
            Self::Double(number) => number.into_pyobject(py)?.into_any(),
            Self::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
            Self::Lists(lists) => lists.into_pyobject(py)?.into_any(),
            Self::Pairs(pairs) => pairs.into_pyobject(py)?.into_any(),
            Self::Posterior(frames) => {
                let frame = |pairs: Vec<(i32, f32)>| {
                    let pairs = pairs.into_iter().map(|(number, weight)| {
                        let pair = (number.into_pyobject(py)?.into_any(), weight.into_pyobject(py)?.into_any());
                        PyTuple::new(py, [pair.0, pair.1])
                    });
                    PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
                };
                PyList::new(py, frames.into_iter().map(frame).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Lattice(plain) => lattice(py, FsaLattice::try_from(&plain))?,
            Self::CompactLattice(compact) => lattice(py, FsaLattice::try_from(&compact))?,
        })
    }

    /// Writes it, header included.
    pub(crate) fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        match self {
            Self::Token(token) => Holder::write(token, writer, binary),
            Self::Tokens(tokens) => Holder::write(tokens, writer, binary),
            Self::Int32(number) => Holder::write(number, writer, binary),
            Self::Float(number) => Holder::write(number, writer, binary),
            Self::Double(number) => Holder::write(number, writer, binary),
            Self::Bool(truth) => Holder::write(truth, writer, binary),
            Self::Lists(lists) => Holder::write(lists, writer, binary),
            Self::Pairs(pairs) => Holder::write(pairs, writer, binary),
            Self::Posterior(frames) => Holder::write(frames, writer, binary),
            Self::Lattice(lattice) => Holder::write(lattice, writer, binary),
            Self::CompactLattice(lattice) => Holder::write(lattice, writer, binary),
        }
    }

    /// The error for a range: it has no parts that a range could name.
    pub(crate) fn no_range(range: &str) -> Error {
        Error::RangeUnsupported { range: range.to_owned(), what: "objects of this kind" }
    }
}
