//! Lattices in tables.

use std::io::{BufRead, Write};

use super::*;
use crate::error::Error;
use crate::holders::Holder;
use crate::lattice::binary::{Header, read_header, read_states};
use crate::lattice::text::Either;

/// Reads either kind; white space after the key means text.
fn read(reader: &mut dyn BufRead) -> Result<Either, Error> {
    let mut reader = ByteReader::new(reader);
    match reader.peek()? {
        Some(byte) if byte.is_ascii_whitespace() => super::text::read(&mut reader),
        Some(byte) if byte == super::binary::MAGIC[0] => Ok(read_binary(&mut reader)?),
        other => {
            let expected = "a lattice: OpenFst's magic number, or the end of the line after the key";
            Err(reader.unexpected_byte(expected, other).into())
        }
    }
}

fn read_binary(reader: &mut ByteReader<'_>) -> Result<Either, CodecError> {
    let header = read_header(reader)?;
    match header.arc_type.as_str() {
        "lattice4" => plain(reader, &header, false),
        "lattice8" => plain(reader, &header, true),
        "compactlattice44" => compact(reader, &header, false),
        "compactlattice84" => compact(reader, &header, true),
        other => {
            let expected = "arcs of the types `lattice4` or `compactlattice44`";
            Err(CodecError::unexpected(reader.offset(), expected, format!("`{other}`")))
        }
    }
}

fn plain(reader: &mut ByteReader<'_>, header: &Header, double: bool) -> Result<Either, CodecError> {
    Ok(Either::Plain(read_states(reader, header, double)?))
}

fn compact(reader: &mut ByteReader<'_>, header: &Header, double: bool) -> Result<Either, CodecError> {
    let lattice: CompactLattice = read_states(reader, header, double)?;
    let arcs = lattice.states.iter().flat_map(|state| &state.arcs);
    if let Some(arc) = arcs.into_iter().find(|arc| arc.ilabel != arc.olabel) {
        let found = format!("{} and {}", arc.ilabel, arc.olabel);
        return Err(CodecError::unexpected(
            reader.offset(),
            "a compact lattice whose input and output labels are equal",
            found,
        ));
    }
    Ok(Either::Compact(lattice))
}

fn write<W: Weight>(lattice: &LatticeFst<W>, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
    let mut out = Vec::new();
    if binary {
        let how = "in OpenFst's form, as it is too large";
        out = super::binary::write(lattice).ok_or(Error::Unwritable { what: "this lattice", how })?;
    } else {
        super::text::write(lattice, &mut out);
    }
    Ok(writer.write_all(&out)?)
}

/// Reads both kinds of archives.
impl Holder for CompactLattice {
    const WHAT: &'static str = "compact lattices";

    #[doc(alias = "ReadCompactLattice")]
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(match read(reader)? {
            Either::Compact(lattice) => lattice,
            Either::Plain(lattice) => (&lattice).into(),
        })
    }

    #[doc(alias = "WriteCompactLattice")]
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write(self, writer, binary)
    }
}

/// Reads both kinds of archives.
impl Holder for Lattice {
    const WHAT: &'static str = "lattices";

    #[doc(alias = "ReadLattice")]
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(match read(reader)? {
            Either::Plain(lattice) => lattice,
            Either::Compact(lattice) => (&lattice).into(),
        })
    }

    #[doc(alias = "WriteLattice")]
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write(self, writer, binary)
    }
}
