//! Text: k2's notation of shapes, `[ [ x x ] [ ] ]`, and of tensors, `[ [ 1 2 ] [ ] ]`.
//!
//! ```
//! use ragged_core::{Ragged, RaggedShape};
//!
//! let shape: RaggedShape = "[[x x] []]".parse()?;
//! assert_eq!(shape.to_string(), "[ [ x x ] [ ] ]");
//!
//! let weights: Ragged<f32> = "[[0.1, -inf], [], [3]]".parse()?;
//! assert_eq!(weights.to_string(), "[ [ 0.1 -inf ] [ ] [ 3 ] ]");
//! assert_eq!(
//!     weights.to_k2_string_compact(),
//!     "RaggedTensor([[0.1, -inf], [], [3]], dtype=torch.float32)"
//! );
//!
//! let error = "[ [ x ] [ [ x ] ] ]".parse::<RaggedShape>().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "\
//! line 1, column 11: a list at depth 3, where lists at depth 2 have elements
//!     [ [ x ] [ [ x ] ] ]
//!               ^"
//! );
//! # Ok::<(), ragged_core::Error>(())
//! ```
//!
//! Spaces are allowed anywhere between brackets and elements, and commas too between values. The
//! depth of the deepest bracket is the number of axes, at least two: `[ ]` has two axes and no row.
//! Elements are at one depth only. Text is read in one pass without recursion, in memory
//! proportional to its length, whatever its content.
//!
//! Values are printed with the fewest digits that read back as the same number; only the payload of
//! a NaN is lost. [`to_k2_string`](Ragged::to_k2_string) prints as k2 does, with six digits of a
//! float.

use std::fmt::{self, Write};
use std::str::FromStr;

use kaldera_base::text::general;

use crate::error::Error;
use crate::parse_error::{ParseError, ParseErrorKind};
use crate::ragged::Ragged;
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;

/// A type of values that k2's notation can hold.
pub trait TextValue: Sized {
    /// The kind of text that a parse error expected for this type.
    const EXPECTED: &'static str;
    /// PyTorch's name of the type, which k2 prints.
    const TORCH_NAME: &'static str;

    /// Reads a value from its text, which contains no space, comma or bracket.
    fn from_text(text: &str) -> Option<Self>;

    /// Prints the value with the fewest digits from which [`from_text`](Self::from_text) reads the
    /// same value.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_text(&self, out: &mut dyn Write) -> fmt::Result;

    /// Prints the value as k2 does.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_k2_text(&self, out: &mut dyn Write) -> fmt::Result {
        self.write_text(out)
    }
}

macro_rules! integers {
    ($($Type:ty: $expected:literal, $torch:literal;)*) => {$(
        impl TextValue for $Type {
            const EXPECTED: &'static str = $expected;
            const TORCH_NAME: &'static str = $torch;

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn write_text(&self, out: &mut dyn Write) -> fmt::Result {
                write!(out, "{self}")
            }
        }
    )*};
}

integers! {
    i8: "an integer of 8 bits", "torch.int8";
    i16: "an integer of 16 bits", "torch.int16";
    i32: "an integer of 32 bits", "torch.int32";
    i64: "an integer of 64 bits", "torch.int64";
    u8: "an unsigned integer of 8 bits", "torch.uint8";
    u16: "an unsigned integer of 16 bits", "torch.uint16";
    u32: "an unsigned integer of 32 bits", "torch.uint32";
    u64: "an unsigned integer of 64 bits", "torch.uint64";
}

macro_rules! floats {
    ($($Type:ty: $torch:literal;)*) => {$(
        impl TextValue for $Type {
            const EXPECTED: &'static str = "a number";
            const TORCH_NAME: &'static str = $torch;

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn write_text(&self, out: &mut dyn Write) -> fmt::Result {
                let size = self.abs();
                if self.is_nan() {
                    out.write_str("nan")
                } else if size == 0.0 || (1e-5..1e16).contains(&size) || size.is_infinite() {
                    write!(out, "{self}")
                } else {
                    write!(out, "{self:e}")
                }
            }

            fn write_k2_text(&self, out: &mut dyn Write) -> fmt::Result {
                if self.is_finite() { out.write_str(&general(f64::from(*self), 6)) } else { self.write_text(out) }
            }
        }
    )*};
}

