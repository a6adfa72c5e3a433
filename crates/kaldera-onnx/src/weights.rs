//! The files with weights of a network: `TensorProto.external_data` of ONNX's protocol buffers.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// The longest name that is read.
const MAX_NAME: u64 = 1 << 12;

/// How deep messages may be in each other: protocol buffers' own limit.
const MAX_DEPTH: usize = 100;

/// The messages on the way to names of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
    Entry,
}

impl Message {
    /// The message in a field of this one, by the numbers of `onnx.proto`.
    fn inner(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 25) => Some(Self::Function),
            (Self::Graph, 1) | (Self::Function, 7) => Some(Self::Node),
            (Self::Node, 5) => Some(Self::Attribute),
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Some(Self::Sparse),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => Some(Self::Tensor),
            (Self::Tensor, 13) => Some(Self::Entry),
            _ => None,
        }
    }
}

/// The files beside an ONNX file in which it has weights, such as `model.onnx.data` or
/// `encoder.weights`; none if all weights are in it. It is not loaded: its own weights are skipped.
///
/// # Errors
/// [`Error::Load`] if it cannot be read, is no ONNX file, or names files in other folders than its own
/// and those below.
pub fn weight_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let path = path.as_ref();
    let failed = |reason: String| Error::Load { path: path.to_owned(), reason };
    let names = File::open(path).and_then(|file| {
        let end = file.metadata()?.len();
        locations(BufReader::new(file), end)
    });
    let names = names.map_err(|error| failed(error.to_string()))?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let beside = |name: String| match !name.is_empty() && Path::new(&name).components().all(is_plain) {
        true => Ok(path.with_file_name(name)),
        false => Err(failed(format!(
            "its weights are in '{name}', which is not beside it: save it with them there (onnx.save with location=...)"
        ))),
    };
    names.into_iter().map(beside).collect()
}

