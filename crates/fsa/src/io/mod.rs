//! Reading and writing: the text of k2 and OpenFst, OpenFst's binary files, symbol tables, plain arrays, drawings.

mod cursor;
mod k2_text;
mod openfst;
mod parse_error;

pub use k2_text::K2Text;
pub use openfst::Semiring;
pub use parse_error::{ParseError, ParseErrorKind};
