//! The shape of a matrix without its elements.

use std::io::BufRead;

use crate::codec::binary::{MatrixKind, Precision, read_size};
use crate::codec::compressed::{self, Token};
use crate::codec::reader::ByteReader;
use crate::codec::{CodecError, read_header, sparse, text};
use crate::matrix::Matrix;
use crate::sparse::SparseMatrix;

/// Storage of the elements of a matrix in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixStorage {
    /// 32-bit numbers (`FM`).
    Single,
    /// 64-bit numbers (`DM`).
    Double,
    /// One byte for each element, and 8 for each column (`CM`).
    CompressedColumns,
    /// Two bytes for each element (`CM2`).
    CompressedTwoBytes,
    /// One byte for each element (`CM3`).
    CompressedOneByte,
    /// The elements that are not zero, with their indexes (`SM`, or as text).
    Sparse,
    /// All elements as text.
    Text,
}

/// The header of a matrix: its shape, and the storage of its elements.
///
/// ```
/// use kaldi_matrix::{Matrix, codec};
/// let mut bytes = Vec::new();
/// codec::write(&mut bytes, &Matrix::<f32>::zeros(100, 80), true)?;
/// let header = codec::MatrixHeader::read(&mut &bytes[..15])?;
/// assert_eq!((header.rows, header.cols, header.storage), (100, 80, codec::MatrixStorage::Single));
/// assert_eq!(header.element_bytes, 100 * 80 * 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatrixHeader {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Storage of the elements.
    pub storage: MatrixStorage,
    /// Number of bytes of elements that follow. 0 for sparse matrices and text, whose shape is
    /// known only after reading them.
    pub element_bytes: u64,
}

impl MatrixHeader {
    /// Reads a matrix of any kind, with its `\0B` if it is binary, up to its elements. Sparse
    /// matrices and text are read completely.
    ///
    /// # Errors
    /// [`CodecError`] for an invalid shape, and for bytes that are not a matrix.
    pub fn read(r: &mut dyn BufRead) -> Result<Self, CodecError> {
        let binary = read_header(r)?;
        let mut r = ByteReader::new(r);
        if binary { read_binary(&mut r) } else { read_text(&mut r) }.map_err(|e| e.shifted(if binary { 2 } else { 0 }))
    }
}

fn read_binary(r: &mut ByteReader<'_>) -> Result<MatrixHeader, CodecError> {
    let token = r.token("a matrix")?;
    if token.bytes == b"SM" {
        let shape = sparse::read_binary_matrix::<f32>(r)?.shape();
        return Ok(MatrixHeader {
            rows: shape.rows,
            cols: shape.cols,
            storage: MatrixStorage::Sparse,
            element_bytes: 0,
        });
    }
    let at = r.offset();
    // Number of bytes for each element, and for each column.
    let (storage, bytes, column_bytes) = match MatrixKind::from_token(&token)? {
        MatrixKind::Full(Precision::Single) => (MatrixStorage::Single, 4, 0),
        MatrixKind::Full(Precision::Double) => (MatrixStorage::Double, 8, 0),
        MatrixKind::Compressed(Token::Columns) => (MatrixStorage::CompressedColumns, 1, compressed::COLUMN_HEADER),
        MatrixKind::Compressed(Token::TwoBytes) => (MatrixStorage::CompressedTwoBytes, 2, 0),
        MatrixKind::Compressed(Token::OneByte) => (MatrixStorage::CompressedOneByte, 1, 0),
    };
    let (rows, cols) = if bytes >= 4 {
        (read_size(r, "a number of rows")?, read_size(r, "a number of columns")?)
    } else {
        let (_, rows, cols) = compressed::read_header(r)?;
        (rows, cols)
    };
    let column_bytes = cols.checked_mul(column_bytes);
    let element_bytes = rows.checked_mul(cols).and_then(|len| len.checked_mul(bytes)?.checked_add(column_bytes?));
    match element_bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
        Some(element_bytes) if (rows == 0) == (cols == 0) => Ok(MatrixHeader { rows, cols, storage, element_bytes }),
        _ => Err(CodecError::Unexpected {
            offset: at,
            expected: "a possible matrix size".into(),
            found: format!("{rows} x {cols}"),
        }),
    }
}

fn read_text(r: &mut ByteReader<'_>) -> Result<MatrixHeader, CodecError> {
    r.skip_whitespace()?;
    let (shape, storage) = if r.peek()? == Some(b'r') {
        let m: SparseMatrix<f32> = sparse::read_text_matrix(r)?;
        (m.shape(), MatrixStorage::Sparse)
    } else {
        let m: Matrix<f32> = text::read_matrix(r)?;
        (m.shape(), MatrixStorage::Text)
    };
    Ok(MatrixHeader { rows: shape.rows, cols: shape.cols, storage, element_bytes: 0 })
}
