//! Decoding graphs in tables: Kaldi's archives of OpenFst transducers.

use std::io::{BufRead, Write};

use fsa::io::{OpenFstBinary, OpenFstText};
use fsa::{Fsa, Graph};

use super::*;
use crate::error::Error;
use crate::holders::Holder;
use crate::lattice::binary::MAGIC;

/// A transducer with costs in the tropical semiring, one of many in a table. The binary form is
/// OpenFst's file of the type `vector`; the text form is its lines, between the line end after the
/// key and an empty line.
///
/// The labels are the labels of the file, which `fsa::dense` reads as
/// [`GraphLabels::ClassPlusOne`](fsa::GraphLabels).
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "VectorFstHolder")]
pub struct GraphFst(pub Graph<Fsa>);

impl Holder for GraphFst {
    const WHAT: &'static str = "decoding graphs";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut reader = ByteReader::new(reader);
        let at = reader.offset();
        let wrong = |error: fsa::Error| CodecError::unexpected(at, "a decoding graph", error);
        match reader.peek()? {
            Some(byte) if byte.is_ascii_whitespace() => {
                let text = read_lines(&mut reader)?;
                Ok(Self(OpenFstText::default().read(&text).map_err(wrong)?))
            }
            Some(byte) if byte == MAGIC[0] => {
                let bytes = read_vector(&mut reader)?;
                Ok(Self(OpenFstBinary::read(&bytes).map_err(wrong)?.graph))
            }
            other => {
                let expected = "a decoding graph: OpenFst's magic number, or the end of the line after the key";
                Err(reader.unexpected_byte(expected, other).into())
            }
        }
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        let unwritable = |_| Error::Unwritable { what: "this graph", how: "in OpenFst's form" };
        if binary {
            return Ok(writer.write_all(&OpenFstBinary::new(self.0.clone()).write().map_err(unwritable)?)?);
        }
        let text = OpenFstText::default().print(&self.0).map_err(unwritable)?;
        Ok(write!(writer, "\n{text}\n")?)
    }
}

/// Reads lines up to an empty one. The first line, the rest of the key's line, may be empty.
fn read_lines(reader: &mut ByteReader<'_>) -> Result<String, CodecError> {
    let mut text = Vec::new();
    for number in 0.. {
        let begin = text.len();
        reader.take_while(&mut text, |byte| byte != b'\n')?;
        let ended = reader.peek()?.is_none();
        if !ended {
            reader.bump();
        }
        let is_empty = text[begin..].trim_ascii().is_empty();
        text.push(b'\n');
        if ended || is_empty && number > 0 {
            break;
        }
    }
    let at = reader.offset();
    String::from_utf8(text)
        .map_err(|_| CodecError::unexpected(at, "a decoding graph in text", "bytes that are not UTF-8"))
}

/// Reads the bytes of a `vector` file with arcs of one cost, without symbol tables.
fn read_vector(reader: &mut ByteReader<'_>) -> Result<Vec<u8>, CodecError> {
    /// Maximum length of a type name.
    const LONGEST: usize = 64;
    const COUNT: &str = "a number of states or arcs";
    /// Bytes of an arc: two labels, a cost and a state.
    const ARC: usize = 16;
    let mut taken = Vec::new();
    let number = |taken: &mut Vec<u8>, reader: &mut ByteReader<'_>| {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes, "a number of a decoding graph")?;
        taken.extend(bytes);
        Ok(i32::from_le_bytes(bytes))
    };
    number(&mut taken, reader)?;
    for expected in ["vector", "the type of arcs"] {
        let at = reader.offset();
        let len = number(&mut taken, reader)?;
        let len = usize::try_from(len)
            .ok()
            .filter(|&len| len <= LONGEST)
            .ok_or_else(|| CodecError::unexpected(at, expected, len))?;
        let mut name = vec![0; len];
        reader.read_exact(&mut name, expected)?;
        if expected == "vector" && name != b"vector" {
            return Err(CodecError::unexpected(
                at,
                "a graph of OpenFst's type `vector`",
                String::from_utf8_lossy(&name),
            ));
        }
        taken.extend(name);
    }
    let at = reader.offset();
    let [_version, flags] = [number(&mut taken, reader)?, number(&mut taken, reader)?];
    if flags & 3 != 0 {
        return Err(CodecError::unexpected(
            at,
            "a graph without tables of symbols, as Kaldi writes it",
            "one with tables",
        ));
    }
    let long = |taken: &mut Vec<u8>, reader: &mut ByteReader<'_>| {
        let mut bytes = [0; 8];
        reader.read_exact(&mut bytes, COUNT)?;
        taken.extend(bytes);
        Ok::<_, CodecError>(i64::from_le_bytes(bytes))
    };
    let [_properties, _start, num_states, _num_arcs] =
        [long(&mut taken, reader)?, long(&mut taken, reader)?, long(&mut taken, reader)?, long(&mut taken, reader)?];
    for _ in 0..num_states {
        number(&mut taken, reader)?;
        for _ in 0..long(&mut taken, reader)? {
            let mut arc = [0; ARC];
            reader.read_exact(&mut arc, "an arc")?;
            taken.extend(arc);
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_come_back_from_both_forms() {
        let graph = OpenFstText::default().read("0 1 7 70 0.5\n0 1 0 0 1\n1 0.25\n").unwrap();
        let mut bytes = Vec::new();
        GraphFst(graph.clone()).write(&mut bytes, true).unwrap();
        let length = bytes.len();
        bytes.extend(b"next");
        let mut rest = &bytes[..];
        assert_eq!(GraphFst::read(&mut rest).unwrap().0, graph);
        assert_eq!(rest, b"next");
        let mut text = Vec::new();
        GraphFst(graph.clone()).write(&mut text, false).unwrap();
        text.extend(b"next");
        let mut rest = &text[..];
        assert_eq!(GraphFst::read(&mut rest).unwrap().0, graph);
        assert_eq!(rest, b"next");

        for len in 0..length {
            assert!(GraphFst::read(&mut &bytes[..len]).is_err());
        }
        for place in 0..length {
            for byte in [0, 1, 0x7F, 0xFF] {
                let mut damaged = bytes[..length].to_vec();
                damaged[place] = byte;
                let _ = GraphFst::read(&mut &damaged[..]);
            }
        }
    }
}
