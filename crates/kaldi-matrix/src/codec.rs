//! Kaldi's binary and text formats of vectors and matrices, over any `BufRead` and `Write`.
//!
//! An object in a file has two parts: a header, `\0B` for binary and nothing for text, and a body.
//!
//! ```text
//! binary matrix   \0B  FM␣  04 rows:i32  04 cols:i32  rows * cols little-endian f32  (DM: f64)
//!                                                     without padding
//! binary vector   \0B  FV␣  04 dim:i32                dim little-endian f32          (DV: f64)
//! compressed      \0B  CM␣  min:f32 range:f32 rows:i32 cols:i32,
//!                           then for each column four u16, then bytes by columns
//!                      CM2␣ the same 16 bytes, then rows * cols u16; CM3␣: rows * cols u8
//! sparse vector   \0B  SV␣  04 dim:i32  04 count:i32  then 04 index:i32 04 element:f32 each
//!                                                                      (08 element:f64)
//! sparse matrix   \0B  SM␣  04 rows:i32               then a sparse vector, SV␣ and so on, each
//! text matrix     ␣[⏎␣␣1␣2␣3␣⏎␣␣4␣5␣6␣]⏎              (empty: ␣[␣]⏎)
//! text vector     ␣[␣1␣2␣3␣]⏎
//!
//! binary packed   \0B  FP␣  04 rows:i32               the lower triangle row by row  (DP: f64)
//! text packed     [⏎1␣⏎2␣3␣]⏎                         (empty: [␣]⏎)
//! ```
//!
//! Text has seven significant digits, so it does not preserve every float. A matrix without
//! elements is written as 0 x 0, the only empty one in Kaldi.
//!
//! ```
//! use kaldi_matrix::{Matrix, codec};
//! let m = Matrix::from_vec(2, 2, vec![1.0_f32, 2.5, -3.0, 1e-7])?;
//! let mut text = Vec::new();
//! codec::write(&mut text, &m, false)?;
//! assert_eq!(text, b" [\n  1 2.5 \n  -3 1e-07 ]\n");
//! let back: Matrix<f32> = codec::read(&mut &text[..])?;
//! assert_eq!(back, m);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binary;
mod compressed;
mod fields;
mod general;
mod header;
mod htk;
mod packed;
mod reader;
mod sizes;
mod sparse;
mod text;

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use kaldera_base::Real;
use thiserror::Error;

pub use fields::{FieldReader, FieldWriter};
pub use header::{MatrixHeader, MatrixStorage};
pub use htk::{HtkHeader, read_htk, write_htk, write_sphinx};
pub use reader::{ByteReader, Word};
pub use text::push_number;

use crate::compressed::{CompressedMatrix, CompressionMethod};
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;
use crate::vector::{Vector, VectorBase};

/// An object that can be read from Kaldi's binary or text format.
pub trait KaldiRead: Sized {
    /// Reads the body, which follows the header.
    ///
    /// # Errors
    /// [`CodecError`] with the offset from the start of the body, for any bytes that are not such
    /// an object.
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError>;
}

/// An object that can be written in Kaldi's binary or text format.
pub trait KaldiWrite {
    /// Writes the body, which follows the header.
    ///
    /// # Errors
    /// The errors of `w`, and `InvalidInput` for a size beyond `i32`, which the format cannot
    /// represent.
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()>;
}

/// Bytes or text that are not the expected object.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The input itself failed.
    #[error("at byte {offset}: {source}")]
    Io {
        /// Number of bytes read so far.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// Other bytes than the expected ones.
    #[error("at byte {offset}: expected {expected}, found {found}")]
    Unexpected {
        /// Offset of the bytes.
        offset: u64,
        /// The expected bytes, in words.
        expected: Cow<'static, str>,
        /// The bytes that were found.
        found: String,
    },
    /// The input ends too early.
    #[error("at byte {offset}: expected {expected}, found the end")]
    End {
        /// Offset of the end.
        offset: u64,
        /// The bytes that should have followed, in words.
        expected: Cow<'static, str>,
    },
}

