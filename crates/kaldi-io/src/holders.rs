//! The objects that tables hold, and how each is spelled in a file.

use std::io::{BufRead, Write};

use kaldi_matrix::codec::{self, ByteReader, CodecError, push_number};
use kaldi_matrix::{Matrix, Vector};

use crate::error::{Error, excerpt};
use crate::range;
use crate::wave::{WaveData, WaveError, WaveInfo};

mod basic;
mod htk;

pub use basic::Basic;
pub use htk::HtkMatrix;

/// An object that can stand in a table, with Kaldi's bytes and text for it.
pub trait Holder: Sized + Send + 'static {
    /// What this is, in the plural, for messages.
    const WHAT: &'static str;

    /// Reads one object, header (`\0B`) included; text or binary is seen from the bytes.
    ///
    /// # Errors
    /// [`Error`] without file and key, which the caller adds.
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error>;

    /// Reads one object of many, so that the stream stands behind it.
    ///
    /// # Errors
    /// As [`read`](Holder::read).
    fn read_in_archive(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Self::read(reader)
    }

    /// Writes one object, header included.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream fails, [`Error::Unwritable`] if there is no such form.
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error>;

    /// The part of the object that a `[range]` in a script file names.
    ///
    /// # Errors
    /// [`Error::Range`], or [`Error::RangeUnsupported`] for objects without rows.
    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        Err(Error::RangeUnsupported { range: range.to_owned(), what: Self::WHAT })
    }
}

macro_rules! matrix_holder {
    ($real:ty) => {
        impl Holder for Matrix<$real> {
            const WHAT: &'static str = "matrices";

            fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
                Ok(codec::read(reader)?)
            }

            fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
                Ok(codec::write(writer, self, binary)?)
            }

            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                let (rows, cols) = (self.num_rows(), self.num_cols());
                range::of_matrix(range, rows, cols)
                    .and_then(|((row, rows), (col, cols))| self.range(row, rows, col, cols).ok())
                    .map(|part| part.to_owned())
                    .ok_or_else(|| Error::Range {
                        range: range.to_owned(),
                        object: format!("a matrix of {rows} x {cols}"),
                    })
            }
        }

        impl Holder for Vector<$real> {
            const WHAT: &'static str = "vectors";

            fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
                Ok(codec::read(reader)?)
            }

            fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
                Ok(codec::write(writer, self, binary)?)
            }

            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                range::of_vector(range, self.dim())
                    .and_then(|(start, len)| self.range(start, len).ok())
                    .map(|part| part.to_owned())
                    .ok_or_else(|| Error::Range {
                        range: range.to_owned(),
                        object: format!("a vector of {}", self.dim()),
                    })
            }
        }
    };
}
matrix_holder!(f32);
matrix_holder!(f64);

/// A RIFF file as it is, without `\0B`.
impl Holder for WaveData {
    const WHAT: &'static str = "recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveData::read(reader)?)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        if !binary {
            return Err(Error::Unwritable { what: Self::WHAT, how: "as text: leave the option 't' out" });
        }
        WaveData::write(self, writer).map_err(|error| match error {
            WaveError::Write(source) => Error::Stream { source },
            other => Error::Wave(other),
        })
    }
}

/// Only the header; in an archive the samples are read over.
impl Holder for WaveInfo {
    const WHAT: &'static str = "headers of recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveInfo::read(reader)?)
    }

    fn read_in_archive(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let info = WaveInfo::read(reader)?;
        info.skip_data(reader)?;
        Ok(info)
    }

    fn write(&self, _writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        Err(Error::Unwritable { what: Self::WHAT, how: "without their samples" })
    }
}

/// One word, to the end of the line; there is no binary form.
impl Holder for String {
    const WHAT: &'static str = "words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut reader = ByteReader::new(reader);
        let word = reader.word("a word")?;
        expect_line_end(&mut reader)?;
        utf8(word.bytes)
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        check_token(self)?;
        Ok(writer.write_all(format!("{self}\n").as_bytes())?)
    }
}

/// The words of the rest of the line; there is no binary form.
impl Holder for Vec<String> {
    const WHAT: &'static str = "lists of words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let line = utf8(read_line(&mut ByteReader::new(reader))?)?;
        Ok(line.split_ascii_whitespace().map(str::to_owned).collect())
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        let mut line = String::new();
        for word in self {
            check_token(word)?;
            line.push_str(word);
            line.push(' ');
        }
        line.push('\n');
        Ok(writer.write_all(line.as_bytes())?)
    }
}

/// True for what can be a key or a word: not empty, no white space, no control characters.
#[doc(alias = "IsToken")]
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_graphic())
}

fn check_token(word: &str) -> Result<(), Error> {
    if is_token(word) {
        Ok(())
    } else {
        Err(Error::Unexpected {
            expected: "a word without spaces to write",
            found: format!("'{}'", word.escape_debug()),
        })
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes)
        .map_err(|error| Error::Unexpected { expected: "text in UTF-8", found: excerpt(error.as_bytes()) })
}

/// Takes the rest of the line and its end; a last line may lack the end, but not everything.
fn read_line(reader: &mut ByteReader<'_>) -> Result<Vec<u8>, CodecError> {
    if reader.peek()?.is_none() {
        return Err(reader.end("a line"));
    }
    let mut line = Vec::new();
    reader.take_while(&mut line, |byte| byte != b'\n')?;
    if reader.peek()?.is_some() {
        reader.bump();
    }
    Ok(line)
}

/// Takes spaces, then the end of the line, which must be there.
fn expect_line_end(reader: &mut ByteReader<'_>) -> Result<(), CodecError> {
    skip_spaces(reader)?;
    match reader.peek()? {
        Some(b'\n') => {
            reader.bump();
            Ok(())
        }
        other => Err(reader.unexpected_byte("the end of the line", other)),
    }
}

/// Takes white space within the line.
fn skip_spaces(reader: &mut ByteReader<'_>) -> Result<(), CodecError> {
    while reader.peek()?.is_some_and(|byte| byte != b'\n' && (byte.is_ascii_whitespace() || byte == 0x0B)) {
        reader.bump();
    }
    Ok(())
}