/// The names of files in a model of so many bytes.
fn locations(reader: impl BufRead + Seek, end: u64) -> io::Result<BTreeSet<String>> {
    let mut walk = Walk { reader, at: 0, found: BTreeSet::new() };
    walk.message(Message::Model, end, 0)?;
    Ok(walk.found)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

struct Walk<R> {
    reader: R,
    /// How many bytes have been read or skipped.
    at: u64,
    found: BTreeSet<String>,
}

impl<R: BufRead + Seek> Walk<R> {
    /// Goes through the fields of a message that ends there.
    fn message(&mut self, message: Message, end: u64, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!("byte {}: messages are more than {MAX_DEPTH} deep", self.at)));
        }
        let (mut key, mut value) = (String::new(), String::new());
        while self.at < end {
            let begin = self.at;
            let tag = self.varint(end)?;
            let size = match tag & 7 {
                0 => {
                    self.varint(end)?;
                    0
                }
                1 => 8,
                2 => self.varint(end)?,
                5 => 4,
                kind => return Err(invalid(format!("byte {begin}: a field of kind {kind}: this is no ONNX file"))),
            };
            let left = end - self.at;
            if size > left {
                return Err(invalid(format!("byte {begin}: a field of {size} bytes, and {left} are left")));
            }
            match (message, tag >> 3, tag & 7) {
                (Message::Entry, 1 | 2, 2) if size > MAX_NAME => {
                    return Err(invalid(format!("byte {begin}: a name of {size} bytes, and {MAX_NAME} are the most")));
                }
                (Message::Entry, 1, 2) => key = self.text(size)?,
                (Message::Entry, 2, 2) => value = self.text(size)?,
                (_, field, 2) => match message.inner(field) {
                    Some(inner) => self.message(inner, self.at + size, depth + 1)?,
                    None => self.skip(size)?,
                },
                _ => self.skip(size)?,
            }
        }
        if key == "location" {
            self.found.insert(value);
        }
        Ok(())
    }

    fn varint(&mut self, end: u64) -> io::Result<u64> {
        let begin = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            if self.at >= end {
                return Err(invalid(format!("byte {begin}: a number has no end")));
            }
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(invalid(format!("byte {begin}: a number of more than 64 bits")))
    }

    fn text(&mut self, size: u64) -> io::Result<String> {
        let mut text = String::new();
        let begin = self.at;
        let found = self.reader.by_ref().take(size).read_to_string(&mut text)?;
        self.at += size;
        match u64::try_from(found) == Ok(size) {
            true => Ok(text),
            false => Err(invalid(format!("byte {begin}: a text of {size} bytes, and {found} are left"))),
        }
    }

    fn skip(&mut self, size: u64) -> io::Result<()> {
        let step = i64::try_from(size).map_err(|_| invalid(format!("byte {}: {size} bytes", self.at)))?;
        self.reader.seek_relative(step)?;
        self.at += size;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A field with bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        // Two bytes of length, as fields of 128 bytes and more have.
        let size = [bytes.len() % 128 + 128, bytes.len() / 128].map(|byte| u8::try_from(byte).unwrap());
        [&[(number << 3) + 2], &size[..], bytes].concat()
    }

    fn tensor(location: &str) -> Vec<u8> {
        let entry =
            |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
        // dims, data_type and name come before, data_location after.
        let head = [vec![0x08, 0x80, 0x01, 0x10, 0x01], field(8, b"weight")].concat();
        [head, entry("location", location), entry("offset", "0"), vec![0x70, 0x01]].concat()
    }

    fn model(graph: &[u8]) -> Vec<u8> {
        [vec![0x08, 0x08], field(2, b"exporter"), field(7, graph), field(14, b"")].concat()
    }

    fn names(bytes: &[u8]) -> io::Result<Vec<String>> {
        let end = u64::try_from(bytes.len()).unwrap();
        locations(Cursor::new(bytes), end).map(|names| names.into_iter().collect())
    }

    #[test]
    fn files_of_all_tensors_are_found() {
        let of_graph = [field(5, &tensor("b.weights")), field(5, &tensor("a.data")), field(5, &tensor("b.weights"))];
        assert_eq!(names(&model(&of_graph.concat())).unwrap(), ["a.data", "b.weights"]);
        // A constant of a node, and one in the branch of another.
        let constant = field(1, &field(5, &field(5, &tensor("c"))));
        assert_eq!(names(&model(&constant)).unwrap(), ["c"]);
        assert_eq!(names(&model(&field(1, &field(5, &field(6, &constant))))).unwrap(), ["c"]);
        // Weights that are in the file, and a sparse tensor.
        assert!(names(&model(&field(5, &field(9, &[1; 40])))).unwrap().is_empty());
        assert_eq!(names(&model(&field(15, &field(1, &tensor("s"))))).unwrap(), ["s"]);
    }

    #[test]
    fn bytes_that_are_no_network_are_refused() {
        assert!(names(&[]).unwrap().is_empty());
        let whole = model(&field(5, &tensor("a.data")));
        for end in 1..whole.len() {
            // Whole fields are a network of less.
            if let Ok(names) = names(&whole[..end]) {
                assert!(names.len() <= 1);
            }
            let mut damaged = whole.clone();
            for byte in [0x00, 0x7f, 0xff] {
                damaged[end] = byte;
                let _ = names(&damaged);
            }
        }
        assert!(names(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap_err().to_string().contains("0 are left"));
        assert!(names(&[0xff; 20]).unwrap_err().to_string().contains("more than 64 bits"));
        assert!(names(b"this is no network").is_err());
        let branch = |inner: &[u8]| field(1, &field(5, &field(6, inner)));
        let deep = (0..40).fold(vec![], |inner, _| branch(&inner));
        assert!(names(&model(&deep)).unwrap_err().to_string().contains("more than 100 deep"));
    }

    #[test]
    fn files_are_beside_their_network() {
        let path = std::env::temp_dir().join(format!("kaldera-weights-{}.onnx", std::process::id()));
        for (location, expected) in [("encoder.weights", true), ("below/w", true), ("../w", false), ("/etc/w", false)] {
            std::fs::write(&path, model(&field(5, &tensor(location)))).unwrap();
            match weight_files(&path) {
                Ok(files) => assert_eq!((files, expected), (vec![path.with_file_name(location)], true)),
                Err(error) => assert!(!expected && error.to_string().contains(location), "{error}"),
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert!(weight_files(&path).is_err());
    }
}