floats! {
    f32: "torch.float32";
    f64: "torch.float64";
}

/// Builder of row splits, one bracket or element at a time.
#[derive(Default)]
struct Builder {
    /// The splits of the axes from 1 on; a row is complete when its bracket is closed.
    splits: Vec<Vec<i32>>,
    elements: usize,
    open: usize,
    ended: bool,
}

impl Builder {
    fn open(&mut self) -> Result<(), ParseErrorKind> {
        if self.ended {
            return Err(ParseErrorKind::TrailingText);
        }
        if self.open > self.splits.len() {
            if self.elements > 0 {
                return Err(ParseErrorKind::ListDepth { found: self.open + 1, expected: self.open });
            }
            self.splits.push(vec![0]);
        }
        self.open += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), ParseErrorKind> {
        self.must_be_open()?;
        let inside = self.splits.get(self.open - 1).map_or(self.elements, |inner| inner.len() - 1);
        self.open -= 1;
        match self.open.checked_sub(1) {
            Some(axis) => self.splits[axis].push(i32::try_from(inside).map_err(|_| ParseErrorKind::TooLarge)?),
            None => self.ended = true,
        }
        Ok(())
    }

    fn element(&mut self) -> Result<(), ParseErrorKind> {
        self.must_be_open()?;
        let expected = self.splits.len().max(1) + 1;
        if self.open != expected {
            return Err(ParseErrorKind::ElementDepth { found: self.open, expected });
        }
        self.elements += 1;
        Ok(())
    }

    fn must_be_open(&self) -> Result<(), ParseErrorKind> {
        match (self.open, self.ended) {
            (0, true) => Err(ParseErrorKind::TrailingText),
            (0, false) => Err(ParseErrorKind::NoList),
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Vec<Vec<i32>>, ParseErrorKind> {
        match (self.open, self.ended) {
            (_, true) => {}
            (0, false) => return Err(ParseErrorKind::NoList),
            (open, false) => return Err(ParseErrorKind::Unclosed { open }),
        }
        if self.splits.is_empty() {
            self.splits.push(vec![0]);
        }
        Ok(self.splits)
    }
}

/// Reads a text. `element` reads an element from the start of the remaining text, and returns its
/// length in bytes.
fn read(
    text: &str,
    expected: &'static str,
    is_space: fn(char) -> bool,
    mut element: impl FnMut(&str) -> Option<usize>,
) -> Result<RaggedShape, Error> {
    let mut builder = Builder::default();
    let mut position = 0;
    while let Some(next) = text[position..].chars().next() {
        let length = match next {
            '[' => builder.open().map(|()| 1),
            ']' => builder.close().map(|()| 1),
            _ if is_space(next) => Ok(next.len_utf8()),
            _ => builder
                .element()
                .and_then(|()| element(&text[position..]).ok_or(ParseErrorKind::NotAnElement { expected })),
        };
        position += length.map_err(|kind| ParseError::new(kind, text, position))?;
    }
    let splits = builder.finish().map_err(|kind| ParseError::new(kind, text, position))?;
    RaggedShape::new(splits.into_iter().map(RowSplits::new).collect::<Result<Vec<_>, _>>()?)
}

impl FromStr for RaggedShape {
    type Err = Error;

    /// Reads k2's notation, `[ [ x x ] [ ] ]`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let element = |rest: &str| rest.starts_with('x').then_some(1);
        read(text, "'[', ']' or 'x'", |c| c.is_ascii_whitespace(), element)
    }
}

impl<T: TextValue> FromStr for Ragged<T> {
    type Err = Error;

    /// Reads k2's notation, `[ [ 1 2 ] [ ] ]` or `[[1, 2], []]`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let is_space = |c: char| c.is_ascii_whitespace() || c == ',';
        let mut values = Vec::new();
        let shape = read(text, T::EXPECTED, is_space, |rest| {
            let token = rest.split(|c| is_space(c) || c == '[' || c == ']').next()?;
            values.push(T::from_text(token)?);
            Some(token.len())
        })?;
        Self::new(shape, values)
    }
}