impl CodecError {
    /// Returns the error for a value at `offset` that is not the expected one.
    pub fn unexpected(offset: u64, expected: impl Into<Cow<'static, str>>, found: impl ToString) -> Self {
        Self::Unexpected { offset, expected: expected.into(), found: found.to_string() }
    }

    /// Returns the offset in the input, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Io { offset, .. } | Self::Unexpected { offset, .. } | Self::End { offset, .. } => *offset,
        }
    }

    /// Returns the same error, for a body that starts at byte `start` of its file.
    #[must_use]
    pub fn shifted(mut self, start: u64) -> Self {
        match &mut self {
            Self::Io { offset, .. } | Self::Unexpected { offset, .. } | Self::End { offset, .. } => *offset += start,
        }
        self
    }
}

/// Reads the header if there is one: `true` for binary, `false` for text.
///
/// # Errors
/// [`CodecError::Unexpected`] for a zero byte without a `B` after it; errors of the input.
pub fn read_header(r: &mut dyn BufRead) -> Result<bool, CodecError> {
    let mut r = ByteReader::new(r);
    if r.peek()? != Some(0) {
        return Ok(false);
    }
    r.bump();
    match r.peek()? {
        Some(b'B') => {
            r.bump();
            Ok(true)
        }
        other => Err(r.unexpected_byte("`B` after a zero byte, the binary header", other)),
    }
}

/// Writes the header: `\0B` for binary, nothing for text.
///
/// # Errors
/// The errors of `w`.
pub fn write_header(w: &mut dyn Write, binary: bool) -> io::Result<()> {
    if binary { w.write_all(b"\0B") } else { Ok(()) }
}

/// Reads an object with its header.
///
/// # Errors
/// As [`read_header`] and [`KaldiRead::read_body`]; offsets count from the header.
#[doc(alias = "Read")]
pub fn read<T: KaldiRead>(r: &mut dyn BufRead) -> Result<T, CodecError> {
    let binary = read_header(r)?;
    T::read_body(r, binary).map_err(|e| e.shifted(if binary { 2 } else { 0 }))
}

/// Writes an object with its header.
///
/// # Errors
/// As [`KaldiWrite::write_body`].
#[doc(alias = "Write")]
pub fn write(w: &mut dyn Write, object: &impl KaldiWrite, binary: bool) -> io::Result<()> {
    write_header(w, binary)?;
    object.write_body(w, binary)
}

/// Reads either precision, and converts it if necessary; decompresses compressed matrices.
impl<T: Real> KaldiRead for Matrix<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if binary { binary::read_matrix(&mut r) } else { text::read_matrix(&mut r) }
    }
}

/// Reads either precision, and converts it if necessary.
impl<T: Real> KaldiRead for Vector<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if binary { binary::read_vector(&mut r) } else { text::read_vector(&mut r) }
    }
}

/// Reads a matrix of any kind. One that is not compressed, and any text, is compressed by
/// [`CompressionMethod::Automatic`].
impl KaldiRead for CompressedMatrix {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        let full: Matrix<f32> = if binary {
            match binary::MatrixKind::from_token(&r.token("a matrix")?)? {
                binary::MatrixKind::Compressed(token) => return compressed::read(&mut r, token),
                binary::MatrixKind::Full(precision) => binary::read_full(&mut r, precision)?,
            }
        } else {
            text::read_matrix(&mut r)?
        };
        Self::new(&full, CompressionMethod::Automatic).map_err(|error| CodecError::Unexpected {
            offset: r.offset(),
            expected: "a matrix that can be compressed".into(),
            found: error.to_string(),
        })
    }
}

/// Writes in binary the same bytes that were read; as text, the decompressed elements.
impl KaldiWrite for CompressedMatrix {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        if binary { compressed::write(w, self) } else { text::write_matrix(w, self.to_matrix::<f32>().view()) }
    }
}

impl<S: Storage> KaldiWrite for MatrixBase<S> {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let m = self.view();
        if binary { binary::write_matrix(w, m) } else { text::write_matrix(w, m) }
    }
}

impl<S: Storage> KaldiWrite for VectorBase<S> {
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()> {
        let v = self.data();
        if binary { binary::write_vector(w, v) } else { text::write_vector(w, v) }
    }
}
