//! The header: a magic number, a version, a length, and a Python dictionary with type, order and
//! shape.

use std::fmt;
use std::io::Read;

use crate::dims::Shape;
use crate::layout::Order;
use crate::npy::{NpyError, read_up_to};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read: enough for any number of axes that makes sense, and many more.
const MAX_LEN: u64 = 1 << 20;

/// The elements start at a multiple of this.
const ALIGNMENT: usize = 64;

/// NumPy leaves room for the first length to grow to so many digits.
const GROWTH_DIGITS: usize = 21;

/// The kind of an element type, without its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    Integer,
    Unsigned,
    Float,
    Complex,
}

impl Kind {
    const ALL: [(Self, char); 5] =
        [(Self::Bool, 'b'), (Self::Integer, 'i'), (Self::Unsigned, 'u'), (Self::Float, 'f'), (Self::Complex, 'c')];

    fn letter(self) -> char {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or('?', |(_, letter)| *letter)
    }
}

/// A type of elements as NumPy names it, without the byte order: `f4`, `i8`, `b1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NpyType {
    kind: Kind,
    size: usize,
}

impl NpyType {
    pub(super) const fn new(kind: Kind, size: usize) -> Self {
        Self { kind, size }
    }

    /// Bytes of an element.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    pub(super) fn kind(self) -> Kind {
        self.kind
    }
}

impl fmt::Display for NpyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.letter(), self.size)
    }
}

/// The kind of error in a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderProblem {
    /// It ends too early.
    #[error("it ends here")]
    Ends,
    /// Something else was expected here.
    #[error("{expected} is expected")]
    Expected {
        /// Description of the expected text.
        expected: &'static str,
    },
    /// A key that is not part of the format.
    #[error("the key '{key}' is unknown")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key that occurs twice.
    #[error("the key '{key}' stands twice")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// A key that is missing.
    #[error("the key '{key}' is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A type of elements that cannot be read here, such as structures, text or objects.
    #[error("elements of type '{name}' cannot be read")]
    UnknownType {
        /// The type as written in the header.
        name: String,
    },
}

/// The header of a `.npy` file, which describes the array.
///
/// ```
/// use tensor_strided::{Order, Tensor, npy::{Header, NpyType}};
///
/// let mut file = Vec::new();
/// Tensor::full([2, 3], 7_i64)?.write_npy(&mut file)?;
/// let header = Header::read(&file[..])?;
/// assert_eq!((&header.shape()[..], header.order()), (&[2, 3][..], Order::C));
/// assert_eq!(
///     (header.element(), header.element().to_string()),
///     (NpyType::for_type::<i64>(), "i8".into())
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    element: NpyType,
    big_endian: bool,
    order: Order,
    shape: Shape,
}

impl Header {
    pub(super) fn new(element: NpyType, shape: &Shape, order: Order) -> Self {
        Self { element, big_endian: false, order, shape: shape.clone() }
    }

    /// The type of the elements.
    #[must_use]
    pub fn element(&self) -> NpyType {
        self.element
    }

    /// Returns `true` if the elements have their highest byte first.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    /// The order of the elements.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// The shape of the array. It has not been checked against the number of elements.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Reads a header, up to the first element.
    ///
    /// # Errors
    /// The errors of [`NpyError`] that are about the header.
    pub fn read(mut input: impl Read) -> Result<Self, NpyError> {
        let mut start = [0; 8];
        if read_up_to(&mut input, &mut start)? < start.len() || start[..6] != *MAGIC {
            return Err(NpyError::NotNpy);
        }
        let [.., major, minor] = start;
        let mut len_bytes = [0; 4];
        let width = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(NpyError::Version { major, minor }),
        };
        let ends = |position| NpyError::Header { position, problem: HeaderProblem::Ends };
        if read_up_to(&mut input, &mut len_bytes[..width])? < width {
            return Err(ends(0));
        }
        let len = u64::from(u32::from_le_bytes(len_bytes));
        if len > MAX_LEN {
            return Err(NpyError::HeaderTooLong { len, limit: MAX_LEN });
        }
        let mut text = Vec::new();
        input.take(len).read_to_end(&mut text)?;
        if text.len() as u64 != len {
            return Err(ends(text.len()));
        }
        Parser { text: &text, position: 0 }.header()
    }

    /// The header as NumPy writes it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { element, order, shape, .. } = self;
        let endian = if element.size == 1 { '|' } else { '<' };
        let fortran = if *order == Order::F { "True" } else { "False" };
        let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let mut text = format!(
            "{{'descr': '{endian}{element}', 'fortran_order': {fortran}, 'shape': ({}{comma}), }}",
            lengths.join(", ")
        );
        // The axis that more elements would be added to.
        let growing = if *order == Order::F { lengths.last() } else { lengths.first() };
        let room = growing.map_or(0, |digits| GROWTH_DIGITS.saturating_sub(digits.len()));
        text.extend(std::iter::repeat_n(' ', room));
        let padded = |prefix: usize| (prefix + text.len() + 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT - prefix;
        let mut bytes = MAGIC.to_vec();
        let len = match u16::try_from(padded(10)) {
            Ok(len) => {
                bytes.extend([1, 0]);
                bytes.extend(len.to_le_bytes());
                usize::from(len)
            }
            Err(_) => {
                let len = padded(12);
                bytes.extend([2, 0]);
                bytes.extend(u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
                len
            }
        };
        text.extend(std::iter::repeat_n(' ', len - text.len() - 1));
        text.push('\n');
        bytes.extend(text.bytes());
        bytes
    }
}