/// The tensor in a text whose type of values is not known beforehand: `i32` if every value is an
/// `i32`, `f32` otherwise, as in k2.
///
/// ```
/// use ragged_core::Numbers;
///
/// assert!(matches!("[[1 2] []]".parse()?, Numbers::I32(_)));
/// assert!(matches!("[[1 2.0] []]".parse()?, Numbers::F32(_)));
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "RaggedTensor(str)")]
pub enum Numbers {
    /// All values are integers, or there are no values.
    I32(Ragged<i32>),
    /// Some value is not a 32-bit integer.
    F32(Ragged<f32>),
}

impl FromStr for Numbers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(integers) => Ok(Self::I32(integers)),
            Err(Error::Parse(ParseError { kind: ParseErrorKind::NotAnElement { .. }, .. })) => {
                text.parse().map(Self::F32)
            }
            Err(error) => Err(error),
        }
    }
}

/// A bracket or an element of a text; `first` if it is the first in its list.
enum Step {
    Open { depth: usize, first: bool },
    Element { index: usize, first: bool },
    Close,
}

/// Calls `visit` for everything in the text of `shape`, in order.
fn walk(shape: &RaggedShape, mut visit: impl FnMut(Step) -> fmt::Result) -> fmt::Result {
    let leaves = shape.num_axes();
    // The remaining part of each open list, and `true` if it is the whole list.
    let mut open = vec![(0..shape.dim0(), true)];
    visit(Step::Open { depth: 0, first: true })?;
    while let Some((rest, whole)) = open.last_mut() {
        let first = std::mem::replace(whole, false);
        let next = rest.next();
        let depth = open.len();
        match next {
            None => {
                visit(Step::Close)?;
                open.pop();
            }
            Some(index) if depth == leaves => visit(Step::Element { index, first })?,
            Some(row) => {
                visit(Step::Open { depth, first })?;
                open.push((shape.row_splits(depth).row(row), true));
            }
        }
    }
    Ok(())
}

/// Prints k2's notation with single spaces.
fn write_spaced(
    shape: &RaggedShape,
    out: &mut fmt::Formatter<'_>,
    mut element: impl FnMut(usize, &mut dyn Write) -> fmt::Result,
) -> fmt::Result {
    walk(shape, |step| match step {
        Step::Open { depth: 0, .. } => out.write_str("["),
        Step::Open { .. } => out.write_str(" ["),
        Step::Close => out.write_str(" ]"),
        Step::Element { index, .. } => {
            out.write_str(" ")?;
            element(index, out)
        }
    })
}

impl fmt::Display for RaggedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_spaced(self, f, |_, out| out.write_str("x"))
    }
}

impl<T: TextValue> fmt::Display for Ragged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_spaced(self.shape(), f, |index, out| self.values()[index].write_text(out))
    }
}

impl<T: TextValue> Ragged<T> {
    /// Prints as k2's `str`: a line for each innermost list, floats with six digits.
    #[must_use]
    #[doc(alias = "__str__")]
    pub fn to_k2_string(&self) -> String {
        // The brackets of a list are below the brackets of the list before it.
        self.k2_string(|out, depth| write!(out, ",\n{:width$}", "", width = K2_START.len() + depth))
    }

    /// Prints as k2's `to_str_simple`: [`to_k2_string`](Self::to_k2_string) in one line.
    #[must_use]
    #[doc(alias = "to_str_simple")]
    pub fn to_k2_string_compact(&self) -> String {
        self.k2_string(|out, _| out.write_str(", "))
    }

    fn k2_string(&self, between_lists: impl Fn(&mut String, usize) -> fmt::Result) -> String {
        let mut text = String::from(K2_START);
        let written = walk(self.shape(), |step| match step {
            Step::Open { depth, first } => {
                if !first {
                    between_lists(&mut text, depth)?;
                }
                text.write_str("[")
            }
            Step::Close => text.write_str("]"),
            Step::Element { index, first } => {
                if !first {
                    text.write_str(", ")?;
                }
                self.values()[index].write_k2_text(&mut text)
            }
        });
        debug_assert!(written.is_ok(), "a String takes everything");
        text + ", dtype=" + T::TORCH_NAME + ")"
    }
}

