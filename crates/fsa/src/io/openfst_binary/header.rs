//! The header of OpenFst's binary files, and the sizes of states and arcs that it determines.

use crate::core::semiring::Semiring;
use crate::error::Error;
use crate::io::bytes::Bytes;

/// First bytes of every file.
pub(super) const MAGIC: i32 = 2_125_659_606;
/// Version of files of the type `vector`, and of the later one of `const`.
pub(super) const VERSION: i32 = 2;
/// Version of files of the type `const` that are always aligned.
const ALIGNED_VERSION: i32 = 1;
/// Version of files of the types that wrap another.
const ADD_ON_VERSION: i32 = 1;
/// Version of files of the type `ngram`.
const NGRAM_VERSION: i32 = 4;
/// Bits of the flags: input symbols follow, output symbols follow, states and arcs of the type
/// `const` are at multiples of 16 bytes.
pub(super) const INPUT_SYMBOLS: i32 = 1;
pub(super) const OUTPUT_SYMBOLS: i32 = 2;
const ALIGNED: i32 = 4;
const ALIGNMENT: usize = 16;

/// Type of a cost in a file, which determines the sizes of arcs and states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cost {
    Single,
    Double,
}

impl Cost {
    /// Returns the number of bytes of a cost.
    pub(super) fn len(self) -> usize {
        if self == Self::Single { 4 } else { 8 }
    }

    /// Returns the number of bytes of an arc of the type `vector`: two labels, the cost, and a
    /// state.
    pub(super) fn arc(self) -> usize {
        12 + self.len()
    }

    /// Returns the number of padding bytes after an arc of the type `const`, which is aligned as in
    /// memory.
    pub(super) fn padding(self) -> usize {
        self.len() - 4
    }

    /// Returns the number of bytes of a state of the type `vector` without its arcs.
    pub(super) fn state(self) -> usize {
        8 + self.len()
    }

    pub(super) fn read(self, bytes: &mut Bytes<'_>) -> Result<f32, Error> {
        if self == Self::Single { bytes.f32() } else { bytes.f64_as_f32() }
    }
}

/// Layout of states and arcs in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Vector,
    /// With the number of bytes of the offset and the numbers of arcs of a state.
    Const(usize),
    Compact(Compact),
    Ngram,
    /// A file inside another, with data behind it.
    AddOn(AddOn),
}

/// The data of a file that wraps another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddOn {
    /// No data: each state's own arcs are looked at.
    Arcs,
    /// The labels that each state can reach.
    Labels,
}

/// Returns the number of bytes that a type's name has for offsets.
fn offset_len(size: &str) -> Option<usize> {
    match size {
        "8" => Some(1),
        "16" => Some(2),
        "" | "32" => Some(4),
        "64" => Some(8),
        _ => None,
    }
}

impl Kind {
    /// Returns the kind of a type's name.
    fn named(name: &str) -> Option<Self> {
        match name {
            "vector" => return Some(Self::Vector),
            "ngram" => return Some(Self::Ngram),
            "arc_lookahead" => return Some(Self::AddOn(AddOn::Arcs)),
            "ilabel_lookahead" | "olabel_lookahead" => return Some(Self::AddOn(AddOn::Labels)),
            _ => {}
        }
        if let Some(size) = name.strip_prefix("const") {
            return offset_len(size).map(Self::Const);
        }
        let (size, elements) = name.strip_prefix("compact")?.split_once('_')?;
        let offset = offset_len(size)?;
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compact {
    /// Number of bytes of the offset of a state's first element.
    pub(super) offset: usize,
    pub(super) elements: Elements,
}

/// The fields of an element in addition to its label. Without a destination, it is the only one of
/// its state and leads to the next state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Elements {
    output: bool,
    cost: bool,
    pub(super) dest: bool,
}

impl Elements {
    const STRING: Self = Self { output: false, cost: false, dest: false };

    /// Returns the number of bytes, as in the C++ structure, in which a cost of 8 bytes is aligned.
    pub(super) fn len(self, cost: Cost) -> usize {
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
    pub(super) fn read(self, bytes: &mut Bytes<'_>, cost: Cost, state: i32) -> Result<(i32, i32, f32, i32), Error> {
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

/// Header of a file, or of a file inside another.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) semiring: Semiring,
    pub(super) cost: Cost,
    pub(super) flags: i32,
    pub(super) start: i64,
    pub(super) num_states: i64,
    pub(super) num_arcs: i64,
}

impl Header {
    /// Reads the first bytes of a file and its header.
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        if bytes.i32()? != MAGIC {
            return Err(bytes.error("not a file of OpenFst: it begins with another number"));
        }
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
            (ADD_ON_VERSION, Kind::AddOn(_)) | (NGRAM_VERSION, Kind::Ngram) => {}
            (VERSION, Kind::Vector | Kind::Const(_) | Kind::Compact(_)) => {}
            (ALIGNED_VERSION, Kind::Const(_) | Kind::Compact(_)) => flags |= ALIGNED,
            _ => return Err(bytes.error("the file is of an unknown version")),
        }
        let _properties = bytes.i64()?;
        let (start, num_states, num_arcs) = (bytes.i64()?, bytes.i64()?, bytes.i64()?);
        Ok(Self { kind, semiring, cost, flags, start, num_states, num_arcs })
    }

    /// Skips to the first byte of states or arcs.
    pub(super) fn align(&self, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        if self.flags & ALIGNED == 0 { Ok(()) } else { bytes.align(ALIGNMENT) }
    }
}
