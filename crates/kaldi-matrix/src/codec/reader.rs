//! A byte input with its offset.

use std::borrow::Cow;
use std::io::{BufRead, ErrorKind};

use kaldera_base::Real;

use crate::codec::CodecError;

/// Reads tokens, integers and raw bytes, and keeps their offset for error messages.
pub struct ByteReader<'a> {
    inner: &'a mut dyn BufRead,
    offset: u64,
}

impl<'a> ByteReader<'a> {
    /// Creates a reader with the offset 0.
    pub fn new(inner: &'a mut dyn BufRead) -> Self {
        Self { inner, offset: 0 }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes in the buffer; none at the end.
    fn fill(&mut self) -> Result<&[u8], CodecError> {
        // The borrow of the first call cannot outlive the loop, so there is a second call, which
        // costs nothing.
        while let Err(source) = self.inner.fill_buf() {
            if source.kind() != ErrorKind::Interrupted {
                return Err(CodecError::Io { offset: self.offset, source });
            }
        }
        self.inner.fill_buf().map_err(|source| CodecError::Io { offset: self.offset, source })
    }

    /// Returns the next byte without consuming it; none at the end.
    ///
    /// # Errors
    /// Errors of the input.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, CodecError> {
        Ok(self.fill()?.first().copied())
    }

    /// Consumes the byte that [`peek`](Self::peek) returned.
    #[inline]
    pub fn bump(&mut self) {
        self.inner.consume(1);
        self.offset += 1;
    }

    /// Consumes bytes while `accept` returns `true`, and appends them to `taken`.
    ///
    /// # Errors
    /// Errors of the input.
    pub fn take_while(&mut self, taken: &mut Vec<u8>, mut accept: impl FnMut(u8) -> bool) -> Result<(), CodecError> {
        loop {
            let bytes = self.fill()?;
            let len = bytes.iter().position(|&b| !accept(b)).unwrap_or(bytes.len());
            taken.extend_from_slice(&bytes[..len]);
            let done = len < bytes.len() || bytes.is_empty();
            self.inner.consume(len);
            self.offset += len as u64;
            if done {
                return Ok(());
            }
        }
    }

    /// Skips spaces, tabs and line ends.
    ///
    /// # Errors
    /// Errors of the input.
    pub fn skip_whitespace(&mut self) -> Result<(), CodecError> {
        while self.peek()?.is_some_and(is_space) {
            self.bump();
        }
        Ok(())
    }

    /// Reads the next word: skips whitespace, and consumes everything up to the next whitespace,
    /// which is not consumed.
    ///
    /// # Errors
    /// [`CodecError::End`] if there is none; errors of the input.
    pub fn word(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        self.skip_whitespace()?;
        let offset = self.offset;
        let mut bytes = Vec::new();
        self.take_while(&mut bytes, |b| !is_space(b))?;
        if bytes.is_empty() {
            return Err(self.end(expected));
        }
        Ok(Word { bytes, offset })
    }

    /// Reads a word with the one whitespace byte that ends it, as Kaldi writes its binary tokens.
    ///
    /// # Errors
    /// [`CodecError::End`] if the word or that byte is missing; errors of the input.
    pub fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        let word = self.word(expected)?;
        match self.peek()? {
            Some(_) => self.bump(),
            None => return Err(self.end("a space after the token")),
        }
        Ok(word)
    }

    /// Reads an `i32` of the binary format: a byte 4, then four little-endian bytes.
    ///
    /// # Errors
    /// [`CodecError::Unexpected`] for another size byte; [`CodecError::End`]; errors of the input.
    pub fn int32(&mut self, expected: &'static str) -> Result<i32, CodecError> {
        match self.peek()? {
            Some(4) => self.bump(),
            None => return Err(self.end(expected)),
            other => return Err(self.unexpected_byte("the size byte 4 of a 32-bit integer", other)),
        }
        let mut bytes = [0; 4];
        self.read_exact(&mut bytes, expected)?;
        Ok(i32::from_le_bytes(bytes))
    }

    /// Reads a number of the binary format: a byte 4 and a little-endian `f32`, or a byte 8 and an
    /// `f64`. Converts it if necessary.
    ///
    /// # Errors
    /// [`CodecError::Unexpected`] for another size byte; [`CodecError::End`]; errors of the input.
    pub fn real<T: Real>(&mut self, expected: &'static str) -> Result<T, CodecError> {
        let mut bytes = [0; 8];
        match self.peek()? {
            Some(size @ (4 | 8)) => {
                self.bump();
                self.read_exact(&mut bytes[..size.into()], expected)?;
                let [single, _] = *bytes.as_chunks().0 else { unreachable!("8 bytes are twice four") };
                let number = if size == 4 { f32::from_le_bytes(single).into() } else { f64::from_le_bytes(bytes) };
                Ok(T::from_f64(number))
            }
            None => Err(self.end(expected)),
            other => Err(self.unexpected_byte("the size byte of a number, 4 or 8", other)),
        }
    }

    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`CodecError::End`], with the offset of the end, if there are fewer bytes; errors of the
    /// input.
    pub fn read_exact(&mut self, bytes: &mut [u8], expected: &'static str) -> Result<(), CodecError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.inner.read(rest) {
                Ok(0) => return Err(self.end(expected)),
                Ok(len) => {
                    self.offset += len as u64;
                    rest = &mut rest[len..];
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(CodecError::Io { offset: self.offset, source });
                }
            }
        }
        Ok(())
    }

    /// Returns the error for an input that ends here.
    pub fn end(&self, expected: impl Into<Cow<'static, str>>) -> CodecError {
        CodecError::End { offset: self.offset, expected: expected.into() }
    }

    /// Returns the error for the byte that [`peek`](Self::peek) returns.
    pub fn unexpected_byte(&self, expected: impl Into<Cow<'static, str>>, found: Option<u8>) -> CodecError {
        let (offset, expected) = (self.offset, expected.into());
        match found {
            None => CodecError::End { offset, expected },
            Some(byte) => CodecError::Unexpected { offset, expected, found: describe(&[byte]) },
        }
    }
}

/// A word of the input and its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its bytes, at least one.
    pub bytes: Vec<u8>,
    /// Offset of its first byte.
    pub offset: u64,
}

impl Word {
    /// Returns the error for this word if another one is expected.
    pub fn unexpected(&self, expected: impl Into<Cow<'static, str>>) -> CodecError {
        CodecError::Unexpected { offset: self.offset, expected: expected.into(), found: describe(&self.bytes) }
    }
}

/// Returns `true` for white space in C.
pub(super) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Formats bytes for an error message: printable, and limited in number.
pub(super) fn describe(bytes: &[u8]) -> String {
    const MAX: usize = 32;
    let dots = if bytes.len() > MAX { "..." } else { "" };
    let begins = [&b"RIFF"[..], b"RIFX", b"fLaC", b"OggS", b"FORM", b"NIST_1A", b"ID3"];
    let audio = if begins.iter().any(|begin| bytes.starts_with(begin)) {
        ": audio, of which features must be made first (compute-mfcc-feats, kaldera features)"
    } else {
        ""
    };
    format!("`{}{dots}`{audio}", bytes[..bytes.len().min(MAX)].escape_ascii())
}