const K2_START: &str = "RaggedTensor(";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splits(text: &str) -> Vec<Vec<i32>> {
        let shape: RaggedShape = text.parse().unwrap();
        (1..shape.num_axes()).map(|axis| shape.row_splits(axis).as_ref().to_vec()).collect()
    }

    #[test]
    fn the_deepest_bracket_makes_the_number_of_axes() {
        assert_eq!(splits("[]"), [[0]]);
        assert_eq!(splits(" [ [ ]\n] "), [[0, 0]]);
        assert_eq!(splits("[[][[]]]"), [vec![0, 0, 1], vec![0, 0]]);
        assert_eq!(splits("[[xx][]]"), [[0, 2, 2]]);
        assert_eq!(splits("[[[x][x x]][][[]]]"), [vec![0, 2, 2, 3], vec![0, 1, 3, 3]]);
    }

    #[test]
    fn errors_have_their_position() {
        let of = |text: &str| match text.parse::<RaggedShape>() {
            Err(Error::Parse(error)) => (error.kind, error.position),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(of(""), (ParseErrorKind::NoList, 0));
        assert_eq!(of(" x"), (ParseErrorKind::NoList, 1));
        assert_eq!(of("] ["), (ParseErrorKind::NoList, 0));
        assert_eq!(of("[["), (ParseErrorKind::Unclosed { open: 2 }, 2));
        assert_eq!(of("[x]"), (ParseErrorKind::ElementDepth { found: 1, expected: 2 }, 1));
        assert_eq!(of("[[[]] [x]]"), (ParseErrorKind::ElementDepth { found: 2, expected: 3 }, 7));
        assert_eq!(of("[[x] [[]]]"), (ParseErrorKind::ListDepth { found: 3, expected: 2 }, 6));
        assert_eq!(of("[[y]]"), (ParseErrorKind::NotAnElement { expected: "'[', ']' or 'x'" }, 2));
        assert_eq!(of("[[x,x]]"), (ParseErrorKind::NotAnElement { expected: "'[', ']' or 'x'" }, 3));
        for (text, position) in [("[[]] x", 5), ("[[]]]", 4), ("[[]][]", 4)] {
            assert_eq!(of(text), (ParseErrorKind::TrailingText, position));
        }
    }

    #[test]
    fn an_error_shows_the_line_and_a_caret() {
        let long = format!("[[1]\n\t[{} é?]]", "2 ".repeat(50));
        let error = long.parse::<Ragged<i32>>().unwrap_err().to_string();
        let excerpt = format!("{} é?]]", "2 ".repeat(18)).split_off(1);
        assert_eq!(error, format!("line 2, column 104: expected an integer of 32 bits\n    {excerpt}\n    {:36}^", ""));
    }

    #[test]
    fn integers_do_not_wrap() {
        assert!("[[2147483647 -2147483648]]".parse::<Ragged<i32>>().is_ok());
        for text in ["[[2147483648]]", "[[1.0]]", "[[1-2]]", "[[0x1]]", "[[--1]]"] {
            assert!(text.parse::<Ragged<i32>>().is_err(), "{text}");
        }
        assert!(matches!("[[2147483648]]".parse().unwrap(), Numbers::F32(_)));
        assert!("[[a]]".parse::<Numbers>().is_err());
    }

    #[test]
    fn floats_print_as_short_as_they_read_back() {
        let text = "[ [ 0 -0 0.1 16777216 1e20 1e-45 3.4028235e38 inf -inf nan ] ]";
        assert_eq!(text.parse::<Ragged<f32>>().unwrap().to_string(), text);
    }

    #[test]
    fn k2_prints_six_digits() {
        let numbers: Ragged<f64> =
            "[[0 -0 1 -1.5 0.1234567 123456.7 1234567 999999.5 1e-4 0.00001 -1.25e300 nan -inf]]".parse().unwrap();
        assert_eq!(
            numbers.to_k2_string_compact(),
            "RaggedTensor([[0, -0, 1, -1.5, 0.123457, 123457, 1.23457e+06, 1e+06, 0.0001, 1e-05, -1.25e+300, nan, -inf]], \
             dtype=torch.float64)"
        );
    }

    #[test]
    fn k2_prints_a_line_for_each_innermost_list() {
        let numbers: Ragged<i32> = "[[[1 2] []] [] [[3]]]".parse().unwrap();
        let indent = " ".repeat(14);
        assert_eq!(
            numbers.to_k2_string(),
            format!("RaggedTensor([[[1, 2],\n{indent} []],\n{indent}[],\n{indent}[[3]]], dtype=torch.int32)")
        );
    }
}
