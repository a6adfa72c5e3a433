//! Reader of numbers in a binary file; only the length of the file is trusted.

use std::io::Read;

use crate::error::{Error, Quantity};

/// Bytes that are read from the file at a time.
const BUFFER: usize = 1 << 18;

/// Reads a file of a known length from its start, piece by piece.
pub(super) struct Bytes<'a> {
    input: &'a mut dyn Read,
    buffer: Vec<u8>,
    /// Index in the buffer of the next byte.
    next: usize,
    at: usize,
    len: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(input: &'a mut dyn Read, len: usize) -> Self {
        Self { input, buffer: Vec::new(), next: 0, at: 0, len }
    }

    pub(super) fn error(&self, what: &'static str) -> Error {
        Error::Binary { offset: self.at, what }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.len
    }

    /// Reads `wanted` bytes or more, at most [`BUFFER`], into the buffer.
    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        let too_early = "the file ends too early";
        if wanted > self.len - self.at {
            return Err(self.error(too_early));
        }
        self.buffer.drain(..self.next);
        self.next = 0;
        while self.buffer.len() < wanted {
            let room = (BUFFER - self.buffer.len()).min(self.len - self.at - self.buffer.len()) as u64;
            let read = Read::take(&mut *self.input, room).read_to_end(&mut self.buffer);
            if read.map_err(|error| Error::Unreadable { problem: error.to_string() })? == 0 {
                return Err(self.error(too_early));
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        if self.buffer.len() - self.next < N {
            self.fill(N)?;
        }
        let mut array = [0; N];
        array.copy_from_slice(&self.buffer[self.next..self.next + N]);
        self.next += N;
        self.at += N;
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a truth value, which is a byte.
    pub(super) fn bool(&mut self) -> Result<bool, Error> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error("a truth value that is neither 0 nor 1")),
        }
    }

    pub(super) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_le_bytes)
    }

    /// Reads an unsigned number of 1, 2, 4 or 8 bytes.
    pub(super) fn unsigned(&mut self, len: usize) -> Result<u64, Error> {
        match len {
            1 => self.byte().map(u64::from),
            2 => self.array().map(|bytes| u16::from_le_bytes(bytes).into()),
            4 => self.array().map(|bytes| u32::from_le_bytes(bytes).into()),
            _ => self.u64(),
        }
    }

    pub(super) fn i64(&mut self) -> Result<i64, Error> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f32(&mut self) -> Result<f32, Error> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a number of double precision, rounded to single precision.
    #[expect(clippy::cast_possible_truncation, reason = "rounded, and infinite where it is too large")]
    pub(super) fn f64_as_f32(&mut self) -> Result<f32, Error> {
        self.array().map(|bytes| f64::from_le_bytes(bytes) as f32)
    }

    /// Skips fewer bytes than the buffer has.
    pub(super) fn skip(&mut self, len: usize) -> Result<(), Error> {
        if self.buffer.len() - self.next < len {
            self.fill(len)?;
        }
        self.next += len;
        self.at += len;
        Ok(())
    }

    /// Reads a length and as many bytes, which are appended to `text`.
    pub(super) fn string_into(&mut self, text: &mut String) -> Result<(), Error> {
        let len = self.i32()?;
        let mut left = self.count(len.into(), 1)?;
        let not_utf8 = "a string that is not UTF-8";
        if left <= BUFFER {
            if self.buffer.len() - self.next < left {
                self.fill(left)?;
            }
            let bytes = &self.buffer[self.next..self.next + left];
            text.push_str(std::str::from_utf8(bytes).map_err(|_| self.error(not_utf8))?);
            self.next += left;
            self.at += left;
            return Ok(());
        }
        let mut bytes = Vec::new();
        while left > 0 {
            let piece = left.min(BUFFER);
            if self.buffer.len() - self.next < piece {
                self.fill(piece)?;
            }
            bytes.extend_from_slice(&self.buffer[self.next..self.next + piece]);
            self.next += piece;
            self.at += piece;
            left -= piece;
        }
        text.push_str(std::str::from_utf8(&bytes).map_err(|_| self.error(not_utf8))?);
        Ok(())
    }

    /// Reads a length and as many bytes.
    pub(super) fn string(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        self.string_into(&mut text)?;
        Ok(text)
    }

    /// Checks a number of items of `size` bytes or more, for which the file must have room.
    pub(super) fn count(&self, number: i64, size: usize) -> Result<usize, Error> {
        let slot = (self.len - self.at) / size;
        let number = usize::try_from(number).ok().filter(|&number| number <= slot);
        number.ok_or_else(|| self.error("a count that the file has no room for"))
    }

    /// Skips to the next multiple of `size` bytes.
    pub(super) fn align(&mut self, size: usize) -> Result<(), Error> {
        self.skip(self.at.next_multiple_of(size) - self.at)
    }
}

/// Writes a length and as many bytes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) -> Result<(), Error> {
    out.extend(Error::fit(Quantity::StringLength, text.len())?.to_le_bytes());
    out.extend(text.as_bytes());
    Ok(())
}
