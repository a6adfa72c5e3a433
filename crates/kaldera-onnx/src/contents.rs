//! The contents of an ONNX file, checked before a runtime reads it. Runtimes trust the lengths in a
//! file, and damaged files make them allocate or compute without end.
//!
//! The messages are the ones of `onnx.proto`. The checks cover the lengths of all fields, the depth
//! and the number of messages, and the number of values of each tensor: it must fit its shape, in
//! the file or in a file of weights in its folder (`external_data`). Weights are skipped, not
//! loaded.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Largest size in bytes of a text that is read.
const MAX_NAME: u64 = 1 << 12;

/// Largest depth of nested messages: the limit of protocol buffers.
const MAX_DEPTH: usize = 100;

/// Largest number of messages. Each one takes memory, and needs only a few bytes of the file.
const MAX_MESSAGES: usize = 1 << 22;

/// Largest number of nodes. Large speech models have some ten thousand.
const MAX_NODES: usize = 1 << 18;

/// Largest number of values of a tensor that an operator makes from a constant shape: 256 MB.
const MAX_FILLED: i64 = 1 << 26;

/// The largest padding, stride or size of a kernel.
const MAX_EXTENT: i64 = 1 << 16;

/// Largest size in bytes of constants that are taken for shapes.
const SHAPE_BYTES: u64 = 8 * 16;

/// Attributes with numbers of rows.
const EXTENTS: [&str; 6] = ["dilations", "kernel_shape", "output_padding", "output_shape", "pads", "strides"];

/// The messages that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
    /// A key and a value.
    Entry,
    ValueInfo,
    Type,
    TensorType,
    Sequence,
    Shape,
    Dimension,
    /// A version of the operators.
    Opset,
}

impl Message {
    /// Returns the message in a field of this one, by the numbers of `onnx.proto`.
    fn inner(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 8) | (Self::Function, 9) => Some(Self::Opset),
            (Self::Model, 25) => Some(Self::Function),
            (Self::Graph, 1) | (Self::Function, 7) => Some(Self::Node),
            (Self::Graph, 11..=13) | (Self::Function, 12) => Some(Self::ValueInfo),
            (Self::Node, 5) | (Self::Function, 11) => Some(Self::Attribute),
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Some(Self::Sparse),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => Some(Self::Tensor),
            (Self::Tensor, 13) | (Self::Model, 14) => Some(Self::Entry),
            (Self::ValueInfo, 2) | (Self::Sequence, 1) => Some(Self::Type),
            (Self::Type, 1) => Some(Self::TensorType),
            (Self::Type, 4) => Some(Self::Sequence),
            (Self::TensorType, 2) => Some(Self::Shape),
            (Self::Shape, 1) => Some(Self::Dimension),
            _ => None,
        }
    }

    /// Returns `true` if the field has packed integers.
    fn is_packed(self, field: u64) -> bool {
        matches!((self, field), (Self::Tensor, 1 | 5 | 7 | 11) | (Self::Attribute, 8))
    }
}

/// The result of the checks of a file.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The files with its weights, in its folder or below.
    pub(crate) weights: Vec<PathBuf>,
    /// Number of nodes of its graphs.
    pub(crate) num_nodes: usize,
    /// Some of its operators multiply integers of 8 bits.
    pub(crate) multiplies_integers: bool,
}

/// Returns the files of weights of an ONNX file, such as `model.onnx.data` or `encoder.weights` in
/// its folder; none if all weights are in the file itself. The file is not loaded: its own weights
/// are skipped.
///
/// # Errors
/// [`Error::Load`] if the file cannot be read, is not an ONNX file or is damaged, or if its weights
/// are in files that are too short, or outside its own folder and the folders below.
pub fn weight_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    Contents::of(path.as_ref()).map(|contents| contents.weights)
}

impl Contents {
    /// Checks a file.
    ///
    /// # Errors
    /// The errors of [`weight_files`].
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::Load { path: path.to_owned(), reason };
        let walk = File::open(path).and_then(|file| {
            let end = file.metadata()?.len();
            walk(BufReader::new(file), end)
        });
        let walk = walk.map_err(|error| failed(error.to_string()))?;
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let beside = |(name, needed): (&String, &u64)| {
            if name.is_empty() || !Path::new(name).components().all(is_plain) {
                return Err(failed(format!(
                    "its weights are in '{name}', which is not beside it: save it with them there (onnx.save with location=...)"
                )));
            }
            let file = path.with_file_name(name);
            match file.metadata() {
                Ok(found) if !found.is_file() => Err(failed(format!("its weights are in '{name}', which is no file"))),
                Ok(found) if found.len() < *needed => Err(failed(format!(
                    "its weights need {needed} bytes of '{name}', which has {}: copy that file again",
                    found.len()
                ))),
                Ok(_) => Ok(file),
                Err(error) => Err(failed(format!("its weights are in '{name}' beside it: {error}"))),
            }
        };
        let weights = walk.files.iter().map(beside).collect::<Result<_, _>>()?;
        Ok(Self { weights, num_nodes: walk.num_nodes, multiplies_integers: walk.multiplies_integers })
    }
}

