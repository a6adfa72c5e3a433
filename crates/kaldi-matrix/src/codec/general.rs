//! Matrices of any kind.

use std::io::{self, BufRead, Write};

use crate::codec::binary::{MatrixKind, read_full};
use crate::codec::reader::ByteReader;
use crate::codec::{CodecError, KaldiRead, KaldiWrite, compressed, sparse, text};
use crate::general::GeneralMatrix;
use crate::sparse::SparseMatrix;

/// The data determine the kind. A compressed matrix that was written as text is read as a full one.
impl KaldiRead for GeneralMatrix {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut reader = ByteReader::new(r);
        if binary {
            let token = reader.token("a matrix")?;
            if token.bytes == b"SM" {
                return sparse::read_binary_matrix(&mut reader).map(Self::Sparse);
            }
            return match MatrixKind::from_token(&token)? {
                MatrixKind::Full(precision) => read_full(&mut reader, precision).map(Self::Full),
                MatrixKind::Compressed(token) => compressed::read(&mut reader, token).map(Self::Compressed),
            };
        }
        reader.skip_whitespace()?;
        if reader.peek()? != Some(b'r') {
            return text::read_matrix(&mut reader).map(Self::Full);
        }
        let start = reader.offset();
        SparseMatrix::read_body(r, false).map(Self::Sparse).map_err(|error| error.shifted(start))
    }
}

impl KaldiWrite for GeneralMatrix {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        match self {
            Self::Full(m) => m.write_body(w, binary),
            Self::Compressed(m) => m.write_body(w, binary),
            Self::Sparse(m) => m.write_body(w, binary),
        }
    }
}