/// Reads the dictionary: the part of Python's grammar that such headers use.
struct Parser<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> Parser<'a> {
    fn header(mut self) -> Result<Header, NpyError> {
        let (mut element, mut order, mut shape) = (None, None, None);
        self.expect(b'{', "a dictionary")?;
        while !self.accept(b'}') {
            let (at, key) = (self.position, self.string("a key")?);
            self.expect(b':', "a colon")?;
            let repeated = match &*key {
                "descr" => element.replace(self.element()?).is_some(),
                "fortran_order" => order.replace(if self.truth()? { Order::F } else { Order::C }).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(self.problem_at(at, HeaderProblem::UnknownKey { key })),
            };
            if repeated {
                return Err(self.problem_at(at, HeaderProblem::RepeatedKey { key }));
            }
            if !self.accept(b',') {
                self.expect(b'}', "a comma or the end of the dictionary")?;
                break;
            }
        }
        let end = self.position;
        self.skip_spaces();
        if self.position < self.text.len() {
            return Err(self.expected("the end"));
        }
        let missing = |key| NpyError::Header { position: end, problem: HeaderProblem::MissingKey { key } };
        let (element, big_endian) = element.ok_or_else(|| missing("descr"))?;
        let order = order.ok_or_else(|| missing("fortran_order"))?;
        Ok(Header { element, big_endian, order, shape: shape.ok_or_else(|| missing("shape"))? })
    }

    /// A type and whether its highest byte comes first.
    fn element(&mut self) -> Result<(NpyType, bool), NpyError> {
        self.skip_spaces();
        let at = self.position;
        if matches!(self.text.get(at), Some(b'[' | b'(')) {
            let name = String::from_utf8_lossy(&self.text[at..]).chars().take(40).collect();
            return Err(self.problem_at(at, HeaderProblem::UnknownType { name }));
        }
        let name = self.string("a type")?;
        let parts = || {
            let mut letters = name.chars();
            let endian = letters.next()?;
            let letter = letters.next()?;
            let (kind, _) = Kind::ALL.into_iter().find(|(_, other)| *other == letter)?;
            let size: usize = letters.as_str().parse().ok()?;
            let sizes: &[usize] = match kind {
                Kind::Bool => &[1],
                Kind::Integer | Kind::Unsigned => &[1, 2, 4, 8],
                Kind::Float => &[2, 4, 8],
                Kind::Complex => &[8, 16],
            };
            let big_endian = match endian {
                '<' => false,
                '>' => true,
                '=' => cfg!(target_endian = "big"),
                '|' if size == 1 => false,
                _ => return None,
            };
            sizes.contains(&size).then_some((NpyType { kind, size }, big_endian))
        };
        parts().ok_or_else(|| self.problem_at(at, HeaderProblem::UnknownType { name: name.clone() }))
    }

    fn truth(&mut self) -> Result<bool, NpyError> {
        self.skip_spaces();
        let rest = &self.text[self.position..];
        let (value, len) = match rest {
            [b'T', b'r', b'u', b'e', ..] => (true, 4),
            [b'F', b'a', b'l', b's', b'e', ..] => (false, 5),
            _ => return Err(self.expected("True or False")),
        };
        self.position += len;
        Ok(value)
    }

    fn shape(&mut self) -> Result<Shape, NpyError> {
        self.expect(b'(', "a tuple")?;
        let mut shape = Shape::new();
        while !self.accept(b')') {
            shape.push(self.length()?);
            if !self.accept(b',') {
                if shape.len() == 1 {
                    // (3) is a number in Python, not a tuple.
                    return Err(self.expected("a comma"));
                }
                self.expect(b')', "a comma or the end of the tuple")?;
                break;
            }
        }
        Ok(shape)
    }

    /// A whole number; Python 2 wrote some with an L behind.
    fn length(&mut self) -> Result<usize, NpyError> {
        self.skip_spaces();
        let rest = &self.text[self.position..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.expected("a length that fits in memory"))?;
        self.position += digits;
        self.accept(b'L');
        Ok(number)
    }

    fn string(&mut self, what: &'static str) -> Result<String, NpyError> {
        self.skip_spaces();
        let Some(&quote @ (b'\'' | b'"')) = self.text.get(self.position) else { return Err(self.expected(what)) };
        let rest = &self.text[self.position + 1..];
        let len = rest.iter().position(|&byte| byte == quote);
        let Some(len) = len else { return Err(self.problem_at(self.text.len(), HeaderProblem::Ends)) };
        self.position += len + 2;
        Ok(String::from_utf8_lossy(&rest[..len]).into_owned())
    }

    fn skip_spaces(&mut self) {
        while self.text.get(self.position).is_some_and(u8::is_ascii_whitespace) {
            self.position += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let there = self.text.get(self.position) == Some(&byte);
        self.position += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NpyError> {
        if self.accept(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn expected(&self, expected: &'static str) -> NpyError {
        let ends = self.position >= self.text.len();
        let problem = if ends { HeaderProblem::Ends } else { HeaderProblem::Expected { expected } };
        self.problem_at(self.position, problem)
    }

    fn problem_at(&self, position: usize, problem: HeaderProblem) -> NpyError {
        NpyError::Header { position, problem }
    }
}