/// Checks a model of `end` bytes.
fn walk<R: BufRead + Seek>(reader: R, end: u64) -> io::Result<Walk<R>> {
    let mut walk = Walk {
        reader,
        at: 0,
        files: BTreeMap::new(),
        num_messages: 0,
        num_nodes: 0,
        multiplies_integers: false,
        has_graph: false,
        shapes: HashMap::new(),
        filled: vec![],
    };
    walk.message(Message::Model, end, 0, &mut Fields::default())?;
    if !walk.has_graph {
        return Err(invalid("there is no graph in it: this is no ONNX file, or it is cut short".to_owned()));
    }
    walk.check_filled()?;
    Ok(walk)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

struct Walk<R> {
    reader: R,
    /// Number of bytes that have been read or skipped.
    at: u64,
    /// Number of bytes that each file of weights must have, by name.
    files: BTreeMap<String, u64>,
    num_messages: usize,
    num_nodes: usize,
    multiplies_integers: bool,
    has_graph: bool,
    /// The values of small constants of integers, by name.
    shapes: HashMap<String, Vec<i64>>,
    /// Operators that fill a tensor, and the names of the constants with its size.
    filled: Vec<(String, String)>,
}

/// The fields of a message that are kept.
#[derive(Debug, Default)]
struct Fields {
    /// Of a tensor or an attribute; of an entry, its key.
    name: String,
    /// Of an entry.
    value: String,
    /// Of a node.
    operator: String,
    inputs: Vec<String>,
    output: String,
    /// Of an attribute.
    extent: i64,
    tensor: TensorFields,
    /// Of a node or attribute: the constant in it.
    constant: Option<Vec<i64>>,
}

#[derive(Debug, Default)]
struct TensorFields {
    dims: Vec<i64>,
    data_type: u64,
    /// Bytes of `raw_data`.
    raw: Option<u64>,
    /// Values of the other fields.
    count: u64,
    /// Values of integers, of a small tensor.
    integers: Vec<i64>,
    is_external: bool,
    location: String,
    offset: u64,
    length: Option<u64>,
}

/// Returns the number of bits of a value of `TensorProto.DataType`; none for texts and unknown
/// types.
fn bits_of(data_type: u64) -> Option<u64> {
    match data_type {
        1 | 6 | 12 => Some(32),
        2 | 3 | 9 | 17..=20 | 24 => Some(8),
        4 | 5 | 10 | 16 => Some(16),
        7 | 11 | 13 | 14 => Some(64),
        15 => Some(128),
        21..=23 => Some(4),
        25 | 26 => Some(2),
        _ => None,
    }
}

impl Fields {
    /// Takes an integer.
    fn integer(&mut self, message: Message, field: u64, number: u64) {
        match (message, field) {
            (Message::Tensor, 1) => self.tensor.dims.push(number.cast_signed()),
            (Message::Tensor, 2) => self.tensor.data_type = number,
            (Message::Tensor, 5 | 7 | 11) => self.tensor.add(number),
            (Message::Tensor, 14) => self.tensor.is_external = number == 1,
            (Message::Attribute, 8) => self.extent = self.extent.max(number.cast_signed()),
            _ => {}
        }
    }
}

impl TensorFields {
    /// Adds one of its values.
    fn add(&mut self, number: u64) {
        self.count += 1;
        if self.count <= SHAPE_BYTES / 8 {
            self.integers.push(number.cast_signed());
        } else {
            self.integers.clear();
        }
    }

    /// Returns its values if it is small and has integers of 64 bits, as shapes have.
    fn shape(self) -> Vec<i64> {
        /// `TensorProto.DataType.INT64`.
        const INT64: u64 = 7;
        if self.data_type == INT64 { self.integers } else { vec![] }
    }

    /// Checks that the tensor has the values that its shape needs. Returns the number of bytes that
    /// its file of weights must have, if it has one.
    fn check(&self, name: &str) -> io::Result<Option<u64>> {
        let wrong = |what: String| invalid(format!("the tensor '{}' {what}: the file is damaged", name.escape_debug()));
        let len = self.dims.iter().try_fold(1_u64, |len, &dim| len.checked_mul(u64::try_from(dim).ok()?));
        let bytes = |bits: u64| len?.checked_mul(bits).map(|bits| bits.div_ceil(8));
        let Some(len) = len else { return Err(wrong(format!("has the shape {:?}", self.dims))) };
        let needed = match bits_of(self.data_type).map(bytes) {
            Some(None) => return Err(wrong(format!("has the shape {:?}", self.dims))),
            needed => needed.flatten(),
        };
        let differs = |found: u64| needed.is_some_and(|needed| needed != found);
        let states =
            |found: u64| wrong(format!("of shape {:?} needs {} bytes and has {found}", self.dims, needed.unwrap_or(0)));
        match (self.is_external, self.raw) {
            (true, _) => {
                let length = self.length.or(needed).unwrap_or(0);
                if differs(length) {
                    return Err(states(length));
                }
                self.offset.checked_add(length).map(Some).ok_or_else(|| states(length))
            }
            (false, Some(raw)) if differs(raw) => Err(states(raw)),
            (false, Some(_)) => Ok(None),
            // One stored value can have several, as with 4 bits.
            (false, None) if len > self.count.saturating_mul(16) => {
                Err(wrong(format!("of shape {:?} has {} values", self.dims, self.count)))
            }
            (false, None) => Ok(None),
        }
    }
}

impl<R: BufRead + Seek> Walk<R> {
    /// Reads the fields of a message that ends at `end`.
    fn message(&mut self, message: Message, end: u64, depth: usize, fields: &mut Fields) -> io::Result<()> {
        self.num_messages += 1;
        if depth > MAX_DEPTH {
            return Err(invalid(format!("byte {}: messages are more than {MAX_DEPTH} deep", self.at)));
        }
        if self.num_messages > MAX_MESSAGES || self.num_nodes > MAX_NODES {
            return Err(invalid(format!("byte {}: more than {MAX_NODES} nodes, or {MAX_MESSAGES} messages", self.at)));
        }
        while self.at < end {
            let begin = self.at;
            let tag = self.varint(end)?;
            let (mut number, mut size) = (None, 0);
            match tag & 7 {
                0 => number = Some(self.varint(end)?),
                1 => size = 8,
                2 => size = self.varint(end)?,
                5 => size = 4,
                kind => {
                    return Err(invalid(format!(
                        "byte {begin}: a field of kind {kind}: this is no ONNX file, or it is damaged"
                    )));
                }
            }
            let left = end - self.at;
            if size > left {
                return Err(invalid(format!(
                    "byte {begin}: a field of {size} bytes, and {left} are left: this is no ONNX file, or it is cut short"
                )));
            }
            let field = tag >> 3;
            match (number, tag & 7) {
                (Some(number), _) => fields.integer(message, field, number),
                (None, 2) => self.bytes(message, field, size, depth, fields)?,
                (None, _) => {
                    if message == Message::Tensor && matches!(field, 4 | 10) {
                        fields.tensor.count += 1;
                    }
                    self.skip(size)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a field of bytes: a text or a message.
    fn bytes(&mut self, message: Message, field: u64, size: u64, depth: usize, fields: &mut Fields) -> io::Result<()> {
        let (begin, end) = (self.at, self.at + size);
        if let Some(inner) = message.inner(field) {
            let mut found = Fields::default();
            self.message(inner, end, depth + 1, &mut found)?;
            return self.take(message, inner, found, fields);
        }
        if message.is_packed(field) {
            while self.at < end {
                let number = self.varint(end)?;
                fields.integer(message, field, number);
            }
            return Ok(());
        }
        match (message, field) {
            (Message::Entry, 1 | 2) if size > MAX_NAME => {}
            (Message::Entry, 1) => fields.name = self.text(size)?,
            (Message::Entry, 2) => fields.value = self.text(size)?,
            (Message::Tensor, 8) | (Message::Attribute, 1) => fields.name = self.text(size)?,
            (Message::Node, 1) => fields.inputs.push(self.text(size)?),
            (Message::Node, 2) if fields.output.is_empty() => fields.output = self.text(size)?,
            (Message::Node, 4) => fields.operator = self.text(size)?,
            (Message::Tensor, 4) => fields.tensor.count += size / 4,
            (Message::Tensor, 6) => fields.tensor.count += 1,
            (Message::Tensor, 10) => fields.tensor.count += size / 8,
            (Message::Tensor, 9) => {
                fields.tensor.raw = Some(size);
                if size <= SHAPE_BYTES {
                    let mut bytes = vec![];
                    self.reader.by_ref().take(size).read_to_end(&mut bytes)?;
                    self.at += bytes.len() as u64;
                    fields.tensor.integers =
                        bytes.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect();
                }
            }
            _ => {}
        }
        // The bytes that were not read.
        match end.checked_sub(self.at) {
            Some(rest) => self.skip(rest),
            None => Err(invalid(format!("byte {begin}: a field ends early"))),
        }
    }

    /// Moves the fields `found` in an inner message into the outer one.
    fn take(&mut self, message: Message, inner: Message, found: Fields, fields: &mut Fields) -> io::Result<()> {
        match inner {
            Message::Graph => self.has_graph = true,
            Message::Entry if message == Message::Tensor => {
                let tensor = &mut fields.tensor;
                let number = || {
                    let wrong =
                        || invalid(format!("the {} of weights is '{}'", found.name, found.value.escape_debug()));
                    found.value.parse::<u64>().map_err(|_| wrong())
                };
                match &*found.name {
                    "location" => tensor.location = found.value,
                    "offset" => tensor.offset = number()?,
                    "length" => tensor.length = Some(number()?),
                    _ => {}
                }
            }
            Message::Tensor => {
                if let Some(needed) = found.tensor.check(&found.name)? {
                    let all = self.files.entry(found.tensor.location).or_default();
                    *all = needed.max(*all);
                } else if message == Message::Graph {
                    self.shapes.insert(found.name, found.tensor.shape());
                } else {
                    fields.constant = Some(found.tensor.shape());
                }
            }
            Message::Attribute => {
                if EXTENTS.contains(&&*found.name) && found.extent > MAX_EXTENT {
                    return Err(invalid(format!("{} of {}, and {MAX_EXTENT} is the most", found.name, found.extent)));
                }
                fields.constant = found.constant.or(fields.constant.take());
            }
            Message::Node => {
                self.num_nodes += 1;
                let size = match &*found.operator {
                    "ConstantOfShape" => 0,
                    "Expand" | "Tile" | "Pad" => 1,
                    "Constant" => {
                        self.shapes.insert(found.output, found.constant.unwrap_or_default());
                        return Ok(());
                    }
                    "ConvInteger" | "MatMulInteger" => {
                        self.multiplies_integers = true;
                        return Ok(());
                    }
                    _ => return Ok(()),
                };
                if let Some(name) = found.inputs.into_iter().nth(size) {
                    self.filled.push((found.operator, name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the sizes of tensors that operators fill, if the sizes are constants.
    fn check_filled(&self) -> io::Result<()> {
        for (operator, name) in &self.filled {
            let Some(sizes) = self.shapes.get(name) else { continue };
            let product = sizes.iter().try_fold(1_i64, |product, &size| product.checked_mul(size.max(1)));
            let is_good = match &**operator {
                "Pad" => sizes.iter().all(|&size| size <= MAX_EXTENT),
                _ => product.is_some_and(|product| product <= MAX_FILLED),
            };
            if !is_good {
                return Err(invalid(format!(
                    "{operator} makes a tensor of {sizes:?}, and {MAX_FILLED} values, padded by {MAX_EXTENT}, are the most"
                )));
            }
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
        let mut text = vec![];
        let begin = self.at;
        if size > MAX_NAME {
            return Err(invalid(format!("byte {begin}: a name of {size} bytes, and {MAX_NAME} are the most")));
        }
        let found = self.reader.by_ref().take(size).read_to_end(&mut text)?;
        self.at += found as u64;
        if u64::try_from(found) != Ok(size) {
            return Err(invalid(format!("byte {begin}: a text of {size} bytes, and {found} are left")));
        }
        String::from_utf8(text)
            .map_err(|_| invalid(format!("byte {begin}: a name that is not UTF-8: the file is damaged")))
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

    /// Returns a field with bytes.
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
        [head, entry("location", location), entry("offset", "8"), vec![0x70, 0x01]].concat()
    }

    fn model(graph: &[u8]) -> Vec<u8> {
        [vec![0x08, 0x08], field(2, b"exporter"), field(7, graph), field(14, b"")].concat()
    }

    fn names(bytes: &[u8]) -> io::Result<Vec<String>> {
        let end = u64::try_from(bytes.len()).unwrap();
        walk(Cursor::new(bytes), end).map(|walk| walk.files.into_keys().collect())
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
        let inside =
            |bytes: usize| model(&field(5, &[&[0x08, 10, 0x10, 0x01], &field(9, &vec![1; bytes])[..]].concat()));
        assert!(names(&inside(40)).unwrap().is_empty());
        for bytes in [0, 39, 41, 80] {
            let error = names(&inside(bytes)).unwrap_err().to_string();
            assert!(error.contains(&format!("of shape [10] needs 40 bytes and has {bytes}")), "{error}");
        }
        assert_eq!(names(&model(&field(15, &field(1, &tensor("s"))))).unwrap(), ["s"]);
    }

    #[test]
    fn products_of_integers_are_known_by_their_operators() {
        for (operator, expected) in [("MatMulInteger", true), ("ConvInteger", true), ("MatMul", false)] {
            let node = field(1, &field(4, operator.as_bytes()));
            // In the graph, and in the branch of a node.
            for graph in [node.clone(), field(1, &field(5, &field(6, &node)))] {
                let bytes = model(&graph);
                let walk = walk(Cursor::new(&bytes), u64::try_from(bytes.len()).unwrap()).unwrap();
                assert_eq!(walk.multiplies_integers, expected, "{operator}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_network_are_refused() {
        assert!(names(&[]).unwrap_err().to_string().contains("no graph"));
        let whole = model(&field(5, &tensor("a.data")));
        for end in 1..whole.len() {
            // Whole fields are a smaller network.
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
        let folder = std::env::temp_dir().join(format!("kaldera-weights-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("model.onnx");
        for (location, expected) in [("encoder.weights", true), ("below/w", true), ("../w", false), ("/etc/w", false)] {
            std::fs::write(&path, model(&field(5, &tensor(location)))).unwrap();
            let error = weight_files(&path).unwrap_err().to_string();
            assert!(error.contains(location), "{error}");
            let file = path.with_file_name(location);
            if !expected {
                assert!(error.contains("not beside it"), "{error}");
                continue;
            }
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            // 128 values of 4 bytes, at an offset of 8.
            std::fs::write(&file, [0; 519]).unwrap();
            let error = weight_files(&path).unwrap_err().to_string();
            assert!(error.contains("need 520 bytes of") && error.contains("which has 519"), "{error}");
            std::fs::write(&file, [0; 520]).unwrap();
            assert_eq!(weight_files(&path).unwrap(), [file]);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(weight_files(&path).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn sizes_that_nothing_holds_are_refused() {
        let number = |field: u8, value: u64| {
            let mut bytes = vec![field << 3];
            let mut rest = value;
            while rest > 0x7f {
                bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).unwrap());
            bytes
        };
        let node = |operator: &str, inputs: &[&str], more: &[u8]| {
            let inputs = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect::<Vec<u8>>();
            field(1, &[&inputs[..], &field(4, operator.as_bytes()), more].concat())
        };
        let shape = |sizes: &[i64]| {
            let raw: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
            let dims = number(1, sizes.len() as u64);
            field(5, &[&dims[..], &number(2, 7), &field(8, b"s"), &field(9, &raw)].concat())
        };
        let pads = |most: u64| field(5, &[field(1, b"pads"), number(8, 3), number(8, most)].concat());
        let is_good = |graph: &[u8]| names(&model(graph)).is_ok();
        for (most, expected) in [(200, true), (1 << 16, true), (1 << 31, false), (u64::MAX, true)] {
            assert_eq!(is_good(&node("Conv", &["x", "w"], &pads(most))), expected, "{most}");
        }
        for (operator, inputs) in [("ConstantOfShape", &["s"][..]), ("Expand", &["x", "s"]), ("Tile", &["x", "s"])] {
            for (sizes, expected) in [(&[80, -1, 500][..], true), (&[1 << 40], false), (&[1 << 20, 1 << 20], false)] {
                assert_eq!(is_good(&[node(operator, inputs, &[]), shape(sizes)].concat()), expected, "{operator}");
            }
        }
        assert!(is_good(&[node("Reshape", &["x", "s"], &[]), shape(&[1 << 40])].concat()));
        let error = |tensor: &[u8]| names(&model(&field(5, tensor))).unwrap_err().to_string();
        assert!(error(&[number(1, 1 << 62), number(1, 4), number(2, 1)].concat()).contains("has the shape"));
        assert!(error(&[number(1, u64::MAX), number(2, 1)].concat()).contains("has the shape [-1]"));
        assert!(error(&[number(1, 100), number(2, 1)].concat()).contains("has 0 values"));
        // A number of more than ten bytes where only the runtime would read it.
        let long = [&[0x38][..], &[0xff; 20], &[1]].concat();
        assert!(error(&long).contains("more than 64 bits"));
        let value_info = field(11, &field(2, &field(1, &field(2, &field(1, &[&[8][..], &[0xff; 20]].concat())))));
        assert!(names(&model(&value_info)).unwrap_err().to_string().contains("more than 64 bits"));
    }
}
