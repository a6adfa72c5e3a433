//! Reading and writing: the text of k2 and OpenFst, OpenFst's binary files, symbol tables, plain
//! arrays, drawings.

mod bytes;
pub(crate) mod cursor;
mod draw;
mod graph_file;
mod k2_text;
#[cfg(feature = "npz")]
mod npz;
mod openfst;
pub(crate) mod openfst_binary;
mod openfst_text;
pub(crate) mod symbols;
mod tensor;

pub use crate::error::parse::{ParseError, ParseErrorKind};
pub use draw::Drawing;
pub use graph_file::{GraphFile, GraphFormat};
pub use k2_text::K2Text;
#[cfg(feature = "npz")]
pub use npz::{NpzError, read_npz, write_npz};
pub use openfst_binary::{OpenFstBinary, TransducerFile};
pub use openfst_text::OpenFstText;
pub use symbols::SymbolTable;
pub use tensor::{
    ARCS, Dict, Entry, from_dict, fsa_from_tensor, fsa_to_tensor, fsa_vec_from_tensor, fsa_vec_to_tensor, to_dict,
};
