//! Kaldi's own bytes and text for vectors and matrices, over any `BufRead` and `Write`.
//!
//! An object in a file has two parts: a header, `\0B` before binary and nothing before text, and a
//! body.
//!
//! ```text
//! binary matrix   \0B  FM␣  04 rows:i32  04 cols:i32  rows * cols little-endian f32      (DM: f64; no padding)
//! binary vector   \0B  FV␣  04 dim:i32                dim little-endian f32              (DV: f64)
//! compressed      \0B  CM␣  min:f32 range:f32 rows:i32 cols:i32, then for each column four u16, then bytes by columns
//!                      CM2␣ the same 16 bytes, then rows * cols u16; CM3␣: rows * cols u8
//! sparse vector   \0B  SV␣  04 dim:i32  04 count:i32  then 04 index:i32 04 element:f32 each   (08 element:f64)
//! sparse matrix   \0B  SM␣  04 rows:i32               then a sparse vector, SV␣ and so on, each
//! text matrix     ␣[⏎␣␣1␣2␣3␣⏎␣␣4␣5␣6␣]⏎                                               (empty: ␣[␣]⏎)
//! text vector     ␣[␣1␣2␣3␣]⏎
//!
//! binary packed   \0B  FP␣  04 rows:i32                the lower triangle row by row     (DP: f64)
//! text packed     [⏎1␣⏎2␣3␣]⏎                                                          (empty: [␣]⏎)
//! ```
//!
//! Text carries seven significant digits, so it does not give every float back. A matrix without
//! elements is written as 0 x 0, the only empty one that Kaldi has.
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

pub use header::{MatrixHeader, MatrixStorage};
pub use htk::{HtkHeader, read_htk, write_htk, write_sphinx};
pub use reader::{ByteReader, Word};
pub use text::push_number;

use crate::compressed::{CompressedMatrix, CompressionMethod};
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;
use crate::vector::{Vector, VectorBase};

/// An object that can be read from Kaldi's bytes or text.
pub trait KaldiRead: Sized {
    /// Reads what follows the header.
    ///
    /// # Errors
    /// [`CodecError`] with the offset from the start of the body, for any bytes that are not such
    /// an object.
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError>;
}

/// An object that can be written as Kaldi's bytes or text.
pub trait KaldiWrite {
    /// Writes what follows the header.
    ///
    /// # Errors
    /// Those of `w`, and `InvalidInput` for a size beyond `i32`, which the format cannot hold.
    fn write_body(&self, w: &mut dyn Write, binary: bool) -> io::Result<()>;
}

/// Bytes or text that are not the object that was to be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The input itself failed.
    #[error("at byte {offset}: {source}")]
    Io {
        /// Bytes read so far.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// Something else stands there.
    #[error("at byte {offset}: expected {expected}, found {found}")]
    Unexpected {
        /// Where it stands.
        offset: u64,
        /// What would be right.
        expected: Cow<'static, str>,
        /// What stands there.
        found: String,
    },
    /// The input ends too early.
    #[error("at byte {offset}: expected {expected}, found the end")]
    End {
        /// Where it ends.
        offset: u64,
        /// What should have followed.
        expected: Cow<'static, str>,
    },
}

impl CodecError {
    /// Where in the input, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Io { offset, .. } | Self::Unexpected { offset, .. } | Self::End { offset, .. } => *offset,
        }
    }

    /// The same error, for a body that begins at byte `start` of its file.
    #[must_use]
    pub fn shifted(mut self, start: u64) -> Self {
        match &mut self {
            Self::Io { offset, .. } | Self::Unexpected { offset, .. } | Self::End { offset, .. } => *offset += start,
        }
        self
    }
}

/// Takes the header if there is one: `true` for binary, `false` for text.
///
/// # Errors
/// [`CodecError::Unexpected`] for a zero byte that no `B` follows; failures of the input.
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
/// Those of `w`.
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

/// Either precision is read, and converted if need be; compressed matrices are decompressed.
impl<T: Real> KaldiRead for Matrix<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if binary { binary::read_matrix(&mut r) } else { text::read_matrix(&mut r) }
    }
}

/// Either precision is read, and converted if need be.
impl<T: Real> KaldiRead for Vector<T> {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        if binary { binary::read_vector(&mut r) } else { text::read_vector(&mut r) }
    }
}

/// A matrix of any kind is read: one that is not compressed, and any text, is compressed by
/// [`CompressionMethod::Automatic`].
impl KaldiRead for CompressedMatrix {
    fn read_body(r: &mut dyn BufRead, binary: bool) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        let full: Matrix<f32> = if binary {
            match binary::MatrixKind::of(&r.token("a matrix")?)? {
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

/// As bytes, the very ones that were read; as text, what it decompresses to.
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
